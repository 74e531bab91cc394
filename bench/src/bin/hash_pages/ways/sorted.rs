//! Other searches of the page as built.

use super::take;
use base::Tid;
use std::hint::black_box;
use storage::hash::bare::{ENTRIES, ENTRY_BYTES, count};
use storage::page::PageView;

/// Finds nothing.
pub fn count_alone(page: PageView<'_>, _: u64, _: &mut Vec<Tid>) {
    black_box(count(page));
}

/// Halves the page.
pub fn halve(page: PageView<'_>, hash: u64, tids: &mut Vec<Tid>) {
    let of = |at| page.get_u64(ENTRIES + at * ENTRY_BYTES);
    let count = count(page);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if of(middle) < hash { low = middle + 1 } else { high = middle }
    }
    while low < count && of(low) == hash {
        take(page.get_u64(ENTRIES + low * ENTRY_BYTES + 8), tids);
        low += 1;
    }
}
