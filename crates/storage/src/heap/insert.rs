//! Inserting one row, and taking it back.

use super::page;
use super::room::Did;
use super::{HeapRel, check_row};
use crate::buffer::WriteGuard;
use crate::error::Result;
use crate::journal::Journal;
use crate::page::PageMut;
use crate::txn::{Flags, TupleHeader, Txn};
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Tid, Xid, sim};

/// Log bytes of clearing a page's visibility.
pub(super) const CLEAR_BYTES: usize = record_bound(1, 2, 8);

impl HeapRel {
    /// Stores a row; it is visible to later commands of the transaction, and to others once it commits.
    pub fn insert(&self, txn: &Txn, row: &[u8]) -> Result<Tid> {
        check_row(row)?;
        let (xid, cid) = (txn.xid()?, txn.command());
        let bytes = CLEAR_BYTES + record_bound(1, 1, 2 + row.len());
        let mut journal = Journal::open(&self.wal, &self.rel, 2, bytes)?;
        let _window = sim::window("heap-inserted");
        let mut page = self.page_with_room(txn, row.len(), None)?;
        self.clear_visible(&mut page, &mut journal)?;
        page.mark_dirty();
        let anew = prepare(&mut page);
        let offset = page.free_slot();
        let tid = Tid { block: page.block(), offset };
        put(&mut page, offset, &TupleHeader::inserted(xid, cid, tid), row);
        let offset_bytes = offset.to_le_bytes();
        let at = journal.insert(|terms| {
            let record = terms.record(Kind::HEAP_INSERT, xid);
            let record = match anew {
                true => record.init_block(&page, &offset_bytes),
                false => record.block(&page, &offset_bytes),
            };
            record.more(row)
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
        drop(page);
        self.count(txn, Did::Insert(1));
        Ok(tid)
    }

    /// Takes back a row that this transaction has just inserted, because it can't stay (a speculative
    /// insert that met a duplicate). Nobody will ever see it; vacuum removes it.
    pub fn take_back(&self, txn: &Txn, tid: Tid) -> Result<()> {
        let xid = txn.xid()?;
        let mut journal = Journal::open(&self.wal, &self.rel, 1, record_bound(1, 1, 2))?;
        let mut page = self.rel.write(Fork::Main, tid.block)?;
        let found = page::version(page.view(), tid.offset);
        let item = found.ok_or_else(|| self.damaged(tid, "is not there to be taken back"))?;
        assert!(
            txn.is_mine(page::header(page.view(), item).xmin),
            "a row is taken back by its maker"
        );
        page.mark_dirty();
        take_back(&mut page, tid.offset, xid);
        let bytes = tid.offset.to_le_bytes();
        let at =
            journal.insert(|terms| terms.record(Kind::HEAP_TAKE_BACK, xid).block(&page, &bytes));
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
        drop(page);
        self.count(txn, Did::Delete);
        Ok(())
    }
}

/// Initialises a page that is all zero; tells whether it was.
pub(super) fn prepare(page: &mut WriteGuard<'_>) -> bool {
    let anew = page.is_new();
    if anew {
        page::init(page);
    }
    anew
}

/// Stores a version; the forward path and redo.
pub(super) fn put(page: &mut PageMut<'_>, offset: u16, header: &TupleHeader, row: &[u8]) {
    page::put_version(page, offset, header, &[row]);
}

/// Redo of an insert.
pub(super) fn redo(page: &mut PageMut<'_>, block: BlockNo, xid: Xid, bytes: &[u8]) {
    if page.is_new() {
        page::init(page);
    }
    let (offset, row) = bytes.split_at(2);
    let offset = u16::from_le_bytes([offset[0], offset[1]]);
    put(page, offset, &TupleHeader::inserted(xid, 0, Tid { block, offset }), row);
}

/// The change of `take_back`; the forward path and redo.
pub(super) fn take_back(page: &mut PageMut<'_>, offset: u16, xid: Xid) {
    let item = page::version(page.view(), offset).expect("a version taken back is there");
    let mut header = page::header(page.view(), item);
    header.flags = header.flags.with(Flags::XMIN_ABORTED);
    page::set_header(page, item, &header);
    page::note_prunable(page, xid);
}
