//! Deleting a row: its version gets an end.

use super::contest::{Contest, Verdict};
use super::insert::CLEAR_BYTES;
use super::room::Did;
use super::update::{end_version, ended_by, logged, pack, redo_end};
use super::{HeapRel, Outcome, page};
use crate::error::Result;
use crate::journal::Journal;
use crate::lock::{RowLock, RowTurn, WaitPolicy};
use crate::page::PageMut;
use crate::txn::{Flags, Lockers, Txn};
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Tid, Xid};

/// Offset and flags.
const HEAD_BYTES: usize = 4;

impl HeapRel {
    /// Deletes the version at `tid`. Waits for transactions that hold the row. `turn` is what an earlier
    /// attempt ended with ([`Outcome::Updated`]).
    pub fn delete(&self, txn: &Txn, tid: Tid, turn: Option<RowTurn>) -> Result<Outcome> {
        let (xid, cid) = (txn.xid()?, txn.command());
        let mut contest = Contest::new(self, txn, tid, RowLock::Update, WaitPolicy::Block, turn);
        loop {
            let bytes = CLEAR_BYTES + record_bound(1, 1, HEAD_BYTES);
            let mut journal = Journal::open(&self.wal, &self.rel, 2, bytes)?;
            let mut page = self.rel.write(Fork::Main, tid.block)?;
            let (item, header, lockers) = match contest.judge(&mut page, cid)? {
                Verdict::Free(item, header) => (item, header, Lockers::default()),
                Verdict::Locked(item, header, lockers) => (item, header, lockers),
                Verdict::Beside => unreachable!("nothing is deleted beside another's update"),
                Verdict::Wait(want) => {
                    drop((page, journal));
                    contest.wait(want)?;
                    continue;
                }
                Verdict::Over(end) => {
                    drop((page, journal));
                    return contest.lost(self, end);
                }
            };
            self.clear_visible(&mut page, &mut journal)?;
            self.take_over(txn, tid, &header, &lockers, xid);
            let mut ended = ended_by(txn, xid, &header, RowLock::Update);
            ended.flags = ended.flags.with(Flags::KEYS_UPDATED);
            ended.successor = tid;
            page.mark_dirty();
            end_version(&mut page, item, &ended);
            let head: [u8; HEAD_BYTES] = pack([tid.offset, logged(ended.flags)]);
            let at =
                journal.insert(|terms| terms.record(Kind::HEAP_DELETE, xid).block(&page, &head));
            if let Some(at) = at {
                page.set_lsn(at.end);
            }
            drop(page);
            contest.won(xid, None);
            self.count(txn, Did::Delete);
            return Ok(Outcome::Done { tid, heap_only: false });
        }
    }
}

/// Redo of a delete.
pub(super) fn redo(page: &mut PageMut<'_>, block: BlockNo, xid: Xid, bytes: &[u8]) {
    let field = |i: usize| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    let tid = Tid { block, offset: field(0) };
    let item = page::version(page.view(), tid.offset).expect("a deleted version is there (H6)");
    redo_end(page, item, xid, field(1), tid);
}
