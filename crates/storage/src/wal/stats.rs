//! What the log has done: figures that cost nothing where records are inserted.
//!
//! Inserters count in their slots, which are theirs while they do; the flusher, one context, counts the rest.

use super::Wal;
use base::clock;
use base::pad::is_one_line;
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;

/// Counters, as of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Records inserted.
    pub records: u64,
    /// Commit records among them; divided by `flushes`, the commits that share a sync.
    pub commits: u64,
    /// Whole pages in them, for the sake of torn pages or because a page was built.
    pub images: u64,
    /// Bytes of log inserted.
    pub bytes: u64,
    /// Flush rounds.
    pub flushes: u64,
    /// Those begun because the ring was filling up.
    pub pressed: u64,
    /// Write calls.
    pub writes: u64,
    /// Bytes written, partial blocks counted each time.
    pub bytes_written: u64,
    /// Sync calls.
    pub syncs: u64,
    /// Nanoseconds spent in writes.
    pub write_nanos: u64,
    /// Nanoseconds spent in syncs.
    pub sync_nanos: u64,
}

/// Counters of the flusher; one writer.
#[derive(Default)]
pub(super) struct Counters {
    /// Every byte before this position has been written.
    pub written: AtomicU64,
    pub flushes: AtomicU64,
    pub pressed: AtomicU64,
    pub writes: AtomicU64,
    pub bytes_written: AtomicU64,
    pub syncs: AtomicU64,
    pub write_nanos: AtomicU64,
    pub sync_nanos: AtomicU64,
    /// Times are not counted, `track_wal_io_timing = off`.
    pub untimed: AtomicBool,
}

const _: () = assert!(is_one_line::<Counters>());

/// Where the shown figures begin: what the counters were at the last reset, and when that was.
pub(super) struct Since(Mutex<(WalStats, i64)>);

/// Adds to a counter of the flusher.
pub(super) fn count(counter: &AtomicU64, by: u64) {
    // Relaxed: figures for people.
    counter.fetch_add(by, Ordering::Relaxed);
}

impl WalStats {
    fn since(&self, then: &WalStats) -> WalStats {
        WalStats {
            records: self.records - then.records,
            commits: self.commits - then.commits,
            images: self.images - then.images,
            bytes: self.bytes - then.bytes,
            flushes: self.flushes - then.flushes,
            pressed: self.pressed - then.pressed,
            writes: self.writes - then.writes,
            bytes_written: self.bytes_written - then.bytes_written,
            syncs: self.syncs - then.syncs,
            write_nanos: self.write_nanos - then.write_nanos,
            sync_nanos: self.sync_nanos - then.sync_nanos,
        }
    }
}

impl Since {
    /// From now, with nothing counted.
    pub fn now() -> Since {
        Since(Mutex::new((WalStats::default(), clock::wall_micros())))
    }
}

impl Wal {
    /// Counters since the start.
    pub fn stats(&self) -> WalStats {
        let [records, commits, images] = self.reserve.counts();
        // Relaxed: statistics.
        let get = |of: &AtomicU64| of.load(Ordering::Relaxed);
        WalStats {
            records,
            commits,
            images,
            bytes: self.position().0 - self.route.epoch.start.0,
            flushes: get(&self.counters.flushes),
            pressed: get(&self.counters.pressed),
            writes: get(&self.counters.writes),
            bytes_written: get(&self.counters.bytes_written),
            syncs: get(&self.counters.syncs),
            write_nanos: get(&self.counters.write_nanos),
            sync_nanos: get(&self.counters.sync_nanos),
        }
    }

    /// Whether times of writes and syncs are counted from now on, `track_wal_io_timing`.
    pub fn set_timed(&self, is_timed: bool) {
        // Relaxed: figures for people.
        self.counters.untimed.store(!is_timed, Ordering::Relaxed);
    }

    /// Counts a time, where times are counted.
    pub(super) fn count_time(&self, counter: &AtomicU64, nanos: u64) {
        if !self.counters.untimed.load(Ordering::Relaxed) {
            count(counter, nanos);
        }
    }

    /// Counters since they were last reset, and when that was, in wall-clock microseconds since 1970.
    pub fn stats_shown(&self) -> (WalStats, i64) {
        let since = self.since.0.0.lock().expect("no code panics under it");
        (self.stats().since(&since.0), since.1)
    }

    /// `pg_stat_reset_shared('wal')`.
    pub fn reset_stats(&self) {
        let mut since = self.since.0.0.lock().expect("no code panics under it");
        *since = (self.stats(), clock::wall_micros());
    }
}
