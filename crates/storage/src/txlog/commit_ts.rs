//! Commit timestamps: eight bytes a transaction, kept only while `track_commit_timestamp` is on.

use super::slru::{PAGE_WORDS, SEGMENT_PAGES, Slru, SlruError};
use crate::error::Result;
use base::pad::Padded;
use base::sync::unmodelled::{AtomicU64, Ordering};
use base::{Lsn, Xid};

const WORDS: u64 = PAGE_WORDS as u64;

/// Set in an entry: zero is "no timestamp", also for a commit at the epoch.
const THERE: u64 = 1 << 63;

/// The log. There is no latch but those of the cache's banks: commits and look-ups meet only where they meet on a
/// page's bank, and on `last`.
pub struct CommitTimes {
    slru: Slru,
    tracking: bool,
    /// Transactions before have no timestamp.
    first: Xid,
    /// Pages below exist, from the first after tracking was switched on. Changes once in 1024 transactions.
    next_page: AtomicU64,
    /// The latest transaction to commit; zero before there is one. Written by every commit, so on a line of its own.
    last: Padded<AtomicU64>,
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
        Ok(CommitTimes {
            slru,
            tracking,
            first: Xid(first * WORDS),
            next_page: AtomicU64::new(here + 1),
            last: Padded(AtomicU64::new(0)),
        })
    }

    /// The cache under it.
    pub fn slru(&self) -> &Slru {
        &self.slru
    }

    /// Whether timestamps are kept.
    #[inline]
    pub fn is_tracking(&self) -> bool {
        self.tracking
    }

    /// Makes everything durable, and the page of `next`, where redo may begin, whole (invariant C1).
    pub fn checkpoint(&self, next: Xid) -> Result<()> {
        if self.is_tracking() {
            self.slru.extend(&self.next_page, page_of(next))?;
            self.slru.flush()?;
        }
        Ok(())
    }

    /// Verifies the files ([`Slru::check`]); the number of pages.
    pub fn check(&self, fault: &mut dyn FnMut(String)) -> Result<u64> {
        if !self.tracking {
            return Ok(0);
        }
        // Acquire: pairs with the release in `Slru::extend`.
        Ok(self.slru.check(self.next_page.load(Ordering::Acquire), fault)?)
    }

    /// Packs a segment of times of transactions below `xid`, all of which have ended; whether there was one.
    pub fn pack_one_below(&self, xid: Xid) -> Result<bool> {
        Ok(self.tracking && self.slru.pack_one_below(page_of(xid))?)
    }

    /// Keeps the time of a commit that is about to be logged: whoever sees the commit finds its time (invariant C2).
    /// May wait for the disk; an error must refuse the commit.
    pub fn set(&self, xids: impl Iterator<Item = Xid>, micros: i64) -> Result<()> {
        // Redo may come from before tracking was switched on.
        let mut xids = xids.filter(|xid| *xid >= self.first).peekable();
        let word = micros as u64 & !THERE | THERE;
        while let Some(here) = xids.peek().copied().map(page_of) {
            self.slru.extend(&self.next_page, here)?;
            self.slru.update(here, Lsn::ZERO, |page| {
                while let Some(xid) = xids.next_if(|xid| page_of(*xid) == here) {
                    page.set((xid.0 % WORDS) as usize, word);
                }
            })?;
        }
        Ok(())
    }

    /// `top`, whose time is kept, has committed.
    #[inline]
    pub fn committed(&self, top: Xid) {
        // Release: pairs with the acquire in `last`; its time and its fate are there.
        self.last.store(top.0, Ordering::Release);
    }

    /// The time kept for `xid`, in microseconds since 1970; `None` if there is none. That it committed must be known
    /// otherwise: a time is kept before the commit is logged, and stays where a crash takes the commit.
    pub fn get(&self, xid: Xid) -> Result<Option<i64>> {
        // Acquire: pairs with the release in `Slru::extend`: pages below are there.
        let next_page = self.next_page.load(Ordering::Acquire);
        if !self.tracking || xid < self.first || page_of(xid) >= next_page {
            return Ok(None);
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

    /// The latest transaction to commit since the start, and when that was.
    pub fn last(&self) -> Result<Option<(Xid, i64)>> {
        // Acquire: pairs with the release in `committed`.
        match self.last.load(Ordering::Acquire) {
            0 => Ok(None),
            xid => Ok(self.get(Xid(xid))?.map(|micros| (Xid(xid), micros))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::slru::{LogKind, WalBarrier};
    use super::*;
    use base::disk::sim::SimDisk;
    use std::sync::Arc;

    fn open(disk: &SimDisk, tracking: bool, next: u64) -> CommitTimes {
        open_banks(disk, tracking, next, 1)
    }

    fn open_banks(disk: &SimDisk, tracking: bool, next: u64, banks: usize) -> CommitTimes {
        let barrier: WalBarrier = Arc::new(|_| ());
        let disk = Arc::new(disk.clone());
        let slru = Slru::open(LogKind::CommitTs, banks, 0, disk, barrier).unwrap();
        CommitTimes::open(slru, tracking, Xid(next)).unwrap()
    }

    #[test]
    fn times_are_kept_while_tracking_is_on() {
        let disk = SimDisk::new();
        let times = open(&disk, true, 5000);
        for (xid, micros) in [(5000, 77), (9000, -5), (5001, i64::MAX >> 1), (70_000, 0)] {
            times.set([Xid(xid)].into_iter(), micros).unwrap();
            assert_eq!(times.get(Xid(xid)).unwrap(), Some(micros));
        }
        assert_eq!(times.get(Xid(4000)).unwrap(), None);
        assert_eq!(times.get(Xid(6000)).unwrap(), None);
        assert_eq!(times.get(Xid(1 << 40)).unwrap(), None);
        assert_eq!(times.last().unwrap(), None);
        times.committed(Xid(9000));
        assert_eq!(times.last().unwrap(), Some((Xid(9000), -5)));
        times.checkpoint(Xid(70_001)).unwrap();
        drop(times);
        let times = open(&disk, true, 70_001);
        assert_eq!(times.get(Xid(9000)).unwrap(), Some(-5));
        times.set([Xid(70_001)].into_iter(), 3).unwrap();
        assert_eq!(times.get(Xid(70_000)).unwrap(), Some(0), "the page was gone on with");
        times.checkpoint(Xid(70_002)).unwrap();
        drop(times);
        let times = open(&disk, false, 70_002);
        assert_eq!(times.get(Xid(70_000)).unwrap(), None);
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
            times.set([Xid(xid)].into_iter(), 9).unwrap();
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

    /// Committers that hand out ids as the manager does, each with ids of its own over several pages, beside readers;
    /// caches of 16, 48 and 80 pages, 250 pages in all.
    #[test]
    fn many_commit_and_look_up_at_a_time() {
        const THREADS: u64 = 4;
        const COMMITS: u64 = 400;
        const IDS: u64 = 160;
        let first = (1 << 33) + 5;
        for banks in [1, 3, 5] {
            let times = open_banks(&SimDisk::new(), true, first, banks);
            let next = AtomicU64::new(first);
            let micros = |xid: u64| (xid / 7) as i64;
            let commits = |seed| {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut mine: Vec<(u64, i64)> = Vec::new();
                for _ in 0..COMMITS {
                    // Every other id of a run: those between are nobody's.
                    let from = next.fetch_add(IDS, Ordering::Relaxed);
                    let at = micros(from);
                    times.set((from..from + IDS).step_by(2).map(Xid), at).unwrap();
                    times.committed(Xid(from));
                    mine.extend((from..from + IDS).step_by(2).map(|xid| (xid, at)));
                    let (xid, at) = mine[rng.usize(..mine.len())];
                    assert_eq!(times.get(Xid(xid)).unwrap(), Some(at));
                    assert_eq!(times.get(Xid(xid + 1)).unwrap(), None);
                    let (last, at) = times.last().unwrap().expect("somebody has committed");
                    assert_eq!(at, micros(last.0));
                }
                mine
            };
            let made: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..THREADS).map(|seed| scope.spawn(move || commits(seed))).collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(made.len() as u64, THREADS * COMMITS * IDS / 2);
            for (xid, at) in made {
                assert_eq!(times.get(Xid(xid)).unwrap(), Some(at));
            }
            assert!(times.slru().stats().writes > 0, "the cache was too small for all");
        }
    }
}
