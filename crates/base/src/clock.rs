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
