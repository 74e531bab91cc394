//! Transaction blocks: where a session stands between statements, and what BEGIN, COMMIT,
//! ROLLBACK and savepoints do to that.
//!
//! | state | storage transaction | on success of a statement | on error |
//! |---|---|---|---|
//! | `Idle` | none | begins one, `Implicit` | |
//! | `Implicit` | open | committed at the end of the message (or at Sync) | rolled back, `Idle` |
//! | `Explicit` | open | stays | rolled back to the innermost savepoint, `Failed` |
//! | `Failed` | open if there are savepoints, else none | only ROLLBACK and COMMIT pass | |

use base::Lsn;
use storage::txn::{Import, Isolation, SubLevel, TxnState};

use syntax::ast::{IsolationLevel, TransactionMode};

use crate::error::{Result, SqlError, SqlState, bail, sql_error};

use super::Session;
use super::backend::{Backend, New};

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    Idle,
    /// A transaction that the session began by itself.
    Implicit,
    Explicit,
    Failed,
}

/// What ReadyForQuery tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Idle,
    InTransaction,
    Failed,
}

/// What a transaction was begun as.
struct Modes {
    isolation: Isolation,
    read_uncommitted: bool,
    read_only: bool,
}

/// A savepoint's name, its level, and how much had been set when it was made.
pub(super) struct Savepoint {
    name: Box<str>,
    level: SubLevel,
    /// Whether the transaction was READ ONLY when it was made.
    read_only: bool,
    settings: usize,
    events: super::foreign_key::Mark,
}

const _: () = assert!(size_of::<Savepoint>() == 72, "as storage::txn::level says");

impl Session {
    /// Where the session stands, as ReadyForQuery tells it.
    pub fn status(&self) -> Status {
        match self.block {
            Block::Idle | Block::Implicit => Status::Idle,
            Block::Explicit => Status::InTransaction,
            Block::Failed => Status::Failed,
        }
    }

    /// Whether others wait for what the open transaction holds, and the client had better be answered at once: where
    /// commits wait for the disk there is processor time to spare for that.
    #[inline]
    pub fn holds_others_up(&self) -> bool {
        self.block == Block::Explicit
            && self.backend.values.hot.synchronous
            && self.backend.txn.locks().has_dependents()
    }

    /// Makes sure that there is a transaction for a statement.
    #[inline]
    pub(super) fn begin_if_idle(&mut self) {
        if self.block == Block::Idle {
            self.begin_storage();
            self.block = Block::Implicit;
        }
    }

    pub(super) fn begin_storage(&mut self) {
        let hot = self.backend.values.hot;
        let isolation =
            if hot.repeatable_read { Isolation::RepeatableRead } else { Isolation::ReadCommitted };
        self.backend.txn.set_synchronous(hot.synchronous);
        self.backend.txn.begin(isolation);
        self.backend.transaction_start = self.backend.statement_start;
        self.board.transaction(self.backend.transaction_start.0);
        self.backend.read_only = hot.read_only;
        self.backend.read_uncommitted = hot.read_uncommitted;
        self.had_query = false;
    }

    /// Nothing but ROLLBACK and its kin passes in a failed transaction.
    pub(super) fn refuse_if_failed(&self) -> Result<()> {
        if self.block == Block::Failed {
            bail!(
                IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block"
            );
        }
        Ok(())
    }

    /// BEGIN.
    pub(super) fn begin(&mut self, modes: &[TransactionMode]) -> Result<()> {
        let begins = matches!(self.block, Block::Idle | Block::Implicit);
        match self.block {
            Block::Idle => {
                self.begin_storage();
                self.block = Block::Explicit;
            }
            // In a message of several statements, what came before joins the block.
            Block::Implicit => self.block = Block::Explicit,
            Block::Explicit | Block::Failed => {
                let warning = SqlError::new(
                    SqlState::ACTIVE_SQL_TRANSACTION,
                    "there is already a transaction in progress",
                );
                self.backend.notice("WARNING", warning);
            }
        }
        let done = self.set_modes(modes);
        if done.is_err() && begins {
            // No block has begun that the client would have to end.
            self.block = Block::Implicit;
        }
        done
    }

    /// SET TRANSACTION, and the modes of BEGIN.
    pub(super) fn set_modes(&mut self, modes: &[TransactionMode]) -> Result<()> {
        for mode in modes {
            match mode {
                TransactionMode::Isolation(level, _) => {
                    let isolation = match level {
                        IsolationLevel::ReadUncommitted | IsolationLevel::ReadCommitted => {
                            Isolation::ReadCommitted
                        }
                        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
                        IsolationLevel::Serializable => {
                            return Err(crate::settings::serializable_refused());
                        }
                    };
                    let uncommitted = *level == IsolationLevel::ReadUncommitted;
                    let now = (self.backend.txn.isolation(), self.backend.read_uncommitted);
                    if (isolation, uncommitted) != now {
                        if self.had_query || self.backend.txn.keeps_snapshot() {
                            bail!(
                                ACTIVE_SQL_TRANSACTION,
                                "SET TRANSACTION ISOLATION LEVEL must be called before any query"
                            );
                        }
                        if !self.savepoints.is_empty() {
                            bail!(
                                ACTIVE_SQL_TRANSACTION,
                                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction"
                            );
                        }
                        self.backend.txn.set_isolation(isolation);
                        self.backend.read_uncommitted = uncommitted;
                    }
                }
                TransactionMode::ReadOnly(read_only, _) => self.set_read_only(*read_only)?,
                TransactionMode::Deferrable(..) => {}
            }
        }
        Ok(())
    }

    /// SET TRANSACTION SNAPSHOT.
    pub(super) fn import_snapshot(&mut self, name: &str) -> Result<()> {
        let txn = &self.backend.txn;
        let begun = self.had_query || txn.keeps_snapshot() || txn.top_xid().is_some();
        if begun || txn.level().is_some() {
            bail!(
                ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION SNAPSHOT must be called before any query"
            );
        }
        if txn.isolation() != Isolation::RepeatableRead {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ"
            );
        }
        match txn.import_snapshot(name) {
            Import::Done => {}
            Import::Unknown => {
                bail!(INVALID_PARAMETER_VALUE, "invalid snapshot identifier: \"{name}\"")
            }
            Import::OtherDatabase => {
                bail!(FEATURE_NOT_SUPPORTED, "cannot import a snapshot from a different database")
            }
        }
        self.had_query = true;
        Ok(())
    }

    fn set_read_only(&mut self, read_only: bool) -> Result<()> {
        if self.backend.read_only && !read_only {
            if !self.savepoints.is_empty() {
                bail!(
                    ACTIVE_SQL_TRANSACTION,
                    "cannot set transaction read-write mode inside a read-only transaction"
                );
            }
            if self.had_query {
                return Err(too_late_to_write());
            }
        }
        self.backend.read_only = read_only;
        Ok(())
    }

    /// COMMIT. Answers the command tag: a failed transaction is rolled back.
    pub(super) fn commit(&mut self, chain: bool) -> Result<&'static str> {
        let modes = self.modes();
        match self.block {
            Block::Explicit => {
                self.commit_storage()?;
                if chain {
                    self.begin_next(modes);
                }
                Ok("COMMIT")
            }
            Block::Failed => {
                self.rollback_storage();
                if chain {
                    self.begin_next(modes);
                }
                Ok("ROLLBACK")
            }
            Block::Idle | Block::Implicit => {
                if chain {
                    return Err(no_block("COMMIT AND CHAIN"));
                }
                self.warn_no_transaction();
                if self.block == Block::Implicit {
                    self.commit_storage()?;
                }
                Ok("COMMIT")
            }
        }
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self, chain: bool) -> Result<()> {
        if matches!(self.block, Block::Idle | Block::Implicit) {
            if chain {
                return Err(no_block("ROLLBACK AND CHAIN"));
            }
            self.warn_no_transaction();
        }
        let modes = self.modes();
        self.rollback_storage();
        if chain {
            self.begin_next(modes);
        }
        Ok(())
    }

    fn modes(&self) -> Modes {
        let Backend { read_uncommitted, read_only, .. } = self.backend;
        Modes { isolation: self.backend.txn.isolation(), read_uncommitted, read_only }
    }

    /// AND CHAIN: a block like the one that has ended.
    fn begin_next(&mut self, modes: Modes) {
        self.begin_storage();
        self.backend.txn.set_isolation(modes.isolation);
        self.backend.read_uncommitted = modes.read_uncommitted;
        self.backend.read_only = modes.read_only;
        self.block = Block::Explicit;
    }

    /// Whether others follow or may follow in the same transaction: in a block, or in a message of several statements.
    pub(super) fn is_in_block(&self) -> bool {
        self.block == Block::Explicit || self.statements_in_message > 1
    }

    /// Warns of what has no effect beyond the statement.
    pub(super) fn warn_outside_block(&mut self, what: &str) {
        if !self.is_in_block() {
            let warning = sql_error!(
                NO_ACTIVE_SQL_TRANSACTION,
                "{what} can only be used in transaction blocks"
            );
            self.backend.notice("WARNING", warning);
        }
    }

    fn warn_no_transaction(&mut self) {
        let warning = SqlError::new(
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            "there is no transaction in progress",
        );
        self.backend.notice("WARNING", warning);
    }

    /// Commits what the session began by itself: at the end of a message, or at Sync.
    pub(super) fn commit_implicit(&mut self) -> Result<()> {
        if self.block == Block::Implicit { self.commit_storage() } else { Ok(()) }
    }

    pub(super) fn commit_storage(&mut self) -> Result<()> {
        if let Err(error) = self.try_to_commit() {
            self.rollback_storage();
            return Err(error);
        }
        // Committed is committed: no panic may tell the client otherwise.
        storage::error::or_abort("commit", || {
            self.board.done().commit();
            self.tell_everything();
            self.backend.values.commit();
            self.end_of_transaction();
        });
        Ok(())
    }

    /// What may fail of a commit, which then is none: the transaction is over all the same.
    fn try_to_commit(&mut self) -> Result<()> {
        self.react_to_transaction()?;
        self.keep_held_cursors()?;
        self.end_temporary_tables()?;
        // As it is set now: a transaction may have chosen for itself (SET LOCAL).
        self.backend.txn.set_synchronous(self.backend.values.hot.synchronous);
        self.backend.queue_to_notify()?;
        self.backend.txn.commit()?;
        Ok(())
    }

    /// Rolls everything back; the session is idle afterwards.
    pub(super) fn rollback_storage(&mut self) {
        if self.block != Block::Idle {
            self.board.done().roll_back();
        }
        self.drop_portals();
        if self.backend.txn.state() == TxnState::Active {
            self.backend.txn.abort();
        }
        self.tell_everything();
        self.backend.values.undo_to(0);
        self.forget_new_temp_schema();
        self.end_of_transaction();
    }

    fn end_of_transaction(&mut self) {
        self.board.transaction(0);
        self.backend.temp_schema_new.set(New::No);
        self.block = Block::Idle;
        self.savepoints.clear();
        self.drop_portals();
        self.backend.catalog.end_transaction();
        self.backend.events.end_transaction();
        self.backend.read_only = false;
    }

    /// What was said so far must not be told before all that it rests on is durable.
    #[inline]
    pub(super) fn tell_everything(&mut self) {
        self.gate = self.gate.max(self.backend.txn.must_be_durable());
    }

    /// Nothing that the client got may leave before this is durable; [`Lsn::ZERO`]: no need to wait.
    #[inline]
    pub fn must_be_durable(&self) -> Lsn {
        self.gate
    }

    /// A statement failed: the transaction is rolled back, or in a block as far as its innermost
    /// savepoint.
    pub(super) fn abort_statement(&mut self) {
        self.tell_everything();
        match self.block {
            // Its commit may have failed.
            Block::Idle => self.release_tables(),
            Block::Implicit => {
                self.rollback_storage();
                self.release_tables();
            }
            Block::Explicit | Block::Failed => {
                self.backend.events.forget_statement();
                match self.savepoints.last() {
                    Some(savepoint) => {
                        let (level, settings) = (savepoint.level, savepoint.settings);
                        self.drop_portals_since(self.savepoints.len() - 1);
                        if self.backend.txn.state() == TxnState::Active {
                            self.backend.txn.rollback_to(level);
                        }
                        self.backend.values.undo_to(settings);
                        self.undo_temp_schema(self.savepoints.len() - 1);
                        if let Some(savepoint) = self.savepoints.last() {
                            self.backend.events.undo_to(&savepoint.events);
                        }
                    }
                    None => {
                        self.drop_portals();
                        if self.backend.txn.state() == TxnState::Active {
                            self.backend.txn.abort();
                        }
                        self.backend.values.undo_to(0);
                        self.forget_new_temp_schema();
                        self.backend.catalog.end_transaction();
                        self.backend.events.end_transaction();
                    }
                }
                self.block = Block::Failed;
            }
        }
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self, name: &str) -> Result<()> {
        self.need_block("SAVEPOINT")?;
        self.place_temp_schema();
        let level = self.backend.txn.savepoint();
        let settings = self.backend.values.mark();
        let events = self.backend.events.mark();
        let read_only = self.backend.read_only;
        self.savepoints.push(Savepoint { name: name.into(), level, read_only, settings, events });
        Ok(())
    }

    /// RELEASE.
    pub(super) fn release(&mut self, name: &str) -> Result<()> {
        self.need_block("RELEASE SAVEPOINT")?;
        let position = self.find_savepoint(name)?;
        let Savepoint { level, read_only, .. } = self.savepoints[position];
        self.backend.txn.release(level);
        // As in PostgreSQL, what was said under it ends with it.
        self.backend.read_only = read_only;
        self.place_temp_schema();
        self.savepoints.truncate(position);
        self.place_temp_schema();
        self.portals.release(position);
        Ok(())
    }

    /// ROLLBACK TO: the savepoint itself stays.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.need_block("ROLLBACK TO SAVEPOINT")?;
        let position = self.find_savepoint(name)?;
        self.drop_portals_since(position);
        let Savepoint { level, read_only, settings, .. } = self.savepoints[position];
        self.backend.txn.rollback_to(level);
        self.backend.read_only = read_only;
        self.backend.values.undo_to(settings);
        self.undo_temp_schema(position);
        self.backend.events.undo_to(&self.savepoints[position].events);
        self.savepoints.truncate(position + 1);
        self.block = Block::Explicit;
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|savepoint| *savepoint.name == *name).ok_or_else(|| {
            sql_error!(S_E_INVALID_SPECIFICATION, "savepoint \"{name}\" does not exist")
        })
    }

    pub(super) fn need_block(&self, what: &str) -> Result<()> {
        match self.block {
            Block::Explicit | Block::Failed => Ok(()),
            Block::Idle | Block::Implicit => Err(no_block(what)),
        }
    }

    /// Some commands can't be rolled back.
    pub(super) fn refuse_block(&mut self, what: &str) -> Result<()> {
        if self.is_in_block() || self.had_query {
            bail!(ACTIVE_SQL_TRANSACTION, "{what} cannot run inside a transaction block");
        }
        self.commits_at_once = true;
        Ok(())
    }
}

impl Backend {
    /// A setting's value as SHOW tells it.
    pub(super) fn show(&self, name: &str) -> Option<String> {
        match self.of_transaction(name) {
            Some(value) => Some(value.to_owned()),
            None => self.values.show(name),
        }
    }

    /// The value of a setting that is the running transaction's.
    fn of_transaction(&self, name: &str) -> Option<&'static str> {
        if name.eq_ignore_ascii_case("transaction_read_only") {
            return Some(if self.read_only { "on" } else { "off" });
        }
        if !name.eq_ignore_ascii_case("transaction_isolation") {
            return None;
        }
        let (repeatable, uncommitted) = match self.txn.state() {
            TxnState::Active => {
                (self.txn.isolation() == Isolation::RepeatableRead, self.read_uncommitted)
            }
            TxnState::Idle => (self.values.hot.repeatable_read, self.values.hot.read_uncommitted),
        };
        Some(match (repeatable, uncommitted) {
            (true, _) => "repeatable read",
            (false, true) => "read uncommitted",
            (false, false) => "read committed",
        })
    }
}

/// A READ ONLY transaction that has read stays one.
pub(super) fn too_late_to_write() -> SqlError {
    sql_error!(ACTIVE_SQL_TRANSACTION, "transaction read-write mode must be set before any query")
}

pub(super) fn no_block(what: &str) -> SqlError {
    sql_error!(NO_ACTIVE_SQL_TRANSACTION, "{what} can only be used in transaction blocks")
}
