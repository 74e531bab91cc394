//! Window functions over sorted input, one partition at a time. A partition, and what is computed of it, that
//! does not fit `work_mem` goes to temporary files.

mod frame;
mod functions;
mod limit;
mod partition;

use std::ops::Range;
use std::sync::Arc;

use crate::bind::tree::{WindowCall, WindowFunc};
use crate::error::Result;
use crate::func;
use crate::plan::node;
use crate::types::{Datum, TypeId};

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

/// An aggregate over each row's frame. A frame that begins where the one before began or later, and reaches at least as
/// far, continues its state.
fn aggregate(
    agg: &'static func::Aggregate,
    call: &WindowCall,
    partition: &mut Partition,
    bounds: &FrameBounds,
    cx: &mut Cx<'_>,
) -> Result<ValueStore> {
    let mut values = ValueStore::new(cx);
    let mut value = Datum::Null;
    let mut feeder = Feeder::new(agg, call);
    let mut held: Option<Held> = None;
    for i in 0..partition.len() {
        cx.breathe()?;
        let (start, end) = bounds.range(partition, i, cx)?;
        let is_same = |held: &Held| (held.start, held.end) == (start, end);
        if !bounds.excludes() && held.as_ref().is_some_and(is_same) {
            values.push(value.clone())?;
            continue;
        }
        let moved = match held.take().filter(|_| !bounds.excludes()) {
            Some(held) => feeder.moved(held, (start, end), partition, cx)?,
            None => None,
        };
        let mut now = match moved {
            Some(moved) => moved,
            None => {
                let accumulator = agg.begin(&feeder.types);
                let mut new = Held { accumulator, start, end };
                for rows in bounds.pieces(partition, i, (start, end)) {
                    feeder.feed(&mut new, rows, Way::In, partition, cx)?;
                }
                new
            }
        };
        value =
            cx.with_context(&feeder.types, call.ty.id, |context| now.accumulator.finish(context))?;
        values.push(value.clone())?;
        held = Some(now);
    }
    Ok(values)
}

/// An aggregate's state over the rows from `start` to before `end`.
struct Held {
    accumulator: Box<dyn func::Accumulator>,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// Brings rows of a partition into an aggregate's state, or out of it.
struct Feeder<'c> {
    agg: &'static func::Aggregate,
    call: &'c WindowCall,
    types: Vec<TypeId>,
    /// A row's arguments are the same whenever they are computed.
    is_stable: bool,
    args: Vec<Datum>,
}

impl<'c> Feeder<'c> {
    fn new(agg: &'static func::Aggregate, call: &'c WindowCall) -> Feeder<'c> {
        let mut exprs = call.args.iter().chain(&call.filter);
        let is_stable = !exprs.any(super::is_volatile);
        Feeder { agg, call, types: arg_types(&call.args), is_stable, args: Vec::new() }
    }

    /// The state moved on to other rows; `None` where adding them up anew is better, or the only way.
    fn moved(
        &mut self,
        mut held: Held,
        (start, end): (usize, usize),
        partition: &mut Partition,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Held>> {
        if start < held.start || end < held.end || held.end < start {
            return Ok(None);
        }
        let gone = held.start..start;
        if !gone.is_empty() {
            let can = held.accumulator.is_reversible() && self.is_stable;
            let is_more = gone.len() + (end - held.end) > end - start;
            if !can || is_more || !self.feed(&mut held, gone, Way::Out, partition, cx)? {
                return Ok(None);
            }
        }
        let new = held.end..end;
        self.feed(&mut held, new, Way::In, partition, cx)?;
        Ok(Some(Held { start, end, ..held }))
    }

    /// False: a row can't be taken out.
    fn feed(
        &mut self,
        held: &mut Held,
        rows: Range<usize>,
        way: Way,
        partition: &mut Partition,
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        for j in rows {
            if j.is_multiple_of(1024) {
                cx.breathe()?;
            }
            let row = partition.row(j)?;
            if !passes(self.call.filter.as_ref(), row, cx)? {
                continue;
            }
            self.args.clear();
            for arg in &self.call.args {
                self.args.push(eval(arg, row, cx)?);
            }
            if self.agg.strict && self.args.iter().any(Datum::is_null) {
                continue;
            }
            let (accumulator, args) = (&mut held.accumulator, &self.args);
            let done = cx.with_context(&self.types, self.call.ty.id, |context| match way {
                Way::In => accumulator.add(context, args).map(|()| true),
                Way::Out => accumulator.remove(context, args),
            })?;
            if !done {
                return Ok(false);
            }
        }
        Ok(true)
    }
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
