//! Rows. See the README beside this file.

mod ahead;
mod attention;
mod check;
mod clean;
mod contest;
mod delete;
pub(crate) mod describe;
mod due;
mod fetch;
pub mod fsm;
mod insert;
mod liveness;
mod lock_row;
mod multi_insert;
mod page;
mod progress;
mod prune;
pub mod redo;
mod room;
mod scan;
mod share;
mod tail;
mod tids;
mod update;
mod visible;
pub mod vm;

pub use ahead::RowsAhead;
pub use attention::{Dirt, Open, Upkeep};
pub use check::{Line, Version};
pub use clean::PageCleaning;
pub use due::{Due, Limits, OwnLimits, SharedLimits, Threshold};
pub use fetch::RowBuf;
pub use multi_insert::Freeze;
pub use page::{MAX_LINES, MAX_ROW_BYTES};
pub use progress::{Phase, Seen};
pub use room::Activity;
pub use scan::{HeapScan, Row, Visited};
pub use tids::{TID_PAGE_BYTES, TID_PAGES_MIN, TidSet};
pub use update::Change;

use crate::buffer::Relation;
use crate::error::{Error, Result};
use crate::lock::{RowKey, RowTurn};
use crate::page::PAGE_BYTES;
use crate::txn::{Txn, TxnManager};
use crate::wal::Wal;
use attention::Attention;
use base::Tid;
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::AtomicUsize;
use base::sync::unmodelled::Ordering::Relaxed;
use progress::Progress;
use room::Stripe;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A heap. Shared by reference; SQL keeps it beside the catalog entry of the table.
pub struct HeapRel {
    rel: Relation,
    txns: Arc<TxnManager>,
    wal: Arc<Wal>,
    /// Bytes of each page that inserts leave to later updates.
    reserve: AtomicUsize,
    /// Where sessions insert, and what they count.
    stripes: Box<[Stripe]>,
    /// What had been done to the heap that it took the place of.
    before: OnceLock<Activity>,
    /// When vacuum is due, and who is to know.
    attention: Attention,
    /// Held by a vacuum, from beginning to end.
    vacuum: Latch<()>,
    progress: Progress,
}

/// How an attempt to change or lock a row ended.
pub enum Outcome {
    /// It is done.
    Done {
        /// The new version of an update; else the version itself.
        tid: Tid,
        /// The new version needs no index entries.
        heap_only: bool,
    },
    /// The same transaction changed the row already: an earlier command, or this one.
    SelfModified,
    /// Another transaction's committed update was first.
    Updated {
        /// The latest version.
        newest: Tid,
        /// The caller's turn in the row's queue, to be handed to the next attempt; dropped if there is none.
        turn: Option<RowTurn>,
    },
    /// Another transaction's committed delete was first.
    Deleted,
    /// The row is locked, and the caller would not wait.
    WouldBlock,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done { tid, heap_only } => write!(f, "Done({tid}, heap_only: {heap_only})"),
            Outcome::SelfModified => f.write_str("SelfModified"),
            Outcome::Updated { newest, turn } => {
                write!(f, "Updated({newest}, turn: {})", turn.is_some())
            }
            Outcome::Deleted => f.write_str("Deleted"),
            Outcome::WouldBlock => f.write_str("WouldBlock"),
        }
    }
}

/// Bytes that are left free where pages are filled to so many percent.
fn reserve(fillfactor: u8) -> usize {
    PAGE_BYTES * usize::from(100 - fillfactor.clamp(10, 100)) / 100
}

impl HeapRel {
    /// The heap in `rel`. Inserts fill pages to `fillfactor` percent.
    pub fn new(rel: Relation, txns: &Arc<TxnManager>, fillfactor: u8) -> HeapRel {
        HeapRel {
            rel,
            wal: Arc::clone(txns.wal()),
            txns: Arc::clone(txns),
            reserve: AtomicUsize::new(reserve(fillfactor)),
            stripes: (0..room::STRIPES).map(|_| Stripe::default()).collect(),
            before: OnceLock::new(),
            attention: Attention::default(),
            vacuum: Latch::new(Rank::Outer, ()),
            progress: Progress::default(),
        }
    }

    /// From now on inserts fill pages to `fillfactor` percent.
    pub fn fill_to(&self, fillfactor: u8) {
        // Relaxed here and where it is read: a wish about free room.
        self.reserve.store(reserve(fillfactor), Relaxed);
    }

    /// Bytes of a page that inserts leave free.
    fn reserve(&self) -> usize {
        self.reserve.load(Relaxed)
    }

    /// Its relation.
    pub fn relation(&self) -> &Relation {
        &self.rel
    }

    /// Transactions, for whoever cleans.
    pub fn txns(&self) -> &Arc<TxnManager> {
        &self.txns
    }

    /// Parks until what has committed so far is durable.
    pub(crate) fn flush_log(&self) {
        self.wal.flush(self.wal.position());
    }

    /// What makes one vacuum at a time.
    pub(crate) fn vacuum_latch(&self) -> &Latch<()> {
        &self.vacuum
    }

    /// Where its vacuum says how far it has come.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The vacuum that is at work on it now.
    pub fn vacuum_seen(&self) -> Option<Seen> {
        self.progress.seen()
    }

    /// For messages.
    fn name(&self) -> String {
        format!("table {}", self.rel.id())
    }

    fn key(&self, tid: Tid) -> RowKey {
        RowKey { rel: self.rel.id(), tid }
    }

    fn damaged(&self, tid: Tid, what: &str) -> Error {
        Error::damaged(self.name(), Some(tid.block), format!("row version {tid} {what}"))
    }
}

/// Rows longer than a page can't be stored here.
fn check_row(row: &[u8]) -> Result<()> {
    if row.len() <= MAX_ROW_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge { what: "row", bytes: row.len(), bytes_max: MAX_ROW_BYTES })
}

/// The stripe of a session.
fn stripe_of(txn: &Txn) -> usize {
    txn.session().0 as usize
}

#[cfg(test)]
mod tests;
