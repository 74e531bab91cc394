//! What a plan is thought to cost, in PostgreSQL's units and by its formulas, as far as they are simple.
//!
//! For EXPLAIN alone: the planner chooses by coarser guesses of its own (`plan::estimate`).

use storage::heap::vm;

use crate::bind::tree::{Column, Expr, Ty};
use crate::catalog::{AccessMethod, TableDef};
use crate::exec::Host;
use crate::plan::estimate::{filtered, filtered_by, range_share};
use crate::plan::node::{HashJoin, IndexScan, JoinType, NestLoop, Node, ScanColumn, Sort};
use crate::session::backend::Backend;
use crate::types::{Datum, TypeId, type_info};

const SEQ_PAGE: f64 = 1.0;
const RANDOM_PAGE: f64 = 4.0;
const CPU_TUPLE: f64 = 0.01;
const CPU_INDEX_TUPLE: f64 = 0.005;
const CPU_OPERATOR: f64 = 0.0025;
/// Pages of a table that was never counted and is smaller.
const UNCOUNTED_PAGES: f64 = 10.0;
/// Bytes of a page that rows may take, and of a row beside its columns.
const PAGE_BYTES: f64 = 8168.0;
const ROW_BYTES: f64 = 28.0;
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
        match node {
            Node::Filter(filter) => {
                let input = self.of(&filter.input);
                let conditions = conjuncts(&filter.condition);
                let more = input.rows * CPU_OPERATOR * conditions.len() as f64;
                let rows = filtered(input.rows, conditions).round();
                Cost { total: input.total + more, rows, ..input }
            }
            Node::Project(project) => {
                let input = self.of(&project.input);
                let work = project.exprs.iter().filter(|e| !is_plain(e)).count() as f64;
                let total = input.total + input.rows * CPU_OPERATOR * work;
                Cost { total, width: width_of(&project.exprs), ..input }
            }
            Node::ProjectSet(project) => {
                let input = self.of(&project.input);
                let total = input.total + input.rows * (CPU_OPERATOR + 1000.0 * CPU_TUPLE * 0.5);
                Cost::new(input.startup, total, input.rows * 1000.0, width_of(&project.exprs))
            }
            Node::NestLoop(join) => self.nest_loop(join),
            Node::HashJoin(join) => self.hash_join(join),
            Node::Materialize(input) => {
                let input = self.of(input);
                Cost { total: input.total + 2.0 * CPU_OPERATOR * input.rows, ..input }
            }
            Node::Sort(sort) => {
                let input = self.of(&sort.input);
                let kept = rows_wanted(sort).map_or(input.rows, |top| (top * 2.0).min(input.rows));
                let sorting = 2.0 * CPU_OPERATOR * input.rows * kept.max(2.0).log2();
                let startup = input.total + sorting;
                Cost { startup, total: startup + CPU_OPERATOR * input.rows, ..input }
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
                let total = input.total + CPU_OPERATOR * input.rows * unique.slots.len() as f64;
                Cost::new(input.startup, total, input.rows.min(DISTINCT), input.width)
            }
            Node::Aggregate(agg) => {
                let input = self.of(&agg.input);
                let calls: u32 = agg.calls.iter().map(|call| type_width(call.ty)).sum();
                let width = width_of(&agg.keys) + calls;
                let work = (agg.calls.len() + agg.keys.len()) as f64;
                let startup = input.total + input.rows * CPU_OPERATOR * work;
                let groups = match agg.keys.len() as i32 {
                    0 => 1.0,
                    keys => DISTINCT.powi(keys).min(input.rows),
                };
                Cost::new(startup, startup + CPU_TUPLE * groups, groups, width)
            }
            Node::Window(window) => {
                let input = self.of(&window.input);
                let calls: u32 = window.calls.iter().map(|call| type_width(call.ty)).sum();
                let work = CPU_TUPLE + CPU_OPERATOR * window.calls.len() as f64;
                let total = input.total + input.rows * work;
                Cost { total, width: input.width + calls, ..input }
            }
            Node::Append(inputs) => {
                let all: Vec<Cost> = inputs.iter().map(|input| self.of(input)).collect();
                let rows: f64 = all.iter().map(|cost| cost.rows).sum();
                let total = all.iter().map(|cost| cost.total).sum::<f64>() + rows * CPU_TUPLE * 0.5;
                let startup = all.first().map_or(0.0, |cost| cost.startup);
                Cost::new(startup, total, rows, all.first().map_or(0, |cost| cost.width))
            }
            Node::SetOp(op) => {
                let (left, right) = (self.of(&op.left), self.of(&op.right));
                let rows = left.rows + right.rows;
                let total = left.total + right.total + rows * (CPU_TUPLE + CPU_OPERATOR);
                Cost::new(0.0, total, left.rows.min(DISTINCT), left.width)
            }
            Node::RecursiveUnion(union) => {
                let (first, again) = (self.of(&union.first), self.of(&union.again));
                let total = first.total + 10.0 * again.total;
                Cost::new(first.startup, total, first.rows + 10.0 * again.rows, first.width)
            }
            Node::LockRows(lock) => {
                let input = self.of(&lock.input);
                Cost { total: input.total + input.rows * CPU_TUPLE, ..input }
            }
            Node::Modify(modify) => {
                let input = self.of(&modify.input);
                match &modify.returning {
                    None => Cost { rows: 0.0, width: 0, ..input },
                    Some(exprs) => Cost { width: width_of(exprs), ..input },
                }
            }
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&self, node: &Node) -> Cost {
        match node {
            Node::Values(rows) => {
                let per_row = if rows.len() == 1 { CPU_TUPLE } else { CPU_TUPLE + CPU_OPERATOR };
                let width = rows.first().map_or(0, |row| width_of(row));
                Cost::new(0.0, per_row * rows.len() as f64, rows.len() as f64, width)
            }
            Node::SeqScan(scan) => {
                let (pages, rows) = self.size(&scan.table);
                let columns = |expr: &Expr| column_of(expr, &scan.table, &scan.outputs);
                let conditions = scan.filter.as_ref().map_or(&[][..], conjuncts);
                let per_row = CPU_TUPLE + CPU_OPERATOR * conditions.len() as f64;
                let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
                let left = filtered_by(rows, conditions, &columns);
                Cost::new(0.0, pages * SEQ_PAGE + rows * per_row, left, width)
            }
            Node::IndexScan(scan) => self.index_scan(scan),
            Node::TidScan(scan) => {
                let count = scan.tids.len() as f64;
                let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
                Cost::new(0.0, count * (RANDOM_PAGE + CPU_TUPLE), count, width)
            }
            Node::FunctionScan(scan) => {
                let rows = if scan.calls.iter().any(|call| call.set) { 1000.0 } else { 1.0 };
                let width = scan.calls.iter().map(|call| type_width(call.expr.ty())).sum();
                Cost::new(0.0, rows * CPU_TUPLE, rows, width)
            }
            Node::CteScan(_) | Node::WorkScan(_) => Cost::new(0.0, 2.0, 100.0, 32),
            _ => Cost::new(0.0, CPU_TUPLE, 1.0, 0),
        }
    }

    /// A table's pages and rows: rows per page as of its last count, pages as of now.
    fn size(&self, table: &TableDef) -> (f64, f64) {
        let blocks =
            |backend: &Backend| backend.heap(table).ok()?.relation().blocks(base::Fork::Main).ok();
        let pages = f64::from(blocks(self.backend).unwrap_or(0));
        if table.stored_rows < 0.0 || table.stored_blocks == 0 {
            let pages = pages.max(UNCOUNTED_PAGES);
            let width: u32 = table.live().map(|(_, column)| type_width(column.ty)).sum();
            return (pages, pages * (PAGE_BYTES / (f64::from(width) + ROW_BYTES)).floor());
        }
        let density = f64::from(table.stored_rows) / f64::from(table.stored_blocks);
        (pages.max(1.0), (pages * density).max(1.0).round())
    }

    fn index_scan(&self, scan: &IndexScan) -> Cost {
        let (pages, rows) = self.size(&scan.table);
        let mut share = 0.0;
        for range in &scan.ranges {
            if let Some(known) = range_share(&scan.table, &scan.index.keys, range, rows) {
                share += known;
                continue;
            }
            let bounds = [&range.lower, &range.upper].into_iter().flatten().count() as i32;
            let of_bounds = if bounds == 2 { DISTINCT.recip() } else { 3_f64.powi(-bounds) };
            share += DISTINCT.recip().powi(range.equal.len() as i32) * of_bounds;
        }
        let unique = scan.index.unique
            && scan.index.immediate
            && scan.ranges.iter().all(|range| range.equal.len() == scan.index.keys.len());
        let found = match unique {
            true => scan.ranges.len() as f64,
            false => (rows * share.min(1.0)).max(1.0).round(),
        };
        let mut leaves = (found / 300.0).ceil();
        let mut fetched = found.min(pages);
        if scan.only {
            let (of_index, hidden) = self.entries_alone(scan);
            leaves = (found / rows.max(1.0) * of_index).ceil();
            fetched *= hidden;
        }
        let startup = match scan.index.method {
            AccessMethod::BTree => descent(rows),
            AccessMethod::Hash => 0.0,
        };
        let quals: usize = scan.ranges.first().map_or(0, |range| {
            range.equal.len() + [&range.lower, &range.upper].into_iter().flatten().count()
        });
        let conditions = scan.filter.as_ref().map_or(&[][..], conjuncts);
        let per_row =
            CPU_INDEX_TUPLE + CPU_TUPLE + CPU_OPERATOR * (quals.min(1) + conditions.len()) as f64;
        let total = startup + (leaves + fetched) * RANDOM_PAGE + found * per_row;
        let width = scan.outputs.iter().map(|output| type_width(output.ty)).sum();
        let columns = |expr: &Expr| column_of(expr, &scan.table, &scan.outputs);
        // Of several ranges the condition says again what the ranges say.
        let conditions = if scan.ranges.len() > 1 { &[] } else { conditions };
        Cost::new(startup, total, filtered_by(found, conditions, &columns), width)
    }

    /// Of an index-only scan: the index's pages, and the share of the table's that are not visible to all.
    fn entries_alone(&self, scan: &IndexScan) -> (f64, f64) {
        let index = self.backend.tree(&scan.index).ok();
        let index = index.and_then(|tree| tree.relation().blocks(base::Fork::Main).ok());
        let hidden = self.backend.heap(&scan.table).ok().and_then(|heap| {
            let pages = heap.relation().blocks(base::Fork::Main).ok()?;
            let (visible, _) = vm::count(heap.relation()).ok()?;
            Some(1.0 - f64::from(visible.min(pages)) / f64::from(pages.max(1)))
        });
        (f64::from(index.unwrap_or(1)), hidden.unwrap_or(1.0))
    }

    fn nest_loop(&self, join: &NestLoop) -> Cost {
        let (outer, inner) = (self.of(&join.outer), self.of(&join.inner));
        let again = match &join.inner {
            Node::Materialize(_) => CPU_OPERATOR * inner.rows,
            _ => inner.total - inner.startup,
        };
        let conditions = join.condition.as_ref().map_or(&[][..], conjuncts);
        let pairs = outer.rows * inner.rows;
        let total = outer.total
            + inner.total
            + (outer.rows - 1.0) * again
            + pairs * (CPU_TUPLE + CPU_OPERATOR * conditions.len() as f64);
        let rows = filtered(pairs, conditions);
        joined(join.kind, outer, inner, rows, outer.startup + inner.startup, total)
    }

    fn hash_join(&self, join: &HashJoin) -> Cost {
        let (outer, inner) = (self.of(&join.outer), self.of(&join.inner));
        let keys = join.outer_keys.len() as f64;
        let conditions = join.condition.as_ref().map_or(&[][..], conjuncts);
        let startup = inner.total + inner.rows * CPU_OPERATOR * keys + outer.startup;
        let rows = filtered(outer.rows * inner.rows / DISTINCT, conditions);
        let total = startup
            + (outer.total - outer.startup)
            + outer.rows * CPU_OPERATOR * keys
            + rows * CPU_TUPLE;
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

/// From the root to a leaf.
fn descent(rows: f64) -> f64 {
    let height = (rows / 300.0).max(1.0).log(300.0).floor();
    let comparisons = rows.max(1.0).log2().ceil() * CPU_OPERATOR;
    comparisons + (height + 1.0) * 50.0 * CPU_OPERATOR
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

/// Bytes that a value of the type takes on average, as PostgreSQL supposes.
fn type_width(ty: Ty) -> u32 {
    let len = type_info(ty.id).map_or(-1, |info| info.len);
    if let Ok(len) = u32::try_from(len) {
        return len;
    }
    // The most bytes that so many characters take.
    let most = match ty.id {
        TypeId::VARCHAR | TypeId::BPCHAR => u32::try_from(ty.modifier - 4).ok().map(|n| n * 4 + 4),
        _ => None,
    };
    match most {
        Some(most) if ty.id == TypeId::BPCHAR || most <= 32 => most,
        Some(most) => 32 + (most.min(1000) - 32) / 2,
        None => 32,
    }
}
