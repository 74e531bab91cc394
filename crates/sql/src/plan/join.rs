//! FROM and WHERE: which conditions go where, in which order entries are joined, and how.

use std::sync::Arc;

use crate::bind::query::{Join, JoinKind, JoinTree, RelKind};
use crate::bind::tree::{Call, Column, Expr, Slot, Ty};
use crate::bind::{coerce, walk};
use crate::catalog::TableDef;
use crate::error::{Result, SqlError, check_stack};
use crate::types::{Collation, TypeId};

use super::access::{Outer, Planned, QueryCx, WantedOrder, column_of};
use super::choose::{IndexChoice, choose_index};
use super::estimate::{is_volatile, operator, table_rows};
use super::fit::widen;
use super::level::{Lateral, Layout};
use super::node::{HashJoin, JoinType, NestLoop, Node, Project};
use super::ordered::{by_lookup, order_of_join};
use super::rewrite::Below;
use super::{Planner, collate, full_join, gate, quals, reduce};

/// Something that is joined as a whole: an entry, or an outer join.
pub(super) struct Unit<'q> {
    pub tree: &'q JoinTree,
    pub rels: Vec<u16>,
    /// Entries that must come before it: its lateral references.
    pub needs: Vec<u16>,
    pub conditions: Vec<Expr>,
}

/// The side of a join that is still to be planned, so that it can use the other side's row.
enum Right<'q> {
    Entry { rel: u16, conditions: Vec<Expr> },
    Join { join: &'q Join, conditions: Vec<Expr> },
}

/// So many rows may be kept for a hash join, whatever is joined with them.
const KEPT_ROWS_FEW: f64 = 10_000.0;

impl Planner {
    /// The rows that a query starts from: its FROM under its WHERE.
    pub(super) fn from(
        &mut self,
        cx: &QueryCx<'_>,
        items: &[JoinTree],
        conditions: Vec<Expr>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let mut units = Vec::new();
        // Those of ON before those of WHERE, which are about what is joined.
        let mut all = Vec::new();
        for item in items {
            flatten(cx, item, &mut units, &mut all);
        }
        all.extend(conditions);
        let mut conditions = all;
        // Rows of entries that are not among these come from joins around.
        let here: Vec<u16> = units.iter().flat_map(|unit| unit.rels.clone()).collect();
        units.iter_mut().for_each(|unit| unit.needs.retain(|rel| here.contains(rel)));
        super::equal::spread_constants(&mut conditions);
        if units.is_empty() {
            quals::order(&mut conditions);
            let filter = self.rewrite_all(&conditions, &mut Below::nothing())?;
            let node = Node::OneRow(Expr::all_of(filter).map(Arc::new));
            return Ok(Planned { node, layout: Layout::default(), rows: 1.0, sorted: false });
        }
        let (once, conditions) = gate::split(conditions);
        // A condition on one unit alone is that unit's, as one on none is that of the only unit; the rest join.
        let single = units.len() == 1;
        let mut joining: Vec<(Vec<u16>, Expr)> = Vec::new();
        for condition in conditions {
            let rels = walk::rels_of(&condition);
            let owner =
                units.iter_mut().find(|unit| rels.iter().all(|rel| unit.rels.contains(rel)));
            match owner {
                Some(unit) if !rels.is_empty() || single => unit.conditions.push(condition),
                _ => joining.push((rels, condition)),
            }
        }
        let is_table = matches!(units[..], [Unit { tree: JoinTree::Rel(_), .. }]);
        let of_join = match is_table {
            true => None,
            false => order.and_then(|order| order_of_join(cx, &units, &joining, order)),
        };
        let order = of_join.as_ref().or(order.filter(|_| is_table));
        let planned = match <[Unit<'_>; 1]>::try_from(units) {
            Ok([only]) => self.alone(cx, right_of(only.tree, only.conditions), order),
            Err(units) => self.join_all(cx, units, joining, order),
        };
        self.gated(planned?, &once)
    }

    fn alone(
        &mut self,
        cx: &QueryCx<'_>,
        right: Right<'_>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        check_stack()?;
        match right {
            Right::Entry { rel, conditions } => {
                let mut entry = self.entry(cx, rel, conditions, None, order)?;
                if let Some(wanted) = order.and_then(|order| order.rows).filter(|_| entry.sorted) {
                    entry.rows = entry.rows.min(wanted);
                }
                Ok(entry)
            }
            Right::Join { join, conditions } => self.outer_join(cx, join, conditions, order),
        }
    }

    /// Joins units greedily: the smallest first, or the one that gives the order, then always what is cheapest to add.
    fn join_all(
        &mut self,
        cx: &QueryCx<'_>,
        mut units: Vec<Unit<'_>>,
        joining: Vec<(Vec<u16>, Expr)>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        let gives = |unit: &Unit<'_>| order.is_none_or(|order| unit.rels.contains(&order.rel));
        let first = (0..units.len())
            .filter(|&i| units[i].needs.is_empty() && gives(&units[i]))
            .min_by(|&a, &b| unit_rows(cx, &units[a]).total_cmp(&unit_rows(cx, &units[b])));
        let Some(first) = first else {
            return Err(SqlError::internal("lateral references in a circle"));
        };
        let unit = units.remove(first);
        let mut joined = unit.rels.clone();
        // What is about no column but may have another answer each time is asked of the rows of the whole.
        let (last, mut joining): (Vec<_>, Vec<_>) =
            joining.into_iter().partition(|(rels, _)| rels.is_empty());
        let mut left = self.alone(cx, right_of(unit.tree, unit.conditions), order)?;
        while !units.is_empty() {
            let keeping = (0..units.len()).find(|&i| {
                left.sorted && by_lookup(cx, &units[i], &joined, &joining, left.rows).is_some()
            });
            let next = (0..units.len())
                .filter(|&i| keeping.is_none_or(|keeping| keeping == i))
                .filter(|&i| units[i].needs.iter().all(|rel| joined.contains(rel)))
                .min_by(|&a, &b| {
                    let cost =
                        |i: usize| addition_cost(cx, &units[i], &joined, &joining, left.rows);
                    cost(a).total_cmp(&cost(b))
                });
            let Some(next) = next else {
                return Err(SqlError::internal("lateral references in a circle"));
            };
            let unit = units.remove(next);
            joined.extend(&unit.rels);
            let (ready, later): (Vec<_>, Vec<_>) = joining
                .into_iter()
                .partition(|(rels, _)| rels.iter().all(|rel| joined.contains(rel)));
            joining = later;
            let ready = ready.into_iter().map(|(_, condition)| condition).collect();
            let right = right_of(unit.tree, unit.conditions);
            left = self.join(cx, left, right, &unit.needs, JoinType::Inner, ready)?;
        }
        if !joining.is_empty() {
            return Err(SqlError::internal("a condition about entries that are not joined here"));
        }
        let last = last.into_iter().map(|(_, condition)| condition).collect();
        left.node = self.filter(left.node, last, &left.layout)?;
        Ok(left)
    }

    fn outer_join(
        &mut self,
        cx: &QueryCx<'_>,
        join: &Join,
        above: Vec<Expr>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        check_stack()?;
        let (outer, inner, kind) = match join.kind {
            JoinKind::Left => (&join.left, &join.right, JoinType::Left),
            JoinKind::Right => (&join.right, &join.left, JoinType::Left),
            JoinKind::Full => {
                full_join::check(join)?;
                (&join.left, &join.right, JoinType::Full)
            }
            JoinKind::Inner => return Err(SqlError::internal("an inner join is flattened")),
        };
        let on = join.condition.clone().map(Expr::into_conjuncts).unwrap_or_default();
        let (once, above) = gate::split(above);
        let outer_rels = rels_in(outer);
        let inner_rels = rels_in(inner);
        // Conditions from above on the preserved side alone may be applied before the join, and so may those of the
        // join on the other side.
        let (below, after): (Vec<Expr>, Vec<Expr>) = above
            .into_iter()
            .partition(|condition| kind == JoinType::Left && is_within(condition, &outer_rels));
        let order = order.filter(|order| outer_rels.contains(&order.rel));
        let left = self.from(cx, std::slice::from_ref(outer), below, order)?;
        let asks_for_none = |condition: &Expr| {
            kind == JoinType::Left && reduce::asks_for_none(condition, &inner_rels, &on)
        };
        let (none, after): (Vec<Expr>, Vec<Expr>) = after.into_iter().partition(asks_for_none);
        let (inner_only, on): (Vec<Expr>, Vec<Expr>) = on
            .into_iter()
            .partition(|condition| kind == JoinType::Left && is_within(condition, &inner_rels));
        let kind = if none.is_empty() { kind } else { JoinType::Anti };
        let outer_width = left.layout.width();
        let mut needs = lateral_needs(cx, inner);
        needs.retain(|rel| !inner_rels.contains(rel));
        let mut joined = match inner {
            JoinTree::Rel(rel) => {
                let right = Right::Entry { rel: *rel, conditions: inner_only };
                self.join(cx, left, right, &needs, kind, on)?
            }
            JoinTree::Join(inner) if inner.kind != JoinKind::Inner => {
                let right = Right::Join { join: inner, conditions: inner_only };
                self.join(cx, left, right, &needs, kind, on)?
            }
            tree => self.around(left, kind, on, |planner| {
                planner.from(cx, std::slice::from_ref(tree), inner_only, None)
            })?,
        };
        let layout = joined.layout.clone();
        if kind == JoinType::Anti {
            joined.node = with_nulls(joined.node, outer_width, &layout);
        }
        joined.node = self.filter(joined.node, after, &layout)?;
        self.gated(joined, &once)
    }

    /// Joins what is planned with an entry or an outer join.
    fn join(
        &mut self,
        cx: &QueryCx<'_>,
        left: Planned,
        right: Right<'_>,
        needs: &[u16],
        kind: JoinType,
        on: Vec<Expr>,
    ) -> Result<Planned> {
        match right {
            Right::Entry { rel, conditions } => {
                let lateral = !needs.is_empty();
                // FULL looks for the rows without a partner among all of them.
                let by_index =
                    kind != JoinType::Full && index_pays(cx, rel, &conditions, &on, left.rows);
                if lateral || by_index {
                    return self.parameterized(cx, left, rel, conditions, kind, on);
                }
                let right = self.entry(cx, rel, conditions, None, None)?;
                self.combine(left, right, kind, on)
            }
            Right::Join { join, conditions } => self
                .around(left, kind, on, |planner| planner.outer_join(cx, join, conditions, None)),
        }
    }

    /// Joins what is planned with several entries, any of which may refer to its rows: then these run anew for each of
    /// them.
    fn around(
        &mut self,
        left: Planned,
        kind: JoinType,
        on: Vec<Expr>,
        right: impl FnOnce(&mut Planner) -> Result<Planned>,
    ) -> Result<Planned> {
        let (layout, parameters) = (left.layout.clone(), Vec::new());
        self.level().laterals.push(Lateral { layout, parameters });
        let right = right(self)?;
        let lateral = self.level().laterals.pop().expect("pushed above");
        if lateral.parameters.is_empty() {
            return self.combine(left, right, kind, on);
        }
        self.nested(left, right, kind, lateral.parameters, &on)
    }

    /// A nested loop whose inner side is run anew for each outer row: lateral, or by index.
    fn parameterized(
        &mut self,
        cx: &QueryCx<'_>,
        left: Planned,
        rel: u16,
        mut conditions: Vec<Expr>,
        kind: JoinType,
        on: Vec<Expr>,
    ) -> Result<Planned> {
        let is_table = matches!(cx.query.rels[usize::from(rel)].kind, RelKind::Table(_));
        let mut outer = Outer { layout: &left.layout, parameters: Vec::new() };
        let mut remaining = Vec::new();
        if is_table {
            // Join conditions that give index keys move into the inner scan.
            let RelKind::Table(table) = &cx.query.rels[usize::from(rel)].kind else {
                return Err(SqlError::internal("just matched"));
            };
            let mut all = conditions.clone();
            all.extend(on.iter().cloned());
            let used: Vec<usize> = choose_index(cx, table, rel, &all, true, None)
                .map(|choice| choice.answered().collect())
                .unwrap_or_default();
            let own = conditions.len();
            for (i, condition) in on.into_iter().enumerate() {
                if used.contains(&(own + i)) {
                    conditions.push(condition);
                } else {
                    remaining.push(condition);
                }
            }
        } else {
            remaining = on;
        }
        let right = self.entry(cx, rel, conditions, Some(&mut outer), None)?;
        let parameters = outer.parameters;
        self.nested(left, right, kind, parameters, &remaining)
    }

    fn nested(
        &mut self,
        left: Planned,
        right: Planned,
        kind: JoinType,
        parameters: Vec<(u16, Expr)>,
        on: &[Expr],
    ) -> Result<Planned> {
        let layout = left.layout.join(&right.layout);
        let mut on = on.to_vec();
        quals::order(&mut on);
        let condition = self.rewrite_all(&on, &mut Below::row(&layout))?;
        let rows = (left.rows * right.rows).max(1.0);
        let sorted = left.sorted && kind != JoinType::Full;
        let node = Node::NestLoop(Arc::new(NestLoop {
            outer_width: left.layout.width(),
            inner_width: right.layout.width(),
            outer: left.node,
            inner: right.node,
            kind,
            parameters,
            condition: Expr::all_of(condition),
        }));
        Ok(Planned { node, layout, rows, sorted })
    }

    /// Joins two planned sides: by hashing where there are equalities, else in a nested loop.
    pub(super) fn combine(
        &mut self,
        left: Planned,
        right: Planned,
        kind: JoinType,
        on: Vec<Expr>,
    ) -> Result<Planned> {
        // In a loop where hashing is switched off, if looping is not and can do it.
        let settings = &self.indexes.settings;
        let in_loop =
            matches!(kind, JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti);
        let hashes = settings.hashjoin || !settings.nestloop || !in_loop;
        let is_hashed = |condition| hash_keys(condition, &left.layout, &right.layout).is_some();
        // As written, unless the side to be kept is large and the other one much smaller.
        let is_large = right.rows > KEPT_ROWS_FEW && 4.0 * left.rows < right.rows;
        let swaps = kind == JoinType::Inner && is_large && hashes;
        let (left, right) = match swaps && on.iter().any(is_hashed) {
            true => (right, left),
            false => (left, right),
        };
        let layout = left.layout.join(&right.layout);
        let full = kind == JoinType::Full;
        let mut outer_keys = Vec::new();
        let mut inner_keys = Vec::new();
        let mut rest = Vec::new();
        let mut equal = Vec::new();
        for condition in on {
            match hash_keys(&condition, &left.layout, &right.layout) {
                Some((l, r, collation)) if hashes => {
                    let l = self.rewrite(&l, &mut Below::row(&left.layout))?;
                    let r = self.rewrite(&r, &mut Below::row(&right.layout))?;
                    outer_keys.push(collate::grouped(l, collation));
                    inner_keys.push(collate::grouped(r, collation));
                }
                Some(_) => equal.push(condition),
                None => rest.push(condition),
            }
        }
        rest.append(&mut equal);
        quals::order(&mut rest);
        let condition = Expr::all_of(self.rewrite_all(&rest, &mut Below::row(&layout))?);
        let (outer_width, inner_width) = (left.layout.width(), right.layout.width());
        let product = left.rows * right.rows;
        let settings = &self.indexes.settings;
        let node = if outer_keys.is_empty() {
            let inner = match right.node {
                node @ (Node::Materialize(_) | Node::CteScan(_)) => node,
                node @ Node::Values(_) if !full => node,
                node if !settings.material && !full => node,
                node => Node::Materialize(Arc::new(node)),
            };
            Node::NestLoop(Arc::new(NestLoop {
                outer: left.node,
                inner,
                outer_width,
                inner_width,
                kind,
                parameters: Vec::new(),
                condition,
            }))
        } else {
            Node::HashJoin(Arc::new(HashJoin {
                outer: left.node,
                inner: right.node,
                outer_width,
                inner_width,
                kind,
                outer_keys,
                inner_keys,
                condition,
            }))
        };
        let (rows, sorted) = match node {
            Node::HashJoin(_) => (left.rows.max(right.rows), false),
            _ => (product, left.sorted && !full),
        };
        Ok(Planned { node, layout, rows: rows.max(1.0), sorted })
    }
}

/// Can the condition be applied to rows of these entries alone, with the same result as to what is joined of them?
pub(super) fn is_within(condition: &Expr, rels: &[u16]) -> bool {
    let used = walk::rels_of(condition);
    used.iter().all(|rel| rels.contains(rel)) && (!used.is_empty() || !is_volatile(condition))
}

/// What gives outer rows alone, as rows of the layout without an inner one.
fn with_nulls(input: Node, outer_width: u16, layout: &Layout) -> Node {
    let value = |(i, (_, _, ty)): (usize, &(u16, Column, Ty))| {
        let slot = i as u16;
        if slot < outer_width { Expr::Slot(Slot { slot, ty: *ty }) } else { Expr::null(*ty) }
    };
    let exprs = layout.slots.iter().enumerate().map(value).collect();
    Node::Project(Arc::new(Project { input, exprs }))
}

fn right_of(tree: &JoinTree, conditions: Vec<Expr>) -> Right<'_> {
    match tree {
        JoinTree::Rel(rel) => Right::Entry { rel: *rel, conditions },
        JoinTree::Join(join) => Right::Join { join, conditions },
    }
}

/// Takes inner joins apart into units and conditions.
fn flatten<'q>(
    cx: &QueryCx<'_>,
    tree: &'q JoinTree,
    units: &mut Vec<Unit<'q>>,
    conditions: &mut Vec<Expr>,
) {
    if let JoinTree::Join(join) = tree
        && join.kind == JoinKind::Inner
    {
        flatten(cx, &join.left, units, conditions);
        flatten(cx, &join.right, units, conditions);
        if let Some(condition) = &join.condition {
            conditions.extend(condition.clone().into_conjuncts());
        }
        return;
    }
    let rels = rels_in(tree);
    let mut needs = lateral_needs(cx, tree);
    needs.retain(|rel| !rels.contains(rel));
    units.push(Unit { tree, rels, needs, conditions: Vec::new() });
}

pub(super) fn rels_in(tree: &JoinTree) -> Vec<u16> {
    match tree {
        JoinTree::Rel(rel) => vec![*rel],
        JoinTree::Join(join) => {
            let mut rels = rels_in(&join.left);
            rels.extend(rels_in(&join.right));
            rels
        }
    }
}

/// The entries that lateral references inside the tree lead to.
fn lateral_needs(cx: &QueryCx<'_>, tree: &JoinTree) -> Vec<u16> {
    let mut needs = Vec::new();
    for rel in rels_in(tree) {
        walk::rel_vars(&cx.query.rels[usize::from(rel)].kind, &mut |var| {
            if !needs.contains(&var.rel) {
                needs.push(var.rel);
            }
        });
    }
    needs
}

pub(super) fn unit_rows(cx: &QueryCx<'_>, unit: &Unit<'_>) -> f64 {
    match unit.tree {
        JoinTree::Rel(rel) => entry_rows(cx, *rel, &unit.conditions),
        JoinTree::Join(_) => {
            unit.rels.iter().map(|rel| entry_rows(cx, *rel, &[])).fold(1.0, f64::max)
        }
    }
}

pub(super) fn entry_rows(cx: &QueryCx<'_>, rel: u16, conditions: &[Expr]) -> f64 {
    match &cx.query.rels[usize::from(rel)].kind {
        RelKind::Table(table) => {
            if choose_index(cx, table, rel, conditions, false, None).is_some_and(|c| c.unique) {
                return 1.0;
            }
            let columns = |expr: &Expr| column_of(expr, rel, table);
            super::estimate::filtered_by(table_rows(table), conditions, &columns)
        }
        RelKind::Values(rows) => rows.len() as f64,
        RelKind::Subquery(query) => {
            super::estimate::filtered(super::members::query_rows(query, &cx.indexes), conditions)
        }
        _ => super::estimate::filtered(super::estimate::FUNCTION_ROWS, conditions),
    }
}

/// The conditions by which the unit is joined to what is joined already.
pub(super) fn connecting(
    unit: &Unit<'_>,
    joined: &[u16],
    joining: &[(Vec<u16>, Expr)],
) -> Vec<Expr> {
    let is_its = |rels: &[u16]| {
        rels.iter().any(|rel| unit.rels.contains(rel))
            && rels.iter().all(|rel| unit.rels.contains(rel) || joined.contains(rel))
    };
    let its = joining.iter().filter(|(rels, _)| is_its(rels));
    its.map(|(_, condition)| condition.clone()).collect()
}

/// What it costs, roughly, to join the unit to `rows` rows of what is joined already.
fn addition_cost(
    cx: &QueryCx<'_>,
    unit: &Unit<'_>,
    joined: &[u16],
    joining: &[(Vec<u16>, Expr)],
    rows: f64,
) -> f64 {
    let own = unit_rows(cx, unit);
    let connecting = connecting(unit, joined, joining);
    if let JoinTree::Rel(rel) = unit.tree
        && let RelKind::Table(table) = &cx.query.rels[usize::from(*rel)].kind
    {
        let mut all = unit.conditions.clone();
        all.extend(connecting.iter().cloned());
        if choose_index(cx, table, *rel, &all, true, None).is_some_and(|c| c.unique) {
            return rows.min(rows + own);
        }
    }
    if !unit.needs.is_empty() {
        return rows * own;
    }
    if connecting.is_empty() { 1e6 + rows * own } else { rows + own }
}

/// Is it cheaper to look each outer row up by index than to read the entry once?
pub(super) fn index_pays(
    cx: &QueryCx<'_>,
    rel: u16,
    conditions: &[Expr],
    on: &[Expr],
    outer_rows: f64,
) -> bool {
    let RelKind::Table(table) = &cx.query.rels[usize::from(rel)].kind else { return false };
    let each = lookup(cx, rel, conditions, on);
    // Where there is no hashing each outer row would be held against all of it.
    let readings = if cx.indexes.settings.hashjoin { 1.0 } else { outer_rows.max(1.0) };
    each.is_some_and(|each| outer_rows * each < readings * table_rows(table))
}

/// What it costs to look the entry's rows up by an index for one outer row, if that can be done, in rows read one after the
/// other.
pub(super) fn lookup(cx: &QueryCx<'_>, rel: u16, conditions: &[Expr], on: &[Expr]) -> Option<f64> {
    let RelKind::Table(table) = &cx.query.rels[usize::from(rel)].kind else { return None };
    let settings = &cx.indexes.settings;
    if !(settings.nestloop && (settings.indexscan || settings.bitmapscan)) {
        return None;
    }
    let alone = choose_index(cx, table, rel, conditions, false, None);
    if alone.is_some_and(|choice| choice.unique) {
        return None;
    }
    let mut all = conditions.to_vec();
    all.extend(on.iter().cloned());
    let choice = choose_index(cx, table, rel, &all, true, None)?;
    let by_join = choice.used.iter().any(|i| *i >= conditions.len());
    (by_join && !choice.equal.is_empty()).then(|| lookup_cost(table, &choice))
}

/// What a look-up by the index costs, in rows read one after the other.
pub(super) fn lookup_cost(table: &TableDef, choice: &IndexChoice) -> f64 {
    let rows = table_rows(table);
    // By what is known of the first key's values.
    let found = match choice.index.key_columns().next().flatten() {
        Some(column) => table.distinct_values(column, rows).map_or(rows * 0.005, |n| rows / n),
        None => rows * 0.005,
    };
    if choice.unique { 4.0 } else { 8.0 + found }
}

/// The two sides of an equality that can be hashed, outer side first, of one type, and what they are compared by.
fn hash_keys(condition: &Expr, left: &Layout, right: &Layout) -> Option<(Expr, Expr, Collation)> {
    let in_layout = |rel: &u16, layout: &Layout| layout.slots.iter().any(|(r, ..)| r == rel);
    let (call, l, r) =
        equality_across(condition, |rel| in_layout(rel, left), |rel| in_layout(rel, right))?;
    let collation = collate::of_equality(call)?;
    let (l, r) = of_one_type(l.clone(), r.clone())?;
    Some((l, r, collation))
}

/// An equality of what is on the one side of a join with what is on the other: its sides, that of the first first.
pub(super) fn equality_across(
    condition: &Expr,
    in_first: impl Fn(&u16) -> bool,
    in_second: impl Fn(&u16) -> bool,
) -> Option<(&Call, &Expr, &Expr)> {
    let Expr::Call(call) = condition else { return None };
    // What may have another value each time is asked of each pair.
    if operator(call) != Some("=") || call.ty.id != TypeId::BOOL || is_volatile(condition) {
        return None;
    }
    let [a, b] = &call.args[..] else { return None };
    let (of_a, of_b) = (walk::rels_of(a), walk::rels_of(b));
    if of_a.is_empty() || of_b.is_empty() {
        return None;
    }
    if of_a.iter().all(&in_first) && of_b.iter().all(&in_second) {
        return Some((call, a, b));
    }
    (of_b.iter().all(&in_first) && of_a.iter().all(&in_second)).then_some((call, b, a))
}

/// The sides of an equality as values of one type, so that they can be hashed; `None`, if that can't be.
pub(super) fn of_one_type(a: Expr, b: Expr) -> Option<(Expr, Expr)> {
    let (own, other) = (a.type_id(), b.type_id());
    if own == other {
        // Whether rows of any make can be compared is for their operator to say.
        return (own != TypeId::RECORD).then_some((a, b));
    }
    if let Some(wide) = widen(&a, other).or_else(|| as_comparable(&a, other)) {
        return Some((wide, b));
    }
    widen(&b, own).or_else(|| as_comparable(&b, own)).map(|wide| (a, wide))
}

/// The value as the wider type that an equality between the two compares it as.
fn as_comparable(value: &Expr, ty: TypeId) -> Option<Expr> {
    let own = value.type_id();
    let wider =
        matches!((own, ty), (TypeId::FLOAT4, TypeId::FLOAT8) | (TypeId::NAME, TypeId::TEXT));
    wider.then(|| coerce::implicit_cast(value.clone(), ty)).flatten()
}
