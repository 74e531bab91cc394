//! Which rows of its partition a row's frame holds.

use syntax::ast::{FrameExclude, FrameUnits};

use crate::bind::query::{Bound, Frame};
use crate::error::{Result, sql_error};
use crate::exec::Cx;
use crate::exec::eval::eval;
use crate::exec::sort::KeyOrder;
use crate::types::{Datum, TypeId, compare_f64};
use std::cmp::Ordering;

use super::partition::Partition;

/// A bound with its offset evaluated.
enum Edge {
    Unbounded,
    Preceding(Datum),
    Current,
    Following(Datum),
}

/// A frame clause, ready to be applied to rows.
pub(super) struct FrameBounds {
    units: FrameUnits,
    start: Edge,
    end: Edge,
    exclude: FrameExclude,
    order: Vec<KeyOrder>,
}

impl FrameBounds {
    /// Evaluates the offsets, once per partition.
    pub(super) fn of(frame: &Frame, order: &[KeyOrder], cx: &mut Cx<'_>) -> Result<FrameBounds> {
        Ok(FrameBounds {
            units: frame.units,
            start: edge(&frame.start, "starting", cx)?,
            end: edge(&frame.end, "ending", cx)?,
            exclude: frame.exclude,
            order: order.to_vec(),
        })
    }

    /// Whether an EXCLUDE clause takes rows out of the middle.
    pub(super) fn excludes(&self) -> bool {
        !matches!(self.exclude, FrameExclude::NoOthers)
    }

    /// Whether EXCLUDE takes row `j` out of row `i`'s frame.
    pub(super) fn is_excluded(&self, partition: &Partition, i: usize, j: usize) -> bool {
        let (first, end) = partition.peers(i);
        let peer = (first..end).contains(&j);
        match self.exclude {
            FrameExclude::NoOthers => false,
            FrameExclude::CurrentRow => i == j,
            FrameExclude::Group => peer,
            FrameExclude::Ties => peer && i != j,
        }
    }

    /// The frame of row `i`, half open, before EXCLUDE.
    pub(super) fn range(&self, partition: &mut Partition, i: usize) -> Result<(usize, usize)> {
        let start = self.start_of(partition, i)?;
        let end = self.end_of(partition, i)?;
        Ok((start.min(partition.len()), end.max(start).min(partition.len())))
    }

    fn start_of(&self, partition: &mut Partition, i: usize) -> Result<usize> {
        let count = partition.len();
        match (&self.start, self.units) {
            (Edge::Unbounded, _) => Ok(0),
            (Edge::Current, FrameUnits::Rows) => Ok(i),
            (Edge::Current, _) => Ok(partition.peers(i).0),
            (Edge::Preceding(n), FrameUnits::Rows) => Ok(i.saturating_sub(offset(n)?)),
            (Edge::Following(n), FrameUnits::Rows) => Ok(i.saturating_add(offset(n)?).min(count)),
            (Edge::Preceding(n), FrameUnits::Groups) => {
                Ok(group_back(partition, i, offset(n)?).map_or(0, |(first, _)| first))
            }
            (Edge::Following(n), FrameUnits::Groups) => {
                Ok(group_on(partition, i, offset(n)?).map_or(count, |(first, _)| first))
            }
            (Edge::Preceding(n), FrameUnits::Range) => self.range_start(partition, i, n, true),
            (Edge::Following(n), FrameUnits::Range) => self.range_start(partition, i, n, false),
        }
    }

    fn end_of(&self, partition: &mut Partition, i: usize) -> Result<usize> {
        let count = partition.len();
        match (&self.end, self.units) {
            (Edge::Unbounded, _) => Ok(count),
            (Edge::Current, FrameUnits::Rows) => Ok(i + 1),
            (Edge::Current, _) => Ok(partition.peers(i).1),
            (Edge::Preceding(n), FrameUnits::Rows) => Ok((i + 1).saturating_sub(offset(n)?)),
            (Edge::Following(n), FrameUnits::Rows) => {
                Ok((i + 1).saturating_add(offset(n)?).min(count))
            }
            (Edge::Preceding(n), FrameUnits::Groups) => {
                Ok(group_back(partition, i, offset(n)?).map_or(0, |(_, end)| end))
            }
            (Edge::Following(n), FrameUnits::Groups) => {
                Ok(group_on(partition, i, offset(n)?).map_or(count, |(_, end)| end))
            }
            (Edge::Preceding(n), FrameUnits::Range) => self.range_end(partition, i, n, true),
            (Edge::Following(n), FrameUnits::Range) => self.range_end(partition, i, n, false),
        }
    }

    /// The first row whose sort value is not before the current one's less (or plus) the offset.
    fn range_start(
        &self,
        partition: &mut Partition,
        i: usize,
        offset: &Datum,
        preceding: bool,
    ) -> Result<usize> {
        self.range_edge(partition, i, offset, preceding, false)
    }

    fn range_end(
        &self,
        partition: &mut Partition,
        i: usize,
        offset: &Datum,
        preceding: bool,
    ) -> Result<usize> {
        self.range_edge(partition, i, offset, preceding, true)
    }

    fn range_edge(
        &self,
        partition: &mut Partition,
        i: usize,
        offset: &Datum,
        preceding: bool,
        past: bool,
    ) -> Result<usize> {
        let key = self.order[0];
        let base = partition.first_key(i)?.clone();
        if base.is_null() {
            let (first, end) = partition.peers(i);
            return Ok(if past { end } else { first });
        }
        // "Before" in the window's order: a descending key turns the offset around.
        let minus = preceding != key.desc;
        for j in 0..partition.len() {
            let value = partition.first_key(j)?;
            if value.is_null() {
                if key.nulls_first {
                    continue;
                }
                return Ok(j);
            }
            let side = range_reaches(key.ty, value, &base, offset, minus)?;
            let side = if key.desc { side.reverse() } else { side };
            if side.is_gt() || (side.is_eq() && !past) {
                return Ok(j);
            }
        }
        Ok(partition.len())
    }
}

fn edge(bound: &Bound, which: &str, cx: &mut Cx<'_>) -> Result<Edge> {
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
    if matches!(value, Datum::Int8(n) if n < 0) {
        return Err(sql_error!(
            INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            "frame {which} offset must not be negative"
        ));
    }
    Ok(if preceding { Edge::Preceding(value) } else { Edge::Following(value) })
}

/// How `value` compares with `base` plus or minus the offset.
fn range_reaches(
    ty: TypeId,
    value: &Datum,
    base: &Datum,
    offset: &Datum,
    minus: bool,
) -> Result<Ordering> {
    let integer = |d: &Datum| match d {
        Datum::Int2(n) => Some(i128::from(*n)),
        Datum::Int4(n) => Some(i128::from(*n)),
        Datum::Int8(n) => Some(i128::from(*n)),
        _ => None,
    };
    let float = |d: &Datum| match d {
        Datum::Float4(n) => Some(f64::from(*n)),
        Datum::Float8(n) => Some(*n),
        _ => None,
    };
    if let (Some(value), Some(base), Some(offset)) =
        (integer(value), integer(base), integer(offset))
    {
        return Ok(value.cmp(&if minus { base - offset } else { base + offset }));
    }
    if let (Some(value), Some(base), Some(offset)) = (float(value), float(base), float(offset)) {
        return Ok(compare_f64(value, if minus { base - offset } else { base + offset }));
    }
    Err(sql_error!(
        FEATURE_NOT_SUPPORTED,
        "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
        crate::types::format_type(ty, crate::types::TypeMod(-1))
    ))
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
