//! Indexes of the accounts that are made, rebuilt and dropped beside readers and writers: the steps of CREATE INDEX
//! CONCURRENTLY, REINDEX CONCURRENTLY and DROP INDEX CONCURRENTLY, as the `sql` crate takes them
//! (`session/concurrently.rs`, `catalog/ddl/concurrent.rs`), with this bank's catalog. Now and then a command is
//! given up between two steps, or a step is rolled back; what that leaves is dropped or rebuilt later.
//!
//! The catalog's row of an index and the table's list of indexes change together: the list with the commit.

use super::history::{History, Promise};
use super::indexes::{Code, Index, State};
use super::{ACCOUNTS_LOCK, Books, session};
use base::rank::Rank;
use base::{Csn, Persistence, Tid, park, sim};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::buffer::Relation;
use storage::heap::HeapScan;
use storage::index::KnownRows;
use storage::lock::{LockMode, LockScope, WaitPolicy};
use storage::txn::{Isolation, Txn, TxnState, When};
use storage::{Engine, Error, Result};

/// What is held between the transactions of a command.
const MODE: LockMode = LockMode::ShareUpdateExclusive;

/// Indexes that there are before one is dropped rather than made.
const ENOUGH: usize = 3;

/// A session that does nothing else.
pub struct Beside {
    engine: Arc<Engine>,
    books: Arc<Books>,
    txn: Txn,
    rng: fastrand::Rng,
    history: Rc<RefCell<History>>,
}

/// Why a command came to no end.
enum Stop {
    /// Chosen so: the client is gone, say.
    GivenUp,
    /// The index is not there any more.
    Gone,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl Beside {
    /// In a session of its own.
    pub fn new(
        engine: &Arc<Engine>,
        books: &Arc<Books>,
        seed: u64,
        history: &Rc<RefCell<History>>,
    ) -> Beside {
        let rng = fastrand::Rng::with_seed(seed ^ 0x6265_7369);
        let (engine, books, history) = (Arc::clone(engine), Arc::clone(books), Rc::clone(history));
        let txn = session(&engine);
        Beside { engine, books, txn, rng, history }
    }

    /// One command.
    pub fn step(&mut self) {
        park::sleep(Duration::from_micros(self.rng.u64(200..4000)));
        match self.command() {
            Ok(()) | Err(Stop::GivenUp | Stop::Gone) => {}
            Err(Stop::Error(e)) if self.books.excuse(&e) => {}
            Err(Stop::Error(e)) => panic!("work on an index failed: {e}"),
        }
        assert_eq!(self.txn.state(), TxnState::Idle, "a step's transaction has ended");
        self.txn.locks().unlock_all(|tag| *tag == ACCOUNTS_LOCK);
    }

    fn command(&mut self) -> std::result::Result<(), Stop> {
        let known = self.books.accounts.indexes().split_off(1);
        let (valid, others): (Vec<_>, Vec<_>) =
            known.iter().partition(|index| index.state == State::Valid);
        if let Some(broken) = self.rng.choice(others) {
            return match self.rng.u8(..3) {
                0 => self.mend(broken.id),
                _ => self.drop(broken.id),
            };
        }
        match self.rng.choice(valid) {
            Some(index) if self.rng.u8(..3) == 0 => self.rebuild(index.id),
            Some(index) if known.len() >= ENOUGH || self.rng.u8(..4) == 0 => self.drop(index.id),
            _ => self.create(),
        }
    }

    /// CREATE INDEX CONCURRENTLY.
    fn create(&mut self) -> std::result::Result<(), Stop> {
        let code = Code(self.rng.u8(..Code::ALL));
        let id = self.transaction(|beside, _| {
            let id = beside.enter(code)?;
            beside.hold_table()?;
            Ok(id)
        })?;
        let seen = self.make(id)?;
        let window = sim::window("index-validated");
        self.transaction(|beside, _| {
            beside.txn.wait_for_snapshots(seen, &mut |_, _| {})?;
            beside.change(id, State::Valid)
        })?;
        drop(window);
        self.reply("index-made", &[(id, Promise::There)]);
        Ok(())
    }

    /// DROP INDEX CONCURRENTLY.
    fn drop(&mut self, id: u64) -> std::result::Result<(), Stop> {
        let name = self.transaction(|beside, _| {
            let index = beside.lock(id)?;
            beside.hold_table()?;
            beside.promise(&[(index.name, Promise::Nothing)]);
            if index.state == State::Valid {
                beside.change(id, State::Ready)?;
            }
            Ok(index.name)
        })?;
        self.take_down(id)?;
        self.reply("index-dropped", &[(name, Promise::Gone)]);
        Ok(())
    }

    /// REINDEX INDEX CONCURRENTLY: whatever happens, there is a valid index of this name all along.
    fn rebuild(&mut self, old: u64) -> std::result::Result<(), Stop> {
        let (new, name) = self.transaction(|beside, _| {
            let index = beside.lock(old)?;
            if index.state != State::Valid {
                return Err(Stop::Gone);
            }
            beside.hold_table()?;
            Ok((beside.enter(index.code)?, index.name))
        })?;
        let seen = self.make(new)?;
        let window = sim::window("index-validated");
        self.transaction(|beside, _| {
            beside.txn.wait_for_snapshots(seen, &mut |_, _| {})?;
            beside.swap(old, new)
        })?;
        drop(window);
        let window = sim::window("index-swapped");
        self.take_down(old)?;
        drop(window);
        self.reply("index-rebuilt", &[(name, Promise::There), (new, Promise::Gone)]);
        Ok(())
    }

    /// REINDEX of an index that was left half made, or half dropped: all others are kept away, as the server does. It
    /// may have been valid until just now, with somebody still reading it.
    fn mend(&mut self, id: u64) -> std::result::Result<(), Stop> {
        self.transaction(|beside, rng| {
            beside.txn.lock(ACCOUNTS_LOCK, LockMode::AccessExclusive)?;
            let index = beside.index(id)?;
            if !index.state.is_live() {
                return Err(Stop::Gone);
            }
            let mut renewed = beside.renew(&index)?;
            (renewed.state, renewed.for_all) = (State::Valid, false);
            beside.note(&renewed)?;
            beside.fill(&renewed, rng)
        })?;
        Ok(())
    }

    /// From an index that is entered to one that lacks nothing but that it be said; the snapshot that saw the rows
    /// that were missing.
    fn make(&mut self, id: u64) -> std::result::Result<Csn, Stop> {
        let window = sim::window("index-entered");
        self.transaction(|beside, rng| {
            beside.wait_for_users(LockMode::Share)?;
            let mut renewed = beside.renew(&beside.lock(id)?)?;
            (renewed.state, renewed.for_all) = (State::Ready, true);
            beside.note(&renewed)?;
            let _window = sim::window("index-build");
            beside.fill(&renewed, rng)
        })?;
        drop(window);
        let _window = sim::window("index-ready");
        self.transaction(|beside, rng| {
            beside.wait_for_users(LockMode::Share)?;
            let _window = sim::window("index-validation");
            beside.validate(id, rng)
        })
    }

    /// Drops an index that is not valid any more.
    fn take_down(&mut self, id: u64) -> std::result::Result<(), Stop> {
        let window = sim::window("index-not-valid");
        self.transaction(|beside, _| {
            beside.wait_for_users(LockMode::AccessExclusive)?;
            beside.change(id, State::Dead)
        })?;
        drop(window);
        let _window = sim::window("index-dead");
        self.transaction(|beside, _| {
            beside.wait_for_users(LockMode::AccessExclusive)?;
            let index = beside.lock(id)?;
            Ok(beside.books.remove_index(&beside.txn, &index)?)
        })
    }

    /// One transaction of a command; it may be rolled back, and the command may end with it.
    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Beside, &mut fastrand::Rng) -> std::result::Result<T, Stop>,
    ) -> std::result::Result<T, Stop> {
        self.txn.begin(Isolation::ReadCommitted);
        let mut rng = self.rng.fork();
        match work(self, &mut rng) {
            Ok(_) if self.rng.u8(..32) == 0 => {
                self.txn.abort();
                Err(Stop::GivenUp)
            }
            Ok(done) => {
                self.txn.commit().inspect_err(|_| self.txn.abort())?;
                if self.rng.u8(..4) == 0 {
                    park::sleep(Duration::from_micros(self.rng.u64(..1500)));
                }
                if self.rng.u8(..32) == 0 { Err(Stop::GivenUp) } else { Ok(done) }
            }
            Err(stop) => {
                self.txn.abort();
                Err(stop)
            }
        }
    }

    /// The command has ended: once that is durable it is told.
    fn reply(&self, window: &'static str, promises: &[(u64, Promise)]) {
        let window = sim::window(window);
        self.engine.wal().flush(self.txn.must_be_durable());
        self.promise(promises);
        drop(window);
    }

    fn promise(&self, promises: &[(u64, Promise)]) {
        let mut history = self.history.borrow_mut();
        promises.iter().for_each(|(name, promise)| history.tell_index(*name, *promise));
    }

    fn wait_for_users(&self, mode: LockMode) -> Result<()> {
        self.txn.wait_for_holders(ACCOUNTS_LOCK, mode, &mut |_, _| {})
    }

    fn hold_table(&self) -> Result<()> {
        let locks = self.txn.locks();
        locks.lock(ACCOUNTS_LOCK, MODE, LockScope::Session, WaitPolicy::Block).map(|_| ())
    }

    fn index(&self, id: u64) -> std::result::Result<Index, Stop> {
        self.books.accounts.index(id).ok_or(Stop::Gone)
    }

    /// Locks the table for one step, in which the index stays as it is.
    fn lock(&self, id: u64) -> std::result::Result<Index, Stop> {
        self.txn.lock(ACCOUNTS_LOCK, MODE)?;
        self.index(id)
    }

    fn storage(&self) -> Result<Relation> {
        self.engine.create_relation(&self.txn, Persistence::Permanent, Rank::IndexPage)
    }

    /// A new index, known and empty; its number.
    fn enter(&self, code: Code) -> std::result::Result<u64, Stop> {
        self.txn.lock(ACCOUNTS_LOCK, MODE)?;
        let index = Index::new(&self.engine, &self.storage()?, code, State::Entered);
        self.books.catalog.insert(&self.txn, index.id, &index.encode())?;
        self.list(&index);
        Ok(index.id)
    }

    /// The same in new storage; what it had goes.
    fn renew(&self, index: &Index) -> Result<Index> {
        let renewed = index.moved(&self.engine, &self.storage()?);
        self.txn.drop_at_commit(index.storage())?;
        Ok(renewed)
    }

    /// Writes down what has become of an index.
    fn note(&self, index: &Index) -> Result<()> {
        let row = index.encode();
        self.books.catalog.update(&self.txn, index.id, |_| row.clone())?;
        self.txn.release_statement();
        self.txn.next_command()?;
        self.list(index);
        Ok(())
    }

    fn list(&self, index: &Index) {
        let (books, index) = (Arc::clone(&self.books), index.clone());
        self.txn.on(When::Commit, move || books.accounts.put_index(index));
    }

    fn change(&self, id: u64, state: State) -> std::result::Result<(), Stop> {
        let index = self.lock(id)?;
        Ok(self.note(&Index { state, ..index })?)
    }

    /// The new index takes the old one's name and place.
    fn swap(&self, old: u64, new: u64) -> std::result::Result<(), Stop> {
        let (old, new) = (self.lock(old)?, self.lock(new)?);
        let names = (old.name, new.name);
        self.note(&Index { name: names.0, state: State::Valid, ..new })?;
        self.note(&Index { name: names.1, state: State::Ready, ..old })?;
        Ok(())
    }

    /// Fills an index with the rows that there are now.
    fn fill(&self, index: &Index, rng: &mut fastrand::Rng) -> std::result::Result<(), Stop> {
        let snapshot = self.txn.fresh_snapshot();
        let _ = self.txn.hold(snapshot);
        let mut pause = || rest(rng);
        let rows = self.books.accounts.rows_to_index(&self.txn, snapshot, &mut pause)?;
        Ok(index.fill(&rows)?)
    }

    /// Enters the rows that came while the index was built; the snapshot that saw them.
    fn validate(&self, id: u64, rng: &mut fastrand::Rng) -> std::result::Result<Csn, Stop> {
        let index = self.lock(id)?;
        let snapshot = self.txn.fresh_snapshot();
        let _ = self.txn.hold(snapshot);
        let mut there: Vec<Tid> = Vec::new();
        index.tree.each_tid::<Error>(&mut |tid| {
            there.push(tid);
            rest(rng);
            Ok(())
        })?;
        there.sort_unstable();
        let mut there = there.into_iter();
        let mut next = || -> Result<Option<Tid>> { Ok(there.next()) };
        let accounts = &self.books.accounts;
        let mut known = KnownRows::default();
        let mut scan = HeapScan::for_index(&accounts.heap, snapshot)?;
        while let Some(row) = scan.next(&accounts.heap, &self.txn)? {
            if !known.has(row.root, &mut next)? {
                accounts.enter_missing(&self.txn, &index, row.bytes, row.root)?;
            }
            rest(rng);
        }
        Ok(snapshot.csn)
    }
}

/// A step takes its time: others go on.
fn rest(rng: &mut fastrand::Rng) {
    if rng.u8(..16) == 0 {
        park::sleep(Duration::from_micros(rng.u64(..300)));
    }
}
