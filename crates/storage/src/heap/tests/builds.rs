//! What a scan tells an index about to be built: the roots of chains, and whether older snapshots matter.

use super::rows::{HOT, heap, row};
use crate::heap::{Change, HeapRel, HeapScan, Outcome, RowBuf};
use crate::rig::Rig;
use crate::txn::{Isolation, Txn};
use base::Tid;
use std::collections::BTreeMap;

/// Rows with version and root; and whether older snapshots may see others.
fn for_index(heap: &HeapRel, txn: &Txn) -> (BTreeMap<Vec<u8>, (Tid, Tid)>, bool) {
    let mut scan = HeapScan::for_index(heap, txn.fresh_snapshot()).unwrap();
    let mut rows = BTreeMap::new();
    while let Some(row) = scan.next(heap, txn).unwrap() {
        rows.insert(row.bytes.to_vec(), (row.tid, row.root));
    }
    (rows, scan.has_older())
}

/// Every root leads to its version, by whatever a reader does.
fn assert_found(heap: &HeapRel, txn: &Txn, rows: &BTreeMap<Vec<u8>, (Tid, Tid)>) {
    let mut buf = RowBuf::new();
    for (bytes, (tid, root)) in rows {
        assert!(heap.fetch(txn, &txn.fresh_snapshot(), *root, &mut buf).unwrap());
        assert_eq!((buf.bytes(), buf.tid()), (bytes.as_slice(), *tid));
    }
}

#[test]
fn rows_are_found_by_the_roots_that_a_scan_tells() {
    for seed in 0..8 {
        let rig = Rig::new(64);
        let heap = heap(&rig, 1, if seed % 2 == 0 { 100 } else { 50 });
        let mut rng = fastrand::Rng::with_seed(seed);
        let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
        let mut rows: Vec<(u64, Tid)> = Vec::new();
        for round in 0..40u64 {
            txn.begin(Isolation::ReadCommitted);
            let before = rows.clone();
            for number in 0..5 {
                let number = round * 5 + number;
                rows.push((number, heap.insert(&txn, &row(number, round)).unwrap()));
            }
            txn.next_command().unwrap();
            for _ in 0..rng.usize(..30) {
                let (number, tid) = &mut rows[rng.usize(..before.len() + 5)];
                let change = Change { hot: rng.u8(..4) > 0, key: false };
                let new = row(*number, rng.u64(..40));
                let outcome = heap.update(&txn, *tid, &new, change, None).unwrap();
                let Outcome::Done { tid: to, .. } = outcome else { panic!("{outcome:?}") };
                *tid = to;
                txn.next_command().unwrap();
            }
            if rng.u8(..4) == 0 {
                txn.abort();
                rows = before;
            } else {
                txn.commit().unwrap();
            }
            txn.begin(Isolation::ReadCommitted);
            let (seen, _) = for_index(&heap, &txn);
            assert_eq!(seen.len(), rows.len());
            assert_found(&heap, &txn, &seen);
            txn.commit().unwrap();
        }
    }
}

#[test]
fn older_snapshots_matter_until_they_are_gone() {
    let rig = Rig::new(64);
    let heap = heap(&rig, 1, 100);
    let (reader, txn) = (rig.begin(), rig.begin());
    let tid = heap.insert(&txn, &row(1, 0)).unwrap();
    let gone = heap.insert(&txn, &row(2, 0)).unwrap();
    txn.commit().unwrap();
    let has_older = |txn: &Txn| {
        rig.txns.refresh();
        txn.begin(Isolation::ReadCommitted);
        let (rows, has_older) = for_index(&heap, txn);
        assert_found(&heap, txn, &rows);
        txn.commit().unwrap();
        has_older
    };
    assert!(!has_older(&txn), "rows of one version");
    let _old = reader.statement_snapshot();
    assert!(!has_older(&txn), "rows that everybody sees");
    txn.begin(Isolation::ReadCommitted);
    heap.update(&txn, tid, &row(1, 1), HOT, None).unwrap();
    txn.abort();
    assert!(!has_older(&txn), "an update that nobody will see");
    txn.begin(Isolation::ReadCommitted);
    heap.delete(&txn, gone, None).unwrap();
    txn.commit().unwrap();
    assert!(has_older(&txn), "a row that an old snapshot sees");
    reader.release_statement();
    assert!(!has_older(&txn));
    let _old = reader.statement_snapshot();
    txn.begin(Isolation::ReadCommitted);
    heap.update(&txn, tid, &row(1, 1), HOT, None).unwrap();
    assert!(for_index(&heap, &txn).1, "the own transaction's change");
    txn.commit().unwrap();
    assert!(has_older(&txn), "a version that an old snapshot sees");
    reader.release_statement();
    assert!(!has_older(&txn));
}
