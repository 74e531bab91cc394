//! Many at one index: nothing is lost, nothing is met twice.

use super::{Dice, SPARSE, check, index, random_hash, tid};
use crate::buffer::Passage;
use crate::hash::HashIndex;
use crate::rig::Rig;
use base::{Tid, sim};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Where writers' TIDs that are to be removed again begin.
const SHORT_LIVED: u64 = 1_000_000;

/// One writer of several: inserts, and looks up what it has inserted.
fn write(index: &HashIndex, writer: u64, inserts: u64) -> Vec<(u64, Tid)> {
    let mut dice = Dice::new(writer + 1);
    let (mut mine, mut tids) = (Vec::new(), Vec::new());
    for i in 0..inserts {
        let number = writer * 10_000 + i;
        let hash = random_hash(&mut dice, 4);
        if dice.below(3) == 0 {
            index.insert_hash(hash, tid(SHORT_LIVED + number)).unwrap();
        }
        index.insert_hash(hash, tid(number)).unwrap();
        mine.push((hash, tid(number)));
        for _ in 0..2 {
            let (hash, tid) = mine[dice.below(mine.len() as u64) as usize];
            index.lookup_hash(hash, &mut tids).unwrap();
            let times = tids.iter().filter(|found| **found == tid).count();
            assert_eq!(times, 1, "{tid} of {hash:x}, among {} entries", tids.len());
            let distinct: BTreeSet<&Tid> = tids.iter().collect();
            assert_eq!(distinct.len(), tids.len(), "no entry is met twice");
        }
    }
    mine
}

fn is_short_lived(found: Tid) -> bool {
    found >= tid(SHORT_LIVED)
}

/// Removes what is short-lived until the writers are done.
fn clean(index: &HashIndex, writing: &AtomicU64) {
    while writing.load(Relaxed) > 0 {
        let mut rest = || {
            base::park::yield_now();
            Ok(())
        };
        index
            .vacuum(&mut Passage::for_vacuum(index.relation()), &mut is_short_lived, &mut rest)
            .unwrap();
        // In a simulation time stands still as long as somebody can run.
        base::park::sleep(Duration::from_micros(200));
    }
    index
        .vacuum(&mut Passage::for_vacuum(index.relation()), &mut is_short_lived, &mut || Ok(()))
        .unwrap();
}

fn compare(index: &HashIndex, mut expected: Vec<(u64, Tid)>) {
    expected.sort_unstable();
    let all = check(index);
    // As who lists all entries goes the same way, it meets them, too (I1 of indexes).
    assert!(all.iter().all(|(_, tid)| !is_short_lived(*tid)), "vacuum has met every entry");
    assert_eq!(all, expected);
}

/// Writers, readers and vacuum interleaved at every latch by a seeded scheduler.
#[test]
fn writers_and_vacuum_in_any_order() {
    for seed in 0..12 {
        sim::run(seed, move || {
            let rig = Rig::new(64);
            let index = Arc::new(index(&rig, 1, SPARSE));
            let writing = Arc::new(AtomicU64::new(3));
            let writers: Vec<_> = (0..3)
                .map(|writer| {
                    let (index, writing) = (Arc::clone(&index), Arc::clone(&writing));
                    let mine = Arc::new(std::sync::Mutex::new(Vec::new()));
                    let out = Arc::clone(&mine);
                    let running = rig.env().spawn("writer", move || {
                        *out.lock().unwrap() = write(&index, seed * 3 + writer, 220);
                        writing.fetch_sub(1, Relaxed);
                    });
                    (running, mine)
                })
                .collect();
            let cleaner = {
                let (index, writing) = (Arc::clone(&index), Arc::clone(&writing));
                rig.env().spawn("vacuum", move || clean(&index, &writing))
            };
            let mut expected = Vec::new();
            for (running, mine) in writers {
                running.join();
                expected.append(&mut mine.lock().unwrap());
            }
            cleaner.join();
            compare(&index, expected);
        });
    }
}

/// The same with threads, at a higher rate.
#[test]
fn writers_and_vacuum_on_threads() {
    let rig = Rig::new(512);
    let index = index(&rig, 1, SPARSE);
    let writing = AtomicU64::new(4);
    let expected = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (index, writing) = (&index, &writing);
                scope.spawn(move || {
                    let mine = write(index, writer, 2000);
                    writing.fetch_sub(1, Relaxed);
                    mine
                })
            })
            .collect();
        let cleaner = scope.spawn(|| clean(&index, &writing));
        let expected = writers.into_iter().flat_map(|w| w.join().unwrap()).collect();
        cleaner.join().unwrap();
        expected
    });
    compare(&index, expected);
}
