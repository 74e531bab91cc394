//! Window functions over sorted input, one partition at a time. A partition, and what is computed of it, that
//! does not fit `work_mem` goes to temporary files. Where no call asks for rows behind the one at hand no partition is
//! kept ([`stream`]).

mod feeder;
mod frame;
mod functions;
mod limit;
mod partition;
mod stream;

use std::ops::Range;
use std::sync::Arc;

use crate::bind::tree::WindowFunc;
use crate::error::Result;
use crate::func::Accumulator;
use crate::plan::node;
use crate::types::Datum;

use super::eval::eval;
use super::group::are_equal;
use super::sort::KeyOrder;
use super::{Cx, Operator, Running, run};
use feeder::{Feeder, Way};
use frame::FrameBounds;
use partition::{Partition, ValueStore};
use stream::Stream;

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
    /// The frame, once its offsets are evaluated.
    bounds: Option<FrameBounds>,
    /// What is given now.
    ready: Option<Box<Ready>>,
    /// Where nothing is kept of partitions.
    stream: Option<Box<Stream>>,
    /// The key of the partition that `stream` is in.
    within: Vec<Datum>,
    row: Vec<Datum>,
}

impl Window {
    pub fn new(plan: Arc<node::WindowAgg>) -> Window {
        let input = run(&plan.input);
        let order = KeyOrder::of(&plan.order_by);
        let stream = stream::can_stream(&plan);
        Window {
            stream: stream.then(|| Box::new(Stream::new(&plan, order.clone()))),
            within: Vec::new(),
            bounds: None,
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
        let bounds = self.bounds.as_mut().expect("evaluated first").in_next_partition();
        let mut columns = Vec::with_capacity(self.plan.calls.len());
        for (number, call) in self.plan.calls.iter().enumerate() {
            let partition = &mut partition;
            columns.push(match (call.func, Feeder::new(&self.plan, number)) {
                (_, Some(feeder)) => aggregate(feeder, partition, bounds, cx)?,
                (WindowFunc::Function(f), None) => {
                    functions::compute(f, call, partition, bounds, cx)?
                }
                (WindowFunc::Aggregate(_), None) => unreachable!("each aggregate has a feeder"),
            });
        }
        Ok(Ready { partition, columns, at: 0 })
    }

    /// Puts the next row into `row` where nothing is kept of partitions; false at the end.
    fn next_streamed(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        cx.breathe()?;
        if !self.read(cx)? {
            return Ok(false);
        }
        let is_first = !std::mem::replace(&mut self.started, true);
        let same_type = |i: usize| self.plan.partition_by[i].type_id();
        let is_new = is_first || !are_equal(&self.within, &self.key, same_type);
        let stream = self.stream.as_mut().expect("asked for only there");
        if is_new {
            stream.begin();
            self.within.clone_from(&self.key);
        }
        let input = self.input.row();
        self.row.clear();
        self.row.extend_from_slice(input);
        stream.next(input, &mut self.row, cx)?;
        Ok(true)
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
    mut feeder: Feeder,
    partition: &mut Partition,
    bounds: &FrameBounds,
    cx: &mut Cx<'_>,
) -> Result<ValueStore> {
    let mut values = ValueStore::new(cx);
    let mut value = Datum::Null;
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
            Some(held) => held.moved(&mut feeder, (start, end), partition, cx)?,
            None => None,
        };
        let mut now = match moved {
            Some(moved) => moved,
            None => {
                let mut new = Held { accumulator: feeder.begin(), start, end };
                for rows in bounds.pieces(partition, i, (start, end)) {
                    new.feed(&mut feeder, rows, Way::In, partition, cx)?;
                }
                new
            }
        };
        value = feeder.value(&mut now.accumulator, cx)?;
        values.push(value.clone())?;
        held = Some(now);
    }
    Ok(values)
}

/// An aggregate's state over the rows from `start` to before `end`.
struct Held {
    accumulator: Box<dyn Accumulator>,
    start: usize,
    end: usize,
}

impl Held {
    /// The state moved on to other rows; `None` where adding them up anew is better, or the only way.
    fn moved(
        mut self,
        feeder: &mut Feeder,
        (start, end): (usize, usize),
        partition: &mut Partition,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Held>> {
        if start < self.start || end < self.end || self.end < start {
            return Ok(None);
        }
        let gone = self.start..start;
        if !gone.is_empty() {
            let can = self.accumulator.is_reversible() && feeder.is_stable;
            let is_more = gone.len() + (end - self.end) > end - start;
            if !can || is_more || !self.feed(feeder, gone, Way::Out, partition, cx)? {
                return Ok(None);
            }
        }
        let new = self.end..end;
        self.feed(feeder, new, Way::In, partition, cx)?;
        Ok(Some(Held { start, end, ..self }))
    }

    /// False: a row can't be taken out.
    fn feed(
        &mut self,
        feeder: &mut Feeder,
        rows: Range<usize>,
        way: Way,
        partition: &mut Partition,
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        for j in rows {
            if j.is_multiple_of(1024) {
                cx.breathe()?;
            }
            if !feeder.feed_row(&mut self.accumulator, partition.row(j)?, way, cx)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Operator for Window {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        // Whether there are rows or not, and whether somebody asks for them or not.
        if self.bounds.is_none() {
            self.bounds = Some(FrameBounds::of(&self.plan.frame, &self.order, cx)?);
        }
        if self.stream.is_some() {
            return self.next_streamed(cx);
        }
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
        self.bounds = None;
        self.input.rescan(cx)
    }
}
