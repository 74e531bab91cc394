//! The promise that a page's versions are visible to all: making it, and taking it back in time (H4, H5).

use super::{HeapRel, page, vm};
use crate::buffer::WriteGuard;
use crate::error::Result;
use crate::journal::Journal;
use crate::page::{LineFlags, PageMut};
use crate::txn::{Flags, visibility};
use crate::wal::Kind;
use base::{Csn, Lsn, Xid};

impl HeapRel {
    /// Takes the promise back, in a record of its own, before the page changes. A crash between the two
    /// leaves a page that promises less than it could.
    pub(super) fn clear_visible(
        &self,
        heap: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
    ) -> Result<()> {
        if !page::is_all_visible(heap.view()) {
            return Ok(());
        }
        let mut map = vm::latch(&self.rel, heap.block())?;
        heap.mark_dirty();
        map.mark_dirty();
        page::set_all_visible(heap, false);
        vm::put(&mut map, heap.block(), 0);
        let block = heap.block().0.to_le_bytes();
        let at = journal.insert(|terms| {
            terms
                .record(Kind::HEAP_NOT_VISIBLE, Xid::INVALID)
                .block(&*heap, &[])
                .block(&map, &block)
        });
        if let Some(at) = at {
            heap.set_lsn(at.end);
            map.set_lsn(at.end);
        }
        Ok(())
    }

    /// Promises that everything on the page is visible to all, if it is, and forgets whose rows they are.
    /// The journal has a claim of [`CLEAR_BYTES`](super::insert::CLEAR_BYTES). Tells whether the promise
    /// stands.
    pub(super) fn try_set_visible(
        &self,
        heap: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
    ) -> Result<bool> {
        if heap.is_new() {
            return Ok(false);
        }
        let stands = page::is_all_visible(heap.view())
            && vm::get(&self.rel, heap.block())? & vm::ALL_VISIBLE != 0;
        if stands {
            return Ok(true);
        }
        let (horizon, durable) = (self.txns.horizon(), self.wal.durable());
        if !self.all_visible(heap, horizon, durable)? {
            return Ok(false);
        }
        let mut map = vm::latch(&self.rel, heap.block())?;
        heap.mark_dirty();
        map.mark_dirty();
        freeze(heap);
        vm::put(&mut map, heap.block(), vm::ALL_VISIBLE | vm::ALL_FROZEN);
        let block = heap.block().0.to_le_bytes();
        let at = journal.insert(|terms| {
            terms
                .record(Kind::HEAP_ALL_VISIBLE, Xid::INVALID)
                .block(&*heap, &[])
                .block(&map, &block)
        });
        if let Some(at) = at {
            heap.set_lsn(at.end);
            map.set_lsn(at.end);
        }
        Ok(true)
    }

    /// Whether every version of the page is visible to all, and nobody holds a lock on one.
    fn all_visible(&self, heap: &WriteGuard<'_>, horizon: Csn, durable: Lsn) -> Result<bool> {
        let txlog = self.txns.txlog();
        for offset in 1..=heap.line_count() {
            match heap.line(offset).flags() {
                LineFlags::Unused | LineFlags::Redirect => continue,
                LineFlags::Dead => return Ok(false),
                LineFlags::Normal => {}
            }
            let Some(item) = page::version(heap.view(), offset) else { return Ok(false) };
            let header = page::header(heap.view(), item);
            if !visibility::is_visible_to_all(txlog, horizon, durable, &header)? {
                return Ok(false);
            }
            if visibility::is_held(txlog, horizon, &header)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Makes all versions of the page anybody's, and sets the flag; the forward path and redo. Every one of
/// them was inserted by a commit that all snapshots see, and ended by nobody.
pub(super) fn freeze(heap: &mut PageMut<'_>) {
    for offset in 1..=heap.line_count() {
        let Some(item) = page::version(heap.view(), offset) else { continue };
        let mut header = page::header(heap.view(), item);
        header.xmax = Xid::INVALID;
        let flags = header.flags.without(Flags::XMAX_ALL);
        header.flags = flags.with(Flags::XMIN_FROZEN).with(Flags::XMAX_INVALID);
        page::set_header(heap, item, &header);
    }
    promise(heap);
}

/// Sets the flag of a page whose versions are all frozen.
pub(super) fn promise(heap: &mut PageMut<'_>) {
    page::set_prune_hint(heap, Xid::INVALID);
    page::set_all_visible(heap, true);
}
