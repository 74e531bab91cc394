//! SELECT … FOR UPDATE and its kin: locks each row that comes through.

use std::sync::Arc;

use storage::heap::{Outcome, RowBuf};
use storage::lock::{RowLock, WaitPolicy};
use syntax::ast::{LockStrength, LockWait};

use crate::catalog::TableDef;
use crate::error::{Result, sql_error};
use crate::plan::node::{self, LockedTable, ScanColumn};
use crate::toast;
use crate::types::Datum;
use crate::types::row::RowView;

use super::eval::passes;
use super::scan::{column, stored_tid};
use super::waiting::waiting;
use super::{Cx, Operator, Running, run};

pub struct LockRows {
    plan: Arc<node::LockRows>,
    input: Running,
    row: Vec<Datum>,
    stored: RowBuf,
}

/// What became of a row that was to be locked.
enum Locked {
    Yes,
    /// A newer version of it, which is in the row now.
    Newer,
    /// Gone or skipped.
    Drop,
}

impl LockRows {
    pub fn new(plan: Arc<node::LockRows>) -> LockRows {
        let input = run(&plan.input);
        LockRows { plan, input, row: Vec::new(), stored: RowBuf::default() }
    }

    fn lock(&mut self, locked: &LockedTable, cx: &mut Cx<'_>) -> Result<Locked> {
        let Datum::Tid(tid) = self.row[usize::from(locked.ctid)] else { return Ok(Locked::Yes) };
        let mut tid = stored_tid(tid);
        let heap = cx.host.heap(&locked.table)?;
        let mut turn = None;
        let mut locked_as = Locked::Yes;
        loop {
            let (strength, policy) = (strength(locked.strength), policy(locked.wait));
            let locked_row = heap.lock_row(cx.host.txn(), tid, strength, policy, turn.take());
            match locked_row.map_err(waiting("locking tuple", tid, &locked.table.name))? {
                Outcome::Done { .. } => return Ok(locked_as),
                Outcome::SelfModified | Outcome::Deleted if cx.host.follows_updates() => {
                    return Ok(Locked::Drop);
                }
                Outcome::SelfModified => return Ok(Locked::Drop),
                Outcome::WouldBlock if matches!(locked.wait, LockWait::SkipLocked) => {
                    return Ok(Locked::Drop);
                }
                Outcome::WouldBlock => {
                    return Err(sql_error!(
                        LOCK_NOT_AVAILABLE,
                        "could not obtain lock on row in relation \"{}\"",
                        locked.table.name
                    ));
                }
                Outcome::Deleted => return Err(concurrent("update")),
                Outcome::Updated { newest, turn: mine } if !cx.host.follows_updates() => {
                    // The key is as the snapshot has it: that can be seen to.
                    if strength != RowLock::KeyShare || !heap.kept_key(tid, newest)? {
                        return Err(concurrent("update"));
                    }
                    (tid, turn) = (newest, mine);
                }
                Outcome::Updated { newest, turn: mine } => {
                    if !heap.fetch_version(newest, &mut self.stored)? {
                        return Ok(Locked::Drop);
                    }
                    tid = newest;
                    turn = mine;
                    refresh(&locked.table, &locked.refresh, &self.stored, &mut self.row)?;
                    locked_as = Locked::Newer;
                }
            }
        }
    }

    /// Locks what the row is of, and looks at it again if any of that has changed. All is locked first: a condition
    /// may be about several tables, whose rows one transaction has changed together.
    fn lock_all(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = self.plan.clone();
        let mut is_newer = false;
        for table in &plan.tables {
            match self.lock(table, cx)? {
                Locked::Yes => {}
                Locked::Newer => is_newer = true,
                Locked::Drop => return Ok(false),
            }
        }
        Ok(!is_newer || self.still_meets(&plan, cx)?)
    }

    fn still_meets(&mut self, plan: &node::LockRows, cx: &mut Cx<'_>) -> Result<bool> {
        for join in &plan.outer {
            if !passes(Some(&join.condition), &self.row, cx)? {
                join.nulled.iter().for_each(|at| self.row[usize::from(*at)] = Datum::Null);
            }
        }
        passes(plan.recheck.as_ref(), &self.row, cx)
    }
}

/// Fills a table's slots from another version of the row.
pub(super) fn refresh(
    table: &TableDef,
    slots: &[(u16, ScanColumn)],
    stored: &RowBuf,
    row: &mut [Datum],
) -> Result<()> {
    let wanted = |column| slots.iter().any(|(_, output)| output.column.needs(column));
    let bytes = toast::inlined(table, stored.bytes(), wanted)?;
    let view = RowView::new(&table.desc, &bytes);
    for (slot, output) in slots {
        row[usize::from(*slot)] = column(table, output.column, &view, stored.into());
    }
    Ok(())
}

/// REPEATABLE READ: first updater wins.
pub(super) fn concurrent(what: &str) -> crate::error::SqlError {
    sql_error!(T_R_SERIALIZATION_FAILURE, "could not serialize access due to concurrent {what}")
}

fn strength(strength: LockStrength) -> RowLock {
    match strength {
        LockStrength::Update => RowLock::Update,
        LockStrength::NoKeyUpdate => RowLock::NoKeyUpdate,
        LockStrength::Share => RowLock::Share,
        LockStrength::KeyShare => RowLock::KeyShare,
    }
}

fn policy(wait: LockWait) -> WaitPolicy {
    match wait {
        LockWait::Block => WaitPolicy::Block,
        LockWait::NoWait | LockWait::SkipLocked => WaitPolicy::Never,
    }
}

impl Operator for LockRows {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.input.next(cx)? {
            self.row.clear();
            self.row.extend_from_slice(self.input.row());
            if self.lock_all(cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.input.rescan(cx)
    }
}
