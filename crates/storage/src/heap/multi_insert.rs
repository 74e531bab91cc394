//! Inserting many rows: as many as fit on a page with one latch and one log record.

use super::insert::{CLEAR_BYTES, prepare};
use super::room::Did;
use super::{HeapRel, check_row, page, vm};
use crate::buffer::{Ring, WriteGuard};
use crate::error::Result;
use crate::journal::Journal;
use crate::page::{PAGE_BYTES, PageMut};
use crate::txn::{Flags, TupleHeader, Txn};
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Tid, Xid};

/// Whether rows are visible to all at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freeze {
    /// As with any insert.
    No,
    /// At once: only into a relation that this transaction made, that nobody else can see yet.
    Yes,
}

/// `info` of the record: the rows are frozen.
pub(super) const FROZEN: u8 = 1;

impl HeapRel {
    /// Stores rows; their places are appended to `tids`. With a ring, the pages go round in it: so a load leaves the
    /// others' pages in the cache.
    pub fn multi_insert(
        &self,
        txn: &Txn,
        rows: &[&[u8]],
        freeze: Freeze,
        mut ring: Option<&mut Ring>,
        tids: &mut Vec<Tid>,
    ) -> Result<()> {
        rows.iter().try_for_each(|row| check_row(row))?;
        let (xid, cid) = (txn.xid()?, txn.command());
        let mut rest = rows;
        let mut packed = Vec::with_capacity(PAGE_BYTES);
        while let Some(first) = rest.first() {
            let bytes = CLEAR_BYTES * 2 + record_bound(1, 1, PAGE_BYTES);
            let mut journal = Journal::open(&self.wal, &self.rel, 4, bytes)?;
            let mut page = self.page_with_room(txn, first.len(), ring.as_deref_mut())?;
            if freeze == Freeze::No {
                self.clear_visible(&mut page, &mut journal)?;
            }
            page.mark_dirty();
            let anew = prepare(&mut page);
            packed.clear();
            let mut done = 0;
            for row in rest {
                let reserved = if page.line_count() == 0 { 0 } else { self.reserve() };
                if !page::has_room(page.view(), row.len() + reserved) {
                    break;
                }
                let tid = Tid { block: page.block(), offset: page.free_slot() };
                put(&mut page, tid, xid, cid, freeze == Freeze::Yes, row);
                packed.extend_from_slice(&tid.offset.to_le_bytes());
                packed.extend_from_slice(&(row.len() as u16).to_le_bytes());
                packed.extend_from_slice(row);
                tids.push(tid);
                done += 1;
            }
            let at = journal.insert(|terms| {
                let record = terms.record(Kind::HEAP_MULTI_INSERT, xid);
                let record = record.info(if freeze == Freeze::Yes { FROZEN } else { 0 });
                match anew {
                    true => record.init_block(&page, &packed),
                    false => record.block(&page, &packed),
                }
            });
            if let Some(at) = at {
                page.set_lsn(at.end);
            }
            if freeze == Freeze::Yes && anew {
                self.promise_visible(&mut page, &mut journal)?;
            }
            drop(page);
            self.count(txn, Did::Insert(done as u64));
            rest = &rest[done..];
        }
        Ok(())
    }

    /// Sets flag and map bits of a page that has only frozen versions.
    fn promise_visible(&self, page: &mut WriteGuard<'_>, journal: &mut Journal<'_>) -> Result<()> {
        let mut map = vm::latch(&self.rel, page.block())?;
        map.mark_dirty();
        // Its versions were stored as frozen ones.
        super::visible::promise(page);
        vm::put(&mut map, page.block(), vm::ALL_VISIBLE | vm::ALL_FROZEN);
        let block = page.block().0.to_le_bytes();
        let at = journal.insert(|terms| {
            terms
                .record(Kind::HEAP_ALL_VISIBLE, Xid::INVALID)
                .block(&*page, &[])
                .block(&map, &block)
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
            map.set_lsn(at.end);
        }
        Ok(())
    }
}

fn put(page: &mut PageMut<'_>, tid: Tid, xid: Xid, cid: u32, frozen: bool, row: &[u8]) {
    let mut header = TupleHeader::inserted(xid, cid, tid);
    if frozen {
        header.flags = header.flags.with(Flags::XMIN_FROZEN).with(Flags::XMAX_INVALID);
    }
    page::put_version(page, tid.offset, &header, &[row]);
}

/// Redo.
pub(super) fn redo(page: &mut PageMut<'_>, block: BlockNo, xid: Xid, info: u8, bytes: &[u8]) {
    if page.is_new() {
        page::init(page);
    }
    let mut rest = bytes;
    while let Some((head, tail)) = rest.split_at_checked(4) {
        let offset = u16::from_le_bytes([head[0], head[1]]);
        let (row, tail) = tail.split_at(usize::from(u16::from_le_bytes([head[2], head[3]])));
        put(page, Tid { block, offset }, xid, 0, info & FROZEN != 0, row);
        rest = tail;
    }
}
