//! Locking a row without changing it: SELECT … FOR UPDATE and its kin.
//!
//! The lock is the transaction's id in xmax, with a flag that says it ended nothing. It is logged, so that an
//! id on a page never lies beyond the end of the log: after a crash it would be handed out again.
//!
//! One id fits. Who wants to share a row with another locker waits for now; several lockers at once need
//! multixacts.

use super::contest::{Contest, Verdict};
use super::insert::CLEAR_BYTES;
use super::update::{pack, strength_flags};
use super::{HeapRel, Outcome, page};
use crate::error::Result;
use crate::journal::Journal;
use crate::lock::{RowLock, RowTurn, WaitPolicy};
use crate::page::PageMut;
use crate::txn::{Flags, Txn};
use crate::wal::{Kind, Record, record_bound};
use base::{Fork, Tid, Xid};

/// Offset and flags.
const HEAD_BYTES: usize = 4;

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
        let mut contest = Contest::new(self, txn, tid, strength, policy, turn);
        loop {
            let bytes = CLEAR_BYTES + record_bound(1, 1, HEAD_BYTES);
            let mut journal = Journal::open(&self.wal, &self.rel, 2, bytes)?;
            let mut page = self.rel.write(Fork::Main, tid.block)?;
            let (item, mut header) = match contest.judge(&mut page, cid)? {
                Verdict::Mine(_, header) if strength_of(header.flags) >= strength => {
                    return Ok(Outcome::Done { tid, heap_only: false });
                }
                Verdict::Free(item, header) | Verdict::Mine(item, header) => (item, header),
                Verdict::Wait(want) => {
                    drop((page, journal));
                    if !contest.wait(want)? {
                        return Ok(Outcome::WouldBlock);
                    }
                    continue;
                }
                Verdict::Over(end) => {
                    drop((page, journal));
                    return contest.lost(self, end);
                }
            };
            self.clear_visible(&mut page, &mut journal)?;
            let flags = header.flags.without(Flags::XMAX_ALL).with(Flags::LOCK_ONLY);
            header.flags = flags.with(strength_flags(strength));
            header.xmax = xid;
            // A successor whose transaction rolled back is none.
            header.successor = tid;
            page.mark_dirty();
            page::set_header(&mut page, item, &header);
            let head: [u8; HEAD_BYTES] = pack([tid.offset, header.flags.0]);
            let at = journal.insert(|| Record::new(Kind::HEAP_LOCK, xid).block(&page, &head));
            if let Some(at) = at {
                page.set_lsn(at.end);
            }
            drop(page);
            contest.won(xid, None);
            return Ok(Outcome::Done { tid, heap_only: false });
        }
    }
}

fn strength_of(flags: Flags) -> RowLock {
    RowLock::from_bits((flags.0 >> Flags::LOCK_LOW.0.trailing_zeros()) as u8)
}

/// Redo of a lock: nobody holds it any more, but the bytes are the same.
pub(super) fn redo(page: &mut PageMut<'_>, tid: Tid, xid: Xid, bytes: &[u8]) {
    let flags = u16::from_le_bytes([bytes[2], bytes[3]]);
    let item = page::version(page.view(), tid.offset).expect("a locked version is there (H6)");
    let mut header = page::header(page.view(), item);
    header.xmax = xid;
    header.flags = Flags(flags).without(Flags::COMBO);
    header.successor = tid;
    page::set_header(page, item, &header);
}
