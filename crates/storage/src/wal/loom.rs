//! Models of the lock-free kernels: reservation and completeness, publication, claims.

use super::publish::Publish;
use super::reserve::{Reserve, TICKETS};
use super::space::{Claimant, Denied, Space};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

/// Checks all interleavings with at most this many preemptions; more find nothing new in these kernels and
/// take hours.
fn bounded(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Log memory in the model: one cell per unit; loom reports any access that races.
struct Memory(Vec<UnsafeCell<u64>>);

// SAFETY: loom's cells check every access.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new(units: usize) -> Memory {
        Memory((0..units).map(|_| UnsafeCell::new(0)).collect())
    }

    fn put(&self, unit: u64, value: u64) {
        // SAFETY: what is being modelled: nobody else may touch the unit now.
        self.0[unit as usize % self.0.len()].with_mut(|p| unsafe { *p = value });
    }

    fn get(&self, unit: u64) -> u64 {
        // SAFETY: as in `put`.
        self.0[unit as usize % self.0.len()].with(|p| unsafe { *p })
    }
}

fn insert(reserve: &Reserve, memory: &Memory, hint: usize, units: u64) {
    let slot = reserve.enter(hint);
    let place = reserve.reserve(&slot, units, false);
    for unit in place.start..place.start + units {
        memory.put(unit, unit);
    }
    reserve.leave(slot);
}

/// Whatever the flusher finds complete is copied (W1), with stragglers, and with a slot used by two.
fn completeness(slots: usize) {
    bounded(move || {
        let reserve = Arc::new(Reserve::new(1, slots));
        let memory = Arc::new(Memory::new(8));
        let inserters: Vec<_> = (0..2)
            .map(|i| {
                let (reserve, memory) = (Arc::clone(&reserve), Arc::clone(&memory));
                thread::spawn(move || insert(&reserve, &memory, i, 1 + i as u64))
            })
            .collect();
        let mut last = 1;
        for _ in 0..2 {
            let complete = reserve.complete().max(last);
            for unit in last..complete {
                assert_eq!(memory.get(unit), unit);
            }
            last = complete;
        }
        inserters.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(reserve.complete(), 4);
    });
}

#[test]
fn loom_complete_log_is_copied() {
    completeness(2);
}

#[test]
fn loom_complete_log_is_copied_when_inserters_share_a_slot() {
    completeness(1);
}

/// Commits publish in order, nobody returns before its own is published, and whoever sees the published
/// number sees every CSN below it (W3). Starting near the last ticket makes it wrap.
#[test]
fn loom_published_commits_have_their_csn() {
    bounded(|| {
        let reserve = Arc::new(Reserve::new(1, 2));
        let publish = Arc::new(Publish::new(0));
        for _ in 0..TICKETS - 1 {
            let slot = reserve.enter(0);
            let place = reserve.reserve(&slot, 1, true);
            publish.mark(place);
            reserve.leave(slot);
            publish.wait(place);
        }
        let first = publish.last() + 1;
        let csns = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let committers: Vec<_> = (0..2)
            .map(|i| {
                let (reserve, publish) = (Arc::clone(&reserve), Arc::clone(&publish));
                let csns = Arc::clone(&csns);
                thread::spawn(move || {
                    let slot = reserve.enter(i);
                    let place = reserve.reserve(&slot, 1, true);
                    csns[(place.start - first) as usize].store(place.start, Ordering::Relaxed);
                    publish.mark(place);
                    reserve.leave(slot);
                    publish.wait(place);
                    assert!(publish.last() >= place.start);
                    all_stored(&csns, first, publish.last());
                })
            })
            .collect();
        all_stored(&csns, first, publish.last());
        committers.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(publish.last(), first + 1);
    });
}

/// Whoever has seen the published number sees the CSNs up to it.
fn all_stored(csns: &[AtomicU64; 2], first: u64, published: u64) {
    for csn in first..=published {
        assert_eq!(csns[(csn - first) as usize].load(Ordering::Relaxed), csn);
    }
}

/// Under claims, a record never lands on ring memory that the flusher still reads (W2). The ring is full to its last unit;
/// then the flusher reads it and lets it go while two inserters claim so many units, use all but `spare` of them, and come
/// to cells that are read. A claim that nothing bounds races with the reading, which loom reports.
fn claims(purses: usize, chunk: u64, claimed: [u64; 2], spare: u64) {
    const RING: u64 = 3;
    // Loom's own atomics would multiply the orders: this one is about all of them.
    let all_let_in = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&all_let_in);
    bounded(move || {
        let reserve = Arc::new(Reserve::new(1, 2));
        let space = Arc::new(Space::with_chunk(1, RING, purses, chunk));
        space.segments_ready_below(u64::MAX / 2);
        let memory = Arc::new(Memory::new(RING as usize));
        space.try_claim(RING, Claimant::Ordinary, 0).expect("the ring is empty");
        insert(&reserve, &memory, 0, RING);
        let inserters = claimed.map(|units| {
            let reserve = Arc::clone(&reserve);
            let (space, memory) = (Arc::clone(&space), Arc::clone(&memory));
            let hint = usize::from(units == claimed[1]);
            thread::spawn(move || {
                let granted = space.try_claim(units, Claimant::Ordinary, hint).is_ok();
                if granted {
                    insert(&reserve, &memory, hint, units - spare);
                    space.give_back(spare, Claimant::Ordinary, hint);
                }
                if granted { units - spare } else { 0 }
            })
        });
        let complete = reserve.complete().min(1 + RING);
        for unit in 1..complete {
            assert_eq!(memory.get(unit), unit);
        }
        space.ring_free_below(complete + RING);
        let used = inserters.map(|inserter| inserter.join().unwrap());
        assert_eq!(reserve.complete(), 1 + RING + used[0] + used[1]);
        seen.fetch_or(used.iter().all(|units| *units > 0), std::sync::atomic::Ordering::Relaxed);
    });
    let all_let_in = all_let_in.load(std::sync::atomic::Ordering::Relaxed);
    assert!(all_let_in, "no order lets everybody in: the model shows nothing");
}

#[test]
fn loom_claims_keep_inserters_off_unflushed_ring() {
    claims(1, 0, [2, 2], 1);
}

/// One purse: what an inserter puts into it, the other takes, and relies on what the first saw of the limits.
#[test]
fn loom_claims_from_a_shared_purse_keep_inserters_off_unflushed_ring() {
    claims(1, 1, [1, 1], 0);
}

/// Two purses: who finds no room empties the other's.
#[test]
fn loom_claims_that_empty_purses_keep_inserters_off_unflushed_ring() {
    claims(2, 1, [1, 2], 0);
}

/// A claim of more than the ring is never granted, however much the flusher frees meanwhile: there is no record longer
/// than the ring that could run into its own beginning.
#[test]
fn loom_no_record_is_longer_than_the_ring() {
    const RING: u64 = 2;
    bounded(|| {
        let reserve = Arc::new(Reserve::new(1, 2));
        let space = Arc::new(Space::with_chunk(1, RING, 2, 0));
        space.segments_ready_below(u64::MAX / 2);
        let memory = Arc::new(Memory::new(RING as usize));
        let inserter = {
            let (reserve, space) = (Arc::clone(&reserve), Arc::clone(&space));
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                space.try_claim(2, Claimant::Ordinary, 0).expect("the ring is empty");
                insert(&reserve, &memory, 0, 1);
                space.give_back(1, Claimant::Ordinary, 0);
            })
        };
        let claimant = {
            let space = Arc::clone(&space);
            thread::spawn(move || {
                for _ in 0..2 {
                    let denied = space.try_claim(RING + 1, Claimant::Checkpointer, 1);
                    assert_eq!(denied, Err(Denied::NotYet));
                }
            })
        };
        let complete = reserve.complete();
        space.ring_free_below(complete + RING);
        claimant.join().unwrap();
        inserter.join().unwrap();
    });
}
