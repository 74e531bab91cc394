//! Rows fetched in an index's order, with their pages read ahead.

use super::rows::heap;
use crate::buffer::{Figure, Reach};
use crate::heap::{HeapRel, RowBuf, RowsAhead};
use crate::rig::{Rig, frames};
use crate::txn::Txn;
use base::{BlockNo, Tid};

/// A row of a quarter of a page.
fn row(number: u64) -> Vec<u8> {
    let mut row = number.to_le_bytes().to_vec();
    row.resize(1900, number as u8);
    row
}

/// Rows on some hundred pages, in an order that jumps from page to page; each page comes twice.
fn scattered(rig: &Rig, heap: &HeapRel, rows: u64) -> Vec<(u64, Tid)> {
    let txn = rig.begin();
    let mut tids: Vec<(u64, Tid)> =
        (0..rows).map(|n| (n, heap.insert(&txn, &row(n)).unwrap())).collect();
    txn.commit().unwrap();
    rig.wal.flush(rig.wal.position());
    rig.pool.clean_all().unwrap();
    let mut per_page = vec![0; 1 + tids.last().unwrap().1.block.0 as usize];
    tids.retain(|(_, tid)| {
        per_page[tid.block.0 as usize] += 1;
        per_page[tid.block.0 as usize] <= 2
    });
    fastrand::Rng::with_seed(3).shuffle(&mut tids);
    tids
}

/// Fetches all of them as an index scan does whose leaves have so many entries.
fn walk(heap: &HeapRel, txn: &Txn, tids: &[(u64, Tid)], leaf: usize, reach: Reach) {
    let snapshot = txn.statement_snapshot();
    let (mut ahead, mut buf) = (RowsAhead::new(heap, reach), RowBuf::new());
    for entries in tids.chunks(leaf) {
        for (i, (number, tid)) in entries.iter().enumerate() {
            let upcoming = |blocks: &mut Vec<BlockNo>| {
                blocks.extend(entries[i + 1..].iter().map(|(_, tid)| tid.block));
            };
            let found = match ahead.come_to(heap, *tid, upcoming) {
                true => heap.fetch_started(txn, &snapshot, *tid, &mut buf),
                false => heap.fetch(txn, &snapshot, *tid, &mut buf),
            };
            assert!(found.unwrap());
            assert_eq!(buf.bytes(), row(*number), "entry {number}");
        }
    }
    txn.release_statement();
}

#[test]
fn pages_of_the_next_entries_are_asked_for_ahead_and_counted_once() {
    let rig = Rig::new(512);
    let heap = heap(&rig, 1, 100);
    let tids = scattered(&rig, &heap, 4_000);
    let txn = rig.begin();
    let rel = heap.relation();
    // Pages asked for ahead, pages read, pages found in memory.
    let figures = || [rig.pool.stats().ahead, rel.pages_read(), rel.figure(Figure::Hits)];
    let walked = |leaf, reads| {
        let before = figures();
        walk(&heap, &txn, &tids, leaf, Reach { reads, pages: 16 });
        let after = figures();
        [0, 1, 2].map(|i| after[i] - before[i])
    };
    let [none, read, hit] = walked(300, 0);
    assert_eq!(none, 0);
    assert!(read + hit >= tids.len() as u64);
    for (leaf, reads) in [(300, 1), (300, 4), (50, 16), (1, 16), (300, 16)] {
        let [ahead, read_now, hit_now] = walked(leaf, reads);
        // A page that was asked for and went before it was used is read again; that is rare where there is room.
        if frames(512) == 512 {
            let told =
                format!("leaf {leaf}, {reads} reads: {read_now}, {hit_now}, not {read}, {hit}");
            let all = read + hit;
            assert!(read_now <= read + read / 10 && read_now + hit_now <= all + all / 10, "{told}");
        }
        if reads <= 1 || leaf == 1 {
            assert_eq!(ahead, 0, "leaf {leaf}, {reads}");
        } else if frames(512) == 512 {
            assert!(ahead > read / 2, "leaf {leaf}, {reads}: {ahead} of {read} asked for ahead");
        }
    }
    txn.commit().unwrap();
}

#[test]
fn a_table_in_memory_is_not_read_ahead() {
    let rig = Rig::new(2048);
    let heap = heap(&rig, 1, 100);
    let tids = scattered(&rig, &heap, 2_000);
    let txn = rig.begin();
    let rel = heap.relation();
    let before = (rig.pool.stats().ahead, rel.pages_read());
    walk(&heap, &txn, &tids, 300, Reach::default());
    if frames(2048) == 2048 {
        assert_eq!((rig.pool.stats().ahead, rel.pages_read()), before);
    }
    txn.commit().unwrap();
}
