//! For the laboratory: the two protocols that seed S4 compared, in place of reading the number of buckets from one word.
//!
//! | protocol | look-ups and inserts |
//! |---|---|
//! | [`Protocol::Master`] | lock the metapage, in the table of locks; latch it and read the mapping; lock the bucket; unlock the metapage; latch the bucket's page |
//! | [`Protocol::Patch`] | latch the metapage and read the mapping; lock the bucket; latch the metapage again, and start over if the mapping has changed |
//!
//! An index follows the one that it is told ([`HashIndex::following`]), so that one program has them side by side; what the
//! one that is built pays for that is a branch that always goes the same way. The two then count an insert on the latched
//! metapage, as PostgreSQL did. The locks lie in a table of 16 partitions, each under a latch, as PostgreSQL's do; taking one
//! costs less here than there, where a session's own table, a fast path
//! and the lock's and its holder's entries come to it. Only shared locks are taken: splits stay as they are, under
//! latches, and their readers look again as always. What this compares is what look-ups and inserts write that all of
//! them share; a build that counts shared lines (`lab-counts`) counts the partitions' latches and each lock's holders, not
//! the table around them.

use super::HashIndex;
use super::page::{META, Node, bucket_of};
use crate::error::Result;
use base::hash::HashMap;
use base::latch::Latch;
use base::pad::Padded;
use base::rank::Rank;
use base::sync::unmodelled::AtomicU32;
use base::sync::unmodelled::Ordering::Relaxed;
use base::{BlockNo, Fork, RelId};
use std::sync::LazyLock;

/// What look-ups and inserts of an index do before they come to a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// What every other build does.
    Built,
    /// As PostgreSQL before the seed.
    Master,
    /// As the seed had it.
    Patch,
}

const PARTITIONS: usize = 16;

/// A locked page.
type Tag = (RelId, BlockNo);

/// How many hold each locked page; nobody holds one alone. Changed under the latch; an atomic is what is counted.
type Held = Latch<HashMap<Tag, AtomicU32>>;

static LOCKS: LazyLock<[Padded<Held>; PARTITIONS]> =
    LazyLock::new(|| std::array::from_fn(|_| Padded(Latch::new(Rank::Leaf, HashMap::default()))));

/// A page that is locked, shared, until this is dropped.
pub(super) struct PageLock(Tag);

fn partition(tag: Tag) -> &'static Held {
    &LOCKS[(tag.1.0 as usize) % PARTITIONS].0
}

impl PageLock {
    fn take(tag: Tag) -> PageLock {
        // Relaxed here and below: under the latch.
        partition(tag).lock().entry(tag).or_default().fetch_add(1, Relaxed);
        PageLock(tag)
    }
}

impl Drop for PageLock {
    fn drop(&mut self) {
        let mut held = partition(self.0).lock();
        let holders = held.get(&self.0).expect("it is held");
        if holders.fetch_sub(1, Relaxed) == 1 {
            held.remove(&self.0);
        }
    }
}

impl HashIndex {
    /// The same index under this protocol.
    pub fn following(self, protocol: Protocol) -> HashIndex {
        HashIndex { protocol, ..self }
    }

    /// Locks the bucket of a hash in the protocol's way; `None` under the one that is built, and for an index without a page.
    #[inline]
    pub(super) fn lock_bucket(&self, hash: u64) -> Result<Option<PageLock>> {
        match self.protocol {
            Protocol::Built => Ok(None),
            protocol => self.lock_bucket_by(protocol, hash),
        }
    }

    fn lock_bucket_by(&self, protocol: Protocol, hash: u64) -> Result<Option<PageLock>> {
        if self.buckets()? == 0 {
            return Ok(None);
        }
        if protocol == Protocol::Master {
            let metapage = PageLock::take((self.rel.id(), META));
            let bucket = PageLock::take((self.rel.id(), self.mapped(hash)?));
            drop(metapage);
            return Ok(Some(bucket));
        }
        let mut block = self.mapped(hash)?;
        loop {
            let bucket = PageLock::take((self.rel.id(), block));
            let now = self.mapped(hash)?;
            if now == block {
                return Ok(Some(bucket));
            }
            block = now;
        }
    }

    /// The first page of the bucket of a hash, by the latched metapage.
    fn mapped(&self, hash: u64) -> Result<BlockNo> {
        super::first_latch();
        let meta = self.rel.read(Fork::Main, META)?;
        let bucket = bucket_of(hash, Node(meta.view()).meta_buckets());
        Ok(self.block_of(bucket))
    }

    /// Takes the metapage alone, as PostgreSQL does to count an insert there, unless the protocol is the one that is built.
    #[inline]
    pub(super) fn count_on_metapage(&self) -> Result<()> {
        if self.protocol == Protocol::Built {
            return Ok(());
        }
        super::first_latch();
        drop(self.rel.write(Fork::Main, META)?);
        Ok(())
    }
}
