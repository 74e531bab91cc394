//! Which rows of its partition a row's frame holds.

use syntax::ast::{FrameExclude, FrameUnits};

use crate::bind::query::{Bound, Frame};
use crate::error::{Result, sql_error};
use crate::exec::Cx;
use crate::exec::eval::eval;
use crate::exec::sort::KeyOrder;
use crate::types::Datum;
use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use super::limit::Reach;
use super::partition::Partition;

/// A bound with its offset evaluated.
enum Edge {
    Unbounded,
    Preceding(Datum),
    Current,
    Following(Datum),
    /// Of RANGE, in either direction.
    Reach(Reach),
}

/// A frame clause, ready to be applied to rows.
pub(super) struct FrameBounds {
    units: FrameUnits,
    start: Edge,
    end: Edge,
    exclude: FrameExclude,
    order: Vec<KeyOrder>,
    /// RANGE with an offset: where the last row's edges were, and which row that was. They only move on.
    last: [Cell<(usize, usize)>; 2],
}

impl FrameBounds {
    /// Evaluates the offsets, once for all partitions.
    pub(super) fn of(frame: &Frame, order: &[KeyOrder], cx: &mut Cx<'_>) -> Result<FrameBounds> {
        Ok(FrameBounds {
            units: frame.units,
            start: edge(&frame.start, "starting", frame.units, order, cx)?,
            end: edge(&frame.end, "ending", frame.units, order, cx)?,
            exclude: frame.exclude,
            order: order.to_vec(),
            last: Default::default(),
        })
    }

    /// The same, for rows of another partition.
    pub(super) fn in_next_partition(&mut self) -> &mut FrameBounds {
        self.last = Default::default();
        self
    }

    /// Whether an EXCLUDE clause takes rows out of the middle.
    pub(super) fn excludes(&self) -> bool {
        !matches!(self.exclude, FrameExclude::NoOthers)
    }

    /// What EXCLUDE leaves of row `i`'s frame, in the order of the rows; some of it may be empty.
    pub(super) fn pieces(
        &self,
        partition: &Partition,
        i: usize,
        (start, end): (usize, usize),
    ) -> [Range<usize>; 3] {
        let (from, to) = match self.exclude {
            FrameExclude::NoOthers => return [start..end, end..end, end..end],
            FrameExclude::CurrentRow => (i, i + 1),
            FrameExclude::Group | FrameExclude::Ties => partition.peers(i),
        };
        let (from, to) = (from.clamp(start, end), to.clamp(start, end));
        let keeps_itself = self.exclude == FrameExclude::Ties && (start..end).contains(&i);
        let itself = if keeps_itself { i..i + 1 } else { from..from };
        [start..from, itself, to..end]
    }

    /// The frame of row `i`, half open, before EXCLUDE. Asked for row after row.
    pub(super) fn range(
        &self,
        partition: &mut Partition,
        i: usize,
        cx: &mut Cx<'_>,
    ) -> Result<(usize, usize)> {
        let start = self.start_of(partition, i, cx)?;
        let end = self.end_of(partition, i, cx)?;
        Ok((start.min(partition.len()), end.max(start).min(partition.len())))
    }

    fn start_of(&self, partition: &mut Partition, i: usize, cx: &mut Cx<'_>) -> Result<usize> {
        let count = partition.len();
        match (&self.start, self.units) {
            (Edge::Unbounded, _) => Ok(0),
            (Edge::Current, FrameUnits::Rows) => Ok(i),
            (Edge::Current, _) => Ok(partition.peers(i).0),
            (Edge::Preceding(n), FrameUnits::Groups) => {
                Ok(group_back(partition, i, offset(n)?).map_or(0, |(first, _)| first))
            }
            (Edge::Following(n), FrameUnits::Groups) => {
                Ok(group_on(partition, i, offset(n)?).map_or(count, |(first, _)| first))
            }
            (Edge::Preceding(n), _) => Ok(i.saturating_sub(offset(n)?)),
            (Edge::Following(n), _) => Ok(i.saturating_add(offset(n)?).min(count)),
            (Edge::Reach(reach), _) => self.range_edge(partition, i, reach, Side::Start, cx),
        }
    }

    fn end_of(&self, partition: &mut Partition, i: usize, cx: &mut Cx<'_>) -> Result<usize> {
        let count = partition.len();
        match (&self.end, self.units) {
            (Edge::Unbounded, _) => Ok(count),
            (Edge::Current, FrameUnits::Rows) => Ok(i + 1),
            (Edge::Current, _) => Ok(partition.peers(i).1),
            (Edge::Preceding(n), FrameUnits::Groups) => {
                Ok(group_back(partition, i, offset(n)?).map_or(0, |(_, end)| end))
            }
            (Edge::Following(n), FrameUnits::Groups) => {
                Ok(group_on(partition, i, offset(n)?).map_or(count, |(_, end)| end))
            }
            (Edge::Preceding(n), _) => Ok((i + 1).saturating_sub(offset(n)?)),
            (Edge::Following(n), _) => Ok((i + 1).saturating_add(offset(n)?).min(count)),
            (Edge::Reach(reach), _) => self.range_edge(partition, i, reach, Side::End, cx),
        }
    }

    /// The first row that is in (or, at the end, behind) what the current row's key and an offset make the bound.
    fn range_edge(
        &self,
        partition: &mut Partition,
        i: usize,
        reach: &Reach,
        side: Side,
        cx: &mut Cx<'_>,
    ) -> Result<usize> {
        let key = self.order[0];
        let base = partition.first_key(i)?.clone();
        if base.is_null() {
            let (first, end) = partition.peers(i);
            return Ok(if side == Side::End { end } else { first });
        }
        let limit = reach.limit(&base, cx)?;
        let last = &self.last[side as usize];
        let from = if last.get().0 <= i { last.get().1 } else { 0 };
        let mut at = from;
        while at < partition.len() {
            if at.is_multiple_of(1024) {
                cx.breathe()?;
            }
            let value = partition.first_key(at)?;
            let is_reached = match value.is_null() {
                true => !key.nulls_first,
                false => {
                    let found = limit.compare(value);
                    let found = found.map(|found| if key.desc { found.reverse() } else { found });
                    match side {
                        // Where the bound is undetermined, all rows are in, as in PostgreSQL.
                        Side::Start => found.is_none_or(Ordering::is_ge),
                        Side::End => found.is_some_and(Ordering::is_gt),
                    }
                }
            };
            if is_reached {
                break;
            }
            at += 1;
        }
        last.set((i, at));
        Ok(at)
    }
}

/// Which edge of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

fn edge(
    bound: &Bound,
    which: &str,
    units: FrameUnits,
    order: &[KeyOrder],
    cx: &mut Cx<'_>,
) -> Result<Edge> {
    let (expr, preceding) = match bound {
        Bound::UnboundedPreceding | Bound::UnboundedFollowing => return Ok(Edge::Unbounded),
        Bound::CurrentRow => return Ok(Edge::Current),
        Bound::Preceding(expr) => (expr, true),
        Bound::Following(expr) => (expr, false),
    };
    let value = eval(expr, &[], cx)?;
    if value.is_null() {
        return Err(sql_error!(NULL_VALUE_NOT_ALLOWED, "frame {which} offset must not be null"));
    }
    if units == FrameUnits::Range {
        // "Before" in the window's order: a descending key turns the offset around.
        return Ok(Edge::Reach(Reach::new(order[0].ty, value, preceding != order[0].desc)));
    }
    if matches!(value, Datum::Int8(n) if n < 0) {
        return Err(sql_error!(
            INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            "frame {which} offset must not be negative"
        ));
    }
    Ok(if preceding { Edge::Preceding(value) } else { Edge::Following(value) })
}

/// An offset in rows or groups.
fn offset(value: &Datum) -> Result<usize> {
    usize::try_from(value.as_int8()).map_err(|_| {
        sql_error!(INVALID_PRECEDING_OR_FOLLOWING_SIZE, "frame offset must not be negative")
    })
}

/// The peer group `n` groups before row `i`'s.
fn group_back(partition: &Partition, i: usize, n: usize) -> Option<(usize, usize)> {
    partition.group(partition.group_of(i).checked_sub(n)?)
}

/// The peer group `n` groups after row `i`'s.
fn group_on(partition: &Partition, i: usize, n: usize) -> Option<(usize, usize)> {
    partition.group(partition.group_of(i).checked_add(n)?)
}
