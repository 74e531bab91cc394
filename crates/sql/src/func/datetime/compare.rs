//! Comparisons within and across the date and time types; `OVERLAPS`.

use std::cmp::Ordering;

use super::convert::local_to_instant;
use crate::error::Result;
use crate::func::Context;
use crate::func::bodies::{Bodies, comparisons, cross_comparisons, scalars};
use crate::types::datetime::USECS_PER_DAY;
use crate::types::datetime::span::{add_to_timestamp, add_to_timestamptz};
use crate::types::{
    Date, Datum, Interval, Time, TimeZone, Timestamp, TimestampTz, TypeId, compare,
};

pub(super) const ROOMS: &[Bodies] =
    &[DATE, TIME, TIMETZ, TIMESTAMP, INTERVAL, DATE_TIMESTAMP, TIMESTAMP_DATE, ZONED, OVERLAPS];

const DATE: Bodies = comparisons!(DATE, "date_eq" "date_ne" "date_lt" "date_le" "date_gt"
    "date_ge" "date_cmp" "date_larger" "date_smaller");
const TIME: Bodies = comparisons!(TIME, "time_eq" "time_ne" "time_lt" "time_le" "time_gt"
    "time_ge" "time_cmp" "time_larger" "time_smaller");
const TIMETZ: Bodies = comparisons!(TIMETZ, "timetz_eq" "timetz_ne" "timetz_lt" "timetz_le"
    "timetz_gt" "timetz_ge" "timetz_cmp" "timetz_larger" "timetz_smaller");
// With a zone or without: both kinds of argument come here.
const TIMESTAMP: Bodies = comparisons!(TIMESTAMP, "timestamp_eq" "timestamp_ne" "timestamp_lt"
    "timestamp_le" "timestamp_gt" "timestamp_ge" "timestamp_cmp" "timestamp_larger"
    "timestamp_smaller");
const INTERVAL: Bodies = comparisons!(INTERVAL, "interval_eq" "interval_ne" "interval_lt"
    "interval_le" "interval_gt" "interval_ge" "interval_cmp" "interval_larger"
    "interval_smaller");

/// Midnight of a date, in microseconds; dates may lie beyond the range of timestamps.
fn midnight(date: Date) -> i128 {
    match date {
        Date::INFINITY => i128::MAX,
        Date::NEG_INFINITY => i128::MIN,
        Date(days) => i128::from(days) * i128::from(USECS_PER_DAY),
    }
}

fn wide(value: Timestamp) -> i128 {
    match value {
        Timestamp::INFINITY => i128::MAX,
        Timestamp::NEG_INFINITY => i128::MIN,
        finite => i128::from(finite.0),
    }
}

fn date_timestamp(a: &Datum, b: &Datum) -> Ordering {
    midnight(a.as_date()).cmp(&wide(b.as_timestamp()))
}

fn timestamp_date(a: &Datum, b: &Datum) -> Ordering {
    date_timestamp(b, a).reverse()
}

const DATE_TIMESTAMP: Bodies = cross_comparisons!(date_timestamp, "date_eq_timestamp"
    "date_ne_timestamp" "date_lt_timestamp" "date_le_timestamp" "date_gt_timestamp"
    "date_ge_timestamp" "date_cmp_timestamp");
const TIMESTAMP_DATE: Bodies = cross_comparisons!(timestamp_date, "timestamp_eq_date"
    "timestamp_ne_date" "timestamp_lt_date" "timestamp_le_date" "timestamp_gt_date"
    "timestamp_ge_date" "timestamp_cmp_date");

/// A moment as an instant, whatever its type; what has no zone is read in the session's.
fn instant(value: &Datum, zone: &TimeZone) -> i128 {
    let local = match value {
        Datum::TimestampTz(v) => return wide(Timestamp(v.0)),
        Datum::Timestamp(v) => *v,
        date => match date.as_date().to_timestamp() {
            Some(midnight) => midnight,
            // Beyond all timestamps.
            None => return midnight(date.as_date()),
        },
    };
    match local_to_instant(local, zone) {
        Some(instant) => wide(Timestamp(instant.0)),
        None if local.0 > 0 => i128::MAX - 1,
        None => i128::MIN + 1,
    }
}

/// A date or time as one of another type that compares with that type's as it does: beyond all of them, but within the
/// infinities, where there is no such.
pub(crate) fn compared_as(value: &Datum, ty: TypeId, zone: &TimeZone) -> Datum {
    match (value, ty) {
        (_, TypeId::TIMESTAMPTZ) => Datum::TimestampTz(TimestampTz(micros(instant(value, zone)))),
        (Datum::Date(date), _) => Datum::Timestamp(Timestamp(micros(midnight(*date)))),
        (_, TypeId::TIMESTAMP) => Datum::Timestamp(local(value, zone)),
        _ => super::convert::timestamp_to_date(local(value, zone)),
    }
}

/// A moment's reading on the zone's clock, even where it is no timestamp any more.
fn local(value: &Datum, zone: &TimeZone) -> Timestamp {
    match value {
        Datum::TimestampTz(at) if at.is_finite() => at.local(zone.at(at.unix_s()).east_s),
        Datum::TimestampTz(at) => Timestamp(at.0),
        other => other.as_timestamp(),
    }
}

/// What [`wide`] made wide; what is no timestamp comes next to the infinities.
fn micros(at: i128) -> i64 {
    let (first, last) = (i64::MIN + 1, i64::MAX - 1);
    match at {
        i128::MIN => i64::MIN,
        i128::MAX => i64::MAX,
        at => at.clamp(first.into(), last.into()) as i64,
    }
}

fn zoned(cx: &Context<'_>, args: &[Datum]) -> Ordering {
    let zone = &cx.session.format().time_zone;
    instant(&args[0], zone).cmp(&instant(&args[1], zone))
}

const ZONED: Bodies = scalars! {
    "date_eq_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_eq()));
    "date_ne_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ne()));
    "date_lt_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_lt()));
    "date_le_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_le()));
    "date_gt_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_gt()));
    "date_ge_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ge()));
    "date_cmp_timestamptz" => |cx, a| Ok(Datum::Int4(zoned(cx, a) as i32));
    "timestamptz_eq_date" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_eq()));
    "timestamptz_ne_date" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ne()));
    "timestamptz_lt_date" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_lt()));
    "timestamptz_le_date" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_le()));
    "timestamptz_gt_date" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_gt()));
    "timestamptz_ge_date" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ge()));
    "timestamptz_cmp_date" => |cx, a| Ok(Datum::Int4(zoned(cx, a) as i32));
    "timestamp_eq_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_eq()));
    "timestamp_ne_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ne()));
    "timestamp_lt_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_lt()));
    "timestamp_le_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_le()));
    "timestamp_gt_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_gt()));
    "timestamp_ge_timestamptz" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ge()));
    "timestamp_cmp_timestamptz" => |cx, a| Ok(Datum::Int4(zoned(cx, a) as i32));
    "timestamptz_eq_timestamp" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_eq()));
    "timestamptz_ne_timestamp" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ne()));
    "timestamptz_lt_timestamp" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_lt()));
    "timestamptz_le_timestamp" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_le()));
    "timestamptz_gt_timestamp" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_gt()));
    "timestamptz_ge_timestamp" => |cx, a| Ok(Datum::Bool(zoned(cx, a).is_ge()));
    "timestamptz_cmp_timestamp" => |cx, a| Ok(Datum::Int4(zoned(cx, a) as i32));
};

/// The SQL standard's `(s1, e1) OVERLAPS (s2, e2)`, nulls being unknown ends.
fn overlaps(args: &[Datum]) -> Datum {
    // The order is by variant, so any type does.
    let less = |a: &Datum, b: &Datum| compare(TypeId::TIMESTAMP, a, b).is_lt();
    /// A period with its start known and, if its end is, not after it.
    fn period<'a>(
        a: &'a Datum,
        b: &'a Datum,
        less: impl Fn(&Datum, &Datum) -> bool,
    ) -> Option<(&'a Datum, &'a Datum)> {
        match (a.is_null(), b.is_null()) {
            (true, true) => None,
            (true, false) => Some((b, a)),
            (false, true) => Some((a, b)),
            (false, false) => Some(if less(b, a) { (b, a) } else { (a, b) }),
        }
    }
    let (Some(first), Some(second)) =
        (period(&args[0], &args[1], less), period(&args[2], &args[3], less))
    else {
        return Datum::Null;
    };
    if !less(first.0, second.0) && !less(second.0, first.0) {
        let known = !first.1.is_null() && !second.1.is_null();
        return if known { Datum::Bool(true) } else { Datum::Null };
    }
    let (earlier, later) = if less(first.0, second.0) { (first, second) } else { (second, first) };
    if earlier.1.is_null() {
        Datum::Null
    } else if less(later.0, earlier.1) {
        Datum::Bool(true)
    } else if later.1.is_null() {
        Datum::Null
    } else {
        Datum::Bool(false)
    }
}

/// Turns spans into ends, then compares; null spans are unknown ends.
fn overlaps_spans(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let end = |start: &Datum, end: &Datum| -> Result<Datum> {
        let Datum::Interval(span) = end else { return Ok(end.clone()) };
        if start.is_null() {
            return Ok(Datum::Null);
        }
        plus(cx, start, *span)
    };
    let first_end = end(&args[0], &args[1])?;
    let second_end = end(&args[2], &args[3])?;
    Ok(overlaps(&[args[0].clone(), first_end, args[2].clone(), second_end]))
}

fn plus(cx: &Context<'_>, start: &Datum, span: Interval) -> Result<Datum> {
    match start {
        Datum::Time(v) => {
            let sum = i128::from(v.0) + i128::from(span.micros);
            Ok(Datum::Time(Time(sum.rem_euclid(i128::from(USECS_PER_DAY)) as i64)))
        }
        Datum::Timestamp(v) => add_to_timestamp(*v, span).map(Datum::Timestamp),
        other => {
            let zone = &cx.session.format().time_zone;
            add_to_timestamptz(other.as_timestamptz(), span, zone).map(Datum::TimestampTz)
        }
    }
}

const OVERLAPS: Bodies = scalars! {
    "overlaps_time" => |_, a| Ok(overlaps(a));
    "overlaps_timetz" => |_, a| Ok(overlaps(a));
    "overlaps_timestamp" => |_, a| Ok(overlaps(a));
    "sql:1305" => |cx, a| overlaps_spans(cx, a);
    "sql:1306" => |cx, a| overlaps_spans(cx, a);
    "sql:1307" => |cx, a| overlaps_spans(cx, a);
    "sql:1309" => |cx, a| overlaps_spans(cx, a);
    "sql:1310" => |cx, a| overlaps_spans(cx, a);
    "sql:1311" => |cx, a| overlaps_spans(cx, a);
    "sql:2042" => |cx, a| overlaps_spans(cx, a);
    "sql:2043" => |cx, a| overlaps_spans(cx, a);
    "sql:2044" => |cx, a| overlaps_spans(cx, a);
};
