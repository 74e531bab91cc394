//! Several transactions with locks on one row: who is written into xmax, and who sees to it that a rollback
//! takes nobody's lock away.
//!
//! | xmax | means |
//! |---|---|
//! | one id, `LOCK_ONLY` | it holds the lock that the flags tell |
//! | a multixact, `LOCK_ONLY` | its members hold theirs |
//! | one id | it updated or deleted the row; whoever holds KEY SHARE beside it is in the successor's xmax |
//!
//! An id that takes the place of locks which outlive its rollback leaves a *duty* with its transaction
//! ([`crate::lock::Duty`]): before the rollback is visible, the locks go back to where they were. Locks are not
//! logged: after a crash nobody holds any, and no id that is on disk is ever handed out again.

use super::contest::{Contest, Want};
use super::{HeapRel, Outcome, page};
use crate::buffer::Relation;
use crate::complaint::complain;
use crate::error::{Error, Result};
use crate::lock::{Duty, SessionId};
use crate::page::Item;
use crate::txlog::{Member, MultiXactId, Outcome as XactOutcome};
use crate::txn::visibility::{Lockers, lockers};
use crate::txn::{Flags, TupleHeader, Txn, TxnManager};
use base::park;
use base::wait_event::{self, Event};
use base::{Fork, Tid, Xid};
use std::sync::Arc;
use std::time::Duration;

/// How long a duty waits before it tries again.
const RETRY: Duration = Duration::from_millis(100);

/// What an xmax of locks consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockWord {
    xmax: Xid,
    flags: Flags,
}

impl LockWord {
    /// One transaction's lock.
    pub fn single(member: Member) -> LockWord {
        let flags = Flags::LOCK_ONLY.with(Flags::of_strength(member.strength));
        LockWord { xmax: member.xid, flags }
    }

    fn multi(id: MultiXactId) -> LockWord {
        LockWord { xmax: Xid(id.0), flags: Flags::LOCK_ONLY.with(Flags::MULTI) }
    }

    /// The locks in a version's xmax, if there is one that may still be held.
    pub fn of(header: &TupleHeader) -> Option<LockWord> {
        let locked = header.flags.has(Flags::LOCK_ONLY) && !header.flags.has(Flags::XMAX_INVALID);
        let kept = Flags(header.flags.0 & LOCK_FLAGS.0);
        locked.then_some(LockWord { xmax: header.xmax, flags: kept })
    }

    /// The header with these locks in place of whatever xmax said. Whoever calls knows that nobody ended
    /// the version: its successor is itself.
    pub fn put_into(self, header: &mut TupleHeader, own: Tid) {
        header.xmax = self.xmax;
        header.flags = header.flags.without(Flags::XMAX_ALL).with(self.flags);
        header.successor = own;
    }
}

/// What of the flags goes with locks from version to version.
const LOCK_FLAGS: Flags =
    Flags::LOCK_ONLY.with(Flags::MULTI).with(Flags::LOCK_LOW).with(Flags::LOCK_HIGH);

/// A multixact made for a version's state; worth nothing if the state has changed.
#[derive(Default)]
pub(super) struct Made(Option<(Xid, Flags, MultiXactId)>);

impl Made {
    /// The locks to write for all of `members` into a version with this header. `None` with the members that
    /// a multixact must be made of, without latch, by [`Made::make`].
    pub fn word(&self, header: &TupleHeader, members: &[Member]) -> Option<LockWord> {
        if let [member] = members {
            return Some(LockWord::single(*member));
        }
        let (xmax, flags, id) = self.0?;
        let same = xmax == header.xmax && flags == key_flags(header.flags);
        same.then(|| LockWord::multi(id))
    }

    /// Makes a multixact for the state that `header` is in. No latch may be held.
    pub fn make(
        &mut self,
        txns: &TxnManager,
        header: &TupleHeader,
        members: &[Member],
    ) -> Result<()> {
        let id = txns.txlog().multis().create(members)?;
        self.0 = Some((header.xmax, key_flags(header.flags), id));
        Ok(())
    }
}

/// The flags that, with xmax, tell one set of lockers from another.
fn key_flags(flags: Flags) -> Flags {
    Flags(flags.0 & LOCK_FLAGS.0)
}

/// The members of a row's lock when `me` comes in: others, this transaction's other ids, and `me`.
pub(super) fn joined(lockers: &Lockers, me: Member) -> Vec<Member> {
    let mine = lockers.mine.iter().filter(|m| m.xid != me.xid);
    lockers.others.iter().chain(mine).copied().chain([me]).collect()
}

impl HeapRel {
    /// Leaves a duty with `xid`, about to take the place of locks in the xmax of the version at `tid`: if it
    /// rolls back, `own` (this transaction's) go back, with those that the successor has then.
    pub(super) fn leave_duty(
        &self,
        runner: SessionId,
        xid: Xid,
        tid: Tid,
        own: Vec<Member>,
    ) -> bool {
        let (rel, txns) = (self.rel.clone(), Arc::clone(&self.txns));
        let duty: Duty = Box::new(move |ended| {
            give_back(&rel, &txns, tid, &GivenUp { xid, ended, own: &own });
        });
        self.txns.locks().leave_duty(runner, xid, self.key(tid), duty)
    }

    /// Before `xid` ends the version at `tid`: sees to the locks that it takes the place of.
    pub(super) fn take_over(
        &self,
        txn: &Txn,
        tid: Tid,
        header: &TupleHeader,
        lockers: &Lockers,
        xid: Xid,
    ) {
        // Others' locks go on to the new version, a multixact with its members of this transaction.
        let outer = match header.flags.has(Flags::MULTI) && !lockers.others.is_empty() {
            true => Vec::new(),
            false => Self::outer_locks(lockers, xid),
        };
        if !outer.is_empty() || !lockers.others.is_empty() {
            self.leave_duty(txn.session(), xid, tid, outer);
        }
    }

    /// The locks of levels around the current one, `xid`, that `xid` is about to take the place of. All of them: any of the
    /// levels may be rolled back by itself.
    pub(super) fn outer_locks(lockers: &Lockers, xid: Xid) -> Vec<Member> {
        lockers.mine.iter().filter(|m| m.xid != xid).copied().collect()
    }

    /// Takes KEY SHARE on a row that a running transaction updates without changing its key: in the xmax of
    /// the newest version, where it stays if the update commits. `None`: look at the row again.
    pub(super) fn lock_beside(
        &self,
        txn: &Txn,
        contest: &mut Contest<'_>,
        tid: Tid,
        me: Member,
    ) -> Result<Option<Outcome>> {
        let mut at = tid;
        let mut passed: Vec<(SessionId, Xid)> = Vec::new();
        loop {
            let Some(header) = self.header_of(at)? else { return Ok(None) };
            if !is_made_by(&header, passed.last()) {
                return Ok(None);
            }
            if self.is_not_ended(&header)? {
                break;
            }
            let Some(runner) = self.txns.txlog().runner(header.xmax)?.map(SessionId) else {
                return Ok(None);
            };
            if runner == txn.session() {
                return Ok(None);
            }
            let ended = header.successor == at;
            if ended || header.flags.strength().conflicts_with(me.strength) {
                return self.wait_beside(contest, header.xmax);
            }
            if !self.leave_duty(runner, header.xmax, at, Vec::new()) {
                return self.wait_beside(contest, header.xmax);
            }
            passed.push((runner, header.xmax));
            at = header.successor;
        }
        let Some((_, maker)) = passed.last().copied() else { return Ok(None) };
        match self.join(txn, at, maker, me)? {
            Joined::Done => {}
            Joined::Again => return Ok(None),
            Joined::Conflict(xid) => return self.wait_beside(contest, xid),
        }
        // Did a rollback begin meanwhile? Its duties may not have seen the lock.
        for (runner, xid) in passed {
            if !self.txns.locks().takes_duties(runner, xid)? {
                return self.wait_beside(contest, xid);
            }
        }
        Ok(Some(Outcome::Done { tid, heap_only: false }))
    }

    /// Whether nobody ended the version, or who did rolled back: a savepoint's change, where its transaction runs on.
    fn is_not_ended(&self, header: &TupleHeader) -> Result<bool> {
        Ok(header.flags.any(Flags::XMAX_INVALID.with(Flags::LOCK_ONLY))
            || self.txns.txlog().outcome(header.xmax)? == XactOutcome::Aborted)
    }

    /// Waits for a transaction that stands in the way; `Some` if the caller does not want to wait.
    fn wait_beside(&self, contest: &mut Contest<'_>, xid: Xid) -> Result<Option<Outcome>> {
        Ok(if contest.wait(Want::End(xid, None))? { None } else { Some(Outcome::WouldBlock) })
    }

    /// Adds a lock to the newest version of a row, which its maker, `maker`, may still lock or update itself.
    fn join(&self, txn: &Txn, at: Tid, maker: Xid, me: Member) -> Result<Joined> {
        let mut made = Made::default();
        loop {
            let mut page = self.rel.write(Fork::Main, at.block)?;
            let Some(item) = page::version(page.view(), at.offset) else {
                return Ok(Joined::Again);
            };
            let mut header = page::header(page.view(), item);
            if header.xmin != maker || !self.is_not_ended(&header)? {
                return Ok(Joined::Again);
            }
            let lockers = lockers(txn, &header)?;
            if lockers.strongest() >= Some(me.strength) {
                return Ok(Joined::Done);
            }
            if let Some(xid) = lockers.conflict(me.strength) {
                return Ok(Joined::Conflict(xid));
            }
            let members = joined(&lockers, me);
            let Some(word) = made.word(&header, &members) else {
                drop(page);
                made.make(&self.txns, &header, &members)?;
                continue;
            };
            word.put_into(&mut header, at);
            page.mark_dirty();
            page::set_header(&mut page, item, &header);
            return Ok(Joined::Done);
        }
    }
}

/// Whether a version was made by who ended the one before it, if there was one. Else the update was rolled back, and the
/// place has gone to another row.
fn is_made_by(header: &TupleHeader, before: Option<&(SessionId, Xid)>) -> bool {
    before.is_none_or(|(_, maker)| header.xmin == *maker)
}

/// What came of joining the lockers of a version.
enum Joined {
    Done,
    /// The version changed.
    Again,
    /// This one's lock stands against it.
    Conflict(Xid),
}

/// A place in a version's xmax that is given up.
struct GivenUp<'a> {
    /// Who had it, about to roll back.
    xid: Xid,
    /// All ids that roll back with it, ascending.
    ended: &'a [Xid],
    /// The locks of the same transaction that it took the place of.
    own: &'a [Member],
}

/// A duty: puts locks back into the xmax that an id, about to roll back, had taken.
fn give_back(rel: &Relation, txns: &TxnManager, tid: Tid, place: &GivenUp<'_>) {
    loop {
        match try_give_back(rel, txns, tid, place) {
            Ok(true) => return,
            // Somebody joined in between.
            Ok(false) => {}
            // Nobody else can read the page either, and take the row for free.
            Err(error @ Error::Damaged { .. }) => {
                complain("a rollback that has to give locks of rows back", &error);
                return;
            }
            // The disk refused; a rollback has nobody to tell, and must not lose anybody's lock.
            Err(_) => {
                let _waiting = wait_event::during(Event::Retry);
                park::sleep(RETRY);
            }
        }
    }
}

/// Whether it is done; if not, the version changed meanwhile.
fn try_give_back(rel: &Relation, txns: &TxnManager, tid: Tid, place: &GivenUp<'_>) -> Result<bool> {
    let Some((_, before)) = read(rel, tid)? else { return Ok(true) };
    let Some(word) = word_without(rel, txns, tid, &before, place)? else { return Ok(true) };
    let mut page = rel.write(Fork::Main, tid.block)?;
    let Some(item) = page::version(page.view(), tid.offset) else { return Ok(true) };
    let mut header = page::header(page.view(), item);
    if (header.xmax, key_flags(header.flags)) != (before.xmax, key_flags(before.flags)) {
        return Ok(false);
    }
    word.put_into(&mut header, tid);
    page.mark_dirty();
    page::set_header(&mut page, item, &header);
    Ok(true)
}

/// The locks of a version without who gives up its place there; `None` if nothing is to be written.
fn word_without(
    rel: &Relation,
    txns: &TxnManager,
    tid: Tid,
    header: &TupleHeader,
    place: &GivenUp<'_>,
) -> Result<Option<LockWord>> {
    let GivenUp { xid, own, ended } = *place;
    let multis = txns.txlog().multis();
    let members_of = |word: LockWord| match word.flags.has(Flags::MULTI) {
        true => multis.members(MultiXactId(word.xmax.0)),
        false => Ok(vec![Member { xid: word.xmax, strength: word.flags.strength() }]),
    };
    let locks = LockWord::of(header);
    let beside = match locks {
        Some(word) => Some(word),
        // It ended the version; whoever got along with that is at the newest, where nobody can join any
        // more: the duties of `xid` are closed.
        None if header.xmax == xid && header.successor != tid => {
            newest(rel, header.successor, ended)?.and_then(|newest| LockWord::of(&newest))
        }
        None if header.xmax == xid => None,
        None => return Ok(None),
    };
    let mut members = match beside {
        None => Vec::new(),
        Some(word) if own.is_empty() && locks.is_none() => return Ok(Some(word)),
        Some(word) => members_of(word)?,
    };
    if locks.is_some() && !members.iter().any(|m| m.xid == xid) {
        return Ok(None);
    }
    if own.is_empty() {
        return Ok(None);
    }
    members.retain(|m| m.xid != xid && own.iter().all(|back| back.xid != m.xid));
    members.extend(own);
    Ok(Some(match members[..] {
        [own] => LockWord::single(own),
        _ => LockWord::multi(multis.create(&members)?),
    }))
}

/// The version at `at`, or the last of those that `ended` have made of it: whether their own duties come before or after
/// is then the same.
fn newest(rel: &Relation, mut at: Tid, ended: &[Xid]) -> Result<Option<TupleHeader>> {
    loop {
        let Some((_, header)) = read(rel, at)? else { return Ok(None) };
        let goes_on = !header.flags.any(Flags::XMAX_INVALID.with(Flags::LOCK_ONLY))
            && ended.binary_search(&header.xmax).is_ok()
            && header.successor != at;
        if !goes_on {
            return Ok(Some(header));
        }
        at = header.successor;
    }
}

fn read(rel: &Relation, tid: Tid) -> Result<Option<(Item, TupleHeader)>> {
    let page = rel.read(Fork::Main, tid.block)?;
    let item = page::version(page.view(), tid.offset);
    Ok(item.map(|item| (item, page::header(page.view(), item))))
}
