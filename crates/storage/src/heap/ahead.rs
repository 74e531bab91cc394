//! Reading ahead for who comes to a heap by way of an index: the pages that the next entries lead to are on their
//! way while the rows of these are looked at.
//!
//! An index scan copies a leaf's entries at once, so it knows where the next few hundred rows are; those are a
//! *window*. As long as each page is found in memory nothing is made of that: one look at a slot for each page
//! that a scan changes to. The first page that is missing has the window's blocks listed, and the look ahead begins as
//! [`ReadAhead`] has it: it grows with what is missing, so that a scan that ends soon reads little in vain.

use super::HeapRel;
use crate::buffer::{Reach, ReadAhead};
use base::{BlockNo, Fork, Tid};

/// How far one index scan is ahead in its heap.
pub struct RowsAhead {
    ahead: ReadAhead,
    /// Blocks of the window from its first missing one on, in the scan's order, neighbours that are equal once.
    /// Empty: all were there.
    window: Vec<BlockNo>,
    /// Where in the window the scan is.
    place: usize,
    /// The last block that the scan came to.
    block: BlockNo,
}

impl RowsAhead {
    /// For a scan of an index of this heap.
    pub fn new(heap: &HeapRel, reach: Reach) -> RowsAhead {
        RowsAhead {
            ahead: ReadAhead::scattered(&heap.rel, reach),
            window: Vec::new(),
            place: 0,
            block: BlockNo::INVALID,
        }
    }

    /// To be called, without a latch, before the row at `tid` is fetched. `upcoming` adds the blocks of the entries
    /// that are known to come next, in order.
    ///
    /// Answers whether the page was started by an earlier call: the row is then to be had by
    /// [`HeapRel::fetch_started`].
    #[inline]
    pub fn come_to(
        &mut self,
        heap: &HeapRel,
        tid: Tid,
        upcoming: impl FnOnce(&mut Vec<BlockNo>),
    ) -> bool {
        if tid.block == self.block || !self.ahead.looks() {
            return false;
        }
        self.block = tid.block;
        if self.window.is_empty() && !heap.rel.is_missing(Fork::Main, tid.block) {
            return false;
        }
        self.look(heap, upcoming)
    }

    #[cold]
    fn look(&mut self, heap: &HeapRel, upcoming: impl FnOnce(&mut Vec<BlockNo>)) -> bool {
        if self.window.get(self.place + 1) == Some(&self.block) {
            self.place += 1;
        } else {
            self.window.clear();
            if !self.ahead.is_far() && !heap.rel.is_missing(Fork::Main, self.block) {
                return false;
            }
            self.window.push(self.block);
            upcoming(&mut self.window);
            self.window.dedup();
            self.place = 0;
            self.ahead.start_over();
        }
        let (window, end) = (&self.window, self.window.len() as u32);
        let places = self.place as u32..end;
        self.ahead.look(&heap.rel, Fork::Main, places, None, |place| Some(window[place as usize]))
    }
}
