//! Aggregates: how each starts, by name and argument types.
//!
//! A state's `finish` may be called again after more rows, which is what a growing window frame
//! does.

mod collect;
mod fold;
mod json;
mod statistics;
mod sum;

#[cfg(test)]
mod tests;

use super::table::Start;

pub(crate) use collect::Arrays;
pub(super) use fold::{extreme_under, first};
pub(super) use json::rows as json_rows;

/// `name(types)` of `pg_aggregate`, with PostgreSQL's internal type names, and its start.
pub(super) type Aggregates = &'static [(&'static str, Start)];

pub(super) const ROOMS: &[Aggregates] = &[
    fold::EXTREMES,
    fold::OTHERS,
    sum::AGGREGATES,
    collect::AGGREGATES,
    json::AGGREGATES,
    super::jsonb::AGGREGATES,
    statistics::FAMILIES,
    statistics::REGRESSIONS,
];
