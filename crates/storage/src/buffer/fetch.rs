//! Getting pages from memory into the processor's cache before they are used, for who knows the next ones.

use super::pool::Pool;
use super::relation::Relation;
use super::slot::Place;
use crate::page::{HEADER_BYTES, LINE_BYTES};
use base::{BlockNo, Fork};
use std::hint::black_box;

/// Line pointers that are looked at: those of a page full of rows of a hundred bytes.
const LINES: usize = 64;
/// What the processor fetches at a time.
const CACHE_LINE_BYTES: usize = 64;

/// Where a page was. Another may have its place by now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHint(u32);

impl Relation {
    /// Where the block is now, if it is in memory.
    pub fn frame_hint(&self, fork: Fork, block: BlockNo) -> Option<FrameHint> {
        match self.map().fork(fork).slot(block)?.place() {
            Place::Frame(index) => Some(FrameHint(index)),
            Place::Loading(_) | Place::Empty => None,
        }
    }
}

impl Pool {
    /// Looks at the frame's word, the page's header and its line pointers, without use for what they are: none of these
    /// loads waits for another, so those of several pages are under way together.
    pub fn fetch(&self, hint: FrameHint) {
        let frame = &self.frames[hint.0 as usize];
        let page = self.view(frame);
        let lines = (0..HEADER_BYTES + LINES * LINE_BYTES).step_by(CACHE_LINE_BYTES);
        let seen = lines.fold(frame.word.load(), |seen, at| seen ^ page.get_u64(at));
        black_box(seen);
    }
}
