//! Getting at a row that others may want too: judge it, queue, wait, look again.
//!
//! Who finds a row held, or queued for, takes its turn in the row's queue and waits for the holder at the
//! head of it. The turn is kept until this transaction's id is in the row (then it is passed on) or the row
//! turns out not to be had (then it is dropped). No latch is held while anything is waited for (H7).

use super::{HeapRel, Outcome, page};
use crate::buffer::{Optimistic, WriteGuard};
use crate::error::{Error, Result};
use crate::lock::{RowKey, RowLock, RowTurn, WaitPolicy};
use crate::page::Item;
use crate::txn::visibility::standing;
use crate::txn::{FLAGS_OFFSET, Flags, Lockers, Standing, TupleHeader, Txn};
use base::{Fork, Tid, Xid};

/// One attempt to change or lock a row, over all its waits.
pub(super) struct Contest<'t> {
    txn: &'t Txn,
    key: RowKey,
    strength: RowLock,
    policy: WaitPolicy,
    turn: Option<RowTurn>,
}

/// What the latched page says about the row.
pub(super) enum Verdict {
    /// The row can be had, as the page is latched.
    Free(Item, TupleHeader),
    /// It can be had beside the locks that are on it: this transaction's, or others' that do not conflict.
    Locked(Item, TupleHeader, Lockers),
    /// A running transaction has ended the version, in a way that leaves room for this lock beside it.
    Beside,
    /// Unlatch, call [`Contest::wait`], look again.
    Wait(Want),
    /// The attempt is over.
    Over(End),
}

/// What is to be waited for.
pub(super) enum Want {
    /// The turn at the row, which goes on in this version, if any, when the holder commits.
    Turn(Option<Tid>),
    /// A transaction's end; then the row goes on in this version, if any.
    End(Xid, Option<Tid>),
}

/// How an attempt can end without effect.
pub(super) enum End {
    SelfModified,
    /// Others' commits ended the version: find out what came of it, without latch.
    Ended,
    /// The version is no version any more.
    Gone,
}

impl<'t> Contest<'t> {
    pub fn new(
        heap: &HeapRel,
        txn: &'t Txn,
        tid: Tid,
        strength: RowLock,
        policy: WaitPolicy,
        turn: Option<RowTurn>,
    ) -> Contest<'t> {
        let key = heap.key(tid);
        // A turn got for an older version may have been overtaken by the row.
        let turn = turn.filter(|turn| turn.follow(key, None));
        Contest { txn, key, strength, policy, turn }
    }

    /// Judges the version on its latched page. `cid`: the current command.
    pub fn judge(&self, page: &mut WriteGuard<'_>, cid: u32) -> Result<Verdict> {
        let offset = self.key.tid.offset;
        let Some(item) = page::version(page.view(), offset) else {
            return Ok(Verdict::Over(End::Gone));
        };
        let header = page::header(page.view(), item);
        let (standing, hints) = standing(self.txn, cid, &header)?;
        if hints != Flags::NONE {
            let flags = header.flags.with(hints).0;
            page.put_u16(item.offset + FLAGS_OFFSET, flags);
        }
        Ok(match standing {
            // Others wait for it: this one does, too, at the end of their queue.
            // Not where the version is this transaction's own: the queue waits for its end.
            Standing::Free
                if self.turn.is_none()
                    && self.txn.row_is_queued(self.key)
                    && !self.txn.is_mine(header.xmin) =>
            {
                Verdict::Wait(Want::Turn(None))
            }
            Standing::Free => Verdict::Free(item, header),
            Standing::Locked(lockers) => match lockers.conflict(self.strength) {
                // Who has a lock on the row already goes before those who queue: they wait for it to end.
                Some(xid) if !lockers.mine.is_empty() => Verdict::Wait(Want::End(xid, None)),
                Some(xid) => self.held(xid, None),
                None => Verdict::Locked(item, header, lockers),
            },
            Standing::Ending(by) if by.strength.conflicts_with(self.strength) => {
                self.held(by.xid, Some(header.successor))
            }
            Standing::Ending(_) => Verdict::Beside,
            Standing::EndedByMe(_) => Verdict::Over(End::SelfModified),
            Standing::Ended => Verdict::Over(End::Ended),
            Standing::Invisible if self.txn.is_mine(header.xmin) => {
                Verdict::Over(End::SelfModified)
            }
            Standing::Invisible => Verdict::Over(End::Gone),
        })
    }

    /// Somebody is in the way: first the turn, then that transaction's end.
    fn held(&self, by: Xid, successor: Option<Tid>) -> Verdict {
        let updated = successor.filter(|successor| *successor != self.key.tid);
        Verdict::Wait(if self.turn.is_none() {
            Want::Turn(updated)
        } else {
            Want::End(by, updated)
        })
    }

    /// Waits for what the verdict said; false if the policy is not to wait. No latch may be held.
    pub fn wait(&mut self, want: Want) -> Result<bool> {
        match want {
            Want::Turn(successor) => {
                let successor = self.version(successor);
                match self.txn.row_turn(self.key, successor, self.strength, self.policy) {
                    Ok(turn) => self.turn = Some(turn),
                    Err(Error::LockNotAvailable) => return Ok(false),
                    Err(error) => return Err(error),
                }
            }
            Want::End(..) if self.policy == WaitPolicy::Never => return Ok(false),
            Want::End(xid, successor) => {
                let successor = self.version(successor);
                self.turn = self.turn.take().filter(|turn| turn.follow(self.key, successor));
                self.txn.wait_for(xid)?;
            }
        }
        Ok(true)
    }

    /// This transaction's id, `holder`, is in the row, whose new version is at `successor`: the next in
    /// the queue may wait for it.
    pub fn won(self, holder: Xid, successor: Option<Tid>) {
        let successor = self.version(successor);
        if let Some(turn) = self.turn {
            turn.pass(holder, self.key, successor);
        }
    }

    /// Another version of the row, as its queue knows it.
    fn version(&self, tid: Option<Tid>) -> Option<RowKey> {
        tid.map(|tid| RowKey { tid, ..self.key })
    }

    /// Says how the attempt ended. No latch may be held.
    pub fn lost(self, heap: &HeapRel, end: End) -> Result<Outcome> {
        match end {
            End::SelfModified => Ok(Outcome::SelfModified),
            End::Gone => Ok(Outcome::Deleted),
            End::Ended => match heap.newest(self.txn, self.key.tid)? {
                Some(newest) => Ok(Outcome::Updated { newest, turn: self.turn }),
                None => Ok(Outcome::Deleted),
            },
        }
    }
}

impl HeapRel {
    /// Follows committed updates from a version that one ended to the latest; `None`: the row was deleted.
    fn newest(&self, txn: &Txn, from: Tid) -> Result<Option<Tid>> {
        let mut at = from;
        let mut expected_xmin = None;
        loop {
            let Some(header) = self.header_of(at)? else { return Ok(None) };
            if expected_xmin.is_some_and(|xmin| header.xmin != xmin) {
                // The place has gone to another row; what was here ended too.
                return Ok(None);
            }
            if standing(txn, u32::MAX, &header)?.0 != Standing::Ended {
                return Ok(Some(at));
            }
            if header.successor == at {
                return Ok(None);
            }
            (at, expected_xmin) = (header.successor, Some(header.xmax));
        }
    }

    /// Whether the committed updates that lead from one version of a row to a later one left its key alone. A
    /// snapshot in force sees the first.
    pub fn kept_key(&self, from: Tid, to: Tid) -> Result<bool> {
        let mut at = from;
        while at != to {
            let Some(header) = self.header_of(at)? else { return Ok(false) };
            let ended = header.successor == at;
            if ended || header.flags.strength().conflicts_with(RowLock::KeyShare) {
                return Ok(false);
            }
            at = header.successor;
        }
        Ok(true)
    }

    /// A version's header, read without a latch if that works.
    pub(super) fn header_of(&self, tid: Tid) -> Result<Option<TupleHeader>> {
        let read = |page: crate::page::PageView<'_>| {
            page::version(page, tid.offset).map(|item| page::header(page, item))
        };
        match self.rel.optimistic(Fork::Main, tid.block, |page| Some(read(page))) {
            Optimistic::Ok(header) => Ok(header),
            Optimistic::Retry => Ok(read(self.rel.read(Fork::Main, tid.block)?.view())),
        }
    }
}
