//! Rows read out of an index's entries alone, as an index-only scan does, and by their addresses, as a bitmap scan does.

use super::indexes::{Index, Keyed};
use super::table::{Rows, Table, number_of, payload};
use storage::Result;
use storage::btree::{Bounds, Direction, Scan};
use storage::heap::{HeapScan, RowBuf, TID_PAGE_BYTES, TidSet, vm};
use storage::txn::{Snapshot, Txn};

/// What entries tell of the rows that a snapshot sees: numbers, with the payload where that is the key.
pub fn rows(
    table: &Table,
    txn: &Txn,
    snapshot: Snapshot,
    index: &Index,
    direction: Direction,
) -> Result<Rows> {
    let tree = index.tree.btree().expect("asked with a tree");
    let mut scan = Scan::new(Bounds::ALL, direction, true);
    let (mut rows, mut row) = (Rows::new(), RowBuf::new());
    let heap = &table.heap;
    let mut is_all_visible = |block| Ok(vm::get(heap.relation(), block)? & vm::ALL_VISIBLE != 0);
    while let Some((entry, vouched)) = scan.next_vouched(tree, &mut is_all_visible)? {
        let (number, payload) = index.keyed.told_by(entry.key, entry.carried);
        if !vouched {
            let tid = entry.tid;
            // One row may have several entries: of versions with other keys, whose chain leads on to it.
            let key = entry.key.to_vec();
            if !heap.fetch(txn, &snapshot, tid, &mut row)? || index.keyed.key(row.bytes()) != key {
                continue;
            }
        }
        let twice = rows.insert(number, payload);
        assert!(twice.is_none(), "row {number:#x} is told twice by entries alone");
    }
    Ok(rows)
}

/// The rows that all entries of an index lead to, addresses first; `rest` is called before the first row is visited. The
/// set keeps so many pages' addresses at most.
pub fn rows_by_addresses(
    table: &Table,
    txn: &Txn,
    snapshot: Snapshot,
    index: &Index,
    pages: usize,
    rest: impl FnOnce(),
) -> Result<Rows> {
    let tree = index.tree.btree().expect("asked with a tree");
    let mut scan = Scan::new(Bounds::ALL, Direction::Forward, false);
    let mut tids = TidSet::new(pages * TID_PAGE_BYTES);
    while let Some(entry) = scan.next(tree)? {
        tids.add(entry.tid, false);
    }
    rest();
    let mut rows = Rows::new();
    let mut scan = HeapScan::of_tids(&table.heap, snapshot, tids)?;
    while let Some(row) = scan.next(&table.heap, txn)? {
        let twice = rows.insert(number_of(row.bytes), payload(row.bytes).to_vec());
        assert!(twice.is_none(), "a row is visited twice by its addresses");
    }
    Ok(rows)
}

/// What [`rows`] should tell, by the rows as they are in the heap.
pub fn expected(all: &Rows, keyed: Keyed) -> Rows {
    let told =
        |payload: &Vec<u8>| if keyed == Keyed::Payload { payload.clone() } else { Vec::new() };
    all.iter().map(|(number, payload)| (*number, told(payload))).collect()
}
