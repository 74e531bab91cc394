//! Building an index from sorted entries: each page is drawn in private memory and written once.
//!
//! Entries come in the order of [`build_order`], in which those of a bucket follow each other however many
//! buckets there are; so they can be sorted before it is known how many that will be. The relation was made by
//! the building transaction and nobody else sees it; a crash leaves files of a transaction that did not commit.

use super::HashIndex;
use super::edit::{self, Ops};
use super::page::*;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::page::{PAGE_BYTES, PageBuf, PageBytes};
use crate::wal::{Kind, PageImage, record_bound};
use base::{BlockNo, Fork, Tid, Xid, sim};

/// Takes entries in order and makes an index of them.
pub struct Builder<'i> {
    index: &'i HashIndex,
    buckets: u32,
    /// The bucket whose entries are being collected.
    bucket: u32,
    entries: Vec<Entry>,
    /// Buckets that are written, a bit each.
    written: Vec<u64>,
    meta: Ops,
    pushed: u64,
    _window: sim::Window,
}

/// The sort key of a hash: its bits from the lowest up.
pub fn build_order(hash: u64) -> [u8; 8] {
    hash.reverse_bits().to_be_bytes()
}

impl HashIndex {
    /// Starts building into this index, which must be empty and unknown to others, for so many entries.
    pub fn build(&self, entries: u64, fill_percent: u8) -> Result<Builder<'_>> {
        let target = target_of(fill_percent);
        let window = sim::window("hash-build");
        let meta = self.rel.extend(Fork::Main)?;
        if meta.block() != META {
            return Err(Error::damaged(self.name(), Some(META), "the index to build is not empty"));
        }
        drop(meta);
        let wanted = entries.div_ceil(u64::from(target)).clamp(1, u64::from(BUCKETS_MAX));
        let mut meta = Ops::new().init_meta(target);
        let mut buckets = 0;
        // To the end of an extent: its blocks are taken anyway, and a bucket that is split already needs no overflow page.
        while u64::from(buckets) < wanted {
            let spot = extent_of(buckets);
            meta = meta.extent(self.rel.reserve(Fork::Main, spot.blocks)?);
            buckets += spot.blocks;
            base::interrupt::check()?;
        }
        // Nobody else knows the index yet, so memory may run ahead of the pages.
        let mut draft = PageBuf::new();
        edit::apply(&mut draft.page_mut(), meta.bytes());
        edit::apply(&mut draft.page_mut(), Ops::new().size(buckets, entries).bytes());
        self.directory.take(Node(draft.view()));
        Ok(Builder {
            index: self,
            buckets,
            bucket: 0,
            entries: Vec::new(),
            written: vec![0; buckets.div_ceil(64) as usize],
            meta,
            pushed: 0,
            _window: window,
        })
    }
}

impl Builder<'_> {
    /// As [`Builder::push`], by the entry's sort key.
    pub fn push_in_order(&mut self, order: &[u8], tid: Tid) -> Result<()> {
        let order = order.try_into().expect("build_order gives 8 bytes");
        self.push(u64::from_be_bytes(order).reverse_bits(), tid)
    }

    /// Appends an entry; they must come in [`build_order`].
    pub fn push(&mut self, hash: u64, tid: Tid) -> Result<()> {
        let bucket = bucket_of(hash, self.buckets);
        if bucket != self.bucket {
            self.write_bucket()?;
            self.bucket = bucket;
        }
        self.entries.push(Entry { hash, tid: tid.to_u64() });
        self.pushed += 1;
        if self.pushed.is_multiple_of(1024) {
            base::interrupt::check()?;
            base::park::checkpoint();
        }
        Ok(())
    }

    /// Writes what is left: buckets without entries, and the metapage. Returns the number of entries.
    pub fn finish(mut self) -> Result<u64> {
        self.write_bucket()?;
        for bucket in 0..self.buckets {
            if self.written[bucket as usize / 64] & 1 << (bucket % 64) == 0 {
                self.bucket = bucket;
                self.write_bucket()?;
                base::interrupt::check()?;
            }
        }
        let meta = std::mem::take(&mut self.meta).size(self.buckets, self.pushed);
        self.index.write_whole(META, &meta)?;
        self.index.counters.load(self.pushed);
        Ok(self.pushed)
    }

    /// Writes the pages of the current bucket.
    fn write_bucket(&mut self) -> Result<()> {
        let (word, bit) = (self.bucket as usize / 64, 1 << (self.bucket % 64));
        assert!(self.written[word] & bit == 0, "entries to build from come bucket by bucket");
        self.written[word] |= bit;
        self.entries.sort_unstable();
        let mut next = NONE;
        let first = self.entries.len().min(MAX_ENTRIES);
        let (first, rest) = self.entries.split_at(first);
        for chunk in rest.chunks(MAX_ENTRIES) {
            let block = self.index.rel.extend(Fork::Main)?.block();
            let ops = Ops::new().init(role::OVERFLOW, self.bucket, 0, 0);
            self.index.write_whole(block, &ops.next(next).add(chunk))?;
            next = block;
        }
        let depth = depth_of(self.bucket, self.buckets);
        let ops = Ops::new().init(role::BUCKET, self.bucket, depth, 0).next(next).add(first);
        self.index.write_whole(self.index.block_of(self.bucket), &ops)?;
        self.entries.clear();
        Ok(())
    }
}

impl HashIndex {
    /// Makes a page from nothing and logs it whole.
    fn write_whole(&self, block: BlockNo, ops: &Ops) -> Result<()> {
        let mut draft = PageBuf::new();
        edit::apply(&mut draft.page_mut(), ops.bytes());
        let mut journal =
            Journal::open(&self.wal, &self.rel, 1, record_bound(1, 1, PAGE_BYTES + 16))?;
        let mut page = self.rel.write_for_redo(Fork::Main, block, true)?;
        page.mark_dirty();
        page.copy_from(draft.view());
        let at = journal.insert(|terms| {
            let mut bytes = PageBytes::new();
            draft.view().to_bytes(&mut bytes);
            let hole = draft.view().lower()..draft.view().upper();
            let image = PageImage::new(&bytes.0, hole);
            terms.record(Kind::HASH_PAGE, Xid::INVALID).image_block(page.page_id(), image)
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
        Ok(())
    }
}
