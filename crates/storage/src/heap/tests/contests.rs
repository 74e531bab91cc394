//! Many sessions at the same rows and keys: nothing is lost, nothing is there twice.

use super::rows::{HOT, assert_sound, heap};
use crate::btree::{BTree, NewEntry};
use crate::error::Error;
use crate::heap::{HeapRel, Outcome, RowBuf};
use crate::lock::{RowLock, WaitPolicy};
use crate::rig::Rig;
use crate::txn::{Isolation, Txn};
use base::rank::Rank;
use base::{Persistence, Tid};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adds to the number in the row behind `root`, as an UPDATE under READ COMMITTED does.
fn add(heap: &HeapRel, txn: &Txn, root: Tid, by: i64) {
    let mut buf = RowBuf::new();
    let snapshot = txn.statement_snapshot();
    assert!(heap.fetch(txn, &snapshot, root, &mut buf).unwrap(), "the row is there");
    let (mut tid, mut turn) = (buf.tid(), None);
    loop {
        let value = i64::from_le_bytes(buf.bytes().try_into().unwrap()) + by;
        match heap.update(txn, tid, &value.to_le_bytes(), HOT, turn.take()).unwrap() {
            Outcome::Done { heap_only, .. } => {
                assert!(heap_only, "the page has room for these few versions");
                break;
            }
            Outcome::Updated { newest, turn: kept } => {
                assert!(heap.fetch_version(newest, &mut buf).unwrap());
                (tid, turn) = (newest, kept);
            }
            other => panic!("{other:?}"),
        }
    }
    txn.release_statement();
    txn.next_command().unwrap();
}

fn value(heap: &HeapRel, txn: &Txn, root: Tid) -> i64 {
    let mut buf = RowBuf::new();
    assert!(heap.fetch(txn, &txn.statement_snapshot(), root, &mut buf).unwrap());
    i64::from_le_bytes(buf.bytes().try_into().unwrap())
}

/// Sessions add to one row, some roll back: every committed addition counts, once.
#[test]
fn no_addition_to_a_hot_row_is_lost() {
    const SESSIONS: usize = 6;
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let root = heap.insert(&txn, &0i64.to_le_bytes()).unwrap();
    txn.commit().unwrap();
    let committed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (rig, heap, committed) = (&rig, &heap, &committed);
            scope.spawn(move || {
                let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
                // All versions fit the page, pruned or not.
                for i in 0..25 {
                    txn.begin(Isolation::ReadCommitted);
                    add(heap, &txn, root, 1);
                    if (i + session) % 7 == 0 {
                        txn.abort();
                    } else {
                        txn.commit().unwrap();
                        committed.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    txn.begin(Isolation::ReadCommitted);
    assert_eq!(value(&heap, &txn, root) as u64, committed.load(Relaxed));
    assert_sound(&heap);
}

/// Transfers between rows, in row order; the sum never changes for any snapshot.
#[test]
fn transfers_keep_the_sum_for_every_snapshot() {
    const ROWS: usize = 5;
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let roots: Vec<Tid> =
        (0..ROWS).map(|_| heap.insert(&txn, &100i64.to_le_bytes()).unwrap()).collect();
    txn.commit().unwrap();
    std::thread::scope(|scope| {
        for session in 0..3 {
            let (rig, heap, roots) = (&rig, &heap, &roots);
            scope.spawn(move || {
                let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
                let mut rng = fastrand::Rng::with_seed(session);
                // All versions fit the page, also if the reader's snapshot lets none be pruned.
                for _ in 0..25 {
                    txn.begin(Isolation::ReadCommitted);
                    let from = rng.usize(..ROWS - 1);
                    let to = rng.usize(from + 1..ROWS);
                    let amount = rng.i64(-20..20);
                    add(heap, &txn, roots[from], -amount);
                    add(heap, &txn, roots[to], amount);
                    if rng.u8(..5) == 0 {
                        txn.abort();
                    } else {
                        txn.commit().unwrap();
                    }
                }
            });
        }
        let (rig, heap, roots) = (&rig, &heap, &roots);
        scope.spawn(move || {
            let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
            for _ in 0..300 {
                txn.begin(Isolation::RepeatableRead);
                let sum: i64 = roots.iter().map(|root| value(heap, &txn, *root)).sum();
                assert_eq!(sum, 100 * ROWS as i64);
                txn.commit().unwrap();
            }
        });
    });
    assert_sound(&heap);
}

/// Sessions insert the same keys at the same time: each key has one winner (B7 of the B-tree), whoever rolls back counts
/// not.
#[test]
fn a_key_has_one_winner() {
    const SESSIONS: usize = 5;
    const KEYS: u64 = 60;
    let rig = Rig::new(24);
    let heap = heap(&rig, 1, 100);
    let rel = rig.create(2, Persistence::Permanent, Rank::IndexPage);
    let index = BTree::new(rel, &rig.txns);
    let (winners, losers) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Barrier::new(SESSIONS);
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (rig, heap, index, start) = (&rig, &heap, &index, &start);
            let (winners, losers) = (&winners, &losers);
            scope.spawn(move || {
                let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
                for number in 0..KEYS {
                    start.wait();
                    // The first to come rolls back now and then, and lets another win.
                    txn.begin(Isolation::ReadCommitted);
                    let key = number.to_be_bytes();
                    let tid = heap.insert(&txn, &key).unwrap();
                    let mut judge = |tid| heap.liveness(&txn, tid);
                    match index.insert_unique(
                        &txn,
                        NewEntry::plain(&key, tid),
                        &mut judge,
                        &mut |_| Ok(false),
                    ) {
                        Ok(()) if session == 0 && number % 3 == 0 => txn.abort(),
                        Ok(()) => {
                            txn.commit().unwrap();
                            winners.fetch_add(1, Relaxed);
                        }
                        Err(Error::Duplicate { .. }) => {
                            txn.abort();
                            losers.fetch_add(1, Relaxed);
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        }
    });
    assert_eq!(winners.load(Relaxed), KEYS);
    assert!(losers.load(Relaxed) >= KEYS * (SESSIONS as u64 - 2));
    let txn = rig.begin();
    let snapshot = txn.statement_snapshot();
    let (mut tids, mut buf) = (Vec::new(), RowBuf::new());
    for number in 0..KEYS {
        index.lookup(&number.to_be_bytes(), &mut tids).unwrap();
        let seen = |tid: &&Tid| heap.fetch(&txn, &snapshot, **tid, &mut buf).unwrap();
        assert_eq!(tids.iter().filter(seen).count(), 1, "key {number}");
    }
}

/// A job queue: sessions take the first row that nobody holds, and each row is taken once.
#[test]
fn locked_rows_are_skipped_and_each_is_taken_once() {
    const JOBS: u64 = 40;
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let jobs: Vec<Tid> = (0..JOBS).map(|i| heap.insert(&txn, &i.to_le_bytes()).unwrap()).collect();
    txn.commit().unwrap();
    let taken: Vec<AtomicU64> = (0..JOBS).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (rig, heap, jobs, taken) = (&rig, &heap, &jobs, &taken);
            scope.spawn(move || {
                let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
                loop {
                    txn.begin(Isolation::ReadCommitted);
                    let free = jobs.iter().position(|tid| {
                        let never = WaitPolicy::Never;
                        let got = heap.lock_row(&txn, *tid, RowLock::Update, never, None).unwrap();
                        matches!(got, Outcome::Done { .. })
                    });
                    let left = free.is_some();
                    if let Some(job) = free {
                        let gone = heap.delete(&txn, jobs[job], None).unwrap();
                        assert!(matches!(gone, Outcome::Done { .. }));
                        taken[job].fetch_add(1, Relaxed);
                    }
                    txn.commit().unwrap();
                    if !left && taken.iter().all(|t| t.load(Relaxed) > 0) {
                        return;
                    }
                }
            });
        }
    });
    assert!(taken.iter().all(|t| t.load(Relaxed) == 1));
}
