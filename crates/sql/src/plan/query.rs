//! One query: rows, grouping, windows, outputs, order, limit.

use std::sync::Arc;

use crate::bind::collate;
use crate::bind::query::{Distinct, JoinKind, JoinTree, Query, RelKind, SortKey};
use crate::bind::tree::{Column, Expr, Slot, SortExpr, Ty};
use crate::bind::walk;
use crate::error::{Result, SqlError, bail, check_stack};
use crate::types::{Collation, Datum, TypeId};

use super::access::{Planned, QueryCx, WantedKey, WantedOrder};
use super::estimate::is_volatile;
use super::level::{self, Layout, Level};
use super::node::{
    Aggregate, Limit, LockRows, LockedTable, Node, OuterRecheck, Project, ScanColumn, Sort, Top,
    Unique,
};
use super::pull_up::{Place, place_of};
use super::reduce::simplified;
use super::rewrite::Below;
use super::semijoin::{is_candidate, is_for_first_rows};
use super::target::{contains_set, passed_on, project_sets};
use super::{Planner, extremes, gate, members, quals};

/// What the outputs are computed from.
pub(super) struct Stage {
    pub node: Node,
    pub layout: Layout,
    /// Grouped: only these are left.
    pub computed: Option<Vec<(Expr, Slot)>>,
    pub windows: Vec<Slot>,
}

impl Stage {
    pub fn below(&self) -> Below<'_> {
        let windows = (!self.windows.is_empty()).then_some(&self.windows[..]);
        match &self.computed {
            Some(computed) => Below { windows, ..Below::computed(computed) },
            None => Below { windows, ..Below::row(&self.layout) },
        }
    }
}

impl Planner {
    /// The query of a whole statement.
    pub(super) fn top_query(&mut self, query: &Query) -> Result<Node> {
        let (node, correlation) = self.subquery(query)?;
        if !correlation.is_empty() {
            return Err(SqlError::internal("a statement refers to a query around it"));
        }
        Ok(node)
    }

    /// Plans a query in a level of its own, which is left on the stack for the caller to take.
    pub(super) fn query(&mut self, query: &Query) -> Result<Node> {
        check_stack()?;
        let query = members::joined(simplified(query), &self.indexes);
        let query = &*extremes::apart(query, &self.indexes);
        self.enter(query)?;
        let node = self.entered(query)?;
        Ok(self.renewing(node))
    }

    /// Plans a query in its level, with its CTEs.
    fn entered(&mut self, query: &Query) -> Result<Node> {
        if let Some(tree) = &query.set_op {
            let node = self.set_operation(query, tree)?;
            let slots = query.targets.iter().enumerate();
            let layout = Layout {
                slots: slots.map(|(i, t)| (0, Column::User(i as u16), t.expr.ty())).collect(),
            };
            let width = layout.width();
            let node = sorted(node, output_keys(query, &query.order_by), top(query));
            let node = self.limited(query, node)?;
            return Ok(cut(node, width, query));
        }
        let mut cx = QueryCx::new(query, &self.indexes);
        for lock in &query.locking {
            cx.need(lock.rel, Column::Ctid, Ty::of(TypeId::TID));
        }
        let order = wanted_order(query).or_else(|| extremes::extreme(query));
        let mut planned = self.rows(&cx, order.as_ref())?;
        if planned.sorted && order.is_some_and(|order| order.extreme) {
            planned.node = first_row(planned.node);
        }
        if !query.locking.is_empty() {
            return self.locked(query, planned);
        }
        // Grouping makes rows of its own, and the order of what `min` or `max` reads is none of theirs.
        let presorted = planned.sorted && !query.is_grouped();
        let mut stage = Stage {
            node: planned.node,
            layout: planned.layout,
            computed: None,
            windows: Vec::new(),
        };
        if query.is_grouped() {
            self.group(query, &mut stage)?;
        }
        if !query.windows.is_empty() {
            self.windows(query, &mut stage)?;
        }
        let node = match !presorted && order_is_first(query) {
            true => self.ordered_outputs(query, stage)?,
            false => {
                let node = self.outputs(query, stage)?;
                self.distinct_and_order(query, node, presorted)?
            }
        };
        self.limited_outputs(query, node)
    }

    /// Opens a level for the query and plans its CTEs.
    pub(super) fn enter(&mut self, query: &Query) -> Result<()> {
        self.levels.push(Level {
            columns: query.rels.iter().map(|rel| rel.columns.clone()).collect(),
            nullable: level::nullable(query),
            ..Level::default()
        });
        self.plan_ctes(&query.ctes)
    }

    /// FROM under WHERE, sub-selects that are joins in disguise included.
    pub(super) fn rows(
        &mut self,
        cx: &QueryCx<'_>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let mut conditions = cx.query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default();
        if let Some(order) = order.filter(|order| order.extreme) {
            conditions.push(order.first_key_not_null(cx.query));
        }
        // Without FROM there is nothing to keep from being read.
        let (once, conditions) = match cx.query.from.is_empty() {
            true => (Vec::new(), conditions),
            false => gate::split(conditions),
        };
        let is_limited = order.map_or_else(|| takes_any(cx.query), |order| order.limited);
        let (joins, conditions): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|condition| {
                is_candidate(condition) && !(is_limited && is_for_first_rows(condition, cx))
            });
        // A semi-join drops rows, so that more than LIMIT are wanted below it, and gives them in another order once
        // its table does not fit in memory.
        let order = order.filter(|_| joins.is_empty());
        let mut planned = self.from(cx, &cx.query.from, conditions, order)?;
        for join in joins {
            planned = self.semi_join(planned, join)?;
        }
        self.gated(planned, &once)
    }

    /// The target list over the stage's row.
    fn output_exprs(&mut self, query: &Query, stage: &Stage) -> Result<Vec<Expr>> {
        let mut below = stage.below();
        let mut exprs = Vec::with_capacity(query.targets.len());
        for target in &query.targets {
            exprs.push(self.rewrite(&target.expr, &mut below)?);
        }
        Ok(exprs)
    }

    /// The targets of the stage's rows once these are in order. What they are sorted by, and what does not wait, is
    /// computed before, and kept beside the stage's slots.
    fn ordered_outputs(&mut self, query: &Query, stage: Stage) -> Result<Node> {
        let mut exprs = self.output_exprs(query, &stage)?;
        let width = stage.layout.width();
        let mut row = passed_on(width);
        let is_key = |at: usize| query.order_by.iter().any(|key| usize::from(key.target) == at);
        for (at, (expr, target)) in exprs.iter_mut().zip(&query.targets).enumerate() {
            let is_before = is_key(at) || !waits(query, &target.expr);
            if is_before && !matches!(expr, Expr::Slot(_)) {
                let slot = Slot { slot: row.len() as u16, ty: expr.ty() };
                row.push(std::mem::replace(expr, Expr::Slot(slot)));
            }
        }
        let key = |key: &SortKey| output_key(query, key, exprs[usize::from(key.target)].clone());
        let keys = query.order_by.iter().map(key).collect();
        let (input, row_width) = (stage.node, row.len() as u16);
        let input = match row_width > width {
            true => Node::Project(Arc::new(Project { input, exprs: row })),
            false => input,
        };
        // A set may be empty, so that it takes more rows than LIMIT lets through.
        let has_sets = exprs.iter().any(contains_set);
        let input = sorted(input, keys, top(query).filter(|_| !has_sets));
        Ok(project_sets(input, row_width, exprs))
    }

    fn outputs(&mut self, query: &Query, stage: Stage) -> Result<Node> {
        let exprs = self.output_exprs(query, &stage)?;
        if query.has_srf {
            return Ok(project_sets(stage.node, stage.layout.width(), exprs));
        }
        let same = stage.computed.is_none()
            && exprs.len() == usize::from(stage.layout.width())
            && exprs
                .iter()
                .enumerate()
                .all(|(i, e)| matches!(e, Expr::Slot(slot) if usize::from(slot.slot) == i));
        if same {
            return Ok(stage.node);
        }
        Ok(Node::Project(Arc::new(Project { input: stage.node, exprs })))
    }

    fn distinct_and_order(&mut self, query: &Query, node: Node, presorted: bool) -> Result<Node> {
        let width = query.targets.len() as u16;
        let keys = output_keys(query, &query.order_by);
        let node = match &query.distinct {
            Some(Distinct::All) => {
                let collations: Vec<Collation> =
                    query.targets.iter().map(|target| collate::of(&target.expr)).collect();
                let slots: Vec<Expr> = query
                    .targets
                    .iter()
                    .enumerate()
                    .map(|(i, t)| Expr::Slot(Slot { slot: i as u16, ty: t.expr.ty() }))
                    .collect();
                let all = (0..width).collect();
                let distinct = Aggregate {
                    input: node,
                    keys: slots,
                    sets: vec![all],
                    calls: Vec::new(),
                    groupings: Vec::new(),
                };
                let node = super::collate::aggregate(distinct, &collations);
                sorted(node, keys, top(query))
            }
            Some(Distinct::On(on)) => {
                let mut keys = keys;
                for target in on {
                    let known = query.order_by.iter().any(|key| key.target == *target);
                    if !known {
                        let key = SortKey { target: *target, desc: false, nulls_first: false };
                        keys.extend(output_keys(query, &[key]));
                    }
                }
                let node = sorted(node, keys, None);
                let key = |target: &u16| {
                    let expr = &query.targets[usize::from(*target)].expr;
                    let slot = Expr::Slot(Slot { slot: *target, ty: expr.ty() });
                    super::collate::grouped(slot, collate::of(expr))
                };
                let keys = on.iter().map(key).collect();
                Node::Unique(Arc::new(Unique { input: node, keys }))
            }
            None if presorted => node,
            None => sorted(node, keys, top(query)),
        };
        Ok(node)
    }

    /// The visible ones of all targets, as many rows as are wanted. Whether rows tie may hang on the others.
    fn limited_outputs(&mut self, query: &Query, node: Node) -> Result<Node> {
        let width = query.targets.len() as u16;
        if query.with_ties {
            return Ok(cut(self.limited(query, node)?, width, query));
        }
        self.limited(query, cut(node, width, query))
    }

    /// LIMIT and OFFSET.
    fn limited(&mut self, query: &Query, input: Node) -> Result<Node> {
        if query.limit.is_none() && query.offset.is_none() {
            return Ok(input);
        }
        let count = match &query.limit {
            Some(expr) => Some(self.rewrite(expr, &mut Below::nothing())?),
            None => None,
        };
        let offset = match &query.offset {
            Some(expr) => Some(self.rewrite(expr, &mut Below::nothing())?),
            None => None,
        };
        let ties = query.with_ties.then(|| output_keys(query, &query.order_by));
        Ok(Node::Limit(Arc::new(Limit { input, count, offset, ties })))
    }

    /// FOR UPDATE: sort the rows as they are, lock them one by one, then compute the outputs.
    fn locked(&mut self, query: &Query, planned: Planned) -> Result<Node> {
        let layout = planned.layout;
        let mut node = planned.node;
        if !query.order_by.is_empty() && !planned.sorted {
            let mut keys = Vec::with_capacity(query.order_by.len());
            for key in &query.order_by {
                let expr = &query.targets[usize::from(key.target)].expr;
                let own = self.rewrite(expr, &mut Below::row(&layout))?;
                let key = SortExpr::new(expr.clone(), key.desc, key.nulls_first);
                keys.push(super::collate::sort_key(&key, own));
            }
            node = sorted(node, keys, None);
        }
        let recheck = self.recheck(query, &layout)?;
        let outer = self.outer_rechecks(query, &layout)?;
        let mut tables = Vec::with_capacity(query.locking.len());
        for lock in &query.locking {
            let RelKind::Table(table) = &query.rels[usize::from(lock.rel)].kind else {
                return Err(SqlError::internal("only tables' rows are locked"));
            };
            let place = query.from.iter().find_map(|tree| place_of(tree, lock.rel));
            if place.is_some_and(|place| place != Place::Plain) {
                let words = crate::bind::locking::words(lock.strength);
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "{words} cannot be applied to the nullable side of an outer join"
                );
            }
            tables.push(LockedTable {
                table: table.clone(),
                ctid: layout.find(lock.rel, Column::Ctid).expect("asked for above"),
                strength: lock.strength,
                wait: lock.wait,
                refresh: refresh(&layout, lock.rel),
            });
        }
        node = Node::LockRows(Arc::new(LockRows { input: node, tables, outer, recheck }));
        let mut exprs = Vec::new();
        let ties = query.with_ties;
        for target in query.targets.iter().filter(|target| ties || !target.junk) {
            exprs.push(self.rewrite(&target.expr, &mut Below::row(&layout))?);
        }
        node = Node::Project(Arc::new(Project { input: node, exprs }));
        if ties { self.limited_outputs(query, node) } else { self.limited(query, node) }
    }

    /// The whole condition of a query over its joined row, to be checked again on a newer version.
    pub(super) fn recheck(&mut self, query: &Query, layout: &Layout) -> Result<Option<Expr>> {
        let mut conditions = Vec::new();
        for tree in &query.from {
            inner_conditions(tree, &mut conditions);
        }
        conditions.extend(query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default());
        quals::order(&mut conditions);
        // The row that a cursor is on is the same one, whatever became of it.
        conditions
            .retain(|condition| !walk::any(condition, &mut |e| matches!(e, Expr::CurrentOf(_))));
        // Few rows are looked at again: what is asked of single ones need not be ready for many.
        let plain = std::mem::replace(&mut self.plain_exists, true);
        let rewritten = self.rewrite_all(&conditions, &mut Below::row(layout));
        self.plain_exists = plain;
        Ok(Expr::all_of(rewritten?))
    }

    /// The outer joins of a query over its joined row, innermost first.
    fn outer_rechecks(&mut self, query: &Query, layout: &Layout) -> Result<Vec<OuterRecheck>> {
        let mut joins = Vec::new();
        for tree in &query.from {
            outer_joins(tree, &mut joins);
        }
        let mut rechecks = Vec::with_capacity(joins.len());
        for (condition, other_side) in joins {
            let mut rels = Vec::new();
            relations(other_side, &mut rels);
            let slots = layout.slots.iter().enumerate();
            let nulled = slots.filter(|(_, (rel, ..))| rels.contains(rel)).map(|(i, _)| i as u16);
            rechecks.push(OuterRecheck {
                condition: self.rewrite(condition, &mut Below::row(layout))?,
                nulled: nulled.collect(),
            });
        }
        Ok(rechecks)
    }
}

/// Which slots of a row are columns of this entry.
pub(super) fn refresh(layout: &Layout, rel: u16) -> Vec<(u16, ScanColumn)> {
    let slots = layout.slots.iter().enumerate();
    slots
        .filter(|(_, (of, ..))| *of == rel)
        .map(|(i, (_, column, ty))| (i as u16, ScanColumn { column: *column, ty: *ty }))
        .collect()
}

/// Conditions that a row must meet to come through: those of inner joins, but for those on the inner side of
/// outer ones.
fn inner_conditions(tree: &JoinTree, out: &mut Vec<Expr>) {
    let JoinTree::Join(join) = tree else { return };
    match join.kind {
        JoinKind::Inner => {
            inner_conditions(&join.left, out);
            inner_conditions(&join.right, out);
            out.extend(join.condition.clone().map(Expr::into_conjuncts).unwrap_or_default());
        }
        JoinKind::Left => inner_conditions(&join.left, out),
        JoinKind::Right => inner_conditions(&join.right, out),
        JoinKind::Full => {}
    }
}

/// Outer joins, innermost first: the condition, and the side that is null where it does not hold.
fn outer_joins<'t>(tree: &'t JoinTree, out: &mut Vec<(&'t Expr, &'t JoinTree)>) {
    let JoinTree::Join(join) = tree else { return };
    let (kept, other) = match join.kind {
        JoinKind::Inner => {
            outer_joins(&join.left, out);
            outer_joins(&join.right, out);
            return;
        }
        JoinKind::Left => (&join.left, &join.right),
        JoinKind::Right => (&join.right, &join.left),
        JoinKind::Full => return,
    };
    outer_joins(kept, out);
    out.extend(join.condition.as_ref().map(|condition| (condition, other)));
}

fn relations(tree: &JoinTree, out: &mut Vec<u16>) {
    match tree {
        JoinTree::Rel(rel) => out.push(*rel),
        JoinTree::Join(join) => {
            relations(&join.left, out);
            relations(&join.right, out);
        }
    }
}

/// Sort keys over the projected targets.
fn output_keys(query: &Query, keys: &[SortKey]) -> Vec<SortExpr> {
    let slot = |key: &SortKey| {
        let ty = query.targets[usize::from(key.target)].expr.ty();
        Expr::Slot(Slot { slot: key.target, ty })
    };
    keys.iter().map(|key| output_key(query, key, slot(key))).collect()
}

/// A sort key whose value is in a slot.
fn output_key(query: &Query, key: &SortKey, slot: Expr) -> SortExpr {
    let collation = collate::of(&query.targets[usize::from(key.target)].expr);
    let expr = super::collate::ordered(slot, collation);
    SortExpr { expr, desc: key.desc, nulls_first: key.nulls_first, collation }
}

/// Are rows put in order before all of their targets are computed? Volatile ones then see the rows in order, and only
/// those that LIMIT lets through; sets unfold after it, unless it hangs on one. So with LIMIT do those that take long.
fn order_is_first(query: &Query) -> bool {
    if query.order_by.is_empty() || query.distinct.is_some() {
        return false;
    }
    let is_key = |at: usize| query.order_by.iter().any(|key| usize::from(key.target) == at);
    let targets = || query.targets.iter().map(|target| &target.expr).enumerate();
    !targets().any(|(at, expr)| is_key(at) && contains_set(expr))
        && targets().any(|(at, expr)| !is_key(at) && waits(query, expr))
}

/// Is a target computed once rows are in order, if it is not what they are ordered by?
fn waits(query: &Query, expr: &Expr) -> bool {
    is_volatile(expr) || contains_set(expr) || query.limit.is_some() && quals::is_dear(expr)
}

/// Are the first rows wanted, whichever they are?
fn takes_any(query: &Query) -> bool {
    let is_made_of_all =
        query.is_grouped() || query.distinct.is_some() || !query.windows.is_empty();
    query.limit.is_some() && query.order_by.is_empty() && !is_made_of_all
}

pub(super) fn sorted(input: Node, keys: Vec<SortExpr>, top: Option<Top>) -> Node {
    if keys.is_empty() {
        return input;
    }
    Node::Sort(Arc::new(Sort { input, keys, top }))
}

/// How many rows LIMIT and OFFSET want, where that can be told before the first row is sorted.
pub(super) fn top(query: &Query) -> Option<Top> {
    if query.with_ties {
        return None;
    }
    let (count, offset) = (query.limit.as_ref()?, query.offset.as_ref());
    let cheap = |expr: &Expr| is_told_early(expr);
    (cheap(count) && offset.is_none_or(cheap))
        .then(|| Top { count: count.clone(), offset: offset.cloned() })
}

/// A constant, a parameter, or a stable function of such.
fn is_told_early(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(_) => true,
        Expr::Call(call) => !is_volatile(expr) && call.args.iter().all(is_told_early),
        _ => false,
    }
}

/// Drops targets that only sorting needed.
fn cut(input: Node, width: u16, query: &Query) -> Node {
    if query.targets.iter().all(|target| !target.junk) {
        return input;
    }
    let targets = query.targets.iter().enumerate().take(usize::from(width));
    let exprs = targets
        .filter(|(_, target)| !target.junk)
        .map(|(i, target)| Expr::Slot(Slot { slot: i as u16, ty: target.expr.ty() }))
        .collect();
    Node::Project(Arc::new(Project { input, exprs }))
}

/// The entry whose column rows are first ordered by: the one there is, or any that no outer join can leave without a row, if
/// only the first rows are wanted.
fn first_key_entry(query: &Query) -> Option<u16> {
    let first = query.order_by.first()?;
    let Expr::Var(var) = query.targets[usize::from(first.target)].expr.bare() else { return None };
    let is_alone = matches!(query.from[..], [JoinTree::Rel(_)]);
    let place = query.from.iter().find_map(|tree| place_of(tree, var.rel));
    let fits = is_alone || query.limit.is_some() && place == Some(Place::Plain);
    (var.level == 0 && fits).then_some(var.rel)
}

/// The order that an index could give: ORDER BY columns of one table.
fn wanted_order(query: &Query) -> Option<WantedOrder> {
    let plain = !query.is_grouped()
        && query.windows.is_empty()
        && query.distinct.is_none()
        && !query.has_srf
        && !query.order_by.is_empty();
    let rel = plain.then(|| first_key_entry(query)).flatten()?;
    let mut keys = Vec::with_capacity(query.order_by.len());
    for key in &query.order_by {
        let expr = &query.targets[usize::from(key.target)].expr;
        let (desc, nulls_first) = (key.desc, Some(key.nulls_first));
        let collation = collate::of(expr);
        match expr.bare() {
            Expr::Var(var) if var.level == 0 && var.rel == rel => match var.column {
                Column::User(column) => {
                    keys.push(WantedKey { column, desc, nulls_first, collation });
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    Some(WantedOrder { rel, keys, limited: query.limit.is_some(), extreme: false, rows: None })
}

fn first_row(input: Node) -> Node {
    let one = Expr::constant(Datum::Int8(1), Ty::of(TypeId::INT8));
    Node::Limit(Arc::new(Limit { input, count: Some(one), offset: None, ties: None }))
}
