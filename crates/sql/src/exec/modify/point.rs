//! Changes of one row: by a whole unique key, or an INSERT of one row of values.
//!
//! What `Modify` does with operators and rows of datums is done here without: the row is found as point
//! reads find theirs, and an update that gives fixed-width columns new values copies the stored row and
//! overwrites their bytes. Whatever such a copy does not cover (nulls, indexed columns, CHECK, RETURNING)
//! goes through the same steps as in `Modify`, by the same functions, so both answer alike.

use std::ops::Range;
use std::sync::Arc;

use storage::heap::{Change, Outcome};

use crate::bind::tree::Expr;
use crate::catalog::TableDef;
use crate::error::Result;
use crate::exec::point::{Lookup, PointKey};
use crate::exec::scan::decode;
use crate::exec::waiting::waiting;
use crate::plan::Plan;
use crate::plan::node::{self, IndexScan, ModifyAction, Node, Project, TargetRow};
use crate::toast;
use crate::types::Datum;
use crate::types::row::RowView;

use super::{
    Cx, Work, decode_to_update, follow, index, insert, lost_race, system_columns, update_row,
};
use crate::exec::eval::{eval, passes};

/// What a plan for such a change comes down to.
pub struct PointModify {
    plan: Arc<node::Modify>,
    input: Input,
}

enum Input {
    /// INSERT: the row's values, over no row.
    Values(Arc<Project>),
    /// UPDATE and DELETE.
    Key { scan: Arc<IndexScan>, key: PointKey, patches: Option<Vec<Patch>> },
}

/// A column that every stored row without nulls has at the same place.
struct Patch {
    column: u16,
    place: Range<usize>,
}

/// Buffers that go from statement to statement.
#[derive(Default)]
pub struct PointBuffers {
    pub lookup: Lookup,
    /// The scan's outputs.
    source: Vec<Datum>,
    work: Work,
    /// What SET assigns, in its order.
    values: Vec<Datum>,
    bytes: Vec<u8>,
    /// RETURNING's row.
    pub returned: Vec<Datum>,
}

impl PointModify {
    /// The point change that a plan is, if it is one.
    pub fn of(plan: &Plan) -> Option<PointModify> {
        let Node::Modify(modify) = &plan.root else { return None };
        if !plan.ctes.is_empty() {
            return None;
        }
        let input = match (&modify.action, &modify.input) {
            (ModifyAction::Insert { on_conflict: None }, Node::Project(project)) => {
                let Node::OneRow(None) = &project.input else { return None };
                Input::Values(project.clone())
            }
            (ModifyAction::Update { .. } | ModifyAction::Delete { .. }, Node::IndexScan(scan)) => {
                let patches = match &modify.action {
                    ModifyAction::Update { sets, .. } => patches(modify, sets),
                    _ => None,
                };
                if concerns_others(modify, patches.is_some()) {
                    return None;
                }
                Input::Key { scan: scan.clone(), key: PointKey::of(scan)?, patches }
            }
            _ => return None,
        };
        Some(PointModify { plan: modify.clone(), input })
    }

    /// Makes the change; whether there was a row to change. RETURNING's row is in `buffers` then.
    pub fn run(&self, buffers: &mut PointBuffers, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = &*self.plan;
        match (&plan.action, &self.input) {
            (ModifyAction::Insert { .. }, Input::Values(project)) => {
                buffers.source.clear();
                buffers.work.new.clear();
                for expr in &project.exprs {
                    buffers.work.new.push(eval(expr, &[], cx)?);
                }
                insert(plan, &mut buffers.work, cx)?;
            }
            (action, Input::Key { scan, key, patches }) => {
                let snapshot = *cx.host.snapshot();
                let found =
                    key.find(&*cx.host, &snapshot, &cx.state.params, &mut buffers.lookup)?;
                if !found {
                    return Ok(false);
                }
                buffers.source.resize(scan.outputs.len(), Datum::Null);
                let row = (&buffers.lookup.row).into();
                decode(&scan.table, &scan.outputs, row, &mut buffers.source)?;
                let changed = passes(scan.filter.as_ref(), &buffers.source, cx)?
                    && match action {
                        ModifyAction::Update { target, sets } => {
                            update(plan, target, sets, patches.as_deref(), buffers, cx)?
                        }
                        _ => delete(plan, buffers, cx)?,
                    };
                if !changed {
                    return Ok(false);
                }
            }
            _ => unreachable!("`of` pairs actions with their inputs"),
        }
        self.returning(buffers, cx)?;
        Ok(true)
    }

    fn returning(&self, buffers: &mut PointBuffers, cx: &mut Cx<'_>) -> Result<()> {
        let Some(returning) = &self.plan.returning else { return Ok(()) };
        system_columns(&self.plan, &mut buffers.work, cx)?;
        let visible = &mut buffers.work.new;
        visible.append(&mut buffers.source);
        buffers.returned.clear();
        for expr in returning {
            buffers.returned.push(eval(expr, visible, cx)?);
        }
        Ok(())
    }
}

/// Whether foreign keys may have to look into the change. A column that others refer to has an index, and so
/// is never patched.
fn concerns_others(plan: &node::Modify, patched: bool) -> bool {
    let foreign = &plan.table.foreign;
    match &plan.action {
        ModifyAction::Update { .. } => {
            !foreign.own.is_empty() || !(patched || foreign.referring.is_empty())
        }
        _ => !foreign.referring.is_empty(),
    }
}

/// Where the new values go if the stored row can be copied for the rest; `None` if it can't.
fn patches(plan: &node::Modify, sets: &[(u16, Expr)]) -> Option<Vec<Patch>> {
    let table = &plan.table;
    let keyed = |column: u16| {
        table.indexes.iter().any(|i| i.has_expressions() || i.columns().any(|c| c == column))
    };
    if !plan.checks.is_empty() || !plan.generated.is_empty() || plan.returning.is_some() {
        return None;
    }
    let patch = |(column, _): &(u16, Expr)| {
        let place = table.desc.fixed_place(usize::from(*column))?;
        (!keyed(*column)).then_some(Patch { column: *column, place })
    };
    sets.iter().map(patch).collect()
}

fn update(
    plan: &node::Modify,
    target: &TargetRow,
    sets: &[(u16, Expr)],
    patches: Option<&[Patch]>,
    buffers: &mut PointBuffers,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let table = &*plan.table;
    let mut tid = buffers.lookup.row.tid();
    let mut turn = None;
    loop {
        buffers.values.clear();
        for (_, expr) in sets {
            buffers.values.push(eval(expr, &buffers.source, cx)?);
        }
        let patched = patches.is_some_and(|patches| patch(table, patches, buffers));
        let PointBuffers { lookup, source, work, values, .. } = &mut *buffers;
        let outcome = if patched {
            let change = Change { hot: true, key: false };
            let (heap, txn) = (cx.host.heap(table)?, cx.host.txn());
            let updated = heap.update(txn, tid, &work.encoded, change, turn.take());
            let outcome = updated.map_err(waiting("updating tuple", tid, &table.name))?;
            if let Outcome::Done { tid, heap_only: false } = outcome {
                // No room beside the old version: the new one needs index entries of its own.
                decode_row(table, &work.encoded, &mut work.new)?;
                index::insert_all(table, tid, index::Made::Updated, work, cx)?;
            }
            outcome
        } else {
            let (stored, is_set) = (lookup.row.bytes(), |at| super::is_set(sets, at));
            decode_to_update(plan, stored, is_set, &mut work.old, &mut work.large)?;
            work.new.clone_from(&work.old);
            for ((column, _), value) in sets.iter().zip(values) {
                work.new[usize::from(*column)] = std::mem::take(value);
            }
            update_row(plan, tid, work, turn.take(), cx)?
        };
        match outcome {
            Outcome::Done { .. } => return Ok(true),
            Outcome::Updated { newest, turn: mine } => {
                if !follow(table, target, newest, &mut lookup.row, source, cx)? {
                    return Ok(false);
                }
                (tid, turn) = (newest, mine);
            }
            outcome => return lost_race(&outcome, cx),
        }
    }
}

/// Makes the new row's bytes from the stored row's; false if this row or its new values are not made for
/// that.
fn patch(table: &TableDef, patches: &[Patch], buffers: &mut PointBuffers) -> bool {
    let PointBuffers { lookup, work, values, bytes, .. } = buffers;
    let stored = lookup.row.bytes();
    if values.iter().any(Datum::is_null) || !RowView::new(&table.desc, stored).is_plain() {
        return false;
    }
    work.encoded.clear();
    work.encoded.extend_from_slice(stored);
    for (value, patch) in values.iter().zip(patches) {
        bytes.clear();
        table.desc.encode_value(usize::from(patch.column), value, bytes);
        work.encoded[patch.place.clone()].copy_from_slice(bytes);
    }
    true
}

fn delete(plan: &node::Modify, buffers: &mut PointBuffers, cx: &mut Cx<'_>) -> Result<bool> {
    let ModifyAction::Delete { target } = &plan.action else {
        unreachable!("the caller looked");
    };
    let table = &*plan.table;
    let mut tid = buffers.lookup.row.tid();
    let mut turn = None;
    loop {
        let deleted = cx.host.heap(table)?.delete(cx.host.txn(), tid, turn.take());
        match deleted.map_err(waiting("deleting tuple", tid, &table.name))? {
            Outcome::Done { .. } => {
                buffers.work.changed = Some(tid);
                let (row, large) = (buffers.lookup.row.bytes(), &mut buffers.work.large);
                // RETURNING reads what goes now.
                if plan.returning.is_some() {
                    decode_row(table, row, &mut buffers.work.new)?;
                }
                large.drop_all(table, row);
                large.row_is_gone(table, cx)?;
                return Ok(true);
            }
            Outcome::Updated { newest, turn: mine } => {
                let row = &mut buffers.lookup.row;
                if !follow(table, target, newest, row, &mut buffers.source, cx)? {
                    return Ok(false);
                }
                (tid, turn) = (newest, mine);
            }
            outcome => return lost_race(&outcome, cx),
        }
    }
}

/// All columns of a stored row.
fn decode_row(table: &TableDef, stored: &[u8], row: &mut Vec<Datum>) -> Result<()> {
    row.resize(table.columns.len(), Datum::Null);
    let stored = toast::whole(table, stored)?;
    RowView::new(&table.desc, &stored).decode_prefix(row);
    Ok(())
}
