//! A table of numbered rows: a heap, a unique B-tree on the number, perhaps a hash index on it, and indexes that
//! come and go.

use super::indexes::{Index, Keyed, State, open_tree};
use base::rank::Rank;
use base::{Persistence, RelId, Tid};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use storage::btree::{BTree, Bounds, Direction, Liveness, NewEntry, Scan};
use storage::check::{self, Content, Indexed};
use storage::heap::{Change, HeapRel, HeapScan, Outcome, RowBuf};
use storage::lock::{RowLock, RowTurn, WaitPolicy};
use storage::txn::{Snapshot, Txn};
use storage::{Engine, Error, Result};

/// Bytes appended to each row, so that pages fill and updates leave them.
const PAD_BYTES: usize = 120;

/// A row: number, payload, padding.
fn row_of(number: u64, payload: &[u8]) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    row.extend_from_slice(payload);
    row.resize(row.len() + PAD_BYTES, number as u8);
    row
}

/// The number of a stored row.
pub fn number_of(row: &[u8]) -> u64 {
    u64::from_le_bytes(*row.first_chunk().expect("rows have a number"))
}

/// The payload of a stored row.
pub fn payload(row: &[u8]) -> &[u8] {
    &row[8..row.len() - PAD_BYTES]
}

/// Rows are the number (8 bytes), then the payload.
pub struct Table {
    /// Rows.
    pub heap: HeapRel,
    /// The first is on the number. Who changes the list keeps writers away, or waits for those who have read it.
    indexes: Mutex<Vec<Index>>,
}

/// What became of a change to a row.
pub enum Changed {
    /// It was made.
    Yes,
    /// The row is gone.
    Gone,
}

/// Rows by number.
pub type Rows = BTreeMap<u64, Vec<u8>>;

impl Table {
    /// Makes the next two relations.
    pub fn create(
        engine: &Arc<Engine>,
        txn: &Txn,
        persistence: Persistence,
        keyed: Keyed,
    ) -> Result<Table> {
        let heap = engine.create_relation(txn, persistence, Rank::HeapPage)?;
        let tree = engine.create_relation(txn, persistence, Rank::IndexPage)?;
        let txns = engine.txns();
        Ok(Table::of(HeapRel::new(heap, txns, 100), BTree::new(tree, txns), keyed))
    }

    /// The relations with the numbers `first` and the one after it.
    pub fn open(engine: &Arc<Engine>, first: u32, persistence: Persistence, keyed: Keyed) -> Table {
        let heap = engine.pool().relation(RelId::new(first, persistence), Rank::HeapPage);
        let tree = open_tree(engine, RelId::new(first + 1, persistence));
        Table::of(HeapRel::new(heap, engine.txns(), 100), tree, keyed)
    }

    fn of(heap: HeapRel, tree: BTree, keyed: Keyed) -> Table {
        Table { heap, indexes: Mutex::new(vec![Index::fixed(tree, keyed)]) }
    }

    /// The indexes there are.
    pub fn indexes(&self) -> Vec<Index> {
        self.indexes.lock().expect("nothing panics under it").clone()
    }

    /// The trees of all indexes.
    pub fn trees(&self) -> Vec<storage::index::Index> {
        self.indexes().into_iter().map(|index| index.tree).collect()
    }

    /// The one with this number in the catalog.
    pub fn index(&self, id: u64) -> Option<Index> {
        self.indexes().into_iter().find(|index| index.id == id)
    }

    /// Adds an index to the list, or says what has become of it.
    pub fn put_index(&self, index: Index) {
        let mut indexes = self.indexes.lock().expect("nothing panics under it");
        match indexes.iter_mut().find(|known| known.id == index.id && index.id > 0) {
            Some(known) => *known = index,
            None => indexes.push(index),
        }
    }

    /// Takes an index from the list.
    pub fn remove_index(&self, id: u64) {
        self.indexes.lock().expect("nothing panics under it").retain(|index| index.id != id);
    }

    /// The rows that an index is built from, with their roots. `rest` is called between two of them.
    pub fn rows_to_index(
        &self,
        txn: &Txn,
        snapshot: Snapshot,
        rest: &mut dyn FnMut(),
    ) -> Result<Vec<(Vec<u8>, Tid)>> {
        let mut scan = HeapScan::for_index(&self.heap, snapshot)?;
        let mut rows = Vec::new();
        while let Some(row) = scan.next(&self.heap, txn)? {
            rows.push((row.bytes.to_vec(), row.root));
            rest();
        }
        Ok(rows)
    }

    /// An index on the number; with several, they are asked in turns.
    fn index_for(&self, number: u64) -> Index {
        let indexes = self.indexes.lock().expect("nothing panics under it");
        let on_number = indexes.iter().filter(|index| index.finds_numbers());
        let which = number as usize % on_number.clone().count();
        on_number.clone().nth(which).expect("the first index is on the number").clone()
    }

    /// Stores a row and its keys; `Error::Duplicate` if the number is taken.
    pub fn insert(&self, txn: &Txn, number: u64, payload: &[u8]) -> Result<()> {
        let indexes = self.indexes();
        let row = row_of(number, payload);
        let tid = self.heap.insert(txn, &row)?;
        self.enter(txn, &indexes, &row, tid)
    }

    /// Enters a version into the indexes that the statement has found to be kept up.
    fn enter(&self, txn: &Txn, indexes: &[Index], row: &[u8], tid: Tid) -> Result<()> {
        for index in indexes.iter().filter(|index| index.state.is_ready()) {
            let Content { key, carried } = index.content(row);
            let entry = NewEntry { key: &key, carried: &carried, tid };
            let is_gone = &mut |other: Tid| self.heap.is_gone(other);
            if index.is_unique() {
                let judge = &mut |other: Tid| self.heap.liveness(txn, other);
                index.tree.insert_unique(txn, entry, judge, is_gone)?;
            } else {
                index.tree.insert_version(entry, is_gone)?;
            }
        }
        Ok(())
    }

    /// Enters a row that came while the index was built. It may have gone since: then others may have its key.
    pub fn enter_missing(&self, txn: &Txn, index: &Index, row: &[u8], root: Tid) -> Result<()> {
        let Content { key, carried } = index.content(row);
        let entry = NewEntry { key: &key, carried: &carried, tid: root };
        if !index.is_unique() {
            return index.tree.insert(entry);
        }
        let judge = &mut |other: Tid| self.heap.liveness(txn, other);
        let is_gone = &mut |other: Tid| self.heap.is_gone(other);
        match index.tree.insert_unique(txn, entry, judge, is_gone) {
            Err(Error::Duplicate { .. })
                if matches!(self.heap.liveness(txn, root)?, Liveness::Dead) =>
            {
                index.tree.insert(entry)
            }
            entered => entered,
        }
    }

    /// The row with this number that the snapshot sees; its payload.
    pub fn find(&self, txn: &Txn, snapshot: &Snapshot, number: u64) -> Result<Option<Vec<u8>>> {
        let mut row = RowBuf::new();
        let found = self.locate(txn, snapshot, number, &mut row)?;
        Ok(found.then(|| payload(row.bytes()).to_vec()))
    }

    fn locate(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        number: u64,
        row: &mut RowBuf,
    ) -> Result<bool> {
        let mut tids = Vec::new();
        let index = self.index_for(number);
        index.tree.lookup(&index.keyed.key_of(number), &mut tids)?;
        let mut is_found = false;
        for tid in tids {
            // Behind a match others are fetched, too: an index that leads to a row twice doubles it.
            let mut other = RowBuf::new();
            let into = if is_found { &mut other } else { &mut *row };
            if self.heap.fetch(txn, snapshot, tid, into)? {
                if number_of(into.bytes()) == number {
                    assert!(!is_found, "row {number:#x} is found once");
                    is_found = true;
                    continue;
                }
                assert!(!index.is_ordered(), "an entry leads to its row");
            }
        }
        Ok(is_found)
    }

    /// Replaces the payload by what `f` makes of it, on the newest version.
    pub fn update(&self, txn: &Txn, number: u64, f: impl Fn(&[u8]) -> Vec<u8>) -> Result<Changed> {
        let indexes = self.indexes();
        let changes = |index: &Index| index.state.is_live() && index.keyed == Keyed::Payload;
        let hot = !indexes.iter().any(changes);
        let changed = self.on_newest(txn, number, |row, turn| {
            let new = row_of(number, &f(payload(row.bytes())));
            let change = Change { hot, key: false };
            let outcome = self.heap.update(txn, row.tid(), &new, change, turn)?;
            if let Outcome::Done { tid, heap_only: false } = outcome {
                self.enter(txn, &indexes, &new, tid)?;
            }
            Ok(outcome)
        })?;
        Ok(if changed.is_some() { Changed::Yes } else { Changed::Gone })
    }

    /// The same on the version that the transaction's snapshot sees, or not at all if another was first.
    pub fn update_seen(
        &self,
        txn: &Txn,
        number: u64,
        f: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Changed> {
        let indexes = self.indexes();
        let mut row = RowBuf::new();
        let snapshot = txn.statement_snapshot();
        if !self.locate(txn, &snapshot, number, &mut row)? {
            return Ok(Changed::Gone);
        }
        let new = row_of(number, &f(payload(row.bytes())));
        let change = Change { hot: true, key: false };
        match self.heap.update(txn, row.tid(), &new, change, None)? {
            Outcome::Done { tid, heap_only: false } => self.enter(txn, &indexes, &new, tid)?,
            Outcome::Done { .. } => {}
            _ => return Ok(Changed::Gone),
        }
        Ok(Changed::Yes)
    }

    /// Deletes the row; the payload that it had.
    pub fn delete(&self, txn: &Txn, number: u64) -> Result<Option<Vec<u8>>> {
        self.on_newest(txn, number, |row, turn| self.heap.delete(txn, row.tid(), turn))
    }

    /// Locks the row until the transaction ends; false if it is gone.
    pub fn lock(&self, txn: &Txn, number: u64, strength: RowLock) -> Result<bool> {
        let locked = self.on_newest(txn, number, |row, turn| {
            self.heap.lock_row(txn, row.tid(), strength, WaitPolicy::Block, turn)
        })?;
        Ok(locked.is_some())
    }

    /// Does something to the newest version of a row; the payload of the version that it was done to.
    fn on_newest(
        &self,
        txn: &Txn,
        number: u64,
        attempt: impl Fn(&RowBuf, Option<RowTurn>) -> Result<Outcome>,
    ) -> Result<Option<Vec<u8>>> {
        let mut row = RowBuf::new();
        let snapshot = txn.statement_snapshot();
        if !self.locate(txn, &snapshot, number, &mut row)? {
            return Ok(None);
        }
        let mut turn: Option<RowTurn> = None;
        loop {
            match attempt(&row, turn.take())? {
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

    /// All rows as one snapshot sees them, read from the heap. Panics if one is there twice.
    pub fn all(&self, txn: &Txn, snapshot: Snapshot) -> Result<Rows> {
        let mut scan = HeapScan::new(&self.heap, snapshot)?;
        let mut rows = Rows::new();
        while let Some(row) = scan.next(&self.heap, txn)? {
            let number = number_of(row.bytes);
            let twice = rows.insert(number, payload(row.bytes).to_vec());
            assert!(twice.is_none(), "row {number:#x} is there twice");
        }
        Ok(rows)
    }

    /// The same, read through an index. Panics if an entry leads to a row with another key.
    pub fn all_by_index(&self, txn: &Txn, snapshot: Snapshot, index: &Index) -> Result<Rows> {
        let bounds = Bounds { low: Bound::Unbounded, high: Bound::Unbounded };
        let tree = index.tree.btree().expect("asked with a tree");
        let mut scan = Scan::new(bounds, Direction::Forward, true);
        let mut rows = Rows::new();
        let mut row = RowBuf::new();
        while let Some(entry) = scan.next(tree)? {
            let (key, tid) = (entry.key.to_vec(), entry.tid);
            if !self.heap.fetch(txn, &snapshot, tid, &mut row)? {
                continue;
            }
            // One row may have several entries: of versions with other keys, whose chain leads on to it.
            if index.keyed.key(row.bytes()) == key {
                let number = number_of(row.bytes());
                let twice = rows.insert(number, payload(row.bytes()).to_vec());
                assert!(twice.is_none(), "row {number:#x} is found twice");
            }
        }
        Ok(rows)
    }

    /// Verifies the structures, and that heap and indexes agree; what is wrong. One that is valid has an entry for
    /// each row; of one that is not, what it has must be right as long as it is kept up.
    pub fn check(&self) -> Result<Option<String>> {
        let mut report = check::Report::default();
        let indexes = self.indexes();
        let (kept_up, others): (Vec<_>, Vec<_>) =
            indexes.into_iter().partition(|index| index.state.is_ready());
        let expected_of = |index: Index| move |row: &[u8]| Ok(Some(index.content(row).into()));
        let contents: Vec<_> = kept_up.iter().cloned().map(expected_of).collect();
        let list: Vec<Indexed<'_>> = kept_up
            .iter()
            .zip(&contents)
            .map(|(index, expected_of)| Indexed {
                index: &index.tree,
                expected_of,
                unique: index.is_unique() && index.state == State::Valid,
                complete: index.state == State::Valid,
            })
            .collect();
        check::table(&self.heap, &list, &mut report)?;
        for index in others {
            let mut entries = 0;
            let faults = &mut report.faults;
            index.tree.check(&mut |fault| faults.push(fault), &mut |_, _, _| entries += 1)?;
            if index.state == State::Entered && entries > 0 {
                faults.push(format!("index {}: nobody enters rows, and it has some", index.id));
            }
        }
        Ok(report.faults.into_iter().next())
    }
}

/// Whether the error is one that clients roll back after, and go on.
pub fn is_conflict(error: &Error) -> bool {
    matches!(error.cause(), Error::Deadlock { .. } | Error::Duplicate { .. })
}
