//! Window functions over sorted input, one partition at a time.

mod frame;
mod functions;

use std::sync::Arc;

use crate::bind::tree::{WindowCall, WindowFunc};
use crate::error::Result;
use crate::func::{self, Accumulator};
use crate::plan::node;
use crate::types::{Datum, is_equal};

use super::aggregate::arg_types;
use super::eval::{eval, passes};
use super::sort::{KeyOrder, compare_keys, key_values};
use super::spill::{check_held, row_bytes};
use super::{Cx, Operator, Running, run};
use frame::FrameBounds;

/// A row of a partition with its sort keys.
pub(super) struct PartitionRow {
    pub row: Box<[Datum]>,
    pub order: Box<[Datum]>,
}

/// One partition, whole.
pub(super) struct Partition {
    pub rows: Vec<PartitionRow>,
    /// For each row the half-open range of rows that are its peers.
    pub peers: Vec<(usize, usize)>,
}

/// An input row with the key of its partition.
type Ahead = (Vec<Datum>, Box<[Datum]>);

/// Runs the calls of one window.
pub struct Window {
    plan: Arc<node::WindowAgg>,
    input: Running,
    order: Vec<KeyOrder>,
    /// The first row of the next partition, already read.
    ahead: Option<Ahead>,
    started: bool,
    ready: std::vec::IntoIter<Vec<Datum>>,
    row: Vec<Datum>,
}

impl Window {
    pub fn new(plan: Arc<node::WindowAgg>) -> Window {
        let input = run(&plan.input);
        let order = KeyOrder::of(&plan.order_by);
        Window {
            plan,
            input,
            order,
            ahead: None,
            started: false,
            ready: Vec::new().into_iter(),
            row: Vec::new(),
        }
    }

    /// Reads the next input row with its partition's key.
    fn read(&mut self, cx: &mut Cx<'_>) -> Result<Option<Ahead>> {
        if !self.input.next(cx)? {
            return Ok(None);
        }
        let row = self.input.row();
        let keys = self.plan.partition_by.iter().map(|e| eval(e, row, cx));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        Ok(Some((keys, row.into())))
    }

    /// Reads a whole partition.
    fn partition(&mut self, cx: &mut Cx<'_>) -> Result<Option<Partition>> {
        if !std::mem::replace(&mut self.started, true) {
            self.ahead = self.read(cx)?;
        }
        let Some((key, first)) = self.ahead.take() else { return Ok(None) };
        // Twice: as it comes, and with what is computed.
        let mut bytes = 2 * row_bytes(&first);
        let mut rows = vec![first];
        while let Some((other, row)) = self.read(cx)? {
            if !key.iter().zip(&other).all(|(a, b)| is_equal(a, b)) {
                self.ahead = Some((other, row));
                break;
            }
            bytes += 2 * row_bytes(&row);
            check_held(bytes, "A window's partition")?;
            rows.push(row);
            if rows.len().is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        let mut keyed = Vec::with_capacity(rows.len());
        for row in rows {
            let order = key_values(&self.plan.order_by, &row, cx)?;
            keyed.push(PartitionRow { row, order });
        }
        let peers = peers(&keyed, &self.order);
        Ok(Some(Partition { rows: keyed, peers }))
    }

    /// Computes every call for every row of the partition.
    fn compute(&mut self, partition: &Partition, cx: &mut Cx<'_>) -> Result<Vec<Vec<Datum>>> {
        let bounds = FrameBounds::of(&self.plan.frame, &self.order, cx)?;
        let mut rows: Vec<Vec<Datum>> = partition.rows.iter().map(|r| r.row.to_vec()).collect();
        for call in &self.plan.calls {
            let values = match call.func {
                WindowFunc::Function(f) => functions::compute(f, call, partition, &bounds, cx)?,
                WindowFunc::Aggregate(agg) => aggregate(agg, call, partition, &bounds, cx)?,
            };
            for (row, value) in rows.iter_mut().zip(values) {
                row.push(value);
            }
        }
        Ok(rows)
    }
}

/// For each row the range of rows equal to it in the window's order.
fn peers(rows: &[PartitionRow], order: &[KeyOrder]) -> Vec<(usize, usize)> {
    let mut peers = Vec::with_capacity(rows.len());
    let mut start = 0;
    while start < rows.len() {
        let same = |i: &usize| compare_keys(order, &rows[start].order, &rows[*i].order).is_eq();
        let end = (start + 1..rows.len()).take_while(same).last().map_or(start + 1, |i| i + 1);
        peers.resize(end, (start, end));
        start = end;
    }
    peers
}

/// An aggregate over each row's frame. A frame that begins where the one before began, and reaches at
/// least as far, continues its state.
fn aggregate(
    agg: &'static func::Aggregate,
    call: &WindowCall,
    partition: &Partition,
    bounds: &FrameBounds,
    cx: &mut Cx<'_>,
) -> Result<Vec<Datum>> {
    let types = arg_types(&call.args);
    let mut values: Vec<Datum> = Vec::with_capacity(partition.rows.len());
    let mut state: Option<(Box<dyn Accumulator>, usize, usize)> = None;
    let mut last: Option<(usize, usize)> = None;
    for i in 0..partition.rows.len() {
        cx.breathe()?;
        let (start, end) = bounds.range(partition, i)?;
        let excludes = bounds.excludes();
        if !excludes
            && last == Some((start, end))
            && let Some(previous) = values.last()
        {
            let previous = previous.clone();
            values.push(previous);
            continue;
        }
        let (mut accumulator, from) = match state.take() {
            Some((kept, s, e)) if !excludes && s == start && e <= end => (kept, e),
            _ => ((agg.start)(&types), start),
        };
        for j in from..end {
            if bounds.is_excluded(partition, i, j) {
                continue;
            }
            let row = &partition.rows[j].row;
            if !passes(call.filter.as_ref(), row, cx)? {
                continue;
            }
            let args = call.args.iter().map(|a| eval(a, row, cx)).collect::<Result<Vec<_>>>()?;
            if agg.strict && args.iter().any(Datum::is_null) {
                continue;
            }
            cx.with_context(&types, call.ty.id, |context| accumulator.add(context, &args))?;
        }
        values.push(cx.with_context(&types, call.ty.id, |context| accumulator.finish(context))?);
        state = Some((accumulator, start, end));
        last = Some((start, end));
    }
    Ok(values)
}

impl Operator for Window {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if let Some(row) = self.ready.next() {
                self.row = row;
                return Ok(true);
            }
            let Some(partition) = self.partition(cx)? else { return Ok(false) };
            self.ready = self.compute(&partition, cx)?.into_iter();
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.started = false;
        self.ahead = None;
        self.ready = Vec::new().into_iter();
        self.input.rescan(cx)
    }
}
