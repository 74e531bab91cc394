//! What must be true after a crash.
//!
//! Of many invariants of `storage` nothing but a crash shows whether they hold. Those named here are broken by deliberate
//! faults (`mutations/`), which a run must catch:
//!
//! | invariants | fault |
//! |---|---|
//! | W4: what is durable is on the disk | `told-before-durable`, `first-segment-unsynced`, `mapped-last-block` |
//! | W5: segments are announced when their names are durable | `segment-name-unsynced` |
//! | W6: an old run's records never come back | `tail-not-erased`, `epoch-not-raised` |
//! | W7, R1: the redo point waits | `redo-point-too-new`, `holds-ignored`, `restart-point-too-new`, `status-not-kept` |
//! | R2: the log before the control file | `control-before-log` |
//! | R4, R5: files of no relation, and of dropped ones | `pending-files-kept`, `dropped-too-early` |
//! | RF3: files' names are synced | `names-unsynced` |
//! | BF6: log, copy, place, sync | `page-before-log`, `double-write-unsynced`, `double-write-reused`, `places-unsynced` |
//! | P4, O2: the log before fates | `status-before-log` |
//! | T5, V2, H4: durable commits only | `hint-too-early`, `visible-too-early`, `cut-keeps-promises` |
//! | V1, H3: entries before line pointers | `lines-before-entries` |
//! | H6: redo does once what was done | `redo-twice`, `move-half-redone` |
//! | B3: a split is marked | `split-not-marked` |
//! | SQ3: what was written covers nothing | `written-sequence-covers` |

use super::client::{BATCH, Entry, balance};
use super::history::{Commit, History, Promise, Told};
use super::indexes::{Index, State};
use super::table::{Rows, Table};
use super::{ACCOUNTS, BALANCE, Books, TOTAL, entries, session};
use base::{RelId, park};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use storage::Engine;
use storage::btree::Direction;
use storage::txn::{Isolation, Txn};

/// Compares the recovered books with everything told up to disk operation `at`; the numbers of the history
/// rows that are there.
pub fn check(
    engine: &Arc<Engine>,
    books: &Books,
    history: &History,
    at: usize,
) -> Result<BTreeSet<u64>, String> {
    for (name, table) in books.tables() {
        match table.check() {
            Ok(None) => {}
            Ok(Some(fault)) => return Err(format!("{name}: {fault}")),
            Err(e) => return Err(format!("{name}: {e}")),
        }
    }
    check_status_logs(engine)?;
    check_files(engine, books)?;
    check_indexes(books, history, at)?;
    let txn = session(engine);
    txn.begin(Isolation::RepeatableRead);
    let checked = check_rows(&txn, books, history, at)
        .and_then(|found| check_numbers(&txn, books, history, &found).map(|()| found));
    let emptied = check_notes(engine, &txn, books);
    txn.abort();
    emptied.and(checked)
}

/// Every sector of the status logs is whole.
fn check_status_logs(engine: &Engine) -> Result<(), String> {
    let mut faults = Vec::new();
    let checked = engine.txns().txlog().check(&mut |fault| faults.push(fault));
    checked.map_err(|e| format!("status logs: {e}"))?;
    faults.into_iter().next().map_or(Ok(()), Err)
}

/// Relations' files are there for what the catalog knows, and for nothing else.
fn check_files(engine: &Engine, books: &Books) -> Result<(), String> {
    let there = engine.pool().files().relations().map_err(|e| e.to_string())?;
    let known: BTreeSet<RelId> = books.relations().collect();
    if !there.iter().eq(&known) {
        return Err(format!("there are files of relations {there:?}, the catalog has {known:?}"));
    }
    Ok(())
}

/// What was told of indexes by name holds.
fn check_indexes(books: &Books, history: &History, at: usize) -> Result<(), String> {
    let there = books.accounts.indexes();
    for (name, promise) in history.indexes_by(at) {
        let mut named = there.iter().filter(|index| index.id > 0 && index.name == name);
        let state = named.next().map(|index| index.state);
        let is_kept = match promise {
            Promise::There => state == Some(State::Valid),
            Promise::Gone => state.is_none(),
            Promise::Nothing => true,
        };
        if !is_kept || named.next().is_some() {
            return Err(format!("of index {name} was told {promise:?}, and it is {state:?}"));
        }
    }
    Ok(())
}

/// What a crash has left half made can be dropped, and nothing of it stays.
pub fn drop_the_broken(engine: &Arc<Engine>, books: &Arc<Books>) -> Result<(), String> {
    let broken = |index: &Index| index.state != State::Valid;
    let broken: Vec<Index> = books.accounts.indexes().into_iter().filter(broken).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let txn = session(engine);
    txn.begin(Isolation::ReadCommitted);
    for index in &broken {
        books.remove_index(&txn, index).map_err(|e| e.to_string())?;
    }
    let done = txn.commit().map_err(|e| e.to_string())?;
    engine.wal().flush(done.must_be_durable);
    // Files go once the commit is durable, by a context of their own.
    for _ in 0..FILES_GONE_MILLIS {
        if check_files(engine, books).is_ok() {
            break;
        }
        park::sleep(Duration::from_millis(1));
    }
    check_files(engine, books)
}

/// Milliseconds in which the files of a dropped relation are gone.
const FILES_GONE_MILLIS: u32 = 1000;

/// After a crash the unlogged table is empty.
fn check_notes(engine: &Engine, txn: &Txn, books: &Books) -> Result<(), String> {
    let notes = rows(txn, &books.notes)?;
    if engine.recovery().is_some() && !notes.is_empty() {
        return Err(format!("the unlogged table has {} rows after a crash", notes.len()));
    }
    Ok(())
}

fn rows(txn: &Txn, table: &Table) -> Result<Rows, String> {
    let snapshot = txn.statement_snapshot();
    let rows = table.all(txn, snapshot).map_err(|e| e.to_string())?;
    let in_use = |index: &Index| index.is_ordered() && index.state == State::Valid;
    for index in table.indexes().into_iter().filter(in_use) {
        let found = table.all_by_index(txn, snapshot, &index).map_err(|e| e.to_string())?;
        if found != rows {
            return Err(format!("the index by {:?} shows other rows than the heap", index.keyed));
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let told = entries::rows(table, txn, snapshot, &index, direction);
            if told.map_err(|e| e.to_string())? != entries::expected(&rows, index.keyed) {
                return Err(format!(
                    "the entries by {:?} tell other rows than the heap",
                    index.keyed
                ));
            }
        }
    }
    Ok(rows)
}

fn check_rows(
    txn: &Txn,
    books: &Books,
    history: &History,
    at: usize,
) -> Result<BTreeSet<u64>, String> {
    let events: BTreeMap<u64, Entry> = rows(txn, &books.history)?
        .into_iter()
        .map(|(id, payload)| (id, Entry::decode(&payload)))
        .collect();
    check_promises(&events, history, at)?;
    let expected = expected_balances(&events)?;
    let actual: BTreeMap<u64, i64> = rows(txn, &books.accounts)?
        .into_iter()
        .map(|(number, payload)| (number, balance(&payload)))
        .collect();
    if actual != expected {
        let wrong = expected.iter().find(|(n, b)| actual.get(n) != Some(b));
        return Err(format!("balances differ from the history, e.g. {wrong:?}"));
    }
    if actual.values().sum::<i64>() != TOTAL {
        return Err("the sum of all balances has changed".to_owned());
    }
    let queued: BTreeSet<u64> = rows(txn, &books.queue)?.into_keys().collect();
    if queued != expected_orders(&events) {
        return Err("the queue is not what the history says".to_owned());
    }
    let some = || history.numbers.iter().copied().skip(at % LOOK_UP_EVERY).step_by(LOOK_UP_EVERY);
    check_lookups(txn, &books.queue, some(), |n| queued.contains(&n))?;
    check_lookups(txn, &books.accounts, some(), |n| actual.contains_key(&n))?;
    check_lookups(txn, &books.history, some(), |n| events.contains_key(&n))?;
    Ok(events.into_keys().collect())
}

/// The sequence is past every number that a transaction took which is there.
fn check_numbers(
    txn: &Txn,
    books: &Books,
    history: &History,
    found: &BTreeSet<u64>,
) -> Result<(), String> {
    let mut faults = Vec::new();
    let checked = books.numbers.check(&mut |fault| faults.push(fault));
    checked.map_err(|e| format!("the sequence: {e}"))?;
    if let Some(fault) = faults.pop() {
        return Err(fault);
    }
    let state = books.numbers.read(txn).map_err(|e| format!("the sequence: {e}"))?;
    let next = if state.is_called { state.last + 1 } else { state.last };
    let taken = history.taken_by(found);
    if next <= taken {
        return Err(format!("the sequence gives {next} next, and {taken} was taken"));
    }
    Ok(())
}

fn check_promises(
    events: &BTreeMap<u64, Entry>,
    history: &History,
    at: usize,
) -> Result<(), String> {
    for told in history.told_by(at) {
        match told {
            Told::Committed(id) if !events.contains_key(&id) => {
                return Err(format!("transaction {id:#x} was told committed and is gone"));
            }
            Told::RolledBack(id) if events.contains_key(&id) => {
                return Err(format!("transaction {id:#x} was told rolled back and is there"));
            }
            _ => {}
        }
    }
    // What is lost is the end of the log: nothing later is there.
    let is_there = |commit: &&Commit| events.contains_key(&commit.id);
    let last = history.commits.iter().filter(is_there).max();
    let first = history.commits.iter().filter(|commit| !is_there(commit)).min();
    if let (Some(last), Some(first)) = (last, first)
        && last > first
    {
        return Err(format!(
            "commit {:#x} is there, and {:#x} before it is not",
            last.id, first.id
        ));
    }
    Ok(())
}

/// What the history says of each account.
fn expected_balances(events: &BTreeMap<u64, Entry>) -> Result<BTreeMap<u64, i64>, String> {
    let mut expected: BTreeMap<u64, i64> = (0..ACCOUNTS).map(|n| (n, BALANCE)).collect();
    // Openings first: clients' numbers don't tell the order between clients.
    for entry in events.values().filter(|e| e.kind == 1) {
        expected.insert(entry.to, 0);
    }
    for entry in events.values().filter(|e| e.kind < 3) {
        for (account, amount) in [(entry.from, -entry.amount), (entry.to, entry.amount)] {
            let balance = expected.get_mut(&account);
            *balance.ok_or_else(|| format!("history of account {account:#x} that never was"))? +=
                amount;
        }
    }
    for entry in events.values().filter(|e| e.kind == 2) {
        expected.remove(&entry.from);
    }
    Ok(expected)
}

/// What the history says of the queue.
fn expected_orders(events: &BTreeMap<u64, Entry>) -> BTreeSet<u64> {
    let batches = |kind| events.values().filter(move |e| e.kind == kind).map(|e| e.from);
    let taken: BTreeSet<u64> = batches(4).collect();
    let left = batches(3).filter(|first| !taken.contains(first));
    left.flat_map(|first| first..first + BATCH).collect()
}

/// Each crash looks up one in so many numbers; which ones, its place says.
const LOOK_UP_EVERY: usize = 8;

/// Numbers are found through their index if their row is there, and only then.
fn check_lookups(
    txn: &Txn,
    table: &Table,
    numbers: impl Iterator<Item = u64>,
    is_there: impl Fn(u64) -> bool,
) -> Result<(), String> {
    let snapshot = txn.statement_snapshot();
    for number in numbers {
        let found = table.find(txn, &snapshot, number).map_err(|e| e.to_string())?;
        match (found.is_some(), is_there(number)) {
            (true, false) => return Err(format!("row {number:#x} is found, and is not there")),
            (false, true) => return Err(format!("row {number:#x} is there, and is not found")),
            _ => {}
        }
    }
    Ok(())
}
