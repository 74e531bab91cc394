//! Lines on standard error, from whoever has nobody to answer to: the log of a server.

use std::fmt;
use std::io::Write;

/// Writes a line to the log, with the time, formatted as by `format!`. Where standard error can't be written (a full disk, a
/// pipe that nobody reads any more) the line is lost: `eprintln!` would end the process instead.
#[macro_export]
macro_rules! complain {
    ($($message:tt)+) => { $crate::complaint::log(format_args!($($message)+)) };
}

/// Writes a line to the log, with the time; [`crate::complain!`] calls it.
pub fn log(message: fmt::Arguments<'_>) {
    write(format_args!("{} thalweg: {message}", Timestamp(crate::clock::wall_micros())));
}

/// Writes a line to standard error as it is.
pub fn write(message: fmt::Arguments<'_>) {
    // One write for the whole line, so that lines of several threads do not mix.
    let line = format!("{message}\n");
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Microseconds since 1970, shown in UTC.
struct Timestamp(i64);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.div_euclid(1000);
        let (days, in_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
        let (year, month, day) = date(days);
        let (seconds, fraction) = (in_day / 1000, in_day % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
    }
}

/// Year, month and day of the Gregorian calendar for days since 1970-01-01.
///
/// Counts in eras of 400 years that begin on 1 March, so that the leap day is a year's last.
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01 00:00:00.000Z");
        assert_eq!(Timestamp(951_782_399_999_000).to_string(), "2000-02-28 23:59:59.999Z");
        assert_eq!(Timestamp(951_782_400_000_000).to_string(), "2000-02-29 00:00:00.000Z");
        assert_eq!(Timestamp(1_795_255_445_123_456).to_string(), "2026-11-21 10:04:05.123Z");
    }
}
