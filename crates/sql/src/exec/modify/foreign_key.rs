//! What changes of rows mean for foreign keys, and for unique ones that are checked late: noted row by row, looked
//! into when the statement is done.

use std::sync::Arc;

use base::ids::Tid;

use crate::catalog::foreign_key::ForeignKey;
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::exec::Cx;
use crate::types::Datum;
use crate::types::row::is_identical;

use super::Work;
use super::index::same;

/// Something to look into.
#[derive(Clone, Debug)]
pub enum Event {
    /// A row version that must find the row it refers to.
    Refers { key: Arc<ForeignKey>, row: Tid },
    /// A row that others may refer to was deleted, or its key changed.
    Gone { key: Arc<ForeignKey>, old: Box<[Datum]>, new: Option<Box<[Datum]>> },
    /// A row whose key another one may have: entered into this index, for this place.
    Repeats { index: Arc<IndexDef>, row: Tid },
}

/// A row was inserted at `tid`.
pub(in crate::exec) fn inserted(table: &TableDef, tid: Tid, cx: &mut Cx<'_>) {
    for key in &table.foreign.own {
        cx.host.note(Event::Refers { key: key.clone(), row: tid });
    }
}

/// `work.old` became `work.new` at `tid`. `mine`: the old version was this transaction's own, and what it
/// refers to may not have been looked for yet.
pub(in crate::exec) fn updated(
    table: &TableDef,
    tid: Tid,
    work: &Work,
    mine: bool,
    cx: &mut Cx<'_>,
) {
    for key in &table.foreign.own {
        if mine || differ(&key.columns, &work.old, &work.new) {
            cx.host.note(Event::Refers { key: key.clone(), row: tid });
        }
    }
    for key in &table.foreign.referring {
        if !identical(&key.referenced_columns, &work.old, &work.new) {
            gone(key, &work.old, Some(&work.new), cx);
        }
    }
}

/// `old` was deleted.
pub(in crate::exec) fn deleted(table: &TableDef, old: &[Datum], cx: &mut Cx<'_>) {
    for key in &table.foreign.referring {
        gone(key, old, None, cx);
    }
}

fn gone(key: &Arc<ForeignKey>, old: &[Datum], new: Option<&[Datum]>, cx: &mut Cx<'_>) {
    let pick = |row: &[Datum]| -> Box<[Datum]> {
        key.referenced_columns.iter().map(|c| row[usize::from(*c)].clone()).collect()
    };
    let old = pick(old);
    // Nobody refers to a key with a null in it.
    if old.iter().any(Datum::is_null) {
        return;
    }
    cx.host.note(Event::Gone { key: key.clone(), old, new: new.map(pick) });
}

fn differ(columns: &[u16], old: &[Datum], new: &[Datum]) -> bool {
    columns.iter().any(|c| !same(&old[usize::from(*c)], &new[usize::from(*c)]))
}

/// Whether nobody could tell the values apart: 1.0 and 1.00 are equal, but those that refer are to follow.
fn identical(columns: &[u16], old: &[Datum], new: &[Datum]) -> bool {
    columns.iter().map(|c| usize::from(*c)).all(|at| is_identical(&old[at], &new[at]))
}

/// An action of a foreign key under REPEATABLE READ reaches rows that the transaction's snapshot does not
/// show; to change one is a `40001`.
pub(super) fn must_be_shown(
    table: &TableDef,
    tid: Tid,
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> Result<()> {
    let Some(snapshot) = cx.host.shown_by() else { return Ok(()) };
    if cx.host.heap(table)?.fetch_version(tid, &mut work.stored)? {
        let header = work.stored.header();
        if !storage::txn::visibility::check(cx.host.txn(), &snapshot, header)?.visible {
            return Err(crate::exec::lock_rows::concurrent("update"));
        }
    }
    Ok(())
}
