//! Calls that ask nothing of the rows behind the one at hand: they are computed as the rows come, and no partition is
//! kept. So `row_number()` over rows without end gives its first ones, and over many needs no memory.

use std::sync::Arc;

use syntax::ast::{FrameExclude, FrameUnits};

use crate::bind::query::{Bound, Frame};
use crate::bind::tree::WindowFunc;
use crate::error::Result;
use crate::exec::Cx;
use crate::exec::eval::eval;
use crate::exec::sort::{KeyOrder, compare_keys};
use crate::plan::node::WindowAgg;
use crate::types::Datum;

use super::feeder::{Feeder, Way};
use crate::func::Accumulator;

/// Whether all calls of a window are of this kind.
pub(super) fn can_stream(plan: &WindowAgg) -> bool {
    plan.calls.iter().all(|call| match call.func {
        WindowFunc::Function(func) => matches!(func.name, "row_number" | "rank" | "dense_rank"),
        WindowFunc::Aggregate(_) => grows_row_by_row(&plan.frame),
    })
}

fn grows_row_by_row(frame: &Frame) -> bool {
    frame.units == FrameUnits::Rows
        && matches!((&frame.start, &frame.end), (Bound::UnboundedPreceding, Bound::CurrentRow))
        && frame.exclude == FrameExclude::NoOthers
}

/// Where in its partition a window is.
pub(super) struct Stream {
    plan: Arc<WindowAgg>,
    order: Vec<KeyOrder>,
    /// The row's number, that of the first of its peers, and that of their group, from 1.
    row_number: i64,
    rank: i64,
    dense_rank: i64,
    /// The sort keys of the row at hand and of the one before.
    keys: Vec<Datum>,
    last: Vec<Datum>,
    /// For each call that is an aggregate.
    totals: Vec<Option<(Feeder, Box<dyn Accumulator>)>>,
}

impl Stream {
    pub(super) fn new(plan: &Arc<WindowAgg>, order: Vec<KeyOrder>) -> Stream {
        let totals = (0..plan.calls.len()).map(|number| {
            let feeder = Feeder::new(plan, number)?;
            let accumulator = feeder.begin();
            Some((feeder, accumulator))
        });
        Stream {
            totals: totals.collect(),
            plan: Arc::clone(plan),
            order,
            row_number: 0,
            rank: 0,
            dense_rank: 0,
            keys: Vec::new(),
            last: Vec::new(),
        }
    }

    /// The next row is the first of its partition.
    pub(super) fn begin(&mut self) {
        (self.row_number, self.rank, self.dense_rank) = (0, 0, 0);
        for (feeder, accumulator) in self.totals.iter_mut().flatten() {
            *accumulator = feeder.begin();
        }
    }

    /// Moves to an input row and appends its values to `out`.
    pub(super) fn next(
        &mut self,
        row: &[Datum],
        out: &mut Vec<Datum>,
        cx: &mut Cx<'_>,
    ) -> Result<()> {
        self.place(row, cx)?;
        for (call, total) in self.plan.calls.iter().zip(&mut self.totals) {
            out.push(match (call.func, total) {
                (_, Some((feeder, accumulator))) => {
                    feeder.feed_row(accumulator, row, Way::In, cx)?;
                    feeder.value(accumulator, cx)?
                }
                (WindowFunc::Function(func), None) => Datum::Int8(match func.name {
                    "row_number" => self.row_number,
                    "rank" => self.rank,
                    _ => self.dense_rank,
                }),
                (WindowFunc::Aggregate(_), None) => unreachable!("each aggregate has a total"),
            });
        }
        Ok(())
    }

    /// Counts the row.
    fn place(&mut self, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
        std::mem::swap(&mut self.keys, &mut self.last);
        self.keys.clear();
        for key in &self.plan.order_by {
            self.keys.push(eval(&key.expr, row, cx)?);
        }
        self.row_number += 1;
        if self.row_number == 1 || compare_keys(&self.order, &self.last, &self.keys).is_ne() {
            (self.rank, self.dense_rank) = (self.row_number, self.dense_rank + 1);
        }
        Ok(())
    }
}
