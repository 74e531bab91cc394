//! INSERT … ON CONFLICT.
//!
//! The arbiters are asked before the row goes in. When none knows the key, the row is inserted inside a
//! savepoint-like step: a duplicate that another session entered meanwhile undoes it, and the arbiters
//! are asked again. So there is exactly one outcome per input row, and no error for a conflict.

use base::ids::Tid;
use storage::btree::Liveness;
use storage::heap::Outcome;
use storage::lock::{RowLock, WaitPolicy};
use storage::txn::visibility;

use crate::bind::query::ConflictUpdate;
use crate::catalog::IndexDef;
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::exec::Cx;
use crate::exec::eval::{eval, passes};
use crate::exec::lock_rows::concurrent;
use crate::exec::scan::{Stored, column};
use crate::exec::waiting::waiting;
use crate::plan::node::{self, ConflictPlan};
use crate::types::Datum;
use crate::types::row::RowView;

use super::{Work, decode_all, decode_to_update, index, update_row};

/// Inserts `source`, or does what ON CONFLICT says; whether a row was inserted or updated.
pub(super) fn insert(
    plan: &node::Modify,
    conflict: &ConflictPlan,
    source: &[Datum],
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let mut source = source.to_vec();
    super::complete_row(plan, &mut source, cx)?;
    let source = &source[..];
    loop {
        cx.breathe()?;
        work.new.clear();
        work.new.extend_from_slice(source);
        let Some(existing) = find_conflict(plan, conflict, source, work, cx)? else {
            let level = cx.host.txn().savepoint();
            match super::insert(plan, work, cx) {
                Ok(_) => {
                    cx.host.txn().release(level);
                    return Ok(true);
                }
                Err(e) if e.sqlstate() == SqlState::UNIQUE_VIOLATION => {
                    cx.host.txn().rollback_to(level);
                    cx.host.txn().release(level);
                    if !is_of_arbiter(conflict, &e) {
                        return Err(e);
                    }
                    continue;
                }
                Err(e) => return Err(e),
            }
        };
        let Some(update) = &conflict.update else {
            must_be_seen(plan, existing, work, cx)?;
            return Ok(false);
        };
        match update_existing(plan, existing, update, source, work, cx)? {
            Some(done) => return Ok(done),
            None => continue,
        }
    }
}

/// Whether an arbiter objects; what other indexes do is the user's error.
fn is_of_arbiter(conflict: &ConflictPlan, violation: &SqlError) -> bool {
    let violated = violation.fields().constraint.as_deref();
    let all = conflict.arbiters.is_empty();
    all || conflict.arbiters.iter().any(|index| Some(&*index.name) == violated)
}

/// The live row that an arbiter has under the new row's key. Waits for transactions in progress.
fn find_conflict(
    plan: &node::Modify,
    conflict: &ConflictPlan,
    source: &[Datum],
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> Result<Option<Tid>> {
    let table = &plan.table;
    let all = conflict.arbiters.is_empty();
    let arbiters: Vec<&IndexDef> = match all {
        true => table.indexes.iter().filter(|i| i.unique && i.ready).map(|i| &**i).collect(),
        false => conflict.arbiters.iter().map(|i| &**i).collect(),
    };
    for arbiter in arbiters {
        if !arbiter.immediate {
            return Err(sql_error!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters"
            )
            .with_table(&table.schema_name, &table.name)
            .with_constraint(&arbiter.name));
        }
        let Some(values) = index::key_datums(arbiter, source, cx)? else { continue };
        if !index::must_be_alone(arbiter, &values) {
            continue;
        }
        work.key.clear();
        index::encode(arbiter, &values, &mut work.key);
        let txn = cx.host.txn();
        'look: loop {
            let mut tids = Vec::new();
            let (heap, tree) = (cx.host.heap(table)?, cx.host.tree(arbiter)?);
            tree.lookup(&work.key, &mut tids)?;
            for tid in &tids {
                match heap.liveness(txn, *tid)? {
                    Liveness::Dead => {}
                    // Else its place has gone to another row since the entry was read.
                    Liveness::Live { tid: live, .. } if tree.leads_to(&work.key, *tid)? => {
                        return Ok(Some(live));
                    }
                    Liveness::Live { .. } => continue 'look,
                    Liveness::InProgress { xid } => {
                        let doing = "inserting index tuple";
                        txn.wait_for(xid).map_err(waiting(doing, *tid, &table.name))?;
                        continue 'look;
                    }
                }
            }
            if !tids.is_empty() {
                tree.mark_dead(&work.key, &mut |tid| heap.is_gone(tid))?;
            }
            break;
        }
    }
    Ok(None)
}

/// DO UPDATE on the existing row: `Some(changed)`, or `None` when it is gone and the insert must be tried
/// again.
fn update_existing(
    plan: &node::Modify,
    existing: Tid,
    update: &ConflictUpdate,
    source: &[Datum],
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> Result<Option<bool>> {
    let table = &plan.table;
    let (heap, txn) = (cx.host.heap(table)?, cx.host.txn());
    let locked = heap.lock_row(txn, existing, RowLock::NoKeyUpdate, WaitPolicy::Block, None);
    match locked.map_err(waiting("locking tuple", existing, &table.name))? {
        Outcome::Done { .. } => {}
        Outcome::SelfModified => {
            return Err(sql_error!(
                CARDINALITY_VIOLATION,
                "ON CONFLICT DO UPDATE command cannot affect row a second time"
            )
            .with_hint(
                "Ensure that no rows proposed for insertion within the same command have \
                 duplicate constrained values.",
            ));
        }
        Outcome::Updated { .. } | Outcome::Deleted if cx.host.follows_updates() => return Ok(None),
        _ => return Err(concurrent("update")),
    }
    if !cx.host.heap(table)?.fetch_version(existing, &mut work.stored)? {
        return Ok(None);
    }
    let (stored, old) = (work.stored.bytes(), &mut work.old);
    let is_set = |at| update.sets.iter().any(|(column, _)| *column == at);
    decode_to_update(plan, stored, is_set, old, &mut work.large)?;
    must_be_seen(plan, existing, work, cx)?;
    // The condition and the new values may be of any column.
    decode_all(table, work)?;
    let mut both = work.old.clone();
    let stored = Stored::from(&work.stored);
    let view = RowView::new(&table.desc, stored.bytes);
    both.extend(plan.system.iter().map(|which| column(table, *which, &view, stored)));
    both.extend_from_slice(source);
    if !passes(update.filter.as_ref(), &both, cx)? {
        return Ok(Some(false));
    }
    work.new.clone_from(&work.old);
    for (column, expr) in &update.sets {
        work.new[usize::from(*column)] = eval(expr, &both, cx)?;
    }
    match update_row(plan, existing, work, None, cx)? {
        Outcome::Done { .. } => {
            work.was_locked = true;
            Ok(Some(true))
        }
        _ => Ok(None),
    }
}

/// REPEATABLE READ: what the transaction's snapshot does not show can't have been in the way.
fn must_be_seen(
    plan: &node::Modify,
    existing: Tid,
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> Result<()> {
    if cx.host.follows_updates() {
        return Ok(());
    }
    if cx.host.heap(&plan.table)?.fetch_version(existing, &mut work.stored)? {
        let header = work.stored.header();
        let mine = cx.host.txn().is_mine(header.xmin);
        if mine || visibility::check(cx.host.txn(), cx.host.snapshot(), header)?.visible {
            return Ok(());
        }
    }
    Err(concurrent("update"))
}
