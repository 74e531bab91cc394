//! Multixacts: several transactions that hold a lock on one row, as one id in its xmax.
//!
//! ```text
//! offsets log   word id      := first member << 16 | number of members        (0: not there)
//! members log   word member  := transaction << 2 | strength
//! ```
//!
//! *A multixact holds locks and nothing else.* An update is never a member: the updating transaction stays
//! in xmax itself, and the lockers it got along with move to the new version. So readers never look a
//! multixact up, and when its last member has ended nobody does: what lies before the oldest running
//! transaction is forgotten, without asking vacuum, and the logs start empty, because nobody holds a lock
//! after a restart. Ids are not used twice all the same, a stale one may stand in a row for years: the log
//! says ahead up to where they may be in use.
//!
//! PostgreSQL puts the updater among the members, and so needs every multixact until vacuum has visited
//! every row that mentions it.

use super::rowlock::RowLock;
use super::slru::{PAGE_WORDS, Slru, SlruError};
use crate::error::Result;
use base::latch::Latch;
use base::pad::Padded;
use base::rank::Rank;
use base::{Lsn, Xid};
use std::sync::atomic::{AtomicU64, Ordering};

/// A set of lockers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct MultiXactId(pub u64);

/// One of the transactions in a multixact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// A transaction or subtransaction.
    pub xid: Xid,
    /// What it holds.
    pub strength: RowLock,
}

/// Most members of a multixact.
pub const MEMBERS_MAX: usize = (1 << COUNT_BITS) - 1;

/// Ids that one log record covers.
pub const IDS_AHEAD: u64 = 1 << 16;

const COUNT_BITS: u32 = 16;
const WORDS: u64 = PAGE_WORDS as u64;

/// Logs that ids below a number may be in use, durably.
pub type LogAhead = Box<dyn Fn(MultiXactId) -> Result<()> + Send + Sync>;

/// The two logs.
pub struct MultiXacts {
    offsets: Slru,
    members: Slru,
    alloc: Latch<Alloc>,
    ahead: LogAhead,
    /// Ids below are covered by a durable log record.
    limit: AtomicU64,
    /// Members of multixacts below have all ended.
    oldest: Padded<AtomicU64>,
}

struct Alloc {
    next: u64,
    next_member: u64,
    /// Pages below have been begun.
    offset_pages: u64,
    member_pages: u64,
}

impl MultiXacts {
    /// Empty logs; ids are handed out from `next`, members from `next_member`.
    pub fn new(
        offsets: Slru,
        members: Slru,
        next: MultiXactId,
        next_member: u64,
        ahead: LogAhead,
    ) -> MultiXacts {
        let alloc = Alloc {
            next: next.0,
            next_member,
            offset_pages: next.0 / WORDS,
            member_pages: next_member / WORDS,
        };
        MultiXacts {
            offsets,
            members,
            alloc: Latch::new(Rank::Table, alloc),
            ahead,
            limit: AtomicU64::new(next.0),
            oldest: Padded(AtomicU64::new(next.0)),
        }
    }

    /// The offsets log and the members log, for statistics.
    pub fn slrus(&self) -> [&Slru; 2] {
        [&self.offsets, &self.members]
    }

    /// A new multixact of these members, at least two. May wait for the disk; no latch may be held.
    pub fn create(&self, members: &[Member]) -> Result<MultiXactId> {
        assert!(
            (2..=MEMBERS_MAX).contains(&members.len()),
            "several lockers, but a number that fits"
        );
        let mut alloc = self.alloc.lock();
        let (id, first) = (alloc.next, alloc.next_member);
        if id >= self.limit.load(Ordering::Relaxed) {
            let limit = id + IDS_AHEAD;
            (self.ahead)(MultiXactId(limit))?;
            // Release: pairs with the acquire in `limit`.
            self.limit.store(limit, Ordering::Release);
        }
        reach(&self.offsets, &mut alloc.offset_pages, id)?;
        reach(&self.members, &mut alloc.member_pages, first + members.len() as u64 - 1)?;
        let mut at = first;
        let mut rest = members;
        while !rest.is_empty() {
            let fits = (WORDS - at % WORDS) as usize;
            let (here, later) = rest.split_at(fits.min(rest.len()));
            self.members.update(at / WORDS, Lsn::ZERO, |page| {
                for (i, member) in here.iter().enumerate() {
                    page.set((at % WORDS) as usize + i, member.xid.0 << 2 | member.strength as u64);
                }
            })?;
            at += here.len() as u64;
            rest = later;
        }
        // Last: with it the multixact is there. Nobody has heard of it before this returns anyway.
        let word = first << COUNT_BITS | members.len() as u64;
        self.offsets.update(id / WORDS, Lsn::ZERO, |page| page.set((id % WORDS) as usize, word))?;
        alloc.next += 1;
        alloc.next_member = at;
        Ok(MultiXactId(id))
    }

    /// The members of a multixact; none if all of them ended long ago. Any of them may have ended.
    pub fn members(&self, id: MultiXactId) -> Result<Vec<Member>> {
        match self.try_members(id) {
            Err(SlruError::Truncated { .. }) => Ok(Vec::new()),
            other => Ok(other?),
        }
    }

    fn try_members(&self, id: MultiXactId) -> std::result::Result<Vec<Member>, SlruError> {
        // Acquire: pairs with the release in `forget_before`.
        if id.0 < self.oldest.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        let word = self.offsets.read(id.0 / WORDS, |page| page.word((id.0 % WORDS) as usize))?;
        let (first, count) = (word >> COUNT_BITS, word & MEMBERS_MAX as u64);
        let mut members = Vec::with_capacity(count as usize);
        let mut at = first;
        while at < first + count {
            let (page, from) = (at / WORDS, (at % WORDS) as usize);
            let fits = (PAGE_WORDS - from).min((first + count - at) as usize);
            let words: Vec<u64> = self
                .members
                .read(page, |page| (from..from + fits).map(|i| page.word(i)).collect())?;
            members.extend(words.into_iter().map(|word| Member {
                xid: Xid(word >> 2),
                strength: RowLock::from_bits(word as u8),
            }));
            at += fits as u64;
        }
        Ok(members)
    }

    /// The id that will be handed out next.
    pub fn next(&self) -> MultiXactId {
        MultiXactId(self.alloc.lock().next)
    }

    /// No id from here on is in use, as far as the log knows. For checkpoints.
    pub fn limit(&self) -> MultiXactId {
        // Acquire: pairs with the release in `create`.
        MultiXactId(self.limit.load(Ordering::Acquire))
    }

    /// Multixacts there are, and members: created and not yet forgotten.
    pub fn live(&self) -> u64 {
        self.alloc.lock().next - self.oldest.load(Ordering::Acquire)
    }

    /// Forgets multixacts below `id`: all their members have ended.
    pub fn forget_before(&self, id: MultiXactId) -> Result<()> {
        let (next, next_member) = {
            let alloc = self.alloc.lock();
            (alloc.next, alloc.next_member)
        };
        let id = id.0.min(next);
        if id <= self.oldest.load(Ordering::Acquire) {
            return Ok(());
        }
        let first_kept = match id == next {
            true => next_member,
            false => {
                let at = (id % WORDS) as usize;
                self.offsets.read(id / WORDS, |page| page.word(at))? >> COUNT_BITS
            }
        };
        // Release: pairs with the acquire in `try_members`.
        self.oldest.fetch_max(id, Ordering::Release);
        self.offsets.truncate(id / WORDS)?;
        self.members.truncate(first_kept / WORDS)?;
        Ok(())
    }
}

/// Begins pages until there is one for `word`.
fn reach(slru: &Slru, pages: &mut u64, word: u64) -> std::result::Result<(), SlruError> {
    while *pages <= word / WORDS {
        slru.begin(*pages, Lsn::ZERO, |_| ())?;
        *pages += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::slru::{LogKind, WalBarrier};
    use super::*;
    use base::disk::sim::SimDisk;
    use std::sync::{Arc, Mutex};

    fn open(next: u64, next_member: u64, banks: usize) -> (MultiXacts, Arc<Mutex<Vec<u64>>>) {
        let disk = SimDisk::new();
        let barrier: WalBarrier = Arc::new(|_| ());
        let slru = |log, oldest| {
            let disk = Arc::new(disk.clone());
            Slru::open(log, banks, oldest, disk, Arc::clone(&barrier)).unwrap()
        };
        let offsets = slru(LogKind::MultiXactOffset, next / WORDS);
        let members = slru(LogKind::MultiXactMember, next_member / WORDS);
        let said = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&said);
        let ahead: LogAhead = Box::new(move |limit| {
            log.lock().unwrap().push(limit.0);
            Ok(())
        });
        (MultiXacts::new(offsets, members, MultiXactId(next), next_member, ahead), said)
    }

    fn some(rng: &mut fastrand::Rng) -> Vec<Member> {
        let member = |rng: &mut fastrand::Rng| Member {
            xid: Xid(rng.u64(3..1 << 50)),
            strength: RowLock::from_bits(rng.u8(..)),
        };
        (0..rng.usize(2..40)).map(|_| member(rng)).collect()
    }

    #[test]
    fn members_come_back_across_pages_and_beyond_32_bits() {
        for banks in [1, 3] {
            let (multis, said) = open((1 << 33) - 5, (1 << 40) - 9, banks);
            let mut rng = fastrand::Rng::with_seed(banks as u64);
            let all: Vec<_> = (0..3000)
                .map(|_| {
                    let members = some(&mut rng);
                    (multis.create(&members).unwrap(), members)
                })
                .collect();
            assert!(multis.next().0 > 1 << 33 && all.len() as u64 == multis.live());
            for (id, members) in &all {
                assert_eq!(multis.members(*id).unwrap(), *members);
            }
            assert_eq!(*said.lock().unwrap(), [(1 << 33) - 5 + IDS_AHEAD]);
            assert!(multis.limit() >= multis.next());
        }
    }

    #[test]
    fn what_is_forgotten_has_no_members() {
        let (multis, _) = open(1, 1, 1);
        let mut rng = fastrand::Rng::with_seed(9);
        let all: Vec<_> = (0..5000)
            .map(|_| {
                let members = some(&mut rng);
                (multis.create(&members).unwrap(), members)
            })
            .collect();
        for cut in [0, 1, 700, 1025, 4000, 5000] {
            let bound = all.get(cut).map_or(multis.next(), |(id, _)| *id);
            multis.forget_before(bound).unwrap();
            for (i, (id, members)) in all.iter().enumerate() {
                let expected: &[Member] = if i < cut { &[] } else { members };
                assert_eq!(multis.members(*id).unwrap(), expected);
            }
        }
        assert_eq!(multis.live(), 0);
        assert!(multis.slrus()[0].segments().unwrap().len() <= 1, "files go with it");
    }

    #[test]
    fn creating_reading_and_forgetting_go_on_together() {
        let (multis, _) = open(1, 1, 1);
        let made: Mutex<Vec<(MultiXactId, Vec<Member>)>> = Mutex::default();
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let (multis, made) = (&multis, &made);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for round in 0..1500 {
                        let members = some(&mut rng);
                        let id = multis.create(&members).unwrap();
                        made.lock().unwrap().push((id, members));
                        let (id, expected) = {
                            let made = made.lock().unwrap();
                            made[rng.usize(..made.len())].clone()
                        };
                        let found = multis.members(id).unwrap();
                        assert!(found.is_empty() || found == expected);
                        if seed == 0 && round % 100 == 99 {
                            let bound = MultiXactId(multis.next().0.saturating_sub(200));
                            multis.forget_before(bound).unwrap();
                        }
                    }
                });
            }
        });
    }
}
