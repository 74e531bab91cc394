//! A ring: the few frames that a large scan, COPY or vacuum goes round in, so that it evicts its own pages
//! and nobody else's.

use super::Pool;
use super::io::Purpose;
use base::PageId;

/// Most pages of a ring for rows that are stored in bulk, as in PostgreSQL: 16 MiB.
const BULK_WRITE_PAGES: usize = 2048;

/// Frames that one scan has loaded pages into, and those pages. A frame whose page others have come to use, or that is
/// dirty, is left where it is and replaced in the ring by another; so is one that holds another page by now. Whoever fills pages, or cleans them, leaves dirty ones behind:
/// for them the cleaner is asked to write what the ring comes to next, half a round ahead.
pub struct Ring {
    purpose: Purpose,
    frames: Vec<(u32, PageId)>,
    next: usize,
    capacity: usize,
    /// The last answer of `reusable`, to be replaced by `note`.
    at: Option<usize>,
    /// The next page to be read in it was read ahead.
    started: bool,
}

impl Ring {
    /// A ring of at most `pages` pages; PostgreSQL takes 32 for scans and vacuum, 2048 for bulk writes.
    pub fn new(pages: usize, purpose: Purpose) -> Ring {
        Ring {
            purpose,
            frames: Vec::new(),
            next: 0,
            capacity: pages.max(1),
            at: None,
            started: false,
        }
    }

    /// A ring for rows that are stored in bulk: an eighth of the pool at most.
    pub fn for_bulk_write(pool: &Pool) -> Ring {
        let pages = (pool.frame_count() / 8).min(BULK_WRITE_PAGES);
        Ring::new(pages, Purpose::BulkWrite)
    }

    /// The frames to be clean by the time that the ring comes to them, if it is time to say so: an eighth of the ring at a
    /// time.
    pub(super) fn to_clean(&self) -> Option<Vec<u32>> {
        let step = (self.capacity / 8).max(1);
        let dirties = matches!(self.purpose, Purpose::BulkWrite | Purpose::Vacuum);
        let asks = dirties && self.frames.len() >= self.capacity / 2;
        if !asks || !self.next_place().is_multiple_of(step) {
            return None;
        }
        let first = (self.next_place() + self.capacity / 2) % self.capacity;
        let places = first..(first + step).min(self.capacity);
        Some(places.filter_map(|at| self.frames.get(at)).map(|(index, _)| *index).collect())
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
        self.at = None;
        if self.frames.len() < self.capacity {
            return None;
        }
        let at = self.next;
        self.next = (at + 1) % self.capacity;
        self.at = Some(at);
        Some(self.frames[at])
    }

    /// The page goes into the frame that was taken instead of, or because of, the last answer.
    pub(super) fn note(&mut self, index: u32, page: PageId) {
        match self.at.take() {
            Some(at) => self.frames[at] = (index, page),
            None => self.frames.push((index, page)),
        }
    }
}
