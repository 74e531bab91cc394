mod rings;

use super::*;
use std::collections::BTreeMap;

/// A cache of page numbers run by a policy; nothing in it is ever held or dirty.
struct Cache {
    replacer: Replacer,
    credits: Vec<Credit>,
    pages: Vec<Option<u64>>,
    at: BTreeMap<u64, u32>,
    free: Vec<u32>,
    held: Vec<bool>,
}

struct Sweep<'c> {
    credits: &'c [Credit],
    pages: &'c mut Vec<Option<u64>>,
    held: &'c [bool],
    evicted: Vec<(u32, u64)>,
    most: usize,
}

fn hash(page: u64) -> u64 {
    base::hash::hash_of(&page)
}

impl Candidates for Sweep<'_> {
    fn credit(&self, index: u32) -> &Credit {
        &self.credits[index as usize]
    }

    fn is_idle(&self, index: u32) -> bool {
        self.pages[index as usize].is_some() && !self.held[index as usize]
    }

    fn offer(&mut self, index: u32) -> Option<u64> {
        let page = self.pages[index as usize].take().expect("an idle frame has a page");
        self.evicted.push((index, page));
        Some(hash(page))
    }

    fn enough(&self) -> bool {
        self.evicted.len() >= self.most
    }
}

impl Cache {
    fn new(policy: Policy, frames: u32) -> Cache {
        Cache {
            replacer: Replacer::new(policy, frames),
            credits: (0..frames).map(|_| Credit::new()).collect(),
            pages: vec![None; frames as usize],
            at: BTreeMap::new(),
            free: (0..frames).rev().collect(),
            held: vec![false; frames as usize],
        }
    }

    /// Uses a page; true if it was there.
    fn use_page(&mut self, page: u64) -> bool {
        if let Some(index) = self.at.get(&page) {
            self.replacer.hit(&self.credits[*index as usize]);
            return true;
        }
        if self.free.is_empty() {
            self.sweep(4);
        }
        let index = self.free.pop().expect("a victim was found");
        self.pages[index as usize] = Some(page);
        self.at.insert(page, index);
        self.replacer.loaded(index, &self.credits[index as usize], hash(page), true);
        false
    }

    fn sweep(&mut self, most: usize) {
        let mut hand = self.replacer.sweep();
        let (credits, pages, held) = (&self.credits, &mut self.pages, &self.held);
        let mut sweep = Sweep { credits, pages, held, evicted: Vec::new(), most };
        self.replacer.victims(&mut hand, usize::MAX, &mut sweep);
        for (index, page) in sweep.evicted {
            self.at.remove(&page);
            self.free.push(index);
        }
    }

    fn hits(&mut self, pages: impl Iterator<Item = u64>) -> usize {
        pages.filter(|page| self.use_page(*page)).count()
    }
}

const ALL: [Policy; 3] =
    [Policy::Clock, Policy::ClockLruk { window: Duration::from_secs(3) }, Policy::Probation];

#[test]
fn what_fits_stays() {
    for policy in ALL {
        let mut cache = Cache::new(policy, 100);
        cache.hits(0..100);
        assert_eq!(cache.hits((0..100).cycle().take(1000)), 1000, "{policy:?}");
    }
}

#[test]
fn every_policy_finds_the_only_frame_that_is_not_held() {
    for policy in ALL {
        let mut cache = Cache::new(policy, 50);
        let mut rng = fastrand::Rng::with_seed(3);
        cache.hits((0..2000).map(|_| rng.u64(..80)));
        for free in [0, 17, 49] {
            cache.held.fill(true);
            cache.held[free] = false;
            if cache.pages[free].is_none() {
                continue;
            }
            cache.sweep(1);
            assert!(cache.pages[free].is_none(), "{policy:?}");
            cache.held.fill(false);
            let fresh = 1_000_000 + free as u64;
            cache.hits(std::iter::once(fresh));
        }
    }
}

#[test]
fn hot_pages_are_kept_under_uniform_noise() {
    for policy in ALL {
        let mut cache = Cache::new(policy, 200);
        let mut rng = fastrand::Rng::with_seed(1);
        let load = (0..200_000).map(|i| {
            if i % 20 == 0 {
                cache.replacer.tick();
            }
            let page = if rng.bool() { rng.u64(..30) } else { rng.u64(1000..20_000) };
            (page < 30, cache.use_page(page))
        });
        let hot: Vec<bool> =
            load.skip(50_000).filter(|(hot, _)| *hot).map(|(_, hit)| hit).collect();
        let hits = hot.iter().filter(|hit| **hit).count() as f64 / hot.len() as f64;
        assert!(hits > 0.88, "{policy:?}: {hits}");
    }
}

#[test]
fn a_scan_does_not_get_past_probation() {
    let mut cache = Cache::new(Policy::Probation, 200);
    let mut rng = fastrand::Rng::with_seed(1);
    cache.hits((0..20_000).map(|_| rng.u64(..150)));
    // Each scanned page is looked at several times in a row, as a scan does.
    cache.hits((0..10_000u64).flat_map(|n| [1000 + n; 5]));
    let kept = (0..150).filter(|page| cache.at.contains_key(page)).count();
    assert!(kept > 140, "{kept} of 150 survived the scan");
}

#[test]
fn hits_of_one_window_count_once() {
    let replacer = Replacer::new(Policy::ClockLruk { window: Duration::from_secs(3) }, 4);
    let credit = Credit::new();
    replacer.loaded(0, &credit, 1, true);
    assert_eq!(credit.count(), 6);
    for _ in 0..10 {
        replacer.hit(&credit);
    }
    assert_eq!(credit.count(), 6);
    for _ in 0..TICKS_PER_WINDOW {
        replacer.tick();
    }
    replacer.hit(&credit);
    replacer.hit(&credit);
    assert_eq!(credit.count(), 7);
}

/// Under the default, too: what is used all the time is written to once in a window, and in full credit never.
#[test]
fn a_hot_hit_writes_nothing() {
    const FRAMES: u32 = 3200;
    let replacer = Replacer::new(Policy::Probation, FRAMES);
    let credits: Vec<Credit> = (0..FRAMES).map(|_| Credit::new()).collect();
    let mut next = 1;
    // Two windows are a quarter of the queue, which is a thirty-second of the frames.
    let mut two_windows = || {
        for _ in 0..FRAMES / 32 / 4 {
            replacer.loaded(next, &credits[next as usize], hash(next.into()), true);
            next += 1;
        }
    };
    let hot = &credits[0];
    replacer.loaded(0, hot, hash(0), true);
    let used = || (0..1000).for_each(|_| replacer.hit(hot));
    used();
    assert_eq!(hot.count(), 0, "the uses that it was loaded for prove nothing");
    for credit in [1, 2, 3, 3, 3] {
        two_windows();
        replacer.hit(hot);
        assert_eq!(hot.count(), credit);
        let written = hot.0.load(Relaxed);
        used();
        assert_eq!(hot.0.load(Relaxed), written);
    }
    let written = hot.0.load(Relaxed);
    two_windows();
    used();
    assert_eq!(hot.0.load(Relaxed), written);
}

#[test]
fn ghosts_are_recalled_once_and_while_they_live() {
    let ghosts = ghosts::Ghosts::new(100);
    for n in 0..100u64 {
        ghosts.remember(hash(n), n as u32);
    }
    assert!(ghosts.recall(hash(99), 100));
    assert!(!ghosts.recall(hash(99), 100));
    assert!(!ghosts.recall(hash(5), 200), "too long ago");
    assert!(!ghosts.recall(hash(5000), 100), "never died");
    let found = (0..99u64).filter(|n| ghosts.recall(hash(*n), 100)).count();
    assert!(found >= 95, "{found} of 99");
}
