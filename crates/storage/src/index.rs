//! An index of either kind, for those who keep, clean and verify the indexes of a table and need not know which.

use crate::btree::{BTree, IndexCleaning, Judge};
use crate::buffer::Relation;
use crate::error::Result;
use crate::hash::{self, HashIndex};
use crate::txn::Txn;
use base::Tid;
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

    /// Enters `key` for the row at `tid`.
    #[inline]
    pub fn insert(&self, key: &[u8], tid: Tid) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.insert(key, tid),
            Index::Hash(hash) => hash.insert(key, tid),
        }
    }

    /// As [`BTree::insert_unique`]. Only B-trees are unique.
    #[inline]
    pub fn insert_unique(
        &self,
        txn: &Txn,
        key: &[u8],
        tid: Tid,
        judge: &mut Judge<'_>,
    ) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.insert_unique(txn, key, tid, judge),
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
        is_dead: &mut dyn FnMut(Tid) -> bool,
        rest: &mut dyn FnMut() -> Result<()>,
    ) -> Result<IndexCleaning> {
        match self {
            Index::BTree(tree) => tree.vacuum(is_dead, rest),
            Index::Hash(hash) => hash.vacuum(is_dead, rest),
        }
    }

    /// Verifies the index. `entry` gets the bytes by which entries are found: the key's, or its hash's
    /// ([`Index::bytes_of`]).
    pub fn check(
        &self,
        report: &mut dyn FnMut(String),
        entry: &mut dyn FnMut(&[u8], Tid),
    ) -> Result<()> {
        match self {
            Index::BTree(tree) => tree.check(report, entry),
            Index::Hash(hash) => {
                hash.check(report, &mut |hash, tid| entry(&hash.to_be_bytes(), tid))
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
