//! Where the next row goes.
//!
//! Every session has a stripe, and every stripe a target block of its own: concurrent inserters fill
//! different pages. A stripe whose page is full asks the free-space map, beginning at a place that depends
//! on the stripe, and else takes a new page.

use super::attention::LOOK_EVERY;
use super::page;
use super::{HeapRel, fsm, stripe_of};
use crate::buffer::{Ring, WriteGuard};
use crate::error::Result;
use crate::page::PageView;
use crate::txn::Txn;
use base::pad::{LINE_BYTES, Padded, is_one_line};
use base::sync::unmodelled::Ordering::Relaxed;
use base::sync::unmodelled::{AtomicU32, AtomicU64};
use base::{BlockNo, Fork};

/// Number of stripes; sessions share them.
pub(super) const STRIPES: usize = 16;

/// Pages of the free-space map's advice that an insert looks into before it takes a new page.
const TRIES: usize = 4;

/// Where some sessions insert, and what they count. Alone on its cache lines.
#[derive(Default)]
pub(super) struct Stripe(Padded<Counters>);

const _: () = assert!(is_one_line::<Counters>() && size_of::<Stripe>() == LINE_BYTES);

#[derive(Default)]
struct Counters {
    /// Target block, plus one; zero: none.
    target: AtomicU32,
    /// Rows inserted since the start.
    inserted: AtomicU64,
    /// Rows deleted, and inserts taken back.
    deleted: AtomicU64,
    /// Updates whose new version has index entries of its own.
    updated: AtomicU64,
    /// Updates whose new version needs none.
    hot_updated: AtomicU64,
}

impl Stripe {
    /// Where its sessions insert: a block's number plus one; zero: nowhere.
    pub(super) fn target(&self) -> &AtomicU32 {
        &self.0.target
    }
}

/// What a session did to a heap.
pub(super) enum Did {
    Insert(u64),
    Delete,
    Update { hot: bool },
}

/// What has been done to a heap since its handle was opened, by all sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Activity {
    /// Rows inserted.
    pub inserted: u64,
    /// Rows deleted, and inserts taken back.
    pub deleted: u64,
    /// Updates that needed index entries.
    pub updated: u64,
    /// Updates that needed none.
    pub hot_updated: u64,
}

impl HeapRel {
    fn stripe(&self, txn: &Txn) -> &Counters {
        &self.stripes[stripe_of(txn) % STRIPES].0
    }

    /// Counts what this session did, in its own stripe; hints for vacuum.
    pub(super) fn count(&self, txn: &Txn, did: Did) {
        let stripe = self.stripe(txn);
        let (counter, by) = match did {
            Did::Insert(rows) => (&stripe.inserted, rows),
            Did::Delete => (&stripe.deleted, 1),
            Did::Update { hot: false } => (&stripe.updated, 1),
            Did::Update { hot: true } => (&stripe.hot_updated, 1),
        };
        // Relaxed: figures.
        let before = counter.fetch_add(by, Relaxed);
        if before / LOOK_EVERY != (before + by) / LOOK_EVERY {
            self.look_for_dirt();
        }
    }

    /// What was done through this handle.
    pub fn activity(&self) -> Activity {
        let sum = |f: fn(&Counters) -> &AtomicU64| {
            self.stripes.iter().map(|s| f(&s.0).load(Relaxed)).sum()
        };
        Activity {
            inserted: sum(|c| &c.inserted),
            deleted: sum(|c| &c.deleted),
            updated: sum(|c| &c.updated),
            hot_updated: sum(|c| &c.hot_updated),
        }
    }

    /// What was done to these rows: [`HeapRel::activity`] less what was done to those of the heap before.
    pub fn own_activity(&self) -> Activity {
        let (all, before) = (self.activity(), self.before.get().copied().unwrap_or_default());
        Activity {
            inserted: all.inserted - before.inserted,
            deleted: all.deleted - before.deleted,
            updated: all.updated - before.updated,
            hot_updated: all.hot_updated - before.hot_updated,
        }
    }

    /// Goes on from what was counted in another heap. Nobody may be changing either.
    pub(super) fn count_on_from(&self, other: &HeapRel) {
        for (own, theirs) in self.stripes.iter().zip(&other.stripes) {
            let (own, theirs) = (&own.0, &theirs.0);
            // Relaxed: figures.
            own.inserted.store(theirs.inserted.load(Relaxed), Relaxed);
            own.deleted.store(theirs.deleted.load(Relaxed), Relaxed);
            own.updated.store(theirs.updated.load(Relaxed), Relaxed);
            own.hot_updated.store(theirs.hot_updated.load(Relaxed), Relaxed);
        }
        // A heap succeeds another once.
        let _ = self.before.set(self.activity());
    }

    /// A latched page with room for a new row of `len` bytes. It may be all zero: then the caller
    /// initialises it, and logs that.
    pub(super) fn page_with_room(
        &self,
        txn: &Txn,
        len: usize,
        mut ring: Option<&mut Ring>,
    ) -> Result<WriteGuard<'_>> {
        let target = &self.stripe(txn).target;
        // Relaxed: a hint; the page itself says whether there is room.
        if let Some(block) = target.load(Relaxed).checked_sub(1) {
            let page = self.latch_in(ring.as_deref_mut(), BlockNo(block))?;
            if takes_insert(page.view(), len, self.reserve()) {
                return Ok(page);
            }
            let free = page::room(page.view());
            drop(page);
            fsm::record(&self.rel, BlockNo(block), free)?;
        }
        let page = self.find_room(txn, len, ring)?;
        target.store(page.block().0 + 1, Relaxed);
        Ok(page)
    }

    fn latch_in(&self, ring: Option<&mut Ring>, block: BlockNo) -> Result<WriteGuard<'_>> {
        match ring {
            Some(ring) => self.rel.write_in(ring, Fork::Main, block),
            None => self.rel.write(Fork::Main, block),
        }
    }

    fn find_room(
        &self,
        txn: &Txn,
        len: usize,
        mut ring: Option<&mut Ring>,
    ) -> Result<WriteGuard<'_>> {
        let needed = len + self.reserve();
        for _ in 0..TRIES {
            let Some(block) = fsm::search(&self.rel, needed, stripe_of(txn))? else { break };
            let page = self.latch_in(ring.as_deref_mut(), block)?;
            if takes_insert(page.view(), len, self.reserve()) {
                return Ok(page);
            }
            let free = page::room(page.view()).min(needed.saturating_sub(1));
            drop(page);
            fsm::record(&self.rel, block, free)?;
        }
        match ring {
            Some(ring) => self.rel.extend_in(ring, Fork::Main),
            None => self.rel.extend(Fork::Main),
        }
    }

    /// A block that probably has room for the new version of a row, other than `not`. Nothing is latched.
    pub(super) fn block_for_version(&self, txn: &Txn, len: usize, not: BlockNo) -> Result<BlockNo> {
        let target = &self.stripe(txn).target;
        if let Some(block) = target.load(Relaxed).checked_sub(1).map(BlockNo)
            && block != not
        {
            let page = self.rel.read(Fork::Main, block)?;
            if takes_version(page.view(), len) {
                return Ok(block);
            }
            let free = page::room(page.view());
            drop(page);
            fsm::record(&self.rel, block, free)?;
        }
        for _ in 0..TRIES {
            let Some(block) = fsm::search(&self.rel, len, stripe_of(txn))? else { break };
            let (fits, free) = {
                let page = self.rel.read(Fork::Main, block)?;
                (block != not && takes_version(page.view(), len), page::room(page.view()))
            };
            if fits {
                target.store(block.0 + 1, Relaxed);
                return Ok(block);
            }
            fsm::record(&self.rel, block, free.min(len.saturating_sub(1)))?;
        }
        let block = self.rel.extend(Fork::Main)?.block();
        target.store(block.0 + 1, Relaxed);
        Ok(block)
    }
}

/// Whether an insert may go to the page: it fits, and leaves what is to be left unless the page is empty.
fn takes_insert(page: PageView<'_>, len: usize, reserve: usize) -> bool {
    page.is_new()
        || page::has_room(page, len)
            && (page.line_count() == 0 || page::room(page) >= len + reserve)
}

/// Whether an update's new version may go to the page.
pub(super) fn takes_version(page: PageView<'_>, len: usize) -> bool {
    page.is_new() || page::has_room(page, len)
}
