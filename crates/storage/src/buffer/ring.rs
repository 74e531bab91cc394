//! A ring: the few frames that a large scan, COPY or vacuum goes round in, so that it evicts its own pages
//! and nobody else's.

use super::Pool;
use super::io::Purpose;
use base::PageId;

/// Most pages of a ring for rows that are stored in bulk, as in PostgreSQL, and of any that has become wider: 16 MiB.
const PAGES_MAX: usize = 2048;

/// Frames that one scan has loaded pages into, and those pages. A frame whose page others have come to use is left where
/// it is and replaced in the ring by another; so is one that holds another page by now. Whoever fills pages, cleans or
/// prunes them leaves dirty ones behind: for them the cleaner is asked, when half of the way from the scan round to them
/// is left, to write them. A page that is not written by its turn keeps its place: the ring becomes wider.
pub struct Ring {
    purpose: Purpose,
    frames: Vec<(u32, PageId)>,
    next: usize,
    capacity: usize,
    /// So many of them may hold what is read ahead.
    ahead: usize,
    /// Where the page goes that is loaded next.
    place: Place,
    /// The next page to be read in it was read ahead.
    started: bool,
}

/// Where a page goes.
#[derive(Clone, Copy)]
enum Place {
    End,
    InsteadOf(usize),
    After(usize),
}

impl Ring {
    /// A ring of at most `pages` pages; PostgreSQL takes 32 for scans and vacuum, 2048 for bulk writes.
    pub fn new(pages: usize, purpose: Purpose) -> Ring {
        Ring {
            purpose,
            frames: Vec::new(),
            next: 0,
            capacity: pages.max(1),
            ahead: 0,
            place: Place::End,
            started: false,
        }
    }

    /// With room for as many pages more that are read ahead.
    pub fn with_ahead(self, pages: usize) -> Ring {
        Ring { capacity: self.capacity + pages, ahead: pages, ..self }
    }

    /// A ring for rows that are stored in bulk: an eighth of the pool at most.
    pub fn for_bulk_write(pool: &Pool) -> Ring {
        Ring::new(Ring::pages_max(pool), Purpose::BulkWrite)
    }

    /// Most pages of a ring that leaves dirty ones behind.
    pub(super) fn pages_max(pool: &Pool) -> usize {
        (pool.frame_count() / 8).min(PAGES_MAX)
    }

    /// What is to be clean by the time that the ring comes to it, if it is time to say so: an eighth of what the scan has
    /// passed at a time.
    pub(super) fn coming(&self) -> &[(u32, PageId)] {
        let passed = self.capacity - self.ahead;
        let step = (passed / 8).max(1);
        if !self.next_place().is_multiple_of(step) {
            return &[];
        }
        let first = (self.next_place() + passed / 2) % self.capacity;
        let end = (first + step).min(self.frames.len());
        self.frames.get(first..end).unwrap_or_default()
    }

    /// Where the next frame goes.
    fn next_place(&self) -> usize {
        if self.frames.len() < self.capacity { self.frames.len() } else { self.next }
    }

    /// Says whether the next page to be read in it was read ahead: the answer of
    /// [`ReadAhead::look`](super::ReadAhead::look).
    pub fn expect(&mut self, started: bool) {
        self.started = started;
    }

    /// What was said last.
    pub(super) fn take_expected(&mut self) -> bool {
        std::mem::take(&mut self.started)
    }

    /// What it serves, for figures.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The frame whose turn it is, once the ring is full, and the page that was loaded into it.
    pub(super) fn reusable(&mut self) -> Option<(u32, PageId)> {
        self.place = Place::End;
        if self.frames.len() < self.capacity {
            return None;
        }
        let at = self.next;
        self.next = (at + 1) % self.capacity;
        self.place = Place::InsteadOf(at);
        Some(self.frames[at])
    }

    /// The last answer is not written yet: it keeps its place if the ring, of at most `pages_max` pages, may become wider.
    pub(super) fn keep(&mut self, pages_max: usize) {
        if let Place::InsteadOf(at) = self.place
            && self.capacity < pages_max
        {
            self.place = Place::After(at);
        }
    }

    /// The page goes into the frame that was taken instead of, beside, or because of, the last answer.
    pub(super) fn note(&mut self, index: u32, page: PageId) {
        match std::mem::replace(&mut self.place, Place::End) {
            Place::End => self.frames.push((index, page)),
            Place::InsteadOf(at) => self.frames[at] = (index, page),
            Place::After(at) => {
                // Before what is next, if that is not the first: the newest, whose turn is a whole round from now.
                self.frames.insert(at + 1, (index, page));
                self.next += usize::from(self.next > at);
                self.capacity += 1;
            }
        }
    }
}
