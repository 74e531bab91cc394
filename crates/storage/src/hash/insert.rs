//! Inserting entries.
//!
//! An entry goes to the first page of its bucket, or to the overflow page behind it; with both full, to a new
//! overflow page that is linked between. So an insert touches two pages of a chain, however long that is.

use super::edit::{self, ADD_ONE_BYTES, Ops};
use super::page::*;
use super::search::Bucket;
use super::{Edit, HashIndex, first_latch, key_hash};
use crate::buffer::WriteGuard;
use crate::error::Result;
use crate::heap::fsm;
use crate::journal::Journal;
use crate::wal::{Kind, record_bound};
use base::{Fork, Tid, Xid, sim};

/// Log bytes of an insert that finds no room: a removal of marked entries, then a page with one entry.
const INSERT_BYTES: usize = record_bound(2, 3, 2 * MARKED_MAX + 128);

/// Marked entries that an insert removes at a time.
const MARKED_MAX: usize = 64;

/// Steps of somebody else's split that an insert takes over, at most.
const HELP_STEPS: u32 = 4;

impl HashIndex {
    /// Enters `key` for the row at `tid`.
    pub fn insert(&self, key: &[u8], tid: Tid) -> Result<()> {
        self.insert_hash(key_hash(key), tid)
    }

    /// Enters a key with this hash for the row at `tid`.
    pub fn insert_hash(&self, hash: u64, tid: Tid) -> Result<()> {
        let entry = Entry { hash, tid: tid.to_u64() };
        let mut helped = false;
        #[cfg(feature = "lab-hash-protocols")]
        let _lock = self.lock_bucket(hash)?;
        loop {
            let mut journal = Journal::open(&self.wal, &self.rel, 3, INSERT_BYTES)?;
            let Some(bucket) = self.latch_for(hash)? else {
                drop(journal);
                self.make()?;
                continue;
            };
            let state = bucket.node().state();
            if state != 0 && !helped {
                // Once is enough: what is left finds its next helper, and the bucket takes entries meanwhile.
                helped = true;
                let number = bucket.number;
                drop((bucket, journal));
                let old = if state & SPLITTING != 0 { number } else { parent_of(number) };
                self.help(old, HELP_STEPS)?;
                continue;
            }
            self.add(bucket, &mut journal, entry)?;
            drop(journal);
            #[cfg(feature = "lab-hash-protocols")]
            self.count_on_metapage()?;
            if self.counters.inserted() {
                self.grow_if_due()?;
                self.put_count_down_if_due()?;
            }
            return Ok(());
        }
    }

    /// Puts an entry into its bucket.
    fn add<'r>(
        &'r self,
        mut bucket: Bucket<'r>,
        journal: &mut Journal<'_>,
        entry: Entry,
    ) -> Result<()> {
        if bucket.node().room() == 0 && self.drop_marked(&mut bucket, journal) == 0 {
            let next = bucket.node().next();
            if next != NONE {
                let mut page = bucket.latch_overflow(self, next)?;
                if Node(page.view()).room() > 0 {
                    self.put(&mut page, journal, entry);
                    return Ok(());
                }
            }
            return self.add_page(&mut bucket, journal, &[entry]);
        }
        self.put(&mut bucket.page, journal, entry);
        Ok(())
    }

    /// Puts an entry on a latched page that has room.
    fn put(&self, page: &mut WriteGuard<'_>, journal: &mut Journal<'_>, entry: Entry) {
        page.mark_dirty();
        let ops: [u8; ADD_ONE_BYTES] = edit::add_one(entry);
        edit::apply(page, &ops);
        let at = journal
            .insert(|terms| terms.record(Kind::HASH_INSERT, Xid::INVALID).block(&*page, &ops));
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
    }

    /// Removes the entries of the bucket's first page that readers have marked dead; how many.
    fn drop_marked(&self, bucket: &mut Bucket<'_>, journal: &mut Journal<'_>) -> usize {
        let mut gone = bucket.node().positions(|_, slot| slot.is_dead());
        gone.truncate(MARKED_MAX);
        if !gone.is_empty() {
            self.counters.change(-(gone.len() as i64));
            let ops = Ops::new().remove(&gone);
            self.change(journal, Kind::HASH_REMOVE, &mut [Edit::of(&mut bucket.page, ops)]);
        }
        gone.len()
    }

    /// Links a new overflow page with these entries behind the first page of a bucket.
    pub(super) fn add_page<'r>(
        &'r self,
        bucket: &mut Bucket<'r>,
        journal: &mut Journal<'_>,
        entries: &[Entry],
    ) -> Result<()> {
        let _window = sim::window("hash-overflow");
        let mut page = self.allocate()?;
        let _reused = (!page.is_new()).then(|| sim::window("hash-page-reused"));
        let block = page.block();
        let init = Ops::new()
            .init(role::OVERFLOW, bucket.number, 0, 0)
            .next(bucket.node().next())
            .add(entries);
        let link = Ops::new().next(block);
        let mut edits = [Edit::anew(&mut page, init), Edit::of(&mut bucket.page, link)];
        self.change(journal, Kind::HASH_OVERFLOW, &mut edits);
        Ok(())
    }

    /// A page for new content, latched: one that was set free, else a new one. To be called under a bucket's
    /// latch at most, which may be waited for by nobody who has the page.
    pub(super) fn allocate(&self) -> Result<WriteGuard<'_>> {
        while let Some(block) = fsm::take_whole(&self.rel)? {
            // The map is a hint, and stale after a crash: only a page that says so is free. A new one might lie
            // in an extent, where no bucket has come to yet.
            let page = self.rel.pin(Fork::Main, block)?.try_write();
            if let Some(page) = page.filter(|page| Node(page.view()).is(role::FREE)) {
                return Ok(page);
            }
        }
        self.rel.extend(Fork::Main)
    }

    /// Makes the metapage and the first bucket of an empty index.
    fn make(&self) -> Result<()> {
        let mut journal = Journal::open(&self.wal, &self.rel, 2, record_bound(1, 2, 64))?;
        first_latch();
        let mut meta = if self.rel.blocks(Fork::Main)? == 0 {
            let page = self.rel.extend(Fork::Main)?;
            if page.block() != META {
                // Somebody else was first. The extra page stays empty.
                return Ok(());
            }
            page
        } else {
            self.rel.write(Fork::Main, META)?
        };
        if !meta.is_new() {
            return Ok(());
        }
        let start = self.rel.reserve(Fork::Main, extent_of(0).blocks)?;
        let mut first = self.rel.write_for_redo(Fork::Main, start, true)?;
        let ops = Ops::new().init_meta(target_of(self.fill_percent)).extent(start).size(1, 0);
        let init = Ops::new().init(role::BUCKET, 0, 0, 0);
        let mut edits = [Edit::anew(&mut meta, ops), Edit::anew(&mut first, init)];
        self.change(&mut journal, Kind::HASH_INIT, &mut edits);
        self.learn(&meta);
        Ok(())
    }

    /// Takes over into memory what was just changed on the latched metapage.
    fn learn(&self, meta: &WriteGuard<'_>) {
        self.counters.load(Node(meta.view()).meta_entries());
        self.directory.take(Node(meta.view()));
    }
}
