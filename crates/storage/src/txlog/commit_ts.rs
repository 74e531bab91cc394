//! Commit timestamps: eight bytes a transaction, kept only while `track_commit_timestamp` is on.

use super::slru::{PAGE_WORDS, SEGMENT_PAGES, Slru, SlruError};
use crate::error::Result;
use base::latch::Latch;
use base::rank::Rank;
use base::{Lsn, Xid};
use std::sync::atomic::{AtomicBool, Ordering};

const WORDS: u64 = PAGE_WORDS as u64;

/// Set in an entry: zero is "no timestamp", also for a commit at the epoch.
const THERE: u64 = 1 << 63;

/// The log.
pub struct CommitTimes {
    slru: Slru,
    tracking: AtomicBool,
    state: Latch<State>,
}

struct State {
    /// Pages below exist, from the first after tracking was switched on.
    next_page: u64,
    /// Transactions before have no timestamp.
    first: Xid,
    last: Option<(Xid, i64)>,
}

fn page_of(xid: Xid) -> u64 {
    xid.0 / WORDS
}

impl CommitTimes {
    /// The log over an opened cache; `next` is the next transaction id, or that of the checkpoint where redo
    /// begins. With tracking off everything that is there is removed.
    pub fn open(slru: Slru, tracking: bool, next: Xid) -> Result<CommitTimes> {
        let here = page_of(next);
        // Whole segments: whoever comes later takes what is there for complete from its segment's start on.
        let start = here - here % SEGMENT_PAGES;
        let mut first = start;
        if !tracking {
            slru.set_mark(false)?;
            slru.clear()?;
        } else if slru.is_marked()? {
            // What an earlier run left. Invariant C1: up to the page of `next` everything is whole.
            let oldest = slru.segments()?.into_iter().min();
            first = oldest.map_or(start, |s| s * SEGMENT_PAGES);
        } else {
            // Switched on just now, or a crash came while that was done.
            slru.clear()?;
            for page in start..=here {
                slru.begin(page, Lsn::ZERO, |_| ())?;
            }
            slru.flush()?;
            slru.set_mark(true)?;
        }
        let state = State { next_page: here + 1, first: Xid(first * WORDS), last: None };
        let tracking = AtomicBool::new(tracking);
        Ok(CommitTimes { slru, tracking, state: Latch::new(Rank::Table, state) })
    }

    /// The cache under it.
    pub fn slru(&self) -> &Slru {
        &self.slru
    }

    /// Whether timestamps are kept.
    #[inline]
    pub fn is_tracking(&self) -> bool {
        self.tracking.load(Ordering::Relaxed)
    }

    /// Makes sure that a time can be kept: to be called before the commit, which can't fail any more later.
    pub fn prepare(&self, xid: Xid) -> Result<()> {
        self.reach(&mut self.state.lock(), xid)
    }

    fn reach(&self, state: &mut State, xid: Xid) -> Result<()> {
        while state.next_page <= page_of(xid) {
            self.slru.begin(state.next_page, Lsn::ZERO, |_| ())?;
            state.next_page += 1;
        }
        Ok(())
    }

    /// Makes everything durable, and the page of `next`, where redo may begin, whole (invariant C1).
    pub fn checkpoint(&self, next: Xid) -> Result<()> {
        if self.is_tracking() {
            self.prepare(next)?;
            self.slru.flush()?;
        }
        Ok(())
    }

    /// Forgets the times of transactions below `xid`.
    pub fn forget_before(&self, xid: Xid) -> Result<()> {
        let mut state = self.state.lock();
        state.first = state.first.max(xid);
        self.slru.truncate(page_of(xid))?;
        Ok(())
    }

    /// Keeps the time of a commit, unless it is of a transaction from before times were kept. `lsn` is the end of
    /// its record.
    pub fn set(&self, xids: impl Iterator<Item = Xid>, micros: i64, lsn: Lsn) -> Result<()> {
        let mut state = self.state.lock();
        for xid in xids {
            // Redo may come from before tracking was switched on.
            if xid < state.first {
                continue;
            }
            self.reach(&mut state, xid)?;
            let word = micros as u64 & !THERE | THERE;
            let at = (xid.0 % WORDS) as usize;
            self.slru.update(page_of(xid), lsn, |page| page.set(at, word))?;
            if state.last.is_none_or(|(last, _)| last < xid) {
                state.last = Some((xid, micros));
            }
        }
        Ok(())
    }

    /// When `xid` committed, in microseconds since 1970; `None` if that was not kept.
    pub fn get(&self, xid: Xid) -> Result<Option<i64>> {
        {
            let state = self.state.lock();
            if xid < state.first || page_of(xid) >= state.next_page {
                return Ok(None);
            }
        }
        let at = (xid.0 % WORDS) as usize;
        let word = match self.slru.read(page_of(xid), |page| page.word(at)) {
            Err(SlruError::Truncated { .. }) => return Ok(None),
            other => other?,
        };
        // The sign bit was given up for the mark; the bit below it has the sign.
        let micros = (word << 1) as i64 >> 1;
        Ok((word & THERE != 0).then_some(micros))
    }

    /// The latest commit whose time was kept.
    pub fn last(&self) -> Option<(Xid, i64)> {
        self.state.lock().last
    }
}

#[cfg(test)]
mod tests {
    use super::super::slru::{LogKind, WalBarrier};
    use super::*;
    use base::disk::sim::SimDisk;
    use std::sync::Arc;

    fn open(disk: &SimDisk, tracking: bool, next: u64) -> CommitTimes {
        let barrier: WalBarrier = Arc::new(|_| ());
        let disk = Arc::new(disk.clone());
        let slru = Slru::open(LogKind::CommitTs, 1, 0, disk, barrier).unwrap();
        CommitTimes::open(slru, tracking, Xid(next)).unwrap()
    }

    #[test]
    fn times_are_kept_while_tracking_is_on() {
        let disk = SimDisk::new();
        let times = open(&disk, true, 5000);
        for (xid, micros) in [(5000, 77), (9000, -5), (5001, i64::MAX >> 1), (70_000, 0)] {
            times.set([Xid(xid)].into_iter(), micros, Lsn::ZERO).unwrap();
            assert_eq!(times.get(Xid(xid)).unwrap(), Some(micros));
        }
        assert_eq!(times.get(Xid(4000)).unwrap(), None);
        assert_eq!(times.get(Xid(6000)).unwrap(), None);
        assert_eq!(times.get(Xid(1 << 40)).unwrap(), None);
        assert_eq!(times.last(), Some((Xid(70_000), 0)));
        times.checkpoint(Xid(70_001)).unwrap();
        drop(times);
        let times = open(&disk, true, 70_001);
        assert_eq!(times.get(Xid(9000)).unwrap(), Some(-5));
        times.set([Xid(70_001)].into_iter(), 3, Lsn::ZERO).unwrap();
        assert_eq!(times.get(Xid(70_000)).unwrap(), Some(0), "the page was gone on with");
        times.slru().flush().unwrap();
        times.forget_before(Xid(60_000)).unwrap();
        assert_eq!(times.get(Xid(9000)).unwrap(), None);
        drop(times);
        let times = open(&disk, false, 70_002);
        assert!(times.slru().segments().unwrap().is_empty(), "switched off: the files go");
        drop(times);
        let times = open(&disk, true, 80_000);
        assert_eq!(times.get(Xid(70_000)).unwrap(), None);
    }

    /// Redo begins before the switch: at transactions of earlier pages, and of earlier segments.
    #[test]
    fn redo_from_before_the_switch_is_no_damage() {
        let segment = SEGMENT_PAGES * WORDS;
        let disk = SimDisk::new();
        let times = open(&disk, true, segment + 3000);
        let xids = [500, segment + 500, segment + 2500];
        for xid in xids {
            times.set([Xid(xid)].into_iter(), 9, Lsn::ZERO).unwrap();
        }
        let kept = |times: &CommitTimes| {
            let kept = |xid: &u64| times.get(Xid(*xid)).unwrap() == Some(9);
            xids.into_iter().filter(kept).collect::<Vec<u64>>()
        };
        assert_eq!(kept(&times), xids[1..]);
        times.checkpoint(Xid(segment + 3000)).unwrap();
        drop(times);
        let times = open(&disk, true, segment + 3000);
        assert_eq!(kept(&times), xids[1..]);
        assert_eq!(times.get(Xid(segment + 1500)).unwrap(), None);
    }
}
