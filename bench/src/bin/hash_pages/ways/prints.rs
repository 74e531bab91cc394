//! Fingerprints: bits of each entry's hash in an array before the entries, in order of arrival. A search compares the array
//! in bulk, sixteen bytes at a time, and looks at the entries whose fingerprint is the hash's.

use super::take;
use base::Tid;
use storage::hash::bare::{ENTRIES, ENTRY_BYTES, count, set_count};
use storage::page::{PAGE_BYTES, PageMut, PageView};

/// Bytes that are compared at once.
pub const BULK_BYTES: usize = 16;

/// Most entries of a page with fingerprints of so many bytes.
pub const fn room(print_bytes: usize) -> usize {
    let mut room = (PAGE_BYTES - ENTRIES) / (ENTRY_BYTES + print_bytes);
    while entries(print_bytes, room) + room * ENTRY_BYTES > PAGE_BYTES {
        room -= 1;
    }
    room
}

/// Where entries begin behind an array for so many; no entry lies on two lines.
const fn entries(print_bytes: usize, room: usize) -> usize {
    ENTRIES + (print_bytes * room).next_multiple_of(BULK_BYTES)
}

/// Where entries begin behind fingerprints of so many bytes.
pub const fn first_entry(print_bytes: usize) -> usize {
    entries(print_bytes, room(print_bytes))
}

/// How sixteen bytes of fingerprints are compared with one.
pub trait Bulk {
    /// A bit for each byte of the bulk at `offset` that equals the one of `pattern` in its place; the pattern is eight
    /// bytes, once or four times the fingerprint. Of two bytes both bits are to be looked at.
    fn equal(page: PageView<'_>, offset: usize, pattern: u64) -> u32;
}

/// Two of the page's words, joined in a register: what storage could do with pages that others write meanwhile.
pub struct Joined;
/// One load, as from memory that nobody else writes: less than storage needs.
pub struct Plain;
/// Two of the page's words, each compared by arithmetic: where there is no SSE2.
pub struct Words;

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set_epi64x,
        _mm_set1_epi64x,
    };

    #[inline]
    #[target_feature(enable = "sse2")]
    fn equal(bulk: __m128i, pattern: u64) -> u32 {
        _mm_movemask_epi8(_mm_cmpeq_epi8(bulk, _mm_set1_epi64x(pattern as i64))) as u32
    }

    #[inline]
    pub fn equal_joined(low: u64, high: u64, pattern: u64) -> u32 {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { equal(_mm_set_epi64x(high as i64, low as i64), pattern) }
    }

    /// # Safety
    /// Sixteen bytes from `bulk` on are readable, and nobody writes them.
    #[inline]
    pub unsafe fn equal_plain(bulk: *const u8, pattern: u64) -> u32 {
        // SAFETY: SSE2 is part of x86-64; the memory is the caller's promise.
        unsafe { equal(_mm_loadu_si128(bulk.cast()), pattern) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Bulk for Joined {
    #[inline]
    fn equal(page: PageView<'_>, offset: usize, pattern: u64) -> u32 {
        sse2::equal_joined(page.get_u64(offset), page.get_u64(offset + 8), pattern)
    }
}

#[cfg(target_arch = "x86_64")]
impl Bulk for Plain {
    #[inline]
    fn equal(page: PageView<'_>, offset: usize, pattern: u64) -> u32 {
        assert!(offset + BULK_BYTES <= PAGE_BYTES);
        // SAFETY: it lies on the page, and pages are searched here by the only thread there is.
        unsafe { sse2::equal_plain(page.address().add(offset), pattern) }
    }
}

/// Elsewhere words have to do.
#[cfg(not(target_arch = "x86_64"))]
impl Bulk for Joined {
    #[inline]
    fn equal(page: PageView<'_>, offset: usize, pattern: u64) -> u32 {
        Words::equal(page, offset, pattern)
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Bulk for Plain {
    #[inline]
    fn equal(page: PageView<'_>, offset: usize, pattern: u64) -> u32 {
        Words::equal(page, offset, pattern)
    }
}

impl Bulk for Words {
    #[inline]
    fn equal(page: PageView<'_>, offset: usize, pattern: u64) -> u32 {
        let zeros = [0, 8].map(|at| zero_bytes(page.get_u64(offset + at) ^ pattern));
        if zeros == [0; 2] {
            return 0;
        }
        // The high bits of eight bytes, gathered: the multiplication brings each to its place in the highest byte.
        let [low, high] = zeros.map(|word| (word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56);
        (low | high << 8) as u32
    }
}

/// The high bit of each byte that is zero.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    !(((word & LOW) + LOW) | word | LOW)
}

/// A hash's fingerprint: bits that neither the bucket nor the place on a sorted page is told by.
#[inline]
fn print_of<const BYTES: usize>(hash: u64) -> u64 {
    hash >> 32 & (u64::MAX >> (64 - 8 * BYTES))
}

/// Eight bytes of the same fingerprint.
#[inline]
fn pattern_of<const BYTES: usize>(hash: u64) -> u64 {
    print_of::<BYTES>(hash) * (u64::MAX / (u64::MAX >> (64 - 8 * BYTES)))
}

pub fn find<const BYTES: usize, B: Bulk>(page: PageView<'_>, hash: u64, tids: &mut Vec<Tid>) {
    let (count, pattern) = (count(page), pattern_of::<BYTES>(hash));
    let end = count * BYTES;
    let mut at = 0;
    while at < end {
        let mut equal = B::equal(page, ENTRIES + at, pattern);
        if BYTES == 2 {
            equal &= equal >> 1 & 0x5555;
        }
        if end - at < BULK_BYTES {
            equal &= (1 << (end - at)) - 1;
        }
        while equal != 0 {
            let entry =
                first_entry(BYTES) + (at + equal.trailing_zeros() as usize) / BYTES * ENTRY_BYTES;
            if page.get_u64(entry) == hash {
                take(page.get_u64(entry + 8), tids);
            }
            equal &= equal - 1;
        }
        at += BULK_BYTES;
    }
}

pub fn insert<const BYTES: usize>(page: &mut PageMut<'_>, hash: u64, tid: Tid) {
    let count = count(page.view());
    assert!(count < room(BYTES), "there is room");
    let entry = first_entry(BYTES) + count * ENTRY_BYTES;
    page.put_u64(entry, hash);
    page.put_u64(entry + 8, tid.to_u64());
    match BYTES {
        1 => page.put_u8(ENTRIES + count, print_of::<1>(hash) as u8),
        _ => page.put_u16(ENTRIES + count * 2, print_of::<2>(hash) as u16),
    }
    set_count(page, count + 1);
}
