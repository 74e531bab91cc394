//! B-link tree: byte keys with the heap TID as tie-breaker. See the README beside this file.

mod build;
mod check;
mod churn;
mod delete;
pub(crate) mod describe;
mod edit;
mod free;
mod insert;
mod merge;
mod page;
mod plan;
mod posting;
pub mod redo;
mod scan;
mod search;
mod shift;
mod skip;
mod split;
mod unlink;
mod widen;

pub use build::Builder;
pub use check::EachEntry;
pub use churn::IsGone;
pub use delete::IndexCleaning;
pub use insert::{Judge, Liveness, NewEntry};
pub use page::MAX_KEY_BYTES;
pub use scan::{Bounds, Direction, Entry, Scan};

use crate::buffer::Relation;
use crate::txn::TxnManager;
use crate::wal::Wal;
use base::sync::unmodelled::Ordering::Relaxed;
use base::sync::unmodelled::{AtomicBool, AtomicU8, AtomicU32};
use base::{BlockNo, Csn};
use free::Waiting;
use std::sync::Arc;

/// How full leaves are made unless somebody wants something else, in percent: first changes find room.
pub const FILL_PERCENT: u8 = 90;

/// The same of inner pages that get keys at their right end.
const INNER_FILL_PERCENT: usize = 90;

/// A tree. Shared by reference; SQL keeps it beside the catalog entry of the index.
pub struct BTree {
    rel: Relation,
    txns: Arc<TxnManager>,
    wal: Arc<Wal>,
    /// How full leaves are made by builds, and by keys that ascend, in percent.
    fill_percent: AtomicU8,
    /// Whether equal keys become postings.
    merges: AtomicBool,
    /// Where a key was last appended at the tree's right end; `INVALID`: nowhere. A hint.
    last_leaf: AtomicU32,
    waiting: Waiting,
}

impl BTree {
    /// The tree in `rel`.
    pub fn new(rel: Relation, txns: &Arc<TxnManager>) -> BTree {
        let (txns, wal) = (Arc::clone(txns), Arc::clone(txns.wal()));
        let last_leaf = AtomicU32::new(BlockNo::INVALID.0);
        let fill_percent = AtomicU8::new(FILL_PERCENT);
        let merges = AtomicBool::new(true);
        BTree { rel, txns, wal, fill_percent, merges, last_leaf, waiting: Waiting::new() }
    }

    /// From now on leaves are filled to so many percent; what is there stays as it is.
    pub fn fill_to(&self, percent: u8) {
        assert!((10..=100).contains(&percent), "a share in percent, as SQL allows it");
        // Relaxed here and where it is read: a wish about free room.
        self.fill_percent.store(percent, Relaxed);
    }

    /// Whether from now on equal keys become postings, in builds and where a leaf is full; what is there stays as it is.
    pub fn merge_equal_keys(&self, on: bool) {
        // Relaxed here and where it is read: a wish about room.
        self.merges.store(on, Relaxed);
    }

    fn merges(&self) -> bool {
        self.merges.load(Relaxed)
    }

    fn fill_percent(&self) -> usize {
        usize::from(self.fill_percent.load(Relaxed))
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
