//! Misses: one context reads, the others wait for it, and all of them learn when it fails.

use super::Ring;
use super::frame::Frame;
use super::io::{Purpose, Timed};
use super::latch;
use super::pool::count;
use super::relation::Relation;
use super::slot::{Place, Slot};
use super::word::{NoPin, PIN};
use crate::error::{Error, Result};
use crate::page::{self, PAGE_BYTES, PageBytes, PageMut};
use crate::relfile;
use base::hash::hash_of;
use base::latch::Latch;
use base::lot;
use base::park;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicUsize, Ordering, fence};
use base::wait_event::{self, Event};
use base::{BlockNo, Fork, PageId};
use std::collections::BTreeMap;

/// What a page that is not in memory is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Its block in the file.
    File,
    /// Zeros: redo is about to write all of it.
    Zeros,
}

/// How a page is wanted.
#[derive(Clone, Copy)]
pub(super) struct Want {
    pub source: Source,
    /// The caller started to read it before.
    pub started: bool,
}

impl Want {
    pub const PAGE: Want = Want { source: Source::File, started: false };
}

/// Failed loads that waiters have yet to hear of.
pub(super) struct Failures {
    by_load: Latch<BTreeMap<u32, (usize, Error)>>,
    len: AtomicUsize,
}

impl Default for Failures {
    fn default() -> Failures {
        Failures { by_load: Latch::new(Rank::Leaf, BTreeMap::new()), len: AtomicUsize::new(0) }
    }
}

impl Failures {
    /// Ends load `number` of `slot` without a page; whoever waits for it will find `error`.
    fn fail(&self, slot: &Slot, number: u32, error: &Error) {
        if let Error::Interrupted(_) = error {
            // The others are not: one of them tries again.
            if slot.settle(None) {
                lot::unpark_all(slot.key());
            }
            return;
        }
        let mut by_load = self.by_load.lock();
        // SeqCst: the woken look here only if this is not zero; the wake-up orders it anyway.
        self.len.fetch_add(1, Ordering::SeqCst);
        let heirs = if slot.settle(None) { lot::unpark_all(slot.key()) } else { 0 };
        if heirs > 0 {
            by_load.insert(number, (heirs, copy_of(error)));
        } else {
            // SeqCst, as all, but nothing hangs on it: nobody waits.
            self.len.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Nobody has yet to hear of any.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.by_load.lock().is_empty() && self.len.load(Ordering::SeqCst) == 0
    }

    /// The error of load `number`, for one that waited for it; `None` if it succeeded.
    fn inherit(&self, number: u32) -> Option<Error> {
        // SeqCst: pairs with the addition in `fail`, which comes before the wake-up.
        if self.len.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut by_load = self.by_load.lock();
        let (heirs, error) = by_load.get_mut(&number)?;
        *heirs -= 1;
        let mine = copy_of(error);
        if *heirs == 0 {
            by_load.remove(&number);
            // SeqCst, as all, but nothing hangs on it: it changes under the latch.
            self.len.fetch_sub(1, Ordering::SeqCst);
        }
        Some(mine)
    }
}

/// The same error again, for another who waited for the same page.
fn copy_of(error: &Error) -> Error {
    match error {
        Error::Io(e) => Error::Io(e.clone()),
        Error::Damaged { file, block, detail } => {
            Error::Damaged { file: file.clone(), block: *block, detail: detail.clone() }
        }
        Error::DiskFull { file, block } => Error::DiskFull { file: file.clone(), block: *block },
        Error::NoSuchRelation(rel) => Error::NoSuchRelation(*rel),
        Error::NoFreeBuffer { waited } => Error::NoFreeBuffer { waited: *waited },
        other => Error::LimitExceeded(other.to_string()),
    }
}

impl Relation {
    /// The frame of a block, pinned; loads it if need be.
    pub(super) fn pin_frame(
        &self,
        fork: Fork,
        block: BlockNo,
        want: Want,
        mut ring: Option<&mut Ring>,
    ) -> Result<&Frame> {
        self.map().check_there()?;
        let map = self.map().fork(fork);
        let blocks = self.blocks(fork)?;
        if block.0 >= blocks {
            return Err(self.not_there(fork, block, blocks));
        }
        let slot = map.slot_or_make(block);
        loop {
            match slot.place() {
                Place::Frame(index) => {
                    if let Some(frame) = self.try_pin(slot, index)? {
                        // What was read ahead was counted then.
                        if !want.started {
                            self.map().count_hit();
                            if let Some(ring) = &ring {
                                self.pool().io.ring_hit(self.id(), ring.purpose());
                            }
                        }
                        return Ok(frame);
                    }
                }
                Place::Loading(number) => {
                    if want.started {
                        let timed = Timed::start();
                        slot.wait(number, Event::DataFileRead);
                        let purpose = Purpose::of(ring.as_deref());
                        let ns = self.pool().io.waited(self.id(), purpose, &timed);
                        self.map().count_read_time(ns);
                    } else {
                        slot.wait(number, Event::BufferIo);
                    }
                    if let Some(error) = self.failure_of(slot, number) {
                        return Err(error);
                    }
                }
                Place::Empty => {
                    let page = PageId { rel: self.id(), fork, block };
                    if let Some(frame) = self.load(slot, page, want.source, ring.as_deref_mut())? {
                        return Ok(frame);
                    }
                }
            }
        }
    }

    /// How the load failed that the caller has waited for, if it has ended so.
    fn failure_of(&self, slot: &Slot, number: u32) -> Option<Error> {
        if slot.place() == Place::Loading(number) {
            return None;
        }
        self.pool().failures.inherit(number)
    }

    /// Waits for a load's end, whatever that is. Its error is left for everybody who waits: this one's copy goes at once.
    pub(super) fn outlast_load(&self, slot: &Slot, number: u32) {
        slot.wait(number, Event::BufferIo);
        drop(self.failure_of(slot, number));
    }

    /// One attempt to pin the frame that a slot named.
    fn try_pin(&self, slot: &Slot, index: u32) -> Result<Option<&Frame>> {
        let frame = &self.pool().frames[index as usize];
        match frame.word.try_pin() {
            Ok(()) if slot.place() == Place::Frame(index) => return Ok(Some(frame)),
            Ok(()) => frame.word.unpin(),
            // Whoever is evicting it clears the slot next; on a fiber nobody runs in between.
            Err(NoPin::Absent) => park::yield_now(),
            Err(NoPin::TooMany) => {
                let page = frame.page_id();
                let file = relfile::path(page.rel, page.fork);
                let what = format!("too many pins on block {} of file \"{file}\"", page.block);
                return Err(Error::LimitExceeded(what));
            }
        }
        Ok(None)
    }

    /// Loads the page if nobody else does.
    fn load(
        &self,
        slot: &Slot,
        page: PageId,
        source: Source,
        ring: Option<&mut Ring>,
    ) -> Result<Option<&Frame>> {
        let pool = self.pool();
        // Relaxed: only distinctness among the loads in flight matters.
        let number = pool.load_number.fetch_add(1, Ordering::Relaxed);
        let Some(number) = slot.claim(number) else { return Ok(None) };
        let filled = match self.is_cut_off(page.fork, page.block) {
            Some(error) => Err(error),
            None => self.fill(slot, page, source, ring),
        };
        match filled {
            Ok(frame) => {
                frame.word.publish(PIN);
                if slot.settle(Some(frame.index)) {
                    lot::unpark_all(slot.key());
                }
                Ok(Some(frame))
            }
            Err(error) => {
                pool.failures.fail(slot, number, &error);
                Err(error)
            }
        }
    }

    /// The error for a block that has been cut off since its number was looked at. To be called with the slot claimed:
    /// who cuts stores the length and then looks at the slots, so that one of the two sees the other.
    pub(super) fn is_cut_off(&self, fork: Fork, block: BlockNo) -> Option<Error> {
        // Pairs with the fence in `Relation::truncate`.
        fence(Ordering::SeqCst);
        let blocks = self.map().fork(fork).blocks.load(Ordering::SeqCst);
        (block.0 >= blocks).then(|| self.not_there(fork, block, blocks))
    }

    fn not_there(&self, fork: Fork, block: BlockNo, blocks: u32) -> Error {
        let detail = format!("there are only {blocks} blocks");
        Error::damaged(relfile::path(self.id(), fork), Some(block), detail)
    }

    fn fill(
        &self,
        slot: &Slot,
        page: PageId,
        source: Source,
        mut ring: Option<&mut Ring>,
    ) -> Result<&Frame> {
        let pool = self.pool();
        let (counts, purpose) = (ring.is_none(), Purpose::of(ring.as_deref()));
        let frame = pool.take_frame(ring.as_deref_mut())?;
        let mut memory = PageMut::new(pool.pages.get(frame.index));
        if source == Source::File {
            // By way of a private copy: an old reader without a latch may still look at the frame.
            let mut bytes = PageBytes([0; PAGE_BYTES]);
            let timed = Timed::start();
            if let Err(error) = self.read_checked(page, &mut bytes) {
                pool.free.give(&[frame.index]);
                return Err(error);
            }
            memory.from_bytes(&bytes);
            count(&pool.counters.loads, 1);
            let ns = pool.io.read(page.rel, purpose, &timed);
            self.map().count_read_time(ns);
            self.map().count_reads(1);
        } else {
            memory.clear();
        }
        frame.bind(page, slot);
        if let Some(ring) = ring {
            ring.note(frame.index, page);
        }
        pool.replacer.loaded(frame.index, &frame.credit, hash_of(&page), counts);
        Ok(frame)
    }

    /// Reads the block from its file, if it is not in memory, and leaves no trace of it here: so that the
    /// system's cache has it.
    pub fn read_past(&self, fork: Fork, block: BlockNo) -> Result<()> {
        self.map().check_there()?;
        let resident =
            self.map().fork(fork).slot(block).is_some_and(|slot| slot.place() != Place::Empty);
        if resident {
            return Ok(());
        }
        let mut bytes = PageBytes([0; PAGE_BYTES]);
        self.pool().files.read(PageId { rel: self.id(), fork, block }, &mut bytes.0)
    }

    fn read_checked(&self, page: PageId, bytes: &mut PageBytes) -> Result<()> {
        {
            let _waiting = wait_event::during(Event::DataFileRead);
            self.pool().files.read(page, &mut bytes.0)?;
        }
        page::verify(&bytes.0, page).map_err(|mismatch| {
            self.map().count_damaged();
            let file = relfile::path(page.rel, page.fork);
            Error::damaged(file, Some(page.block), mismatch.to_string())
        })
    }

    /// Takes the block's page out of memory unwritten. Nobody may use it any more; holds that are about to end
    /// are waited for.
    pub(super) fn discard(&self, slot: &Slot) {
        let pool = self.pool();
        loop {
            match slot.place() {
                Place::Empty => return,
                Place::Loading(number) => self.outlast_load(slot, number),
                Place::Frame(index) => {
                    let frame = &pool.frames[index as usize];
                    // An idle frame may have changed its page since the slot was read: look again.
                    match frame.word.idle().filter(|_| slot.place() == Place::Frame(index)) {
                        Some(idle) if frame.word.try_evict(idle) => {
                            frame.rec_lsn.store(0, Ordering::Relaxed);
                            frame.unbind();
                            pool.free.give(&[index]);
                        }
                        _ => {
                            let _waiting = wait_event::during(Event::BufferPin);
                            park::sleep(std::time::Duration::from_micros(50));
                        }
                    }
                }
            }
        }
    }
}

/// Takes a hold that needs a pin, and gives the pin for it.
pub(super) fn trade_pin(frame: &Frame, hold: u64) {
    latch::lock_pinned(frame, hold, PIN);
}
