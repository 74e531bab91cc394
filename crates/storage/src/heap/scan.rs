//! Reading all rows, a page at a time: one latch per page, visibility judged for the whole page, rows handed
//! out from a private copy. Nothing is latched or pinned while the caller works.

use super::fetch::hint;
use super::{HeapRel, page};
use crate::buffer::{Optimistic, ReadGuard, Ring};
use crate::error::Result;
use crate::page::{LineFlags, PAGE_BYTES, PageBytes};
use crate::txn::{Snapshot, TUPLE_HEADER_BYTES, TupleHeader, Txn, visibility};
use base::{BlockNo, Fork, Tid, Xid};
use std::ops::Range;

/// Pages that a scan of a large relation goes round in.
const RING_PAGES: usize = 32;

/// A row as a scan hands it out; valid until the scan goes on.
#[derive(Clone, Copy)]
pub struct Row<'s> {
    /// Where the version is.
    pub tid: Tid,
    /// The row's bytes.
    pub bytes: &'s [u8],
    head: &'s [u8; TUPLE_HEADER_BYTES],
}

impl Row<'_> {
    /// The version's header.
    pub fn header(&self) -> TupleHeader {
        TupleHeader::decode(self.head)
    }
}

#[derive(Clone, Copy)]
struct Found {
    offset: u16,
    at: u16,
    len: u16,
}

/// A scan's state. The heap and the transaction are handed to every step, so that it can live anywhere.
pub struct HeapScan {
    snapshot: Snapshot,
    blocks: Range<u32>,
    ring: Option<Ring>,
    block: BlockNo,
    page: Box<PageBytes>,
    found: Vec<Found>,
    next: usize,
}

impl HeapScan {
    /// Over the whole heap as it is now. The snapshot must stay in force as long as the scan.
    pub fn new(heap: &HeapRel, snapshot: Snapshot) -> Result<HeapScan> {
        let blocks = heap.rel.blocks(Fork::Main)?;
        HeapScan::over(heap, snapshot, 0..blocks)
    }

    /// Over some blocks.
    pub fn over(heap: &HeapRel, snapshot: Snapshot, blocks: Range<u32>) -> Result<HeapScan> {
        let large = blocks.len() > heap.rel.owner().frame_count() / 4;
        Ok(HeapScan {
            snapshot,
            blocks,
            ring: large.then(|| Ring::new(RING_PAGES)),
            block: BlockNo(0),
            page: PageBytes::new(),
            found: Vec::new(),
            next: 0,
        })
    }

    /// The next visible row.
    pub fn next(&mut self, heap: &HeapRel, txn: &Txn) -> Result<Option<Row<'_>>> {
        while self.next == self.found.len() {
            let Some(block) = self.blocks.next() else { return Ok(None) };
            self.load(heap, txn, BlockNo(block))?;
        }
        let Found { offset, at, len } = self.found[self.next];
        self.next += 1;
        let (at, len) = (usize::from(at), usize::from(len));
        let version = &self.page.0[at..at + len];
        let (head, bytes) = version.split_first_chunk().expect("a version has a header");
        Ok(Some(Row { tid: Tid { block: self.block, offset }, bytes, head }))
    }

    /// Copies a page and finds what is visible on it.
    fn load(&mut self, heap: &HeapRel, txn: &Txn, block: BlockNo) -> Result<()> {
        base::interrupt::check()?;
        base::park::checkpoint();
        if heap.is_pruning_due(block) {
            heap.prune_if_due(block)?;
        }
        let page = match &mut self.ring {
            Some(ring) => heap.rel.read_in(ring, Fork::Main, block)?,
            None => heap.rel.read(Fork::Main, block)?,
        };
        self.block = block;
        self.next = 0;
        self.found.clear();
        if page.is_new() {
            return Ok(());
        }
        judge(&page, txn, &self.snapshot, &mut self.found)?;
        if !self.found.is_empty() {
            page.to_bytes(&mut self.page);
        }
        Ok(())
    }
}

/// Notes the visible versions of a page.
fn judge(
    page: &ReadGuard<'_>,
    txn: &Txn,
    snapshot: &Snapshot,
    found: &mut Vec<Found>,
) -> Result<()> {
    let all_visible = page::is_all_visible(page.view());
    for offset in 1..=page.line_count() {
        if page.line(offset).flags() != LineFlags::Normal {
            continue;
        }
        let Some(item) = page::version(page.view(), offset) else { continue };
        let visible = all_visible || {
            let seen = visibility::check(txn, snapshot, &page::header(page.view(), item))?;
            hint(page, item, seen.hints);
            seen.visible
        };
        if visible {
            found.push(Found { offset, at: item.offset as u16, len: item.len as u16 });
        }
    }
    Ok(())
}

impl HeapRel {
    /// Whether pruning the page would help readers and probably succeed. A look without latch.
    fn is_pruning_due(&self, block: BlockNo) -> bool {
        let look = self.rel.optimistic(Fork::Main, block, |page| {
            Some((page::prune_hint(page), page.free_space()))
        });
        match look {
            Optimistic::Ok((hint, free)) => {
                let nearly_full = free < (PAGE_BYTES / 10).max(self.reserve);
                hint != Xid::INVALID && nearly_full && hint < self.txns.oldest_running()
            }
            Optimistic::Retry => false,
        }
    }
}
