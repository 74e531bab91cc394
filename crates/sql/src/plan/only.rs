//! Queries that entries of an index answer alone.

use std::sync::Arc;

use crate::bind::tree::Expr;
use crate::catalog::{AccessMethod, IndexDef};
use crate::exec;

use super::access::{QueryCx, WantedOrder};
use super::choose::{IndexChoice, gives_order, keys_for};

/// Whether entries of the index have all that the query needs of this entry's rows.
pub(super) fn covers(cx: &QueryCx<'_>, rel: u16, index: &IndexDef) -> bool {
    let needed = cx.needed[usize::from(rel)].iter().map(|(column, _)| *column);
    let is_wanted = cx.indexes.settings.indexonlyscan;
    is_wanted && index.method == AccessMethod::BTree && exec::covers(index, needed)
}

/// An index to be read from end to end instead of the table, if its entries have all that is needed.
pub(super) fn whole_instead(
    cx: &QueryCx<'_>,
    rel: u16,
    conditions: &[Expr],
    index: &Arc<IndexDef>,
    order: Option<&WantedOrder>,
) -> Option<IndexChoice> {
    let usable = index.valid && !cx.indexes.unusable.contains(&index.oid);
    if !usable || !covers(cx, rel, index) || keys_for(cx, index, rel, conditions).is_none() {
        return None;
    }
    let order = order.filter(|order| order.rel == rel);
    let (sorted, backward) =
        order.map_or((false, false), |order| gives_order(index, 0, rel, order));
    Some(IndexChoice { sorted, backward, covers: true, ..IndexChoice::whole(index) })
}
