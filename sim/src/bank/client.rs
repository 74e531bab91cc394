//! One client: random transactions, each ended by a reply that counts from when it may be told.

use super::table::Changed;
use super::{ACCOUNTS, Books, History, Reply, Told, session};
use base::{park, sim};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use storage::heap::RowBuf;
use storage::txn::{Isolation, Txn};
use storage::{Engine, Error};

/// A history row's payload: what happened, between which accounts, how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// 0 transfer, 1 opening (of `to`, with money of `from`), 2 closing (of `from`, its money to `to`).
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

/// An account's balance, from its payload.
pub fn balance(payload: &[u8]) -> i64 {
    i64::from_le_bytes(payload.try_into().expect("a balance has eight bytes"))
}

/// A running client.
pub struct Client<'b> {
    engine: &'b Engine,
    books: &'b Books,
    txn: Txn,
    rng: fastrand::Rng,
    number: u64,
    next: u64,
    opened: Vec<u64>,
    history: Rc<RefCell<History>>,
}

/// Why a transaction was given up.
enum Stop {
    /// Chosen so, or an account was gone.
    RollBack,
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl<'b> Client<'b> {
    /// Client `number` of a run.
    pub fn new(
        engine: &'b Engine,
        books: &'b Books,
        seed: u64,
        number: u64,
        history: Rc<RefCell<History>>,
    ) -> Client<'b> {
        let rng = fastrand::Rng::with_seed(seed ^ (number + 1) << 40);
        let txn = session(engine);
        Client { engine, books, txn, rng, number, next: 0, opened: Vec::new(), history }
    }

    /// A number that no other client uses.
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        (self.number + 1) << 32 | self.next
    }

    /// Tries so many transactions.
    pub fn run(&mut self, transactions: u64) {
        for _ in 0..transactions {
            park::sleep(Duration::from_micros(self.rng.u64(..300)));
            let id = self.fresh();
            self.txn.begin(Isolation::ReadCommitted);
            let told = match self.attempt(id) {
                Ok(()) => self.commit(id),
                Err(Stop::RollBack | Stop::Error(Error::Deadlock { .. })) => {
                    self.txn.abort();
                    Told::RolledBack(id)
                }
                Err(Stop::Error(e)) => panic!("a statement failed: {e}"),
            };
            self.history.borrow_mut().replies.push(Reply { told, at: sim::operations() });
        }
    }

    /// Commits, and waits until the reply may be told.
    fn commit(&mut self, id: u64) -> Told {
        let window = sim::window("commit-not-flushed");
        let done = self.txn.commit().expect("there is room for a commit record");
        if self.rng.u8(..4) == 0 {
            park::sleep(Duration::from_micros(self.rng.u64(..500)));
        }
        self.engine.wal().flush(done.must_be_durable);
        drop(window);
        Told::Committed(id)
    }

    fn attempt(&mut self, id: u64) -> Result<(), Stop> {
        match self.rng.u8(..10) {
            0 => self.open_account(id)?,
            1 => self.close_account(id)?,
            2 => self.look_around()?,
            3 => self.with_savepoint(id)?,
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
        let reply = Reply { told: Told::RolledBack(lost), at: sim::operations() };
        self.history.borrow_mut().replies.push(reply);
        let (from, to, amount) = self.choose();
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
        let (to, _, _) = self.choose();
        let amount = balance(&payload);
        self.add(to, amount)?;
        self.record(id, Entry { kind: 2, from, to, amount })
    }

    /// Looks a few accounts up; what is read is checked against a scan of the same snapshot.
    fn look_around(&mut self) -> Result<(), Stop> {
        let account = self.rng.u64(..ACCOUNTS);
        let mut row = RowBuf::new();
        let snapshot = self.txn.statement_snapshot();
        let found = self.books.accounts.find(&self.txn, &snapshot, account, &mut row)?;
        assert!(found, "account {account} is never closed");
        self.txn.release_statement();
        Err(Stop::RollBack)
    }
}
