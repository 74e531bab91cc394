//! The process's memory, as the system sees it.

/// Gives the system back what the allocator keeps though nobody uses it: what a large statement has used, or a round of
/// upkeep on each thread it ran on. It takes the allocator's locks, milliseconds at a time: for whoever works in the
/// background, now and then. Where the allocator is not glibc's, and in simulations, it does nothing.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if !crate::sim::active() {
        // SAFETY: it may be called at any time, by any thread; memory in use is not touched.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    /// Bytes that the process has in memory, of no file.
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() << 10
    }

    #[test]
    fn what_was_freed_between_pieces_in_use_goes_back() {
        const PIECES: usize = 2048;
        // Below what the allocator maps by itself, so that only it knows.
        let piece = |i: usize| vec![i as u8 | 1; 64 << 10];
        let mut pieces: Vec<_> = (0..PIECES).map(piece).collect();
        let full = resident();
        let mut i = 0;
        pieces.retain(|_| {
            i += 1;
            i % 16 == 0
        });
        super::give_back();
        let freed = (PIECES * 15 / 16 * (64 << 10)) as u64;
        assert!(resident() + freed / 2 < full, "{full} bytes before, {} after", resident());
        assert!(pieces.iter().flatten().all(|byte| *byte != 0));
    }
}
