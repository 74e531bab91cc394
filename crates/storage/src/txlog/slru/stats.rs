//! What `pg_stat_slru` shows. Hits are the hot path: each thread counts its own and adds them up rarely.

use super::config::{LOGS, LogKind};
use base::clock;
use base::pad::{Padded, is_one_line};
use base::sync::unmodelled::{AtomicU64, Ordering};
use std::cell::Cell;
use std::sync::Mutex;

/// A thread adds its hits to the shared count after this many; so many may be missing from a report.
const HITS_BATCH: u32 = 256;

thread_local! {
    static HITS: [Cell<u32>; LOGS] = const { [const { Cell::new(0) }; LOGS] };
}

/// Counters of one log. All relaxed: they order nothing.
pub struct Counters {
    hits: Padded<AtomicU64>,
    rare: Padded<Rare>,
    /// What had been counted when the counts were last reset, and when that was.
    reset: Mutex<SlruStats>,
}

const _: () = assert!(is_one_line::<Rare>());

impl Default for Counters {
    fn default() -> Counters {
        let opened = SlruStats { since_micros: clock::wall_micros(), ..SlruStats::default() };
        Counters { hits: Padded::default(), rare: Padded::default(), reset: Mutex::new(opened) }
    }
}

#[derive(Default)]
struct Rare {
    zeroed: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    exists: AtomicU64,
    flushes: AtomicU64,
    truncates: AtomicU64,
}

/// A log's numbers since the engine was opened, or since they were reset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlruStats {
    /// Pages begun.
    pub zeroed: u64,
    /// Look-ups that found their page in memory (to within 256 per thread).
    pub hits: u64,
    /// Pages read from files.
    pub reads: u64,
    /// Pages written to files.
    pub writes: u64,
    /// Questions whether a page is in a file.
    pub exists: u64,
    /// Checkpoint flushes.
    pub flushes: u64,
    /// Truncations.
    pub truncates: u64,
    /// Since when is counted, in microseconds since 1970.
    pub since_micros: i64,
}

impl Counters {
    /// A page was found in memory.
    #[inline]
    pub(super) fn hit(&self, log: LogKind) {
        HITS.with(|all| {
            let mine = &all[log as usize];
            let count = mine.get() + 1;
            mine.set(count);
            if count == HITS_BATCH {
                mine.set(0);
                self.hits.fetch_add(u64::from(HITS_BATCH), Ordering::Relaxed);
            }
        });
    }

    pub(super) fn zeroed(&self) {
        self.rare.zeroed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) {
        self.rare.reads.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn written(&self) {
        self.rare.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn exists(&self) {
        self.rare.exists.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn flushed(&self) {
        self.rare.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn truncated(&self) {
        self.rare.truncates.fetch_add(1, Ordering::Relaxed);
    }

    /// The numbers since the last reset.
    pub fn snapshot(&self) -> SlruStats {
        let reset = *self.reset.lock().expect("no code panics under it");
        let all = self.total();
        SlruStats {
            zeroed: all.zeroed - reset.zeroed,
            hits: all.hits - reset.hits,
            reads: all.reads - reset.reads,
            writes: all.writes - reset.writes,
            exists: all.exists - reset.exists,
            flushes: all.flushes - reset.flushes,
            truncates: all.truncates - reset.truncates,
            since_micros: reset.since_micros,
        }
    }

    /// Counts from here on.
    pub(super) fn reset(&self) {
        let mut reset = self.reset.lock().expect("no code panics under it");
        *reset = SlruStats { since_micros: clock::wall_micros(), ..self.total() };
    }

    fn total(&self) -> SlruStats {
        let rare = &self.rare;
        SlruStats {
            zeroed: rare.zeroed.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
            reads: rare.reads.load(Ordering::Relaxed),
            writes: rare.writes.load(Ordering::Relaxed),
            exists: rare.exists.load(Ordering::Relaxed),
            flushes: rare.flushes.load(Ordering::Relaxed),
            truncates: rare.truncates.load(Ordering::Relaxed),
            since_micros: 0,
        }
    }
}
