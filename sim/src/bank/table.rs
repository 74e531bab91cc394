//! A table of numbered rows: a heap, a unique B-tree on the number, perhaps a hash index on it, and indexes that
//! come and go.

use base::rank::Rank;
use base::{Persistence, RelId, Tid};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use storage::btree::{BTree, Bounds, Direction, Scan};
use storage::check::{self, Indexed};
use storage::hash::{HashIndex, build_order, key_hash};
use storage::heap::{Change, HeapRel, HeapScan, Outcome, RowBuf};
use storage::lock::{RowLock, RowTurn, WaitPolicy};
use storage::txn::{Snapshot, Txn};
use storage::{Engine, Error, Result};

/// Bytes appended to each row, so that pages fill and updates leave them.
const PAD_BYTES: usize = 120;

/// Keys are wide, so that a few dozen of them split a page.
const KEY_BYTES: usize = 400;

/// What an index's keys are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keyed {
    /// The number, scattered; unique.
    Number,
    /// The number, ascending; unique.
    Ascending,
    /// A group of numbers: many equal keys, which no update changes.
    Group,
    /// The payload: every update changes it.
    Payload,
}

impl Keyed {
    /// As the bank's catalog has it. Indexes that come and go are of four kinds: the upper bit tells a hash
    /// index.
    pub fn from_code(code: u8) -> Keyed {
        if code & 1 == 0 { Keyed::Group } else { Keyed::Payload }
    }

    fn is_unique(self) -> bool {
        matches!(self, Keyed::Number | Keyed::Ascending)
    }

    /// A row's key.
    fn key(self, row: &[u8]) -> Vec<u8> {
        match self {
            Keyed::Number | Keyed::Ascending => self.key_of(number_of(row)),
            Keyed::Group => vec![(number_of(row) % 5) as u8; 40],
            Keyed::Payload => payload(row).repeat(8),
        }
    }

    /// The key of a number: alike at the end rather than the beginning, or pages would share it.
    fn key_of(self, number: u64) -> Vec<u8> {
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut key = if self == Keyed::Number { scattered } else { number }.to_be_bytes().to_vec();
        key.extend_from_slice(&number.to_be_bytes());
        key.extend((0..KEY_BYTES).map(|i| (scattered >> (i % 57)) as u8));
        key
    }
}

/// A row: number, payload, padding.
fn row_of(number: u64, payload: &[u8]) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    row.extend_from_slice(payload);
    row.resize(row.len() + PAD_BYTES, number as u8);
    row
}

fn number_of(row: &[u8]) -> u64 {
    u64::from_le_bytes(*row.first_chunk().expect("rows have a number"))
}

/// The payload of a stored row.
fn payload(row: &[u8]) -> &[u8] {
    &row[8..row.len() - PAD_BYTES]
}

/// An index of a table.
#[derive(Clone)]
pub struct Index {
    /// Its entries.
    pub tree: storage::index::Index,
    /// Its keys.
    pub keyed: Keyed,
}

impl Index {
    /// B-trees tell duplicates; hash indexes only find.
    fn is_unique(&self) -> bool {
        self.is_ordered() && self.keyed.is_unique()
    }

    /// Whether it can be read in order.
    pub fn is_ordered(&self) -> bool {
        self.tree.btree().is_some()
    }
}

/// In an index's code in the catalog: it is a hash index.
pub const HASH_CODE: u8 = 2;

/// How full hash indexes are, in percent: 50 entries to a page, so that there are splits.
pub const HASH_FILL: u8 = 10;

/// Rows are the number (8 bytes), then the payload.
pub struct Table {
    /// Rows.
    pub heap: HeapRel,
    /// The first is on the number. The list changes only under a lock that keeps writers away.
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
        let first = Index { tree: tree.into(), keyed };
        Table { heap, indexes: Mutex::new(vec![first]) }
    }

    /// The indexes there are.
    pub fn indexes(&self) -> Vec<Index> {
        self.indexes.lock().expect("nothing panics under it").clone()
    }

    /// The trees of all indexes.
    pub fn trees(&self) -> Vec<storage::index::Index> {
        self.indexes().into_iter().map(|index| index.tree).collect()
    }

    /// Adds an index to the list.
    pub fn add_index(&self, index: Index) {
        self.indexes.lock().expect("nothing panics under it").push(index);
    }

    /// Takes an index from the list.
    pub fn remove_index(&self, rel: RelId) {
        let mut indexes = self.indexes.lock().expect("nothing panics under it");
        indexes.retain(|index| index.tree.relation().id() != rel);
    }

    /// Fills a new index from the heap, which nobody else may write meanwhile.
    pub fn build(&self, txn: &Txn, tree: BTree, keyed: Keyed) -> Result<Index> {
        let mut scan = HeapScan::for_index(&self.heap, txn.fresh_snapshot())?;
        let mut entries = Vec::new();
        while let Some(row) = scan.next(&self.heap, txn)? {
            entries.push((keyed.key(row.bytes), row.root));
        }
        entries.sort();
        let mut builder = tree.build()?;
        for (key, root) in &entries {
            builder.push(key, *root)?;
        }
        builder.finish()?;
        Ok(Index { tree: tree.into(), keyed })
    }

    /// Fills a new hash index from the heap, which nobody else may write meanwhile.
    pub fn build_hash(&self, txn: &Txn, hash: HashIndex, keyed: Keyed) -> Result<Index> {
        let mut scan = HeapScan::for_index(&self.heap, txn.fresh_snapshot())?;
        let mut entries = Vec::new();
        while let Some(row) = scan.next(&self.heap, txn)? {
            entries.push((build_order(key_hash(&keyed.key(row.bytes))), row.root));
        }
        entries.sort();
        let mut builder = hash.build(entries.len() as u64, HASH_FILL)?;
        for (order, root) in &entries {
            builder.push_in_order(order, *root)?;
        }
        builder.finish()?;
        Ok(Index { tree: hash.into(), keyed })
    }

    /// An index on the number; with two, each is asked for half of them.
    fn index_for(&self, number: u64) -> Index {
        let indexes = self.indexes.lock().expect("nothing panics under it");
        let on_number = indexes.iter().filter(|index| index.keyed.is_unique());
        let which = number as usize % on_number.clone().count();
        on_number.clone().nth(which).expect("the first index is on the number").clone()
    }

    /// Stores a row and its keys; `Error::Duplicate` if the number is taken.
    pub fn insert(&self, txn: &Txn, number: u64, payload: &[u8]) -> Result<()> {
        let row = row_of(number, payload);
        let tid = self.heap.insert(txn, &row)?;
        self.enter(txn, &row, tid)
    }

    fn enter(&self, txn: &Txn, row: &[u8], tid: Tid) -> Result<()> {
        for index in self.indexes() {
            let key = index.keyed.key(row);
            if index.is_unique() {
                let judge = &mut |other: Tid| self.heap.liveness(txn, other);
                index.tree.insert_unique(txn, &key, tid, judge)?;
            } else {
                index.tree.insert(&key, tid)?;
            }
        }
        Ok(())
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
        for tid in tids {
            if self.heap.fetch(txn, snapshot, tid, row)? {
                if number_of(row.bytes()) == number {
                    return Ok(true);
                }
                assert!(!index.is_ordered(), "an entry leads to its row");
            }
        }
        Ok(false)
    }

    /// Replaces the payload by what `f` makes of it, on the newest version.
    pub fn update(&self, txn: &Txn, number: u64, f: impl Fn(&[u8]) -> Vec<u8>) -> Result<Changed> {
        let hot = self.indexes().iter().all(|index| index.keyed != Keyed::Payload);
        let changed = self.on_newest(txn, number, |row, turn| {
            let new = row_of(number, &f(payload(row.bytes())));
            let change = Change { hot, key: false };
            let outcome = self.heap.update(txn, row.tid(), &new, change, turn)?;
            if let Outcome::Done { tid, heap_only: false } = outcome {
                self.enter(txn, &new, tid)?;
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
        let mut row = RowBuf::new();
        let snapshot = txn.statement_snapshot();
        if !self.locate(txn, &snapshot, number, &mut row)? {
            return Ok(Changed::Gone);
        }
        let new = row_of(number, &f(payload(row.bytes())));
        let change = Change { hot: true, key: false };
        match self.heap.update(txn, row.tid(), &new, change, None)? {
            Outcome::Done { tid, heap_only: false } => self.enter(txn, &new, tid)?,
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

    /// Verifies the structures, and that heap and indexes agree; what is wrong.
    pub fn check(&self) -> Result<Option<String>> {
        let mut report = check::Report::default();
        let indexes = self.indexes();
        let key_of = |keyed: Keyed| move |row: &[u8]| Some(keyed.key(row));
        let keys: Vec<_> = indexes.iter().map(|index| key_of(index.keyed)).collect();
        let list: Vec<Indexed<'_>> = indexes
            .iter()
            .zip(&keys)
            .map(|(index, key_of)| Indexed {
                index: &index.tree,
                key_of,
                unique: index.is_unique(),
                complete: true,
            })
            .collect();
        check::table(&self.heap, &list, &mut report)?;
        Ok(report.faults.into_iter().next())
    }
}

/// The tree in a relation.
pub fn open_tree(engine: &Arc<Engine>, rel: RelId) -> BTree {
    BTree::new(engine.pool().relation(rel, Rank::IndexPage), engine.txns())
}

/// The hash index in a relation.
pub fn open_hash(engine: &Arc<Engine>, rel: RelId, fill_percent: u8) -> HashIndex {
    HashIndex::new(engine.pool().relation(rel, Rank::IndexPage), engine.txns(), fill_percent)
}

/// Whether the error is one that clients roll back after, and go on.
pub fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Deadlock { .. } | Error::Duplicate { .. })
}
