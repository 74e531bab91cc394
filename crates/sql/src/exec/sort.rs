//! Sorting rows.

mod parts;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use crate::bind::tree::SortExpr;
use crate::error::{Result, check_stack};
use crate::plan::node::{self, Node};
use crate::plan::rerun::Rerun;
use crate::types::{Datum, TypeId, compare, compare_alike};

use super::eval::eval;
use super::spill::{RowReader, RowStore, Sorted, Sorter, Usage};
use super::{Cx, Operator, Running, run};

/// How one sort key orders two values.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyOrder {
    pub ty: TypeId,
    pub desc: bool,
    pub nulls_first: bool,
}

impl KeyOrder {
    pub(super) fn of(keys: &[SortExpr]) -> Vec<KeyOrder> {
        let order = |key: &SortExpr| KeyOrder {
            ty: key.expr.type_id(),
            desc: key.desc,
            nulls_first: key.nulls_first,
        };
        keys.iter().map(order).collect()
    }

    /// A number that is lower only where the value comes earlier; equal ones say nothing.
    #[inline]
    pub(super) fn prefix(&self, value: &Datum) -> u64 {
        match prefix_bits(self.ty, value) {
            None if self.nulls_first => 0,
            None => u64::MAX,
            // Between the two, with one bit less.
            Some(bits) => (1 << 62) + ((if self.desc { !bits } else { bits }) >> 1),
        }
    }

    pub(super) fn compare(&self, a: &Datum, b: &Datum) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if self.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if self.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let order = compare(self.ty, a, b);
                if self.desc { order.reverse() } else { order }
            }
        }
    }
}

/// The upper bits of a value's place in the order of its type, ascending: all of them for small types, none for
/// those whose order has no short form. `None` for null.
#[inline]
fn prefix_bits(ty: TypeId, value: &Datum) -> Option<u64> {
    let signed = |v: i64| v as u64 ^ 1 << 63;
    let float = |v: f64| match v.to_bits() {
        _ if v.is_nan() => u64::MAX,
        _ if v == 0.0 => 1 << 63,
        bits if bits >> 63 == 1 => !bits,
        bits => bits | 1 << 63,
    };
    let text = |bytes: &[u8]| {
        let mut first = [0; 8];
        let length = bytes.len().min(8);
        first[..length].copy_from_slice(&bytes[..length]);
        u64::from_be_bytes(first)
    };
    Some(match value {
        Datum::Null => return None,
        Datum::Bool(v) => u64::from(*v) << 63,
        Datum::Int2(v) => signed(i64::from(*v) << 48),
        Datum::Int4(v) => signed(i64::from(*v) << 32),
        Datum::Date(v) => signed(i64::from(v.0) << 32),
        // Some types hold unsigned numbers in it.
        Datum::Int8(v) if ty == TypeId::INT8 => signed(*v),
        Datum::Timestamp(v) => signed(v.0),
        Datum::TimestampTz(v) => signed(v.0),
        Datum::Float4(v) => float(f64::from(*v)),
        Datum::Float8(v) => float(*v),
        Datum::Oid(v) => u64::from(v.0) << 32,
        Datum::Text(v) if ty == TypeId::BPCHAR => text(v.trim_end_matches(' ').as_bytes()),
        Datum::Text(v) => text(v.as_bytes()),
        Datum::Bytea(v) => text(v),
        Datum::Uuid(v) => text(v),
        _ => 0,
    })
}

/// Compares two lists of key values.
pub(super) fn compare_keys(order: &[KeyOrder], a: &[Datum], b: &[Datum]) -> Ordering {
    for (i, key) in order.iter().enumerate() {
        let order = key.compare(&a[i], &b[i]);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Fails where rows, or arrays of rows, among the keys can't be compared.
pub(super) fn check_alike(order: &[KeyOrder], a: &[Datum], b: &[Datum]) -> Result<()> {
    for (key, (a, b)) in order.iter().zip(a.iter().zip(b)) {
        if compare_alike(key.ty, a, b)?.is_ne() {
            break;
        }
    }
    Ok(())
}

/// Whether keys are rows or arrays of rows: not any two of these can be compared.
pub(super) fn are_rows(order: &[KeyOrder]) -> bool {
    order.iter().any(|key| matches!(key.ty, TypeId::RECORD | TypeId::RECORD_ARRAY))
}

/// Fails for two rows that can't be compared.
type Check<'c, T> = dyn Fn(&T, &T) -> Result<()> + 'c;

/// Sorts, stably, unless the statement is to end meanwhile. `check` is asked of what is compared, the earlier one first.
/// Where it fails the rows are gone.
pub(super) fn sort_rows<T>(
    rows: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    check: Option<&Check<'_, T>>,
) -> Result<()> {
    let Some(check) = check else { return parts::sort(rows, &compare) };
    let failed = RefCell::new(None);
    let checked = |a: &T, b: &T| {
        let mut failed = failed.borrow_mut();
        if failed.is_none() {
            *failed = check(b, a).err();
        }
        compare(a, b)
    };
    parts::sort(rows, &checked)?;
    failed.into_inner().map_or(Ok(()), Err)
}

/// Evaluates the sort keys over a row.
pub(super) fn key_values(
    keys: &[SortExpr],
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Box<[Datum]>> {
    keys.iter().map(|key| eval(&key.expr, row, cx)).collect()
}

/// Sorts its input; stable, so equal rows keep the order in which they came.
pub struct Sort {
    plan: Arc<node::Sort>,
    input: Running,
    output: Option<Output>,
    /// Looked into when it is started again.
    rerun: Option<Rerun>,
    /// It was started again, to give the same rows.
    repeats: bool,
}

/// Rows in their order.
enum Output {
    Sorted(Sorted),
    /// Those that were merged from a file, which goes as they are read, to be read again.
    Kept(Box<Merged>),
}

struct Merged {
    rows: RowStore,
    reader: RowReader,
    /// How they were sorted.
    usage: Usage,
}

impl Output {
    /// Goes back to before the first row; false, if rows are gone.
    fn rewind(&mut self) -> bool {
        match self {
            Output::Sorted(sorted) => sorted.rewind(),
            Output::Kept(merged) => {
                merged.reader.seek(0);
                true
            }
        }
    }
}

impl Sort {
    pub fn new(plan: Arc<node::Sort>) -> Sort {
        let input = run(&plan.input);
        Sort { plan, input, output: None, rerun: None, repeats: false }
    }

    fn fill(&mut self, cx: &mut Cx<'_>) -> Result<Output> {
        check_stack()?;
        let top = match &self.plan.top {
            Some(top) => rows_wanted(top, cx)?,
            None => None,
        };
        let order = KeyOrder::of(&self.plan.keys);
        let mut sorter = Sorter::new(cx.host.temp(), cx.host.work_mem_bytes(), order, top);
        let mut count = 0u32;
        let mut keys = Vec::new();
        while self.input.next(cx)? {
            for key in &self.plan.keys {
                keys.push(eval(&key.expr, self.input.row(), cx)?);
            }
            sorter.push(&mut keys, self.input.row())?;
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        let mut sorted = sorter.finish()?;
        if !self.repeats || !matches!(sorted, Sorted::Merge(..)) {
            return Ok(Output::Sorted(sorted));
        }
        let (usage, mut rows) = (sorted.usage(), cx.row_store());
        while sorted.next()? {
            rows.push(sorted.row())?;
            if rows.len().is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        Ok(Output::Kept(Box::new(Merged { rows, reader: RowReader::default(), usage })))
    }
}

/// How many of the first rows are wanted; `None` is all. What is wrong with the numbers is told by LIMIT.
fn rows_wanted(top: &node::Top, cx: &mut Cx<'_>) -> Result<Option<usize>> {
    let Datum::Int8(count) = eval(&top.count, &[], cx)? else { return Ok(None) };
    let offset = match &top.offset {
        Some(offset) => eval(offset, &[], cx)?,
        None => Datum::Null,
    };
    let offset = if let Datum::Int8(n) = offset { n } else { 0 };
    Ok(count.checked_add(offset).and_then(|n| usize::try_from(n).ok()))
}

impl Operator for Sort {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let output = match &mut self.output {
            Some(output) => output,
            None => {
                let output = self.fill(cx)?;
                self.output.insert(output)
            }
        };
        match output {
            Output::Sorted(sorted) => sorted.next(),
            Output::Kept(merged) => merged.reader.next(&merged.rows),
        }
    }

    fn row(&self) -> &[Datum] {
        match self.output.as_ref().expect("next said true") {
            Output::Sorted(sorted) => sorted.row(),
            Output::Kept(merged) => merged.reader.row(&merged.rows),
        }
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        if let Some(output) = &mut self.output {
            let plan = &self.plan;
            let rerun = || Rerun::of(&Node::Sort(plan.clone()), &[]);
            // Rows in an order that chance made are in another the next time.
            self.repeats = *self.rerun.get_or_insert_with(rerun) == Rerun::Same;
            if self.repeats && output.rewind() {
                return Ok(());
            }
        }
        self.output = None;
        self.input.rescan(cx)
    }

    fn usage(&self) -> Option<Usage> {
        Some(match self.output.as_ref()? {
            Output::Sorted(sorted) => sorted.usage(),
            Output::Kept(merged) => merged.usage,
        })
    }
}
