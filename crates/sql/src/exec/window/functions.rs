//! The functions that exist only over windows: ranks, neighbours, members of the frame.

use crate::bind::tree::WindowCall;
use crate::error::{Result, sql_error};
use crate::exec::Cx;
use crate::exec::eval::eval;
use crate::func::Function;
use crate::types::Datum;

use super::frame::FrameBounds;
use super::partition::{Partition, ValueStore};

/// The function's value for each row of the partition.
pub(super) fn compute(
    func: &'static Function,
    call: &WindowCall,
    partition: &mut Partition,
    bounds: &FrameBounds,
    cx: &mut Cx<'_>,
) -> Result<ValueStore> {
    let count = partition.len();
    let mut values = ValueStore::new(cx);
    for i in 0..count {
        cx.breathe()?;
        let value = match func.name {
            "row_number" => Datum::Int8(i as i64 + 1),
            "rank" => Datum::Int8(partition.peers(i).0 as i64 + 1),
            "dense_rank" => Datum::Int8(partition.group_of(i) as i64 + 1),
            "percent_rank" if count <= 1 => Datum::Float8(0.0),
            "percent_rank" => Datum::Float8(partition.peers(i).0 as f64 / (count - 1) as f64),
            "cume_dist" => Datum::Float8(partition.peers(i).1 as f64 / count as f64),
            "ntile" => ntile(call, partition, i, cx)?,
            "lag" => neighbour(call, partition, i, -1, cx)?,
            "lead" => neighbour(call, partition, i, 1, cx)?,
            "first_value" => member(call, partition, bounds, i, Member::First, cx)?,
            "last_value" => member(call, partition, bounds, i, Member::Last, cx)?,
            "nth_value" => {
                let n = arg(call, partition, i, 1, cx)?;
                if n.is_null() {
                    Datum::Null
                } else {
                    let n = usize::try_from(n.as_int4()).ok().filter(|n| *n > 0);
                    let n = n.ok_or_else(|| {
                        sql_error!(
                            INVALID_ARGUMENT_FOR_NTH_VALUE,
                            "argument of nth_value must be greater than zero"
                        )
                    })?;
                    member(call, partition, bounds, i, Member::Nth(n), cx)?
                }
            }
            other => {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "window function {other} is not supported"
                ));
            }
        };
        values.push(value)?;
    }
    Ok(values)
}

fn arg(
    call: &WindowCall,
    partition: &mut Partition,
    i: usize,
    which: usize,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    eval(&call.args[which], partition.row(i)?, cx)
}

fn ntile(call: &WindowCall, partition: &mut Partition, i: usize, cx: &mut Cx<'_>) -> Result<Datum> {
    let buckets = match arg(call, partition, 0, 0, cx)? {
        Datum::Null => return Ok(Datum::Null),
        value => usize::try_from(value.as_int4()).ok().filter(|n| *n > 0),
    };
    let buckets = buckets.ok_or_else(|| {
        sql_error!(INVALID_ARGUMENT_FOR_NTILE, "argument of ntile must be greater than zero")
    })?;
    let count = partition.len();
    let (size, larger) = (count / buckets, count % buckets);
    let in_larger = larger * (size + 1);
    let bucket = match i < in_larger {
        true => i / (size + 1),
        false => larger + (i - in_larger) / size.max(1),
    };
    Ok(Datum::Int4(bucket as i32 + 1))
}

/// LAG and LEAD: the value `n` rows away, else the default.
fn neighbour(
    call: &WindowCall,
    partition: &mut Partition,
    i: usize,
    direction: i64,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    let n = match call.args.len() {
        1 => 1,
        _ => match arg(call, partition, i, 1, cx)? {
            Datum::Null => return Ok(Datum::Null),
            value => i64::from(value.as_int4()),
        },
    };
    let at = usize::try_from(i as i64 + direction * n).ok();
    match at.filter(|at| *at < partition.len()) {
        Some(at) => arg(call, partition, at, 0, cx),
        None if call.args.len() > 2 => arg(call, partition, i, 2, cx),
        None => Ok(Datum::Null),
    }
}

enum Member {
    First,
    Last,
    /// From 1.
    Nth(usize),
}

/// FIRST_VALUE, LAST_VALUE and NTH_VALUE of the row's frame.
fn member(
    call: &WindowCall,
    partition: &mut Partition,
    bounds: &FrameBounds,
    i: usize,
    which: Member,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    let frame = bounds.range(partition, i, cx)?;
    let pieces = bounds.pieces(partition, i, frame);
    let mut filled = pieces.iter().filter(|rows| !rows.is_empty());
    let at = match which {
        Member::First => filled.next().map(|rows| rows.start),
        Member::Last => filled.next_back().map(|rows| rows.end - 1),
        Member::Nth(n) => {
            let mut before = n - 1;
            let found = filled.find(|rows| {
                let is_here = before < rows.len();
                before -= if is_here { 0 } else { rows.len() };
                is_here
            });
            found.map(|rows| rows.start + before)
        }
    };
    at.map_or(Ok(Datum::Null), |at| arg(call, partition, at, 0, cx))
}
