//! Rows out of an index alone: what a query needs of them, the entries have. The table is asked only where the
//! visibility map does not say that everybody sees the row.

use std::sync::Arc;

use storage::btree::Scan;
use storage::buffer::Figure;
use storage::heap::{RowBuf, RowsAhead, vm};

use crate::bind::tree::Column;
use crate::catalog::IndexDef;
use crate::error::{Result, SqlError};
use crate::plan::node::{self, ScanColumn};
use crate::types::Datum;
use crate::types::keycode::KeyColumn;
use crate::types::row::RowView;

use super::eval::keeps;
use super::key_filter::{KeyFilter, Verdict};
use super::key_range::{Ranges, encode_ranges};
use super::scan::decode;
use super::{Cx, Operator};

/// A scan over one or more key ranges of a B-tree that gives what its entries hold.
pub struct IndexOnlyScan {
    plan: Arc<node::IndexScan>,
    entries: Entries,
    /// Those still to scan. `None` before the start.
    ranges: Option<Ranges>,
    scan: Option<Scan>,
    ahead: Option<RowsAhead>,
    stored: RowBuf,
    row: Vec<Datum>,
    turns: u32,
}

/// How an entry becomes a row.
struct Entries {
    /// The key's columns up to the last one that is asked for.
    keys: Vec<KeyColumn>,
    /// Where each output is.
    places: Vec<Place>,
    /// Some are in what entries carry.
    needs_carried: bool,
    values: Vec<Datum>,
}

/// Where an output is in an entry.
#[derive(Clone, Copy)]
enum Place {
    Key(usize),
    Carried(usize),
}

/// Where an index's entries have a column, if its value comes back from there.
fn place_of(index: &IndexDef, column: Column) -> Option<Place> {
    let Column::User(column) = column else { return None };
    if let Some(at) = index.included.iter().position(|included| *included == column) {
        return Some(Place::Carried(at));
    }
    let at = index.key_columns().position(|key| key == Some(column))?;
    // What stands before it must come back, too, since only that tells where it begins.
    let lossless = index.keys[..=at].iter().all(|key| key.code().is_lossless());
    lossless.then_some(Place::Key(at))
}

/// Whether an index's entries have all of these columns.
pub fn covers(index: &IndexDef, outputs: impl IntoIterator<Item = Column>) -> bool {
    outputs.into_iter().all(|column| place_of(index, column).is_some())
}

impl Entries {
    fn new(index: &IndexDef, outputs: &[ScanColumn]) -> Entries {
        let places = outputs.iter().map(|output| place_of(index, output.column));
        let places: Option<Vec<Place>> = places.collect();
        let places = places.expect("the planner asked whether the index covers the outputs");
        let last = places.iter().filter_map(|place| match place {
            Place::Key(at) => Some(at + 1),
            Place::Carried(_) => None,
        });
        let keys = last.max().unwrap_or(0);
        let keys = index.keys[..keys].iter().map(|key| key.code()).collect();
        let needs_carried = places.iter().any(|place| matches!(place, Place::Carried(_)));
        Entries { keys, places, needs_carried, values: Vec::new() }
    }

    /// Reads the outputs out of an entry.
    fn read(&mut self, index: &IndexDef, mut key: &[u8], carried: &[u8], row: &mut [Datum]) {
        self.values.clear();
        self.values.extend(self.keys.iter().map(|column| column.decode(&mut key)));
        let view = self.needs_carried.then(|| RowView::new(&index.carried, carried));
        for (slot, place) in row.iter_mut().zip(&self.places) {
            *slot = match (place, &view) {
                (Place::Key(at), _) => self.values[*at].clone(),
                (Place::Carried(at), Some(view)) => view.get(*at),
                (Place::Carried(_), None) => unreachable!("what is carried is needed"),
            };
        }
    }
}

impl IndexOnlyScan {
    pub fn new(plan: Arc<node::IndexScan>) -> IndexOnlyScan {
        let row = vec![Datum::Null; plan.outputs.len()];
        let entries = Entries::new(&plan.index, &plan.outputs);
        let (ranges, scan, ahead, stored) = (None, None, None, RowBuf::default());
        IndexOnlyScan { plan, entries, ranges, scan, ahead, stored, row, turns: 0 }
    }

    /// Moves to the next entry whose row the snapshot sees, and reads it.
    fn next_row(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let plan = self.plan.clone();
        loop {
            self.turns = self.turns.wrapping_add(1);
            if self.turns.is_multiple_of(256) {
                cx.breathe()?;
            }
            let (txn, snapshot) = (cx.host.txn(), cx.host.snapshot());
            let heap = cx.host.heap(&plan.table)?;
            let tree = cx.host.tree(&plan.index)?.btree();
            let tree = tree.ok_or_else(|| SqlError::internal("entries of a B-tree"))?;
            let pages = tree.relation();
            let Some(scan) = &mut self.scan else {
                let ranges = match &mut self.ranges {
                    Some(ranges) => ranges,
                    none => {
                        none.insert(encode_ranges(&plan.index, &plan.ranges, plan.backward, cx)?)
                    }
                };
                let Some(range) = ranges.left.pop() else { return Ok(false) };
                pages.count(Figure::IndexScans, 1);
                let with_keys = !plan.outputs.is_empty() || ranges.filter.is_some();
                self.scan = Some(range.scan(plan.backward, with_keys));
                continue;
            };
            let mut is_all_visible =
                |block| Ok(vm::get(heap.relation(), block)? & vm::ALL_VISIBLE != 0);
            let mut filter = self.ranges.as_mut().and_then(|ranges| ranges.filter.as_mut());
            let next = match filter.as_deref() {
                Some(filter) => {
                    let keeps = &mut |key: &[u8]| filter.keeps(key);
                    scan.next_vouched_of(tree, keeps, &mut is_all_visible)?
                }
                None => scan.next_vouched(tree, &mut is_all_visible)?,
            };
            let Some((entry, vouched)) = next else {
                self.scan = None;
                continue;
            };
            if let Some(filter) = &mut filter {
                match filter.check(entry.key) {
                    Verdict::Kept => {}
                    Verdict::GoOn => {
                        scan.skip_to(filter.place());
                        continue;
                    }
                    Verdict::Over => {
                        scan.settle(tree);
                        self.scan = None;
                        continue;
                    }
                }
            }
            let filter: Option<&KeyFilter> = filter.as_deref();
            pages.count(Figure::IndexEntries, 1);
            let is_whole = !self.entries.needs_carried || !entry.carried.is_empty();
            if vouched && is_whole {
                self.entries.read(&plan.index, entry.key, entry.carried, &mut self.row);
                return Ok(true);
            }
            let tid = entry.tid;
            cx.state.heap_fetches += 1;
            let ahead = self.ahead.get_or_insert_with(|| RowsAhead::new(heap, cx.host.reach()));
            let found = match ahead.come_to(heap, tid, |blocks| match filter {
                Some(filter) => scan.upcoming_of(&mut |key| filter.keeps(key), blocks),
                None => scan.upcoming(blocks),
            }) {
                true => heap.fetch_started(txn, snapshot, tid, &mut self.stored)?,
                false => heap.fetch(txn, snapshot, tid, &mut self.stored)?,
            };
            if found {
                pages.count(Figure::IndexRows, 1);
                decode(&plan.table, &plan.outputs, (&self.stored).into(), &mut self.row)?;
                return Ok(true);
            }
            if heap.is_gone(tid)? {
                scan.found_dead();
            }
        }
    }
}

impl Operator for IndexOnlyScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while self.next_row(cx)? {
            if let Some(scan) = &mut self.scan
                && let Some(tree) = cx.host.tree(&self.plan.index)?.btree()
            {
                // Nobody may ask for another row.
                scan.settle(tree);
            }
            if keeps(self.plan.filter.as_ref(), &self.row, cx)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.ranges = None;
        self.scan = None;
        Ok(())
    }
}
