//! Lists: clients read a few rows and append to them, each value once, at both isolation levels; then the history
//! is looked through for what the levels forbid.
//!
//! A row is the list of all values ever appended to it, so the order of its versions is in every later read, and
//! with it who depended on whom: a graph in which some circles must not be (`check.rs`). The crashes after it
//! must not take away what anybody was told.

mod check;
mod client;
mod history;

pub use history::History;

use crate::bank::{Keyed, Table, config, env, session};
use crate::enumerate::Scenario;
use base::disk::sim::SimDisk;
use base::{Persistence, park, sim};
use client::Client;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::Engine;
use storage::txn::Isolation;

/// Rows.
pub const ROWS: u64 = 5;
/// Concurrent clients.
const CLIENTS: u64 = 5;
/// A run goes on until it has so many transactions that committed.
const COMMITS: usize = 120;

/// The scenario; see the module's description.
pub struct Lists;

/// Makes the table and its empty lists.
fn set_up(engine: &Arc<Engine>) -> Table {
    let txn = session(engine);
    txn.begin(Isolation::ReadCommitted);
    let table = Table::create(engine, &txn, Persistence::Permanent, Keyed::Number);
    let table = table.expect("relations can be made");
    for number in 0..ROWS {
        table.insert(&txn, number, &[]).expect("rows are new");
    }
    let done = txn.commit().expect("there is room");
    engine.wal().flush(done.must_be_durable);
    table
}

fn work(engine: &Arc<Engine>, table: &Arc<Table>, seed: u64, history: History) -> History {
    let history = Rc::new(RefCell::new(history));
    let left = Rc::new(Cell::new(CLIENTS));
    for number in 0..CLIENTS {
        let mut client = Client::new(engine, table, seed, number, &history);
        let (history, left) = (Rc::clone(&history), Rc::clone(&left));
        sim::spawn_local(move || {
            while history.borrow().commits() < COMMITS {
                client.step();
            }
            left.set(left.get() - 1);
        });
    }
    while left.get() > 0 {
        park::sleep(Duration::from_millis(1));
    }
    history.take()
}

/// The lists as they are.
fn lists(engine: &Arc<Engine>, table: &Table) -> Result<Vec<Vec<u32>>, String> {
    let txn = session(engine);
    txn.begin(Isolation::ReadCommitted);
    let snapshot = txn.statement_snapshot();
    let lists = (0..ROWS).map(|row| match table.find(&txn, &snapshot, row) {
        Ok(Some(payload)) => Ok(history::values(&payload)),
        Ok(None) => Err(format!("row {row} is gone")),
        Err(e) => Err(e.to_string()),
    });
    let lists = lists.collect();
    txn.abort();
    lists
}

impl Scenario for Lists {
    type History = History;

    fn run(&self, seed: u64, disk: &SimDisk) -> History {
        let env = env(disk);
        Engine::create(&config(seed), &env).expect("a directory can be made");
        let engine = Engine::open(&config(seed), &env).expect("and opened");
        let table = Arc::new(set_up(&engine));
        let history = History { ready_at: sim::operations(), ..History::default() };
        let mut history = work(&engine, &table, seed, history);
        history.last = lists(&engine, &table).expect("rows can be read");
        if let Err(what) = check::history(&history) {
            panic!("{what}");
        }
        engine.shutdown().expect("it closes");
        history
    }

    fn go_on(
        &self,
        seed: u64,
        disk: &SimDisk,
        history: &History,
        at: usize,
        _more: bool,
    ) -> Result<History, String> {
        if at < history.ready_at {
            return Ok(History { ready_at: usize::MAX, ..History::default() });
        }
        let engine = Engine::open(&config(seed), &env(disk));
        let engine = engine.map_err(|e| format!("it does not open: {e}"))?;
        let table = Table::open(&engine, 1, Persistence::Permanent, Keyed::Number);
        let found = lists(&engine, &table);
        let checked = found.and_then(|found| check::crash(history, &found, at).map(|()| found));
        let closed = engine.shutdown().map_err(|e| format!("it does not close: {e}"));
        let found = checked?;
        closed?;
        Ok(history.after_crash(at, found))
    }

    fn commits(&self, history: &History) -> usize {
        history.commits()
    }

    fn windows(&self) -> &'static [&'static str] {
        &[]
    }
}
