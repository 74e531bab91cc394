//! Rows by a set of addresses: indexes tell where the rows are, in the order of their keys; then the table's pages are
//! visited in their order, each once.

use std::sync::Arc;

use storage::buffer::Figure;
use storage::heap::{HeapScan, TidSet, Visited};
use storage::index::Index;

use crate::error::Result;
use crate::plan::node::{self, BitmapIndexScan};
use crate::plan::path::Bits;
use crate::types::Datum;

use super::eval::{keeps, passes};
use super::key_filter::next_kept;
use super::key_range::encode_ranges;
use super::scan::{Stored, decode};
use super::{Cx, Operator, breathe, spill, watch};

/// Entries between two looks whether the statement goes on.
const ENTRIES_PER_BREATH: u32 = 1024;

/// A scan of the pages that indexes name.
pub struct BitmapHeapScan {
    plan: Arc<node::BitmapHeapScan>,
    scan: Option<HeapScan>,
    row: Vec<Datum>,
    /// By scans before this one.
    visited: Visited,
}

impl BitmapHeapScan {
    pub fn new(plan: Arc<node::BitmapHeapScan>) -> BitmapHeapScan {
        let row = vec![Datum::Null; plan.outputs.len()];
        BitmapHeapScan { plan, scan: None, row, visited: Visited::default() }
    }

    fn end_scan(&mut self) {
        self.visited = self.visited_so_far();
        self.scan = None;
    }

    fn visited_so_far(&self) -> Visited {
        let now = self.scan.as_ref().map_or(Visited::default(), HeapScan::visited);
        let Visited { exact, lossy } = self.visited;
        Visited { exact: exact + now.exact, lossy: lossy + now.lossy }
    }
}

impl Operator for BitmapHeapScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = self.plan.clone();
        if self.scan.is_none() {
            let tids = gather(&plan.bits, cx)?;
            let heap = cx.host.heap(&plan.table)?;
            // The snapshot was in force before the first entry was read, which the scan relies on.
            let scan = HeapScan::of_tids(heap, *cx.host.snapshot(), tids)?;
            self.scan = Some(scan.reading_ahead(heap, cx.host.reach()));
        }
        let scan = self.scan.as_mut().expect("just made");
        let heap = cx.host.heap(&plan.table)?;
        while let Some(row) = scan.next(heap, cx.host.txn())? {
            heap.relation().count(Figure::IndexRows, 1);
            let stored = Stored { tid: row.tid, header: row.header(), bytes: row.bytes };
            decode(&plan.table, &plan.outputs, stored, &mut self.row)?;
            if scan.must_recheck() && !passes(plan.recheck.as_ref(), &self.row, cx)? {
                cx.state.rechecked += 1;
                continue;
            }
            if keeps(plan.filter.as_ref(), &self.row, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.end_scan();
        Ok(())
    }

    fn usage(&self) -> Option<spill::Usage> {
        let Visited { exact, lossy } = self.visited_so_far();
        Some(spill::Usage::Pages { exact, lossy })
    }
}

/// The addresses that a plan's indexes tell.
fn gather(bits: &Bits<BitmapIndexScan>, cx: &mut Cx<'_>) -> Result<TidSet> {
    watch::part(std::ptr::from_ref(bits).addr(), cx, |cx| match bits {
        Bits::Index(scan) => {
            let mut tids = TidSet::new(cx.host.work_mem_bytes());
            let count = add_entries(scan, &mut tids, cx)?;
            Ok((tids, count))
        }
        Bits::And(parts) => {
            let mut tids = gather(&parts[0], cx)?;
            for part in &parts[1..] {
                if tids.is_empty() {
                    break;
                }
                tids.intersect(&gather(part, cx)?);
            }
            Ok((tids, 0))
        }
        Bits::Or(parts) => {
            let mut tids = gather(&parts[0], cx)?;
            for part in &parts[1..] {
                tids.unite(&gather(part, cx)?);
            }
            Ok((tids, 0))
        }
    })
}

/// Adds what ranges of an index lead to; answers how many entries that were.
fn add_entries(scan: &BitmapIndexScan, tids: &mut TidSet, cx: &mut Cx<'_>) -> Result<u64> {
    let mut ranges = encode_ranges(&scan.index, &scan.ranges, false, cx)?;
    let index = cx.host.tree(&scan.index)?;
    let pages = index.relation();
    let (mut turns, mut count) = (0u32, 0u64);
    let mut found = Vec::new();
    for range in ranges.left.iter().rev() {
        pages.count(Figure::IndexScans, 1);
        match index {
            Index::BTree(tree) => {
                let mut entries = range.scan(false, ranges.filter.is_some());
                while let Some(tid) = next_kept(&mut entries, tree, ranges.filter.as_mut())? {
                    tids.add(tid, false);
                    count += 1;
                    turns += 1;
                    if turns.is_multiple_of(ENTRIES_PER_BREATH) {
                        breathe()?;
                    }
                }
            }
            Index::Hash(hash) => {
                // Another key may have the same hash.
                hash.lookup(range.low(), &mut found)?;
                found.iter().for_each(|tid| tids.add(*tid, true));
                count += found.len() as u64;
                breathe()?;
            }
        }
    }
    pages.count(Figure::IndexEntries, count);
    Ok(count)
}
