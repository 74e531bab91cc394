//! Who sees which row version.
//!
//! The one place where a reader asks what became of a transaction. Whoever relies on a commit that is not
//! yet durable observes it ([`Txn::observe_commit`]), and hint bits are answered for durable commits only:
//! a hint travels to disk without the log.

use super::session::Txn;
use super::snapshot::Snapshot;
use super::tuple::{Flags, TupleHeader};
use crate::error::Result;
use crate::txlog::{Member, MultiXactId, Outcome, RowLock, TxLog, durable_at};
use base::{Csn, Lsn, Xid};

/// Whether a snapshot sees a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visibility {
    /// It does.
    pub visible: bool,
    /// Hint bits learnt on the way, to be set in the version's flags.
    pub hints: Flags,
}

/// Whether a version can be locked, updated or deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The snapshot of the command does not see that it was inserted.
    Invisible,
    /// Nobody ended it or holds it; what xmax says is of no consequence.
    Free,
    /// Nobody ended it; these hold locks on it.
    Locked(Lockers),
    /// A running transaction has ended it, this strongly.
    Ending(Member),
    /// This transaction ended it, in an earlier command or in this one (its number).
    EndedByMe(u32),
    /// A committed transaction ended it: by an update if its successor is another version.
    Ended,
}

/// Who holds locks on a row, of transactions that run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lockers {
    /// This transaction's locks, one for each of its ids that has one.
    pub mine: Vec<Member>,
    /// Other transactions'.
    pub others: Vec<Member>,
}

impl Lockers {
    /// Another transaction whose lock stands against one of this strength.
    pub fn conflict(&self, strength: RowLock) -> Option<Xid> {
        let against = |m: &&Member| m.strength.conflicts_with(strength);
        self.others.iter().find(against).map(|m| m.xid)
    }

    /// The strongest lock that this transaction has.
    pub fn strongest(&self) -> Option<RowLock> {
        self.mine.iter().map(|m| m.strength).max()
    }
}

/// What a version is to somebody who looks for duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Liveness {
    /// Nobody will ever see it again but through an old snapshot.
    Dead,
    /// It is there.
    Live,
    /// It will be there if this transaction commits.
    Inserting(Xid),
    /// It will be gone if this transaction commits.
    Deleting(Xid),
}

/// What a version is to vacuum and pruning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nobody sees it, ever again.
    Dead,
    /// Ended, but a snapshot may still see it.
    RecentlyDead,
    /// There.
    Live,
    /// Its inserter runs.
    InsertInProgress,
    /// Its deleter runs.
    DeleteInProgress,
}

const SEEN: bool = true;
const UNSEEN: bool = false;

impl Visibility {
    #[inline]
    fn of(visible: bool, hints: Flags) -> Visibility {
        Visibility { visible, hints }
    }
}

/// Whether xmax speaks of no end: nobody's, or a locker's.
#[inline]
fn is_not_ended(flags: Flags) -> bool {
    flags.any(Flags::XMAX_INVALID.with(Flags::LOCK_ONLY))
}

/// Whether `snapshot` sees the version.
#[inline]
pub fn check(txn: &Txn, snapshot: &Snapshot, t: &TupleHeader) -> Result<Visibility> {
    if t.flags.has(Flags::XMIN_COMMITTED)
        && (t.xmin < snapshot.bound || t.flags.has(Flags::XMIN_FROZEN))
        && is_not_ended(t.flags)
    {
        return Ok(Visibility::of(SEEN, Flags::NONE));
    }
    check_slow(txn, snapshot, t)
}

fn check_slow(txn: &Txn, snapshot: &Snapshot, t: &TupleHeader) -> Result<Visibility> {
    let mut hints = Flags::NONE;
    let flags = t.flags;
    if flags.has(Flags::XMIN_FROZEN) {
        // Inserted before everything.
    } else if flags.has(Flags::XMIN_ABORTED) {
        return Ok(Visibility::of(UNSEEN, hints));
    } else if flags.has(Flags::XMIN_COMMITTED) {
        if t.xmin >= snapshot.bound && !is_before(txn.outcome(t.xmin)?, snapshot) {
            return Ok(Visibility::of(UNSEEN, hints));
        }
    } else if txn.is_mine(t.xmin) {
        return Ok(Visibility::of(sees_own(txn, snapshot, t), hints));
    } else {
        match txn.outcome(t.xmin)? {
            Outcome::Running => return Ok(Visibility::of(UNSEEN, hints)),
            Outcome::Aborted => return Ok(Visibility::of(UNSEEN, Flags::XMIN_ABORTED)),
            Outcome::Committed(csn) => {
                if txn.is_durable(csn) {
                    hints = Flags::XMIN_COMMITTED;
                }
                if csn >= snapshot.csn {
                    return Ok(Visibility::of(UNSEEN, hints));
                }
                txn.observe_commit(t.xmin, csn)?;
            }
        }
    }
    if is_not_ended(flags) {
        return Ok(Visibility::of(SEEN, hints));
    }
    sees_past_end(txn, snapshot, t, hints)
}

/// A version that this transaction inserted.
fn sees_own(txn: &Txn, snapshot: &Snapshot, t: &TupleHeader) -> bool {
    if txn.cmin(t) >= snapshot.cid {
        return UNSEEN;
    }
    // Nobody else can have ended it: what is not this transaction's was a savepoint, rolled back.
    is_not_ended(t.flags) || !txn.is_mine(t.xmax) || txn.cmax(t) >= snapshot.cid
}

/// Whether a version that is there for the snapshot, and has an xmax that may have ended it, is seen.
fn sees_past_end(
    txn: &Txn,
    snapshot: &Snapshot,
    t: &TupleHeader,
    mut hints: Flags,
) -> Result<Visibility> {
    if t.flags.has(Flags::XMAX_COMMITTED) {
        let ended = t.xmax < snapshot.bound || is_before(txn.outcome(t.xmax)?, snapshot);
        return Ok(Visibility::of(!ended, hints));
    }
    if txn.is_mine(t.xmax) {
        return Ok(Visibility::of(txn.cmax(t) >= snapshot.cid, hints));
    }
    match txn.outcome(t.xmax)? {
        Outcome::Running => Ok(Visibility::of(SEEN, hints)),
        Outcome::Aborted => Ok(Visibility::of(SEEN, hints.with(Flags::XMAX_INVALID))),
        Outcome::Committed(csn) => {
            if txn.is_durable(csn) {
                hints = hints.with(Flags::XMAX_COMMITTED);
            }
            if csn >= snapshot.csn {
                return Ok(Visibility::of(SEEN, hints));
            }
            txn.observe_commit(t.xmax, csn)?;
            Ok(Visibility::of(UNSEEN, hints))
        }
    }
}

#[inline]
fn is_before(outcome: Outcome, snapshot: &Snapshot) -> bool {
    matches!(outcome, Outcome::Committed(csn) if csn < snapshot.csn)
}

/// Whether the version can be locked or ended by the current command (`cid`), and hints.
pub fn standing(txn: &Txn, cid: u32, t: &TupleHeader) -> Result<(Standing, Flags)> {
    let mut hints = Flags::NONE;
    let flags = t.flags;
    if flags.has(Flags::XMIN_COMMITTED) {
        // Also when frozen.
    } else if flags.has(Flags::XMIN_ABORTED) {
        return Ok((Standing::Invisible, hints));
    } else if txn.is_mine(t.xmin) {
        if txn.cmin(t) >= cid {
            return Ok((Standing::Invisible, hints));
        }
    } else {
        match txn.outcome(t.xmin)? {
            Outcome::Running => return Ok((Standing::Invisible, hints)),
            Outcome::Aborted => return Ok((Standing::Invisible, Flags::XMIN_ABORTED)),
            Outcome::Committed(csn) => {
                if txn.rely_on_commit(t.xmin, csn)? {
                    hints = Flags::XMIN_COMMITTED;
                }
            }
        }
    }
    if flags.has(Flags::XMAX_INVALID) {
        return Ok((Standing::Free, hints));
    }
    if flags.has(Flags::LOCK_ONLY) {
        let lockers = lockers(txn, t)?;
        if lockers == Lockers::default() {
            return Ok((Standing::Free, hints.with(Flags::XMAX_INVALID)));
        }
        return Ok((Standing::Locked(lockers), hints));
    }
    if flags.has(Flags::XMAX_COMMITTED) {
        return Ok((Standing::Ended, hints));
    }
    if txn.is_mine(t.xmax) {
        return Ok((Standing::EndedByMe(txn.cmax(t)), hints));
    }
    match txn.outcome(t.xmax)? {
        Outcome::Running => Ok((Standing::Ending(holder(t)), hints)),
        Outcome::Aborted => Ok((Standing::Free, hints.with(Flags::XMAX_INVALID))),
        Outcome::Committed(csn) => {
            if txn.rely_on_commit(t.xmax, csn)? {
                hints = hints.with(Flags::XMAX_COMMITTED);
            }
            Ok((Standing::Ended, hints))
        }
    }
}

/// xmax, if it is one transaction, with the strength that the flags tell.
fn holder(t: &TupleHeader) -> Member {
    Member { xid: t.xmax, strength: t.flags.strength() }
}

/// Who holds a lock in the version's xmax, which ended nothing ([`Flags::LOCK_ONLY`]).
pub fn lockers(txn: &Txn, t: &TupleHeader) -> Result<Lockers> {
    let mut lockers = Lockers::default();
    if t.flags.has(Flags::XMAX_INVALID) {
        return Ok(lockers);
    }
    let members = match t.flags.has(Flags::MULTI) {
        true => txn.manager().txlog().multis().members(MultiXactId(t.xmax.0))?,
        false => vec![holder(t)],
    };
    for member in members {
        if txn.is_mine(member.xid) {
            lockers.mine.push(member);
            continue;
        }
        match txn.outcome(member.xid)? {
            Outcome::Running => lockers.others.push(member),
            // Its lock is gone: snapshots from now on must include what was done under it.
            Outcome::Committed(csn) => txn.manager().wal().await_published(csn),
            Outcome::Aborted => {}
        }
    }
    Ok(lockers)
}

/// Whether the version's xmax is of somebody who holds a lock, or has ended it, or did so until a moment ago: its commit
/// is not yet one that all snapshots include.
pub fn is_held(txlog: &TxLog, horizon: Csn, t: &TupleHeader) -> Result<bool> {
    let holds = |xid| match txlog.outcome(xid)? {
        Outcome::Running => Ok(true),
        Outcome::Committed(csn) => Ok(csn >= horizon),
        Outcome::Aborted => Ok(false),
    };
    if t.flags.has(Flags::XMAX_INVALID) {
        return Ok(false);
    }
    if !t.flags.has(Flags::MULTI) {
        return holds(t.xmax);
    }
    for member in txlog.multis().members(MultiXactId(t.xmax.0))? {
        if holds(member.xid)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the version is to a unique check: everything committed at this moment counts, and everything this
/// transaction did. Observes what it relies on.
pub fn liveness(txn: &Txn, t: &TupleHeader) -> Result<(Liveness, Flags)> {
    let (standing, hints) = standing(txn, u32::MAX, t)?;
    let liveness = match standing {
        Standing::Free | Standing::Locked(_) => Liveness::Live,
        Standing::EndedByMe(_) | Standing::Ended => Liveness::Dead,
        Standing::Ending(by) => Liveness::Deleting(by.xid),
        Standing::Invisible => match txn.outcome_unless_hinted(t)? {
            Outcome::Running => Liveness::Inserting(t.xmin),
            Outcome::Aborted => Liveness::Dead,
            // It ran when its standing was looked at, and has committed since: look again.
            Outcome::Committed(_) => return liveness(txn, t),
        },
    };
    Ok((liveness, hints))
}

impl Txn {
    fn outcome_unless_hinted(&self, t: &TupleHeader) -> Result<Outcome> {
        if t.flags.has(Flags::XMIN_ABORTED) {
            return Ok(Outcome::Aborted);
        }
        self.outcome(t.xmin)
    }
}

/// What the version is to vacuum and pruning, when every snapshot sees all commits below `horizon`, and
/// they are durable ([`super::TxnManager::horizon`]). `durable` is the log's durable position.
pub fn fate(txlog: &TxLog, horizon: Csn, durable: Lsn, t: &TupleHeader) -> Result<(Fate, Flags)> {
    let mut hints = Flags::NONE;
    let flags = t.flags;
    if flags.has(Flags::XMIN_COMMITTED) {
        // Also when frozen.
    } else if flags.has(Flags::XMIN_ABORTED) {
        return Ok((Fate::Dead, hints));
    } else {
        match txlog.outcome(t.xmin)? {
            Outcome::Running => return Ok((Fate::InsertInProgress, hints)),
            Outcome::Aborted => return Ok((Fate::Dead, Flags::XMIN_ABORTED)),
            Outcome::Committed(csn) if durable_at(csn) <= durable => {
                hints = Flags::XMIN_COMMITTED;
            }
            Outcome::Committed(_) => {}
        }
    }
    if is_not_ended(flags) {
        return Ok((Fate::Live, hints));
    }
    match txlog.outcome(t.xmax)? {
        Outcome::Running => Ok((Fate::DeleteInProgress, hints)),
        Outcome::Aborted => Ok((Fate::Live, hints.with(Flags::XMAX_INVALID))),
        Outcome::Committed(csn) => {
            if durable_at(csn) <= durable {
                hints = hints.with(Flags::XMAX_COMMITTED);
            }
            let dead = csn < horizon;
            Ok((if dead { Fate::Dead } else { Fate::RecentlyDead }, hints))
        }
    }
}

/// Whether every snapshot there is or will be sees the version: for the visibility map.
pub fn is_visible_to_all(
    txlog: &TxLog,
    horizon: Csn,
    durable: Lsn,
    t: &TupleHeader,
) -> Result<bool> {
    if !is_not_ended(t.flags) {
        return Ok(false);
    }
    if t.flags.has(Flags::XMIN_FROZEN) {
        return Ok(true);
    }
    if t.flags.has(Flags::XMIN_ABORTED) {
        return Ok(false);
    }
    Ok(match txlog.outcome(t.xmin)? {
        Outcome::Committed(csn) => csn < horizon && durable_at(csn) <= durable,
        Outcome::Running | Outcome::Aborted => false,
    })
}
