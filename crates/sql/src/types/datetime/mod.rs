//! Dates, times, timestamps and intervals, in PostgreSQL's units.

/// Microseconds in a second, minute, hour and day.
pub const USECS_PER_SEC: i64 = 1_000_000;
pub const USECS_PER_MINUTE: i64 = 60 * USECS_PER_SEC;
pub const USECS_PER_HOUR: i64 = 60 * USECS_PER_MINUTE;
pub const USECS_PER_DAY: i64 = 24 * USECS_PER_HOUR;

/// Days since 2000-01-01; the extremes stand for the infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

/// Microseconds since 2000-01-01 00:00:00 of no particular zone; the extremes stand for the
/// infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// Microseconds since 2000-01-01 00:00:00 UTC; the extremes stand for the infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampTz(pub i64);

/// Microseconds since midnight, 24:00:00 included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// A time of day with its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTz {
    pub time: Time,
    /// Seconds *west* of Greenwich, as PostgreSQL stores it.
    pub zone_west_s: i32,
}

/// A span of time: months and days have no fixed length, so the three parts stay apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub micros: i64,
}

macro_rules! infinities {
    ($($type:ident $int:ty;)*) => {
        $(impl $type {
            pub const INFINITY: $type = $type(<$int>::MAX);
            pub const NEG_INFINITY: $type = $type(<$int>::MIN);

            pub fn is_finite(self) -> bool {
                self != Self::INFINITY && self != Self::NEG_INFINITY
            }
        })*
    };
}

infinities! {
    Date i32;
    Timestamp i64;
    TimestampTz i64;
}
