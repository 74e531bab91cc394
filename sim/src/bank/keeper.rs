//! What goes on beside the clients: vacuum, checkpoints, indexes that come and go.

use super::chains::Span;
use super::history::{History, Promise};
use super::indexes::{Code, Index, State};
use super::table::Table;
use super::upkeep::alone_with;
use super::{ACCOUNTS_LOCK, Books, QUEUE_LOCK, session};
use base::rank::Rank;
use base::{Persistence, park, sim};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::buffer::TornPages;
use storage::lock::{LockMode, LockTag};
use storage::txn::{Isolation, Txn, When};
use storage::wal::Compression;
use storage::{Engine, Error, Result, vacuum};

/// Indexes of the accounts beside the one on the number.
const INDEXES_MAX: usize = 2;

/// Works until told that nobody is left.
pub struct Keeper {
    engine: Arc<Engine>,
    books: Arc<Books>,
    txn: Txn,
    rng: fastrand::Rng,
    protections: &'static [TornPages],
    history: Rc<RefCell<History>>,
}

impl Keeper {
    /// A keeper of its own session.
    pub fn new(
        engine: &Arc<Engine>,
        books: &Arc<Books>,
        seed: u64,
        protections: &'static [TornPages],
        history: &Rc<RefCell<History>>,
    ) -> Keeper {
        let rng = fastrand::Rng::with_seed(seed ^ 0x6B65_6570);
        let (engine, books, history) = (Arc::clone(engine), Arc::clone(books), Rc::clone(history));
        let txn = session(&engine);
        Keeper { engine, books, txn, rng, protections, history }
    }

    /// One piece of work.
    pub fn step(&mut self) {
        park::sleep(Duration::from_micros(self.rng.u64(500..6000)));
        if self.rng.u8(..5) == 0 {
            return self.stretch();
        }
        if self.rng.u8(..5) == 0 {
            return self.protect();
        }
        if self.rng.u8(..8) == 0 {
            // `pg_switch_wal`.
            let switched = self.engine.wal().switch();
            switched.map_or_else(|e| self.allow(&e), drop);
            return;
        }
        self.txn.begin(Isolation::ReadCommitted);
        let done = match self.rng.u8(..10) {
            0 => self.engine.checkpoint(),
            1..4 => self.vacuum(&self.books.queue, QUEUE_LOCK),
            4..7 => self.vacuum(&self.books.accounts, ACCOUNTS_LOCK),
            _ if self.books.accounts.indexes().len() > INDEXES_MAX => self.drop_index(),
            _ => self.make_index(),
        };
        let rolls_back = done.is_ok() && self.rng.u8(..4) == 0;
        match done.and_then(|()| if rolls_back { Ok(None) } else { self.txn.commit().map(Some) }) {
            Ok(Some(done)) => self.engine.wal().flush(done.must_be_durable),
            Ok(None) => self.txn.abort(),
            Err(e) => {
                if !matches!(e.cause(), Error::Deadlock { .. }) {
                    self.allow(&e);
                }
                self.txn.abort();
            }
        }
    }

    /// Only the disk may be the reason of an error.
    fn allow(&self, error: &Error) {
        assert!(self.books.faults.excuse(error), "upkeep failed: {error}");
    }

    /// Lengthens the long chains, or shortens them first, so that pages are set free and taken again.
    fn stretch(&mut self) {
        let (books, history) = (Arc::clone(&self.books), Rc::clone(&self.history));
        let tell = |span| history.borrow_mut().tell_chains(span);
        let mut times = 1;
        if self.rng.u8(..3) == 0 {
            let shortened = books.chains.shorten(&mut self.rng, tell);
            self.told(shortened);
            times = 3;
        }
        (0..times).for_each(|_| self.told(books.chains.lengthen()));
    }

    /// Entries are nobody's transaction: they are there once the log is.
    fn told(&self, done: Result<Span>) {
        // Also of what came to no end: the next word tells of it.
        self.engine.wal().flush(self.engine.wal().position());
        match done {
            Ok(span) => self.history.borrow_mut().tell_chains(span),
            Err(e) => self.allow(&e),
        }
    }

    /// Another protection against torn pages, while everybody works.
    fn protect(&mut self) {
        let _window = sim::window("protection-changed");
        let to = self.rng.choice(self.protections).expect("there are some");
        let changed = self.engine.set_torn_pages(*to);
        changed.unwrap_or_else(|e| self.allow(&e));
        let ways = [Compression::Off, Compression::Lz4, Compression::Zstd];
        self.engine.set_wal_compression(*self.rng.choice(&ways).expect("there are some"));
    }

    /// VACUUM. Accounts are read without a lock, so their pages stay.
    fn vacuum(&self, table: &Table, tag: LockTag) -> Result<()> {
        self.txn.lock(tag, LockMode::ShareUpdateExclusive)?;
        let _window = sim::window("vacuum");
        let clean = |alone: Option<&vacuum::Alone<'_>>| {
            let options = vacuum::Options { alone, ..vacuum::Options::default() };
            vacuum::vacuum(&table.heap, &table.trees(), &options).map(drop)
        };
        match tag {
            QUEUE_LOCK => alone_with(&self.engine, &self.txn, tag, |alone| clean(Some(alone))),
            _ => clean(None),
        }
    }

    /// CREATE INDEX: writers are kept away until it is committed.
    fn make_index(&mut self) -> Result<()> {
        let code = Code(self.rng.u8(..Code::NOT_UNIQUE));
        self.txn.lock(ACCOUNTS_LOCK, LockMode::Share)?;
        let rel =
            self.engine.create_relation(&self.txn, Persistence::Permanent, Rank::IndexPage)?;
        let index = Index::new(&self.engine, &rel, code, State::Valid);
        let accounts = &self.books.accounts;
        let snapshot = self.txn.fresh_snapshot();
        index.fill(&accounts.rows_to_index(&self.txn, snapshot, &mut || ())?)?;
        self.books.catalog.insert(&self.txn, index.id, &index.encode())?;
        let books = Arc::clone(&self.books);
        self.txn.on(When::Commit, move || books.accounts.put_index(index));
        Ok(())
    }

    /// DROP INDEX, however far it is made: nobody is at the table.
    fn drop_index(&mut self) -> Result<()> {
        self.txn.lock(ACCOUNTS_LOCK, LockMode::AccessExclusive)?;
        let indexes = self.books.accounts.indexes();
        let Some(last) = indexes.get(1..).and_then(<[_]>::last) else { return Ok(()) };
        self.history.borrow_mut().tell_index(last.name, Promise::Nothing);
        self.books.remove_index(&self.txn, last)
    }
}
