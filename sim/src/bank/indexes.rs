//! What an index of a table is, how far it is made, and how the bank's catalog has it.

use super::table::{number_of, payload};
use base::rank::Rank;
use base::{Persistence, RelId, Tid};
use std::sync::Arc;
use storage::btree::{BTree, NewEntry};
use storage::buffer::Relation;
use storage::check::Content;
use storage::hash::{HashIndex, build_order, key_hash};
use storage::{Engine, Result, index};

/// Keys are wide, so that a few dozen of them split a page.
const KEY_BYTES: usize = 400;

/// How full hash indexes are, in percent: 50 entries to a page, so that there are splits.
pub const HASH_FILL: u8 = 10;

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
    fn is_unique(self) -> bool {
        matches!(self, Keyed::Number | Keyed::Ascending)
    }

    /// A row's key.
    pub fn key(self, row: &[u8]) -> Vec<u8> {
        match self {
            Keyed::Number | Keyed::Ascending => self.key_of(number_of(row)),
            Keyed::Group => vec![(number_of(row) % 5) as u8; 40],
            Keyed::Payload => payload(row).repeat(8),
        }
    }

    /// A row's number, and its payload if that is the key, by what its entry in a B-tree has.
    pub fn told_by(self, key: &[u8], carried: &[u8]) -> (u64, Vec<u8>) {
        let number = |bytes: &[u8]| bytes.first_chunk().copied().expect("entries tell the number");
        match self {
            Keyed::Number | Keyed::Ascending => (u64::from_be_bytes(number(&key[8..])), Vec::new()),
            Keyed::Group => (u64::from_le_bytes(number(carried)), Vec::new()),
            Keyed::Payload => (u64::from_le_bytes(number(carried)), key[..key.len() / 8].to_vec()),
        }
    }

    /// The key of a number: alike at the end rather than the beginning, or pages would share it.
    pub fn key_of(self, number: u64) -> Vec<u8> {
        let scattered = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut key = if self == Keyed::Number { scattered } else { number }.to_be_bytes().to_vec();
        key.extend_from_slice(&number.to_be_bytes());
        key.resize(key.len() + KEY_BYTES, 0);
        for (i, chunk) in key[16..].chunks_mut(8).enumerate() {
            let shifted = scattered.rotate_left(7 * i as u32).to_be_bytes();
            chunk.copy_from_slice(&shifted[..chunk.len()]);
        }
        key
    }
}

/// Kind and keys of an index that comes and goes, in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub u8);

impl Code {
    /// How many there are.
    pub const ALL: u8 = 8;
    /// The first so many have keys that several rows may share.
    pub const NOT_UNIQUE: u8 = 4;

    /// What its keys are made of.
    pub fn keyed(self) -> Keyed {
        match (self.0 & 1, self.0 & 4) {
            (0, 0) => Keyed::Group,
            (_, 0) => Keyed::Payload,
            (0, _) => Keyed::Number,
            _ => Keyed::Ascending,
        }
    }

    /// Whether it is a hash index.
    pub fn is_hash(self) -> bool {
        self.0 & 2 != 0
    }

    /// The index in a relation.
    pub fn open(self, engine: &Arc<Engine>, storage: RelId) -> index::Index {
        match self.is_hash() {
            false => open_tree(engine, storage).into(),
            true => open_hash(engine, storage, HASH_FILL).into(),
        }
    }
}

/// How far an index is made, or taken down; as `pg_index` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Known, and empty: writers only heed it when they decide whether a version can be heap-only.
    Entered,
    /// Kept up, but not used.
    Ready,
    /// Used.
    Valid,
    /// About to go; nobody heeds it.
    Dead,
}

impl State {
    const ALL: [State; 4] = [State::Entered, State::Ready, State::Valid, State::Dead];

    /// Whether writers enter their rows.
    pub fn is_ready(self) -> bool {
        matches!(self, State::Ready | State::Valid)
    }

    /// Whether a heap-only version may not have another key.
    pub fn is_live(self) -> bool {
        self != State::Dead
    }
}

/// An index of a table.
#[derive(Clone)]
pub struct Index {
    /// Its number in the catalog; zero for those that are always there.
    pub id: u64,
    /// What it goes by: REINDEX CONCURRENTLY gives it to another one.
    pub name: u64,
    /// Kind and keys, if it is in the catalog.
    pub code: Code,
    /// Its entries.
    pub tree: index::Index,
    /// Its keys.
    pub keyed: Keyed,
    /// How far it is.
    pub state: State,
    /// Whether it serves snapshots that are older than the index.
    pub for_all: bool,
}

impl Index {
    /// One that is always there.
    pub fn fixed(tree: impl Into<index::Index>, keyed: Keyed) -> Index {
        let (tree, state) = (tree.into(), State::Valid);
        Index { id: 0, name: 0, code: Code(0), tree, keyed, state, for_all: true }
    }

    /// A new one in new storage, under a name of its own.
    pub fn new(engine: &Arc<Engine>, storage: &Relation, code: Code, state: State) -> Index {
        let id = u64::from(storage.id().counter());
        let tree = code.open(engine, storage.id());
        Index { id, name: id, code, tree, keyed: code.keyed(), state, for_all: false }
    }

    /// As its row in the catalog has it.
    pub fn decode(engine: &Arc<Engine>, id: u64, row: &[u8]) -> Index {
        let (code, state) = (Code(row[0]), State::ALL[usize::from(row[1])]);
        let storage = u32::from_le_bytes(row[2..6].try_into().expect("four bytes"));
        let name = u64::from_le_bytes(row[6..14].try_into().expect("eight bytes"));
        let tree = code.open(engine, RelId::new(storage, Persistence::Permanent));
        // No snapshot is older than the start.
        Index { id, name, code, tree, keyed: code.keyed(), state, for_all: true }
    }

    /// Its row in the catalog.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = vec![self.code.0, self.state as u8];
        row.extend_from_slice(&self.storage().counter().to_le_bytes());
        row.extend_from_slice(&self.name.to_le_bytes());
        row
    }

    /// The same in other storage.
    pub fn moved(&self, engine: &Arc<Engine>, storage: &Relation) -> Index {
        Index { tree: self.code.open(engine, storage.id()), ..self.clone() }
    }

    /// Its relation.
    pub fn storage(&self) -> RelId {
        self.tree.relation().id()
    }

    /// B-trees tell duplicates; hash indexes only find.
    pub fn is_unique(&self) -> bool {
        self.is_ordered() && self.keyed.is_unique()
    }

    /// Whether a number leads to its row.
    pub fn finds_numbers(&self) -> bool {
        self.state == State::Valid && self.keyed.is_unique()
    }

    /// Whether it can be read in order.
    pub fn is_ordered(&self) -> bool {
        self.tree.btree().is_some()
    }

    /// What its entry has of a row: in a B-tree whose keys don't tell the number it carries that.
    pub fn content(&self, row: &[u8]) -> Content {
        let carries = self.is_ordered() && !self.keyed.is_unique();
        let carried = if carries { number_of(row).to_le_bytes().to_vec() } else { Vec::new() };
        Content { key: self.keyed.key(row), carried }
    }

    /// Fills it, empty as it is, with rows and their roots.
    pub fn fill(&self, rows: &[(Vec<u8>, Tid)]) -> Result<()> {
        match &self.tree {
            index::Index::BTree(tree) => {
                let entry = |(row, root): &(Vec<u8>, Tid)| {
                    let Content { key, carried } = self.content(row);
                    (key, *root, carried)
                };
                let mut entries: Vec<_> = rows.iter().map(entry).collect();
                entries.sort();
                let mut builder = tree.build()?;
                for (key, root, carried) in &entries {
                    builder.push(NewEntry { key, carried, tid: *root })?;
                }
                builder.finish().map(|_| ())
            }
            index::Index::Hash(hash) => {
                let order = |row| build_order(key_hash(&self.keyed.key(row)));
                let mut entries: Vec<_> =
                    rows.iter().map(|(row, root)| (order(row), *root)).collect();
                entries.sort();
                let mut builder = hash.build(entries.len() as u64, HASH_FILL)?;
                for (order, root) in &entries {
                    builder.push_in_order(order, *root)?;
                }
                builder.finish().map(|_| ())
            }
        }
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
