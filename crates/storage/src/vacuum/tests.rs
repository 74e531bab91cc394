use super::*;
use crate::btree::BTree;
use crate::check::{self, Indexed};
use crate::heap::{Change, HeapScan, Outcome, RowBuf};
use crate::rig::Rig;
use crate::txn::{Isolation, Snapshot, Txn};
use base::Persistence;
use base::rank::Rank;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

struct Table {
    heap: HeapRel,
    index: Index,
}

fn key_of(row: &[u8]) -> Option<Vec<u8>> {
    Some(row[..8].to_vec())
}

/// Key, then value, then some length.
fn row(key: u64, value: u64) -> Vec<u8> {
    let mut row = key.to_be_bytes().to_vec();
    row.extend_from_slice(&value.to_be_bytes());
    row.resize(60 + (key % 50) as usize, 7);
    row
}

impl Table {
    fn new(rig: &Rig, number: u32) -> Table {
        let heap = rig.create(number, Persistence::Permanent, Rank::HeapPage);
        let index = rig.create(number + 1, Persistence::Permanent, Rank::IndexPage);
        Table {
            heap: HeapRel::new(heap, &rig.txns, 100),
            index: BTree::new(index, &rig.txns).into(),
        }
    }

    fn insert(&self, txn: &Txn, key: u64, value: u64) -> Result<Tid> {
        let row = row(key, value);
        let tid = self.heap.insert(txn, &row)?;
        let key = key_of(&row).unwrap();
        self.index.insert_unique(txn, &key, tid, &mut |tid| self.heap.liveness(txn, tid))?;
        Ok(tid)
    }

    fn update(&self, txn: &Txn, tid: Tid, key: u64, value: u64, hot: bool) -> Tid {
        let row = row(key, value);
        match self.heap.update(txn, tid, &row, Change { hot, key: false }, None).unwrap() {
            Outcome::Done { tid, heap_only } => {
                if !heap_only {
                    let mut judge = |tid| self.heap.liveness(txn, tid);
                    let key = key_of(&row).unwrap();
                    self.index.insert_unique(txn, &key, tid, &mut judge).unwrap();
                }
                tid
            }
            other => panic!("{other:?}"),
        }
    }

    /// What a snapshot finds through the index. Entries of rows that are gone are marked on the way.
    fn value(&self, txn: &Txn, snapshot: &Snapshot, key: u64) -> Option<u64> {
        let mut tids = Vec::new();
        let mut buf = RowBuf::new();
        self.index.lookup(&key.to_be_bytes(), &mut tids).unwrap();
        let found = tids.iter().any(|tid| self.heap.fetch(txn, snapshot, *tid, &mut buf).unwrap());
        let mut is_gone = |tid| self.heap.is_gone(tid);
        self.index.mark_dead(&key.to_be_bytes(), &mut is_gone).unwrap();
        found.then(|| u64::from_be_bytes(buf.bytes()[8..16].try_into().unwrap()))
    }

    fn check(&self) -> check::Report {
        let mut report = check::Report::default();
        let indexed = Indexed { index: &self.index, key_of: &key_of, unique: true, complete: true };
        check::table(&self.heap, &[indexed], &mut report).unwrap();
        assert!(report.faults.is_empty(), "{:#?}", report.faults);
        report
    }

    fn rows(&self, txn: &Txn) -> u64 {
        let mut scan = HeapScan::new(&self.heap, txn.statement_snapshot()).unwrap();
        let mut count = 0;
        while scan.next(&self.heap, txn).unwrap().is_some() {
            count += 1;
        }
        txn.release_statement();
        count
    }
}

#[test]
fn dead_rows_leave_heap_and_index_and_their_space_is_used_again() {
    let rig = Rig::new(128);
    let table = Table::new(&rig, 1);
    let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
    let mut blocks = 0;
    for round in 0..5 {
        txn.begin(Isolation::ReadCommitted);
        let tids: Vec<Tid> =
            (0..2000).map(|i| table.insert(&txn, round * 2000 + i, i).unwrap()).collect();
        txn.commit().unwrap();
        txn.begin(Isolation::ReadCommitted);
        for (i, tid) in tids.iter().enumerate().filter(|(i, _)| i % 10 != 0) {
            if i % 3 == 0 {
                let key = round * 2000 + i as u64;
                table.update(&txn, *tid, key, 1, false);
            } else {
                assert!(matches!(table.heap.delete(&txn, *tid, None), Ok(Outcome::Done { .. })));
            }
        }
        txn.commit().unwrap();
        table.check();
        rig.wal.flush(rig.wal.position());
        let indexes = [table.index.clone()];
        let report = vacuum(&table.heap, &indexes, &Options::default()).unwrap();
        assert_eq!((report.removed, report.lines_freed), (1800, 1800));
        assert_eq!(report.indexes[0].removed, 1800);
        assert_eq!(report.pages_all_visible, report.pages);
        let checked = table.check();
        assert_eq!(checked.entries, 800 * (round + 1));
        if round == 1 {
            blocks = report.pages;
        }
        assert!(round < 2 || report.pages <= blocks + (round as u32 - 1) * 16, "space is reused");
    }
    txn.begin(Isolation::ReadCommitted);
    assert_eq!(table.rows(&txn), 4000);
    txn.commit().unwrap();
    // A second vacuum finds nothing to do.
    let indexes = [table.index.clone()];
    let again = vacuum(&table.heap, &indexes, &Options::default()).unwrap();
    assert_eq!((again.pages_scanned, again.removed, again.index_passes), (0, 0, 0));
}

#[test]
fn what_an_open_snapshot_may_see_stays() {
    let rig = Rig::new(64);
    let table = Table::new(&rig, 1);
    let (reader, txn) = (rig.begin(), rig.begin());
    let tids: Vec<Tid> = (0..200).map(|i| table.insert(&txn, i, i).unwrap()).collect();
    txn.commit().unwrap();
    let snapshot = reader.statement_snapshot();
    txn.begin(Isolation::ReadCommitted);
    tids.iter().for_each(|tid| drop(table.heap.delete(&txn, *tid, None).unwrap()));
    txn.commit().unwrap();
    rig.wal.flush(rig.wal.position());
    let indexes = [table.index.clone()];
    let report = vacuum(&table.heap, &indexes, &Options::default()).unwrap();
    assert_eq!((report.removed, report.recently_dead), (0, 200));
    let mut buf = crate::heap::RowBuf::new();
    for tid in &tids {
        assert!(table.heap.fetch(&reader, &snapshot, *tid, &mut buf).unwrap());
    }
    reader.release_statement();
    let report = vacuum(&table.heap, &indexes, &Options::default()).unwrap();
    assert_eq!(report.removed, 200);
}

#[test]
fn rolled_back_work_leaves_nothing_behind() {
    let rig = Rig::new(64);
    let table = Table::new(&rig, 1);
    let txn = rig.begin();
    let kept = table.insert(&txn, 1, 1).unwrap();
    txn.commit().unwrap();
    txn.begin(Isolation::ReadCommitted);
    table.update(&txn, kept, 1, 2, true);
    for key in 10..400 {
        table.insert(&txn, key, 0).unwrap();
    }
    txn.abort();
    let indexes = [table.index.clone()];
    let report = vacuum(&table.heap, &indexes, &Options::default()).unwrap();
    assert_eq!((report.removed, report.live), (391, 1));
    assert_eq!(table.check().entries, 1);
    txn.begin(Isolation::ReadCommitted);
    table.update(&txn, kept, 1, 3, true);
    txn.commit().unwrap();
}

/// A worker that cleans one table whenever that says that it is due.
fn worker_for(
    rig: &Rig,
    table: &Arc<Table>,
    failed: impl Fn(&crate::Error) + Send + 'static,
) -> Worker {
    let queue = Arc::new(Queue::default());
    let its_queue = Arc::clone(&queue);
    let limits = Arc::default();
    table.heap.tell_when_due(&limits, move |rel| its_queue.push(rel));
    let opened = Arc::clone(table);
    let open: Box<Open> = Box::new(move |_, clean| {
        clean(&opened.heap, std::slice::from_ref(&opened.index), &|| false);
        Opened::Yes
    });
    let analyze: Box<Analyze> = Box::new(|_| Opened::No);
    Worker::start(&rig.env(), queue, open, analyze, move |_, error| failed(error))
}

/// Updates, inserts and deletes by several sessions on a small pool, with the background worker cleaning.
#[test]
fn the_worker_keeps_up_while_sessions_write() {
    const SESSIONS: u64 = 3;
    const KEYS: u64 = 60;
    let rig = Rig::new(24);
    let table = Arc::new(Table::new(&rig, 1));
    let errors = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&errors);
    let failed = move |error: &crate::Error| noted.lock().unwrap().push(error.to_string());
    let worker = worker_for(&rig, &table, failed);
    let committed = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (rig, table, committed) = (&rig, &table, &committed);
            scope.spawn(move || {
                let txn = Txn::attach(&rig.txns, 1, 1).unwrap();
                let mut rng = fastrand::Rng::with_seed(session);
                let mut mine: Vec<Option<Tid>> = vec![None; KEYS as usize];
                for value in 0..1500 {
                    txn.begin(Isolation::ReadCommitted);
                    let _snapshot = txn.statement_snapshot();
                    let i = rng.usize(..mine.len());
                    let key = session * KEYS + i as u64;
                    let before = mine[i];
                    mine[i] = match before {
                        None => Some(table.insert(&txn, key, value).unwrap()),
                        Some(tid) if rng.u8(..4) == 0 => {
                            drop(table.heap.delete(&txn, tid, None).unwrap());
                            None
                        }
                        Some(tid) => Some(table.update(&txn, tid, key, value, rng.bool())),
                    };
                    if rng.u8(..8) == 0 {
                        txn.abort();
                        mine[i] = before;
                    } else {
                        txn.commit().unwrap();
                        committed.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    worker.stop();
    assert!(errors.lock().unwrap().is_empty(), "{errors:?}");
    assert!(worker.stats().runs > 0);
    table.check();
    rig.wal.flush(rig.wal.position());
    let indexes = [table.index.clone()];
    vacuum(&table.heap, &indexes, &Options::default()).unwrap();
    let report = table.check();
    assert!(report.entries <= SESSIONS * KEYS * 2);
}

/// One row is updated again and again, half of the time under a snapshot that sees its oldest state; the worker
/// cleans in between. Neither table nor index grows with the number of updates.
#[test]
fn a_hot_row_does_not_make_its_table_grow() {
    const PHASES: usize = 3;
    const UPDATES: u64 = 2_000;
    let rig = Rig::new(256);
    let table = Arc::new(Table::new(&rig, 1));
    let worker = worker_for(&rig, &table, |error| panic!("{error}"));
    let (txn, reader) = (rig.begin(), Txn::attach(&rig.txns, 2, 1).unwrap());
    let mut hot = table.insert(&txn, 0, 0).unwrap();
    for key in 1..100 {
        table.insert(&txn, key, key).unwrap();
    }
    txn.commit().unwrap();
    let mut value = 0;
    let mut sizes = Vec::new();
    for _ in 0..PHASES {
        reader.begin(Isolation::RepeatableRead);
        let old = reader.statement_snapshot();
        let seen = value;
        for i in 0..UPDATES {
            txn.begin(Isolation::ReadCommitted);
            value += 1;
            hot = table.update(&txn, hot, 0, value, true);
            txn.commit().unwrap();
            if i == UPDATES / 2 {
                assert_eq!(table.value(&reader, &old, 0), Some(seen));
                reader.commit().unwrap();
            }
        }
        rig.wal.flush(rig.wal.position());
        let started = std::time::Instant::now();
        while table.heap.dirt().dead > 200 {
            assert!(started.elapsed().as_secs() < 60, "{:?}", table.heap.dirt());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let blocks = |rel: &crate::buffer::Relation| rel.blocks(Fork::Main).unwrap();
        sizes.push((blocks(table.heap.relation()), blocks(table.index.relation())));
        txn.begin(Isolation::ReadCommitted);
        assert_eq!(table.rows(&txn), 100);
        assert_eq!(table.value(&txn, &txn.statement_snapshot(), 0), Some(value));
        txn.commit().unwrap();
    }
    worker.stop();
    table.check();
    // Each phase has room in what the one before left clean; without, the last would have made it three times
    // the first.
    let (first, last) = (sizes[0], sizes[PHASES - 1]);
    assert!(last.0 <= 2 * first.0 && last.1 <= 2 * first.1, "{sizes:?}");
}
