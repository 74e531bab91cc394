//! What `pg_stat_slru` shows. Hits are the hot path: each thread counts its own and adds them up rarely.

use super::config::{LOGS, LogKind};
use base::pad::Padded;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// A thread adds its hits to the shared count after this many; so many may be missing from a report.
const HITS_BATCH: u32 = 256;

thread_local! {
    static HITS: [Cell<u32>; LOGS] = const { [const { Cell::new(0) }; LOGS] };
}

/// Counters of one log. All relaxed: they order nothing.
#[derive(Default)]
pub struct Counters {
    hits: Padded<AtomicU64>,
    rare: Padded<Rare>,
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

/// A log's numbers since the engine was opened.
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

    /// The numbers now.
    pub fn snapshot(&self) -> SlruStats {
        let rare = &self.rare;
        SlruStats {
            zeroed: rare.zeroed.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
            reads: rare.reads.load(Ordering::Relaxed),
            writes: rare.writes.load(Ordering::Relaxed),
            exists: rare.exists.load(Ordering::Relaxed),
            flushes: rare.flushes.load(Ordering::Relaxed),
            truncates: rare.truncates.load(Ordering::Relaxed),
        }
    }
}
