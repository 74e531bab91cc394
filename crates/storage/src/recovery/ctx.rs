//! What every room's redo stands on: how a logged page is brought to the state after its record.

use super::files::garbled;
use super::handles::Handles;
use crate::buffer::{Pool, Relation};
use crate::complaint::complain;
use crate::error::{Error, Result};
use crate::page::{PageBytes, PageMut};
use crate::relfile;
use crate::wal::{BlockView, RecordView};
use base::hash::hash_of;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use base::{Fork, Lsn, PageId, RelId, Xid};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Redo in progress: applies records, in log order.
pub struct RedoCtx {
    pool: Arc<Pool>,
    notes: Arc<Notes>,
    /// Which pages are this context's, where several share the work: one lane's of so many.
    lane: Option<(usize, usize)>,
    applied: Cell<u64>,
    skipped: Cell<u64>,
    /// Taken while a record is applied.
    handles: Cell<Option<Box<Handles>>>,
}

/// What the log has yet to explain. Seldom touched.
#[derive(Default)]
struct Notes {
    /// Relations that records named and that have no files, with the records' transactions: to be dropped
    /// later in the log, or made by one of these, which did not commit.
    missing: Mutex<BTreeMap<RelId, Missing>>,
    /// Pages that can't be read, each with the first record that was left out: to be written anew later in the log.
    unreadable: Mutex<BTreeMap<PageId, Lsn>>,
    /// Relations dropped: a handle from before must not be used.
    drops: AtomicU64,
    /// Whether there have been any.
    met_unreadable: AtomicBool,
}

/// Records left out because their relation has no files.
struct Missing {
    /// The first of them.
    at: Lsn,
    /// All of their transactions.
    xids: BTreeSet<Xid>,
}

impl Notes {
    fn missing(&self) -> MutexGuard<'_, BTreeMap<RelId, Missing>> {
        self.missing.lock().expect("no code panics under it")
    }

    fn unreadable(&self) -> MutexGuard<'_, BTreeMap<PageId, Lsn>> {
        self.unreadable.lock().expect("no code panics under it")
    }
}

impl RedoCtx {
    /// Redo into `pool`, which has no log attached yet.
    pub fn new(pool: Arc<Pool>) -> RedoCtx {
        RedoCtx {
            pool,
            notes: Arc::default(),
            lane: None,
            applied: Cell::new(0),
            skipped: Cell::new(0),
            handles: Cell::new(None),
        }
    }

    /// The context of one lane of so many, which shares this one's notes and changes its own pages only.
    pub(super) fn of_lane(&self, lane: usize, count: usize) -> RedoCtx {
        RedoCtx {
            pool: Arc::clone(&self.pool),
            notes: Arc::clone(&self.notes),
            lane: Some((lane, count)),
            applied: Cell::new(0),
            skipped: Cell::new(0),
            handles: Cell::new(None),
        }
    }

    /// The lane of so many that a page belongs to.
    pub(super) fn lane_of(page: PageId, count: usize) -> usize {
        (hash_of(&page) % count as u64) as usize
    }

    /// Where pages are.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Brings the page that the record names `i`-th to the state after the record: from zeros if the record
    /// says so, by its image, or by `change` with the block's bytes; not at all if it is in that state or a
    /// later one. `rank` is that of the relation's main fork.
    ///
    /// A page of a relation that was dropped later has no file any more, and a page that was torn while its
    /// image is further on in the log can't be read: both are noted, and [`RedoCtx::finish`] fails if the
    /// log does not explain them.
    pub fn page(
        &self,
        record: &RecordView<'_>,
        i: usize,
        rank: Rank,
        change: impl FnOnce(&mut PageMut<'_>, &[u8]),
    ) -> Result<()> {
        self.bring(record, i, rank, false, change)
    }

    /// The same for a page of a heap or its maps. A heap's page begins with a record that makes it anew: one that is all
    /// zeros, where a record does not, was cut off, and the log says so further on.
    pub fn row_page(
        &self,
        record: &RecordView<'_>,
        i: usize,
        change: impl FnOnce(&mut PageMut<'_>, &[u8]),
    ) -> Result<()> {
        self.bring(record, i, Rank::HeapPage, true, change)
    }

    fn bring(
        &self,
        record: &RecordView<'_>,
        i: usize,
        rank: Rank,
        of_rows: bool,
        change: impl FnOnce(&mut PageMut<'_>, &[u8]),
    ) -> Result<()> {
        let block = record.block(i);
        if self.lane.is_some_and(|(lane, count)| RedoCtx::lane_of(block.page, count) != lane) {
            return Ok(());
        }
        let mut handles = self.handles.take().unwrap_or_default();
        let rel = handles.get(&self.pool, block.page.rel, rank, self.drops());
        let done = self.apply(record, &block, rel, of_rows, change);
        self.handles.set(Some(handles));
        match done {
            Err(Error::NoSuchRelation(rel)) => {
                self.note_missing(rel, record);
                Ok(())
            }
            Err(Error::Damaged { .. }) => {
                self.notes.unreadable().entry(block.page).or_insert(record.at.start);
                self.notes.met_unreadable.store(true, Ordering::Relaxed);
                Ok(())
            }
            other => other,
        }
    }

    /// How many relations have been dropped.
    pub(super) fn drops(&self) -> u64 {
        // Acquire: pairs with the release in `dropped`; a lane gets what comes after a drop when that is done.
        self.notes.drops.load(Ordering::Acquire)
    }

    fn apply(
        &self,
        record: &RecordView<'_>,
        block: &BlockView<'_>,
        rel: &Relation,
        of_rows: bool,
        change: impl FnOnce(&mut PageMut<'_>, &[u8]),
    ) -> Result<()> {
        let id = block.page;
        let anew = block.will_init || block.has_image();
        let mut page = rel.write_for_redo(id.fork, id.block, anew)?;
        if anew {
            // Relaxed: whoever noted this page was this context.
            if self.notes.met_unreadable.load(Ordering::Relaxed) {
                self.notes.unreadable().remove(&id);
            }
        } else if page.lsn() >= record.at.end {
            self.skipped.set(self.skipped.get() + 1);
            return Ok(());
        } else if of_rows && id.fork == Fork::Main && page.is_new() {
            self.notes.unreadable().entry(id).or_insert(record.at.start);
            self.notes.met_unreadable.store(true, Ordering::Relaxed);
            return Ok(());
        }
        page.mark_dirty();
        if block.has_image() {
            let mut bytes = PageBytes::new();
            if !block.restore_image(&mut bytes.0) {
                return Err(garbled(record));
            }
            page.from_bytes(&bytes);
        } else {
            change(&mut page, block.bytes);
        }
        page.set_lsn(record.at.end);
        self.applied.set(self.applied.get() + 1);
        Ok(())
    }

    fn note_missing(&self, rel: RelId, record: &RecordView<'_>) {
        let first = || Missing { at: record.at.start, xids: BTreeSet::new() };
        self.notes.missing().entry(rel).or_insert_with(first).xids.insert(record.xid);
    }

    /// The first record that was left out and is not explained yet. What a transaction did that `rolled_back` needs no
    /// more explanation.
    pub fn oldest_unexplained(
        &self,
        rolled_back: impl Fn(Xid) -> Result<bool>,
    ) -> Result<Option<Lsn>> {
        let mut oldest = self.notes.unreadable().values().min().copied();
        for Missing { at, xids } in self.notes.missing().values() {
            let mut explained = true;
            for xid in xids.iter().filter(|xid| xid.is_normal()) {
                explained &= rolled_back(*xid)?;
            }
            if !explained && oldest.is_none_or(|oldest| *at < oldest) {
                oldest = Some(*at);
            }
        }
        Ok(oldest)
    }

    /// Redo of a cut, whose record names no page.
    pub(super) fn truncate(&self, record: &RecordView<'_>, rank: Rank) -> Result<()> {
        let bytes: &[u8; 9] = record.data.try_into().map_err(|_| garbled(record))?;
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let (rel, blocks) = (RelId(number(0)), number(5));
        let fork = Fork::from_u8(bytes[4]).ok_or_else(|| garbled(record))?;
        let cut = self.pool.relation(rel, rank).truncate(fork, blocks);
        self.notes
            .unreadable()
            .retain(|page, _| (page.rel, page.fork) != (rel, fork) || page.block.0 < blocks);
        match cut {
            Err(Error::NoSuchRelation(rel)) => {
                self.note_missing(rel, record);
                Ok(())
            }
            other => other,
        }
    }

    /// Removes the relation's files for a reason that the log gives. Files that can't be removed take room, and stop no start.
    pub fn remove(&self, rel: RelId) {
        if let Err(e) = self.pool.drop_relation(rel) {
            complain(&format!("relation {rel} was dropped, but its files remain"), &e);
        }
        self.dropped(rel);
    }

    /// The relation's files are gone for a reason that the log gives.
    fn dropped(&self, rel: RelId) {
        // Release: pairs with the acquire in `drops`.
        self.notes.drops.fetch_add(1, Ordering::Release);
        self.notes.missing().remove(&rel);
        self.notes.unreadable().retain(|page, _| page.rel != rel);
    }

    /// Pages changed, and pages found changed already.
    pub fn counts(&self) -> (u64, u64) {
        (self.applied.get(), self.skipped.get())
    }

    /// Fails if records were skipped and the rest of the log did not say why.
    pub fn finish(&self, committed: impl Fn(Xid) -> Result<bool>) -> Result<()> {
        if let Some((page, _)) = self.notes.unreadable().first_key_value() {
            let file = relfile::path(page.rel, page.fork);
            let detail = "it can't be read, and the log does not hold it whole";
            return Err(Error::damaged(file, Some(page.block), detail));
        }
        for (rel, missing) in self.notes.missing().iter() {
            for xid in missing.xids.iter().filter(|xid| xid.is_normal()) {
                if committed(*xid)? {
                    return Err(Error::NoSuchRelation(*rel));
                }
            }
        }
        Ok(())
    }
}
