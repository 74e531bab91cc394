//! The process's memory, as the system sees it.

/// Gives the system back what the allocator keeps though nobody uses it: each thread's part of it keeps what large statements
/// have used on the thread, and rounds of upkeep. It takes the allocator's locks, milliseconds at a time. Where the allocator is
/// not glibc's, and in simulations, it does nothing.
fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if !crate::sim::active() {
        // SAFETY: it may be called at any time, by any thread; memory in use is not touched.
        unsafe { libc::malloc_trim(0) };
    }
}

/// Gives back what was left with the allocator, when that is much: for a server's thread that has time for it, now and then.
#[derive(Default)]
pub struct Surplus {
    /// The least that the process had in memory since memory was last given back.
    least_bytes: Option<u64>,
}

impl Surplus {
    /// So much more than the least is worth the work. A cache that fills for the first time looks like it, too.
    const WORTH_BYTES: u64 = 16 << 20;

    /// Looks, and gives back if there is much.
    pub fn look(&mut self) {
        if anonymous_bytes().is_some_and(|now| self.is_much(now)) {
            give_back();
            self.least_bytes = anonymous_bytes();
        }
    }

    fn is_much(&mut self, now_bytes: u64) -> bool {
        let least = self.least_bytes.map_or(now_bytes, |least| least.min(now_bytes));
        self.least_bytes = Some(least);
        now_bytes > least + Self::WORTH_BYTES
    }
}

/// Bytes of a cache line, in which the processor fetches memory.
const FETCH_BYTES: usize = 64;

/// No more of a value is fetched ahead.
const FETCHED_MAX: usize = 8 << 10;

/// Has the processor fetch a value's own bytes into its caches, all at once and while the caller goes on: for what will
/// be used soon and has not been for long. One after the other, each when it is first looked at, its lines would take a
/// trip to memory each.
#[inline]
pub fn fetch_ahead<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for at in (0..size_of::<T>().min(FETCHED_MAX)).step_by(FETCH_BYTES) {
        fetch_line(start.wrapping_add(at));
    }
}

#[inline]
fn fetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing that the program could see and does not fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// What the process has in memory, outside of files; `None` where the system does not tell.
fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    #[test]
    fn whatever_its_size_a_value_can_be_fetched_ahead() {
        super::fetch_ahead(&());
        super::fetch_ahead(&7u8);
        super::fetch_ahead(&Box::new([0u8; 3 * super::FETCHED_MAX]));
        super::fetch_ahead(&[0u64; 2 * super::FETCHED_MAX / 8]);
    }

    #[test]
    fn what_was_freed_between_pieces_in_use_goes_back() {
        const PIECES: usize = 2048;
        // Below what the allocator maps by itself, so that only it knows.
        let piece = |i: usize| vec![i as u8 | 1; 64 << 10];
        let mut pieces: Vec<_> = (0..PIECES).map(piece).collect();
        let full = super::anonymous_bytes().unwrap();
        let mut i = 0;
        pieces.retain(|_| {
            i += 1;
            i % 16 == 0
        });
        super::give_back();
        let freed = (PIECES * 15 / 16 * (64 << 10)) as u64;
        let left = super::anonymous_bytes().unwrap();
        assert!(left + freed / 2 < full, "{full} bytes before, {left} after");
        assert!(pieces.iter().flatten().all(|byte| *byte != 0));
    }

    #[test]
    fn a_surplus_is_what_came_since_there_was_least() {
        const MIB: u64 = 1 << 20;
        let mut surplus = super::Surplus::default();
        let mut is_much = |mib: u64| surplus.is_much(mib * MIB);
        assert!(!is_much(100));
        assert!(!is_much(116));
        assert!(is_much(117));
        assert!(!is_much(50));
        assert!(!is_much(66));
        assert!(is_much(67));
    }
}
