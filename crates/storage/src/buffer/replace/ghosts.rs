//! Ghosts: which pages left a short while ago. A table of fingerprints that forgets the oldest.

use base::sync::unmodelled::{AtomicU64, Ordering::Relaxed};

const WAYS: usize = 4;

/// About as many ghosts as it was made for; the age of each is known to one in 2³².
pub(super) struct Ghosts {
    /// Fingerprint in the high half, time of death in the low half; 0 is empty.
    cells: Box<[AtomicU64]>,
    mask: usize,
    life: u32,
}

impl Ghosts {
    /// Ghosts that live for `life` deaths.
    pub fn new(life: u32) -> Ghosts {
        // Half full on average, so that few are overwritten before their time.
        let sets = (2 * life as usize).div_ceil(WAYS).next_power_of_two();
        Ghosts {
            cells: (0..sets * WAYS).map(|_| AtomicU64::new(0)).collect(),
            mask: sets - 1,
            life,
        }
    }

    fn set(&self, page: u64) -> &[AtomicU64] {
        let set = page as usize & self.mask;
        &self.cells[set * WAYS..(set + 1) * WAYS]
    }

    fn fingerprint(page: u64) -> u64 {
        page >> 32 << 32 | 1 << 32
    }

    fn age(cell: u64, now: u32) -> u32 {
        if cell == 0 { u32::MAX } else { now.wrapping_sub(cell as u32) }
    }

    /// The page with this hash died at `now`.
    pub fn remember(&self, page: u64, now: u32) {
        let set = self.set(page);
        let oldest = set.iter().max_by_key(|cell| Self::age(cell.load(Relaxed), now));
        let cell = oldest.expect("a set is not empty");
        cell.store(Self::fingerprint(page) | u64::from(now), Relaxed);
    }

    /// Whether the page died lately; its ghost is laid.
    pub fn recall(&self, page: u64, now: u32) -> bool {
        let found = self.set(page).iter().find(|cell| {
            let cell = cell.load(Relaxed);
            cell & !0xFFFF_FFFF == Self::fingerprint(page) && Self::age(cell, now) <= self.life
        });
        found.is_some_and(|cell| {
            cell.store(0, Relaxed);
            true
        })
    }
}
