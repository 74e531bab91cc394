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
use crate::error::{Error, Result};
use crate::wal::RedoHold;
use base::latch::Latch;
use base::pad::Padded;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU64, Ordering};
use base::{Lsn, Xid};

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

/// Logs that ids below a number may be in use, durably. What it answers keeps the redo point before the record.
pub type LogAhead = Box<dyn Fn(MultiXactId) -> Result<Option<RedoHold>> + Send + Sync>;

/// The two logs.
pub struct MultiXacts {
    offsets: Slru,
    members: Slru,
    /// What is handed out next. Nothing is waited for under it.
    next: Padded<Latch<MultiXactPlace>>,
    /// Pages below have been begun.
    offset_pages: AtomicU64,
    member_pages: AtomicU64,
    ahead: LogAhead,
    /// Ids below are covered by a durable log record.
    limit: AtomicU64,
    /// Held while a record for more ids is made durable, by which whoever waits for it is covered, too.
    covering: Latch<()>,
    /// Members of multixacts below have all ended.
    oldest: Padded<AtomicU64>,
    /// Where the members of those begin that have not.
    oldest_member: AtomicU64,
}

/// A place in both logs: everything before has been handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MultiXactPlace {
    /// The next id.
    pub id: MultiXactId,
    /// Number of the next member.
    pub member: u64,
}

/// What is kept of multixacts, for `pg_get_multixact_stats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MultiXactStats {
    /// Multixacts made and not yet forgotten.
    pub live: u64,
    /// Their members.
    pub members: u64,
    /// The first of them, or the next id where there is none.
    pub oldest: MultiXactId,
}

/// Bytes that a member takes in its log.
pub const MEMBER_BYTES: u64 = 8;

impl MultiXacts {
    /// Empty logs; ids are handed out from `next`, members from `next_member`.
    pub fn new(
        offsets: Slru,
        members: Slru,
        next: MultiXactId,
        next_member: u64,
        ahead: LogAhead,
    ) -> MultiXacts {
        let at = MultiXactPlace { id: next, member: next_member };
        MultiXacts {
            offsets,
            members,
            next: Padded(Latch::new(Rank::Leaf, at)),
            offset_pages: AtomicU64::new(next.0 / WORDS),
            member_pages: AtomicU64::new(next_member / WORDS),
            ahead,
            limit: AtomicU64::new(next.0),
            covering: Latch::new(Rank::Table, ()),
            oldest: Padded(AtomicU64::new(next.0)),
            oldest_member: AtomicU64::new(next_member),
        }
    }

    /// The offsets log and the members log, for statistics.
    pub fn slrus(&self) -> [&Slru; 2] {
        [&self.offsets, &self.members]
    }

    /// A new multixact of these members, at least two. May wait for the disk; no latch may be held.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where there are more than [`MEMBERS_MAX`]; or the disk's. An id that was taken by then
    /// is nobody's.
    pub fn create(&self, members: &[Member]) -> Result<MultiXactId> {
        assert!(members.len() >= 2, "one locker needs no multixact");
        if members.len() > MEMBERS_MAX {
            let many = members.len();
            let limit = format!("{many} transactions lock one row, of {MEMBERS_MAX} that can");
            return Err(Error::LimitExceeded(limit));
        }
        let MultiXactPlace { id, member: first } = {
            let mut next = self.next.lock();
            let at = *next;
            next.id.0 += 1;
            next.member += members.len() as u64;
            at
        };
        self.cover(id)?;
        self.offsets.extend(&self.offset_pages, id.0 / WORDS)?;
        self.members.extend(&self.member_pages, (first + members.len() as u64 - 1) / WORDS)?;
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
        let place = (id.0 % WORDS) as usize;
        self.offsets.update(id.0 / WORDS, Lsn::ZERO, |page| page.set(place, word))?;
        Ok(id)
    }

    /// Has a durable log record cover `id`.
    fn cover(&self, id: MultiXactId) -> Result<()> {
        while id >= self.limit() {
            let _one_at_a_time = self.covering.lock();
            if id >= self.limit() {
                let limit = id.0 + IDS_AHEAD;
                // A checkpoint that still finds the old limit must not leave the record behind.
                let _hold = (self.ahead)(MultiXactId(limit))?;
                // Release: pairs with the acquire in `limit`.
                self.limit.store(limit, Ordering::Release);
            }
        }
        Ok(())
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
        let is_old = id.0 < self.oldest.load(Ordering::Acquire);
        // Acquire: pairs with the release in `Slru::extend`. An id that is just being made has no members yet.
        if is_old || id.0 / WORDS >= self.offset_pages.load(Ordering::Acquire) {
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
        self.place().id
    }

    /// Where both logs end: every multixact from here on is made later.
    pub fn place(&self) -> MultiXactPlace {
        *self.next.lock()
    }

    /// No id from here on is in use, as far as the log knows. For checkpoints.
    pub fn limit(&self) -> MultiXactId {
        // Acquire: pairs with the release in `cover`.
        MultiXactId(self.limit.load(Ordering::Acquire))
    }

    /// Multixacts created and not yet forgotten.
    pub fn live(&self) -> u64 {
        self.stats().live
    }

    /// What is kept.
    pub fn stats(&self) -> MultiXactStats {
        // Members first, then ids: what is forgotten between the looks makes the numbers too great, never negative.
        // Acquire: pairs with the releases in `forget_before`.
        let oldest_member = self.oldest_member.load(Ordering::Acquire);
        let oldest = self.oldest.load(Ordering::Acquire);
        let next = self.place();
        MultiXactStats {
            live: next.id.0 - oldest,
            members: next.member - oldest_member,
            oldest: MultiXactId(oldest),
        }
    }

    /// Forgets multixacts before this place: all their members have ended, and whoever was making one.
    pub fn forget_before(&self, place: MultiXactPlace) -> Result<()> {
        // Release: pairs with the acquire in `try_members`, and in `stats`.
        self.oldest.fetch_max(place.id.0, Ordering::Release);
        self.oldest_member.fetch_max(place.member, Ordering::Release);
        self.offsets.truncate(place.id.0 / WORDS)?;
        self.members.truncate(place.member / WORDS)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::slru::{LogKind, WalBarrier};
    use super::*;
    use base::disk::sim::SimDisk;
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex, RwLock};

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
            Ok(None)
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
                let (place, members) = (multis.place(), some(&mut rng));
                (place, multis.create(&members).unwrap(), members)
            })
            .collect();
        for cut in [0, 1, 700, 1025, 4000, 5000] {
            let bound = all.get(cut).map_or(multis.place(), |(place, ..)| *place);
            multis.forget_before(bound).unwrap();
            let left: usize = all[cut..].iter().map(|(.., members)| members.len()).sum();
            let stats = MultiXactStats {
                live: (all.len() - cut) as u64,
                members: left as u64,
                oldest: bound.id,
            };
            assert_eq!(multis.stats(), stats);
            for (i, (_, id, members)) in all.iter().enumerate() {
                let expected: &[Member] = if i < cut { &[] } else { members };
                assert_eq!(multis.members(*id).unwrap(), expected);
            }
        }
        assert_eq!(multis.live(), 0);
        assert!(multis.slrus()[0].segments().unwrap().len() <= 1, "files go with it");
    }

    /// M2: whoever makes one at the same time has other ids and other places.
    #[test]
    fn creating_reading_and_forgetting_go_on_together() {
        let (multis, _) = open(1, 1, 1);
        let made: Mutex<Vec<(MultiXactId, Vec<Member>)>> = Mutex::default();
        // As transactions do: what is forgotten was made by those that have ended since.
        let running: RwLock<()> = RwLock::default();
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let (multis, made, running) = (&multis, &made, &running);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    let mut bounds = VecDeque::from([multis.place()]);
                    for round in 0..1500 {
                        let members = some(&mut rng);
                        let id = {
                            let _runs = running.read().unwrap();
                            multis.create(&members).unwrap()
                        };
                        made.lock().unwrap().push((id, members));
                        let (id, expected) = {
                            let made = made.lock().unwrap();
                            made[rng.usize(..made.len())].clone()
                        };
                        let found = multis.members(id).unwrap();
                        assert!(found.is_empty() || found == expected);
                        if seed == 0 && round % 100 == 99 {
                            drop(running.write().unwrap());
                            multis.forget_before(bounds.pop_front().unwrap()).unwrap();
                            bounds.push_back(multis.place());
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn more_members_than_fit_are_refused() {
        let (multis, _) = open(1, 1, 1);
        let member = |xid| Member { xid: Xid(xid), strength: RowLock::KeyShare };
        let many: Vec<Member> = (3..4 + MEMBERS_MAX as u64).map(member).collect();
        let refused = multis.create(&many).unwrap_err();
        assert_eq!((refused.sqlstate(), many.len()), ("54000", MEMBERS_MAX + 1));
        let id = multis.create(&many[1..]).unwrap();
        assert_eq!(multis.members(id).unwrap(), many[1..]);
        assert_eq!(multis.next(), MultiXactId(id.0 + 1), "a refusal takes no id");
    }

    /// Ids whose makers the disk failed are passed over, and so are their pages when they are forgotten.
    #[test]
    fn a_log_that_could_not_be_written_costs_the_ids_alone() {
        let disk = Arc::new(SimDisk::new());
        let no_barrier: WalBarrier = Arc::new(|_| ());
        let slru = |log| {
            let disk = Arc::clone(&disk) as Arc<dyn base::disk::Disk>;
            Slru::open(log, 1, 0, disk, Arc::clone(&no_barrier)).unwrap()
        };
        let (offsets, members) = (slru(LogKind::MultiXactOffset), slru(LogKind::MultiXactMember));
        let broken = Arc::new(base::sync::unmodelled::AtomicBool::new(true));
        let is_broken = Arc::clone(&broken);
        let ahead: LogAhead = Box::new(move |_| match is_broken.load(Ordering::Relaxed) {
            true => Err(Error::DiskFull { file: "wal".into(), block: None }),
            false => Ok(None),
        });
        let multis = MultiXacts::new(offsets, members, MultiXactId(1), 0, ahead);
        let two = [3, 4].map(|xid| Member { xid: Xid(xid), strength: RowLock::Share });
        for _ in 0..5 * WORDS {
            assert_eq!(multis.create(&two).unwrap_err().sqlstate(), "53100");
        }
        let before = MultiXactId(multis.next().0 - 1);
        assert_eq!(multis.members(before).unwrap(), [], "nobody was told of it");
        multis.forget_before(multis.place()).unwrap();
        broken.store(false, Ordering::Relaxed);
        let id = multis.create(&two).unwrap();
        assert_eq!(multis.members(id).unwrap(), two);
        assert_eq!(multis.stats().members, 2);
    }
}
