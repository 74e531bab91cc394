//! Which pages keep the redo point back: first-dirty positions in log order.
//!
//! A page that becomes dirty is queued once, with a position at or before the start of every record that
//! will describe the change. Queues are sharded by frame; within a shard positions only rise, because the
//! position is read under the shard's latch. An entry is alive as long as its frame still carries the
//! position (as `rec_lsn`, or as `flushing` while the copy is on its way); dead ones are dropped from the
//! front, so the minimum over the fronts is the answer, and no scan of the frames is ever needed.
//!
//! **Against a racing `mark_dirty`.** The asker reads the log's reservation point *first* and answers no
//! more than that. A writer queues its page *before* it reserves space for the record. If the record lies
//! before the asker's reservation point, its reservation happened before the asker's read, so the queueing
//! did too, and the asker finds the entry.

use super::frame::Frame;
use base::Lsn;
use base::latch::Latch;
use base::pad::{Padded, is_one_line};
use base::rank::Rank;
use base::sync::unmodelled::Ordering;
use std::collections::VecDeque;

const SHARDS: usize = 16;

type Queue = VecDeque<(Lsn, u32)>;

const _: () = assert!(is_one_line::<Latch<Queue>>());

/// See the module.
pub(super) struct DirtyQueues {
    shards: [Padded<Latch<Queue>>; SHARDS],
    /// A shard longer than this is searched for dead entries behind a living front.
    compact_at: usize,
}

impl DirtyQueues {
    pub fn new(frames: usize) -> DirtyQueues {
        DirtyQueues {
            shards: std::array::from_fn(|_| Padded(Latch::new(Rank::Leaf, VecDeque::new()))),
            compact_at: 2 * frames / SHARDS + 64,
        }
    }

    /// Marks a clean frame dirty as of `position()`. The caller holds it exclusively.
    pub fn enter(&self, frames: &[Frame], frame: &Frame, position: impl FnOnce() -> Lsn) {
        let mut queue = self.shards[frame.index as usize % SHARDS].lock();
        if frame.rec_lsn.load(Ordering::Relaxed) != 0 {
            return; // `restore` was faster, with an older position
        }
        let lsn = position();
        debug_assert!(lsn != Lsn::ZERO, "zero says clean");
        debug_assert!(queue.back().is_none_or(|(last, _)| *last <= lsn), "positions rise");
        // Relaxed: the latches order it for the asker, the frame's latch for everyone else.
        frame.rec_lsn.store(lsn.0, Ordering::Relaxed);
        if queue.len() >= self.compact_at {
            queue.retain(|(lsn, index)| frames[*index as usize].needs_redo_from(*lsn));
        }
        queue.push_back((lsn, frame.index));
    }

    /// A copy could not be written: the frame is as dirty as before. The caller has it pinned.
    pub fn restore(&self, frame: &Frame) {
        // The latch: an asker sees the position in one field or in the other, and `enter` comes before or
        // after as a whole.
        let _queue = self.shards[frame.index as usize % SHARDS].lock();
        // The older position; a later one in `rec_lsn` came after the copy. UNLOGGED in both stays.
        let flushing = frame.flushing.load(Ordering::Relaxed);
        frame.rec_lsn.store(flushing, Ordering::Relaxed);
        // Release: pairs with the acquires in `is_dirty` and `needs_redo_from`: who sees it gone sees `rec_lsn`.
        frame.flushing.store(0, Ordering::Release);
    }

    /// The first position that some page still needs, if any.
    pub fn oldest(&self, frames: &[Frame]) -> Option<Lsn> {
        self.shards.iter().filter_map(|shard| front(&mut shard.lock(), frames)).min()
    }

    /// Up to `most` frames that need positions before `below`, about oldest first.
    pub fn collect(&self, frames: &[Frame], below: Lsn, most: usize, into: &mut Vec<u32>) {
        let mut found = Vec::new();
        for shard in &self.shards {
            let mut queue = shard.lock();
            front(&mut queue, frames);
            let living = queue.iter().take_while(|(lsn, _)| *lsn < below);
            let living = living.filter(|(lsn, at)| frames[*at as usize].needs_redo_from(*lsn));
            found.extend(living.take(most).copied());
        }
        found.sort_unstable();
        into.extend(found.iter().take(most).map(|(_, index)| *index));
    }
}

/// The first living entry's position; dead ones before it are dropped.
fn front(queue: &mut Queue, frames: &[Frame]) -> Option<Lsn> {
    while let Some(&(lsn, index)) = queue.front() {
        if frames[index as usize].needs_redo_from(lsn) {
            return Some(lsn);
        }
        queue.pop_front();
    }
    None
}
