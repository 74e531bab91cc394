//! Locking a row without changing it: SELECT … FOR UPDATE and its kin.
//!
//! The lock is the transaction's id in xmax, or a multixact's, with a flag that says that it ended nothing. It
//! is not logged: after a crash nobody holds a lock.

use super::contest::{Contest, Verdict};
use super::share::{LockWord, Made, joined};
use super::{HeapRel, Outcome, page};
use crate::error::Result;
use crate::lock::{RowLock, RowTurn, WaitPolicy};
use crate::txlog::Member;
use crate::txn::Txn;
use base::{Fork, Tid, park};

impl HeapRel {
    /// Locks the version at `tid` until the transaction ends. `policy` says whether to wait for others;
    /// `turn` is what an earlier attempt ended with ([`Outcome::Updated`]).
    pub fn lock_row(
        &self,
        txn: &Txn,
        tid: Tid,
        strength: RowLock,
        policy: WaitPolicy,
        turn: Option<RowTurn>,
    ) -> Result<Outcome> {
        let (xid, cid) = (txn.xid()?, txn.command());
        let me = Member { xid, strength };
        let mut contest = Contest::new(self, txn, tid, strength, policy, turn);
        let mut made = Made::default();
        loop {
            let mut page = self.rel.write(Fork::Main, tid.block)?;
            let (item, mut header, word) = match contest.judge(&mut page, cid)? {
                Verdict::Free(item, header) => (item, header, LockWord::single(me)),
                Verdict::Locked(item, header, lockers) => {
                    if lockers.strongest() >= Some(strength) {
                        return Ok(Outcome::Done { tid, heap_only: false });
                    }
                    let alone = lockers.others.is_empty();
                    let outer = Self::outer_locks(&lockers, xid);
                    if alone && !outer.is_empty() {
                        self.leave_duty(txn.session(), xid, tid, outer);
                    }
                    let members = if alone { vec![me] } else { joined(&lockers, me) };
                    let Some(word) = made.word(&header, &members) else {
                        drop(page);
                        made.make(&self.txns, &header, &members)?;
                        continue;
                    };
                    (item, header, word)
                }
                Verdict::Beside => {
                    drop(page);
                    match self.lock_beside(txn, &mut contest, tid, me)? {
                        Some(outcome) => return Ok(outcome),
                        None => {
                            base::interrupt::check()?;
                            park::checkpoint();
                            continue;
                        }
                    }
                }
                Verdict::Wait(want) => {
                    drop(page);
                    if !contest.wait(want)? {
                        return Ok(Outcome::WouldBlock);
                    }
                    continue;
                }
                Verdict::Over(end) => {
                    drop(page);
                    return contest.lost(self, end);
                }
            };
            // A successor whose transaction rolled back is none.
            word.put_into(&mut header, tid);
            page.mark_dirty();
            page::set_header(&mut page, item, &header);
            drop(page);
            contest.won(xid, None);
            return Ok(Outcome::Done { tid, heap_only: false });
        }
    }
}
