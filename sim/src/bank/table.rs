//! A table of numbered rows: a heap and a unique B-tree on the number.

use base::rank::Rank;
use base::{Persistence, RelId, Tid};
use std::sync::Arc;
use storage::btree::BTree;
use storage::heap::{Change, HeapRel, HeapScan, Outcome, RowBuf};
use storage::lock::RowTurn;
use storage::txn::{Snapshot, Txn};
use storage::{Engine, Result};

/// Bytes appended to each row, so that pages fill and updates leave them.
const PAD_BYTES: usize = 120;

/// Keys are wide, so that a few dozen of them split a page.
const KEY_BYTES: usize = 400;

/// The key of a number: alike at the end rather than the beginning, or pages would share it.
fn key_of(number: u64) -> Vec<u8> {
    let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut key = scattered.to_be_bytes().to_vec();
    key.extend_from_slice(&number.to_be_bytes());
    key.extend((0..KEY_BYTES).map(|i| (scattered >> (i % 57)) as u8));
    key
}

/// A row: number, payload, padding.
fn row_of(number: u64, payload: &[u8]) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    row.extend_from_slice(payload);
    row.resize(row.len() + PAD_BYTES, number as u8);
    row
}

/// The payload of a stored row.
fn payload(row: &[u8]) -> &[u8] {
    &row[8..row.len() - PAD_BYTES]
}

/// Rows are the number (8 bytes), then the payload.
pub struct Table {
    /// Rows.
    pub heap: HeapRel,
    /// Keys, see [`key_of`].
    pub tree: BTree,
}

/// What became of a change to a row.
pub enum Changed {
    /// It was made.
    Yes,
    /// The row is gone.
    Gone,
}

impl Table {
    /// Makes the next two relations.
    pub fn create(engine: &Arc<Engine>, txn: &Txn) -> Result<Table> {
        let heap = engine.create_relation(txn, Persistence::Permanent, Rank::HeapPage)?;
        let tree = engine.create_relation(txn, Persistence::Permanent, Rank::IndexPage)?;
        let txns = engine.txns();
        Ok(Table { heap: HeapRel::new(heap, txns, 100), tree: BTree::new(tree, txns) })
    }

    /// The relations with the numbers `first` and the one after it.
    pub fn open(engine: &Arc<Engine>, first: u32) -> Table {
        let id = |n| RelId::new(n, Persistence::Permanent);
        let heap = engine.pool().relation(id(first), Rank::HeapPage);
        let tree = engine.pool().relation(id(first + 1), Rank::IndexPage);
        let txns = engine.txns();
        Table { heap: HeapRel::new(heap, txns, 100), tree: BTree::new(tree, txns) }
    }

    /// Stores a row and its key; `Error::Duplicate` if the number is taken.
    pub fn insert(&self, txn: &Txn, number: u64, payload: &[u8]) -> Result<()> {
        let tid = self.heap.insert(txn, &row_of(number, payload))?;
        let judge = &mut |other: Tid| self.heap.liveness(txn, other);
        self.tree.insert_unique(txn, &key_of(number), tid, judge)
    }

    /// The row with this number that the snapshot sees.
    pub fn find(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        number: u64,
        row: &mut RowBuf,
    ) -> Result<bool> {
        let mut tids = Vec::new();
        self.tree.lookup(&key_of(number), &mut tids)?;
        for tid in tids {
            if self.heap.fetch(txn, snapshot, tid, row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces the payload by what `f` makes of it, on the newest version.
    pub fn update(&self, txn: &Txn, number: u64, f: impl Fn(&[u8]) -> Vec<u8>) -> Result<Changed> {
        let mut row = RowBuf::new();
        let snapshot = txn.statement_snapshot();
        if !self.find(txn, &snapshot, number, &mut row)? {
            return Ok(Changed::Gone);
        }
        let mut turn: Option<RowTurn> = None;
        loop {
            let new = row_of(number, &f(payload(row.bytes())));
            let change = Change { hot: true, key: false };
            match self.heap.update(txn, row.tid(), &new, change, turn.take())? {
                Outcome::Done { heap_only: true, .. } => return Ok(Changed::Yes),
                Outcome::Done { tid, .. } => {
                    let judge = &mut |other: Tid| self.heap.liveness(txn, other);
                    self.tree.insert_unique(txn, &key_of(number), tid, judge)?;
                    return Ok(Changed::Yes);
                }
                Outcome::Updated { newest, turn: mine } => {
                    if !self.heap.fetch_version(newest, &mut row)? {
                        return Ok(Changed::Gone);
                    }
                    turn = mine;
                }
                _ => return Ok(Changed::Gone),
            }
        }
    }

    /// Deletes the row if its newest version still is what `f` wants; the payload it had.
    pub fn delete(&self, txn: &Txn, number: u64) -> Result<Option<Vec<u8>>> {
        let mut row = RowBuf::new();
        let snapshot = txn.statement_snapshot();
        if !self.find(txn, &snapshot, number, &mut row)? {
            return Ok(None);
        }
        let mut turn: Option<RowTurn> = None;
        loop {
            match self.heap.delete(txn, row.tid(), turn.take())? {
                Outcome::Done { .. } => return Ok(Some(payload(row.bytes()).to_vec())),
                Outcome::Updated { newest, turn: mine } => {
                    if !self.heap.fetch_version(newest, &mut row)? {
                        return Ok(None);
                    }
                    turn = mine;
                }
                _ => return Ok(None),
            }
        }
    }

    /// All rows: number and payload, as one snapshot sees them.
    pub fn all(&self, txn: &Txn) -> Result<Vec<(u64, Vec<u8>)>> {
        let snapshot = txn.statement_snapshot();
        let mut scan = HeapScan::new(&self.heap, snapshot)?;
        let mut rows = Vec::new();
        while let Some(row) = scan.next(&self.heap, txn)? {
            let number = row.bytes.first_chunk().expect("rows have a number");
            rows.push((u64::from_le_bytes(*number), payload(row.bytes).to_vec()));
        }
        Ok(rows)
    }

    /// Verifies the structures of both; what is wrong.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        self.heap.check(&mut |fault| faults.push(fault))?;
        self.tree.check(&mut |fault| faults.push(fault), &mut |_, _| ())?;
        Ok(faults)
    }
}
