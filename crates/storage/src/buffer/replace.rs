//! Replacement: who goes when a frame is needed.
//!
//! `clock`: PostgreSQL's sweep. A use adds one credit up to five, the hand takes one away, a frame without
//! credit and without holds is the victim. Credits are guesses about the future: they are read and written
//! racily, and a hit on a page with full credit writes nothing.

use super::frame::Frame;
use base::latch::{Latch, LatchGuard};
use base::rank::Rank;
use std::sync::atomic::Ordering::Relaxed;

const CREDIT_MAX: u32 = 5;
const CREDIT_FIRST: u32 = 1;

/// The policy's state.
pub(super) struct Replacer {
    hand: Latch<usize>,
}

/// Verdict of a visitor on a victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Visit {
    /// Show me more.
    More,
    /// Enough.
    Stop,
}

impl Replacer {
    pub fn new() -> Replacer {
        Replacer { hand: Latch::new(Rank::BufferMap, 0) }
    }

    /// A page in memory was used.
    #[inline]
    pub fn hit(&self, frame: &Frame) {
        let credit = frame.credit.load(Relaxed);
        if credit < CREDIT_MAX {
            frame.credit.store(credit + 1, Relaxed);
        }
    }

    /// A page was loaded, by a use that counts or by one that should leave no trace.
    pub fn loaded(&self, frame: &Frame, counts: bool) {
        frame.credit.store(if counts { CREDIT_FIRST } else { 0 }, Relaxed);
    }

    /// Whether a page that a ring brought in has been used by others since.
    pub fn is_wanted(&self, frame: &Frame) -> bool {
        frame.credit.load(Relaxed) > 0
    }

    /// The right to move the hand, if nobody else is at it.
    pub fn try_sweep(&self) -> Option<LatchGuard<'_, usize>> {
        self.hand.try_lock()
    }

    /// The right to move the hand.
    pub fn sweep(&self) -> LatchGuard<'_, usize> {
        self.hand.lock()
    }

    /// Shows victims in the order of the policy, with the idle word that makes them one, until told to stop,
    /// or `most` frames were passed, or each often enough to have lost all credit.
    pub fn victims<'f>(
        &self,
        hand: &mut usize,
        frames: &'f [Frame],
        most: usize,
        mut visit: impl FnMut(&'f Frame, u64) -> Visit,
    ) {
        for _ in 0..most.min(frames.len() * (CREDIT_MAX as usize + 1)) {
            let frame = &frames[*hand];
            *hand += 1;
            if *hand == frames.len() {
                *hand = 0;
            }
            let Some(idle) = frame.word.idle() else { continue };
            let credit = frame.credit.load(Relaxed);
            if credit > 0 {
                frame.credit.store(credit - 1, Relaxed);
            } else if visit(frame, idle) == Visit::Stop {
                return;
            }
        }
    }
}
