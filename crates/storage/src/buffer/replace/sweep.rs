//! The clock hand, for both clocks.

use super::Candidates;

/// Passes up to `most` frames; each idle one loses a credit or is offered.
pub(super) fn victims(hand: &mut u32, frames: u32, most: usize, from: &mut impl Candidates) {
    for _ in 0..most {
        let index = step(hand, frames);
        if !from.is_idle(index) || from.credit(index).spend() {
            continue;
        }
        from.offer(index);
        if from.enough() {
            return;
        }
    }
}

/// The frame under the hand, which moves on.
pub(super) fn step(hand: &mut u32, frames: u32) -> u32 {
    let index = *hand;
    *hand = if index + 1 == frames { 0 } else { index + 1 };
    index
}
