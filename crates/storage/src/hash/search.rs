//! Finding a bucket and reading its chain.
//!
//! No latch is taken on the way: the bucket's page is read optimistically, its overflow pages within the same
//! read, so that the version of the first page vouches for all of them (X1). What the number of buckets in
//! memory leads to is checked against the bucket's stamp (X2).

use super::page::*;
use super::{HashIndex, first_latch};
use crate::buffer::{Optimistic, ReadGuard, Ring, WriteGuard};
use crate::error::{Error, Result};
use base::{BlockNo, Fork, Tid};

/// After so many failed optimistic reads the bucket is latched.
const OPTIMISTIC_TRIES: u32 = 8;
/// Overflow pages that are read without a latch; longer chains are read under the bucket's.
const OPTIMISTIC_CHAIN: u32 = 4;
/// After so many stale mappings the index is taken to be damaged.
const RETRIES_MAX: u32 = 10_000;

/// What a bucket's page says to somebody who looks for a hash.
enum Seen {
    Done,
    /// The bucket has been split since the number of buckets was read.
    Stale,
    /// Its entries may be in the bucket that it was split from.
    Filling,
    /// Its chain goes on.
    Long,
}

impl HashIndex {
    /// The rows whose key has this hash, into `tids`, which is emptied first. Other keys may have the same
    /// hash: whoever fetches a row compares.
    #[inline]
    pub fn lookup_hash(&self, hash: u64, tids: &mut Vec<Tid>) -> Result<()> {
        #[cfg(feature = "lab-hash-protocols")]
        if let Some(_lock) = self.lock_bucket(hash)? {
            tids.clear();
            return self.lookup_latched(hash, &mut |node, _| node.append_equal(hash, tids));
        }
        self.lookup_optimistic(hash, tids)
    }

    /// As [`HashIndex::lookup_hash`], without a latch where that is possible.
    #[inline]
    fn lookup_optimistic(&self, hash: u64, tids: &mut Vec<Tid>) -> Result<()> {
        for _ in 0..OPTIMISTIC_TRIES {
            tids.clear();
            let buckets = self.buckets()?;
            if buckets == 0 {
                return Ok(());
            }
            let bucket = bucket_of(hash, buckets);
            let seen = self.rel.optimistic(Fork::Main, self.block_of(bucket), |page| {
                self.gather(Node(page), bucket, hash, tids)
            });
            match seen {
                Optimistic::Ok(Seen::Done) => return Ok(()),
                Optimistic::Ok(Seen::Stale) => {
                    self.refresh()?;
                }
                Optimistic::Ok(Seen::Filling | Seen::Long) => break,
                Optimistic::Retry => {}
            }
        }
        tids.clear();
        self.lookup_latched(hash, &mut |node, _| node.append_equal(hash, tids))
    }

    /// Reads a chain without a latch; see the module.
    #[inline]
    fn gather(&self, node: Node<'_>, bucket: u32, hash: u64, tids: &mut Vec<Tid>) -> Option<Seen> {
        if !node.is_bucket_for(bucket, hash) {
            return Some(Seen::Stale);
        }
        if node.has(FILLING) {
            return Some(Seen::Filling);
        }
        node.append_equal(hash, tids);
        let mut next = node.next();
        for _ in 0..OPTIMISTIC_CHAIN {
            if next == NONE {
                return Some(Seen::Done);
            }
            let step = self.rel.optimistic(Fork::Main, next, |page| {
                let node = Node(page);
                node.is_overflow_of(bucket).then(|| {
                    node.append_equal(hash, tids);
                    node.next()
                })
            });
            match step {
                Optimistic::Ok(after) => next = after,
                Optimistic::Retry => return None,
            }
        }
        Some(if next == NONE { Seen::Done } else { Seen::Long })
    }

    /// Shows every page where entries of `hash` may be, under shared latches of its bucket, and of the one
    /// that it is being split from.
    pub(super) fn lookup_latched(
        &self,
        hash: u64,
        see: &mut dyn FnMut(Node<'_>, BlockNo),
    ) -> Result<()> {
        let mut retries = 0;
        loop {
            let buckets = self.buckets()?;
            if buckets == 0 {
                return Ok(());
            }
            let bucket = bucket_of(hash, buckets);
            first_latch();
            let page = self.rel.read(Fork::Main, self.block_of(bucket))?;
            let node = Node(page.view());
            let is_stale = !node.is_bucket_for(bucket, hash);
            if !is_stale && !node.has(FILLING) {
                return self.see_chain(&page, bucket, see);
            }
            drop(page);
            if !is_stale && self.lookup_both(bucket, hash, see)? {
                return Ok(());
            }
            self.refresh()?;
            self.give_up_after(&mut retries)?;
        }
    }

    /// Reads a bucket that is being filled and the one that it comes from. False if it has been split since.
    fn lookup_both(
        &self,
        bucket: u32,
        hash: u64,
        see: &mut dyn FnMut(Node<'_>, BlockNo),
    ) -> Result<bool> {
        let parent = parent_of(bucket);
        // The lower bucket first, as splits do.
        assert_ascending(parent, bucket);
        let old = self.rel.read(Fork::Main, self.block_of(parent))?;
        let new = self.rel.read(Fork::Main, self.block_of(bucket))?;
        let node = Node(new.view());
        if !node.is_bucket_for(bucket, hash) {
            return Ok(false);
        }
        if node.has(FILLING) {
            self.see_chain(&old, parent, see)?;
        }
        self.see_chain(&new, bucket, see)?;
        Ok(true)
    }

    /// Shows every page of a chain whose first page is latched.
    pub(super) fn see_chain(
        &self,
        first: &ReadGuard<'_>,
        bucket: u32,
        see: &mut dyn FnMut(Node<'_>, BlockNo),
    ) -> Result<()> {
        let node = Node(first.view());
        see(node, first.block());
        let mut next = node.next();
        while next != NONE {
            let page = self.rel.read(Fork::Main, next)?;
            let node = self.overflow(Node(page.view()), next, bucket)?;
            see(node, next);
            next = node.next();
        }
        Ok(())
    }

    /// Makes sure that a page of a chain is one.
    pub(super) fn overflow<'n>(
        &self,
        node: Node<'n>,
        block: BlockNo,
        bucket: u32,
    ) -> Result<Node<'n>> {
        if node.is_overflow_of(bucket) {
            return Ok(node);
        }
        let detail = format!("it is linked from bucket {bucket}, and no overflow page of it");
        Err(Error::damaged(self.name(), Some(block), detail))
    }

    /// The bucket of a hash, latched. `None`: the index has no page yet. No latch may be held.
    #[inline]
    pub(super) fn latch_for(&self, hash: u64) -> Result<Option<Bucket<'_>>> {
        let mut retries = 0;
        loop {
            let buckets = self.buckets()?;
            if buckets == 0 {
                return Ok(None);
            }
            let number = bucket_of(hash, buckets);
            let page = self.latch_first(number)?;
            if Node(page.view()).is_bucket_for(number, hash) {
                return Ok(Some(Bucket { number, page }));
            }
            drop(page);
            self.refresh()?;
            self.give_up_after(&mut retries)?;
        }
    }

    /// The bucket with this number, latched. No latch may be held.
    pub(super) fn latch_bucket(&self, number: u32) -> Result<Bucket<'_>> {
        self.latch_bucket_in(None, number)
    }

    /// As [`HashIndex::latch_bucket`], in a ring.
    pub(super) fn latch_bucket_in(
        &self,
        ring: Option<&mut Ring>,
        number: u32,
    ) -> Result<Bucket<'_>> {
        first_latch();
        self.bucket(number, self.write_in(ring, self.block_of(number))?)
    }

    /// A page, latched alone, perhaps in a ring.
    pub(super) fn write_in(
        &self,
        ring: Option<&mut Ring>,
        block: BlockNo,
    ) -> Result<WriteGuard<'_>> {
        match ring {
            Some(ring) => self.rel.write_in(ring, Fork::Main, block),
            None => self.rel.write(Fork::Main, block),
        }
    }

    /// A second bucket, above the first, which is latched.
    pub(super) fn latch_partner<'r>(
        &'r self,
        first: &Bucket<'_>,
        number: u32,
    ) -> Result<Bucket<'r>> {
        assert_ascending(first.number, number);
        self.bucket(number, self.rel.write(Fork::Main, self.block_of(number))?)
    }

    fn latch_first(&self, number: u32) -> Result<WriteGuard<'_>> {
        first_latch();
        self.rel.write(Fork::Main, self.block_of(number))
    }

    pub(super) fn bucket<'r>(&self, number: u32, page: WriteGuard<'r>) -> Result<Bucket<'r>> {
        let node = Node(page.view());
        if node.is(role::BUCKET) && node.bucket() == number {
            return Ok(Bucket { number, page });
        }
        let detail = format!("the first page of bucket {number} should be here");
        Err(Error::damaged(self.name(), Some(page.block()), detail))
    }

    fn give_up_after(&self, retries: &mut u32) -> Result<()> {
        *retries += 1;
        if *retries < RETRIES_MAX {
            return Ok(());
        }
        Err(Error::damaged(self.name(), Some(META), "buckets and their stamps do not agree"))
    }
}

/// Says that with the first bucket latched the second one is latched next.
#[inline]
pub(super) fn assert_ascending(first: u32, second: u32) {
    assert!(first < second, "buckets are latched in ascending order: {first}, then {second}");
}

/// A bucket that is latched alone by its first page: the right to change any page of its chain (X1).
pub(super) struct Bucket<'r> {
    pub number: u32,
    pub page: WriteGuard<'r>,
}

impl Bucket<'_> {
    pub fn node(&self) -> Node<'_> {
        Node(self.page.view())
    }

    /// Latches another page of the chain.
    pub fn latch_overflow<'r>(
        &self,
        index: &'r HashIndex,
        block: BlockNo,
    ) -> Result<WriteGuard<'r>> {
        self.latch_overflow_in(index, None, block)
    }

    /// As [`Bucket::latch_overflow`], in a ring.
    pub fn latch_overflow_in<'r>(
        &self,
        index: &'r HashIndex,
        ring: Option<&mut Ring>,
        block: BlockNo,
    ) -> Result<WriteGuard<'r>> {
        let page = index.write_in(ring, block)?;
        index.overflow(Node(page.view()), block, self.number)?;
        Ok(page)
    }
}
