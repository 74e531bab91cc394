//! Queries that entries of an index answer alone: which indexes can, and when one is read from end to end instead of
//! its table.

use std::sync::Arc;

use crate::bind::tree::Expr;
use crate::catalog::{AccessMethod, IndexDef, TableDef};
use crate::error::Result;
use crate::exec;

use super::access::{QueryCx, WantedOrder};
use super::choose::{IndexChoice, gives_order, keys_for};
use super::{Size, estimate};

/// PostgreSQL's units and their defaults (`seq_page_cost` and so on).
const SEQ_PAGE: f64 = 1.0;
const RANDOM_PAGE: f64 = 4.0;
const CPU_TUPLE: f64 = 0.01;
const CPU_INDEX_TUPLE: f64 = 0.005;
const CPU_OPERATOR: f64 = 0.0025;

/// Whether entries of the index have all that the query needs of this entry's rows.
pub(super) fn covers(cx: &QueryCx<'_>, rel: u16, index: &IndexDef) -> bool {
    let needed = cx.needed[usize::from(rel)].iter().map(|(column, _)| *column);
    cx.indexes.only && index.method == AccessMethod::BTree && exec::covers(index, needed)
}

/// An index to be read from end to end instead of the table, where that costs less: where most of the table is
/// visible to all, and the index is the smaller one, or gives the wanted order.
pub(super) fn instead_of_table(
    cx: &QueryCx<'_>,
    table: &TableDef,
    rel: u16,
    conditions: &[Expr],
    order: Option<&WantedOrder>,
) -> Result<Option<IndexChoice>> {
    let fit = table.indexes.iter().filter(|index| {
        index.valid
            && covers(cx, rel, index)
            && !cx.indexes.unusable.contains(&index.oid)
            && keys_for(cx, index, rel, conditions).is_some()
    });
    let fit: Vec<&Arc<IndexDef>> = fit.collect();
    if fit.is_empty() {
        return Ok(None);
    }
    let Some(heap) = cx.indexes.size_of(table, table.oid)? else { return Ok(None) };
    let rows = estimate::table_rows_now(table, heap.blocks);
    let ordered_here = order.filter(|order| order.rel == rel);
    let sorting = match ordered_here {
        Some(_) => 2.0 * CPU_OPERATOR * rows * rows.max(2.0).log2(),
        None => 0.0,
    };
    let of_rows = rows * (CPU_TUPLE + CPU_OPERATOR * conditions.len() as f64);
    let mut least = f64::from(heap.blocks) * SEQ_PAGE + of_rows + sorting;
    let mut best = None;
    for index in fit {
        let Some(size) = cx.indexes.size_of(table, index.oid)? else { continue };
        let (sorted, backward) =
            ordered_here.map_or((false, false), |order| gives_order(index, 0, rel, order));
        let rows = if index.predicate.is_some() {
            // What the condition lets through is what there is.
            rows.min(f64::from(size.blocks) * ENTRIES_PER_BLOCK)
        } else {
            rows
        };
        let per_row = CPU_INDEX_TUPLE + CPU_TUPLE + CPU_OPERATOR * conditions.len() as f64;
        let cost = f64::from(size.blocks) * RANDOM_PAGE
            + rows * per_row
            + hidden(heap) * f64::from(heap.blocks) * RANDOM_PAGE
            + if sorted { 0.0 } else { sorting };
        if cost < least {
            (least, best) = (cost, Some(whole(index, sorted, backward)));
        }
    }
    Ok(best)
}

/// Entries of a page, at most about.
const ENTRIES_PER_BLOCK: f64 = 400.0;

/// Share of a table's pages that have to be looked at.
fn hidden(heap: Size) -> f64 {
    1.0 - f64::from(heap.visible.min(heap.blocks)) / f64::from(heap.blocks.max(1))
}

/// All of an index.
fn whole(index: &Arc<IndexDef>, sorted: bool, backward: bool) -> IndexChoice {
    IndexChoice {
        index: index.clone(),
        equal: Vec::new(),
        lower: None,
        upper: None,
        pattern: None,
        used: Vec::new(),
        unique: false,
        sorted,
        backward,
        covers: true,
    }
}
