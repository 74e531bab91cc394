//! What look-ups write that other threads use, in a build that counts it (`base::counts`, of the whole process: nothing
//! else may run beside this test).

use super::Dice;
use crate::btree::{BTree, NewEntry};
use crate::heap::{Freeze, HeapRel, HeapScan, RowBuf};
use crate::rig::Rig;
use crate::txn::{Snapshot, Txn};
use base::counts::{Count, so_far};
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence};
use std::sync::Barrier;

const ROWS: u64 = 20_000;
const THREADS: u64 = 2;
const STEPS_EACH: u64 = 50_000;

struct Session<'t> {
    txn: &'t Txn,
    snapshot: Snapshot,
}

fn row(number: u64) -> [u8; 100] {
    let mut row = [b' '; 100];
    row[..8].copy_from_slice(&number.to_be_bytes());
    row
}

/// A table with an index, all in memory, whose rows are known to be committed.
fn table(rig: &Rig) -> (HeapRel, BTree) {
    let heap = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    let heap = HeapRel::new(heap, &rig.txns, 100);
    let index = BTree::new(rig.create(2, Persistence::Permanent, Rank::IndexPage), &rig.txns);
    let txn = rig.begin();
    let (rows, mut tids) = ((0..ROWS).map(row).collect::<Vec<_>>(), Vec::new());
    let rows: Vec<&[u8]> = rows.iter().map(<[u8; 100]>::as_slice).collect();
    heap.multi_insert(&txn, &rows, Freeze::No, None, &mut tids).unwrap();
    let mut builder = index.build().unwrap();
    for (number, tid) in (0..).zip(&tids) {
        builder.push(NewEntry::plain(&u64::to_be_bytes(number), *tid)).unwrap();
    }
    builder.finish().unwrap();
    txn.commit().unwrap();
    rig.pool.clean_all().unwrap();
    let txn = rig.begin();
    let mut scan = HeapScan::new(&heap, txn.statement_snapshot()).unwrap();
    while scan.next(&heap, &txn).unwrap().is_some() {}
    txn.commit().unwrap();
    (heap, index)
}

/// Shared lines that are written for each of so many steps of two threads at once, which are told a random number each;
/// those of pages' contents, too.
fn lines(step: &(dyn Fn(&Session<'_>, u64) + Sync), rig: &Rig) -> [f64; 2] {
    let counts = || [Count::SharedLine, Count::PageLine].map(so_far);
    let (before, turns) = (counts(), Barrier::new(THREADS as usize));
    std::thread::scope(|scope| {
        let turns = &turns;
        for seed in 1..=THREADS {
            scope.spawn(move || {
                let txn = rig.begin();
                let session = Session { snapshot: txn.statement_snapshot(), txn: &txn };
                let mut dice = Dice::new(seed);
                for n in 0..STEPS_EACH {
                    step(&session, dice.below(ROWS));
                    if n % 100 == 0 {
                        // However busy the machine is, no thread is ahead.
                        turns.wait();
                    }
                }
                txn.commit().unwrap();
            });
        }
    });
    let after = counts();
    [0, 1].map(|n| (after[n] - before[n]) as f64 / (THREADS * STEPS_EACH) as f64)
}

/// None: all the way, and where it ends, a look-up reads without a latch, and its pages have been credited before.
#[test]
fn shared_lines_are_not_written_by_look_ups() {
    let rig = Rig::new(4096);
    let (heap, index) = table(&rig);
    let look_up = |session: &Session<'_>, number: u64| {
        let (mut tids, mut buf) = (Vec::new(), RowBuf::new());
        index.lookup(&number.to_be_bytes(), &mut tids).unwrap();
        assert_eq!(tids.len(), 1, "row {number} is there once");
        assert!(heap.fetch(session.txn, &session.snapshot, tids[0], &mut buf).unwrap());
        assert_eq!(buf.bytes()[..8], number.to_be_bytes());
    };
    let loads = rig.pool.stats().loads;
    let [all, of_pages] = lines(&look_up, &rig);
    assert_eq!(rig.pool.stats().loads, loads, "all of it is in memory");
    println!("{all:.4} shared lines for each look-up, {of_pages:.4} of pages' contents");
    assert!(all < 0.02 && of_pages < 0.02, "{all} and {of_pages} shared lines for each look-up");
    // They would be seen: a latch is one.
    let blocks = u64::from(heap.relation().blocks(Fork::Main).unwrap());
    let latch = |_: &Session<'_>, number: u64| {
        drop(heap.relation().read(Fork::Main, BlockNo((number % blocks) as u32)).unwrap());
    };
    let [all, _] = lines(&latch, &rig);
    println!("{all:.4} for each latch");
    assert!(all > 0.1, "{all} shared lines for each latch");
}
