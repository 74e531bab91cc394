//! Bringing stores from the processor's caches to persistent memory.
//!
//! `clwb` leaves the line in the cache, `clflushopt` throws it out, `clflush` also waits for each; what the processor
//! has is taken in this order. A store is durable when its line was written back and a fence has passed: memory
//! controllers finish what they have accepted also when the power fails. A line is written back from whichever cache
//! has it, so that one thread can do it for the stores of others.

/// The least that any processor here writes back at once.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Clwb,
    ClflushOpt,
    Clflush,
}

#[cfg(target_arch = "x86_64")]
fn way() -> Way {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::OnceLock;
    static WAY: OnceLock<Way> = OnceLock::new();
    *WAY.get_or_init(|| {
        let extended = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        let has = |bit: u32| extended >> bit & 1 == 1;
        match (has(24), has(23)) {
            (true, _) => Way::Clwb,
            (_, true) => Way::ClflushOpt,
            // Every processor of this architecture has it.
            _ => Way::Clflush,
        }
    })
}

/// Whether this processor can be told to.
pub(super) fn is_supported() -> bool {
    cfg!(target_arch = "x86_64")
}

/// Writes the lines of `[start, start + bytes)` back and waits until they have left the caches.
///
/// # Safety
/// The range is mapped.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn write_back(start: *const u8, bytes: usize) {
    // SAFETY: by the caller's promise.
    unsafe { write_back_by(way(), start, bytes) };
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn write_back(_: *const u8, _: usize) {
    unreachable!("nothing is mapped so where it is not supported");
}

/// # Safety
/// The range is mapped, and the processor has this way.
#[cfg(target_arch = "x86_64")]
unsafe fn write_back_by(way: Way, start: *const u8, bytes: usize) {
    use std::arch::asm;
    use std::arch::x86_64::{_mm_clflush, _mm_sfence};
    let skip = start.addr() % LINE_BYTES;
    let first = start.wrapping_sub(skip);
    for at in (0..skip + bytes).step_by(LINE_BYTES) {
        let line = first.wrapping_add(at);
        // SAFETY: the line holds a byte of the range, which is mapped; its content does not change. The asm blocks
        // count as touching all memory, so that no store moves behind them.
        unsafe {
            match way {
                Way::Clwb => asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                Way::ClflushOpt => {
                    asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                }
                Way::Clflush => _mm_clflush(line),
            }
        }
    }
    // SAFETY: a fence.
    unsafe { _mm_sfence() };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// What can be seen of it: every way that this processor has runs over odd ranges and changes nothing.
    #[test]
    fn writing_lines_back_changes_no_byte() {
        let ways = [Way::Clwb, Way::ClflushOpt, Way::Clflush];
        let best = ways.iter().position(|w| *w == way()).unwrap();
        let bytes: Vec<u8> = (0..10_000).map(|i| i as u8).collect();
        for way in &ways[best..] {
            for (from, length) in [(0, 0), (1, 1), (63, 2), (100, 9000)] {
                // SAFETY: inside the vector; processors that have a better way have the plainer ones, too.
                unsafe { write_back_by(*way, bytes[from..].as_ptr(), length) };
            }
        }
        assert!(bytes.iter().enumerate().all(|(i, b)| *b == i as u8));
    }
}
