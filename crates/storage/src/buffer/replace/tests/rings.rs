//! What rings do to pages that others load: nothing.

use super::*;
use std::collections::VecDeque;

const FRAMES: u32 = 3200;
/// The queue of newcomers is a thirty-second of the frames.
const QUEUE: u64 = 100;
/// All other frames are for pages that are in use.
const PROVEN: u64 = 3100;
/// Pages that a scan reads are numbered from here.
const SCANNED: u64 = 1 << 32;

/// The frames of a scan, with the pages that it loaded into them.
struct Ring {
    frames: VecDeque<(u32, u64)>,
    most: usize,
    next: u64,
}

impl Ring {
    fn new(most: usize) -> Ring {
        Ring { frames: VecDeque::new(), most, next: SCANNED }
    }
}

impl Cache {
    /// The scan of a ring loads its next page, as the pool has it.
    fn scan(&mut self, ring: &mut Ring) {
        let turn = if ring.frames.len() < ring.most { None } else { ring.frames.pop_front() };
        let reused = turn.filter(|(index, page)| {
            let credit = &self.credits[*index as usize];
            self.pages[*index as usize] == Some(*page) && !self.replacer.is_wanted(credit)
        });
        if let Some((index, page)) = reused {
            self.replacer.evicted(index, &self.credits[index as usize], hash(page));
            self.at.remove(&page);
        } else if self.free.is_empty() {
            self.sweep(4);
        }
        let index = reused.map(|(index, _)| index).or_else(|| self.free.pop());
        let index = index.expect("a victim was found");
        let page = ring.next;
        ring.next += 1;
        self.pages[index as usize] = Some(page);
        self.at.insert(page, index);
        self.replacer.loaded(index, &self.credits[index as usize], hash(page), false);
        ring.frames.push_back((index, page));
    }

    fn kept(&self, pages: std::ops::Range<u64>) -> u64 {
        pages.filter(|page| self.at.contains_key(page)).count() as u64
    }
}

/// A cache that is full of pages that are in use, and whose newcomers come and go.
fn warm(proven: u64) -> Cache {
    let mut cache = Cache::new(Policy::Probation, FRAMES);
    let mut rng = fastrand::Rng::with_seed(1);
    for n in 0..200_000 {
        cache.use_page(if n % 10 == 0 { 1_000_000 + n } else { rng.u64(..proven) });
    }
    assert!(cache.kept(0..proven) > proven - proven / 20);
    cache
}

/// How many of 2000 newcomers are there at their second use, which comes 60 newcomers later, beside scans that
/// load so many pages for each.
fn survivors(scanned: usize, rings: usize) -> usize {
    let mut cache = warm(PROVEN);
    let mut rings: Vec<Ring> = (0..rings).map(|_| Ring::new(128)).collect();
    let first = 2_000_000;
    (first..first + 2_000)
        .filter(|n| {
            for ring in &mut rings {
                (0..scanned).for_each(|_| cache.scan(ring));
            }
            cache.use_page(*n);
            *n >= first + 60 && cache.use_page(n - 60)
        })
        .count()
}

#[test]
fn newcomers_are_as_long_on_probation_beside_a_scan_of_a_hundred_times_the_pool() {
    let alone = survivors(0, 0);
    assert!(alone >= 1_900, "{alone} of 1940 newcomers lived to be used again");
    for (scanned, rings) in [(1, 1), (160, 1), (80, 2)] {
        let beside = survivors(scanned, rings);
        assert!(beside >= alone - 20, "{beside} of {alone} beside {rings} scans of {scanned}");
    }
}

/// A statement's several looks at a page prove nothing, however much is scanned meanwhile.
#[test]
fn a_scan_moves_no_window() {
    let mut cache = warm(PROVEN);
    let mut ring = Ring::new(128);
    cache.use_page(2_000_000);
    for _ in 0..10 {
        (0..QUEUE).for_each(|_| cache.scan(&mut ring));
        assert!(cache.use_page(2_000_000));
    }
    assert_eq!(cache.credits[cache.at[&2_000_000] as usize].count(), 0);
}

#[test]
fn a_newcomer_that_left_too_early_is_known_again_after_a_scan() {
    let mut cache = warm(PROVEN);
    cache.use_page(2_000_000);
    cache.hits((0..3 * QUEUE).map(|n| 3_000_000 + n));
    assert!(!cache.at.contains_key(&2_000_000));
    let mut ring = Ring::new(128);
    (0..u64::from(FRAMES) * 100).for_each(|_| cache.scan(&mut ring));
    cache.use_page(2_000_000);
    let queue = cache.credits[cache.at[&2_000_000] as usize].queue();
    assert_eq!(queue, Queue::Main as u32);
}

/// It has no ghost either: who comes to its pages soon is as new as elsewhere.
#[test]
fn what_a_scan_loaded_is_not_known_again() {
    let mut cache = warm(PROVEN);
    let mut ring = Ring::new(128);
    (0..1000).for_each(|_| cache.scan(&mut ring));
    cache.use_page(SCANNED + 500);
    let queue = cache.credits[cache.at[&(SCANNED + 500)] as usize].queue();
    assert_eq!(queue, Queue::Small as u32);
}

/// What a scan left goes before what is proven: at once if it is more than rings may have, or else when as many newcomers
/// have come as are on probation.
#[test]
fn what_a_scan_leaves_behind_goes_first() {
    // Beside those in use, an eighth of the frames.
    const PROVEN: u64 = 2800;
    let mut cache = warm(PROVEN);
    // None of them is ever its ring's again.
    let mut ring = Ring::new(usize::MAX);
    (0..u64::from(FRAMES) * 100).for_each(|_| cache.scan(&mut ring));
    let proven = cache.kept(0..PROVEN);
    assert!(proven > PROVEN - PROVEN / 20, "{proven} of {PROVEN} survived the scan");
    let scanned = cache.kept(SCANNED..ring.next);
    assert!(scanned <= u64::from(FRAMES / 8) + 32, "{scanned} pages are the scan's");
    // Each newcomer is used again, so that none of them makes room.
    for n in 2_000_000..2_000_000 + 3 * QUEUE {
        cache.use_page(n);
        cache.use_page((n - 60).max(2_000_000));
    }
    let left = cache.kept(SCANNED..ring.next);
    assert!(left + 3 * QUEUE / 2 <= scanned, "{left} of {scanned} are left");
    assert!(cache.kept(0..PROVEN) + 8 >= proven);
}
