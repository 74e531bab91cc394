//! Reading all rows, a page at a time: one latch per page, visibility judged for the whole page, rows handed
//! out from a private copy. Nothing is latched or pinned while the caller works.

use super::fetch::{Chain, hint};
use super::tids::{Roots, TidPages, TidSet, offsets};
use super::{HeapRel, Open, page};
use crate::buffer::{Optimistic, Purpose, Reach, ReadAhead, ReadGuard, Ring};
use crate::error::Result;
use crate::page::{Item, LineFlags, PAGE_BYTES, PageBytes, PageView};
use crate::txn::{Fate, Flags, Snapshot, TUPLE_HEADER_BYTES, TupleHeader, Txn, visibility};
use base::{BlockNo, Fork, Tid, Xid};
use std::ops::Range;

/// Pages that a scan of a large relation goes round in.
const RING_PAGES: usize = 32;

/// A row as a scan hands it out; valid until the scan goes on.
#[derive(Clone, Copy)]
pub struct Row<'s> {
    /// Where the version is.
    pub tid: Tid,
    /// What an index entry for the row must name: the root of the version's chain. Only scans that were
    /// made for it ([`HeapScan::for_index`]) find it out; to others it is the version.
    pub root: Tid,
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

/// Which blocks a scan reads.
enum Places {
    /// All in its range.
    All,
    Chosen(Vec<u32>),
    /// Of these only some rows.
    Tids(Box<OfTids>),
}

struct OfTids {
    pages: TidPages,
    visited: Visited,
    /// The page at hand is exact, and its entries prove the condition; else that must be tested.
    is_sure: bool,
}

/// How many pages a scan by a set of addresses has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Visited {
    /// Of whose rows only those in the set were looked at.
    pub exact: u64,
    /// Of which only the page was in the set.
    pub lossy: u64,
}

impl Places {
    fn block_at(&mut self, place: u32) -> BlockNo {
        match self {
            Places::All => BlockNo(place),
            Places::Chosen(blocks) => BlockNo(blocks[place as usize]),
            Places::Tids(of) => of.pages.block_at(place),
        }
    }

    /// Comes to a page; the roots of the rows that are wanted of it, if not all are.
    fn visit(&mut self, place: u32) -> Option<Roots> {
        let Places::Tids(of) = self else { return None };
        let page = of.pages.visit(place);
        of.is_sure = page.roots.is_some() && !page.recheck;
        match page.roots {
            Some(_) => of.visited.exact += 1,
            None => of.visited.lossy += 1,
        }
        page.roots
    }
}

/// A scan's state. The heap and the transaction are handed to every step, so that it can live anywhere.
pub struct HeapScan {
    snapshot: Snapshot,
    /// The blocks to come, or their places among those chosen.
    blocks: Range<u32>,
    places: Places,
    ring: Option<Ring>,
    ahead: ReadAhead,
    block: BlockNo,
    page: Box<PageBytes>,
    found: Vec<Found>,
    next: usize,
    build: Option<Box<Build>>,
    /// Changes met of transactions that have not ended; only of a sample's scan.
    open: Option<Open>,
    /// Versions met that have ended, and dead line pointers; only of a sample's scan.
    dead: u64,
}

/// What a scan finds out for the building of an index.
struct Build {
    /// Per line pointer, from 1, the root of the chain that its version belongs to; zero for none.
    roots: [u16; page::MAX_LINES as usize + 1],
    /// An older snapshot may see versions that this one does not.
    has_older: bool,
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
        let ahead = ReadAhead::new(&heap.rel, heap.rel.owner().reach());
        Ok(HeapScan {
            snapshot,
            blocks,
            places: Places::All,
            ring: large.then(|| ring(&ahead, Purpose::BulkRead)),
            ahead,
            block: BlockNo(0),
            page: PageBytes::new(),
            found: Vec::new(),
            next: 0,
            build: None,
            open: None,
            dead: 0,
        })
    }

    /// Over these blocks, which are there, in a ring of its own. It counts what it meets of transactions that have not
    /// ended ([`HeapScan::open`]).
    pub fn some(heap: &HeapRel, snapshot: Snapshot, blocks: Vec<u32>) -> Result<HeapScan> {
        let places = 0..blocks.len() as u32;
        let mut scan = HeapScan::over(heap, snapshot, places)?;
        scan.places = Places::Chosen(blocks);
        // As PostgreSQL counts it.
        scan.ring = Some(ring(&scan.ahead, Purpose::Vacuum));
        scan.open = Some(Open::default());
        Ok(scan)
    }

    /// Over the rows that index entries with these addresses lead to, page by page. The snapshot was in force when the
    /// entries were read, and is no [`Snapshot::NOW`] (H8).
    pub fn of_tids(heap: &HeapRel, snapshot: Snapshot, tids: TidSet) -> Result<HeapScan> {
        let pages = tids.into_pages();
        let mut scan = HeapScan::over(heap, snapshot, 0..pages.count())?;
        // Pages that indexes lead to are wanted again more often than those of a whole table.
        scan.ring = None;
        let visited = Visited::default();
        scan.places = Places::Tids(Box::new(OfTids { pages, visited, is_sure: false }));
        Ok(scan)
    }

    /// Over the whole heap, for an index to be built from it: rows come with their roots, and the scan
    /// finds out whether older snapshots could want other versions ([`HeapScan::has_older`]). That counts only if
    /// nobody else writes meanwhile; who lets others write waits for older snapshots to go.
    pub fn for_index(heap: &HeapRel, snapshot: Snapshot) -> Result<HeapScan> {
        let mut scan = HeapScan::new(heap, snapshot)?;
        let roots = [0; page::MAX_LINES as usize + 1];
        scan.build = Some(Box::new(Build { roots, has_older: false }));
        Ok(scan)
    }

    /// Has it read as far ahead as this; to be called before the first row.
    pub fn reading_ahead(mut self, heap: &HeapRel, reach: Reach) -> HeapScan {
        self.ahead = ReadAhead::new(&heap.rel, reach);
        if let Some(of_before) = &mut self.ring {
            *of_before = ring(&self.ahead, of_before.purpose());
        }
        self
    }

    /// Whether some snapshot in force may see versions that the pages read so far held and that this
    /// scan's did not see.
    pub fn has_older(&self) -> bool {
        self.build.as_ref().is_some_and(|build| build.has_older)
    }

    /// Goes on with another snapshot from the next page on, for who does not mind that rows that move meanwhile are met
    /// twice, or not at all; the old one need not stay in force.
    pub fn go_on_with(&mut self, snapshot: Snapshot) {
        self.snapshot = snapshot;
    }

    /// Changes of other transactions, running then, that the pages read so far held.
    pub fn open(&self) -> Open {
        self.open.unwrap_or_default()
    }

    /// Versions that have ended but are still there, and dead line pointers, as far as a sample's scan has come.
    pub fn dead(&self) -> u64 {
        self.dead
    }

    /// Whether the condition by which a set of addresses was made must be tested on the row returned last.
    pub fn must_recheck(&self) -> bool {
        matches!(&self.places, Places::Tids(of) if !of.is_sure)
    }

    /// Pages read so far by a set of addresses.
    pub fn visited(&self) -> Visited {
        match &self.places {
            Places::Tids(of) => of.visited,
            _ => Visited::default(),
        }
    }

    /// Whether all rows of the pages read so far were returned: the next comes of a page yet to be read.
    pub fn is_between_pages(&self) -> bool {
        self.next == self.found.len()
    }

    /// Blocks to come.
    pub fn blocks_left(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The next visible row.
    pub fn next(&mut self, heap: &HeapRel, txn: &Txn) -> Result<Option<Row<'_>>> {
        while self.next == self.found.len() {
            let Some(next) = self.blocks.next() else { return Ok(None) };
            self.load(heap, txn, next)?;
        }
        let Found { offset, at, len } = self.found[self.next];
        self.next += 1;
        let (at, len) = (usize::from(at), usize::from(len));
        let version = &self.page.0[at..at + len];
        let (head, bytes) = version.split_first_chunk().expect("a version has a header");
        let tid = Tid { block: self.block, offset };
        let root = match &self.build {
            Some(build) => Tid { block: self.block, offset: build.root(offset) },
            None => tid,
        };
        Ok(Some(Row { tid, root, bytes, head }))
    }

    /// Copies the page at a place and finds what is visible on it.
    fn load(&mut self, heap: &HeapRel, txn: &Txn, place: u32) -> Result<()> {
        base::interrupt::check()?;
        base::park::checkpoint();
        let (block, places) = (self.places.block_at(place), place..self.blocks.end);
        let (ring, of_places) = (self.ring.as_mut(), &mut self.places);
        let block_at = |place| Some(of_places.block_at(place));
        let started = self.ahead.look(&heap.rel, Fork::Main, places, ring, block_at);
        if heap.is_pruning_due(block) {
            heap.prune_if_due(self.ring.as_mut(), block)?;
        }
        let page = match &mut self.ring {
            Some(ring) => {
                ring.expect(started);
                heap.rel.read_in(ring, Fork::Main, block)?
            }
            None if started => heap.rel.read_started(Fork::Main, block)?,
            None => heap.rel.read(Fork::Main, block)?,
        };
        self.block = block;
        self.next = 0;
        self.found.clear();
        if page.is_new() {
            return Ok(());
        }
        match self.places.visit(place) {
            Some(roots) => follow(&page, txn, &self.snapshot, &roots, &mut self.found)?,
            None => judge(&page, txn, &self.snapshot, &mut self.found)?,
        }
        if let Some(open) = &mut self.open {
            self.dead += count_open(page.view(), txn, open)?;
        }
        if let Some(build) = &mut self.build {
            build.look(heap, page.view(), &self.found)?;
        }
        if !self.found.is_empty() {
            page.to_bytes(&mut self.page);
        }
        Ok(())
    }
}

/// For a scan of a large relation.
fn ring(ahead: &ReadAhead, purpose: Purpose) -> Ring {
    Ring::new(RING_PAGES, purpose).with_ahead(ahead.ring_pages())
}

impl Build {
    /// The root of a visible version's chain.
    fn root(&self, offset: u16) -> u16 {
        let root = self.roots[usize::from(offset)];
        assert!(root != 0, "a version that somebody sees hangs on a root of its page (H2)");
        root
    }

    /// Finds the roots of a page's chains, and versions besides those found that somebody may see.
    fn look(&mut self, heap: &HeapRel, page: PageView<'_>, found: &[Found]) -> Result<()> {
        self.roots.fill(0);
        let inner = |found: &Found| {
            let item = Item { offset: found.at.into(), len: found.len.into() };
            page::header(page, item).flags.has(Flags::HEAP_ONLY)
        };
        if !found.iter().any(inner) {
            // Each version is the root of its chain: nothing has to be followed.
            found.iter().for_each(|found| self.roots[usize::from(found.offset)] = found.offset);
        } else {
            self.follow_chains(page);
        }
        if self.has_older || page::is_all_visible(page) {
            return Ok(());
        }
        let horizon = heap.txns.visible_horizon();
        let mut seen = found.iter().map(|found| found.offset).peekable();
        for offset in 1..=page.line_count() {
            if seen.next_if_eq(&offset).is_some() {
                continue;
            }
            let Some(item) = page::version(page, offset) else { continue };
            let header = page::header(page, item);
            let (fate, _) =
                visibility::fate(heap.txns.txlog(), horizon, heap.wal.durable(), &header)?;
            self.has_older |= fate != Fate::Dead;
        }
        Ok(())
    }

    /// Notes the roots of all chains of a page.
    fn follow_chains(&mut self, page: PageView<'_>) {
        for root in 1..=page.line_count() {
            let inner = page::version(page, root)
                .is_some_and(|item| page::header(page, item).flags.has(Flags::HEAP_ONLY));
            if inner {
                continue;
            }
            let mut chain = Chain::new(page, root);
            while let Some((offset, _, _)) = chain.next() {
                self.roots[usize::from(offset)] = root;
            }
        }
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

/// Notes the visible versions of the rows with these roots.
fn follow(
    page: &ReadGuard<'_>,
    txn: &Txn,
    snapshot: &Snapshot,
    roots: &Roots,
    found: &mut Vec<Found>,
) -> Result<()> {
    debug_assert!(*snapshot != Snapshot::NOW, "H8");
    let all_visible = page::is_all_visible(page.view());
    for root in offsets(roots) {
        let mut chain = Chain::new(page.view(), root);
        while let Some((offset, item, header)) = chain.next() {
            let visible = all_visible || {
                let seen = visibility::check(txn, snapshot, &header)?;
                hint(page, item, seen.hints);
                seen.visible
            };
            if visible {
                found.push(Found { offset, at: item.offset as u16, len: item.len as u16 });
                break;
            }
        }
    }
    Ok(())
}

/// Counts versions that running transactions have made or ended; how many others have ended.
fn count_open(page: PageView<'_>, txn: &Txn, open: &mut Open) -> Result<u64> {
    let mut dead = 0;
    if page::is_all_visible(page) {
        return Ok(dead);
    }
    let (txlog, horizon, durable) =
        (txn.manager().txlog(), txn.manager().visible_horizon(), txn.manager().wal().durable());
    for offset in 1..=page.line_count() {
        let Some(item) = page::version(page, offset) else {
            dead += u64::from(page.line(offset).flags() == LineFlags::Dead);
            continue;
        };
        let header = page::header(page, item);
        match visibility::fate(txlog, horizon, durable, &header)?.0 {
            Fate::InsertInProgress if !txn.is_mine(header.xmin) => open.inserted += 1,
            Fate::DeleteInProgress if !txn.is_mine(header.xmax) => open.ended += 1,
            Fate::Dead | Fate::RecentlyDead => dead += 1,
            _ => {}
        }
    }
    Ok(dead)
}

impl HeapRel {
    /// Whether pruning the page would help readers and probably succeed. A look without latch.
    fn is_pruning_due(&self, block: BlockNo) -> bool {
        let look = self.rel.peek(Fork::Main, block, |page| {
            Some((page::prune_hint(page), page.free_space_in_all()))
        });
        match look {
            Optimistic::Ok((hint, free)) => {
                let nearly_full = free < (PAGE_BYTES / 10).max(self.reserve());
                hint != Xid::INVALID && nearly_full && hint < self.txns.oldest_running()
            }
            Optimistic::Retry => false,
        }
    }
}
