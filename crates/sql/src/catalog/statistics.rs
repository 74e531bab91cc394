//! What ANALYZE has found out about a table's columns, as the planner works with it: a row of `pg_statistic` each.

use std::sync::Arc;

use base::hash::HashMap;

use super::TableDef;
use crate::types::{Datum, ValueOrder};

/// Kinds of `stakindN`.
pub const COMMON: i16 = 1;
pub const HISTOGRAM: i16 = 2;
pub const CORRELATION: i16 = 3;

/// `attstattarget` of a column that has as much written down as `default_statistics_target` says.
pub const TARGET_DEFAULT: i32 = -1;
/// The most that may be asked for.
pub const TARGET_MAX: i32 = 10_000;

/// One column's.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// Share of rows where it is null.
    pub nulls: f64,
    /// Bytes of a value, on average.
    pub width: u32,
    /// Distinct values; below zero: minus their share of the rows. Zero: unknown.
    pub distinct: f64,
    /// The most common values with their shares of the rows.
    pub common: Vec<(Datum, f64)>,
    /// Bounds of parts with the same number of rows each, among all other values; ascending.
    pub bounds: Vec<Datum>,
    /// Of the values' order with that of the rows, from -1 to 1; 0 if unknown.
    pub correlation: f64,
}

/// Those of a table, by the columns' numbers from 0.
pub type Statistics = HashMap<u16, Arc<ColumnStatistics>>;

impl ColumnStatistics {
    /// How many distinct values a table of so many rows has.
    pub fn distinct_of(&self, rows: f64) -> Option<f64> {
        match self.distinct {
            0.0 => None,
            share if share < 0.0 => Some((-share * rows).max(1.0)),
            number => Some(number),
        }
    }
}

impl TableDef {
    /// What is known of a column.
    pub fn statistics_of(&self, column: u16) -> Option<&ColumnStatistics> {
        self.statistics.get(&column).map(Arc::as_ref)
    }

    /// Distinct values of a column: counted, or all of them where an index says so.
    pub fn distinct_values(&self, column: u16, rows: f64) -> Option<f64> {
        let is_unique = self.indexes.iter().any(|index| {
            let keys: Vec<Option<u16>> = index.key_columns().collect();
            index.unique && index.valid && index.predicate.is_none() && keys == [Some(column)]
        });
        if is_unique {
            return Some(rows.max(1.0));
        }
        self.statistics_of(column)?.distinct_of(rows)
    }
}

/// Share of the rows whose value equals this one.
pub fn equal_share(
    of: &ColumnStatistics,
    order: ValueOrder,
    value: &Datum,
    rows: f64,
) -> Option<f64> {
    let found = of.common.iter().find(|(common, _)| order.compare(common, value).is_eq());
    if let Some((_, share)) = found {
        return Some(*share);
    }
    let listed: f64 = of.common.iter().map(|(_, share)| share).sum();
    let others = (of.distinct_of(rows)? - of.common.len() as f64).max(1.0);
    let share = ((1.0 - listed - of.nulls) / others).clamp(0.0, 1.0);
    // Not more common than what is listed.
    let least = of.common.iter().map(|(_, share)| *share).fold(1.0, f64::min);
    Some(share.min(least))
}

/// Share of the rows whose value is below this one.
pub fn below_share(of: &ColumnStatistics, order: ValueOrder, value: &Datum) -> Option<f64> {
    if of.bounds.is_empty() && of.common.is_empty() {
        return None;
    }
    let common: f64 = of.common.iter().map(|(_, share)| share).sum();
    let common_below: f64 = of
        .common
        .iter()
        .filter(|(known, _)| order.compare(known, value).is_lt())
        .map(|(_, share)| share)
        .sum();
    let rest = (1.0 - of.nulls - common).max(0.0);
    Some((common_below + rest * position(&of.bounds, order, value)).clamp(0.0, 1.0))
}

/// How far from the first bound to the last a value lies, from 0 to 1.
fn position(bounds: &[Datum], order: ValueOrder, value: &Datum) -> f64 {
    let parts = bounds.len().saturating_sub(1);
    if parts == 0 {
        return 0.5;
    }
    let above = bounds.partition_point(|bound| order.compare(bound, value).is_lt());
    if above == 0 {
        return 0.0;
    }
    if above == bounds.len() {
        return 1.0;
    }
    let (low, high) = (&bounds[above - 1], &bounds[above]);
    let within = match (scalar(low), scalar(high), scalar(value)) {
        (Some(low), Some(high), Some(value)) if high > low => {
            ((value - low) / (high - low)).clamp(0.0, 1.0)
        }
        _ => 0.5,
    };
    ((above - 1) as f64 + within) / parts as f64
}

/// A value on a line, where its type has one.
fn scalar(value: &Datum) -> Option<f64> {
    Some(match value {
        Datum::Int2(n) => f64::from(*n),
        Datum::Int4(n) => f64::from(*n),
        Datum::Int8(n) => *n as f64,
        Datum::Float4(n) => f64::from(*n),
        Datum::Float8(n) => *n,
        Datum::Numeric(n) => n.to_f64(),
        Datum::Oid(oid) => f64::from(oid.0),
        Datum::Date(date) => f64::from(date.0),
        Datum::Timestamp(at) => at.0 as f64,
        Datum::TimestampTz(at) => at.0 as f64,
        Datum::Time(at) => at.0 as f64,
        Datum::Text(text) => text
            .bytes()
            .chain(std::iter::repeat(0))
            .take(8)
            .fold(0.0, |sum, byte| sum * 256.0 + f64::from(byte)),
        _ => return None,
    })
}
