//! What `pg_timezone_names` and `pg_timezone_abbrevs` list.

use crate::types::datetime::zone::{ABBREVIATIONS, Meaning, TimeZone};
use crate::types::{Datum, Interval};

use super::backend::Backend;

/// Every zone, with what holds there as the transaction began.
pub(super) fn names(b: &Backend) -> Vec<Vec<Datum>> {
    let now = b.transaction_start.unix_s();
    let zones = TimeZone::all_names().filter_map(TimeZone::named);
    let row = |zone: TimeZone| {
        let local = zone.at(now);
        vec![
            Datum::text(zone.name()),
            Datum::text(&*local.abbreviation),
            offset(local.east_s),
            Datum::Bool(local.is_dst),
        ]
    };
    zones.map(row).collect()
}

/// Every abbreviation that input takes, with what it means at that time.
pub(super) fn abbreviations(b: &Backend) -> Vec<Vec<Datum>> {
    let now = b.transaction_start.unix_s();
    let rows = ABBREVIATIONS.iter().filter_map(|abbreviation| {
        let name = abbreviation.name.to_ascii_uppercase();
        let (east_s, is_dst) = match abbreviation.meaning {
            Meaning::Fixed { east_s, is_dst } => (east_s, is_dst),
            Meaning::Zone(zone) => TimeZone::named(zone)?.meaning_of(&name, now)?,
        };
        Some(vec![Datum::text(name), offset(east_s), Datum::Bool(is_dst)])
    });
    rows.collect()
}

fn offset(east_s: i32) -> Datum {
    Datum::Interval(Interval { months: 0, days: 0, micros: i64::from(east_s) * 1_000_000 })
}
