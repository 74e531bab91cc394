//! A ring: the few frames that a large scan, COPY or vacuum goes round in, so that it evicts its own pages
//! and nobody else's.

use super::io::Purpose;

/// Frames that one scan has loaded pages into. A frame whose page others have come to use, or that is dirty,
/// is left where it is and replaced in the ring by another.
pub struct Ring {
    purpose: Purpose,
    frames: Vec<u32>,
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
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The frame whose turn it is, once the ring is full.
    pub(super) fn reusable(&mut self) -> Option<u32> {
        self.at = None;
        if self.frames.len() < self.capacity {
            return None;
        }
        let at = self.next;
        self.next = (at + 1) % self.capacity;
        self.at = Some(at);
        Some(self.frames[at])
    }

    /// The frame that was taken instead of, or because of, the last answer.
    pub(super) fn note(&mut self, index: u32) {
        match self.at.take() {
            Some(at) => self.frames[at] = index,
            None => self.frames.push(index),
        }
    }
}
