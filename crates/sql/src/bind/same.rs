//! Whether two bound queries ask the same: places in the text aside, and what else the tables have that they read.

use super::query::{
    Bound, Cte, CteQuery, Distinct, FunctionCall, JoinTree, Query, Rel, RelKind, SetTree, Window,
};
use super::tree::{Expr, SubLinkKind, WindowFunc};
use super::walk;

/// Does the one query ask what the other does?
pub fn same_query(a: &Query, b: &Query) -> bool {
    all(&a.rels, &b.rels, same_rel)
        && all(&a.from, &b.from, same_tree)
        && all(&a.targets, &b.targets, |x, y| {
            x.junk == y.junk && x.name == y.name && same_expr(&x.expr, &y.expr)
        })
        && maybe(&a.filter, &b.filter)
        && maybe(&a.having, &b.having)
        && maybe(&a.limit, &b.limit)
        && maybe(&a.offset, &b.offset)
        && a.with_ties == b.with_ties
        && a.order_by == b.order_by
        && all(a.group.as_slice(), b.group.as_slice(), |x, y| {
            x.sets == y.sets && all(&x.keys, &y.keys, same_expr)
        })
        && match (&a.distinct, &b.distinct) {
            (Some(Distinct::On(x)), Some(Distinct::On(y))) => x == y,
            (Some(Distinct::All), Some(Distinct::All)) | (None, None) => true,
            _ => false,
        }
        && all(&a.windows, &b.windows, same_window)
        && all(a.set_op.as_slice(), b.set_op.as_slice(), same_set)
        && all(&a.ctes, &b.ctes, same_cte)
        && all(&a.locking, &b.locking, |x, y| x.rel == y.rel && x.strength == y.strength)
}

fn all<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y))
}

fn maybe(a: &Option<Expr>, b: &Option<Expr>) -> bool {
    all(a.as_slice(), b.as_slice(), same_expr)
}

fn same_rel(a: &Rel, b: &Rel) -> bool {
    a.lateral == b.lateral
        && match (&a.kind, &b.kind) {
            (RelKind::Table(x), RelKind::Table(y)) => x.oid == y.oid,
            (RelKind::Subquery(x), RelKind::Subquery(y)) => same_query(x, y),
            (
                RelKind::Function { calls: x, ordinality: with },
                RelKind::Function { calls: y, ordinality: also },
            ) => with == also && all(x, y, same_call),
            (RelKind::Values(x), RelKind::Values(y)) => all(x, y, |x, y| all(x, y, same_expr)),
            (RelKind::Cte { level, index }, RelKind::Cte { level: out, index: at })
            | (RelKind::Recursive { level, index }, RelKind::Recursive { level: out, index: at }) => {
                level == out && index == at
            }
            (RelKind::Join, RelKind::Join) | (RelKind::Excluded, RelKind::Excluded) => true,
            _ => false,
        }
}

fn same_call(a: &FunctionCall, b: &FunctionCall) -> bool {
    a.width == b.width && a.set == b.set && a.record == b.record && same_expr(&a.expr, &b.expr)
}

/// NATURAL of sides that share no name has no condition, and the ON that it is written as has one that always holds.
fn same_tree(a: &JoinTree, b: &JoinTree) -> bool {
    match (a, b) {
        (JoinTree::Rel(x), JoinTree::Rel(y)) => x == y,
        (JoinTree::Join(x), JoinTree::Join(y)) => {
            let always = Expr::bool(true);
            x.kind == y.kind
                && same_tree(&x.left, &y.left)
                && same_tree(&x.right, &y.right)
                && same_expr(
                    x.condition.as_ref().unwrap_or(&always),
                    y.condition.as_ref().unwrap_or(&always),
                )
        }
        _ => false,
    }
}

fn same_window(a: &Window, b: &Window) -> bool {
    all(&a.partition_by, &b.partition_by, same_expr)
        && all(&a.order_by, &b.order_by, |x, y| {
            x.desc == y.desc && x.nulls_first == y.nulls_first && same_expr(&x.expr, &y.expr)
        })
        && a.frame.units == b.frame.units
        && a.frame.exclude == b.frame.exclude
        && same_bound(&a.frame.start, &b.frame.start)
        && same_bound(&a.frame.end, &b.frame.end)
}

fn same_bound(a: &Bound, b: &Bound) -> bool {
    match (a, b) {
        (Bound::Preceding(x), Bound::Preceding(y)) | (Bound::Following(x), Bound::Following(y)) => {
            same_expr(x, y)
        }
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn same_set(a: &SetTree, b: &SetTree) -> bool {
    match (a, b) {
        (SetTree::Leaf(x), SetTree::Leaf(y)) => x == y,
        (SetTree::Op(x), SetTree::Op(y)) => {
            x.op == y.op
                && x.all == y.all
                && x.types == y.types
                && same_set(&x.left, &y.left)
                && same_set(&x.right, &y.right)
        }
        _ => false,
    }
}

fn same_cte(a: &Cte, b: &Cte) -> bool {
    a.materialized == b.materialized
        && match (&a.query, &b.query) {
            (CteQuery::Plain(x), CteQuery::Plain(y)) => same_query(x, y),
            (
                CteQuery::Recursive { first, again, all, .. },
                CteQuery::Recursive { first: one, again: other, all: each, .. },
            ) => all == each && same_query(first, one) && same_query(again, other),
            _ => false,
        }
}

/// Does the one expression compute what the other does? Sub-selects are looked into.
pub(super) fn same_expr(a: &Expr, b: &Expr) -> bool {
    let own = match (a, b) {
        (Expr::SubLink(x), Expr::SubLink(y)) => {
            return same_kind(&x.kind, &y.kind)
                && same_query(&x.query, &y.query)
                && same_children(a, b);
        }
        (Expr::Window(x), Expr::Window(y)) => {
            let func = match (x.func, y.func) {
                (WindowFunc::Aggregate(x), WindowFunc::Aggregate(y)) => x.oid == y.oid,
                (WindowFunc::Function(x), WindowFunc::Function(y)) => x.oid == y.oid,
                _ => false,
            };
            func && x.window == y.window && x.star == y.star
        }
        (Expr::NextValue(x), Expr::NextValue(y)) => x.sequence == y.sequence,
        (Expr::Var(_) | Expr::Const(_) | Expr::Param(_) | Expr::Slot(_), _) => walk::same(a, b),
        _ => walk::same_node(a, b),
    };
    own && same_children(a, b)
}

fn same_children(a: &Expr, b: &Expr) -> bool {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    walk::each_child(a, &mut |child| left.push(child));
    walk::each_child(b, &mut |child| right.push(child));
    left.len() == right.len() && left.into_iter().zip(right).all(|(x, y)| same_expr(x, y))
}

fn same_kind(a: &SubLinkKind, b: &SubLinkKind) -> bool {
    match (a, b) {
        (
            SubLinkKind::Quantified { tests: x, all: each },
            SubLinkKind::Quantified { tests: y, all: every },
        ) => each == every && all(x, y, |x, y| x.func.oid == y.func.oid),
        (SubLinkKind::Array { nested: x }, SubLinkKind::Array { nested: y }) => x == y,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}
