//! B-link tree: byte keys with the heap TID as tie-breaker. See the README beside this file.

mod build;
mod check;
mod delete;
mod edit;
mod insert;
mod page;
mod plan;
pub mod redo;
mod scan;
mod search;
mod split;

pub use build::Builder;
pub use check::EachEntry;
pub use delete::IndexCleaning;
pub use insert::{Judge, Liveness, NewEntry};
pub use page::MAX_KEY_BYTES;
pub use scan::{Bounds, Direction, Entry, Scan};

use crate::buffer::Relation;
use crate::txn::TxnManager;
use crate::wal::Wal;
use base::{BlockNo, Csn};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// A tree. Shared by reference; SQL keeps it beside the catalog entry of the index.
pub struct BTree {
    rel: Relation,
    txns: Arc<TxnManager>,
    wal: Arc<Wal>,
    /// Where a key was last appended at the tree's right end; `INVALID`: nowhere. A hint.
    last_leaf: AtomicU32,
}

impl BTree {
    /// The tree in `rel`.
    pub fn new(rel: Relation, txns: &Arc<TxnManager>) -> BTree {
        let (txns, wal) = (Arc::clone(txns), Arc::clone(txns.wal()));
        BTree { rel, txns, wal, last_leaf: AtomicU32::new(BlockNo::INVALID.0) }
    }

    /// Its relation.
    pub fn relation(&self) -> &Relation {
        &self.rel
    }

    /// For messages.
    fn name(&self) -> String {
        format!("index {}", self.rel.id())
    }

    /// Every snapshot that is in use sees what was committed before this number.
    fn horizon(&self) -> Csn {
        self.txns.horizon()
    }
}

#[cfg(test)]
mod tests;
