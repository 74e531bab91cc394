//! Which threads have a line, by what they did to it through `base::sync`: as caches would have it if each thread had a
//! core, and a cache without bounds, of its own.
//!
//! A write leaves the line to the writer alone; a read adds the reader. A write is *shared* if somebody else had the line:
//! then it, or the right to write it, has to come from another core. Nothing is known of a line before its first use, and
//! nothing is counted then.

use super::counting::thread;
use super::{Count, one};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const LINE_BYTES: usize = 64;
/// Lines that are remembered: where two would have one entry, the later throws the earlier out.
const ENTRIES: usize = 1 << 22;
/// Of an entry: a bit for each thread that has the line, below what tells which line it is. More threads share bits, and
/// some of what they share is then not counted.
const THREADS: u32 = 44;
const HOLDERS: u64 = (1 << THREADS) - 1;
/// Programs have 47 bits of addresses: less what a line holds, and what the entry's place tells.
const _: () = assert!((47 - LINE_BYTES.ilog2() - ENTRIES.ilog2()) + THREADS <= 64);

static TABLE: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

/// A word of this address is read.
#[inline]
pub(super) fn read(address: usize) {
    used(address, false);
}

/// A word of this address is written.
#[inline]
pub(super) fn written(address: usize) {
    one(Count::Write);
    if used(address, true) {
        one(Count::SharedLine);
    }
}

/// A word of a page is written.
#[inline]
pub(super) fn page_written(address: usize) {
    if used(address, true) {
        one(Count::PageLine);
    }
}

/// Notes it; whether others had the line.
fn used(address: usize, written: bool) -> bool {
    let line = address / LINE_BYTES;
    let name = line / ENTRIES;
    // Lines of equal offset in large allocations would meet in one entry.
    let entry = &TABLE[(line ^ name.wrapping_mul(0x9E37_79B9)) % ENTRIES];
    let me = 1 << (thread() as u32 % THREADS);
    // Relaxed throughout: a note, told to people. The exchange makes each change of it counted once.
    let mut seen = entry.load(Relaxed);
    loop {
        let holders = if seen >> THREADS == name as u64 { seen & HOLDERS } else { 0 };
        let next = if written { me } else { holders | me };
        if next == holders {
            return false;
        }
        let noted = (name as u64) << THREADS | next;
        match entry.compare_exchange_weak(seen, noted, Relaxed, Relaxed) {
            Ok(_) => return holders & !me != 0,
            Err(now) => seen = now,
        }
    }
}
