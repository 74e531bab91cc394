//! Noticing that a heap has changed enough to be cleaned.

use super::HeapRel;
use base::{Fork, RelId};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Whom to tell.
type Tell = Box<dyn Fn(RelId) + Send + Sync>;

/// The state of a heap at its last cleaning. All accesses are relaxed: these are estimates.
#[derive(Default)]
pub(super) struct Attention {
    inserted: AtomicU64,
    ended: AtomicU64,
    /// Versions that were there; 0: unknown.
    live: AtomicU64,
    tell: OnceLock<Tell>,
}

/// Changes of one stripe between two looks at the sums.
pub(super) const LOOK_EVERY: u64 = 64;

/// Versions ended that make cleaning worth while, beside a tenth of the table.
const ENDED_MIN: u64 = 50;
/// Versions inserted, beside a fifth.
const INSERTED_MIN: u64 = 1000;
/// Rows on a page, where nothing better is known.
const ROWS_PER_PAGE: u64 = 60;

impl HeapRel {
    /// Lets `tell` be called, by whoever changes rows and without any latch held, when the table has
    /// changed enough. Once per handle.
    pub fn tell_when_due(&self, tell: impl Fn(RelId) + Send + Sync + 'static) {
        assert!(self.attention.tell.set(Box::new(tell)).is_ok(), "one is told");
    }

    /// Looks whether cleaning is due. Called every [`LOOK_EVERY`] changes of a stripe.
    #[cold]
    pub(super) fn look_for_dirt(&self) {
        let Some(tell) = self.attention.tell.get() else { return };
        let (inserted, ended) = self.activity();
        let last = &self.attention;
        let live = match last.live.load(Relaxed) {
            0 => u64::from(self.rel.blocks(Fork::Main).unwrap_or(0)) * ROWS_PER_PAGE,
            live => live,
        };
        let ended = ended.saturating_sub(last.ended.load(Relaxed));
        let inserted = inserted.saturating_sub(last.inserted.load(Relaxed));
        if ended > ENDED_MIN + live / 10 || inserted > INSERTED_MIN + live / 5 {
            tell(self.rel.id());
        }
    }

    /// A cleaning that began at `activity` has ended, having met `live` versions on `scanned` pages.
    pub(crate) fn note_vacuumed(&self, activity: (u64, u64), live: u64, scanned: u32) {
        let last = &self.attention;
        last.inserted.store(activity.0, Relaxed);
        last.ended.store(activity.1, Relaxed);
        // Pages that were skipped hold about as many rows as those that were not.
        let pages = u64::from(self.rel.blocks(Fork::Main).unwrap_or(0));
        if let Some(per_page) = live.checked_div(u64::from(scanned)) {
            last.live.store((per_page * pages).max(1), Relaxed);
        }
    }
}
