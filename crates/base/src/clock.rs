//! Time: monotonic instants for deadlines, wall-clock microseconds for SQL.
//!
//! Which clock answers depends on the world of the current execution context: the machine's, or the
//! simulation's, which moves only when nothing can run.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A monotonic point in time, nanoseconds from an arbitrary origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Instant(pub u64);

impl Instant {
    /// This much later; saturates.
    pub fn after(self, wait: Duration) -> Instant {
        let ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(ns))
    }

    /// How much later `self` is than `earlier`; zero when it is not.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Where time comes from.
pub trait Clock {
    /// Monotonic time.
    fn now(&self) -> Instant;
    /// Wall-clock time in microseconds since 1970-01-01 00:00 UTC.
    fn wall_micros(&self) -> i64;
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Instant {
        static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
        let elapsed = ORIGIN.get_or_init(std::time::Instant::now).elapsed();
        // One second ahead of the origin, so that 0 stays "never".
        Instant(elapsed.as_nanos() as u64 + 1_000_000_000)
    }

    fn wall_micros(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(d) => d.as_micros() as i64,
            Err(e) => -(e.duration().as_micros() as i64),
        }
    }
}

/// Monotonic time of the current world.
pub fn now() -> Instant {
    crate::sim::with_clock(|sim| sim.now()).unwrap_or_else(|| RealClock.now())
}

/// Year, month and day of that many days since 1970-01-01, by the proleptic Gregorian calendar.
pub fn civil(days: i64) -> (i64, i64, i64) {
    // Days since 0000-03-01, in eras of 400 years (Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

/// Wall-clock microseconds since 1970 as date and time: `2026-11-22 15:04:05.000006 UTC`. By the proleptic Gregorian
/// calendar, whatever the year.
pub fn utc(wall_micros: i64) -> String {
    const DAY_MICROS: i64 = 86_400_000_000;
    let (days, micros) = (wall_micros.div_euclid(DAY_MICROS), wall_micros.rem_euclid(DAY_MICROS));
    let (year, month, day) = civil(days);
    let seconds = micros / 1_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let micros = micros % 1_000_000;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06} UTC")
}

/// Wall-clock microseconds since 1970, some milliseconds late: what it costs to ask is next to nothing.
pub fn coarse_wall_micros() -> i64 {
    crate::sim::with_clock(|sim| sim.wall_micros()).unwrap_or_else(|| {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a place for the answer that lives.
        let told = unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
        if told == 0 {
            time.tv_sec * 1_000_000 + time.tv_nsec / 1000
        } else {
            RealClock.wall_micros()
        }
    })
}

/// Wall-clock microseconds since 1970 of the current world.
pub fn wall_micros() -> i64 {
    crate::sim::with_clock(|sim| sim.wall_micros()).unwrap_or_else(|| RealClock.wall_micros())
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000000 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59.999999 UTC");
        assert_eq!(utc(951_782_399_000_000), "2000-02-28 23:59:59.000000 UTC");
        assert_eq!(utc(951_782_400_000_000), "2000-02-29 00:00:00.000000 UTC");
        assert_eq!(utc(1_798_761_599_500_000), "2026-12-31 23:59:59.500000 UTC");
    }
}
