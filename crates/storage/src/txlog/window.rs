//! The window: one word per recent transaction, in memory, read without latch and written without one.
//!
//! Pages of 1024 entries, found by page number modulo the ring's size. A *frame* is the memory of a page;
//! frames are reused but never freed while the window lives, so a reader may always look into one, and
//! accepts what it read if the frame's number was the page's before and after.
//!
//! | Page is | Where | Entries |
//! |---|---|---|
//! | recent | in the ring | stored by their transactions, without latch |
//! | displaced, with an unfinished transaction | among the stragglers | as above, look-ups take a latch |
//! | displaced, all finished | in the `Subtrans` SLRU log | final |
//! | before the window's start | nowhere; the xact log knows | — |
//!
//! *A frame is given to another page only when every entry in it is final* (invariant N2). So whoever has an
//! unfinished transaction may store its entry through a reference it obtained earlier; no store can hit
//! another page's entry. That is what lets a commit be one store.

use super::fate::{Entry, Fate};
use super::slru::{PAGE_WORDS, Slru, SlruError};
use base::Xid;
use base::latch::{Latch, RwLatch};
use base::pad::Padded;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicPtr, AtomicU64, Ordering, fence};
use std::collections::BTreeMap;

/// Entries of a page.
pub const WINDOW_PAGE: u64 = PAGE_WORDS as u64;

/// No page.
const NOBODY: u64 = u64::MAX;

/// Memory of a page.
struct Frame {
    number: Padded<AtomicU64>,
    entries: Box<[AtomicU64]>,
}

/// What changes when the window moves.
struct Moving {
    /// Frames that hold nothing.
    free: Vec<&'static Frame>,
    /// Every frame ever made; given back when the window drops.
    all: Vec<*mut Frame>,
}

// SAFETY: the pointers own frames that are only dropped with the window, and frames are Sync.
unsafe impl Send for Moving {}

/// See the module's description.
pub struct Window {
    ring: Box<[AtomicPtr<Frame>]>,
    mask: u64,
    /// Transactions below are only in the xact log.
    start: Padded<AtomicU64>,
    /// Pages below have been in memory; the one before is the newest. Changed under `moving`.
    next: AtomicU64,
    moving: Latch<Moving>,
    stragglers: RwLatch<BTreeMap<u64, &'static Frame>>,
    spill: Slru,
}

/// A transaction's entry, to be stored when it ends. Valid until then (invariant N2).
#[derive(Clone, Copy)]
pub struct EntryRef<'w>(&'w AtomicU64);

impl EntryRef<'_> {
    /// Stores the transaction's fate.
    #[inline]
    pub fn store(self, entry: Entry) {
        // Release: whoever reads the fate sees what was done before (the commit record's place, say).
        self.0.store(entry.0, Ordering::Release);
    }

    /// What it says now.
    #[inline]
    pub fn load(self) -> Entry {
        // Acquire: pairs with the release in `store`.
        Entry(self.0.load(Ordering::Acquire))
    }
}

fn page_of(xid: Xid) -> u64 {
    xid.0 / WINDOW_PAGE
}

fn index_of(xid: Xid) -> usize {
    (xid.0 % WINDOW_PAGE) as usize
}

impl Frame {
    /// Reads an entry if the frame holds `page`.
    #[inline]
    fn read(&self, page: u64, index: usize) -> Option<Entry> {
        // Acquire: pairs with the release in `give`; entries are those of `page` or later.
        if self.number.load(Ordering::Acquire) != page {
            return None;
        }
        // Acquire: pairs with the release in `EntryRef::store`, and keeps the next load behind it: if the
        // entry read was stored for a later page, the number read is not `page` any more.
        let entry = self.entries[index].load(Ordering::Acquire);
        (self.number.load(Ordering::Relaxed) == page).then_some(Entry(entry))
    }

    /// Makes it the frame of `page`, all entries nothing. Only under the `moving` latch, and only when its
    /// entries are final.
    fn give(&self, page: u64) {
        self.number.store(NOBODY, Ordering::Relaxed);
        // Release: pairs with the acquire load of an entry in `read`.
        fence(Ordering::Release);
        self.entries.iter().for_each(|e| e.store(Entry::NOTHING.0, Ordering::Relaxed));
        // Release: pairs with the acquire in `read`.
        self.number.store(page, Ordering::Release);
    }
}

impl Window {
    /// An empty window whose transactions begin at `start`. `ring_pages` is rounded up to a power of two.
    pub fn new(start: Xid, ring_pages: usize, spill: Slru) -> Window {
        let pages = ring_pages.max(2).next_power_of_two();
        Window {
            ring: (0..pages).map(|_| AtomicPtr::default()).collect(),
            mask: pages as u64 - 1,
            start: Padded(AtomicU64::new(start.0)),
            next: AtomicU64::new(page_of(start)),
            moving: Latch::new(Rank::Table, Moving { free: Vec::new(), all: Vec::new() }),
            stragglers: RwLatch::new(Rank::Leaf, BTreeMap::new()),
            spill,
        }
    }

    /// The log that pages go to when they leave memory.
    pub fn spill(&self) -> &Slru {
        &self.spill
    }

    /// The first transaction that the window knows.
    #[inline]
    pub fn start(&self) -> Xid {
        // Acquire: pairs with the release in `forget_before`; the xact log has what lies before.
        Xid(self.start.load(Ordering::Acquire))
    }

    #[inline]
    fn in_ring(&self, page: u64) -> Option<&Frame> {
        // Acquire: pairs with the release in `admit`; the frame is initialised.
        let frame = self.ring[(page & self.mask) as usize].load(Ordering::Acquire);
        // SAFETY: null, or a frame leaked by `new_frame`, which lives as long as the window.
        unsafe { frame.as_ref() }
    }

    /// The entry of `xid`; nothing if the window has forgotten it or never had it.
    #[inline]
    pub fn get(&self, xid: Xid) -> Result<Entry, SlruError> {
        let (page, index) = (page_of(xid), index_of(xid));
        match self.in_ring(page).and_then(|frame| frame.read(page, index)) {
            Some(entry) => Ok(entry),
            None => self.get_slow(xid),
        }
    }

    #[cold]
    fn get_slow(&self, xid: Xid) -> Result<Entry, SlruError> {
        let (page, index) = (page_of(xid), index_of(xid));
        // Acquire: pairs with the release in `prepare_slow`. Before the looks: a page that comes to the ring after
        // one would be missed there, and is nowhere else.
        if page >= self.next.load(Ordering::Acquire) {
            return Ok(Entry::NOTHING);
        }
        if let Some(entry) = self.in_ring(page).and_then(|frame| frame.read(page, index)) {
            return Ok(entry);
        }
        if let Some(frame) = self.stragglers.read().get(&page)
            && let Some(entry) = frame.read(page, index)
        {
            return Ok(entry);
        }
        // A page is in its next place before it leaves its old one, in the order ring, stragglers, spill:
        // what is in neither of the first two is in the third, unless the window has moved past it.
        if xid < self.start() {
            return Ok(Entry::NOTHING);
        }
        match self.spill.read(page, |words| words.word(index)) {
            Ok(word) => Ok(Entry(word)),
            Err(SlruError::Truncated { .. }) => Ok(Entry::NOTHING),
            Err(e) => Err(e),
        }
    }

    /// All entries of a page; nothing if the window has forgotten it or never had it.
    pub fn page(&self, page: u64) -> Result<Vec<Entry>, SlruError> {
        (0..WINDOW_PAGE).map(|i| self.get(Xid(page * WINDOW_PAGE + i))).collect()
    }

    /// A handle on the entry of `xid`, which must be handed out, with its page prepared, and unfinished.
    pub fn entry(&self, xid: Xid) -> EntryRef<'_> {
        let (page, index) = (page_of(xid), index_of(xid));
        // Acquire: pairs with the release in `give`. As the transaction has not ended, the frame stays its page's (N2).
        if let Some(frame) = self.in_ring(page)
            && frame.number.load(Ordering::Acquire) == page
        {
            return EntryRef(&frame.entries[index]);
        }
        let stragglers = self.stragglers.read();
        let frame: &'static Frame =
            stragglers.get(&page).expect("an unfinished transaction's page is in memory (N2)");
        debug_assert_eq!(frame.number.load(Ordering::Relaxed), page, "invariant N2");
        EntryRef(&frame.entries[index])
    }

    /// Makes the page of `xid` ready for entries. Whoever is handed an id calls it before anybody can hear
    /// of the id. Holds no latch while it waits for the disk but its own, which only this takes.
    #[inline]
    pub fn prepare(&self, xid: Xid) -> Result<(), SlruError> {
        let page = page_of(xid);
        // Acquire: pairs with the release in `give`: the entries are of this page.
        let ready = |frame: &Frame| frame.number.load(Ordering::Acquire) == page;
        if self.in_ring(page).is_some_and(ready) {
            return Ok(());
        }
        self.prepare_slow(page)
    }

    #[cold]
    fn prepare_slow(&self, page: u64) -> Result<(), SlruError> {
        let mut moving = self.moving.lock();
        loop {
            // Relaxed: changed under the latch that is held.
            let next = self.next.load(Ordering::Relaxed);
            if next > page {
                return Ok(());
            }
            let at = (next & self.mask) as usize;
            self.displace(&mut moving, at)?;
            let frame = match moving.free.pop() {
                Some(frame) => frame,
                None => new_frame(&mut moving.all),
            };
            frame.give(next);
            // Release: pairs with the acquire in `in_ring`.
            self.ring[at].store(std::ptr::from_ref(frame).cast_mut(), Ordering::Release);
            // Release: pairs with the acquire in `get_slow`.
            self.next.store(next + 1, Ordering::Release);
        }
    }

    /// Frees a place of the ring.
    fn displace(&self, moving: &mut Moving, at: usize) -> Result<(), SlruError> {
        let frame = self.ring[at].load(Ordering::Relaxed);
        // SAFETY: null, or a frame leaked by `new_frame`; only `drop` frees it, and nothing keeps the
        // reference beyond the window.
        let Some(frame) = (unsafe { frame.as_ref::<'static>() }) else {
            return Ok(());
        };
        let page = frame.number.load(Ordering::Relaxed);
        if self.settle(frame, page)? {
            moving.free.push(frame);
        } else {
            self.stragglers.write().insert(page, frame);
        }
        Ok(())
    }

    /// Whether a page can leave memory; if it is still needed and finished, it goes to the spill log.
    fn settle(&self, frame: &Frame, page: u64) -> Result<bool, SlruError> {
        if Xid((page + 1) * WINDOW_PAGE) <= self.start() {
            return Ok(true);
        }
        let Some(words) = self.finished(frame)? else {
            return Ok(false);
        };
        match self.spill.begin(page, base::Lsn::ZERO, |p| p.fill(&words)) {
            // The window has moved past it since the look above.
            Ok(()) | Err(SlruError::Truncated { .. }) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// All entries of a frame, subtransactions resolved, if every one is final (invariant N2).
    fn finished(&self, frame: &Frame) -> Result<Option<Vec<u64>>, SlruError> {
        let mut words = Vec::with_capacity(frame.entries.len());
        for shared in &frame.entries {
            // Acquire, here and below: pairs with the release in `EntryRef::store`.
            let mut entry = Entry(shared.load(Ordering::Acquire));
            // What the window has forgotten ended long ago: such an entry, or one that points there, stays.
            let mut forgotten = entry == Entry::NOTHING && words.len() < self.first_index(frame);
            if let Fate::SubOf(top) = entry.fate() {
                #[cfg(test)]
                super::looks::between();
                match self.get(top)? {
                    Entry::NOTHING => forgotten = true,
                    of_top => {
                        // Rolled back by itself between the two looks: that comes before its transaction's end.
                        let now = Entry(shared.load(Ordering::Acquire));
                        entry = if now == entry { of_top } else { now };
                    }
                }
            }
            if !entry.is_final() && !forgotten {
                return Ok(None);
            }
            words.push(entry.0);
        }
        Ok(Some(words))
    }

    /// Index of the first entry of a frame that can ever hold anything.
    fn first_index(&self, frame: &Frame) -> usize {
        let first = Xid(frame.number.load(Ordering::Relaxed) * WINDOW_PAGE);
        self.start().0.saturating_sub(first.0).min(WINDOW_PAGE) as usize
    }

    /// Moves stragglers that have finished on to the spill log, and forgets pages before the start.
    pub fn tidy(&self) -> Result<(), SlruError> {
        let pages: Vec<u64> = self.stragglers.read().keys().copied().collect();
        for page in pages {
            // Stragglers leave under this latch only.
            let mut moving = self.moving.lock();
            let Some(frame) = self.stragglers.read().get(&page).copied() else {
                continue;
            };
            if self.settle(frame, page)? {
                self.stragglers.write().remove(&page);
                moving.free.push(frame);
            }
        }
        let start = self.start();
        self.spill.truncate(page_of(start))
    }

    /// Forgets everything before `xid`: the xact log has it now.
    pub fn forget_before(&self, xid: Xid) {
        // Release: pairs with the acquire in `start`.
        self.start.fetch_max(xid.0, Ordering::Release);
    }

    /// Bytes of memory in frames.
    pub fn memory_bytes(&self) -> usize {
        self.moving.lock().all.len() * PAGE_WORDS * 8
    }
}

fn new_frame(all: &mut Vec<*mut Frame>) -> &'static Frame {
    let frame = Box::new(Frame {
        number: Padded(AtomicU64::new(NOBODY)),
        entries: (0..PAGE_WORDS).map(|_| AtomicU64::new(0)).collect(),
    });
    let frame = Box::into_raw(frame);
    all.push(frame);
    // SAFETY: just made, and freed only by `Window::drop`. The 'static is the window's own lifetime:
    // no reference leaves this module but as `EntryRef<'w>`, which borrows the window.
    unsafe { &*frame }
}

impl Drop for Window {
    fn drop(&mut self) {
        for frame in self.moving.get_mut().all.drain(..) {
            // SAFETY: made by `Box::into_raw` in `new_frame`, and nobody can refer to it any more.
            drop(unsafe { Box::from_raw(frame) });
        }
    }
}

#[cfg(test)]
mod tests;
