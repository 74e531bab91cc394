//! A table in FROM: its ways are weighed, and the best becomes a node. Where that hangs on values that are known only
//! when the statement runs, several become nodes, and the choice is made then.

use std::sync::Arc;

use crate::bind::query::{JoinTree, Query};
use crate::bind::tree::{Column, Expr, Slot, SortExpr};
use crate::bind::walk;
use crate::catalog::{AccessMethod, IndexDef, TableDef};
use crate::error::Result;

use super::access::{Outer, Planned, QueryCx, WantedKey, WantedOrder, column_of, tid_conditions};
use super::choose::{IndexChoice, candidates, choose_index};
use super::cost::{self, Access, Heap, Reading};
use super::estimate::{filtered_by, is_any_value, table_rows};
use super::level::Layout;
use super::node::{
    BitmapHeapScan, BitmapIndexScan, Choice, IndexScan, KeyCondition, KeyRange, KeyTest, KeyValue,
    Node, ScanColumn, SeqScan, TidScan, Top,
};
use super::path::{Bits, Facts, Path};
use super::query::{sorted, top};
use super::rewrite::Below;
use super::ways::{BitsChoice, Entry, Way, ways};
use super::{Planner, collate, values};

/// Ways between which a running statement chooses, at most.
const WAYS_MAX: usize = 8;
/// Share of the rows that a LIMIT is taken for whose value is not known.
const LIMIT_SHARE: f64 = 0.1;

/// An entry that is a table, while its node is made.
struct Scan<'a> {
    table: &'a Arc<TableDef>,
    alias: &'a str,
    rel: u16,
    conditions: &'a [Expr],
    /// The conditions over the scan's row, as far as somebody asked for them.
    over_row: Vec<Option<Expr>>,
    layout: Layout,
    outputs: Vec<ScanColumn>,
}

impl Planner {
    pub(super) fn table(
        &mut self,
        cx: &QueryCx<'_>,
        rel: u16,
        table: &Arc<TableDef>,
        mut conditions: Vec<Expr>,
        mut outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
    ) -> Result<Planned> {
        conditions.iter_mut().for_each(flatten_arms);
        super::quals::order(&mut conditions);
        let layout = cx.layout_of(rel);
        let columns = |expr: &Expr| column_of(expr, rel, table);
        let rows = filtered_by(table_rows(table), &conditions, &columns);
        let mut scan = Scan {
            table,
            alias: &cx.query.rels[usize::from(rel)].alias,
            rel,
            conditions: &conditions,
            over_row: vec![None; conditions.len()],
            outputs: outputs_of(&layout),
            layout,
        };
        if !table.kind.is_heap() {
            return self.planned(&mut scan, &Way::Seq, outer, rows);
        }
        if let Some((tids, rest)) = tid_conditions(rel, &conditions) {
            let node = self.tid_scan(&mut scan, &tids, &rest, &mut outer)?;
            return Ok(Planned { node, layout: scan.layout, rows: 1.0, sorted: false });
        }
        if table.indexes.is_empty() {
            return self.planned(&mut scan, &Way::Seq, outer, rows);
        }
        let choice = choose_index(cx, table, rel, &conditions, outer.is_some(), order);
        let extreme = |choice: &IndexChoice| choice.sorted && order.is_some_and(|o| o.extreme);
        let plain = choice.filter(|choice| choice.unique || extreme(choice));
        if let Some(choice) = plain.filter(|_| cx.indexes.settings.indexscan) {
            let (is_unique, sorted) = (choice.unique, order.is_some() && choice.sorted);
            let choice = match is_unique {
                true => hash_instead(cx, &scan, choice, outer.is_some())?,
                false => choice,
            };
            let node = self.index_scan(&mut scan, &[choice], &mut outer)?;
            let rows = if is_unique { 1.0 } else { rows };
            return Ok(Planned { node, layout: scan.layout, rows, sorted });
        }
        self.cheapest(cx, scan, outer, order.filter(|o| o.rel == rel && !o.extreme), rows)
    }

    /// Weighs the ways.
    fn cheapest(
        &mut self,
        cx: &QueryCx<'_>,
        mut scan: Scan<'_>,
        mut outer: Option<&mut Outer<'_>>,
        order: Option<&WantedOrder>,
        rows: f64,
    ) -> Result<Planned> {
        let (table, rel) = (scan.table, scan.rel);
        cx.indexes.measure(table)?;
        let columns = |expr: &Expr| column_of(expr, rel, table);
        let pages = |index: &IndexDef| f64::from(cx.indexes.blocks(index.oid));
        let wanted = wanted_of(cx.query, rel, order.is_some());
        let mut facts = Facts {
            settings: &cx.indexes.settings,
            table,
            heap: Heap::of(table, cx.indexes.blocks(table.oid)),
            index_pages: &pages,
            conditions: scan.conditions,
            columns: &columns,
            ordered: order.is_some(),
            wanted: None,
        };
        facts.wanted = wanted
            .as_ref()
            .map(|top| values::rows_wanted(top).unwrap_or(LIMIT_SHARE * facts.rows()))
            .or(order.and_then(|order| order.rows));
        let by_outer = outer.is_some();
        let (conditions, facts) = (scan.conditions, &facts);
        let mut all = ways(&Entry { cx, table, rel, conditions, outer: by_outer, order, facts });
        if by_outer && all.len() > 1 {
            // Whoever comes with a row of another entry comes often.
            all.remove(0);
        }
        let mut paths: Vec<Path> = all.iter().map(Way::path).collect();
        let best = facts.best(paths.iter());
        let of_index = matches!(all[best], Way::Index(..));
        let is_open = |c: &Expr| values::is_open(c) && !(of_index && is_any_value(c, &columns));
        let is_open = conditions.iter().any(is_open)
            || wanted.as_ref().is_some_and(|top| values::rows_wanted(top).is_none());
        let has_sublinks =
            conditions.iter().any(|c| walk::any(c, &mut |e| matches!(e, Expr::SubLink(_))));
        if by_outer || !is_open || has_sublinks || all.len() == 1 {
            let sorted =
                matches!(&paths[best], Path::Index(path) if path.sorted) && order.is_some();
            let planned = self.planned(&mut scan, &all[best], outer.take(), rows)?;
            return Ok(Planned { sorted, ..planned });
        }
        while all.len() > WAYS_MAX {
            let worst = (1..all.len()).max_by(|a, b| {
                facts.cost(&paths[*a]).total.total_cmp(&facts.cost(&paths[*b]).total)
            });
            let worst = worst.expect("there are several");
            all.remove(worst);
            paths.remove(worst);
        }
        let keys = order.map(|order| sort_keys(order, &scan.layout));
        // Rows that can't be locked, or no longer meet the conditions, are dropped above: then more are wanted.
        let most = wanted.as_ref().filter(|_| cx.query.locking.is_empty());
        let mut choices = Vec::with_capacity(all.len());
        for (way, path) in all.iter().zip(paths) {
            let mut node = self.way(&mut scan, way, &mut None)?;
            let in_order = matches!(&path, Path::Index(index) if index.sorted);
            if let Some(keys) = keys.as_ref().filter(|_| !in_order) {
                node = sorted(node, keys.clone(), most.cloned());
            }
            choices.push((path, node));
        }
        let node = Node::Choice(Arc::new(Choice {
            table: table.clone(),
            outputs: scan.outputs.clone(),
            ways: choices,
            conditions: self.all_over_row(&mut scan, &mut None)?,
            ordered: order.is_some(),
            wanted,
            guessed: order.and_then(|order| order.rows),
            settings: cx.indexes.settings,
        }));
        Ok(Planned { node, layout: scan.layout, rows, sorted: order.is_some() })
    }

    fn planned(
        &mut self,
        scan: &mut Scan<'_>,
        way: &Way,
        mut outer: Option<&mut Outer<'_>>,
        rows: f64,
    ) -> Result<Planned> {
        let node = self.way(scan, way, &mut outer)?;
        let rows = match way {
            Way::Index(choices, _) if choices.len() == 1 && choices[0].unique => 1.0,
            _ => rows,
        };
        Ok(Planned { node, layout: std::mem::take(&mut scan.layout), rows, sorted: false })
    }

    fn way(
        &mut self,
        scan: &mut Scan<'_>,
        way: &Way,
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Node> {
        match way {
            Way::Seq => {
                let filter = Expr::all_of(self.all_over_row(scan, outer)?);
                Ok(Node::SeqScan(Arc::new(SeqScan {
                    table: scan.table.clone(),
                    alias: scan.alias.into(),
                    outputs: scan.outputs.clone(),
                    filter,
                })))
            }
            Way::Index(choices, _) => self.index_scan(scan, choices, outer),
            Way::Bitmap(bits) => self.bitmap_scan(scan, bits, outer),
        }
    }

    fn tid_scan(
        &mut self,
        scan: &mut Scan<'_>,
        tids: &Expr,
        rest: &[Expr],
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Node> {
        let tids = self.over_outer(tids, outer.as_deref_mut())?;
        let rest = rest.iter().map(|condition| self.over_row(scan, condition, outer));
        let filter: Vec<Expr> = rest.collect::<Result<_>>()?;
        Ok(Node::TidScan(Arc::new(TidScan {
            table: scan.table.clone(),
            alias: scan.alias.into(),
            tids,
            outputs: scan.outputs.clone(),
            filter: Expr::all_of(filter),
        })))
    }

    fn index_scan(
        &mut self,
        scan: &mut Scan<'_>,
        choices: &[IndexChoice],
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Node> {
        let mut ranges = Vec::with_capacity(choices.len());
        for choice in choices {
            ranges.push(self.key_range(choice, outer)?);
        }
        let choice = &choices[0];
        // What one of several ranges guarantees, the others don't; nor does the table, if that is read instead.
        let hangs_on_pattern = ranges.iter().any(KeyRange::hangs_on_pattern);
        let is_guaranteed = choices.len() == 1 && !hangs_on_pattern;
        let guaranteed: Vec<usize> =
            if is_guaranteed { choice.answered().collect() } else { Vec::new() };
        let rest: Vec<usize> =
            (0..scan.conditions.len()).filter(|at| !guaranteed.contains(at)).collect();
        let made = IndexScan {
            table: scan.table.clone(),
            alias: scan.alias.into(),
            index: choice.index.clone(),
            ranges,
            backward: choice.backward,
            single: choices.len() == 1 && choice.unique,
            only: choice.covers && !hangs_on_pattern,
            outputs: scan.outputs.clone(),
            filter: Expr::all_of(self.some_over_row(scan, &rest, outer)?),
        };
        Ok(Node::IndexScan(Arc::new(made)))
    }

    fn bitmap_scan(
        &mut self,
        scan: &mut Scan<'_>,
        bits: &BitsChoice,
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Node> {
        let (mut recheck, mut guaranteed) = (Vec::new(), Vec::new());
        self.guarantees(scan, bits, outer, &mut recheck, &mut guaranteed)?;
        let rest: Vec<usize> =
            (0..scan.conditions.len()).filter(|at| !guaranteed.contains(at)).collect();
        let bits = bits.map(&mut |(choice, _)| -> Result<BitmapIndexScan> {
            let ranges = vec![self.key_range(choice, outer)?];
            Ok(BitmapIndexScan { index: choice.index.clone(), ranges })
        })?;
        Ok(Node::BitmapHeapScan(Arc::new(BitmapHeapScan {
            table: scan.table.clone(),
            alias: scan.alias.into(),
            bits,
            outputs: scan.outputs.clone(),
            recheck: Expr::all_of(recheck),
            filter: Expr::all_of(self.some_over_row(scan, &rest, outer)?),
        })))
    }

    /// What the addresses of a set guarantee of their rows, over the row, and which conditions that are.
    fn guarantees(
        &mut self,
        scan: &mut Scan<'_>,
        bits: &BitsChoice,
        outer: &mut Option<&mut Outer<'_>>,
        recheck: &mut Vec<Expr>,
        whole: &mut Vec<usize>,
    ) -> Result<()> {
        match bits {
            Bits::Index((_, leaf)) => {
                for clause in leaf.terms.clauses() {
                    let over_row = self.over_row(scan, clause.of(scan.conditions), outer)?;
                    recheck.push(over_row);
                    if clause.arm.is_none() {
                        whole.push(clause.at);
                    }
                }
            }
            Bits::And(parts) => {
                for part in parts {
                    self.guarantees(scan, part, outer, recheck, whole)?;
                }
            }
            Bits::Or(arms) => {
                let mut any = Vec::with_capacity(arms.len());
                let mut first = None;
                for arm in arms {
                    let mut all = Vec::new();
                    self.guarantees(scan, arm, outer, &mut all, &mut Vec::new())?;
                    arm.leaves(&mut |(_, leaf)| {
                        first =
                            first.or(leaf.terms.clauses().find(|c| c.arm.is_some()).map(|c| c.at));
                    });
                    any.extend(Expr::all_of(all));
                }
                recheck.push(Expr::Or(any));
                let at = first.expect("an alternative is gone by");
                if is_all_of(&scan.conditions[at], arms) {
                    whole.push(at);
                }
            }
        }
        Ok(())
    }

    fn some_over_row(
        &mut self,
        scan: &mut Scan<'_>,
        which: &[usize],
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Vec<Expr>> {
        let mut exprs = Vec::with_capacity(which.len());
        for at in which {
            if scan.over_row[*at].is_none() {
                scan.over_row[*at] = Some(self.over_row(scan, &scan.conditions[*at], outer)?);
            }
            exprs.extend(scan.over_row[*at].clone());
        }
        Ok(exprs)
    }

    fn all_over_row(
        &mut self,
        scan: &mut Scan<'_>,
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Vec<Expr>> {
        let all: Vec<usize> = (0..scan.conditions.len()).collect();
        self.some_over_row(scan, &all, outer)
    }

    /// A condition over the scan's row; what it has of other entries comes from outside.
    fn over_row(
        &mut self,
        scan: &Scan<'_>,
        condition: &Expr,
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<Expr> {
        let mut expr = condition.clone();
        if let Some(outer) = outer {
            self.take_outer(scan.rel, &mut expr, outer)?;
        }
        self.rewrite(&expr, &mut Below::row(&scan.layout))
    }

    fn take_outer(&mut self, rel: u16, expr: &mut Expr, outer: &mut Outer<'_>) -> Result<()> {
        if let Expr::Var(var) = expr
            && var.level == 0
            && var.rel != rel
        {
            *expr = self.outer_parameter(&Expr::Var(*var), outer)?;
            return Ok(());
        }
        if let Expr::SubLink(_) = expr {
            // A whole sub-select is evaluated on the outer row.
            let rels = walk::rels_of(expr);
            if !rels.is_empty() && !rels.contains(&rel) {
                *expr = self.outer_parameter(&expr.clone(), outer)?;
                return Ok(());
            }
        }
        let mut result = Ok(());
        walk::each_child_mut(expr, &mut |child| {
            if result.is_ok() {
                result = self.take_outer(rel, child, outer);
            }
        });
        result
    }

    fn key_range(
        &mut self,
        choice: &IndexChoice,
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<KeyRange> {
        let mut range = KeyRange::default();
        for value in &choice.equal {
            range.equal.push(self.key_value(value, outer)?);
        }
        for (bound, into) in [(&choice.lower, &mut range.lower), (&choice.upper, &mut range.upper)]
        {
            if let Some((expr, inclusive)) = bound {
                *into = Some((self.over_outer(expr, outer.as_deref_mut())?, *inclusive));
            }
        }
        if let Some(pattern) = &choice.pattern {
            range.pattern = Some(self.over_outer(pattern, outer.as_deref_mut())?);
        }
        for KeyTest { column, what } in &choice.tests {
            let what = match what {
                KeyCondition::NotNull => KeyCondition::NotNull,
                KeyCondition::Value(value) => KeyCondition::Value(self.key_value(value, outer)?),
                KeyCondition::Lower(expr, included) => {
                    KeyCondition::Lower(self.over_outer(expr, outer.as_deref_mut())?, *included)
                }
                KeyCondition::Upper(expr, included) => {
                    KeyCondition::Upper(self.over_outer(expr, outer.as_deref_mut())?, *included)
                }
            };
            range.tests.push(KeyTest { column: *column, what });
        }
        Ok(range)
    }

    fn key_value(
        &mut self,
        value: &KeyValue,
        outer: &mut Option<&mut Outer<'_>>,
    ) -> Result<KeyValue> {
        Ok(match value {
            KeyValue::IsNull => KeyValue::IsNull,
            KeyValue::Is(expr) => KeyValue::Is(self.over_outer(expr, outer.as_deref_mut())?),
            KeyValue::AnyOf(expr) => KeyValue::AnyOf(self.over_outer(expr, outer.as_deref_mut())?),
        })
    }
}

/// For a row that a unique index finds by one value: a hash index that answers the same condition, if that costs less.
/// It needs no descent, but its entries can't stand for the row.
fn hash_instead(
    cx: &QueryCx<'_>,
    scan: &Scan<'_>,
    unique: IndexChoice,
    outer: bool,
) -> Result<IndexChoice> {
    let table = scan.table;
    let is_hash = |index: &IndexDef| index.method == AccessMethod::Hash;
    if unique.index.keys.len() > 1 || !table.indexes.iter().any(|index| is_hash(index)) {
        return Ok(unique);
    }
    cx.indexes.measure(table)?;
    let heap = Heap::of(table, cx.indexes.blocks(table.oid));
    let cost = |choice: &IndexChoice| {
        let pages = f64::from(cx.indexes.blocks(choice.index.oid));
        let access = Access {
            method: choice.index.method,
            pages,
            entries: Access::entries_of(choice.index.predicate.is_some(), pages, heap.rows),
            share: 1.0 / heap.rows,
            whole: Reading { share: 1.0 / heap.rows, lookups: 1.0 },
            skipping: None,
            conditions: 1.0,
        };
        cost::index_scan(&cx.indexes.settings, heap, &access, 0.0, choice.covers, 0.0).total
    };
    let mut best = unique;
    for choice in candidates(cx, table, scan.rel, scan.conditions, outer, None) {
        if is_hash(&choice.index) && choice.used == best.used && cost(&choice) < cost(&best) {
            // The condition lets one row through, whichever index answers it.
            best = IndexChoice { unique: true, ..choice };
        }
    }
    Ok(best)
}

/// Whether indexes answer all that each alternative of a condition says.
fn is_all_of(condition: &Expr, arms: &[BitsChoice]) -> bool {
    let Expr::Or(alternatives) = condition else { return false };
    alternatives.iter().zip(arms).all(|(alternative, bits)| {
        let mut answered = Vec::new();
        bits.leaves(&mut |(_, leaf)| {
            answered.extend(leaf.terms.clauses().filter_map(|clause| clause.arm));
        });
        let parts = super::path::parts(alternative).len();
        (0..parts).all(|part| answered.iter().any(|(_, known)| *known == part))
    })
}

/// Makes each alternative of an OR a list of conditions, so that places in it are the same for all (`Clause`).
fn flatten_arms(condition: &mut Expr) {
    let Expr::Or(arms) = condition else { return };
    for arm in arms {
        if matches!(arm, Expr::And(parts) if parts.iter().any(|p| matches!(p, Expr::And(_)))) {
            let whole = std::mem::replace(arm, Expr::Or(Vec::new()));
            *arm = Expr::And(whole.into_conjuncts());
        }
    }
}

fn outputs_of(layout: &Layout) -> Vec<ScanColumn> {
    let slots = layout.slots.iter();
    slots.map(|(_, column, ty)| ScanColumn { column: *column, ty: *ty }).collect()
}

/// The order over the scan's row.
fn sort_keys(order: &WantedOrder, layout: &Layout) -> Vec<SortExpr> {
    let key = |key: &WantedKey| {
        let WantedKey { column, desc, nulls_first, collation } = *key;
        let slot = layout.find(order.rel, Column::User(column)).expect("what is sorted by is read");
        let ty = layout.slots[usize::from(slot)].2;
        let expr = collate::ordered(Expr::Slot(Slot { slot, ty }), collation);
        SortExpr { expr, desc, nulls_first: nulls_first.unwrap_or(desc), collation }
    };
    order.keys.iter().map(key).collect()
}

/// How many rows are wanted of the one table of a query with LIMIT, if the first ones of its scan do. `ordered`: the
/// scan is asked for the order.
fn wanted_of(query: &Query, rel: u16, ordered: bool) -> Option<Top> {
    let is_alone = matches!(query.from[..], [JoinTree::Rel(only)] if only == rel)
        && !query.is_grouped()
        && query.windows.is_empty()
        && query.distinct.is_none()
        && !query.has_srf
        && (ordered || query.order_by.is_empty());
    top(query).filter(|_| is_alone)
}
