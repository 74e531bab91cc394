//! The bank: clients move money between accounts, open and close accounts, through a heap and a unique
//! B-tree each for accounts and for history; some transactions roll back, some roll back to a savepoint.
//!
//! Every transaction that changes balances leaves a history row, so that what must be true after a crash
//! follows from the rows alone: each account has its first balance plus what the history says, and an
//! account exists if it was there at first or opened, and not closed.

mod client;
mod table;
mod verify;

use crate::enumerate::Scenario;
use base::Env;
use base::disk::sim::SimDisk;
use base::sim;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::txn::{Isolation, Txn};
use storage::{Engine, EngineConfig};
use table::Table;

/// Accounts there at first, and what each has.
pub const ACCOUNTS: u64 = 40;
/// First balance of an account.
pub const BALANCE: i64 = 1000;
/// Concurrent clients.
const CLIENTS: u64 = 4;
/// Transactions each client tries; four clients make more than 200 commits.
const TRANSACTIONS: u64 = 100;

/// What a client was told of its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// It is committed, with this history row.
    Committed(u64),
    /// It is rolled back; its history row must never show.
    RolledBack(u64),
}

/// A reply with the number of disk operations done when it was given.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// What was told.
    pub told: Told,
    /// When, in disk operations.
    pub at: usize,
}

/// All replies of a run.
#[derive(Default)]
pub struct History {
    /// When the tables and first accounts were durable.
    pub ready_at: usize,
    /// In the order in which they were given.
    pub replies: Vec<Reply>,
}

/// The scenario; see the module's description.
pub struct Bank;

/// A small engine: eviction, checkpoints and segment switches happen all the time.
pub fn config() -> EngineConfig {
    EngineConfig {
        shared_buffers: 32,
        wal_buffers: 1 << 20,
        wal_insert_slots: 2,
        wal_segment_bytes: 1 << 20,
        max_wal_bytes: 2 << 20,
        checkpoint_timeout: Duration::from_millis(20),
        open_files_max: 8,
        ..EngineConfig::default()
    }
}

fn env(disk: &SimDisk) -> Env {
    Env::new(Arc::new(disk.clone()))
}

/// A session.
pub fn session(engine: &Engine) -> Txn {
    Txn::attach(engine.txns(), 1, 1).expect("sessions can be attached")
}

/// The four relations: accounts and history, rows and keys.
pub struct Books {
    /// Balance by account number.
    pub accounts: Table,
    /// What happened.
    pub history: Table,
}

impl Scenario for Bank {
    type History = History;

    fn run(&self, seed: u64, disk: &SimDisk) -> History {
        let env = env(disk);
        Engine::create(&config(), &env).expect("a directory can be made");
        let engine = Engine::open(&config(), &env).expect("and opened");
        let books = Arc::new(set_up(&engine));
        let history = Rc::new(RefCell::new(History::default()));
        history.borrow_mut().ready_at = sim::operations();
        let left = Rc::new(RefCell::new(CLIENTS));
        for number in 0..CLIENTS {
            let (engine, books) = (Arc::clone(&engine), Arc::clone(&books));
            let (history, left) = (Rc::clone(&history), Rc::clone(&left));
            sim::spawn_local(move || {
                client::Client::new(&engine, &books, seed, number, history).run(TRANSACTIONS);
                *left.borrow_mut() -= 1;
            });
        }
        while *left.borrow() > 0 {
            base::park::sleep(Duration::from_millis(1));
        }
        engine.shutdown().expect("it closes");
        history.take()
    }

    fn verify(&self, disk: &SimDisk, history: &History, at: usize) -> Result<(), String> {
        let engine = match Engine::open(&config(), &env(disk)) {
            Ok(engine) => engine,
            // Before the directory is complete there is nothing to open.
            Err(_) if at < history.ready_at => return Ok(()),
            Err(e) => return Err(format!("it does not open: {e}")),
        };
        let checked = match at < history.ready_at {
            true => Ok(()),
            false => verify::check(&engine, history, at),
        };
        engine.shutdown().map_err(|e| format!("it does not close: {e}"))?;
        checked
    }

    fn windows(&self) -> &'static [&'static str] {
        &[
            "commit-not-flushed",
            "heap-inserted",
            "heap-updated-elsewhere",
            "heap-pruned",
            "btree-split",
            "btree-root-split",
            "double-write",
            "checkpoint",
            "segment-created",
        ]
    }
}

fn set_up(engine: &Arc<Engine>) -> Books {
    let txn = session(engine);
    txn.begin(Isolation::ReadCommitted);
    let books = Books {
        accounts: Table::create(engine, &txn).expect("relations can be made"),
        history: Table::create(engine, &txn).expect("relations can be made"),
    };
    for number in 0..ACCOUNTS {
        books.accounts.insert(&txn, number, &BALANCE.to_le_bytes()).expect("accounts are new");
    }
    let done = txn.commit().expect("there is room");
    engine.wal().flush(done.must_be_durable);
    books
}
