//! The reference policies, against sequences worked out by hand from their papers, and all policies against the optimum.

use crate::reference::{Arc, Lru, Lru2, S3Fifo, TinyLfu, optimum};
use crate::{Cache, SIZES, policies, traces};
use std::collections::BTreeSet;

/// What became of each access: `h` where it hit.
fn told(mut cache: impl Cache, trace: &[u64]) -> String {
    trace.iter().map(|page| if cache.use_page(*page) { 'h' } else { '-' }).collect()
}

fn hits(mut cache: impl Cache, trace: &[u64]) -> usize {
    trace.iter().filter(|page| cache.use_page(**page)).count()
}

impl Cache for Box<dyn Cache> {
    fn use_page(&mut self, page: u64) -> bool {
        self.as_mut().use_page(page)
    }
}

/// Pages at random, lower ones more often.
fn random(seed: u64, pages: u64, accesses: usize) -> Vec<u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..accesses).map(|_| rng.u64(0..pages) * rng.u64(0..pages) / pages).collect()
}

#[test]
fn lru_keeps_what_was_used_last() {
    assert_eq!(told(Lru::new(3), &[1, 2, 3, 1, 4, 2, 1, 4, 3]), "---h--hh-");
}

/// A page that is used over and over for a moment has been used once.
#[test]
fn lru_2_goes_by_the_last_use_but_one() {
    let mut trace = vec![1];
    trace.extend([2; 28]);
    trace.extend([1, 2]);
    // 1 has been used twice, 2 is what LRU would keep.
    trace.extend([3, 1, 2]);
    let told_end = |trace: &[u64], last: usize| {
        let told = told(Lru2::new(2), trace);
        told[told.len() - last..].to_owned()
    };
    assert_eq!(told_end(&trace, 3), "-h-");
    assert_eq!(told(Lru::new(2), &trace).split_off(trace.len() - 3), "---");
    // A page that went is remembered: 2 comes back with its use of long ago, which is later than that of 1.
    trace.truncate(trace.len() - 2);
    trace.extend([1; 28]);
    trace.extend([2, 3, 2, 1]);
    assert_eq!(told_end(&trace, 4), "--h-");
}

#[test]
fn arc_learns_from_its_ghosts() {
    // Pages used once pass by one that was used twice.
    assert_eq!(told(Arc::new(2), &[1, 1, 2, 3, 4, 5, 1]), "-h----h");
    // 2 comes back: recency gets room at the cost of 1; 1 comes back: it gets it back, at that of 3.
    assert_eq!(told(Arc::new(2), &[1, 1, 2, 3, 2, 1, 2, 1, 3]), "-h----hh-");
}

#[test]
fn s3_fifo_promotes_what_was_used_twice_or_comes_back() {
    let mut trace: Vec<u64> = (1..=10).collect();
    let mut wanted = "-".repeat(10);
    let mut then = |pages: &[u64], told: &str| {
        trace.extend(pages);
        wanted += told;
    };
    // 1 goes to the main queue, and 2 to the ghosts; from there it comes to the main queue, too, as 3 does.
    then(&[1, 1, 11, 2, 1, 3], "hh--h-");
    // One use is not enough for 5; it comes back by way of the ghosts.
    then(&[5, 12, 5], "h--");
    then(&[2, 3, 1, 5, 6], "hhhh-");
    assert_eq!(told(S3Fifo::new(10), &trace), wanted);
}

#[test]
fn w_tinylfu_admits_what_is_used_more_often_than_what_it_displaces() {
    // A window of one page, and two pages behind it. 3 is refused beside 1, once; used twice, it takes its place. Of the two
    // behind, the one used last is protected, and the other is next to go.
    let trace = [1, 2, 3, 4, 3, 5, 3, 1, 2, 3, 5];
    assert_eq!(told(TinyLfu::new(3), &trace), "------h-hh-");
}

/// The most hits that any choice of what to keep has, by trying all of them.
fn best(trace: &[u64], cached: &BTreeSet<u64>, frames: usize) -> usize {
    let Some((page, rest)) = trace.split_first() else { return 0 };
    if cached.contains(page) {
        return 1 + best(rest, cached, frames);
    }
    let mut most = best(rest, cached, frames);
    let mut grown = cached.clone();
    grown.insert(*page);
    if grown.len() <= frames {
        return most.max(best(rest, &grown, frames));
    }
    for victim in cached {
        let mut next = grown.clone();
        next.remove(victim);
        most = most.max(best(rest, &next, frames));
    }
    most
}

#[test]
fn the_optimum_is_the_best_of_all_choices() {
    assert_eq!(optimum(&[1, 2, 3, 1, 2, 3], 2), 2);
    assert_eq!(optimum(&[1, 2, 3, 2, 1], 1), 1);
    for seed in 0..200 {
        let trace = random(seed, 6, 12);
        for frames in 1..=3 {
            assert_eq!(
                optimum(&trace, frames),
                best(&trace, &BTreeSet::new(), frames),
                "{trace:?}"
            );
        }
    }
}

#[test]
fn no_policy_beats_the_optimum() {
    let check = |what: &str, frames: usize, trace: &[u64]| {
        let most = optimum(trace, frames);
        for (name, cache) in policies(frames) {
            let hits = hits(cache, trace);
            assert!(hits <= most, "{what}, {frames} frames: {name} has {hits} of {most}");
        }
    };
    for seed in 0..20 {
        let trace = random(seed, 400, 4000);
        [16, 40, 100].into_iter().for_each(|frames| check("random", frames, &trace));
    }
    for (name, make) in traces::ALL {
        let (pages, trace) = make(10_000);
        // The largest caches of the largest traces never fill.
        SIZES
            .into_iter()
            .for_each(|(_, part)| check(name, (pages / part).clamp(16, 2000) as usize, &trace));
    }
}

#[test]
fn with_room_for_all_each_page_misses_once() {
    let trace = random(7, 100, 5000);
    let distinct = trace.iter().collect::<BTreeSet<_>>().len();
    for (name, cache) in policies(110) {
        assert_eq!(trace.len() - hits(cache, &trace), distinct, "{name}");
    }
}
