//! Holes: what items leave between the others when they go one at a time.
//!
//! On a page whose rows are of one length, and that is full, the next row fits the hole that the last one left. So
//! items are freed in place, and gathered ([`PageMut::compact`]) only when no hole takes a new one.

use super::items::{LinePointer, align8};
use super::words::{PageMut, PageView, WORDS};

/// Bytes of a word.
const WORD: usize = 8;

/// One bit for each word of a page, set where nothing lies, and one for its end.
struct FreeWords([u64; WORDS / 64 + 1]);

impl FreeWords {
    /// What is free between `upper` and the special space.
    fn of(page: PageView<'_>) -> FreeWords {
        // What changes at a word from what holds for the word before. Items do not overlap.
        let mut changes = FreeWords([0; WORDS / 64 + 1]);
        changes.flip(page.upper());
        changes.flip(page.special());
        for slot in 1..=page.line_count() {
            let line = page.line(slot);
            if !line.is_empty() {
                changes.flip(line.offset());
                changes.flip(line.offset() + align8(line.len()));
            }
        }
        changes.accumulated()
    }

    #[inline]
    fn flip(&mut self, offset: usize) {
        let at = offset / WORD;
        self.0[at / 64] ^= 1 << (at % 64);
    }

    /// Each bit the exclusive or of itself and all before.
    fn accumulated(mut self) -> FreeWords {
        let mut carry = 0;
        for word in &mut self.0 {
            for step in [1, 2, 4, 8, 16, 32] {
                *word ^= *word << step;
            }
            *word ^= carry;
            carry = ((*word as i64) >> 63) as u64;
        }
        self
    }

    /// Leaves set what begins `count` free words, at least one.
    fn keep_runs(&mut self, count: usize) {
        let mut proven = 1;
        while proven < count {
            // A run of `proven` here and one further on, overlapping or adjacent, are a longer one.
            let step = proven.min(count - proven);
            let (words, bits) = (step / 64, step % 64);
            let word = |free: &[u64], at: usize| free.get(at).copied().unwrap_or(0);
            for at in 0..self.0.len() {
                let low = word(&self.0, at + words) >> bits;
                let high = if bits == 0 { 0 } else { word(&self.0, at + words + 1) << (64 - bits) };
                self.0[at] &= low | high;
            }
            proven += step;
        }
    }

    /// The last word that is marked.
    fn last(&self) -> Option<usize> {
        let at = self.0.iter().rposition(|word| *word != 0)?;
        Some(at * 64 + 63 - self.0[at].leading_zeros() as usize)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

impl PageView<'_> {
    /// Free bytes, those between items included: what [`PageMut::reserve`] can make one piece of.
    #[inline]
    pub fn free_space_in_all(self) -> usize {
        if self.may_have_holes() { self.free_space_compacted() } else { self.free_space() }
    }
}

impl PageMut<'_> {
    /// Makes `line`, which names no bytes, of an existing slot's line pointer, and frees the bytes that it named. Where
    /// they were they are zero.
    pub fn free_item(&mut self, slot: u16, line: LinePointer) {
        if let Some(item) = self.item(slot) {
            let bytes = align8(item.len);
            self.zero(item.offset, bytes);
            if item.offset == self.upper() {
                self.set_upper(item.offset + bytes);
            } else {
                self.set_holes(true);
            }
        }
        self.set_line(slot, line);
    }

    /// The place for an item of `len` bytes, to be followed by line pointers up to `lower`, among the others or, when
    /// they have been gathered, below them; `None` without room.
    #[cold]
    pub(super) fn reserve_among(&mut self, len: usize, lower: usize) -> Option<usize> {
        if !self.may_have_holes() {
            return None;
        }
        let words = align8(len) / WORD;
        let mut runs = FreeWords::of(self.view());
        let free = runs.count();
        runs.keep_runs(words);
        if lower <= self.upper()
            && let Some(at) = runs.last()
        {
            if free == words {
                self.set_holes(false);
            }
            return Some(at * WORD);
        }
        if self.free_space_compacted() + self.lower() < lower + align8(len) {
            return None;
        }
        self.compact();
        let upper = self.upper() - align8(len);
        self.set_upper(upper);
        Some(upper)
    }
}
