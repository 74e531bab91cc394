//! Fingerprints of sorted entries: the high two bytes of each hash, ascending like the entries behind them. The place is
//! guessed as on the page as built, but 32 entries lie on a line, and eight are compared at once.

use super::prints::{BULK_BYTES, first_entry, room};
use super::take;
use base::Tid;
use storage::hash::bare::{ENTRIES, ENTRY_BYTES, count, set_count};
use storage::page::{PageMut, PageView};

const FIRST_ENTRY: usize = first_entry(2);
/// Prefixes of a bulk.
const BULK: usize = BULK_BYTES / 2;
/// After so many bulks from the guessed one a search halves what is left.
const BULKS_MAX: u32 = 8;

#[inline]
fn prefix(page: PageView<'_>, at: usize) -> u16 {
    page.get_u16(ENTRIES + at * 2)
}

/// Position of the first prefix of `count` that is not below `wanted`.
fn first_of(page: PageView<'_>, count: usize, hash: u64) -> usize {
    let wanted = (hash >> 48) as u16;
    if count == 0 {
        return 0;
    }
    let last_bulk = (count - 1) / BULK;
    let guess = ((u128::from(hash) * count as u128) >> 64) as usize;
    let (mut bulk, mut bulks) = (guess / BULK, 0);
    if prefix(page, bulk * BULK) >= wanted {
        while bulk > 0 && prefix(page, bulk * BULK) >= wanted {
            (bulk, bulks) = (bulk - 1, bulks + 1);
            if bulks == BULKS_MAX {
                return halve(page, wanted, 0, (bulk + 1) * BULK);
            }
        }
    } else {
        while bulk < last_bulk && prefix(page, bulk * BULK + BULK - 1) < wanted {
            (bulk, bulks) = (bulk + 1, bulks + 1);
            if bulks == BULKS_MAX {
                return halve(page, wanted, bulk * BULK, count);
            }
        }
    }
    bulk * BULK + below(page, bulk, (count - bulk * BULK).min(BULK), wanted)
}

#[cold]
fn halve(page: PageView<'_>, wanted: u16, mut low: usize, mut high: usize) -> usize {
    while low < high {
        let middle = (low + high) / 2;
        if prefix(page, middle) < wanted { low = middle + 1 } else { high = middle }
    }
    low
}

/// How many of a bulk's first `valid` prefixes are below `wanted`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn below(page: PageView<'_>, bulk: usize, valid: usize, wanted: u16) -> usize {
    use std::arch::x86_64::{
        _mm_cmplt_epi16, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi16, _mm_xor_si128,
    };
    #[inline]
    #[target_feature(enable = "sse2")]
    fn mask(low: u64, high: u64, wanted: u16) -> u32 {
        // The comparison is one of signed numbers.
        let turn = _mm_set1_epi16(i16::MIN);
        let these = _mm_xor_si128(_mm_set_epi64x(high as i64, low as i64), turn);
        let than = _mm_xor_si128(_mm_set1_epi16(wanted as i16), turn);
        _mm_movemask_epi8(_mm_cmplt_epi16(these, than)) as u32
    }
    let offset = ENTRIES + bulk * BULK_BYTES;
    // SAFETY: SSE2 is part of x86-64.
    let mask = unsafe { mask(page.get_u64(offset), page.get_u64(offset + 8), wanted) };
    (mask & ((1 << (2 * valid)) - 1)).count_ones() as usize / 2
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn below(page: PageView<'_>, bulk: usize, valid: usize, wanted: u16) -> usize {
    (0..valid).filter(|at| prefix(page, bulk * BULK + at) < wanted).count()
}

pub fn find(page: PageView<'_>, hash: u64, tids: &mut Vec<Tid>) {
    let count = count(page);
    let mut at = first_of(page, count, hash);
    while at < count && prefix(page, at) == (hash >> 48) as u16 {
        let entry = FIRST_ENTRY + at * ENTRY_BYTES;
        let this = page.get_u64(entry);
        if this > hash {
            return;
        }
        if this == hash {
            take(page.get_u64(entry + 8), tids);
        }
        at += 1;
    }
}

pub fn insert(page: &mut PageMut<'_>, hash: u64, tid: Tid) {
    let (view, count) = (page.view(), count(page.view()));
    assert!(count < room(2), "there is room");
    let entry = |at| FIRST_ENTRY + at * ENTRY_BYTES;
    // Halved among equal prefixes, which many entries of one key are.
    let mut low = first_of(view, count, hash);
    let mut high = low;
    if low < count && prefix(view, low) == (hash >> 48) as u16 {
        high = count;
    }
    while low < high {
        let middle = (low + high) / 2;
        let this = (view.get_u64(entry(middle)), view.get_u64(entry(middle) + 8));
        if this < (hash, tid.to_u64()) { low = middle + 1 } else { high = middle }
    }
    let after = count - low;
    page.move_within(entry(low), entry(low + 1), after * ENTRY_BYTES);
    page.put_u64(entry(low), hash);
    page.put_u64(entry(low) + 8, tid.to_u64());
    let from = ENTRIES + low * 2;
    page.move_within(from, from + 2, after * 2);
    page.put_u16(from, (hash >> 48) as u16);
    set_count(page, count + 1);
}
