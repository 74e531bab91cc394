//! Walking and rewriting typed expressions.

use super::collate::alike;
use super::query::{Bound, CteQuery, JoinTree, Query, Rel, RelKind, SetTree};
use super::tree::{ArrayArg, Column, Expr, SubLinkKind, SubscriptStep, Var};
use crate::types::Oid;

/// The children of an expression, sub-selects excepted: by reference and by mutable reference.
macro_rules! children {
    ($name:ident, $iter:ident $(, $mut:tt)?) => {
        /// Calls `f` for each direct child, not descending into sub-selects' queries.
        pub fn $name<'e>(expr: &'e $($mut)? Expr, f: &mut dyn FnMut(&'e $($mut)? Expr)) {
            match expr {
                Expr::Const(_) | Expr::Param(_) | Expr::Exec(_) | Expr::Var(_) | Expr::Slot(_)
                | Expr::Element(_) | Expr::SqlValue(_) | Expr::NextValue(_)
                | Expr::SetToDefault(_) | Expr::CurrentOf(_) => {}
                Expr::Call(c) => c.args.$iter().for_each(f),
                Expr::And(args) | Expr::Or(args) => args.$iter().for_each(f),
                Expr::Not(arg) => f(arg),
                Expr::IsNull(n) => f(&$($mut)? n.arg),
                Expr::IsBool(n) => f(&$($mut)? n.arg),
                Expr::Case(c) => {
                    c.arg.$iter().for_each(&mut *f);
                    for (when, then) in c.whens.$iter() {
                        f(when);
                        f(then);
                    }
                    c.default.$iter().for_each(f);
                }
                Expr::Coalesce(l) | Expr::Row(l) => l.args.$iter().for_each(f),
                Expr::MinMax(m) => m.args.$iter().for_each(f),
                Expr::Distinct(d) => d.equal.args.$iter().for_each(f),
                Expr::NullIf(n) => n.equal.args.$iter().for_each(f),
                Expr::ArrayOp(a) => {
                    f(&$($mut)? a.left);
                    match &$($mut)? a.right {
                        ArrayArg::Array(array) => f(array),
                        ArrayArg::List(list) => list.$iter().for_each(f),
                    }
                }
                Expr::Array(a) => a.elements.$iter().for_each(f),
                Expr::RowCompare(r) => {
                    for (equal, order) in r.columns.$iter() {
                        equal.args.$iter().for_each(&mut *f);
                        for call in order.$iter() {
                            call.args.$iter().for_each(&mut *f);
                        }
                    }
                }
                Expr::Subscript(s) => {
                    f(&$($mut)? s.arg);
                    for step in s.steps.$iter() {
                        match step {
                            SubscriptStep::Index(index) => f(index),
                            SubscriptStep::Slice(lower, upper) => {
                                lower.$iter().for_each(&mut *f);
                                upper.$iter().for_each(&mut *f);
                            }
                        }
                    }
                    s.assigned.$iter().for_each(&mut *f);
                }
                Expr::Field(s) => f(&$($mut)? s.arg),
                Expr::Relabel(r) => f(&$($mut)? r.arg),
                Expr::Collate(c) => f(&$($mut)? c.arg),
                Expr::SortKey(k) => f(&$($mut)? k.arg),
                Expr::Narrow(n) => f(&$($mut)? n.arg),
                Expr::ViaText(v) => f(&$($mut)? v.arg),
                Expr::ArrayCast(a) => {
                    f(&$($mut)? a.arg);
                    f(&$($mut)? a.cast);
                }
                Expr::Aggregate(a) => {
                    a.args.$iter().for_each(&mut *f);
                    for key in a.order_by.$iter() {
                        f(&$($mut)? key.expr);
                    }
                    a.filter.$iter().for_each(f);
                }
                Expr::Window(w) => {
                    w.args.$iter().for_each(&mut *f);
                    w.filter.$iter().for_each(f);
                }
                Expr::Grouping(g) => g.args.$iter().for_each(f),
                Expr::SubLink(s) => {
                    if let SubLinkKind::Quantified { tests, .. } = &$($mut)? s.kind {
                        for test in tests.$iter() {
                            f(&$($mut)? test.args[0]);
                        }
                    }
                }
                Expr::SubPlan(s) => {
                    for (_, arg) in s.args.$iter() {
                        f(arg);
                    }
                    if let SubLinkKind::Quantified { tests, .. } = &$($mut)? s.kind {
                        for test in tests.$iter() {
                            f(&$($mut)? test.args[0]);
                        }
                    }
                }
            }
        }
    };
}

children!(each_child, iter);
children!(each_child_mut, iter_mut, mut);

/// Does `test` hold for the expression or anything below it, sub-selects' queries excepted?
pub fn any(expr: &Expr, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    if test(expr) {
        return true;
    }
    let mut found = false;
    each_child(expr, &mut |child| found = found || any(child, test));
    found
}

/// What a query holds: by reference and by mutable reference.
macro_rules! parts {
    (
        $own:ident, $tree:ident, $frame:ident, $entries:ident, $nested:ident, $all:ident,
        $beside:ident, $iter:ident $(, $mut:tt)?
    ) => {
        /// Calls `f` for every expression at the query's own level.
        pub fn $own<'q>(query: &'q $($mut)? Query, f: &mut dyn FnMut(&'q $($mut)? Expr)) {
            for rel in query.rels.$iter() {
                match &$($mut)? rel.kind {
                    RelKind::Function { calls, .. } => {
                        calls.$iter().for_each(|call| f(&$($mut)? call.expr));
                    }
                    RelKind::Values(rows) => rows.$iter().flatten().for_each(&mut *f),
                    _ => {}
                }
            }
            query.from.$iter().for_each(|item| $tree(item, f));
            query.filter.$iter().for_each(&mut *f);
            query.targets.$iter().for_each(|target| f(&$($mut)? target.expr));
            query.group.$iter().for_each(|group| group.keys.$iter().for_each(&mut *f));
            query.having.$iter().for_each(&mut *f);
            for window in query.windows.$iter() {
                window.partition_by.$iter().for_each(&mut *f);
                window.order_by.$iter().for_each(|key| f(&$($mut)? key.expr));
                $frame(&$($mut)? window.frame.start, f);
                $frame(&$($mut)? window.frame.end, f);
            }
            query.limit.$iter().for_each(&mut *f);
            query.offset.$iter().for_each(f);
        }

        fn $tree<'q>(tree: &'q $($mut)? JoinTree, f: &mut dyn FnMut(&'q $($mut)? Expr)) {
            if let JoinTree::Join(join) = tree {
                $tree(&$($mut)? join.left, f);
                $tree(&$($mut)? join.right, f);
                join.condition.$iter().for_each(f);
            }
        }

        fn $frame<'q>(bound: &'q $($mut)? Bound, f: &mut dyn FnMut(&'q $($mut)? Expr)) {
            if let Bound::Preceding(by) | Bound::Following(by) = bound {
                f(by);
            }
        }

        /// Calls `f` for the queries of a range table.
        fn $entries<'q>(rels: &'q $($mut)? [Rel], f: &mut dyn FnMut(&'q $($mut)? Query)) {
            for rel in rels.$iter() {
                if let RelKind::Subquery(within) = &$($mut)? rel.kind {
                    f(within);
                }
            }
        }

        /// Calls `f` for the queries of its range table and of WITH.
        fn $nested<'q>(query: &'q $($mut)? Query, f: &mut dyn FnMut(&'q $($mut)? Query)) {
            $entries(&$($mut)? query.rels, f);
            for cte in query.ctes.$iter() {
                match &$($mut)? cte.query {
                    CteQuery::Plain(query) => f(query),
                    CteQuery::Recursive { first, again, .. } => {
                        f(first);
                        f(again);
                    }
                    CteQuery::Modify(modify) => f(&$($mut)? modify.query),
                }
            }
        }

        /// Calls `f` for every expression that a query holds at its own level, sub-queries of its range
        /// table and of WITH included with `depth + 1`, and `f` is told the depth.
        pub fn $all(query: &$($mut)? Query, depth: u16, f: &mut dyn FnMut(&$($mut)? Expr, u16)) {
            $own(&$($mut)? *query, &mut |expr| f(expr, depth));
            $nested(query, &mut |within| $all(within, depth + 1, f));
        }

        /// The same, but for the queries of its own WITH, which can't see its FROM: a chain of a thousand of them
        /// needn't be gone through for each of its entries.
        pub fn $beside(query: &$($mut)? Query, f: &mut dyn FnMut(&$($mut)? Expr, u16)) {
            $own(&$($mut)? *query, &mut |expr| f(expr, 0));
            $entries(&$($mut)? query.rels, &mut |within| $all(within, 1, f));
        }
    };
}

parts!(
    own_exprs,
    tree_exprs,
    frame_exprs,
    entry_queries,
    nested_queries,
    query_exprs,
    exprs_beside_with,
    iter
);
parts!(
    own_exprs_mut,
    tree_exprs_mut,
    frame_exprs_mut,
    entry_queries_mut,
    nested_queries_mut,
    query_exprs_mut,
    exprs_beside_with_mut,
    iter_mut,
    mut
);

/// Calls `f` for the query and each query within it, sub-selects of expressions included, and tells how deep it is.
pub fn each_query_mut(query: &mut Query, depth: u16, f: &mut dyn FnMut(&mut Query, u16)) {
    f(query, depth);
    nested_queries_mut(query, &mut |within| each_query_mut(within, depth + 1, f));
    own_exprs_mut(query, &mut |expr| each_sublink_mut(expr, depth, f));
}

/// Calls `f` for each reference, within the query, to a WITH query outside of it: how many queries outwards that is.
pub fn each_cte_outside_mut(query: &mut Query, f: &mut dyn FnMut(&mut u16)) {
    each_query_mut(query, 0, &mut |query, depth| {
        for rel in &mut query.rels {
            if let RelKind::Cte { level, .. } | RelKind::Recursive { level, .. } = &mut rel.kind
                && *level > depth
            {
                f(level);
            }
        }
    });
}

fn each_sublink_mut(expr: &mut Expr, depth: u16, f: &mut dyn FnMut(&mut Query, u16)) {
    if let Expr::SubLink(link) = expr {
        each_query_mut(&mut link.query, depth + 1, f);
    }
    each_child_mut(expr, &mut |child| each_sublink_mut(child, depth, f));
}

/// Puts what `f` gives for a column, if it gives something, into its place, inside sub-selects too; `f` is told how many
/// queries further in that is.
pub fn replace_vars(expr: &mut Expr, depth: u16, f: &mut dyn FnMut(&Var, u16) -> Option<Expr>) {
    match expr {
        Expr::Var(var) => {
            if let Some(by) = f(var, depth) {
                *expr = by;
            }
        }
        Expr::SubLink(link) => {
            query_exprs_mut(&mut link.query, depth + 1, &mut |e, d| replace_vars(e, d, f));
            each_child_mut(expr, &mut |child| replace_vars(child, depth, f));
        }
        _ => each_child_mut(expr, &mut |child| replace_vars(child, depth, f)),
    }
}

/// Moves an expression so many queries further in.
pub fn moved_in(mut expr: Expr, by: u16) -> Expr {
    if by > 0 {
        replace_vars(&mut expr, 0, &mut |var, depth| {
            let is_outside = var.level >= depth;
            is_outside.then(|| Expr::Var(Var { level: var.level + by, ..*var }))
        });
    }
    expr
}

/// An expression as it is so many queries further out: what it has of queries that far out, and beyond, is nearer. Inside
/// its sub-selects, too, and the WITH queries that these read.
pub fn moved_out(mut expr: Expr, by: u16) -> Expr {
    if by > 0 {
        move_out(&mut expr, 0, by);
        each_sublink_mut(&mut expr, 0, &mut |query, depth| {
            for rel in &mut query.rels {
                if let RelKind::Cte { level, .. } | RelKind::Recursive { level, .. } = &mut rel.kind
                {
                    nearer(level, depth, by);
                }
            }
        });
    }
    expr
}

fn move_out(expr: &mut Expr, depth: u16, by: u16) {
    match expr {
        Expr::Var(var) => nearer(&mut var.level, depth, by),
        Expr::Aggregate(agg) => nearer(&mut agg.level, depth, by),
        Expr::Grouping(grouping) => nearer(&mut grouping.level, depth, by),
        Expr::SubLink(link) => {
            query_exprs_mut(&mut link.query, depth + 1, &mut |e, d| move_out(e, d, by));
        }
        _ => {}
    }
    each_child_mut(expr, &mut |child| move_out(child, depth, by));
}

fn nearer(level: &mut u16, depth: u16, by: u16) {
    if *level >= depth + by {
        *level -= by;
    }
}

/// Calls `f` for each column of this level that the expression uses, inside sub-selects too; the
/// variable's `level` is as seen from where it stands, `depth` how many queries further in that is.
pub fn each_var(expr: &Expr, depth: u16, f: &mut dyn FnMut(&Var, u16)) {
    match expr {
        Expr::Var(var) => f(var, depth),
        Expr::SubLink(link) => {
            query_exprs(&link.query, depth + 1, &mut |e, d| each_var(e, d, f));
            each_child(expr, &mut |child| each_var(child, depth, f));
        }
        _ => each_child(expr, &mut |child| each_var(child, depth, f)),
    }
}

/// Whether a query, or one within it, has anything of a table's column (from 0).
pub fn uses_column(query: &mut Query, table: Oid, column: usize) -> bool {
    let mut uses = false;
    each_query_mut(query, 0, &mut |query, _| {
        let is_of = |rel: &Rel| matches!(&rel.kind, RelKind::Table(def) if def.oid == table);
        let tables: Vec<bool> = query.rels.iter().map(is_of).collect();
        query_exprs(query, 0, &mut |expr, depth| {
            each_var(expr, depth, &mut |var, depth| {
                let is_it = match var.column {
                    Column::User(at) => usize::from(at) == column,
                    other => other == Column::Whole,
                };
                uses |= is_it && var.level == depth && tables[usize::from(var.rel)];
            });
        });
    });
    uses
}

/// Does the query use anything from outside itself?
pub fn is_correlated(query: &Query) -> bool {
    let mut found = false;
    query_exprs(query, 0, &mut |expr, depth| {
        each_var(expr, depth, &mut |var, depth| found |= var.level > depth);
    });
    found
}

/// Does the query use columns of the one that it stands in?
pub fn asks_around(query: &Query) -> bool {
    let mut found = false;
    query_exprs(query, 0, &mut |expr, depth| {
        each_var(expr, depth, &mut |var, depth| found |= var.level == depth + 1);
    });
    found
}

/// The range-table entries of the level `depth` queries out that the expression uses, sorted.
pub fn rels_of(expr: &Expr) -> Vec<u16> {
    let mut rels = Vec::new();
    each_var(expr, 0, &mut |var, depth| {
        if var.level == depth && !rels.contains(&var.rel) {
            rels.push(var.rel);
        }
    });
    rels.sort_unstable();
    rels
}

/// The columns of this level that a query's range-table entry (a sub-query, a function) uses from
/// outside itself.
pub fn rel_vars(kind: &RelKind, f: &mut dyn FnMut(&Var)) {
    let mut take = |var: &Var, depth: u16| {
        if var.level == depth {
            f(var);
        }
    };
    match kind {
        RelKind::Subquery(query) => {
            query_exprs(query, 1, &mut |e, d| each_var(e, d, &mut take));
        }
        RelKind::Function { calls, .. } => {
            calls.iter().for_each(|call| each_var(&call.expr, 0, &mut take));
        }
        RelKind::Values(rows) => {
            rows.iter().flatten().for_each(|expr| each_var(expr, 0, &mut take));
        }
        _ => {}
    }
}

/// The leaves of a tree of set operations, left to right.
pub fn set_leaves(tree: &SetTree, out: &mut Vec<u16>) {
    match tree {
        SetTree::Leaf(rel) => out.push(*rel),
        SetTree::Op(node) => {
            set_leaves(&node.left, out);
            set_leaves(&node.right, out);
        }
    }
}

/// Whether a member of a list has no columns, and is no sub-select.
pub fn is_one_for_all(member: &Expr) -> bool {
    let mut uses = false;
    each_var(member, 0, &mut |_, _| uses = true);
    !uses && !matches!(member, Expr::SubLink(_))
}

/// Structural equality, places in the text aside: does the one expression compute what the other
/// does? Constants are compared by their printed form, which tells any two values apart.
pub fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Var(x), Expr::Var(y)) => x.same(y),
        (Expr::Slot(x), Expr::Slot(y)) | (Expr::Exec(x), Expr::Exec(y)) => x.slot == y.slot,
        (Expr::Param(x), Expr::Param(y)) => x.index == y.index && x.ty == y.ty,
        (Expr::Const(x), Expr::Const(y)) => {
            x.ty == y.ty && format!("{:?}", x.value) == format!("{:?}", y.value)
        }
        (Expr::SubLink(_), Expr::SubLink(_)) => super::same::same_expr(a, b),
        (Expr::SubPlan(_), _) => false,
        _ => same_node(a, b) && same_children(a, b),
    }
}

fn same_children(a: &Expr, b: &Expr) -> bool {
    let mut left = Vec::new();
    let mut right = Vec::new();
    each_child(a, &mut |child| left.push(child));
    each_child(b, &mut |child| right.push(child));
    left.len() == right.len() && left.into_iter().zip(right).all(|(x, y)| same(x, y))
}

/// Do the two nodes agree, their children aside?
pub(super) fn same_node(a: &Expr, b: &Expr) -> bool {
    if std::mem::discriminant(a) != std::mem::discriminant(b) || a.ty() != b.ty() {
        return false;
    }
    match (a, b) {
        (Expr::Call(x), Expr::Call(y)) => {
            x.func.oid == y.func.oid && x.variadic == y.variadic && alike(x.collation, y.collation)
        }
        (Expr::Collate(x), Expr::Collate(y)) => x.collation == y.collation,
        (Expr::SortKey(x), Expr::SortKey(y)) => x.collation == y.collation,
        (Expr::Narrow(x), Expr::Narrow(y)) => x.to == y.to && x.ty == y.ty,
        (Expr::IsNull(x), Expr::IsNull(y)) => x.negated == y.negated && x.row == y.row,
        (Expr::IsBool(x), Expr::IsBool(y)) => x.negated == y.negated && x.value == y.value,
        (Expr::Case(x), Expr::Case(y)) => {
            x.whens.len() == y.whens.len()
                && x.arg.is_some() == y.arg.is_some()
                && x.default.is_some() == y.default.is_some()
        }
        (Expr::MinMax(x), Expr::MinMax(y)) => {
            x.greatest == y.greatest && alike(x.collation, y.collation)
        }
        (Expr::Distinct(x), Expr::Distinct(y)) => {
            x.negated == y.negated && x.equal.func.oid == y.equal.func.oid
        }
        (Expr::NullIf(x), Expr::NullIf(y)) => x.equal.func.oid == y.equal.func.oid,
        (Expr::ArrayOp(x), Expr::ArrayOp(y)) => {
            x.func.oid == y.func.oid
                && x.all == y.all
                && alike(x.collation, y.collation)
                && std::mem::discriminant(&x.right) == std::mem::discriminant(&y.right)
        }
        (Expr::RowCompare(x), Expr::RowCompare(y)) => x.op == y.op,
        (Expr::Subscript(x), Expr::Subscript(y)) => {
            x.steps.len() == y.steps.len()
                && x.assigned.is_some() == y.assigned.is_some()
                && x.steps
                    .iter()
                    .zip(&y.steps)
                    .all(|(s, t)| std::mem::discriminant(s) == std::mem::discriminant(t))
        }
        (Expr::Field(x), Expr::Field(y)) => x.field == y.field,
        (Expr::Aggregate(x), Expr::Aggregate(y)) => {
            x.agg.oid == y.agg.oid
                && x.star == y.star
                && x.distinct == y.distinct
                && x.level == y.level
                && x.args.len() == y.args.len()
                && x.filter.is_some() == y.filter.is_some()
                && x.order_by.len() == y.order_by.len()
                && x.order_by
                    .iter()
                    .zip(&y.order_by)
                    .all(|(s, t)| s.desc == t.desc && s.nulls_first == t.nulls_first)
        }
        (Expr::Window(_), Expr::Window(_)) => false,
        (Expr::SqlValue(x), Expr::SqlValue(y)) => x.kind == y.kind,
        (Expr::NextValue(_), _) => false,
        _ => true,
    }
}
