//! Rows through an index: ranges of encoded keys, rows fetched by address. A hash index is asked for single
//! keys, and what it finds is compared with the key.

use std::sync::Arc;

use base::ids::{BlockNo, Tid};
use storage::btree::Scan;
use storage::buffer::Figure;
use storage::heap::{RowBuf, RowsAhead};
use storage::index::Index;

use crate::error::Result;
use crate::plan::node;
use crate::toast;
use crate::types::Datum;
use crate::types::row::RowView;

use super::eval::keeps;
use super::key_filter::{KeyFilter, next_kept};
use super::key_range::{Ranges, encode_ranges};
use super::scan::decode;
use super::{Cx, Operator, index_key, index_values};

/// A scan over one or more key ranges.
pub struct IndexScan {
    plan: Arc<node::IndexScan>,
    /// Those still to scan. `None` before the start.
    ranges: Option<Ranges>,
    scan: Option<Entries>,
    ahead: Option<RowsAhead>,
    stored: RowBuf,
    /// Of a row that a hash index has led to.
    key: Vec<u8>,
    row: Vec<Datum>,
    turns: u32,
}

/// The entries of one range.
enum Entries {
    Tree(Box<Scan>),
    Hash(Matches),
}

/// What a hash index has under a key's hash.
struct Matches {
    key: Vec<u8>,
    /// The next one last.
    tids: Vec<Tid>,
    /// Some of them led to rows that are gone for everybody.
    has_dead: bool,
    /// All that are were marked.
    is_marked: bool,
}

impl Entries {
    /// Adds the blocks that the next entries lead to, as far as the filter keeps them.
    fn upcoming(&self, filter: Option<&KeyFilter>, blocks: &mut Vec<BlockNo>) {
        match self {
            Entries::Tree(scan) => match filter {
                Some(filter) => scan.upcoming_of(&mut |key| filter.keeps(key), blocks),
                None => scan.upcoming(blocks),
            },
            Entries::Hash(matches) => blocks.extend(matches.tids.iter().rev().map(|tid| tid.block)),
        }
    }
}

impl IndexScan {
    pub fn new(plan: Arc<node::IndexScan>) -> IndexScan {
        let row = vec![Datum::Null; plan.outputs.len()];
        IndexScan {
            plan,
            ranges: None,
            scan: None,
            ahead: None,
            stored: RowBuf::default(),
            key: Vec::new(),
            row,
            turns: 0,
        }
    }

    /// The next entry's row address.
    fn next_tid(&mut self, cx: &mut Cx<'_>) -> Result<Option<Tid>> {
        if self.ranges.is_none() {
            self.ranges =
                Some(encode_ranges(&self.plan.index, &self.plan.ranges, self.plan.backward, cx)?);
        }
        loop {
            let index = cx.host.tree(&self.plan.index)?;
            match &mut self.scan {
                Some(Entries::Tree(scan)) => {
                    let tree = index.btree().expect("its scan was begun on a tree");
                    let filter = self.ranges.as_mut().and_then(|ranges| ranges.filter.as_mut());
                    if let Some(tid) = next_kept(scan, tree, filter)? {
                        return Ok(Some(tid));
                    }
                }
                Some(Entries::Hash(matches)) => {
                    if let Some(tid) = matches.tids.pop() {
                        return Ok(Some(tid));
                    }
                    self.settle(cx)?;
                }
                None => {}
            }
            self.scan = None;
            let index = cx.host.tree(&self.plan.index)?;
            let Some(ranges) = &mut self.ranges else { return Ok(None) };
            let Some(range) = ranges.left.pop() else { return Ok(None) };
            let with_keys = ranges.filter.is_some();
            index.relation().count(Figure::IndexScans, 1);
            self.scan = Some(match index {
                Index::BTree(_) => {
                    Entries::Tree(Box::new(range.scan(self.plan.backward, with_keys)))
                }
                Index::Hash(hash) => {
                    let mut tids = Vec::new();
                    hash.lookup(range.low(), &mut tids)?;
                    Entries::Hash(Matches {
                        key: range.into_low(),
                        tids,
                        has_dead: false,
                        is_marked: false,
                    })
                }
            });
        }
    }

    /// Notes that the row of the last entry is dead to everybody.
    fn found_dead(&mut self) {
        match self.scan.as_mut().expect("an entry came from it") {
            Entries::Tree(scan) => scan.found_dead(),
            Entries::Hash(matches) => matches.has_dead = !matches.is_marked,
        }
    }

    /// Marks what was found dead: nobody may ask for another row.
    fn settle(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let index = cx.host.tree(&self.plan.index)?;
        match self.scan.as_mut().expect("an entry came from it") {
            Entries::Tree(scan) => scan.settle(index.btree().expect("it was begun on a tree")),
            Entries::Hash(matches) => {
                if std::mem::take(&mut matches.has_dead) {
                    let heap = cx.host.heap(&self.plan.table)?;
                    index.mark_dead(&matches.key, &mut |tid| heap.is_gone(tid))?;
                    matches.is_marked = true;
                }
            }
        }
        Ok(())
    }

    /// Whether the row has the key that was asked for, which an entry with its hash does not prove.
    fn has_key(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let Some(Entries::Hash(matches)) = &self.scan else { return Ok(true) };
        let (table, index) = (&*self.plan.table, &*self.plan.index);
        let wanted =
            |column| index.has_expressions() || index.columns().any(|c| usize::from(c) == column);
        let row = toast::inlined(table, self.stored.bytes(), wanted)?;
        let view = RowView::new(&table.desc, &row);
        if !index.has_expressions() {
            let column = index.key_columns().next().flatten().expect("it has one plain key");
            let value = view.get(usize::from(column));
            if value.is_null() {
                return Ok(false);
            }
            self.key.clear();
            index_key(index, &[value], &mut self.key);
            return Ok(self.key == matches.key);
        }
        let mut row = vec![Datum::Null; table.columns.len()];
        view.decode_prefix(&mut row);
        let values = index_values(index, &row, cx)?;
        let Some(values) = values.filter(|values| index.holds(values)) else { return Ok(false) };
        self.key.clear();
        index_key(index, &values, &mut self.key);
        Ok(self.key == matches.key)
    }
}

impl Operator for IndexScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        while let Some(tid) = self.next_tid(cx)? {
            self.turns = self.turns.wrapping_add(1);
            if self.turns.is_multiple_of(256) {
                cx.breathe()?;
            }
            let plan = &*self.plan;
            let (txn, snapshot) = (cx.host.txn(), cx.host.snapshot());
            let heap = cx.host.heap(&plan.table)?;
            let pages = cx.host.tree(&plan.index)?.relation();
            pages.count(Figure::IndexEntries, 1);
            let ahead = self.ahead.get_or_insert_with(|| RowsAhead::new(heap, cx.host.reach()));
            let entries = self.scan.as_ref().expect("an entry came from it");
            let filter = self.ranges.as_ref().and_then(|ranges| ranges.filter.as_ref());
            let found = match ahead.come_to(heap, tid, |blocks| entries.upcoming(filter, blocks)) {
                true => heap.fetch_started(txn, snapshot, tid, &mut self.stored)?,
                false => heap.fetch(txn, snapshot, tid, &mut self.stored)?,
            };
            if !found {
                if heap.is_gone(tid)? {
                    self.found_dead();
                }
                continue;
            }
            pages.count(Figure::IndexRows, 1);
            if !self.has_key(cx)? {
                continue;
            }
            self.settle(cx)?;
            let plan = &*self.plan;
            decode(&plan.table, &plan.outputs, (&self.stored).into(), &mut self.row)?;
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
        self.ranges = None;
        self.scan = None;
        Ok(())
    }
}
