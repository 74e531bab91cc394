//! Hash index: linear hashing over chains of pages. See the README beside this file.

#[cfg(feature = "lab-hash-pages")]
pub mod bare;
mod build;
mod check;
mod delete;
pub(crate) mod describe;
mod directory;
mod edit;
mod insert;
#[cfg(feature = "lab-hash-protocols")]
mod metapage_locks;
mod page;
pub mod redo;
mod scan;
mod search;
mod split;

pub use build::{Builder, build_order};
#[cfg(feature = "lab-hash-protocols")]
pub use metapage_locks::Protocol;
pub use page::key_hash;

use crate::buffer::{Relation, WriteGuard};
use crate::journal::Journal;
use crate::txn::TxnManager;
use crate::wal::{Kind, Wal};
use base::Xid;
use base::rank::Rank;
use base::sync::unmodelled::AtomicBool;
use directory::{Counters, Directory};
use edit::Ops;
use split::Remainder;
use std::sync::Arc;

/// How full the pages of a bucket are on average when the index grows, in percent; PostgreSQL's default.
pub const FILL_PERCENT: u8 = 75;

/// An index. Shared by reference; SQL keeps it beside the catalog entry.
pub struct HashIndex {
    rel: Relation,
    wal: Arc<Wal>,
    directory: Directory,
    counters: Counters,
    /// Somebody is at a split; others need not take part.
    growing: AtomicBool,
    /// What the last one who was left to do.
    left: Remainder,
    /// For an index that is made by its first entry.
    fill_percent: u8,
    /// What look-ups and inserts do before they come to a bucket.
    #[cfg(feature = "lab-hash-protocols")]
    protocol: Protocol,
}

impl HashIndex {
    /// The index in `rel`. `fill_percent` counts when it is made, which its first entry or a build does.
    pub fn new(rel: Relation, txns: &Arc<TxnManager>, fill_percent: u8) -> HashIndex {
        assert!((10..=100).contains(&fill_percent), "a share in percent, as SQL allows it");
        HashIndex {
            rel,
            wal: Arc::clone(txns.wal()),
            directory: Directory::new(),
            counters: Counters::default(),
            growing: AtomicBool::new(false),
            left: Remainder::new(),
            fill_percent,
            #[cfg(feature = "lab-hash-protocols")]
            protocol: Protocol::Built,
        }
    }

    /// Its relation.
    pub fn relation(&self) -> &Relation {
        &self.rel
    }

    /// For messages.
    fn name(&self) -> String {
        format!("index {}", self.rel.id())
    }

    /// Changes latched pages and logs it: what is done is what the record says.
    fn change(&self, journal: &mut Journal<'_>, kind: Kind, edits: &mut [Edit<'_, '_>]) {
        for edit in &mut *edits {
            edit.page.mark_dirty();
            edit::apply(edit.page, edit.ops.bytes());
        }
        let at = journal.insert(|terms| {
            edits.iter().fold(terms.record(kind, Xid::INVALID), |record, edit| match edit.anew {
                true => record.init_block(&*edit.page, edit.ops.bytes()),
                false => record.block(&*edit.page, edit.ops.bytes()),
            })
        });
        if let Some(at) = at {
            edits.iter_mut().for_each(|edit| edit.page.set_lsn(at.end));
        }
    }
}

/// Says that the page latched next is this context's first one here (X7). Debug builds check it.
#[inline]
fn first_latch() {
    base::rank::assert_none_from(Rank::IndexPage);
}

/// A latched page and what is to become of it.
struct Edit<'e, 'r> {
    page: &'e mut WriteGuard<'r>,
    ops: Ops,
    /// Nothing of what was on the page counts.
    anew: bool,
}

impl<'e, 'r> Edit<'e, 'r> {
    fn of(page: &'e mut WriteGuard<'r>, ops: Ops) -> Edit<'e, 'r> {
        Edit { page, ops, anew: false }
    }

    fn anew(page: &'e mut WriteGuard<'r>, ops: Ops) -> Edit<'e, 'r> {
        Edit { page, ops, anew: true }
    }
}

#[cfg(test)]
mod tests;
