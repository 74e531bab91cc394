//! One session against a model, and two against each other.

use crate::heap::{Change, Freeze, HeapRel, HeapScan, MAX_ROW_BYTES, Outcome, RowBuf, vm};
use crate::lock::{RowLock, WaitPolicy};
use crate::page::changing;
use crate::rig::Rig;
use crate::txn::{Flags, Isolation, Txn};
use base::rank::Rank;
use base::{BlockNo, Persistence, Tid};
use std::collections::BTreeMap;

pub(super) const HOT: Change = Change { hot: true, key: false };

pub(super) fn heap(rig: &Rig, number: u32, fillfactor: u8) -> HeapRel {
    let rel = rig.create(number, Persistence::Permanent, Rank::HeapPage);
    HeapRel::new(rel, &rig.txns, fillfactor)
}

pub(super) fn rows_of(heap: &HeapRel, txn: &Txn) -> BTreeMap<Vec<u8>, Tid> {
    let mut scan = HeapScan::new(heap, txn.statement_snapshot()).unwrap();
    let mut rows = BTreeMap::new();
    while let Some(row) = scan.next(heap, txn).unwrap() {
        assert!(rows.insert(row.bytes.to_vec(), row.tid).is_none(), "a row is seen once");
    }
    txn.release_statement();
    rows
}

pub(super) fn assert_sound(heap: &HeapRel) {
    let mut faults = Vec::new();
    heap.check(&mut |fault| faults.push(fault)).unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
}

pub(super) fn done(outcome: Outcome) -> (Tid, bool) {
    match outcome {
        Outcome::Done { tid, heap_only } => (tid, heap_only),
        other => panic!("{other:?}"),
    }
}

fn next(txn: &Txn) {
    txn.next_command().unwrap();
}

/// A row's bytes tell its number, so that rows differ; long or short by turns.
pub(super) fn row(number: u64, version: u64) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    row.resize(8 + (number * 7 + version * 13) as usize % 300, 0xAB);
    row.extend_from_slice(&version.to_le_bytes());
    row
}

/// A hint learnt before the version was taken back comes too late, though its maker committed.
#[test]
fn a_version_taken_back_gets_no_hint_that_its_maker_committed() {
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let tid = heap.insert(&txn, &row(1, 0)).unwrap();
    let mut buf = RowBuf::default();
    assert!(heap.fetch_version(tid, &mut buf).unwrap());
    let read_before = *buf.header();
    heap.take_back(&txn, tid).unwrap();
    txn.commit().unwrap();
    heap.set_hints(tid, &read_before, Flags::XMIN_COMMITTED).unwrap();
    assert!(heap.fetch_version(tid, &mut buf).unwrap());
    assert!(!buf.header().flags.has(Flags::XMIN_FROZEN));
}

/// Who reads without a latch gets over pages that become others under way.
#[test]
fn a_heap_keeps_its_rows_though_its_pages_change_under_its_readers() {
    let changes = changing::unrest(7, || {
        a_heap_keeps_what_its_transactions_did();
        a_hot_chain_is_followed_from_its_root_and_pruned();
        an_old_snapshot_keeps_its_versions_over_pages();
        a_row_taken_back_was_never_there();
    });
    assert!(changes > 1_000, "{changes} pages changed");
}

#[test]
fn a_heap_keeps_what_its_transactions_did() {
    for seed in 0..6 {
        let rig = Rig::new(64);
        let heap = heap(&rig, 1, if seed % 2 == 0 { 100 } else { 60 });
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut model: BTreeMap<Vec<u8>, Tid> = BTreeMap::new();
        let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
        let (mut number, mut version) = (0, 0);
        for _ in 0..60 {
            txn.begin(Isolation::ReadCommitted);
            let before = model.clone();
            for _ in 0..rng.usize(..40) {
                version += 1;
                let pick = rng.usize(..model.len().max(1));
                match (rng.u8(..10), model.iter().nth(pick).map(|(r, t)| (r.clone(), *t))) {
                    (0..4, _) | (_, None) => {
                        number += 1;
                        let row = row(number, version);
                        let tid = heap.insert(&txn, &row).unwrap();
                        model.insert(row, tid);
                    }
                    (4..8, Some((old, tid))) => {
                        let of = u64::from_le_bytes(old[..8].try_into().unwrap());
                        let row = row(of, version);
                        let change = Change { hot: rng.bool(), key: false };
                        let (to, _) = done(heap.update(&txn, tid, &row, change, None).unwrap());
                        model.remove(&old);
                        model.insert(row, to);
                    }
                    (_, Some((old, tid))) => {
                        done(heap.delete(&txn, tid, None).unwrap());
                        model.remove(&old);
                    }
                }
                next(&txn);
            }
            assert_eq!(rows_of(&heap, &txn), model);
            if rng.u8(..3) == 0 {
                txn.abort();
                model = before;
            } else {
                let at = txn.commit().unwrap();
                let _ = at;
                rig.wal.flush(rig.wal.position());
            }
            txn.begin(Isolation::ReadCommitted);
            assert_eq!(rows_of(&heap, &txn), model);
            txn.commit().unwrap();
            assert_sound(&heap);
        }
        let fresh = rig.redone(2, &[heap.relation().id()]);
        let again =
            HeapRel::new(fresh.relation(heap.relation().id(), Rank::HeapPage), &rig.txns, 100);
        txn.begin(Isolation::ReadCommitted);
        assert_eq!(rows_of(&again, &txn), model, "redo gives the same rows");
        assert_sound(&again);
        fresh.stop();
    }
}

#[test]
fn a_hot_chain_is_followed_from_its_root_and_pruned() {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 100);
    let (reader, txn) = (rig.begin(), rig.begin());
    let root = heap.insert(&txn, &row(1, 0)).unwrap();
    txn.commit().unwrap();
    let old = reader.statement_snapshot();
    let mut buf = RowBuf::new();
    let mut tid = root;
    for version in 1..500 {
        txn.begin(Isolation::ReadCommitted);
        let outcome = heap.update(&txn, tid, &row(1, version), HOT, None).unwrap();
        let (to, heap_only) = done(outcome);
        assert!(heap_only && to.block == root.block, "pruning keeps the row on its page");
        tid = to;
        txn.commit().unwrap();
        rig.wal.flush(rig.wal.position());
        txn.begin(Isolation::ReadCommitted);
        assert!(heap.fetch(&txn, &txn.statement_snapshot(), root, &mut buf).unwrap());
        assert_eq!((buf.bytes(), buf.tid()), (row(1, version).as_slice(), tid));
        txn.commit().unwrap();
        if version == 10 {
            assert!(heap.fetch(&reader, &old, root, &mut buf).unwrap());
            assert_eq!(buf.bytes(), row(1, 0), "an old snapshot sees the old version");
            reader.release_statement();
        }
    }
    assert_eq!(heap.relation().blocks(base::Fork::Main).unwrap(), 1);
    assert_sound(&heap);
}

#[test]
fn each_snapshot_finds_its_version_in_a_long_chain() {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let root = heap.insert(&txn, &0u64.to_le_bytes()).unwrap();
    txn.commit().unwrap();
    let readers: Vec<Txn> = (0..50).map(|_| rig.begin()).collect();
    let mut snapshots = Vec::new();
    let mut tid = root;
    for (version, reader) in (1u64..).zip(&readers) {
        snapshots.push(reader.statement_snapshot());
        txn.begin(Isolation::ReadCommitted);
        (tid, _) = done(heap.update(&txn, tid, &version.to_le_bytes(), HOT, None).unwrap());
        txn.commit().unwrap();
        rig.wal.flush(rig.wal.position());
    }
    assert_eq!(heap.versions(root).unwrap().len(), 51, "all are seen by somebody");
    let mut buf = RowBuf::new();
    // Twice: the second time there are hints.
    for _ in 0..2 {
        for (version, (reader, snapshot)) in (0u64..).zip(readers.iter().zip(&snapshots)) {
            assert!(heap.fetch(reader, snapshot, root, &mut buf).unwrap());
            assert_eq!(buf.bytes(), version.to_le_bytes());
        }
    }
    // Ended by a transaction that runs, then by none; deleted, there is none for whoever comes later.
    txn.begin(Isolation::ReadCommitted);
    done(heap.update(&txn, tid, b"taken back", HOT, None).unwrap());
    let late = rig.begin();
    assert!(heap.fetch(&late, &late.statement_snapshot(), root, &mut buf).unwrap());
    assert_eq!(buf.bytes(), 50u64.to_le_bytes());
    txn.abort();
    txn.begin(Isolation::ReadCommitted);
    done(heap.delete(&txn, tid, None).unwrap());
    txn.commit().unwrap();
    late.release_statement();
    assert!(!heap.fetch(&late, &late.statement_snapshot(), root, &mut buf).unwrap());
    assert!(heap.fetch(&readers[0], &snapshots[0], root, &mut buf).unwrap());
    assert_eq!(buf.bytes(), 0u64.to_le_bytes());
    assert_sound(&heap);
}

#[test]
fn an_old_snapshot_keeps_its_versions_over_pages() {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 100);
    let (reader, txn) = (rig.begin(), rig.begin());
    let tids: Vec<Tid> = (0..300).map(|i| heap.insert(&txn, &row(i, 0)).unwrap()).collect();
    txn.commit().unwrap();
    let old = reader.statement_snapshot();
    let mut now = tids.clone();
    for version in 1..8 {
        txn.begin(Isolation::ReadCommitted);
        for (i, tid) in now.iter_mut().enumerate() {
            let row = row(i as u64, version);
            (*tid, _) = done(heap.update(&txn, *tid, &row, HOT, None).unwrap());
        }
        txn.commit().unwrap();
        rig.wal.flush(rig.wal.position());
    }
    let mut scan = HeapScan::new(&heap, old).unwrap();
    let mut seen = 0;
    while let Some(found) = scan.next(&heap, &reader).unwrap() {
        let number = u64::from_le_bytes(found.bytes[..8].try_into().unwrap());
        assert_eq!(found.bytes, row(number, 0));
        seen += 1;
    }
    assert_eq!(seen, 300);
    assert_sound(&heap);
}

#[test]
fn many_rows_at_once_frozen_or_not() {
    let rig = Rig::new(64);
    let txn = rig.begin();
    for (number, freeze) in [(1, Freeze::No), (2, Freeze::Yes)] {
        let heap = heap(&rig, number, 100);
        let rows: Vec<Vec<u8>> = (0..2000).map(|i| row(i, 0)).collect();
        let refs: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let mut tids = Vec::new();
        heap.multi_insert(&txn, &refs, freeze, None, &mut tids).unwrap();
        next(&txn);
        let expected: BTreeMap<_, _> = rows.iter().cloned().zip(tids.iter().copied()).collect();
        assert_eq!(rows_of(&heap, &txn), expected);
        let bits = if freeze == Freeze::Yes { vm::ALL_VISIBLE | vm::ALL_FROZEN } else { 0 };
        assert_eq!(vm::get(heap.relation(), BlockNo(3)).unwrap(), bits);
        done(heap.delete(&txn, tids[0], None).unwrap());
        assert_eq!(vm::get(heap.relation(), tids[0].block).unwrap(), 0);
        assert_sound(&heap);
    }
    let heap = heap(&rig, 3, 100);
    assert!(heap.insert(&txn, &vec![0; MAX_ROW_BYTES + 1]).is_err());
    heap.insert(&txn, &vec![0; MAX_ROW_BYTES]).unwrap();
    heap.insert(&txn, &[]).unwrap();
}

#[test]
fn a_row_taken_back_was_never_there() {
    let rig = Rig::new(16);
    let heap = heap(&rig, 1, 100);
    let txn = rig.begin();
    let tid = heap.insert(&txn, b"twice").unwrap();
    next(&txn);
    heap.take_back(&txn, tid).unwrap();
    assert!(rows_of(&heap, &txn).is_empty());
    txn.commit().unwrap();
}

#[test]
fn the_second_updater_learns_what_the_first_did() {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 100);
    let (one, two) = (rig.begin(), rig.begin());
    let a = heap.insert(&one, b"a").unwrap();
    let b = heap.insert(&one, b"b").unwrap();
    one.commit().unwrap();

    one.begin(Isolation::ReadCommitted);
    let (newer, _) = done(heap.update(&one, a, b"a2", HOT, None).unwrap());
    done(heap.lock_row(&one, b, RowLock::Update, WaitPolicy::Block, None).unwrap());
    let blocked = heap.lock_row(&two, a, RowLock::Update, WaitPolicy::Never, None).unwrap();
    assert!(matches!(blocked, Outcome::WouldBlock));
    let blocked = heap.lock_row(&two, b, RowLock::Share, WaitPolicy::Never, None).unwrap();
    assert!(matches!(blocked, Outcome::WouldBlock));
    assert!(matches!(heap.update(&one, a, b"a3", HOT, None).unwrap(), Outcome::SelfModified));
    one.commit().unwrap();

    let Outcome::Updated { newest, turn } = heap.update(&two, a, b"a3", HOT, None).unwrap() else {
        panic!("the row was updated by another");
    };
    assert_eq!(newest, newer);
    let mut buf = RowBuf::new();
    assert!(heap.fetch_version(newest, &mut buf).unwrap());
    assert_eq!(buf.bytes(), b"a2");
    done(heap.update(&two, newest, b"a3", HOT, turn).unwrap());
    done(heap.delete(&two, b, None).unwrap());
    two.commit().unwrap();

    one.begin(Isolation::ReadCommitted);
    assert!(matches!(heap.delete(&one, b, None).unwrap(), Outcome::Deleted));
}
