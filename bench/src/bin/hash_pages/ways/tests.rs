use super::{Layout, WAYS};
use base::Tid;
use fastrand::Rng;
use storage::page::{PageBuf, PageView};

/// What a search should find: the TIDs of the hash among all entries.
fn scan(entries: &[(u64, Tid)], hash: u64) -> Vec<Tid> {
    let mut tids: Vec<Tid> =
        entries.iter().filter(|entry| entry.0 == hash).map(|entry| entry.1).collect();
    tids.sort_unstable();
    tids
}

fn assert_finds(entries: &[(u64, Tid)], page: PageView<'_>, layout: Layout, hash: u64) {
    for way in WAYS.iter().filter(|way| way.is_search && way.layout == layout) {
        let mut tids = Vec::new();
        (way.find)(page, hash, &mut tids);
        tids.sort_unstable();
        assert_eq!(tids, scan(entries, hash), "{} of {} entries", way.name, entries.len());
    }
}

/// Pages of `count` entries whose hashes `hash` makes, filled in no order; every hash, its neighbours, and others.
fn check(seed: u64, count: usize, mut hash: impl FnMut(&mut Rng) -> u64) {
    let mut random = Rng::with_seed(seed);
    for layout in Layout::ALL {
        let mut buffer = PageBuf::new();
        let mut entries = Vec::new();
        for number in 0..count.min(layout.room()) as u64 {
            let entry = (hash(&mut random), Tid::from_u64(number << 16 | 1));
            (layout.insert())(&mut buffer.page_mut(), entry.0, entry.1);
            entries.push(entry);
        }
        let edges = [0, 1, u64::MAX, u64::MAX - 1];
        let around = entries.iter().flat_map(|entry| {
            let hash = entry.0;
            // One bit off: fingerprints, prefixes, or both agree.
            [0, 31, 32, 39, 40, 47, 48, 63]
                .map(|bit| hash ^ 1 << bit)
                .into_iter()
                .chain([hash, hash.wrapping_add(1)])
        });
        for wanted in edges.into_iter().chain(around) {
            assert_finds(&entries, buffer.view(), layout, wanted);
        }
    }
}

#[test]
fn every_way_finds_what_a_scan_finds() {
    for count in [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 254, 508] {
        check(count as u64, count, |random| random.u64(..));
    }
}

#[test]
fn many_rows_of_one_key_are_all_found() {
    for share in [10, 50, 100] {
        check(share, 400, |random| match random.u64(..100) < share {
            true => 0x8000_1234_5678_0000,
            false => random.u64(..),
        });
    }
}

#[test]
fn hashes_that_are_not_spread_are_found() {
    check(1, 508, |random| random.u64(..300));
    check(2, 508, |random| u64::MAX - random.u64(..300));
    check(3, 300, |random| random.u64(..4) << 62 | random.u64(..4) << 32);
}
