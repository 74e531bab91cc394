//! What must be true after a crash.

use super::client::{Entry, balance};
use super::table::Table;
use super::{ACCOUNTS, BALANCE, History, Told, session};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::Engine;
use storage::heap::RowBuf;
use storage::txn::{Isolation, Txn};

/// Compares the recovered books with everything told up to disk operation `at`.
pub fn check(engine: &Arc<Engine>, history: &History, at: usize) -> Result<(), String> {
    let accounts = Table::open(engine, 1);
    let events = Table::open(engine, 3);
    for (name, table) in [("accounts", &accounts), ("history", &events)] {
        let faults = table.check().map_err(|e| format!("{name}: {e}"))?;
        if let Some(fault) = faults.first() {
            return Err(format!("{name}: {fault}"));
        }
    }
    let txn = session(engine);
    txn.begin(Isolation::RepeatableRead);
    let checked = check_rows(&txn, &accounts, &events, history, at);
    txn.abort();
    checked
}

fn check_rows(
    txn: &Txn,
    accounts: &Table,
    events: &Table,
    history: &History,
    at: usize,
) -> Result<(), String> {
    let rows = |table: &Table| table.all(txn).map_err(|e| e.to_string());
    let found: BTreeMap<u64, Entry> =
        rows(events)?.into_iter().map(|(id, payload)| (id, Entry::decode(&payload))).collect();
    for reply in history.replies.iter().filter(|r| r.at <= at) {
        match reply.told {
            // Transactions that only read leave no row and are told as rolled back.
            Told::Committed(id) if !found.contains_key(&id) => {
                return Err(format!("transaction {id:#x} was told committed and is gone"));
            }
            Told::RolledBack(id) if found.contains_key(&id) => {
                return Err(format!("transaction {id:#x} was told rolled back and is there"));
            }
            _ => {}
        }
    }
    let mut expected: BTreeMap<u64, i64> = (0..ACCOUNTS).map(|n| (n, BALANCE)).collect();
    // Openings first: clients' numbers don't tell the order between clients.
    for entry in found.values().filter(|e| e.kind == 1) {
        expected.insert(entry.to, 0);
    }
    for entry in found.values() {
        for (account, amount) in [(entry.from, -entry.amount), (entry.to, entry.amount)] {
            let balance = expected.get_mut(&account);
            *balance.ok_or_else(|| format!("history of account {account:#x} that never was"))? +=
                amount;
        }
    }
    for entry in found.values().filter(|e| e.kind == 2) {
        expected.remove(&entry.from);
    }
    let actual = rows(accounts)?;
    let by_number: BTreeMap<u64, i64> = actual.iter().map(|(n, p)| (*n, balance(p))).collect();
    if by_number.len() != actual.len() {
        return Err("an account is there twice".to_owned());
    }
    if by_number != expected {
        let wrong = expected.iter().find(|(n, b)| by_number.get(n) != Some(b));
        return Err(format!("balances differ from the history, e.g. {wrong:?}"));
    }
    check_lookups(txn, accounts, by_number.keys())?;
    check_lookups(txn, events, found.keys())
}

/// Every row is found through its index.
fn check_lookups<'n>(
    txn: &Txn,
    table: &Table,
    numbers: impl Iterator<Item = &'n u64>,
) -> Result<(), String> {
    let snapshot = txn.statement_snapshot();
    let mut row = RowBuf::new();
    for number in numbers {
        let found = table.find(txn, &snapshot, *number, &mut row).map_err(|e| e.to_string())?;
        if !found {
            return Err(format!("row {number:#x} is not found through its index"));
        }
    }
    Ok(())
}
