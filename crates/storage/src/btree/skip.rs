//! Passing over a part of a range that the caller knows to be of no use to it.

use super::page::Place;
use super::scan::{Direction, Mark, Scan, Source};

impl Scan {
    /// Passes over the entries that are before `key` (forward), or not before it (backward). What the scan has come
    /// past already does not come again: a place behind it changes nothing.
    ///
    /// The entries that are copied already are looked through; only where all of them are passed over, and the place is
    /// beyond the leaf that they came from, the scan descends again, once. That is as sound as a scan that begins there:
    /// what has to come is on the other side of all that came. For scans with keys. Nothing more is to be said of the
    /// entry returned last.
    pub fn skip_to(&mut self, key: &[u8]) {
        self.next = self.first_beyond(key);
        if self.next == self.batch.entries.len() {
            self.move_source(Place::before(key));
        }
    }

    /// The first entry of the rest of the batch, in the scan's direction, that is not passed over. The places asked for
    /// are near more often than not, so the steps grow.
    fn first_beyond(&self, key: &[u8]) -> usize {
        let end = self.batch.entries.len();
        let is_passed = |nth: usize| {
            let (own, _) = self.batch.bytes_of(self.position(nth));
            match self.direction {
                Direction::Forward => own < key,
                Direction::Backward => own >= key,
            }
        };
        let (mut from, mut step) = (self.next, 1);
        while from + step <= end && is_passed(from + step - 1) {
            from += step;
            step *= 2;
        }
        // All before `from` are passed, and the one at the end of the step is not, if there is one.
        let mut to = end.min(from + step - 1);
        while from < to {
            let middle = from + (to - from) / 2;
            match is_passed(middle) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from
    }

    /// Where the next batch comes from, if that is to be at `place` or beyond it.
    fn move_source(&mut self, place: Place<'_>) {
        let mark = || Source::Place(Mark { key: place.key.to_vec(), tie: place.tie });
        let (is_further, is_over) = match self.direction {
            Direction::Forward => {
                let begins = match &self.source {
                    Source::Start => self.low.place(),
                    Source::Leaf(_) => Some(self.batch.fence.place()),
                    Source::Place(mark) => Some(mark.place()),
                    Source::End => return,
                };
                let is_further = begins.is_none_or(|begins| begins.is_before(place));
                (is_further, self.high.place().is_some_and(|high| !place.is_before(high)))
            }
            Direction::Backward => {
                let ends = match &self.source {
                    Source::Start => self.high.place(),
                    Source::Place(mark) => Some(mark.place()),
                    Source::Leaf(_) | Source::End => return,
                };
                let is_further = ends.is_none_or(|ends| place.is_before(ends));
                (is_further, self.low.place().is_some_and(|low| !low.is_before(place)))
            }
        };
        if is_further {
            self.source = if is_over { Source::End } else { mark() };
        }
    }
}
