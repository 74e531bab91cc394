//! Waiting for a frame's latch. The fast attempts are the word's; a context that has to wait holds a pin,
//! so the frame keeps its page, and parks in the lot on the word's address.

use super::frame::Frame;
use super::word::{EXCLUSIVE, FrameWord, SHARED};
use base::lot;
use base::sync::spin_hint;
use base::wait_event::{self, Event};

/// How often a taker looks again before it parks.
const SPINS: u32 = 40;

/// Takes `hold` (`SHARED` or `EXCLUSIVE`) on a frame that the caller has pinned; the pin is traded in if
/// `give` is `PIN`, and kept if it is 0.
#[cold]
pub(super) fn lock_pinned(frame: &Frame, hold: u64, give: u64) {
    let word = &frame.word;
    let mut woken = false;
    let mut spins = 0;
    loop {
        let seen = word.load();
        match word.attempt(seen, hold, give, woken) {
            Some(true) => return,
            Some(false) => continue,
            None => {}
        }
        if spins < SPINS && !woken {
            spins += 1;
            spin_hint();
            continue;
        }
        if !word.announce_waiter(seen) {
            continue;
        }
        let tag = if hold == EXCLUSIVE { lot::EXCLUSIVE } else { lot::SHARED };
        let _waiting = wait_event::during(Event::BufferContent);
        base::counts::one(base::counts::Count::LatchWait);
        lot::park_on(word.key(), tag, || word.must_wait(hold), None);
        // Also when nothing was waited for: the flag may stand on a free latch, and then whoever put it
        // there passes it and clears it when unlocking.
        woken = true;
        spins = 0;
    }
}

/// Wakes the first waiter, with the shared ones behind it.
#[cold]
pub(super) fn wake(word: &FrameWord) {
    lot::unpark_group(word.key(), |more| {
        if !more {
            word.no_more_waiters();
        }
    });
}

/// Ends a shared hold.
#[inline]
pub(super) fn unlock_shared(frame: &Frame) {
    if frame.word.unlock_shared() {
        wake(&frame.word);
    }
}

/// Ends the exclusive hold, keeping a `PIN` or 0.
#[inline]
pub(super) fn unlock_exclusive(frame: &Frame, keep: u64) {
    if frame.word.unlock_exclusive(keep) {
        wake(&frame.word);
    }
}

const _: () = assert!(SHARED != EXCLUSIVE);
