//! One client: random transactions, each ended by a reply that counts from when it may be told.

use super::history::{Commit, History, Told};
use super::indexes::{Index, State};
use super::table::Changed;
use super::{ACCOUNTS, Books, QUEUE_LOCK, TOTAL, UP, entries, session};
use base::{Lsn, park, sim};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::btree::Direction;
use storage::lock::{LockMode, RowLock};
use storage::txn::{Isolation, Txn};
use storage::{Engine, Error};

/// A history row's payload: what happened, between which accounts, how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// 0 transfer, 1 opening (of `to`, with money of `from`), 2 closing (of `from`, its money to `to`);
    /// 3: a batch of orders was put into the queue, `from` being the first; 4: such a batch was taken out.
    pub kind: u64,
    /// Whose money.
    pub from: u64,
    /// Who gets it.
    pub to: u64,
    /// How much.
    pub amount: i64,
}

impl Entry {
    /// As stored.
    pub fn encode(self) -> Vec<u8> {
        let words = [self.kind, self.from, self.to, self.amount as u64];
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// From what is stored.
    pub fn decode(bytes: &[u8]) -> Entry {
        let word = |i: usize| {
            let bytes = bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        Entry { kind: word(0), from: word(1), to: word(2), amount: word(3) as i64 }
    }
}

/// Orders that go into the queue, and come out, together.
pub const BATCH: u64 = 8;

/// An account's balance, from its payload.
pub fn balance(payload: &[u8]) -> i64 {
    i64::from_le_bytes(payload.try_into().expect("a balance has eight bytes"))
}

/// A running client.
pub struct Client {
    engine: Arc<Engine>,
    books: Arc<Books>,
    txn: Txn,
    rng: fastrand::Rng,
    number: u64,
    next: u64,
    opened: Vec<u64>,
    /// The batches that it has put into the queue.
    waiting: VecDeque<u64>,
    /// Whether the transaction's commit waits until it is durable.
    synchronous: bool,
    history: Rc<RefCell<History>>,
}

/// Why a transaction was given up.
enum Stop {
    /// Chosen so, or an account was gone.
    RollBack,
    /// A row of this number was there already.
    Taken(u64),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl Client {
    /// Client `number` of a run.
    pub fn new(
        engine: &Arc<Engine>,
        books: &Arc<Books>,
        seed: u64,
        number: u64,
        history: &Rc<RefCell<History>>,
    ) -> Client {
        let (engine, books, history) = (Arc::clone(engine), Arc::clone(books), Rc::clone(history));
        let number = history.borrow().life << 8 | number;
        let rng = fastrand::Rng::with_seed(seed ^ (number + 1) << 40);
        let txn = session(&engine);
        Client {
            engine,
            books,
            txn,
            rng,
            number,
            next: 0,
            opened: Vec::new(),
            waiting: VecDeque::new(),
            synchronous: true,
            history,
        }
    }

    /// A number that no other client uses.
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        let number = (self.number + 1) << 32 | self.next;
        self.history.borrow_mut().numbers.insert(number);
        number
    }

    /// One transaction.
    pub fn step(&mut self) {
        park::sleep(Duration::from_micros(self.rng.u64(..300)));
        let id = self.fresh();
        self.synchronous = self.rng.u8(..8) > 0;
        self.txn.set_synchronous(self.synchronous);
        self.txn.begin(Isolation::ReadCommitted);
        let attempt = match self.attempt(id) {
            Ok(()) => self.commit(id),
            Err(stop) => Err(stop),
        };
        match attempt {
            Ok(()) => {}
            Err(Stop::Taken(other)) => {
                self.txn.abort();
                self.until_tellable();
                self.tell(Told::RolledBack(id));
                // Who is told of a duplicate is told of the other's commit.
                self.tell_seen(other);
            }
            Err(Stop::Error(e)) if !self.books.excuse(&e) => panic!("a statement failed: {e}"),
            Err(_) => {
                self.txn.abort();
                self.tell(Told::RolledBack(id));
            }
        }
    }

    fn tell(&self, told: Told) {
        self.history.borrow_mut().tell(told);
    }

    /// Waits until everything that the session has made or seen is durable.
    fn until_tellable(&self) {
        self.engine.wal().flush(self.txn.must_be_durable());
    }

    /// As a worker with one client does it, or as one with many.
    fn make_durable(&mut self, lsn: Lsn) {
        let alone = self.rng.u8(..4) == 0;
        let wal = self.engine.wal();
        if alone && wal.durable() < lsn {
            let _window = sim::window("flush-by-committer");
            if wal.flush_here(lsn) {
                return;
            }
        }
        wal.flush(lsn);
    }

    /// Commits, and waits until the reply may be told.
    fn commit(&mut self, id: u64) -> Result<(), Stop> {
        let window = sim::window("commit-not-flushed");
        let done = self.txn.commit()?;
        if let Some((_, csn)) = done.committed {
            let commit = Commit { csn, id, synchronous: self.synchronous };
            self.history.borrow_mut().commits.push(commit);
        }
        if self.rng.u8(..4) == 0 {
            park::sleep(Duration::from_micros(self.rng.u64(..500)));
        }
        self.make_durable(done.must_be_durable);
        drop(window);
        if self.synchronous && done.committed.is_some() {
            self.tell(Told::Committed(id));
        }
        Ok(())
    }

    fn attempt(&mut self, id: u64) -> Result<(), Stop> {
        let what = self.rng.u8(..32);
        if !(7..10).contains(&what) {
            self.txn.lock(super::ACCOUNTS_LOCK, LockMode::RowExclusive)?;
        }
        match what {
            0..3 => self.open_account(id)?,
            3..6 => self.close_account(id)?,
            6 => self.repeat(id)?,
            7..9 => return self.look_around(),
            9 => return self.audit(),
            10..13 => self.with_savepoint(id)?,
            13..17 => self.locked_transfer(id)?,
            17 => self.note(id)?,
            18..20 => self.put(id)?,
            20..22 => self.take(id)?,
            _ => {
                let (from, to, amount) = self.choose();
                self.transfer(id, from, to, amount)?;
            }
        }
        if self.rng.u8(..12) == 0 {
            return Err(Stop::RollBack);
        }
        Ok(())
    }

    fn choose(&mut self) -> (u64, u64, i64) {
        // A few accounts are hot.
        let pick = |rng: &mut fastrand::Rng| match rng.bool() {
            true => rng.u64(..4),
            false => rng.u64(..ACCOUNTS),
        };
        let from = pick(&mut self.rng);
        let to = (from + 1 + pick(&mut self.rng)) % ACCOUNTS;
        (from, to, self.rng.i64(1..50))
    }

    fn add(&mut self, account: u64, amount: i64) -> Result<(), Stop> {
        let change = |payload: &[u8]| (balance(payload) + amount).to_le_bytes().to_vec();
        match self.books.accounts.update(&self.txn, account, change)? {
            Changed::Yes => {
                self.end_command()?;
                Ok(())
            }
            Changed::Gone => Err(Stop::RollBack),
        }
    }

    fn end_command(&mut self) -> Result<(), Stop> {
        self.txn.release_statement();
        self.txn.next_command()?;
        Ok(())
    }

    fn record(&mut self, id: u64, entry: Entry) -> Result<(), Stop> {
        let number = self.books.numbers.next(&self.txn, &UP)?;
        self.history.borrow_mut().taken.insert(id, number);
        self.books.history.insert(&self.txn, id, &entry.encode())?;
        self.end_command()
    }

    fn transfer(&mut self, id: u64, from: u64, to: u64, amount: i64) -> Result<(), Stop> {
        if from == to {
            return Err(Stop::RollBack);
        }
        self.add(from, -amount)?;
        if self.rng.u8(..3) == 0 {
            park::yield_now();
        }
        self.add(to, amount)?;
        self.record(id, Entry { kind: 0, from, to, amount })
    }

    /// Locks both accounts first, beside others who do the same.
    fn locked_transfer(&mut self, id: u64) -> Result<(), Stop> {
        let (from, to, amount) = self.choose();
        let strength = [RowLock::KeyShare, RowLock::Share][self.rng.usize(..2)];
        for account in [from.min(to), from.max(to)] {
            if !self.books.accounts.lock(&self.txn, account, strength)? {
                return Err(Stop::RollBack);
            }
            self.end_command()?;
        }
        park::sleep(Duration::from_micros(self.rng.u64(..400)));
        match self.rng.u8(..3) {
            0 => Err(Stop::RollBack),
            _ => self.transfer(id, from, to, amount),
        }
    }

    /// A transfer that is taken back, then another one.
    fn with_savepoint(&mut self, id: u64) -> Result<(), Stop> {
        let level = self.txn.savepoint();
        let (from, to, amount) = self.choose();
        let lost = self.fresh();
        match self.transfer(lost, from, to, amount) {
            Ok(()) | Err(Stop::RollBack) => {}
            Err(other) => return Err(other),
        }
        self.txn.release_statement();
        self.txn.rollback_to(level);
        self.tell(Told::RolledBack(lost));
        let (from, to, amount) = self.choose();
        if self.rng.bool() {
            self.txn.release(level);
        }
        self.transfer(id, from, to, amount)
    }

    fn open_account(&mut self, id: u64) -> Result<(), Stop> {
        let (from, _, amount) = self.choose();
        let to = self.fresh();
        self.books.accounts.insert(&self.txn, to, &amount.to_le_bytes())?;
        self.end_command()?;
        self.add(from, -amount)?;
        self.record(id, Entry { kind: 1, from, to, amount })?;
        self.opened.push(to);
        Ok(())
    }

    fn close_account(&mut self, id: u64) -> Result<(), Stop> {
        let Some(from) = self.opened.pop() else { return Err(Stop::RollBack) };
        let Some(payload) = self.books.accounts.delete(&self.txn, from)? else {
            return Err(Stop::RollBack);
        };
        self.end_command()?;
        let snapshot = self.txn.statement_snapshot();
        let again = self.books.accounts.find(&self.txn, &snapshot, from)?;
        assert!(again.is_none(), "account {from:#x} is found after it was deleted");
        let (to, _, _) = self.choose();
        let amount = balance(&payload);
        self.add(to, amount)?;
        self.record(id, Entry { kind: 2, from, to, amount })
    }

    /// Tries a number that somebody has used or is about to.
    fn repeat(&mut self, id: u64) -> Result<(), Stop> {
        let taken = self.known().unwrap_or(id);
        let entry = Entry { kind: 0, from: 0, to: 1, amount: 0 };
        match self.books.history.insert(&self.txn, taken, &entry.encode()) {
            Err(Error::Duplicate { .. }) => Err(Stop::Taken(taken)),
            Err(e) => Err(e.into()),
            Ok(()) => Err(Stop::RollBack),
        }
    }

    /// A number of lately, of anybody.
    fn known(&mut self) -> Option<u64> {
        let history = self.history.borrow();
        let from = history.commits.len().saturating_sub(6);
        let recent = &history.commits[from..];
        (!recent.is_empty()).then(|| recent[self.rng.usize(..recent.len())].id)
    }

    /// The session has seen another's commit, and all that it has seen is durable: it is told. Only between
    /// sessions that both don't wait for durability this promises nothing.
    fn tell_seen(&self, number: u64) {
        let waited = |commit: &Commit| commit.id == number && commit.synchronous;
        let promised = self.synchronous || self.history.borrow().commits.iter().any(waited);
        if promised {
            self.tell(Told::Committed(number));
        }
    }

    /// Looks rows up that others have just written; who sees one is told that it is committed.
    fn look_around(&mut self) -> Result<(), Stop> {
        self.txn.lock(super::ACCOUNTS_LOCK, LockMode::AccessShare)?;
        let account = self.rng.u64(..ACCOUNTS);
        let snapshot = self.txn.statement_snapshot();
        let found = self.books.accounts.find(&self.txn, &snapshot, account)?;
        assert!(found.is_some(), "account {account} is never closed");
        let mut seen = None;
        if let Some(number) = self.known()
            && self.books.history.find(&self.txn, &snapshot, number)?.is_some()
        {
            seen = Some(number);
        }
        self.txn.release_statement();
        self.txn.commit()?;
        self.until_tellable();
        seen.into_iter().for_each(|number| self.tell_seen(number));
        self.txn.begin(Isolation::ReadCommitted);
        Err(Stop::RollBack)
    }

    /// One snapshot: the money in all accounts is what it always was, and the index says the same as the heap.
    fn audit(&mut self) -> Result<(), Stop> {
        self.txn.lock(super::ACCOUNTS_LOCK, LockMode::AccessShare)?;
        let usable = |index: &Index| index.is_ordered() && index.state == State::Valid;
        // Before the snapshot, so that it sees who built them.
        let of_before = self.books.accounts.indexes();
        let snapshot = self.txn.statement_snapshot();
        let rows = self.books.accounts.all(&self.txn, snapshot)?;
        let total: i64 = rows.values().map(|payload| balance(payload)).sum();
        assert_eq!(total, TOTAL, "a snapshot sees money vanish or appear");
        if self.rng.bool() {
            park::sleep(Duration::from_micros(self.rng.u64(..2000)));
        }
        // Of those that have come since, those that serve older snapshots, too. None may go while it is read.
        let is_of_before = |id| of_before.iter().any(|index| index.id == id && usable(index));
        let mut indexes = self.books.accounts.indexes();
        indexes.retain(|index| usable(index) && (index.for_all || is_of_before(index.id)));
        for index in indexes {
            let found = self.books.accounts.all_by_index(&self.txn, snapshot, &index)?;
            assert!(rows == found, "a snapshot sees other rows through an index than in the heap");
            for direction in [Direction::Forward, Direction::Backward] {
                let accounts = &self.books.accounts;
                let told = entries::rows(accounts, &self.txn, snapshot, &index, direction)?;
                let expected = entries::expected(&rows, index.keyed);
                assert!(told == expected, "entries alone tell other rows than the heap");
            }
            // Time for others to take rows away, and their places.
            let pause = Duration::from_micros(self.rng.u64(..2000));
            let pages = if self.rng.bool() { 0 } else { 1000 };
            let accounts = &self.books.accounts;
            let visited =
                entries::rows_by_addresses(accounts, &self.txn, snapshot, &index, pages, || {
                    park::sleep(pause);
                })?;
            assert!(rows == visited, "a snapshot sees other rows by addresses than in the heap");
        }
        Err(Stop::RollBack)
    }

    /// Puts a batch into the queue.
    fn put(&mut self, id: u64) -> Result<(), Stop> {
        self.txn.lock(QUEUE_LOCK, LockMode::RowExclusive)?;
        let first = self.fresh();
        self.waiting.push_back(first);
        for order in first..first + BATCH {
            if order > first {
                self.fresh();
            }
            self.books.queue.insert(&self.txn, order, b"order")?;
            self.end_command()?;
        }
        self.record(id, Entry { kind: 3, from: first, to: 0, amount: 0 })
    }

    /// Takes the oldest batch out.
    fn take(&mut self, id: u64) -> Result<(), Stop> {
        self.txn.lock(QUEUE_LOCK, LockMode::RowExclusive)?;
        let Some(first) = self.waiting.pop_front() else { return Err(Stop::RollBack) };
        for order in first..first + BATCH {
            if self.books.queue.delete(&self.txn, order)?.is_none() {
                return Err(Stop::RollBack);
            }
            self.end_command()?;
        }
        self.record(id, Entry { kind: 4, from: first, to: 0, amount: 0 })
    }

    /// Leaves a note in the unlogged table beside a transfer.
    fn note(&mut self, id: u64) -> Result<(), Stop> {
        self.books.notes.insert(&self.txn, id, b"unlogged")?;
        self.end_command()?;
        let (from, to, amount) = self.choose();
        self.transfer(id, from, to, amount)
    }
}
