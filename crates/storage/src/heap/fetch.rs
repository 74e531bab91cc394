//! Reading the row behind an index entry, and one version by its place.

use super::{HeapRel, page};
use crate::buffer::{Optimistic, ReadGuard};
use crate::error::Result;
use crate::page::{Item, PageView};
use crate::txn::{FLAGS_OFFSET, Flags, Snapshot, TupleHeader, Txn, visibility};
use base::{BlockNo, Fork, Tid, Xid};

/// A row read out of its page; reused from call to call.
#[derive(Clone, Debug)]
pub struct RowBuf {
    tid: Tid,
    header: TupleHeader,
    bytes: Vec<u8>,
}

impl Default for RowBuf {
    fn default() -> Self {
        RowBuf::new()
    }
}

impl RowBuf {
    /// No row.
    pub fn new() -> RowBuf {
        RowBuf { tid: Tid::INVALID, header: NO_HEADER, bytes: Vec::new() }
    }

    /// The row's bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the version is: what updates, deletes and locks want.
    #[inline]
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// The version's header, as it was when it was read.
    #[inline]
    pub fn header(&self) -> &TupleHeader {
        &self.header
    }

    #[inline]
    fn take(
        &mut self,
        page: PageView<'_>,
        block: BlockNo,
        offset: u16,
        item: Item,
        header: &TupleHeader,
    ) {
        let row = page::row(item);
        self.tid = Tid { block, offset };
        self.header = *header;
        self.bytes.clear();
        page.append_to(row.offset, row.len, &mut self.bytes);
    }
}

/// So many of the newest versions are looked at without a latch.
const NEWEST_MAX: usize = 16;

const NO_HEADER: TupleHeader = TupleHeader {
    xmin: Xid::INVALID,
    xmax: Xid::INVALID,
    cid: 0,
    successor: Tid::INVALID,
    flags: Flags::NONE,
    user: 0,
};

/// The newest versions of a row: line pointers and headers. Snapshots of sleepers make chains of a hundred, of which
/// most readers want the last.
struct Newest {
    /// Versions in all.
    count: usize,
    /// The `i`-th of them is at `i % NEWEST_MAX`, unless a later one has taken its place.
    ring: [(u16, TupleHeader); NEWEST_MAX],
}

impl Newest {
    fn new() -> Newest {
        Newest { count: 0, ring: [(0, NO_HEADER); NEWEST_MAX] }
    }

    #[inline]
    fn push(&mut self, offset: u16, header: TupleHeader) {
        self.ring[self.count % NEWEST_MAX] = (offset, header);
        self.count += 1;
    }

    /// From the newest back.
    fn iter(&self) -> impl Iterator<Item = &(u16, TupleHeader)> {
        let kept = self.count.min(NEWEST_MAX);
        (self.count - kept..self.count).rev().map(|i| &self.ring[i % NEWEST_MAX])
    }

    fn has_all(&self) -> bool {
        self.count <= NEWEST_MAX
    }
}

impl HeapRel {
    /// Finds the version of a row that the snapshot sees; `tid` is what an index entry says. False: it sees
    /// none.
    #[inline]
    pub fn fetch(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        tid: Tid,
        buf: &mut RowBuf,
    ) -> Result<bool> {
        // Most rows have one version: copied out without a latch, judged after the copy proved whole.
        let copied = self.rel.optimistic(Fork::Main, tid.block, |page| {
            let mut chain = Chain::new(page, tid.offset);
            let (offset, item, header) = chain.next()?;
            if chain.next.is_some() {
                return Some(true);
            }
            buf.take(page, tid.block, offset, item, &header);
            Some(false)
        });
        match copied {
            Optimistic::Ok(false) => {
                let seen = visibility::check(txn, snapshot, &buf.header)?;
                if seen.hints != Flags::NONE {
                    self.set_hints(buf.tid, &buf.header, seen.hints)?;
                }
                Ok(seen.visible)
            }
            // From the newest back needs a snapshot that no commit meanwhile can move.
            Optimistic::Ok(true) if *snapshot != Snapshot::NOW => {
                self.fetch_chain(txn, snapshot, tid, buf)
            }
            _ => self.fetch_latched(txn, snapshot, tid, buf),
        }
    }

    /// As [`HeapRel::fetch`], from a page that was read ahead ([`super::RowsAhead`]).
    pub fn fetch_started(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        tid: Tid,
        buf: &mut RowBuf,
    ) -> Result<bool> {
        let page = self.rel.read_started(Fork::Main, tid.block)?;
        take_visible(&page, txn, snapshot, tid, buf)
    }

    /// Several versions, still without a latch: the headers of the newest are copied out together with the newest
    /// row, which is the one mostly wanted. Writers of a hot row are not held up by its readers.
    fn fetch_chain(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        tid: Tid,
        buf: &mut RowBuf,
    ) -> Result<bool> {
        let mut newest = Newest::new();
        let copied = self.rel.optimistic(Fork::Main, tid.block, |page| {
            let mut chain = Chain::new(page, tid.offset);
            newest.count = 0;
            let mut last = None;
            while let Some((offset, item, header)) = chain.next() {
                newest.push(offset, header);
                last = Some((offset, item, header));
                // What changes meanwhile could lead round for ever.
                if newest.count > usize::from(page::MAX_LINES) {
                    return None;
                }
            }
            let (offset, item, header) = last?;
            buf.take(page, tid.block, offset, item, &header);
            Some(())
        });
        if copied == Optimistic::Retry {
            return self.fetch_latched(txn, snapshot, tid, buf);
        }
        for (back, (offset, header)) in newest.iter().enumerate() {
            let at = Tid { block: tid.block, offset: *offset };
            let seen = visibility::check(txn, snapshot, header)?;
            if seen.hints != Flags::NONE {
                self.set_hints(at, header, seen.hints)?;
            }
            if seen.visible {
                return match back == 0 || self.copy_version(at, header, buf) {
                    true => Ok(true),
                    false => self.fetch_latched(txn, snapshot, tid, buf),
                };
            }
        }
        if newest.has_all() { Ok(false) } else { self.fetch_latched(txn, snapshot, tid, buf) }
    }

    /// Copies a version whose header was read a moment ago; false if it can't be done, or is another.
    fn copy_version(&self, tid: Tid, header: &TupleHeader, buf: &mut RowBuf) -> bool {
        let copied = self.rel.optimistic(Fork::Main, tid.block, |page| {
            let item = page::version(page, tid.offset)?;
            let now = page::header(page, item);
            buf.take(page, tid.block, tid.offset, item, &now);
            Some(now.xmin == header.xmin)
        });
        copied == Optimistic::Ok(true)
    }

    /// Walks the chain under the shared latch.
    #[cold]
    fn fetch_latched(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        tid: Tid,
        buf: &mut RowBuf,
    ) -> Result<bool> {
        let page = self.rel.read(Fork::Main, tid.block)?;
        take_visible(&page, txn, snapshot, tid, buf)
    }

    /// The version at exactly this place, whatever index entries say, if the snapshot sees it.
    pub fn fetch_at(
        &self,
        txn: &Txn,
        snapshot: &Snapshot,
        tid: Tid,
        buf: &mut RowBuf,
    ) -> Result<bool> {
        let page = self.rel.read(Fork::Main, tid.block)?;
        let Some(item) = page::version(page.view(), tid.offset) else { return Ok(false) };
        let header = page::header(page.view(), item);
        let seen = visibility::check(txn, snapshot, &header)?;
        hint(&page, item, seen.hints);
        if seen.visible {
            buf.take(page.view(), tid.block, tid.offset, item, &header);
        }
        Ok(seen.visible)
    }

    /// Reads the version at exactly this place, whoever sees it. False if there is none.
    pub fn fetch_version(&self, tid: Tid, buf: &mut RowBuf) -> Result<bool> {
        let page = self.rel.read(Fork::Main, tid.block)?;
        let Some(item) = page::version(page.view(), tid.offset) else { return Ok(false) };
        let header = page::header(page.view(), item);
        buf.take(page.view(), tid.block, tid.offset, item, &header);
        Ok(true)
    }

    /// Sets hints learnt from a version that was read without a latch, if it is still what it was.
    #[cold]
    pub(super) fn set_hints(&self, tid: Tid, header: &TupleHeader, hints: Flags) -> Result<()> {
        let page = self.rel.read(Fork::Main, tid.block)?;
        if let Some(item) = page::version(page.view(), tid.offset) {
            let now = page::header(page.view(), item);
            // A multixact's number may be an ended transaction's, too.
            let same_kind = now.flags.has(Flags::MULTI) == header.flags.has(Flags::MULTI);
            // Taken back meanwhile by its maker, who may commit: with the other hint it would be frozen.
            let taken_back =
                now.flags.has(Flags::XMIN_ABORTED) && !now.flags.has(Flags::XMIN_FROZEN);
            let same = (now.xmin, now.xmax) == (header.xmin, header.xmax);
            if same_kind && same && !taken_back {
                hint(&page, item, hints);
            }
        }
        Ok(())
    }
}

/// Walks the chain under the shared latch, to the version that the snapshot sees.
fn take_visible(
    page: &ReadGuard<'_>,
    txn: &Txn,
    snapshot: &Snapshot,
    tid: Tid,
    buf: &mut RowBuf,
) -> Result<bool> {
    let mut chain = Chain::new(page.view(), tid.offset);
    while let Some((offset, item, header)) = chain.next() {
        let seen = visibility::check(txn, snapshot, &header)?;
        hint(page, item, seen.hints);
        if seen.visible {
            buf.take(page.view(), tid.block, offset, item, &header);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sets hint bits of a version under the shared latch.
#[inline]
pub(super) fn hint(page: &ReadGuard<'_>, item: Item, hints: Flags) {
    if hints != Flags::NONE {
        page.hint_or(item.offset + FLAGS_OFFSET, hints.0);
    }
}

/// The versions of a row on one page, oldest first.
pub(super) struct Chain<'p> {
    page: PageView<'p>,
    next: Option<u16>,
    expected_xmin: Option<Xid>,
    /// The first version may be one without index entries only if a redirect leads to it.
    redirected: bool,
}

impl<'p> Chain<'p> {
    /// From the line pointer that an index entry names.
    pub fn new(page: PageView<'p>, root: u16) -> Chain<'p> {
        let next = page::resolve(page, root);
        Chain { page, next, expected_xmin: None, redirected: next != Some(root) }
    }

    /// The next version.
    #[inline]
    pub fn next(&mut self) -> Option<(u16, Item, TupleHeader)> {
        let offset = self.next.take()?;
        let item = page::version(self.page, offset)?;
        let header = page::header(self.page, item);
        let inner = self.expected_xmin.is_some() || self.redirected;
        let linked = self.expected_xmin.is_none_or(|xmin| xmin == header.xmin);
        if !linked || inner != header.flags.has(Flags::HEAP_ONLY) {
            return None;
        }
        if header.flags.has(Flags::HOT_UPDATED) {
            (self.next, self.expected_xmin) = (Some(header.successor.offset), Some(header.xmax));
        }
        Some((offset, item, header))
    }
}
