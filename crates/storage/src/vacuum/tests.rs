mod indexes;
mod passages;
mod sharing;

use super::*;
use crate::btree::{BTree, Bounds, Direction, NewEntry, Scan};
use crate::buffer::PoolStats;
use crate::check::{self, Content, Indexed};
use crate::heap::{Change, HeapScan, Outcome, RowBuf};
use crate::rig::Rig;
use crate::txn::{Isolation, Snapshot, Txn};
use base::Persistence;
use base::rank::Rank;
use std::cell::Cell;
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
        let judge = &mut |tid| self.heap.liveness(txn, tid);
        let is_gone = &mut |tid| self.heap.is_gone(tid);
        self.index.insert_unique(txn, NewEntry::plain(&key, tid), judge, is_gone)?;
        Ok(tid)
    }

    fn update(&self, txn: &Txn, tid: Tid, key: u64, value: u64, hot: bool) -> Tid {
        let row = row(key, value);
        match self.heap.update(txn, tid, &row, Change { hot, key: false }, None).unwrap() {
            Outcome::Done { tid, heap_only } => {
                if !heap_only {
                    let judge = &mut |tid| self.heap.liveness(txn, tid);
                    let is_gone = &mut |tid| self.heap.is_gone(tid);
                    let key = key_of(&row).unwrap();
                    let entry = NewEntry::plain(&key, tid);
                    self.index.insert_unique(txn, entry, judge, is_gone).unwrap();
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
        let indexed = Indexed {
            index: &self.index,
            expected_of: &|row| Ok(key_of(row).map(|key| Content::from(key).into())),
            unique: true,
            complete: true,
        };
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

/// V1: no entry is left that leads to a line pointer which another row has got.
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

/// Vacuum leaves it, and does not wait for who has the snapshot (V3).
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

/// A scan has copied a leaf with entries of rows that were deleted before its snapshot; then vacuum takes the entries
/// out, frees the line pointers and promises the pages, and others use the places. What the map says by then is not
/// about those entries (B8 of the B-tree).
#[test]
fn entries_are_not_vouched_for_by_what_the_map_says_later() {
    for reuse in [false, true] {
        let rig = Rig::new(128);
        let table = Table::new(&rig, 1);
        let txn = rig.begin();
        let tids: Vec<Tid> = (0..200).map(|i| table.insert(&txn, i, i).unwrap()).collect();
        txn.commit().unwrap();
        txn.begin(Isolation::ReadCommitted);
        for tid in tids.iter().skip(1).step_by(2) {
            drop(table.heap.delete(&txn, *tid, None).unwrap());
        }
        txn.commit().unwrap();
        rig.wal.flush(rig.wal.position());
        let reader = rig.begin();
        let snapshot = reader.statement_snapshot();
        let tree = table.index.btree().unwrap();
        for direction in [Direction::Forward, Direction::Backward] {
            let mut scan = Scan::new(Bounds::ALL, direction, true);
            let mut buf = RowBuf::new();
            let mut is_all_visible =
                |block| Ok(vm::get(table.heap.relation(), block)? & vm::ALL_VISIBLE != 0);
            let (mut seen, mut vouched) = (0, 0);
            while let Some((entry, is_sure)) = scan.next_vouched(tree, &mut is_all_visible).unwrap()
            {
                let key = u64::from_be_bytes(entry.key.try_into().unwrap());
                let tid = entry.tid;
                vouched += u32::from(is_sure);
                if is_sure || table.heap.fetch(&reader, &snapshot, tid, &mut buf).unwrap() {
                    assert!(key % 2 == 0, "the row of key {key} was deleted before");
                    seen += 1;
                }
                if seen == 1 && direction == Direction::Forward {
                    let indexes = [table.index.clone()];
                    let report = vacuum(&table.heap, &indexes, &Options::default()).unwrap();
                    assert!(report.pages_all_visible == report.pages || report.removed == 0);
                    if reuse && report.removed > 0 {
                        txn.begin(Isolation::ReadCommitted);
                        for key in 1000..1050 {
                            table.insert(&txn, key, 0).unwrap();
                        }
                        txn.commit().unwrap();
                    }
                }
            }
            assert_eq!(seen, 100);
            match direction {
                Direction::Forward => assert_eq!(vouched, 0, "the leaf has changed"),
                Direction::Backward if reuse => {}
                Direction::Backward => assert_eq!(vouched, 100, "now all are sure"),
            }
        }
    }
}

/// A worker that cleans one table whenever that says that it is due.
fn worker_for(
    rig: &Rig,
    table: &Arc<Table>,
    failed: impl Fn(&crate::Error) + Send + Sync + 'static,
) -> Workers {
    let queue = Arc::new(Queue::default());
    let its_queue = Arc::clone(&queue);
    let limits = Arc::default();
    table.heap.tell_when_due(&limits, move |rel| its_queue.push(rel));
    let opened = Arc::clone(table);
    let open: Box<Open> = Box::new(move |_, clean| {
        clean(&HandedOver {
            heap: &opened.heap,
            indexes: std::slice::from_ref(&opened.index),
            index_cleanup: IndexCleanup::Auto,
            waited_for: &|| false,
            alone: None,
        });
        Opened::Yes
    });
    let analyze: Box<Analyze> = Box::new(|_| Opened::No);
    Workers::start(&rig.env(), 2, queue, open, analyze, move |_, error| failed(error))
}

/// Updates, inserts and deletes by several sessions on a small pool, with a background worker cleaning.
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

/// VACUUM of a table, with the table to itself for a moment if `free` says so; what it did, and how often it asked.
fn vacuum_alone(table: &Table, free: bool, waited_for: bool) -> (Report, u32) {
    let (asked, given) = (Cell::new(0), Cell::new(0));
    let take = || {
        asked.set(asked.get() + 1);
        Ok(free)
    };
    let give = || given.set(given.get() + 1);
    let cut = |rel: &Relation, blocks| rel.truncate(Fork::Main, blocks);
    let alone = Alone { take: &take, give: &give, waited_for: &|| waited_for, cut: &cut };
    let options = Options { alone: Some(&alone), ..Options::default() };
    let report = vacuum(&table.heap, std::slice::from_ref(&table.index), &options).unwrap();
    assert_eq!(given.get(), if free { asked.get() } else { 0 });
    (report, asked.get())
}

#[test]
fn empty_pages_at_the_end_are_given_back() {
    let rig = Rig::new(64);
    let table = Table::new(&rig, 1);
    let txn = rig.begin();
    let mut tids: Vec<Tid> = (0..6000).map(|i| table.insert(&txn, i, i).unwrap()).collect();
    txn.commit().unwrap();
    let full = table.heap.relation().blocks(Fork::Main).unwrap();
    let delete = |tids: &mut dyn Iterator<Item = Tid>| {
        txn.begin(Isolation::ReadCommitted);
        tids.for_each(|tid| drop(table.heap.delete(&txn, tid, None).unwrap()));
        txn.commit().unwrap();
        rig.wal.flush(rig.wal.position());
    };
    // Too few to bother.
    let last = tids.iter().position(|tid| tid.block.0 == full - 2).unwrap();
    delete(&mut tids.drain(last..));
    assert_eq!(vacuum_alone(&table, true, false).1, 0);
    delete(&mut tids.drain(1000..));
    // Somebody uses the table, and another waits for it: it stays as it is, and is as sound.
    let (report, asked) = vacuum_alone(&table, false, true);
    assert_eq!((report.pages, report.pages_removed, asked), (full, 0, 1));
    assert!(report.removed > 3000);
    table.check();
    // Nobody does. The pages are all visible by now and are not looked at again but for that.
    let (report, asked) = vacuum_alone(&table, true, false);
    assert_eq!((report.pages_scanned, asked), (0, 1));
    let end = tids.last().unwrap().block.0 + 1;
    assert_eq!(full - report.pages_removed, end);
    assert_eq!(table.heap.relation().blocks(Fork::Main).unwrap(), end);
    assert_eq!(rig.pool.files().blocks(table.heap.relation().id(), Fork::Main).unwrap(), end);
    table.check();
    // What comes after finds room where there is some, and no page that promises what is not so.
    txn.begin(Isolation::ReadCommitted);
    assert_eq!(table.rows(&txn), 1000);
    let again: Vec<Tid> = (10_000..13_000).map(|i| table.insert(&txn, i, i).unwrap()).collect();
    txn.commit().unwrap();
    assert!(table.heap.relation().blocks(Fork::Main).unwrap() < full);
    txn.begin(Isolation::ReadCommitted);
    assert_eq!(table.rows(&txn), 4000);
    txn.commit().unwrap();
    table.check();
    // All of it.
    delete(&mut tids.drain(..).chain(again));
    assert!(vacuum_alone(&table, true, false).0.pages_removed > 0);
    assert_eq!(table.heap.relation().blocks(Fork::Main).unwrap(), 0);
    table.check();
}

/// A reader without a lock, as the warmer is one, that comes late to pages that are cut off (V5).
#[test]
fn late_reads_of_pages_that_are_cut_off_do_no_harm() {
    let rig = Rig::new(32);
    let rel = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (rel, stop) = (&rel, &stop);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(reader);
                while stop.load(Relaxed) == 0 {
                    let block = BlockNo(rng.u32(..100));
                    match rel.read(Fork::Main, block) {
                        Ok(page) => assert!(page.is_zero()),
                        Err(error) => assert!(error.to_string().contains("there are only")),
                    }
                }
            });
        }
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            while rel.blocks(Fork::Main).unwrap() < 100 {
                drop(rel.extend(Fork::Main).unwrap());
            }
            rel.truncate(Fork::Main, rng.u32(..100)).unwrap();
        }
        stop.store(1, Relaxed);
    });
}

/// Leaves that lie side by side are on their way before the pass through the index comes to them.
#[test]
fn the_pass_through_an_index_reads_ahead() {
    let rig = Rig::new(32);
    let table = Table::new(&rig, 1);
    let txn = rig.begin();
    for key in 0..20_000 {
        table.insert(&txn, key, key).unwrap();
    }
    txn.commit().unwrap();
    let pool = rig.cold(128);
    let index = BTree::new(pool.relation(table.index.relation().id(), Rank::IndexPage), &rig.txns);
    let pages = u64::from(index.relation().blocks(Fork::Main).unwrap());
    assert!(pages > 40, "{pages} pages");
    let done = index
        .vacuum(&mut Passage::for_vacuum(index.relation()), &mut |_| false, &mut || Ok(()))
        .unwrap();
    assert_eq!((done.entries, done.removed), (20_000, 0));
    let PoolStats { ahead, loads, .. } = pool.stats();
    assert!(loads >= pages && ahead > loads / 2, "{ahead} of {loads} pages were read ahead");
}
