//! Window functions over sorted input, one partition at a time. A partition, and what is computed of it, that
//! does not fit `work_mem` goes to temporary files.

mod frame;
mod functions;
mod partition;

use std::sync::Arc;

use crate::bind::tree::{WindowCall, WindowFunc};
use crate::error::Result;
use crate::func::{self, Accumulator};
use crate::plan::node;
use crate::types::Datum;

use super::aggregate::arg_types;
use super::eval::{eval, passes};
use super::group::are_equal;
use super::sort::KeyOrder;
use super::{Cx, Operator, Running, run};
use frame::FrameBounds;
use partition::{Partition, ValueStore};

/// An input row with the key of its partition.
type Ahead = (Vec<Datum>, Vec<Datum>);

/// Runs the calls of one window.
pub struct Window {
    plan: Arc<node::WindowAgg>,
    input: Running,
    order: Vec<KeyOrder>,
    /// The first row of the next partition, already read.
    ahead: Option<Ahead>,
    /// The partition's key of the input row at hand.
    key: Vec<Datum>,
    started: bool,
    /// What is given now.
    ready: Option<Box<Ready>>,
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
            key: Vec::new(),
            started: false,
            ready: None,
            row: Vec::new(),
        }
    }

    /// Moves to the next input row and finds its partition's key; false at the end.
    fn read(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.input.next(cx)? {
            return Ok(false);
        }
        self.key.clear();
        for expr in &self.plan.partition_by {
            self.key.push(eval(expr, self.input.row(), cx)?);
        }
        Ok(true)
    }

    /// The input row at hand, kept.
    fn at_hand(&self) -> Ahead {
        (self.key.clone(), self.input.row().to_vec())
    }

    /// Reads a whole partition.
    fn partition(&mut self, cx: &mut Cx<'_>) -> Result<Option<Partition>> {
        if !std::mem::replace(&mut self.started, true) && self.read(cx)? {
            self.ahead = Some(self.at_hand());
        }
        let Some((key, first)) = self.ahead.take() else { return Ok(None) };
        let mut partition = Partition::new(first.len(), self.order.clone(), cx);
        partition.push(&first, &self.plan.order_by, cx)?;
        while self.read(cx)? {
            if !are_equal(&key, &self.key, |i| self.plan.partition_by[i].type_id()) {
                self.ahead = Some(self.at_hand());
                break;
            }
            partition.push(self.input.row(), &self.plan.order_by, cx)?;
            if partition.len().is_multiple_of(1024) {
                cx.breathe()?;
            }
        }
        Ok(Some(partition))
    }

    /// Computes every call for every row of the partition.
    fn compute(&mut self, mut partition: Partition, cx: &mut Cx<'_>) -> Result<Ready> {
        let bounds = FrameBounds::of(&self.plan.frame, &self.order, cx)?;
        let mut columns = Vec::with_capacity(self.plan.calls.len());
        for call in &self.plan.calls {
            columns.push(match call.func {
                WindowFunc::Function(f) => {
                    functions::compute(f, call, &mut partition, &bounds, cx)?
                }
                WindowFunc::Aggregate(agg) => aggregate(agg, call, &mut partition, &bounds, cx)?,
            });
        }
        Ok(Ready { partition, columns, at: 0 })
    }
}

/// A partition with what was computed of it, and how many of its rows were given.
struct Ready {
    partition: Partition,
    columns: Vec<ValueStore>,
    at: usize,
}

impl Ready {
    /// Puts the next row into `row`; false at the end.
    fn next(&mut self, row: &mut Vec<Datum>) -> Result<bool> {
        if self.at >= self.partition.len() {
            return Ok(false);
        }
        row.clear();
        row.extend_from_slice(self.partition.own(self.at)?);
        for column in &mut self.columns {
            row.push(column.get(self.at)?);
        }
        self.at += 1;
        Ok(true)
    }
}

/// An aggregate over each row's frame. A frame that begins where the one before began, and reaches at
/// least as far, continues its state.
fn aggregate(
    agg: &'static func::Aggregate,
    call: &WindowCall,
    partition: &mut Partition,
    bounds: &FrameBounds,
    cx: &mut Cx<'_>,
) -> Result<ValueStore> {
    let types = arg_types(&call.args);
    let mut values = ValueStore::new(cx);
    let mut value = Datum::Null;
    let mut state: Option<(Box<dyn Accumulator>, usize, usize)> = None;
    let mut last: Option<(usize, usize)> = None;
    let mut args = Vec::new();
    for i in 0..partition.len() {
        cx.breathe()?;
        let (start, end) = bounds.range(partition, i)?;
        let excludes = bounds.excludes();
        if !excludes && last == Some((start, end)) {
            values.push(value.clone())?;
            continue;
        }
        let (mut accumulator, from) = match state.take() {
            Some((kept, s, e)) if !excludes && s == start && e <= end => (kept, e),
            _ => (agg.begin(&types), start),
        };
        for j in from..end {
            if bounds.is_excluded(partition, i, j) {
                continue;
            }
            let row = partition.row(j)?;
            if !passes(call.filter.as_ref(), row, cx)? {
                continue;
            }
            args.clear();
            for arg in &call.args {
                args.push(eval(arg, row, cx)?);
            }
            if agg.strict && args.iter().any(Datum::is_null) {
                continue;
            }
            cx.with_context(&types, call.ty.id, |context| accumulator.add(context, &args))?;
        }
        value = cx.with_context(&types, call.ty.id, |context| accumulator.finish(context))?;
        values.push(value.clone())?;
        state = Some((accumulator, start, end));
        last = Some((start, end));
    }
    Ok(values)
}

impl Operator for Window {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            if let Some(ready) = &mut self.ready
                && ready.next(&mut self.row)?
            {
                return Ok(true);
            }
            self.ready = None;
            let Some(partition) = self.partition(cx)? else { return Ok(false) };
            self.ready = Some(Box::new(self.compute(partition, cx)?));
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.started = false;
        self.ahead = None;
        self.ready = None;
        self.input.rescan(cx)
    }
}
