//! Days to dates and back: the proleptic Gregorian calendar with a year zero.
//!
//! Years are astronomical (0 is 1 BC). Days count from 2000-01-01.

use super::{
    Date, Time, Timestamp, TimestampTz, USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE,
    USECS_PER_SEC,
};

/// Julian day number of 2000-01-01.
pub const JULIAN_DAY_2000: i64 = 2_451_545;
/// Unix time of 2000-01-01, in seconds.
pub const UNIX_EPOCH_OFFSET_S: i64 = 946_684_800;

/// First day that exists: Julian day 0, 4714-11-24 BC.
const MIN_DAY: i64 = -JULIAN_DAY_2000;
/// First day too late for a `date`: 5874898-01-01.
const END_DAY: i64 = 2_147_483_494 - JULIAN_DAY_2000;
/// First microsecond too late for a `timestamp`: 294277-01-01.
const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;
const MIN_TIMESTAMP: i64 = MIN_DAY * USECS_PER_DAY;

/// A calendar date and a time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Civil {
    /// Astronomical: 0 is 1 BC.
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
}

pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days in a month, 1 to 12.
pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 => 28 + i32::from(is_leap_year(i64::from(year))),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 2000-01-01 to a date; months beyond 1..=12 and days beyond the month carry over.
pub fn days_from_civil(year: i64, month: i32, day: i32) -> i64 {
    let year = year + i64::from((month - 1).div_euclid(12));
    let month = (month - 1).rem_euclid(12) + 1;
    // Years that begin in March put the leap day last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era_days = 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400);
    let month_days = i64::from((153 * m + 2) / 5);
    // Day 0 of this count is 0000-03-01.
    era_days + month_days + i64::from(day - 1) - 730_425
}

/// The date that many days from 2000-01-01.
pub fn civil_from_days(days: i64) -> (i32, i32, i32) {
    let (year, month, day) = base::clock::civil(days + UNIX_EPOCH_OFFSET_S / 86_400);
    (year as i32, month as i32, day as i32)
}

/// 0 for Sunday.
pub fn weekday(days: i64) -> i32 {
    // 2000-01-01 was a Saturday.
    (days + 6).rem_euclid(7) as i32
}

/// ISO 8601 year and week of a day.
pub fn iso_week(days: i64) -> (i32, i32) {
    // The week belongs to the year of its Thursday.
    let thursday = days - i64::from((weekday(days) + 6) % 7) + 3;
    let (year, _, _) = civil_from_days(thursday);
    let first = days_from_civil(i64::from(year), 1, 1);
    (year, ((thursday - first) / 7 + 1) as i32)
}

/// The Monday of an ISO week, in days.
pub fn iso_week_start(year: i32, week: i32) -> i64 {
    let fourth = days_from_civil(i64::from(year), 1, 4);
    fourth - i64::from((weekday(fourth) + 6) % 7) + 7 * i64::from(week - 1)
}

/// Whether a year and month lie in the range of Julian days that dates may use.
pub fn is_valid_julian(year: i32, month: i32) -> bool {
    (year > -4713 || (year == -4713 && month >= 11))
        && (year < 5_874_898 || (year == 5_874_898 && month < 6))
}

impl Date {
    /// A day count within PostgreSQL's range.
    pub fn from_days(days: i64) -> Option<Date> {
        (MIN_DAY..END_DAY).contains(&days).then_some(Date(days as i32))
    }

    /// Midnight; `None` when the date lies beyond the range of timestamps.
    pub fn to_timestamp(self) -> Option<Timestamp> {
        match self {
            Date::INFINITY => Some(Timestamp::INFINITY),
            Date::NEG_INFINITY => Some(Timestamp::NEG_INFINITY),
            Date(days) => Timestamp::checked(i64::from(days).checked_mul(USECS_PER_DAY)?),
        }
    }
}

impl Timestamp {
    /// A finite timestamp within PostgreSQL's range.
    pub fn checked(micros: i64) -> Option<Timestamp> {
        (MIN_TIMESTAMP..END_TIMESTAMP).contains(&micros).then_some(Timestamp(micros))
    }

    /// Calendar fields of a finite timestamp.
    pub fn civil(self) -> Civil {
        let days = self.0.div_euclid(USECS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let mut civil = Time(self.0.rem_euclid(USECS_PER_DAY)).civil();
        (civil.year, civil.month, civil.day) = (year, month, day);
        civil
    }

    /// The day it lies in.
    pub fn day(self) -> i64 {
        self.0.div_euclid(USECS_PER_DAY)
    }
}

impl Time {
    /// Hour, minute, second and microsecond, the date left zero.
    pub fn civil(self) -> Civil {
        Civil {
            hour: (self.0 / USECS_PER_HOUR) as i32,
            minute: (self.0 / USECS_PER_MINUTE % 60) as i32,
            second: (self.0 / USECS_PER_SEC % 60) as i32,
            micros: (self.0 % USECS_PER_SEC) as i32,
            ..Civil::default()
        }
    }
}

impl TimestampTz {
    /// The wall clock now.
    pub fn from_clock() -> TimestampTz {
        TimestampTz(base::clock::wall_micros() - UNIX_EPOCH_OFFSET_S * USECS_PER_SEC)
    }

    /// Whole seconds since 1970.
    pub fn unix_s(self) -> i64 {
        self.0.div_euclid(USECS_PER_SEC) + UNIX_EPOCH_OFFSET_S
    }

    /// The reading of a clock that many seconds east.
    pub fn civil_east(self, east_s: i32) -> Civil {
        self.local(east_s).civil()
    }

    /// The same as a timestamp; near the ends of time it may lie beyond their range.
    pub fn local(self, east_s: i32) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::from(east_s) * USECS_PER_SEC))
    }
}

impl Civil {
    /// Days from 2000-01-01.
    pub fn days(&self) -> i64 {
        days_from_civil(i64::from(self.year), self.month, self.day)
    }

    /// Microseconds since midnight.
    pub fn time_micros(&self) -> i64 {
        i64::from(self.hour) * USECS_PER_HOUR
            + i64::from(self.minute) * USECS_PER_MINUTE
            + i64::from(self.second) * USECS_PER_SEC
            + i64::from(self.micros)
    }

    /// Microseconds from 2000-01-01 on the same clock; `None` when they do not fit.
    pub fn micros(&self) -> Option<i64> {
        if !is_valid_julian(self.year, self.month) {
            return None;
        }
        // The last representable hours of the first day borrow from the day before.
        let total =
            i128::from(self.days()) * i128::from(USECS_PER_DAY) + i128::from(self.time_micros());
        i64::try_from(total).ok()
    }

    /// The moment as a timestamp; `None` out of range.
    pub fn timestamp(&self) -> Option<Timestamp> {
        Timestamp::checked(self.micros()?)
    }

    /// The instant of this reading at a displacement; `None` out of range.
    pub fn instant(&self, east_s: i32) -> Option<TimestampTz> {
        let utc = self.micros()?.checked_sub(i64::from(east_s) * USECS_PER_SEC)?;
        Timestamp::checked(utc).map(|t| TimestampTz(t.0))
    }

    /// Unix seconds of the reading, as if it were UTC.
    pub fn unix_local_s(&self) -> i64 {
        self.days() * 86_400 + self.time_micros().div_euclid(USECS_PER_SEC) + UNIX_EPOCH_OFFSET_S
    }
}
