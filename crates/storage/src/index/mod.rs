//! An index of either kind, for those who keep, clean and verify the indexes of a table and need not know which.

use crate::btree::{
    BTree, Bounds, Direction, EachEntry, IndexCleaning, IsGone, Judge, NewEntry, Scan,
};
use crate::buffer::{Passage, Purpose, Relation};
use crate::error::{Error, Result};
use crate::hash::{self, HashIndex};
use crate::txn::Txn;
use base::{BlockNo, Tid};
use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;

/// An index.
#[derive(Clone)]
pub enum Index {
    /// Ordered.
    BTree(Arc<BTree>),
    /// By hash; its look-ups may find rows with other keys.
    Hash(Arc<HashIndex>),
}

impl From<BTree> for Index {
    fn from(tree: BTree) -> Index {
        Index::BTree(Arc::new(tree))
    }
}

impl From<HashIndex> for Index {
    fn from(hash: HashIndex) -> Index {
        Index::Hash(Arc::new(hash))
    }
}

impl Index {
    /// The B-tree, if it is one.
    #[inline]
    pub fn btree(&self) -> Option<&BTree> {
        match self {
            Index::BTree(tree) => Some(tree),
            Index::Hash(_) => None,
        }
    }

    /// Its relation.
    pub fn relation(&self) -> &Relation {
        match self {
            Index::BTree(tree) => tree.relation(),
            Index::Hash(hash) => hash.relation(),
        }
    }

    /// Makes an entry. Only those of B-trees carry something.
    #[inline]
    pub fn insert(&self, entry: NewEntry<'_>) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.insert(entry),
            Index::Hash(hash) => {
                debug_assert!(entry.carried.is_empty(), "a hash index has no room for more");
                hash.insert(entry.key, entry.tid)
            }
        }
    }

    /// Makes an entry for a new version of a row, as [`BTree::insert_version`] does; those by hash ask nobody.
    #[inline]
    pub fn insert_version(&self, entry: NewEntry<'_>, is_gone: &mut IsGone<'_>) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.insert_version(entry, is_gone),
            Index::Hash(_) => self.insert(entry),
        }
    }

    /// As [`BTree::insert_unique`]. Only B-trees are unique.
    #[inline]
    pub fn insert_unique(
        &self,
        txn: &Txn,
        entry: NewEntry<'_>,
        judge: &mut Judge<'_>,
        is_gone: &mut IsGone<'_>,
    ) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.insert_unique(txn, entry, judge, is_gone),
            Index::Hash(_) => unreachable!("a hash index is never declared unique"),
        }
    }

    /// The rows with this key, into `tids`, which is emptied first; of a hash index perhaps others, too.
    #[inline]
    pub fn lookup(&self, key: &[u8], tids: &mut Vec<Tid>) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.lookup(key, tids),
            Index::Hash(hash) => hash.lookup(key, tids),
        }
    }

    /// Whether a look-up of this key finds this row: as long as it does, its place in the heap is no other row's.
    pub fn leads_to(&self, key: &[u8], tid: Tid) -> Result<bool> {
        match self {
            Index::BTree(tree) => tree.has(key, tid),
            Index::Hash(hash) => {
                let mut tids = Vec::new();
                hash.lookup(key, &mut tids)?;
                Ok(tids.contains(&tid))
            }
        }
    }

    /// Marks the entries of `key` whose rows `is_gone` names, so that look-ups skip them.
    pub fn mark_dead(
        &self,
        key: &[u8],
        is_gone: &mut dyn FnMut(Tid) -> Result<bool>,
    ) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.mark_dead(key, is_gone),
            Index::Hash(hash) => hash.mark_dead(key, is_gone),
        }
    }

    /// Removes the entries whose TID `is_dead` names; see the rooms' own.
    pub fn vacuum(
        &self,
        passage: &mut Passage,
        is_dead: &mut dyn FnMut(Tid) -> bool,
        rest: &mut dyn FnMut() -> Result<()>,
    ) -> Result<IndexCleaning> {
        match self {
            Index::BTree(tree) => tree.vacuum(passage, is_dead, rest),
            Index::Hash(hash) => hash.vacuum(passage, is_dead, rest),
        }
    }

    /// Hands out the TIDs of all entries that are there from beginning to end, in no order, some perhaps more
    /// than once; entries known to be dead may be left out. Others may insert and look up meanwhile, but not
    /// vacuum.
    pub fn each_tid<E: From<Error>>(
        &self,
        take: &mut dyn FnMut(Tid) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self {
            Index::BTree(tree) => {
                let bounds = Bounds { low: Bound::Unbounded, high: Bound::Unbounded };
                let mut scan = Scan::new(bounds, Direction::Forward, false);
                while let Some(entry) = scan.next(tree)? {
                    take(entry.tid)?;
                    base::interrupt::check().map_err(Error::from)?;
                    base::park::checkpoint();
                }
                Ok(())
            }
            Index::Hash(hash) => {
                // Met under a latch, handed out between pages.
                let met = RefCell::new(Vec::new());
                let mut handed_out = Ok(());
                let mut hand_out = || {
                    base::interrupt::check()?;
                    base::park::checkpoint();
                    let mut met = met.take().into_iter();
                    if handed_out.is_ok() {
                        handed_out = met.try_for_each(&mut *take);
                    }
                    Ok(())
                };
                let mut meet = |tid| {
                    met.borrow_mut().push(tid);
                    false
                };
                let pool = hash.relation().owner();
                let mut passage = Passage::new(pool, pool.reach(), Purpose::BulkRead);
                hash.vacuum(&mut passage, &mut meet, &mut hand_out)?;
                hand_out()?;
                handed_out
            }
        }
    }

    /// Verifies the index. `entry` gets the bytes by which entries are found: the key's, or its hash's
    /// ([`Index::bytes_of`]); and what they carry.
    pub fn check(&self, report: &mut dyn FnMut(String), entry: &mut EachEntry<'_>) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.check(report, entry),
            Index::Hash(hash) => {
                hash.check(report, &mut |hash, tid| entry(&hash.to_be_bytes(), &[], tid))
            }
        }
    }

    /// The bytes by which an entry with this key is found.
    pub fn bytes_of(&self, key: Vec<u8>) -> Vec<u8> {
        match self {
            Index::BTree(_) => key,
            Index::Hash(_) => hash::key_hash(&key).to_be_bytes().to_vec(),
        }
    }
}

/// The rows that an index has entries for, by block, to find out which rows of a heap it lacks: fed from a sorted
/// list of their roots, asked in the order of the heap's blocks.
#[derive(Default)]
pub struct KnownRows {
    block: Option<BlockNo>,
    /// Line pointers of that block, ascending.
    offsets: Vec<u16>,
    /// The first root behind that block.
    ahead: Option<Tid>,
}

impl KnownRows {
    /// Whether the index has an entry for the row with this root. `next` gives the roots, ascending; those given
    /// twice count once.
    pub fn has<E>(
        &mut self,
        root: Tid,
        next: &mut dyn FnMut() -> std::result::Result<Option<Tid>, E>,
    ) -> std::result::Result<bool, E> {
        if self.block != Some(root.block) {
            debug_assert!(self.block.is_none_or(|block| block < root.block), "blocks ascend (I2)");
            self.block = Some(root.block);
            self.offsets.clear();
            loop {
                let tid = match self.ahead.take() {
                    Some(tid) => tid,
                    None => match next()? {
                        Some(tid) => tid,
                        None => break,
                    },
                };
                if tid.block > root.block {
                    self.ahead = Some(tid);
                    break;
                }
                if tid.block == root.block && self.offsets.last() != Some(&tid.offset) {
                    self.offsets.push(tid.offset);
                }
            }
        }
        Ok(self.offsets.binary_search(&root.offset).is_ok())
    }
}

#[cfg(test)]
mod tests;
