//! Noticing that a heap has changed enough to be cleaned.

use super::due::{Due, Limits, OwnLimits, SharedLimits};
use super::room::Activity;
use super::{Freeze, HeapRel};
use base::clock::{self, Instant};
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use base::{Csn, Fork, RelId, Xid};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Whom to tell.
type Tell = Box<dyn Fn(RelId) + Send + Sync>;

/// The state of a heap at its last cleaning. All accesses are relaxed: these are estimates.
pub(super) struct Attention {
    inserted: AtomicU64,
    ended: AtomicU64,
    /// Versions that were there; 0: unknown.
    live: AtomicU64,
    /// Versions that had ended and were not removed, as far as is known.
    left: AtomicU64,
    /// The horizon of the last cleaning that left enough to come back for; 0: there was none.
    held_at: AtomicU64,
    history: [Past; Upkeep::ALL.len()],
    /// Changes of rows as of the last ANALYZE.
    analyzed: AtomicU64,
    /// When that was; 0: never.
    analyzed_at: AtomicU64,
    /// Rows it found.
    analyzed_rows: AtomicU64,
    /// It met rows of open transactions, all below this id; 0: none.
    analyze_again: AtomicU64,
    counted: Counted,
    tell: OnceLock<(Arc<SharedLimits>, Tell)>,
    own: Latch<OwnLimits>,
    /// Who is to know has been told, and no cleaning has begun since.
    told: AtomicBool,
    /// The same of ANALYZE.
    told_to_analyze: AtomicBool,
    /// A cleaning has begun, and has not come to its end.
    unfinished: AtomicBool,
}

impl Default for Attention {
    fn default() -> Attention {
        Attention {
            inserted: AtomicU64::default(),
            ended: AtomicU64::default(),
            live: AtomicU64::default(),
            left: AtomicU64::default(),
            held_at: AtomicU64::default(),
            history: Default::default(),
            analyzed: AtomicU64::default(),
            analyzed_at: AtomicU64::default(),
            analyzed_rows: AtomicU64::default(),
            analyze_again: AtomicU64::default(),
            counted: Counted::default(),
            tell: OnceLock::new(),
            own: Latch::new(Rank::Leaf, OwnLimits::default()),
            told: AtomicBool::default(),
            told_to_analyze: AtomicBool::default(),
            unfinished: AtomicBool::default(),
        }
    }
}

/// How much there is to clean, roughly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dirt {
    /// Rows, as of the last cleaning and what was done since.
    pub live: u64,
    /// Versions that have ended.
    pub dead: u64,
    /// Rows inserted since the last cleaning.
    pub inserted: u64,
    /// Rows changed since the last ANALYZE.
    pub changed: u64,
}

/// What came of a cleaning.
pub(crate) struct Cleaned {
    /// What it left is worth another one.
    pub again: bool,
    /// How many rows there are; `None`: nothing tells.
    pub rows: Option<u64>,
}

/// What is done to a table to keep it well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Upkeep {
    /// VACUUM.
    Vacuum,
    /// Vacuum by a background worker.
    AutoVacuum,
    /// ANALYZE.
    Analyze,
    /// The same by a background worker.
    AutoAnalyze,
}

impl Upkeep {
    const ALL: [Upkeep; 4] =
        [Upkeep::Vacuum, Upkeep::AutoVacuum, Upkeep::Analyze, Upkeep::AutoAnalyze];
}

/// Rows and pages there were when rows were last counted, and rows inserted and deleted until then.
#[derive(Default)]
struct Counted {
    is_known: AtomicBool,
    rows: AtomicU64,
    pages: AtomicU32,
    inserted: AtomicU64,
    deleted: AtomicU64,
}

impl Counted {
    fn set(&self, rows: u64, pages: u32, then: &Activity) {
        self.rows.store(rows, Relaxed);
        self.pages.store(pages, Relaxed);
        self.inserted.store(then.inserted, Relaxed);
        self.deleted.store(then.deleted, Relaxed);
        self.is_known.store(true, Relaxed);
    }

    /// The rows are on so many pages now.
    fn move_to(&self, pages: u32) {
        self.pages.store(pages, Relaxed);
    }

    /// The last count: rows, and the pages they were on.
    fn last(&self) -> Option<(u64, u32)> {
        let known = self.is_known.load(Relaxed);
        known.then(|| (self.rows.load(Relaxed), self.pages.load(Relaxed)))
    }

    /// The last count, and what was done since.
    fn rows(&self, now: &Activity) -> Option<u64> {
        let since = |now: u64, then: &AtomicU64| now.saturating_sub(then.load(Relaxed));
        let inserted = since(now.inserted, &self.inserted);
        let deleted = since(now.deleted, &self.deleted);
        let rows = self.rows.load(Relaxed) + inserted;
        self.is_known.load(Relaxed).then(|| rows.saturating_sub(deleted))
    }
}

/// How often one of these was done, and when it last ended.
#[derive(Default)]
struct Past {
    times: AtomicU64,
    /// Microseconds since 1970; 0: never.
    last: AtomicI64,
}

/// Changes of one stripe between two looks at the sums.
pub(super) const LOOK_EVERY: u64 = 64;

/// After an ANALYZE that met rows of open transactions it is looked so often whether they have ended.
const OPEN_AGAIN: Duration = Duration::from_secs(1);
/// At least so much time lies between two rounds of ANALYZE.
const ANALYZE_REST: Duration = Duration::from_secs(1);
/// Rows on a page, where nothing better is known.
const ROWS_PER_PAGE: u64 = 60;
/// Looking at less than this share of a table's pages does not change what is known of its rows.
const FEW: f64 = 0.02;
/// Versions ended without a trace in indexes count this much less: pruning takes most of them.
const HOT_DISCOUNT: u64 = 4;

/// Changes of transactions that had not ended when rows were looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Open {
    /// Versions that may come to be.
    pub inserted: u64,
    /// Versions that may come to an end.
    pub ended: u64,
}

impl Activity {
    /// What was done by those who have ended.
    fn without(&self, open: Open) -> Activity {
        let updated = open.inserted.min(open.ended);
        let cold = updated.min(self.updated);
        Activity {
            inserted: self.inserted.saturating_sub(open.inserted - updated),
            deleted: self.deleted.saturating_sub(open.ended - updated),
            updated: self.updated - cold,
            hot_updated: self.hot_updated.saturating_sub(updated - cold),
        }
    }

    /// Ended versions that vacuum is wanted for.
    fn ended(&self) -> u64 {
        self.deleted + self.updated + self.hot_updated / HOT_DISCOUNT
    }

    fn changes(&self) -> u64 {
        self.inserted + self.deleted + self.updated + self.hot_updated
    }
}

impl HeapRel {
    /// Lets `tell` be called, by whoever changes rows and without any latch held, when the table has
    /// changed enough for a cleaning or ANALYZE; then again only after that has begun. `limits` are those of all
    /// tables. Once per handle.
    pub fn tell_when_due(
        &self,
        limits: &Arc<SharedLimits>,
        tell: impl Fn(RelId) + Send + Sync + 'static,
    ) {
        let told = self.attention.tell.set((Arc::clone(limits), Box::new(tell)));
        assert!(told.is_ok(), "one is told");
    }

    /// The table's own limits, from now on; it may be due by them at once. With no latch held.
    pub fn limit(&self, own: OwnLimits) {
        if std::mem::replace(&mut *self.attention.own.lock(), own) != own {
            self.look_for_dirt();
        }
    }

    fn limits(&self) -> Limits {
        let all = self.attention.tell.get().map_or_else(Limits::default, |(all, _)| all.get());
        let own = *self.attention.own.lock();
        own.over(all)
    }

    /// Looks whether cleaning or ANALYZE is due. Called every [`LOOK_EVERY`] changes of a stripe, and when limits
    /// have changed. With no latch held.
    #[cold]
    pub fn look_for_dirt(&self) {
        let last = &self.attention;
        let Some((_, tell)) = last.tell.get() else { return };
        let (told, told_to_analyze) = (last.told.load(Relaxed), last.told_to_analyze.load(Relaxed));
        if told && told_to_analyze {
            return;
        }
        let (now, limits) = (self.activity(), self.limits());
        if !limits.enabled {
            return;
        }
        let live = self.live_at_last(&now);
        let clean = !told && self.is_cleaning_due(&now, live, &limits);
        let analyze = !told_to_analyze && self.changed(&now) > limits.changed.of(live);
        let is_new = |told: &AtomicBool| !told.swap(true, Relaxed);
        // Both are noted, whichever is told.
        if (clean && is_new(&last.told)) | (analyze && is_new(&last.told_to_analyze)) {
            tell(self.rel.id());
        }
    }

    /// What is to be done now. What is not due is told of again when it is.
    pub fn due(&self) -> Due {
        let (last, limits) = (&self.attention, self.limits());
        let now = self.activity();
        let live = self.live_at_last(&now);
        let unfinished = last.unfinished.load(Relaxed);
        let vacuum = limits.enabled && (unfinished || self.is_cleaning_due(&now, live, &limits));
        if !vacuum {
            last.told.store(false, Relaxed);
        }
        let analyze = limits.enabled && self.changed(&now) > limits.changed.of(live);
        if !analyze {
            last.told_to_analyze.store(false, Relaxed);
        }
        Due { vacuum, analyze: analyze.then(|| self.analyze_after(&now, &limits)) }
    }

    fn is_cleaning_due(&self, now: &Activity, live: u64, limits: &Limits) -> bool {
        let last = &self.attention;
        let ended = now.ended().saturating_sub(last.ended.load(Relaxed));
        let inserted = now.inserted.saturating_sub(last.inserted.load(Relaxed));
        last.left.load(Relaxed) + ended > limits.ended.of(live)
            || limits.inserted.is_some_and(|limit| inserted > limit.of(live))
    }

    /// Rows changed since the last ANALYZE.
    fn changed(&self, now: &Activity) -> u64 {
        now.changes().saturating_sub(self.attention.analyzed.load(Relaxed))
    }

    /// How long an ANALYZE that is due has to wait.
    fn analyze_after(&self, now: &Activity, limits: &Limits) -> Duration {
        let last = &self.attention;
        let again = last.analyze_again.load(Relaxed);
        if again > 0 {
            self.txns.refresh();
            if self.txns.oldest_running() < Xid(again) {
                return OPEN_AGAIN;
            }
        }
        let at = last.analyzed_at.load(Relaxed);
        if at == 0 {
            return Duration::ZERO;
        }
        // Plans rest on sizes first of all: a table that has grown or shrunk by half does not wait.
        let known = last.analyzed_rows.load(Relaxed);
        let rows = last.counted.rows(now).unwrap_or(known);
        let nap = match rows.abs_diff(known) > known / 2 {
            true => ANALYZE_REST,
            false => limits.nap.max(ANALYZE_REST),
        };
        nap.saturating_sub(clock::now().since(Instant(at)))
    }

    /// Rows as of the last count, or a guess.
    fn live_at_last(&self, now: &Activity) -> u64 {
        match self.attention.live.load(Relaxed) {
            0 => {
                if let Some((rows, _)) = self.attention.counted.last() {
                    return rows;
                }
                let pages = u64::from(self.rel.blocks(Fork::Main).unwrap_or(0));
                (pages * ROWS_PER_PAGE).saturating_sub(now.inserted)
            }
            live => live,
        }
    }

    /// How much there is to clean, for people.
    pub fn dirt(&self) -> Dirt {
        let (now, last) = (self.activity(), &self.attention);
        let inserted = now.inserted.saturating_sub(last.inserted.load(Relaxed));
        let ended = now.ended().saturating_sub(last.ended.load(Relaxed));
        let live = self.live_at_last(&now);
        Dirt {
            live: last
                .counted
                .rows(&now)
                .unwrap_or_else(|| (live + inserted).saturating_sub(now.deleted.min(ended))),
            dead: last.left.load(Relaxed) + ended,
            inserted,
            changed: self.changed(&now),
        }
    }

    /// Something was done to the table.
    fn note_upkeep(&self, what: Upkeep) {
        let past = &self.attention.history[what as usize];
        past.times.fetch_add(1, Relaxed);
        past.last.store(base::clock::wall_micros(), Relaxed);
    }

    /// The rows were counted before this handle was opened: so many, on so many pages. Nothing was done to the
    /// table since.
    pub fn was_counted(&self, rows: u64, pages: u32) {
        self.attention.live.store(rows, Relaxed);
        self.attention.counted.set(rows, pages, &Activity::default());
    }

    /// This heap, new, has `rows` on `pages` in place of `old`, and nobody uses either: what was done to the table
    /// counts on. It is clean, but for rows that are not frozen.
    pub fn succeed(&self, old: &HeapRel, rows: u64, pages: u32, freeze: Freeze) {
        self.count_on_from(old);
        let (now, own, old) = (self.activity(), &self.attention, &old.attention);
        for (own, old) in own.history.iter().zip(&old.history) {
            own.times.store(old.times.load(Relaxed), Relaxed);
            own.last.store(old.last.load(Relaxed), Relaxed);
        }
        own.analyzed.store(old.analyzed.load(Relaxed), Relaxed);
        own.analyzed_at.store(old.analyzed_at.load(Relaxed), Relaxed);
        own.analyzed_rows.store(old.analyzed_rows.load(Relaxed), Relaxed);
        let seen = if freeze == Freeze::Yes { 0 } else { rows };
        own.inserted.store(now.inserted.saturating_sub(seen), Relaxed);
        own.ended.store(now.ended(), Relaxed);
        own.live.store(rows.max(1), Relaxed);
        own.counted.set(rows, pages, &now);
    }

    /// The table was analyzed just now: it has `rows` on `pages`, and they had changed as often as `before` says,
    /// `open` of which were changes of transactions that had not ended: they will have to be looked at again.
    pub fn note_analyzed(
        &self,
        background: bool,
        rows: u64,
        pages: u32,
        before: &Activity,
        open: Open,
    ) {
        let last = &self.attention;
        let before = before.without(open);
        last.counted.set(rows, pages, &before);
        last.live.store(rows.max(1), Relaxed);
        last.analyzed.store(before.changes(), Relaxed);
        last.analyzed_at.store(clock::now().0, Relaxed);
        last.analyzed_rows.store(rows, Relaxed);
        let again = if open == Open::default() { 0 } else { self.txns.next_xid().0 };
        last.analyze_again.store(again, Relaxed);
        last.told_to_analyze.store(false, Relaxed);
        self.note_upkeep(if background { Upkeep::AutoAnalyze } else { Upkeep::Analyze });
    }

    /// How often something was done, and when it last ended: in microseconds since 1970, 0 for never.
    pub fn upkeep(&self, what: Upkeep) -> (u64, i64) {
        let past = &self.attention.history[what as usize];
        (past.times.load(Relaxed), past.last.load(Relaxed))
    }

    /// Whether a cleaning now would find what the last one found: that left much which open snapshots may
    /// see, and they are still open.
    pub(crate) fn is_held_back(&self) -> bool {
        let held_at = self.attention.held_at.load(Relaxed);
        if held_at == 0 {
            return false;
        }
        self.txns.refresh();
        self.txns.horizon() <= Csn(held_at)
    }

    /// A cleaning begins: what changes from now on counts for the next one. What was done until now.
    pub(crate) fn note_cleaning(&self) -> Activity {
        let (now, last) = (self.activity(), &self.attention);
        last.inserted.store(now.inserted, Relaxed);
        // They stay counted until it has ended: it may end early.
        let ended = now.ended();
        last.left.fetch_add(ended.saturating_sub(last.ended.load(Relaxed)), Relaxed);
        last.ended.store(ended, Relaxed);
        last.told.store(false, Relaxed);
        last.unfinished.store(true, Relaxed);
        now
    }

    /// A cleaning that began when the horizon was `horizon`, and `began` had been done, has ended. Of the `pages` that
    /// there were it has looked at `scanned`, met `live` versions there, and left `left` that had ended. Rows that came
    /// meanwhile are on pages behind those, most of them.
    pub(crate) fn note_cleaned(
        &self,
        horizon: Csn,
        began: &Activity,
        live: u64,
        left: u64,
        (scanned, pages): (u32, u32),
        background: bool,
    ) -> Cleaned {
        let last = &self.attention;
        let rows = match estimate(last.counted.last(), live, scanned, pages) {
            Estimate::New(rows) => {
                last.counted.set(rows, pages, began);
                Some(rows)
            }
            Estimate::Old(rows) => Some(rows),
            Estimate::None => last.counted.rows(&self.activity()),
        };
        if let Some(rows) = rows {
            last.live.store(rows.max(1), Relaxed);
        }
        last.left.store(left, Relaxed);
        last.unfinished.store(false, Relaxed);
        self.note_upkeep(if background { Upkeep::AutoVacuum } else { Upkeep::Vacuum });
        let again = left > self.limits().ended.of(last.live.load(Relaxed));
        last.held_at.store(if again { horizon.0 } else { 0 }, Relaxed);
        Cleaned { again, rows }
    }
}

impl Attention {
    /// The rows that were counted last are on so many pages now.
    pub(super) fn counted_on(&self, pages: u32) {
        self.counted.move_to(pages);
    }
}

/// How many rows a table has after a cleaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Estimate {
    /// Counted, as far as pages were looked at.
    New(u64),
    /// Too little was looked at to know better than the last count.
    Old(u64),
    /// There was no count, and too little was looked at.
    None,
}

/// What `live` rows on `scanned` of `pages` tell. Pages that were skipped have not changed: they are as full as at
/// the last count (rows, pages), whatever is on the others. A few pages say nothing: they may be the same each time,
/// and would be taken for more and more of the table.
fn estimate(counted: Option<(u64, u32)>, live: u64, scanned: u32, pages: u32) -> Estimate {
    if scanned >= pages {
        return Estimate::New(live);
    }
    let rounded = |rows: f64| (rows + 0.5).floor() as u64;
    let all = f64::from(pages);
    let Some((rows, on)) = counted.filter(|(_, on)| *on > 0) else {
        return match scanned {
            0 | 1 => Estimate::None,
            scanned => Estimate::New(rounded(live as f64 / f64::from(scanned) * all)),
        };
    };
    let density = rows as f64 / f64::from(on);
    if scanned <= 1 || on == pages && f64::from(scanned) < all * FEW {
        return Estimate::Old(rounded(density * all));
    }
    Estimate::New(rounded(density * f64::from(pages - scanned)) + live)
}

#[cfg(test)]
mod tests {
    use super::{Estimate, estimate};

    #[test]
    fn pages_that_were_skipped_are_as_full_as_they_were() {
        let counted = Some((100_000, 1000));
        // Everything, or nothing, was looked at.
        assert_eq!(estimate(counted, 7, 1000, 1000), Estimate::New(7));
        assert_eq!(estimate(None, 0, 0, 0), Estimate::New(0));
        assert_eq!(estimate(counted, 0, 0, 1000), Estimate::Old(100_000));
        // The oldest third is gone.
        assert_eq!(estimate(counted, 0, 300, 1000), Estimate::New(70_000));
        // The last page of many; a few pages again and again; a few that are new.
        assert_eq!(estimate(counted, 3, 1, 1000), Estimate::Old(100_000));
        assert_eq!(estimate(counted, 0, 19, 1000), Estimate::Old(100_000));
        assert_eq!(estimate(counted, 0, 20, 1000), Estimate::New(98_000));
        assert_eq!(estimate(counted, 10, 2, 1002), Estimate::New(100_010));
        // Pages came full and all visible.
        assert_eq!(estimate(counted, 0, 0, 2000), Estimate::Old(200_000));
        // Never counted, or counted while it was empty.
        for nothing in [None, Some((0, 0))] {
            assert_eq!(estimate(nothing, 50, 5, 10), Estimate::New(100));
            assert_eq!(estimate(nothing, 50, 1, 10), Estimate::None);
        }
    }
}
