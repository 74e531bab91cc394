//! Rows through an index: ranges of encoded keys, rows fetched by address. A hash index is asked for single
//! keys, and what it finds is compared with the key.

use std::sync::Arc;

use base::ids::{BlockNo, Tid};
use std::ops::Bound;

use storage::btree::{Bounds, Direction, Scan};
use storage::buffer::Figure;
use storage::heap::{RowBuf, RowsAhead};
use storage::index::Index;

use crate::bind::tree::Expr;
use crate::catalog::IndexDef;
use crate::error::Result;
use crate::func::like;
use crate::plan::node::{self, KeyRange, KeyValue};
use crate::toast;
use crate::types::keycode::{VALUE_MARKER, after_prefix};
use crate::types::row::RowView;
use crate::types::{Datum, compare};

use super::eval::{eval, keeps};
use super::scan::decode;
use super::{Cx, Operator, index_key, index_values};

/// A scan over one or more key ranges.
pub struct IndexScan {
    plan: Arc<node::IndexScan>,
    /// Encoded ranges still to scan, the next one last. `None` before the start.
    ranges: Option<Vec<Encoded>>,
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
}

impl Entries {
    /// Adds the blocks that the next entries lead to.
    fn upcoming(&self, blocks: &mut Vec<BlockNo>) {
        match self {
            Entries::Tree(scan) => scan.upcoming(blocks),
            Entries::Hash(matches) => blocks.extend(matches.tids.iter().rev().map(|tid| tid.block)),
        }
    }
}

/// Lower bound (included) and upper bound (excluded) in key bytes; an empty upper bound is none.
pub(super) struct Encoded {
    low: Vec<u8>,
    high: Vec<u8>,
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
                    if let Some(entry) = scan.next(tree)? {
                        return Ok(Some(entry.tid));
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
            let next = self.ranges.as_mut().and_then(Vec::pop);
            let Some(range) = next else { return Ok(None) };
            index.relation().count(Figure::IndexScans, 1);
            self.scan = Some(match index {
                Index::BTree(_) => Entries::Tree(Box::new(range.scan(self.plan.backward, false))),
                Index::Hash(hash) => {
                    let mut tids = Vec::new();
                    hash.lookup(&range.low, &mut tids)?;
                    Entries::Hash(Matches { key: range.low, tids, has_dead: false })
                }
            });
        }
    }

    /// Notes that the row of the last entry is dead to everybody.
    fn found_dead(&mut self) {
        match self.scan.as_mut().expect("an entry came from it") {
            Entries::Tree(scan) => scan.found_dead(),
            Entries::Hash(matches) => matches.has_dead = true,
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
            let found = match ahead.come_to(heap, tid, |blocks| entries.upcoming(blocks)) {
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

impl Encoded {
    /// Takes in a range that begins inside of this one, or before it ends.
    fn swallows(&mut self, next: &Encoded) -> bool {
        let overlap = self.high.is_empty() || next.low < self.high;
        if overlap && !self.high.is_empty() && (next.high.is_empty() || next.high > self.high) {
            self.high = next.high.clone();
        }
        overlap
    }

    /// The lower end: all of the key that a hash index is asked for.
    pub fn low(&self) -> &[u8] {
        &self.low
    }

    /// A scan of the range.
    pub fn scan(&self, backward: bool, with_keys: bool) -> Scan {
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let high = match self.high.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Excluded(self.high.as_slice()),
        };
        let bounds = Bounds { low: Bound::Included(self.low.as_slice()), high };
        Scan::new(bounds, direction, with_keys)
    }
}

/// Evaluates ranges of an index and puts them into scan order, the first one last.
pub(super) fn encode_ranges(
    index: &IndexDef,
    ranges: &[KeyRange],
    backward: bool,
    cx: &mut Cx<'_>,
) -> Result<Vec<Encoded>> {
    let mut encoded = Vec::with_capacity(ranges.len());
    for range in ranges {
        encode_range(index, range, cx, &mut encoded)?;
    }
    if ranges.len() > 1 || encoded.len() > 1 {
        encoded.sort_by(|a, b| a.low.cmp(&b.low));
        // Each entry is read once, however many ranges it lies in.
        encoded.dedup_by(|next, range| {
            next.low == range.low && next.high == range.high || range.swallows(next)
        });
    }
    if !backward {
        encoded.reverse();
    }
    Ok(encoded)
}

fn encode_range(
    index: &IndexDef,
    range: &KeyRange,
    cx: &mut Cx<'_>,
    out: &mut Vec<Encoded>,
) -> Result<()> {
    let mut prefixes = vec![Vec::new()];
    for (column, value) in range.equal.iter().enumerate() {
        let values = match value {
            KeyValue::IsNull => vec![Datum::Null],
            KeyValue::Is(expr) => match eval(expr, &[], cx)? {
                Datum::Null => return Ok(()),
                value => vec![value],
            },
            KeyValue::AnyOf(expr) => any_values(index, column, expr, cx)?,
        };
        let mut longer = Vec::with_capacity(prefixes.len() * values.len());
        for prefix in &prefixes {
            for value in &values {
                let mut key: Vec<u8> = prefix.clone();
                index.keys[column].code().encode(value, &mut key);
                longer.push(key);
            }
        }
        prefixes = longer;
    }
    let column = range.equal.len();
    let (lower, upper) = match &range.pattern {
        None => (bound(&range.lower, cx)?, bound(&range.upper, cx)?),
        Some(pattern) => match eval(pattern, &[], cx)? {
            Datum::Null => return Ok(()),
            pattern => {
                let start = like::literal_start(pattern.as_text());
                let end = like::after_start(&start).map(|end| (Datum::text(end), false));
                (Some(Some((Datum::text(start), true))), Some(end))
            }
        },
    };
    let (Some(lower), Some(upper)) = (lower, upper) else { return Ok(()) };
    for prefix in prefixes {
        out.extend(encode_bounds(index, column, prefix, lower.as_ref(), upper.as_ref()));
    }
    Ok(())
}

/// Distinct non-null elements of an array.
fn any_values(index: &IndexDef, column: usize, expr: &Expr, cx: &mut Cx<'_>) -> Result<Vec<Datum>> {
    let Datum::Array(array) = eval(expr, &[], cx)? else { return Ok(Vec::new()) };
    let ty = index.keys[column].ty.id;
    let mut values: Vec<Datum> = array.elements.iter().filter(|v| !v.is_null()).cloned().collect();
    values.sort_by(|a, b| compare(ty, a, b));
    values.dedup_by(|a, b| compare(ty, a, b).is_eq());
    Ok(values)
}

/// Key bytes of a range on `column` below a prefix; `None` when no key can lie in it.
fn encode_bounds(
    index: &IndexDef,
    column: usize,
    prefix: Vec<u8>,
    lower: Option<&(Datum, bool)>,
    upper: Option<&(Datum, bool)>,
) -> Option<Encoded> {
    let after = |key: &[u8]| after_prefix(key).unwrap_or_default();
    if lower.is_none() && upper.is_none() {
        let high = after(&prefix);
        return Some(Encoded { low: prefix, high });
    }
    let code = index.keys[column].code();
    let key_of = |value: &Datum| {
        let mut key = prefix.clone();
        code.encode(value, &mut key);
        key
    };
    // In key order a descending column's upper bound comes first.
    let (first, last) = if code.descending { (upper, lower) } else { (lower, upper) };
    let values_only = |nulls_first_side: bool| {
        // Nulls never meet a comparison: the range begins or ends where values do.
        let mut key = prefix.clone();
        if nulls_first_side {
            key.push(VALUE_MARKER);
        } else {
            key.push(VALUE_MARKER + 1);
        }
        key
    };
    let low = match first {
        None => values_only(true),
        Some((value, true)) => key_of(value),
        Some((value, false)) => after(&key_of(value)),
    };
    let high = match last {
        None => values_only(false),
        Some((value, true)) => after(&key_of(value)),
        Some((value, false)) => key_of(value),
    };
    (high.is_empty() || low < high).then_some(Encoded { low, high })
}

/// A bound's value: `None` when it is null (nothing matches), `Some(None)` when there is no bound.
type BoundValue = Option<Option<(Datum, bool)>>;

fn bound(bound: &Option<(Expr, bool)>, cx: &mut Cx<'_>) -> Result<BoundValue> {
    let Some((expr, included)) = bound else { return Ok(Some(None)) };
    match eval(expr, &[], cx)? {
        Datum::Null => Ok(None),
        value => Ok(Some(Some((value, *included)))),
    }
}
