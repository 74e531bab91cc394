//! What a plan is thought to cost, in PostgreSQL's units and by its formulas, as far as they are simple.
//!
//! Scans are told as the planner weighs them (`plan::cost`); the rest is for EXPLAIN alone: the planner chooses
//! joins by coarser guesses of its own (`plan::estimate`).

use crate::bind::tree::{Column, Expr};
use crate::catalog::{IndexDef, KeySource, TableDef};
use crate::exec::Host;
use crate::plan::cost::{self, Access, Bitmap, Heap, Reading, Settings, type_width};
use crate::plan::estimate::{filtered, filtered_by, range_share, share_of};
use crate::plan::gate::is_never;
use crate::plan::node::{
    Aggregate, BitmapHeapScan, BitmapIndexScan, HashJoin, IndexScan, JoinType, KeyRange, NestLoop,
    Node, ScanColumn, SeqScan, Sort,
};
use crate::plan::path::{Bits, operators};
use crate::plan::skip::{self, looked_up};
use crate::session::backend::Backend;
use crate::types::{Datum, TypeId};

/// Groups, or distinct values, of a column that nothing is known of.
const DISTINCT: f64 = 200.0;

/// One node with what is below it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Before the first row, and in all.
    pub startup: f64,
    pub total: f64,
    pub rows: f64,
    /// Bytes of a row.
    pub width: u32,
}

impl Cost {
    fn new(startup: f64, total: f64, rows: f64, width: u32) -> Cost {
        Cost { startup, total, rows: rows.max(1.0).round(), width }
    }
}

pub(super) struct Costs<'a> {
    pub backend: &'a Backend,
}

impl Costs<'_> {
    pub(super) fn of(&self, node: &Node) -> Cost {
        let s = self.settings();
        match node {
            Node::Filter(filter) => {
                let input = self.of(&filter.input);
                let conditions = conjuncts(&filter.condition);
                let more = input.rows * s.cpu_operator * conditions.len() as f64;
                let rows = filtered(input.rows, conditions).round();
                Cost { total: input.total + more, rows, ..input }
            }
            Node::Gate(gate) if is_never(&gate.condition) => {
                Cost { startup: 0.0, total: 0.0, rows: 0.0, ..self.of(&gate.input) }
            }
            Node::Gate(gate) => self.of(&gate.input),
            Node::Renew(renew) => self.of(&renew.input),
            Node::Project(project) => {
                let input = self.of(&project.input);
                let work = project.exprs.iter().filter(|e| !is_plain(e)).count() as f64;
                let total = input.total + input.rows * s.cpu_operator * work;
                Cost { total, width: width_of(&project.exprs), ..input }
            }
            Node::ProjectSet(project) => {
                let input = self.of(&project.input);
                let total =
                    input.total + input.rows * (s.cpu_operator + 1000.0 * s.cpu_tuple * 0.5);
                Cost::new(input.startup, total, input.rows * 1000.0, width_of(&project.exprs))
            }
            Node::NestLoop(join) => self.nest_loop(join),
            Node::HashJoin(join) => self.hash_join(join),
            Node::Materialize(input) => {
                let input = self.of(input);
                Cost { total: input.total + 2.0 * s.cpu_operator * input.rows, ..input }
            }
            Node::Sort(sort) => {
                let input = self.of(&sort.input);
                let kept = rows_wanted(sort).map_or(input.rows, |top| (top * 2.0).min(input.rows));
                let sorting = 2.0 * s.cpu_operator * input.rows * kept.max(2.0).log2();
                let startup = input.total + sorting;
                Cost { startup, total: startup + s.cpu_operator * input.rows, ..input }
            }
            Node::Limit(limit) => {
                let input = self.of(&limit.input);
                let offset = number(limit.offset.as_ref()).unwrap_or(0.0).min(input.rows);
                let count = number(limit.count.as_ref()).unwrap_or(input.rows);
                let rows = count.min(input.rows - offset).max(1.0);
                let per_row = (input.total - input.startup) / input.rows;
                let startup = input.startup + per_row * offset;
                Cost::new(startup, startup + per_row * rows, rows, input.width)
            }
            Node::Unique(unique) => {
                let input = self.of(&unique.input);
                let total = input.total + s.cpu_operator * input.rows * unique.keys.len() as f64;
                Cost::new(input.startup, total, input.rows.min(DISTINCT), input.width)
            }
            Node::Aggregate(agg) => self.aggregate(agg),
            Node::Window(window) => {
                let input = self.of(&window.input);
                let calls: u32 = window.calls.iter().map(|call| type_width(call.ty)).sum();
                let work = s.cpu_tuple + s.cpu_operator * window.calls.len() as f64;
                let total = input.total + input.rows * work;
                Cost { total, width: input.width + calls, ..input }
            }
            Node::Append(inputs) => {
                let all: Vec<Cost> = inputs.iter().map(|input| self.of(input)).collect();
                let rows: f64 = all.iter().map(|cost| cost.rows).sum();
                let inputs: f64 = all.iter().map(|cost| cost.total).sum();
                let total = inputs + rows * s.cpu_tuple * 0.5;
                let startup = all.first().map_or(0.0, |cost| cost.startup);
                Cost::new(startup, total, rows, all.first().map_or(0, |cost| cost.width))
            }
            Node::SetOp(op) => {
                let (left, right) = (self.of(&op.left), self.of(&op.right));
                let rows = left.rows + right.rows;
                let total = left.total + right.total + rows * (s.cpu_tuple + s.cpu_operator);
                Cost::new(0.0, total, left.rows.min(DISTINCT), left.width)
            }
            Node::RecursiveUnion(union) => {
                let (first, again) = (self.of(&union.first), self.of(&union.again));
                let total = first.total + 10.0 * again.total;
                Cost::new(first.startup, total, first.rows + 10.0 * again.rows, first.width)
            }
            Node::LockRows(lock) => {
                let input = self.of(&lock.input);
                Cost { total: input.total + input.rows * s.cpu_tuple, ..input }
            }
            Node::Modify(modify) => {
                let input = self.of(&modify.input);
                let width = modify.returning.as_ref().map(|exprs| width_of(exprs));
                let rows = if width.is_some() { input.rows } else { 0.0 };
                Cost { rows, width: width.unwrap_or(0), ..input }
            }
            leaf => self.leaf(leaf),
        }
    }

    fn aggregate(&self, agg: &Aggregate) -> Cost {
        let s = self.settings();
        let input = self.of(&agg.input);
        let calls: u32 = agg.calls.iter().map(|call| type_width(call.ty)).sum();
        let width = width_of(&agg.keys) + calls;
        let work = (agg.calls.len() + agg.keys.len()) as f64;
        let startup = input.total + input.rows * s.cpu_operator * work;
        let groups = match agg.keys.len() as i32 {
            0 => 1.0,
            keys => DISTINCT.powi(keys).min(input.rows),
        };
        Cost::new(startup, startup + s.cpu_tuple * groups, groups, width)
    }

    fn leaf(&self, node: &Node) -> Cost {
        let s = self.settings();
        match node {
            Node::Values(rows) => {
                let per_row =
                    if rows.len() == 1 { s.cpu_tuple } else { s.cpu_tuple + s.cpu_operator };
                let width = rows.first().map_or(0, |row| width_of(row));
                Cost::new(0.0, per_row * rows.len() as f64, rows.len() as f64, width)
            }
            Node::SeqScan(scan) => self.seq_scan(scan),
            Node::IndexScan(scan) => self.index_scan(scan),
            Node::BitmapHeapScan(scan) => self.bitmap_scan(scan),
            Node::Choice(choice) => {
                let ways = choice.ways.iter().map(|(_, way)| self.of(way));
                ways.min_by(|a, b| a.total.total_cmp(&b.total)).unwrap_or_default()
            }
            Node::TidScan(scan) => {
                // PostgreSQL's guess for an array.
                let count = if scan.tids.type_id() == TypeId::TID { 1.0 } else { 10.0 };
                let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
                Cost::new(0.0, count * (s.random_page + s.cpu_tuple), count, width)
            }
            Node::FunctionScan(scan) => {
                let rows = if scan.calls.iter().any(|call| call.set) { 1000.0 } else { 1.0 };
                let width = scan.calls.iter().map(|call| type_width(call.expr.ty())).sum();
                Cost::new(0.0, rows * s.cpu_tuple, rows, width)
            }
            Node::CteScan(_) | Node::WorkScan(_) => Cost::new(0.0, 2.0, 100.0, 32),
            _ => Cost::new(0.0, s.cpu_tuple, 1.0, 0),
        }
    }

    fn seq_scan(&self, scan: &SeqScan) -> Cost {
        let heap = self.heap(&scan.table);
        let columns = |expr: &Expr| column_of(expr, &scan.table, &scan.outputs);
        let conditions = scan.filter.as_ref().map_or(&[][..], conjuncts);
        let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
        let of = cost::seq_scan(self.settings(), heap, operators(conditions));
        let left = filtered_by(heap.rows, conditions, &columns);
        Cost::new(of.startup, of.total, left, width)
    }

    fn settings(&self) -> &Settings {
        &self.backend.values.planner
    }

    /// A table as the planner takes it now.
    fn heap(&self, table: &TableDef) -> Heap {
        let heap = self.backend.heap(table).ok();
        let blocks = heap.and_then(|heap| heap.relation().blocks(base::Fork::Main).ok());
        Heap::of(table, blocks.unwrap_or(0))
    }

    /// What ranges of an index are taken to hold.
    fn access(
        &self,
        index: &IndexDef,
        ranges: &[KeyRange],
        table: &TableDef,
        heap: Heap,
    ) -> Access {
        let tree = self.backend.tree(index).ok();
        let pages = tree.and_then(|tree| tree.relation().blocks(base::Fork::Main).ok());
        let pages = f64::from(pages.unwrap_or(0));
        let entries = Access::entries_of(index.predicate.is_some(), pages, heap.rows);
        let mut access = Access {
            method: index.method,
            pages,
            entries,
            share: 0.0,
            whole: Reading { share: 0.0, lookups: 0.0 },
            skipping: None,
            conditions: 0.0,
        };
        for range in ranges {
            let bounds = [&range.lower, &range.upper].into_iter().flatten().count();
            let known = range_share(table, &index.keys, range, heap.rows);
            let share = known.unwrap_or_else(|| {
                let of_bounds =
                    if bounds == 2 { DISTINCT.recip() } else { 3_f64.powi(-(bounds as i32)) };
                DISTINCT.recip().powi(range.equal.len() as i32) * of_bounds
            });
            let tested = skip::tests_of(table, index, &range.tests, heap.rows);
            let whole = Reading { share, lookups: range.equal.iter().map(looked_up).product() };
            access.whole.share += share;
            access.whole.lookups += whole.lookups;
            access.share += share * tested.iter().map(|test| test.share).product::<f64>();
            let (keys, equal) = (&index.keys, range.equal.len());
            let alone = KeyRange {
                lower: range.lower.clone(),
                upper: range.upper.clone(),
                ..KeyRange::default()
            };
            let of_bounds = (bounds > 0)
                .then(|| range_share(table, &keys[equal..], &alone, heap.rows).unwrap_or(0.3));
            let base = skip::Base { equal, range: of_bounds, whole, rows: heap.rows, pages };
            access.skipping = skip::skipping(table, index, base, &tested);
            access.conditions = (equal + bounds + range.tests.len()) as f64;
        }
        let is_whole = |range: &KeyRange| range.equal.len() == index.keys.len();
        if index.unique && index.immediate && ranges.iter().all(is_whole) {
            access.share = access.whole.lookups / heap.rows;
            access.whole.share = access.share;
        }
        for share in [&mut access.share, &mut access.whole.share] {
            *share = share.min(entries / heap.rows).min(1.0);
        }
        access
    }

    fn index_scan(&self, scan: &IndexScan) -> Cost {
        let heap = self.heap(&scan.table);
        let mut access = self.access(&scan.index, &scan.ranges, &scan.table, heap);
        if scan.single {
            access.share = access.share.min(1.0 / heap.rows);
            access.whole.share = access.share;
        }
        let correlation = match scan.index.keys.first().map(|key| &key.source) {
            Some(KeySource::Column(first)) => {
                let known = scan.table.statistics_of(*first).map_or(0.0, |of| of.correlation);
                if scan.index.keys.len() > 1 { known * 0.75 } else { known }
            }
            _ => 0.0,
        };
        let conditions = scan.filter.as_ref().map_or(&[][..], conjuncts);
        let work = operators(conditions);
        let of = cost::index_scan(self.settings(), heap, &access, correlation, scan.only, work);
        let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
        let columns = |expr: &Expr| column_of(expr, &scan.table, &scan.outputs);
        // Of several ranges the condition says again what the ranges say.
        let conditions = if scan.ranges.len() > 1 { &[] } else { conditions };
        let found = (access.share * heap.rows).max(1.0).round();
        Cost::new(of.startup, of.total, filtered_by(found, conditions, &columns), width)
    }

    fn bitmap_scan(&self, scan: &BitmapHeapScan) -> Cost {
        let heap = self.heap(&scan.table);
        let rows = self.bitmap_rows(scan, heap);
        let bitmap = self.bitmap(scan, &scan.bits, heap, rows);
        let conditions = [&scan.recheck, &scan.filter].into_iter().flatten();
        let work = conditions.map(|all| operators(std::slice::from_ref(all))).sum();
        let of = bitmap.heap_scan(self.settings(), heap, work);
        let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
        Cost::new(of.startup, of.total, rows, width)
    }

    fn bitmap_rows(&self, scan: &BitmapHeapScan, heap: Heap) -> f64 {
        let columns = |expr: &Expr| column_of(expr, &scan.table, &scan.outputs);
        let conditions = [&scan.recheck, &scan.filter].into_iter().flatten().flat_map(conjuncts);
        (heap.rows * share_of(conditions, heap.rows, &columns)).max(1.0).round()
    }

    /// What it costs to have a set of addresses.
    pub(super) fn bits(&self, scan: &BitmapHeapScan, bits: &Bits<BitmapIndexScan>) -> Cost {
        let heap = self.heap(&scan.table);
        let bitmap = self.bitmap(scan, bits, heap, self.bitmap_rows(scan, heap));
        let rows = (bitmap.share * heap.rows).max(1.0);
        let startup = if matches!(bits, Bits::Index(_)) { 0.0 } else { bitmap.total };
        Cost { startup, total: bitmap.total, rows: rows.round(), width: 0 }
    }

    fn bitmap(
        &self,
        scan: &BitmapHeapScan,
        bits: &Bits<BitmapIndexScan>,
        heap: Heap,
        rows: f64,
    ) -> Bitmap {
        let all = |parts: &[Bits<BitmapIndexScan>]| -> Vec<Bitmap> {
            parts.iter().map(|part| self.bitmap(scan, part, heap, rows)).collect()
        };
        match bits {
            Bits::Index(leaf) => {
                let access = self.access(&leaf.index, &leaf.ranges, &scan.table, heap);
                Bitmap::of_index(self.settings(), heap, &access, rows)
            }
            Bits::And(parts) => Bitmap::all_of(self.settings(), &all(parts)),
            Bits::Or(parts) => {
                let united = parts.iter().skip(1).filter(|p| !matches!(p, Bits::Index(_))).count();
                Bitmap::any_of(self.settings(), &all(parts), united)
            }
        }
    }

    fn nest_loop(&self, join: &NestLoop) -> Cost {
        let (outer, inner) = (self.of(&join.outer), self.of(&join.inner));
        let again = match &join.inner {
            Node::Materialize(_) => self.settings().cpu_operator * inner.rows,
            _ => inner.total - inner.startup,
        };
        let conditions = join.condition.as_ref().map_or(&[][..], conjuncts);
        let pairs = outer.rows * inner.rows;
        let total = outer.total
            + inner.total
            + (outer.rows - 1.0) * again
            + pairs
                * (self.settings().cpu_tuple
                    + self.settings().cpu_operator * conditions.len() as f64);
        let rows = filtered(pairs, conditions);
        joined(join.kind, outer, inner, rows, outer.startup + inner.startup, total)
    }

    fn hash_join(&self, join: &HashJoin) -> Cost {
        let (outer, inner) = (self.of(&join.outer), self.of(&join.inner));
        let keys = join.outer_keys.len() as f64;
        let conditions = join.condition.as_ref().map_or(&[][..], conjuncts);
        let startup =
            inner.total + inner.rows * self.settings().cpu_operator * keys + outer.startup;
        let rows = filtered(outer.rows * inner.rows / DISTINCT, conditions);
        let total = startup
            + (outer.total - outer.startup)
            + outer.rows * self.settings().cpu_operator * keys
            + rows * self.settings().cpu_tuple;
        joined(join.kind, outer, inner, rows, startup, total)
    }

    /// The table of a hash join.
    pub(super) fn hash(&self, join: &HashJoin) -> Cost {
        let inner = self.of(&join.inner);
        Cost { startup: inner.total, ..inner }
    }
}

/// Rows and width of a join of this kind.
fn joined(kind: JoinType, outer: Cost, inner: Cost, rows: f64, startup: f64, total: f64) -> Cost {
    let both = outer.width + inner.width;
    let (rows, width) = match kind {
        JoinType::Inner => (rows, both),
        JoinType::Left => (rows.max(outer.rows), both),
        JoinType::Right => (rows.max(inner.rows), both),
        JoinType::Full => (rows.max(outer.rows).max(inner.rows), both),
        JoinType::Semi | JoinType::Anti | JoinType::NullAwareAnti => {
            ((outer.rows / 2.0).ceil(), outer.width)
        }
    };
    Cost::new(startup, total, rows, width)
}

/// The table's column that a slot of a scan holds.
fn column_of<'t>(
    expr: &Expr,
    table: &'t TableDef,
    outputs: &[ScanColumn],
) -> Option<(&'t TableDef, u16)> {
    let Expr::Slot(slot) = expr else { return None };
    match outputs.get(usize::from(slot.slot))?.column {
        Column::User(column) => Some((table, column)),
        _ => None,
    }
}

fn conjuncts(condition: &Expr) -> &[Expr] {
    match condition {
        Expr::And(all) => all,
        one => std::slice::from_ref(one),
    }
}

fn is_plain(expr: &Expr) -> bool {
    matches!(expr, Expr::Slot(_) | Expr::Const(_) | Expr::Param(_) | Expr::Relabel(_))
}

/// How many of the first rows a sort is to give, where that is plain.
fn rows_wanted(sort: &Sort) -> Option<f64> {
    let top = sort.top.as_ref()?;
    let offset = top.offset.as_ref().map_or(Some(0.0), |n| number(Some(n)));
    Some(number(Some(&top.count))? + offset?)
}

fn number(expr: Option<&Expr>) -> Option<f64> {
    match expr? {
        Expr::Const(c) => match c.value {
            Datum::Int8(n) => Some(n as f64),
            Datum::Int4(n) => Some(f64::from(n)),
            _ => None,
        },
        Expr::Call(call) => number(call.args.first()),
        _ => None,
    }
}

fn width_of(exprs: &[Expr]) -> u32 {
    exprs.iter().map(|expr| type_width(expr.ty())).sum()
}
