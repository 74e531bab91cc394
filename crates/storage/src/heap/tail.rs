//! Finding out how many pages at a heap's end hold nothing, so that they can be given back.

use super::insert::CLEAR_BYTES;
use super::{HeapRel, fsm};
use crate::buffer::Ring;
use crate::error::Result;
use crate::journal::Journal;
use base::sync::unmodelled::Ordering::Relaxed;
use base::{BlockNo, Fork};

/// Pages between two looks at whether somebody waits.
const LOOK_EVERY: u32 = 32;

impl HeapRel {
    /// The length that the heap can be cut to: where its last row ends, but for `from`, its length, if somebody turns
    /// out to be waiting. The caller has the table for itself. Pages behind it promise nothing any more and are in no
    /// map: what they are when the heap grows again, nobody remembers (H4).
    pub(crate) fn end_of_rows(
        &self,
        ring: &mut Ring,
        from: u32,
        waited_for: &dyn Fn() -> bool,
    ) -> Result<u32> {
        let mut end = from;
        while end > 0 {
            if end.is_multiple_of(LOOK_EVERY) {
                base::interrupt::check()?;
                base::park::checkpoint();
                if waited_for() {
                    break;
                }
            }
            let block = BlockNo(end - 1);
            let mut journal = Journal::open(&self.wal, &self.rel, 2, CLEAR_BYTES)?;
            let mut page = self.rel.write_in(ring, Fork::Main, block)?;
            if !page.is_new() {
                if page.line_count() > 0 {
                    break;
                }
                self.clear_visible(&mut page, &mut journal)?;
            }
            drop(page);
            fsm::record(&self.rel, block, 0)?;
            end -= 1;
        }
        Ok(end)
    }

    /// The heap is about to be cut to so many pages: no session inserts behind them.
    pub(crate) fn forget_targets(&self, pages: u32) {
        for stripe in &self.stripes {
            // Relaxed: the table's lock orders it.
            if stripe.target().load(Relaxed) > pages {
                stripe.target().store(0, Relaxed);
            }
        }
    }

    /// The heap was cut: its rows are on so many pages now.
    pub(crate) fn was_cut(&self, pages: u32) {
        self.attention.counted_on(pages);
    }
}
