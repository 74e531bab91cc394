//! One client: transactions of reads and appends, ended by commits, rollbacks and conflicts.

use super::ROWS;
use super::history::{End, History, Op, values};
use crate::bank::{Changed, Table, is_conflict, session};
use base::park;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::txn::{Isolation, Txn};
use storage::{Engine, Result};

pub struct Client {
    engine: Arc<Engine>,
    table: Arc<Table>,
    txn: Txn,
    rng: fastrand::Rng,
    /// The last value that this client appended; its lower bits are the client's number.
    value: u32,
    history: Rc<RefCell<History>>,
}

impl Client {
    pub fn new(
        engine: &Arc<Engine>,
        table: &Arc<Table>,
        seed: u64,
        number: u64,
        history: &Rc<RefCell<History>>,
    ) -> Client {
        Client {
            engine: Arc::clone(engine),
            table: Arc::clone(table),
            txn: session(engine),
            rng: fastrand::Rng::with_seed(seed ^ (number + 77) << 32),
            value: number as u32,
            history: Rc::clone(history),
        }
    }

    /// One transaction.
    pub fn step(&mut self) {
        park::sleep(Duration::from_micros(self.rng.u64(..200)));
        let level = match self.rng.bool() {
            true => Isolation::ReadCommitted,
            false => Isolation::RepeatableRead,
        };
        let me = self.history.borrow_mut().begin(level);
        self.txn.begin(level);
        let done = self.statements(me, level);
        let commits = match done {
            Ok(goes_on) => goes_on && self.rng.u8(..10) > 0,
            Err(e) if is_conflict(&e) => false,
            Err(e) => panic!("a statement failed: {e}"),
        };
        if !commits {
            self.txn.abort();
            self.history.borrow_mut().transactions[me].end = End::RolledBack;
            return;
        }
        let done = self.txn.commit().expect("there is room");
        let mut history = self.history.borrow_mut();
        let now = history.tick();
        history.transactions[me].end = End::Committed(now);
        drop(history);
        self.engine.wal().flush(done.must_be_durable);
        self.history.borrow_mut().tell(me);
    }

    /// Some statements; false if another transaction was first, and this one must not go on.
    fn statements(&mut self, me: usize, level: Isolation) -> Result<bool> {
        let count = self.rng.usize(1..5);
        let mut savepoint = None;
        for _ in 0..count {
            let row = self.rng.u64(..ROWS);
            let first = match self.rng.u8(..10) {
                0..5 => {
                    self.read(me, row)?;
                    true
                }
                5..9 => self.append(me, row, level)?,
                _ => {
                    if savepoint.is_none() {
                        let kept = self.history.borrow().transactions[me].ops.len();
                        savepoint = Some((self.txn.savepoint(), kept));
                    }
                    true
                }
            };
            if !first {
                return Ok(false);
            }
            if self.rng.bool() {
                park::sleep(Duration::from_micros(self.rng.u64(..150)));
            }
        }
        if let Some((level, kept)) = savepoint
            && self.rng.bool()
        {
            self.txn.rollback_to(level);
            let mut history = self.history.borrow_mut();
            let undone = history.transactions[me].ops.split_off(kept);
            let appended = undone.iter().filter_map(|op| match op {
                Op::Append { value, .. } => Some(*value),
                Op::Read { .. } => None,
            });
            history.undone.extend(appended);
        }
        Ok(true)
    }

    fn read(&mut self, me: usize, row: u64) -> Result<()> {
        let begun = self.history.borrow_mut().tick();
        let snapshot = self.txn.statement_snapshot();
        let payload = self.table.find(&self.txn, &snapshot, row)?;
        self.end_command()?;
        let list = values(&payload.expect("rows are never deleted"));
        self.history.borrow_mut().transactions[me].ops.push(Op::Read { row, list, begun });
        Ok(())
    }

    fn append(&mut self, me: usize, row: u64, level: Isolation) -> Result<bool> {
        self.value += 1 << 4;
        let value = self.value;
        // Noted first: if it waits for others and is given up, it counts as undone.
        self.history.borrow_mut().undone.push(value);
        let longer = |list: &[u8]| [list, &value.to_le_bytes()].concat();
        let changed = match level {
            Isolation::ReadCommitted => self.table.update(&self.txn, row, longer)?,
            Isolation::RepeatableRead => self.table.update_seen(&self.txn, row, longer)?,
        };
        if let Changed::Gone = changed {
            assert!(level == Isolation::RepeatableRead, "rows are never deleted");
            return Ok(false);
        }
        self.end_command()?;
        let mut history = self.history.borrow_mut();
        history.undone.retain(|other| *other != value);
        history.transactions[me].ops.push(Op::Append { row, value });
        Ok(true)
    }

    fn end_command(&mut self) -> Result<()> {
        self.txn.release_statement();
        self.txn.next_command()?;
        Ok(())
    }
}
