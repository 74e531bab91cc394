//! Pages full of entries, in every layout, and the keys to look for.

use crate::ways::{Layout, Way};
use base::Tid;
use fastrand::Rng;
use storage::hash::bare::BarePages;

/// How full the pages are.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub name: &'static str,
    /// Entries of a page, or as many as a layout has room for.
    pub entries: usize,
    /// Half of a page's entries have one key.
    pub repeats: bool,
}

pub const FILLS: [Fill; 5] = [
    Fill { name: "10 % full (50 entries)", entries: 50, repeats: false },
    Fill { name: "50 % full (254 entries)", entries: 254, repeats: false },
    Fill { name: "75 % full (381 entries)", entries: 381, repeats: false },
    Fill {
        name: "full (508 entries; 478 or 451 beside fingerprints)",
        entries: 508,
        repeats: false,
    },
    Fill { name: "381 entries, half of them of one key", entries: 381, repeats: true },
];

impl Fill {
    fn entries_of(&self, layout: Layout) -> usize {
        self.entries.min(layout.room())
    }

    /// The number of entry `at`'s key among the page's: those of the first half may have one.
    fn key(&self, at: usize) -> usize {
        if self.repeats && at < self.entries / 2 { 0 } else { at }
    }

    pub fn asks(&self) -> &'static [Ask] {
        if self.repeats {
            &[Ask::Present, Ask::Absent, Ask::Repeated]
        } else {
            &[Ask::Present, Ask::Absent]
        }
    }
}

/// Which keys are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// One with a single row.
    Present,
    Absent,
    /// The one that half of the page's entries have.
    Repeated,
}

impl Ask {
    pub fn name(self) -> &'static str {
        match self {
            Ask::Present => "present",
            Ask::Absent => "absent",
            Ask::Repeated => "the repeated key",
        }
    }
}

/// A key to look for, or to insert.
#[derive(Clone, Copy)]
pub struct Probe {
    pub page: u32,
    pub hash: u64,
}

/// Bits of the page's number, which all of its hashes end with, as a bucket's do.
const PAGE_BITS: u32 = 20;

/// Spreads numbers over all of 64 bits (MurmurHash3's finalizer).
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x = (x ^ (x >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

/// Pages of all layouts with the same keys, as far as there is room.
pub struct Books {
    pub fill: Fill,
    seed: u64,
    pub count: u32,
    books: Vec<BarePages>,
}

impl Books {
    pub fn new(count: u32) -> Result<Books, String> {
        assert!(count <= 1 << PAGE_BITS, "hashes name the page");
        let books = Layout::ALL.iter().map(|_| BarePages::new(count as usize));
        let books: Result<Vec<BarePages>, std::io::Error> = books.collect();
        Ok(Books { fill: FILLS[0], seed: 0, count, books: books.map_err(|e| e.to_string())? })
    }

    /// The pages of a layout.
    pub fn of(&self, layout: Layout) -> &BarePages {
        &self.books[layout as usize]
    }

    /// The pages of a layout, to change them.
    pub fn of_mut(&mut self, layout: Layout) -> &mut BarePages {
        &mut self.books[layout as usize]
    }

    /// The hash of a page's key; those up to its number of entries are on it.
    fn hash(&self, page: u32, key: usize) -> u64 {
        mix(self.seed << 56 | u64::from(page) << 24 | key as u64) << PAGE_BITS | u64::from(page)
    }

    /// Empties all pages and fills them anew.
    pub fn refill(&mut self, fill: Fill, seed: u64) {
        (self.fill, self.seed) = (fill, seed);
        let mut entries: Vec<(u64, Tid)> = Vec::new();
        for page in 0..self.count {
            for layout in Layout::ALL {
                entries.clear();
                entries.extend((0..fill.entries_of(layout)).map(|at| {
                    let tid = u64::from(page) << 16 | (at as u64 + 1);
                    (self.hash(page, fill.key(at)), Tid::from_u64(tid))
                }));
                // What arrives ascending is not moved; in order of arrival rows of one key are anywhere.
                match layout {
                    Layout::Sorted | Layout::Prefixes => entries.sort_unstable(),
                    Layout::Bytes | Layout::Pairs | Layout::Gaps => {
                        Rng::with_seed(u64::from(page)).shuffle(&mut entries);
                    }
                }
                let mut target = self.of_mut(layout).page_mut(page);
                target.clear();
                for (hash, tid) in &entries {
                    (layout.insert())(&mut target, *hash, *tid);
                }
            }
        }
    }

    /// Keys of the first `pages` pages.
    pub fn probes(
        &self,
        random: &mut Rng,
        layout: Layout,
        ask: Ask,
        pages: u32,
        count: usize,
    ) -> Vec<Probe> {
        let entries = self.fill.entries_of(layout);
        let single = if self.fill.repeats { self.fill.entries / 2 } else { 0 };
        let probe = |_| {
            let page = random.u32(..pages);
            let key = match ask {
                Ask::Present => random.usize(single..entries),
                // No entry has had such a number yet, nor will one that is inserted.
                Ask::Absent => random.usize(1 << 12..1 << 24),
                Ask::Repeated => 0,
            };
            Probe { page, hash: self.hash(page, key) }
        };
        (0..count).map(probe).collect()
    }

    /// Makes sure that so many look-ups came to as many TIDs as they should have.
    pub fn assert_found(&self, way: &Way, ask: Ask, lookups: usize, found: usize) {
        let expected = match ask {
            Ask::Present => lookups,
            Ask::Absent => 0,
            Ask::Repeated => lookups * (self.fill.entries / 2),
        };
        assert!(!way.is_search || found == expected, "{} misses entries", way.name);
    }
}
