//! A page that becomes another one between two words that a reader takes from it, as it happens to optimistic readers
//! of a frame that is evicted. Which two is told, so that a test can go through all of them.

use super::{PAGE_BYTES, PageBytes, PageView};
use std::cell::{Cell, RefCell};

thread_local! {
    /// Words that this thread still takes from what it reads, and what it reads from then on.
    static CHANGE: Cell<Option<(u32, &'static PageBytes)>> = const { Cell::new(None) };
    static UNREST: RefCell<Option<Unrest>> = const { RefCell::new(None) };
}

/// Most pages that are kept to change others into.
const OTHERS_MAX: usize = 64;

/// Pages that change under those who read without a latch, by chance.
struct Unrest {
    dice: fastrand::Rng,
    others: Vec<&'static PageBytes>,
    changes: u64,
}

/// Runs `body` while one in three of this thread's reads without a latch finds its page become another one under way: one
/// that was read before, or what no page is like. Answers how many did.
pub fn unrest(seed: u64, body: impl FnOnce()) -> u64 {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut garbage = PageBytes::new();
    garbage.0.fill_with(|| dice.u8(..));
    let others: Vec<&'static PageBytes> = vec![Box::leak(PageBytes::new()), Box::leak(garbage)];
    UNREST.set(Some(Unrest { dice, others, changes: 0 }));
    body();
    UNREST.take().map_or(0, |unrest| unrest.changes)
}

/// What a page that is about to be read becomes, and after how many words, if it does.
pub fn chance(page: PageView<'_>) -> Option<(u32, &'static PageBytes)> {
    UNREST.with_borrow_mut(|unrest| {
        let unrest = unrest.as_mut()?;
        if unrest.others.len() < OTHERS_MAX && unrest.dice.u8(..8) == 0 {
            let mut bytes = PageBytes::new();
            page.to_bytes(&mut bytes);
            unrest.others.push(Box::leak(bytes));
        }
        if unrest.dice.u8(..3) != 0 {
            return None;
        }
        unrest.changes += 1;
        // Bounds and offsets are read first.
        let words = if unrest.dice.bool() { 12 } else { 120 };
        let other = unrest.others[unrest.dice.usize(..unrest.others.len())];
        Some((unrest.dice.u32(..words), other))
    })
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
