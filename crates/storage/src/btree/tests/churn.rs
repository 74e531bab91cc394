//! Bottom-up deletion: rows that are updated over and over, and indexes that nobody reads.

use super::Dice;
use crate::btree::{BTree, NewEntry};
use crate::buffer::Figure;
use crate::check::{self, Content, Indexed};
use crate::heap::{Change, HeapRel, Outcome};
use crate::index::Index;
use crate::rig::Rig;
use crate::txn::{Isolation, Txn};
use base::rank::Rank;
use base::{Fork, Persistence, Tid};
use std::ops::Range;

const ROWS: u64 = 300;
const WRITERS: u64 = 3;

/// A table with a unique index on its number and a plain one on bytes behind it.
struct Table {
    heap: HeapRel,
    numbers: Index,
    names: Index,
}

fn row(number: u64) -> Vec<u8> {
    let mut dice = Dice::new(number + 1);
    let mut row = number.to_be_bytes().to_vec();
    (0..7).for_each(|_| row.extend_from_slice(&dice.roll().to_be_bytes()));
    row
}

fn number_of(row: &[u8]) -> Option<Vec<u8>> {
    // Long enough for several leaves, and nothing to share.
    Some([&row[6..], &row[..8]].concat())
}

fn name_of(row: &[u8]) -> Option<Vec<u8>> {
    Some(row[8..].to_vec())
}

impl Table {
    fn new(rig: &Rig) -> Table {
        let create = |number, rank| rig.create(number, Persistence::Permanent, rank);
        let tree = |number| BTree::new(create(number, Rank::IndexPage), &rig.txns).into();
        let heap = HeapRel::new(create(1, Rank::HeapPage), &rig.txns, 100);
        Table { heap, numbers: tree(2), names: tree(3) }
    }

    fn enter(&self, txn: &Txn, row: &[u8], tid: Tid) {
        let (number, name) = (number_of(row).unwrap(), name_of(row).unwrap());
        let judge = &mut |tid| self.heap.liveness(txn, tid);
        let is_gone = &mut |tid| self.heap.is_gone(tid);
        self.numbers.insert_unique(txn, NewEntry::plain(&number, tid), judge, is_gone).unwrap();
        self.names.insert_version(NewEntry::plain(&name, tid), is_gone).unwrap();
    }

    /// Makes another version that is not heap-only.
    fn update(&self, txn: &Txn, number: u64, tid: Tid) -> Tid {
        let row = row(number);
        let change = Change { hot: false, key: false };
        let Outcome::Done { tid, .. } = self.heap.update(txn, tid, &row, change, None).unwrap()
        else {
            panic!("nobody else has the row");
        };
        self.enter(txn, &row, tid);
        tid
    }

    /// Updates each of these rows so many times, in an order of chance.
    fn churn(&self, rig: &Rig, session: i32, tids: &mut [Tid], numbers: Range<u64>, times: u64) {
        let txn = Txn::attach(&rig.txns, session, 1).unwrap();
        let mut dice = Dice::new(session as u64);
        for _ in 0..times {
            let shift = dice.below(numbers.end - numbers.start);
            for i in 0..tids.len() {
                let at = (i * 7 + shift as usize) % tids.len();
                txn.begin(Isolation::ReadCommitted);
                tids[at] = self.update(&txn, numbers.start + at as u64, tids[at]);
                txn.commit().unwrap();
                // As a server does, whose clients wait for it: only what is durable is gone for good.
                rig.wal.flush(rig.wal.position());
            }
        }
    }

    /// All rows through both indexes and nothing else but dead ones.
    fn check(&self) {
        let mut report = check::Report::default();
        let indexed =
            |index, expected_of, unique| Indexed { index, expected_of, unique, complete: true };
        let expected = |key: Option<Vec<u8>>| Ok(key.map(|key| Content::from(key).into()));
        let number = |row: &[u8]| expected(number_of(row));
        let name = |row: &[u8]| expected(name_of(row));
        let indexes = [indexed(&self.numbers, &number, true), indexed(&self.names, &name, false)];
        check::table(&self.heap, &indexes, &mut report).unwrap();
        assert!(report.faults.is_empty(), "{:#?}", report.faults);
        assert!(report.entries >= 2 * ROWS, "{report:?}");
    }
}

fn blocks(index: &Index) -> u32 {
    index.relation().blocks(Fork::Main).unwrap()
}

/// Stores the rows and builds the indexes.
fn filled(rig: &Rig, table: &Table) -> Vec<Tid> {
    let txn = Txn::attach(&rig.txns, 90, 1).unwrap();
    txn.begin(Isolation::ReadCommitted);
    let insert = |number| table.heap.insert(&txn, &row(number)).unwrap();
    let tids: Vec<Tid> = (0..ROWS).map(insert).collect();
    txn.commit().unwrap();
    rig.wal.flush(rig.wal.position());
    for (index, key_of) in [(&table.numbers, number_of as fn(&[u8]) -> _), (&table.names, name_of)]
    {
        let key = |number: u64| key_of(&row(number)).unwrap();
        let mut entries: Vec<_> = (0..ROWS).map(|n| (key(n), tids[n as usize])).collect();
        entries.sort();
        let mut builder = index.btree().unwrap().build().unwrap();
        for (key, tid) in &entries {
            builder.push(NewEntry::plain(key, *tid)).unwrap();
        }
        builder.finish().unwrap();
    }
    tids
}

/// Two hundred versions of each row leave the indexes hardly larger than freshly built, though nobody ever looked
/// into them, and no vacuum came.
#[test]
fn updated_rows_do_not_blow_up_indexes_that_nobody_reads() {
    let rig = Rig::new(2048);
    let table = Table::new(&rig);
    let mut tids = filled(&rig, &table);
    let fresh = blocks(&table.names);
    table.churn(&rig, 1, &mut tids, 0..ROWS, 200);
    for index in [&table.numbers, &table.names] {
        let now = blocks(index);
        assert!(2 * now <= 3 * fresh, "{now} blocks, freshly built {fresh}");
        let cleared = index.relation().figure(Figure::EntriesCleared);
        assert!(cleared > 150 * ROWS, "{cleared} entries cleared");
        assert!(index.relation().figure(Figure::LeavesAsked) < cleared / 8, "asking pays");
    }
    table.check();
}

/// The same by several sessions at once, some rows on every leaf for each of them.
#[test]
fn sessions_that_update_at_once_clear_leaves_for_each_other() {
    let rig = Rig::new(2048);
    let table = Table::new(&rig);
    let mut tids = filled(&rig, &table);
    let fresh = blocks(&table.names);
    let share = ROWS / WRITERS;
    std::thread::scope(|scope| {
        for (writer, tids) in tids.chunks_mut(share as usize).enumerate() {
            let (rig, table, from) = (&rig, &table, writer as u64 * share);
            scope.spawn(move || {
                table.churn(rig, writer as i32 + 1, tids, from..from + share, 40);
            });
        }
    });
    for index in [&table.numbers, &table.names] {
        let (now, cleared) = (blocks(index), index.relation().figure(Figure::EntriesCleared));
        assert!(now <= 3 * fresh, "{now} blocks, freshly built {fresh}");
        assert!(cleared > 20 * ROWS, "{cleared} entries cleared");
    }
    table.check();
}

/// A snapshot that sees the old versions keeps their entries: leaves split instead.
#[test]
fn versions_that_a_snapshot_sees_keep_their_entries() {
    let rig = Rig::new(2048);
    let table = Table::new(&rig);
    let mut tids = filled(&rig, &table);
    let fresh = blocks(&table.names);
    let reader = Txn::attach(&rig.txns, 50, 1).unwrap();
    reader.begin(Isolation::RepeatableRead);
    let snapshot = reader.statement_snapshot();
    let old = tids.clone();
    table.churn(&rig, 1, &mut tids, 0..ROWS, 4);
    let (mut found, mut buf) = (Vec::new(), crate::heap::RowBuf::new());
    for (number, tid) in old.iter().enumerate() {
        table.names.lookup(&name_of(&row(number as u64)).unwrap(), &mut found).unwrap();
        assert!(found.contains(tid), "the entry of row {number} that the snapshot sees");
        assert!(table.heap.fetch(&reader, &snapshot, *tid, &mut buf).unwrap());
    }
    assert!(blocks(&table.names) > fresh, "there was no room for all of them");
    reader.commit().unwrap();
    table.check();
}
