//! A page that becomes another one between two words that a reader takes from it, as it happens to optimistic readers
//! of a frame that is evicted. Which two is told, so that a test can go through all of them.

use super::{PAGE_BYTES, PageBytes};
use std::cell::Cell;

thread_local! {
    /// Words that this thread still takes from what it reads, and what it reads from then on.
    static CHANGE: Cell<Option<(u32, &'static PageBytes)>> = const { Cell::new(None) };
}

/// What `read` gives if all of the thread's pages become `other` once it has taken `after` words. Also tells whether it came
/// to that.
pub fn after<R>(after: u32, other: &'static PageBytes, read: impl FnOnce() -> R) -> (R, bool) {
    /// Also where `read` panics.
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            CHANGE.set(None);
        }
    }
    let _reset = Reset;
    CHANGE.set(Some((after, other)));
    let found = read();
    let changed = matches!(CHANGE.get(), Some((0, _)));
    (found, changed)
}

/// The word at `index`, if the page has become another one.
#[inline]
pub(super) fn word(index: usize) -> Option<u64> {
    let (left, other) = CHANGE.get()?;
    if left > 0 {
        CHANGE.set(Some((left - 1, other)));
        return None;
    }
    let (words, _) = other.0.as_chunks::<8>();
    debug_assert_eq!(words.len(), PAGE_BYTES / 8);
    Some(u64::from_le_bytes(words[index]))
}
