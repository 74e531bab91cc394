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

/// Gives back what statements have left with the allocator, when that is much: to be asked now and then.
#[derive(Default)]
pub struct Surplus {
    /// The least that the process had in memory, outside of files, since it was last given back.
    least_bytes: Option<u64>,
}

impl Surplus {
    /// So much more than the least is worth the work.
    const WORTH_BYTES: u64 = 64 << 20;

    /// Looks, and gives back if there is much.
    pub fn look(&mut self) {
        let Some(now) = anonymous_bytes() else { return };
        let least = self.least_bytes.map_or(now, |least| least.min(now));
        self.least_bytes = Some(least);
        if now > least + Self::WORTH_BYTES {
            give_back();
            self.least_bytes = anonymous_bytes();
        }
    }
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
        assert!(
            super::anonymous_bytes().unwrap() + freed / 2 < full,
            "{full} bytes before, {} after",
            super::anonymous_bytes().unwrap()
        );
        assert!(pieces.iter().flatten().all(|byte| *byte != 0));
    }

    #[test]
    fn a_surplus_is_noticed_once_it_is_large() {
        let mut surplus = super::Surplus::default();
        surplus.look();
        let least = surplus.least_bytes.unwrap();
        let piece = |i: usize| vec![i as u8 | 1; 64 << 10];
        let mut pieces: Vec<_> = (0..4096).map(piece).collect();
        let mut i = 0;
        pieces.retain(|_| {
            i += 1;
            i % 16 == 0
        });
        surplus.look();
        // What stands now is what there is after giving back: less than was freed.
        assert!(surplus.least_bytes.unwrap() < least + (200 << 20));
        assert!(surplus.least_bytes.unwrap() > least);
    }
}
