//! Reading entries in order, a leaf at a time.
//!
//! A scan copies the part of a leaf that is in its range and lets go of the page. Forward it goes on with
//! the right link that the copy had: whatever splits later, the entries that moved were copied before. Those that have gone
//! to the sibling itself (`shift.rs`) are passed over there.
//! Backward it descends again, to what lies right before the first entry it had; so it needs no left links
//! and can't be misled by splits or deleted pages.

use super::BTree;
use super::page::*;
use super::search::Fence;
use crate::buffer::ReadGuard;
use crate::error::Result;
use base::{BlockNo, Fork, Tid};
use std::ops::{Bound, Range};

/// Where a scan starts and ends, both in key order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds<'k> {
    /// The lower end.
    pub low: Bound<&'k [u8]>,
    /// The upper end.
    pub high: Bound<&'k [u8]>,
}

impl<'k> Bounds<'k> {
    /// Everything.
    pub const ALL: Bounds<'static> = Bounds { low: Bound::Unbounded, high: Bound::Unbounded };

    /// The entries of one key.
    pub fn exactly(key: &'k [u8]) -> Bounds<'k> {
        Bounds { low: Bound::Included(key), high: Bound::Included(key) }
    }
}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Keys ascend.
    Forward,
    /// Keys descend.
    Backward,
}

/// What a scan has of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'s> {
    /// The row.
    pub tid: Tid,
    /// The whole key; empty unless the scan was asked for keys.
    pub key: &'s [u8],
    /// What it carries beside the key; empty as well.
    pub carried: &'s [u8],
}

/// A place that is owned: key and tie-breaker.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    pub key: Vec<u8>,
    pub tie: u64,
}

impl Mark {
    fn set(&mut self, place: Place<'_>) {
        self.key.clear();
        self.key.extend_from_slice(place.key);
        self.tie = place.tie;
    }

    pub fn place(&self) -> Place<'_> {
        Place { key: &self.key, tie: self.tie }
    }
}

/// An end of a scan's range, in memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Limit {
    is_bounded: bool,
    mark: Mark,
}

impl Limit {
    /// The lower end: before the entries of an included key, behind those of an excluded one.
    fn set_low(&mut self, bound: Bound<&[u8]>) {
        self.set(bound, 0, AFTER);
    }

    /// The upper end: the other way round.
    fn set_high(&mut self, bound: Bound<&[u8]>) {
        self.set(bound, AFTER, 0);
    }

    fn set(&mut self, bound: Bound<&[u8]>, included: u64, excluded: u64) {
        self.mark.key.clear();
        self.is_bounded = bound != Bound::Unbounded;
        if let Bound::Included(key) | Bound::Excluded(key) = bound {
            self.mark.key.extend_from_slice(key);
        }
        self.mark.tie = if matches!(bound, Bound::Included(_)) { included } else { excluded };
    }

    pub fn place(&self) -> Option<Place<'_>> {
        self.is_bounded.then(|| self.mark.place())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Copied {
    pub tid: Tid,
    /// Position on the page, for marking.
    at: u16,
}

/// Where the bytes of a copied entry lie in the batch's `bytes`; the rows of a posting share theirs.
#[derive(Clone, Copy)]
struct Ends {
    start: u32,
    key: u32,
    carried: u32,
}

/// Where the next batch comes from.
pub(super) enum Source {
    /// The leaf responsible for the lower (upper) bound.
    Start,
    /// Forward: this leaf, from its first entry on.
    Leaf(BlockNo),
    /// Backward: what is before this place. Forward: what is not.
    Place(Mark),
    End,
}

/// A batch with so many rows takes no posting beside: whoever wants the first row only pays for a leaf of several
/// thousand as little as for one of plain entries.
const BATCH_ROWS: usize = 512;

/// Entries that are looked up in the visibility map at first.
const VOUCHED_FIRST: usize = 8;

/// A scan over a range. Holds no latch and no pin between calls; the tree is handed to every step, so that it
/// can live anywhere.
pub struct Scan {
    pub(super) low: Limit,
    pub(super) high: Limit,
    pub(super) direction: Direction,
    with_keys: bool,
    pub(super) source: Source,
    pub(super) batch: Batch,
    /// The next entry of the batch, counted in the scan's direction.
    pub(super) next: usize,
    /// Which of the batch's rows the caller found dead.
    dead: Vec<usize>,
    /// Where the leaf before ended when it was copied.
    fence: Mark,
}

/// Entries copied out of one leaf, in key order.
#[derive(Default)]
pub(super) struct Batch {
    pub entries: Vec<Copied>,
    /// Keys, each followed by what its entry carries, if the scan was asked for keys.
    bytes: Vec<u8>,
    ends: Vec<Ends>,
    block: BlockNo,
    changes: u32,
    /// What is known of the rows by the visibility map ([`Scan::next_vouched`]), counted in the scan's direction.
    vouched: Vec<bool>,
    /// Forward: everything before this place is behind the scan.
    pub fence: Mark,
}

impl BTree {
    /// Marks the entries of `key` whose rows `is_gone` says that no transaction can see any more, durably.
    /// Later look-ups and scans skip them, and the space goes to whoever needs some on the page. Hints: they
    /// may not be set.
    pub fn mark_dead(
        &self,
        key: &[u8],
        is_gone: &mut dyn FnMut(Tid) -> Result<bool>,
    ) -> Result<()> {
        // Not by key and TID at once: since the caller looked, both may have come to belong to another row.
        // A leaf that does not change between copy and mark has had the entry all the time.
        let mut scan = Scan::new(Bounds::exactly(key), Direction::Forward, false);
        while let Some(entry) = scan.next(self)? {
            let tid = entry.tid;
            if is_gone(tid)? {
                scan.found_dead();
            }
        }
        Ok(())
    }

    /// The rows with exactly this key, in TID order, into `tids`, which is emptied first.
    pub fn lookup(&self, key: &[u8], tids: &mut Vec<Tid>) -> Result<()> {
        let place = Place::before(key);
        let more = self.descend(place, 0, |node, _, at| {
            tids.clear();
            append_equal(node, at, key, tids)
        })?;
        let Some(mut more) = more else {
            tids.clear();
            return Ok(());
        };
        while let Some(right) = more {
            let kept = tids.len();
            more = self.look(right, |node| {
                tids.truncate(kept);
                match node.is_live() {
                    true => {
                        let more = append_equal(node, node.lower_bound(place), key, tids);
                        if node.has(SHIFTED) {
                            drop_repeated(tids, kept);
                        }
                        more
                    }
                    // Deleted since the link was read.
                    false => Some(node.right()),
                }
            })?;
        }
        Ok(())
    }
}

/// Drops those from `kept` on that the leaf before had when it was read: they have gone to this one since.
pub(super) fn drop_repeated(tids: &mut Vec<Tid>, kept: usize) {
    if let Some(last) = kept.checked_sub(1).map(|at| tids[at]) {
        let repeated = tids[kept..].partition_point(|tid| *tid <= last);
        tids.drain(kept..kept + repeated);
    }
}

/// Appends the live entries with `key` from position `at` on; returns where they may go on.
#[inline]
fn append_equal(node: Node<'_>, mut at: usize, key: &[u8], tids: &mut Vec<Tid>) -> Option<BlockNo> {
    let count = node.count();
    while at < count {
        if !node.key_is(at, key) {
            return None;
        }
        let slot = node.slot(at);
        if !slot.is_dead() {
            match slot.is_posting() {
                true => tids.extend(node.rows(at)),
                false => tids.push(slot.tid()),
            }
        }
        at += 1;
    }
    node.may_continue(key).then(|| node.right())
}

impl Scan {
    /// A scan of the entries within `bounds`. The caller's snapshot must stay in force as long as the scan.
    pub fn new(bounds: Bounds<'_>, direction: Direction, with_keys: bool) -> Scan {
        let mut scan = Scan {
            low: Limit::default(),
            high: Limit::default(),
            direction,
            with_keys,
            source: Source::Start,
            batch: Batch::default(),
            next: 0,
            dead: Vec::new(),
            fence: Mark::default(),
        };
        scan.restart(bounds, direction);
        scan
    }

    /// Starts over with other bounds, in the memory it has.
    pub fn restart(&mut self, bounds: Bounds<'_>, direction: Direction) {
        self.low.set_low(bounds.low);
        self.high.set_high(bounds.high);
        self.direction = direction;
        self.source = Source::Start;
        self.batch.entries.clear();
        self.batch.vouched.clear();
        self.next = 0;
        self.dead.clear();
    }

    /// The next entry in the scan's direction.
    pub fn next(&mut self, tree: &BTree) -> Result<Option<Entry<'_>>> {
        while self.next == self.batch.entries.len() {
            self.settle(tree);
            if !self.fill(tree)? {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(self.last()))
    }

    /// As [`Scan::next`]; also tells whether the row of the entry needs no look at the heap: the scan's snapshot sees
    /// it, and it is what the entry says. `is_all_visible` reads the visibility map; the scan must not be one of
    /// [`crate::txn::Snapshot::NOW`].
    ///
    /// B8 is why this holds: the map is read while the entry is known to be on its leaf.
    pub fn next_vouched(
        &mut self,
        tree: &BTree,
        is_all_visible: &mut dyn FnMut(BlockNo) -> Result<bool>,
    ) -> Result<Option<(Entry<'_>, bool)>> {
        self.next_vouched_of(tree, &mut |_| true, is_all_visible)
    }

    /// Likewise; only of entries whose keys are wanted it is found out. For scans with keys.
    pub fn next_vouched_of(
        &mut self,
        tree: &BTree,
        is_wanted: &mut dyn FnMut(&[u8]) -> bool,
        is_all_visible: &mut dyn FnMut(BlockNo) -> Result<bool>,
    ) -> Result<Option<(Entry<'_>, bool)>> {
        while self.next == self.batch.entries.len() {
            self.settle(tree);
            if !self.fill(tree)? {
                return Ok(None);
            }
        }
        if self.next >= self.batch.vouched.len() {
            // Nobody asked about what was passed over.
            self.batch.vouched.resize(self.next, false);
            self.vouch(tree, is_wanted, is_all_visible)?;
        }
        let vouched = self.batch.vouched[self.next];
        self.next += 1;
        Ok(Some((self.last(), vouched)))
    }

    /// Finds out about the next entries of the batch: few at first, since the scan may end soon.
    fn vouch(
        &mut self,
        tree: &BTree,
        is_wanted: &mut dyn FnMut(&[u8]) -> bool,
        is_all_visible: &mut dyn FnMut(BlockNo) -> Result<bool>,
    ) -> Result<()> {
        let from = self.next;
        let to = self.batch.entries.len().min(2 * from + VOUCHED_FIRST);
        let mut known: Option<(BlockNo, bool)> = None;
        let mut any = false;
        for nth in from..to {
            let at = self.position(nth);
            if !is_wanted(self.batch.bytes_of(at).0) {
                self.batch.vouched.push(false);
                continue;
            }
            let block = self.batch.entries[at].tid.block;
            let visible = match known {
                Some((of, visible)) if of == block => visible,
                _ => is_all_visible(block)?,
            };
            known = Some((block, visible));
            any |= visible;
            self.batch.vouched.push(visible);
        }
        if any && !self.batch.is_as_copied(tree)? {
            self.batch.vouched[from..].fill(false);
        }
        Ok(())
    }

    /// Adds the blocks of the rows that come next, as far as the scan knows; of [`Scan::next_vouched`]'s, those that
    /// are to be looked at.
    pub fn upcoming(&self, blocks: &mut Vec<BlockNo>) {
        self.upcoming_of(&mut |_| true, blocks);
    }

    /// Likewise of those rows alone whose keys are wanted; for scans with keys.
    pub fn upcoming_of(&self, is_wanted: &mut dyn FnMut(&[u8]) -> bool, blocks: &mut Vec<BlockNo>) {
        let vouched = &self.batch.vouched;
        let end = if vouched.is_empty() { self.batch.entries.len() } else { vouched.len() };
        for nth in self.next..end {
            let at = self.position(nth);
            if !vouched.get(nth).is_some_and(|known| *known) && is_wanted(self.batch.bytes_of(at).0)
            {
                blocks.push(self.batch.entries[at].tid.block);
            }
        }
    }

    /// The entry before `next`.
    fn last(&self) -> Entry<'_> {
        let i = self.position(self.next - 1);
        let (key, carried) = self.batch.bytes_of(i);
        Entry { tid: self.batch.entries[i].tid, key, carried }
    }

    /// The entry returned last leads to a row that no transaction can see any more, durably. It will be
    /// marked in the page, so that later scans skip it; a posting once all of its rows are.
    pub fn found_dead(&mut self) {
        assert!(self.next > 0, "an entry was returned before");
        let i = self.position(self.next - 1);
        self.dead.push(i);
    }

    pub(super) fn position(&self, nth: usize) -> usize {
        match self.direction {
            Direction::Forward => nth,
            Direction::Backward => self.batch.entries.len() - 1 - nth,
        }
    }

    /// Sets the marks collected for the current leaf, if it has not changed since. Done at the end of each
    /// leaf; for those who may leave a scan before.
    #[inline]
    pub fn settle(&mut self, tree: &BTree) {
        if !self.dead.is_empty() {
            self.mark_found(tree);
        }
    }

    #[cold]
    fn mark_found(&mut self, tree: &BTree) {
        let mut dead = std::mem::take(&mut self.dead);
        dead.sort_unstable();
        dead.dedup();
        let at = |i: &usize| self.batch.entries[*i].at;
        let Ok(page) = tree.rel.read(Fork::Main, self.batch.block) else { return };
        let node = Node(page.view());
        if node.is_live() && node.is_leaf() && node.changes() == self.batch.changes {
            // A posting is marked when all of its rows are dead.
            for same in dead.chunk_by(|a, b| at(a) == at(b)) {
                let at = usize::from(at(&same[0]));
                if node.rows(at).count() == same.len() {
                    mark(&page, at);
                }
            }
        }
    }

    /// Copies the next leaf's part of the range. False at the end.
    fn fill(&mut self, tree: &BTree) -> Result<bool> {
        self.next = 0;
        self.batch.entries.clear();
        self.batch.vouched.clear();
        let source = std::mem::replace(&mut self.source, Source::End);
        match (source, self.direction) {
            (Source::End, _) => return Ok(false),
            (Source::Start, Direction::Forward) => self.fill_first(tree)?,
            (Source::Leaf(block), _) => self.fill_from(tree, block)?,
            (Source::Place(mark), Direction::Forward) => self.fill_on(tree, mark)?,
            (Source::Start, Direction::Backward) if self.high.is_bounded => {
                self.fill_before(tree, self.high.mark.clone())?;
            }
            (Source::Start, Direction::Backward) => self.fill_last(tree)?,
            (Source::Place(mark), Direction::Backward) => self.fill_before(tree, mark)?,
        }
        Ok(true)
    }

    fn fill_first(&mut self, tree: &BTree) -> Result<()> {
        let place = self.low.place().unwrap_or(Place::before(&[]));
        let (batch, high, keys) = (&mut self.batch, &self.high, self.with_keys);
        let next = tree
            .descend(place, 0, |node, block, at| batch.copy_forward(node, block, at, high, keys))?;
        self.source = next.unwrap_or(Source::End);
        Ok(())
    }

    fn fill_on(&mut self, tree: &BTree, mark: Mark) -> Result<()> {
        let (batch, high, keys) = (&mut self.batch, &self.high, self.with_keys);
        let place = mark.place();
        let next = tree.descend(place, 0, |node, block, at| {
            batch.copy_on(node, block, at, place, high, keys)
        })?;
        self.source = next.unwrap_or(Source::End);
        Ok(())
    }

    fn fill_from(&mut self, tree: &BTree, block: BlockNo) -> Result<()> {
        std::mem::swap(&mut self.fence, &mut self.batch.fence);
        let (batch, high, keys) = (&mut self.batch, &self.high, self.with_keys);
        let fence = self.fence.place();
        self.source = tree.look(block, |node| {
            if !node.is_live() {
                // Deleted since the link was read: it leads on to who has its key space now.
                batch.copy(node, block, 0..0, keys, usize::MAX);
                batch.fence.set(fence);
                return Source::Leaf(node.right());
            }
            if !node.has(SHIFTED) {
                return batch.copy_forward(node, block, 0, high, keys);
            }
            // It may have got entries of the left leaf since that was copied.
            let next = batch.copy_on(node, block, node.lower_bound(fence), fence, high, keys);
            if node.is_beyond(fence) {
                batch.fence.set(fence);
            }
            next
        })?;
        Ok(())
    }

    fn fill_last(&mut self, tree: &BTree) -> Result<()> {
        let (batch, keys) = (&mut self.batch, self.with_keys);
        let low = &self.low;
        let found = tree.last(0, |node, block| {
            let first = batch.copy_backward(node, block, low, node.count(), keys);
            (node.count() > 0).then(|| mark_of(node, first))
        })?;
        match found {
            None => {}
            Some(Some(first)) => self.go_on_before(first),
            // An empty last leaf: its fence is known only to who comes by keys.
            Some(None) => self.source = before_empty_last(tree)?,
        }
        Ok(())
    }

    fn fill_before(&mut self, tree: &BTree, mark: Mark) -> Result<()> {
        let (batch, keys) = (&mut self.batch, self.with_keys);
        let low = &self.low;
        let place = mark.place();
        let found = tree.before(place, 0, |node, at| {
            let first = batch.copy_backward(node, BlockNo::INVALID, low, at, keys);
            batch.cut_before(node, at, place);
            (at > 0).then(|| mark_of(node, first))
        })?;
        let Some(found) = found else { return Ok(()) };
        self.batch.block = found.block;
        match (found.found, found.fence) {
            (Some(first), _) => self.go_on_before(first),
            (None, fence) => self.source = before_fence(fence),
        }
        Ok(())
    }

    /// Goes on to the left of `first`, unless the range ends there.
    fn go_on_before(&mut self, first: Mark) {
        let in_range = self
            .low
            .place()
            .is_none_or(|low| (low.key, low.tie) < (first.key.as_slice(), first.tie));
        if in_range {
            self.source = Source::Place(first);
        }
    }
}

/// What is before the last leaf when that is empty: the largest possible place leads there.
fn before_empty_last(tree: &BTree) -> Result<Source> {
    let top = vec![0xFF; MAX_KEY_BYTES];
    let found = tree.before(Place { key: &top, tie: AFTER }, 0, |_, at| at)?;
    Ok(match found {
        Some(found) if found.found > 0 => Source::Place(Mark { key: top, tie: AFTER }),
        Some(found) => before_fence(found.fence),
        None => Source::End,
    })
}

/// Sets the mark of a dead row's entry.
fn mark(page: &ReadGuard<'_>, at: usize) {
    page.hint_or(ENTRIES + at * ENTRY_BYTES + 14, (DEAD >> 48) as u16);
}

fn before_fence(fence: Fence) -> Source {
    match fence {
        Some((key, tie)) => Source::Place(Mark { key, tie }),
        None => Source::End,
    }
}

fn mark_of(node: Node<'_>, at: usize) -> Mark {
    Mark { key: node.key(at), tie: node.tie(at) }
}

/// The position at which the range ends on this page.
fn end_of(node: Node<'_>, high: &Limit) -> usize {
    high.place().map_or(node.count(), |high| node.lower_bound(high))
}

/// The position at which the range begins on this page.
fn begin_of(node: Node<'_>, low: &Limit) -> usize {
    low.place().map_or(0, |low| node.lower_bound(low))
}

/// Where a forward scan goes on after this page, on which the range ends at `end`.
fn after(node: Node<'_>, end: usize, high: &Limit) -> Source {
    let ends = end < node.count() || high.place().is_some_and(|high| !node.is_beyond(high));
    if ends || node.right() == ROOT { Source::End } else { Source::Leaf(node.right()) }
}

impl Batch {
    /// Copies what is in range from entry `from` on, or as much of it as a batch takes; tells where the scan goes on.
    fn copy_forward(
        &mut self,
        node: Node<'_>,
        block: BlockNo,
        from: usize,
        high: &Limit,
        with_keys: bool,
    ) -> Source {
        let end = end_of(node, high);
        let to = self.copy(node, block, from.min(end)..end, with_keys, BATCH_ROWS);
        if to < end {
            return Source::Place(mark_of(node, to));
        }
        self.fence.key.clear();
        self.fence.tie = node.append_high(&mut self.fence.key);
        after(node, end, high)
    }

    /// Likewise of what is not before `place`, from entry `at` on, the first that is not.
    fn copy_on(
        &mut self,
        node: Node<'_>,
        block: BlockNo,
        at: usize,
        place: Place<'_>,
        high: &Limit,
        with_keys: bool,
    ) -> Source {
        // Rows on both sides of the place may share a posting by now.
        let shares = at > 0
            && node.slot(at - 1).is_posting()
            && node.key_is(at - 1, place.key)
            && node.rows(at - 1).gap_for(Tid::from_u64(place.tie)).after.is_some();
        let from = at - usize::from(shares);
        let next = self.copy_forward(node, block, from, high, with_keys);
        if shares {
            self.cut_from(from, place);
        }
        next
    }

    /// Copies what is in range before entry `to`, or as much of it as a batch takes; tells before which entry of the page
    /// the scan goes on.
    fn copy_backward(
        &mut self,
        node: Node<'_>,
        block: BlockNo,
        low: &Limit,
        to: usize,
        with_keys: bool,
    ) -> usize {
        let begin = begin_of(node, low).min(to);
        let mut rows = 0;
        let enough = |at: &usize| {
            // A row takes a byte at least.
            let list = if node.slot(*at).is_posting() { node.beside_bytes(*at) } else { 0 };
            rows += list;
            rows >= BATCH_ROWS
        };
        let from = (begin..to).rev().find(enough).unwrap_or(begin);
        self.copy(node, block, from..to, with_keys, usize::MAX);
        if from > begin { from } else { 0 }
    }

    /// Copies entries of a page; stops behind a posting that makes it `enough` rows, and tells where.
    fn copy(
        &mut self,
        node: Node<'_>,
        block: BlockNo,
        entries: Range<usize>,
        with_keys: bool,
        enough: usize,
    ) -> usize {
        self.entries.clear();
        self.bytes.clear();
        self.ends.clear();
        (self.block, self.changes) = (block, node.changes());
        let to = entries.end;
        for at in entries {
            let slot = node.slot(at);
            if slot.is_dead() {
                continue;
            }
            let copied = |tid| Copied { tid, at: at as u16 };
            match slot.is_posting() {
                true => self.entries.extend(node.rows(at).map(copied)),
                false => self.entries.push(copied(slot.tid())),
            }
            if with_keys {
                let start = self.bytes.len() as u32;
                node.append_key(at, &mut self.bytes);
                let key = self.bytes.len() as u32;
                node.append_carried(at, &mut self.bytes);
                let ends = Ends { start, key, carried: self.bytes.len() as u32 };
                self.ends.resize(self.entries.len(), ends);
            }
            if slot.is_posting() && self.entries.len() >= enough {
                return at + 1;
            }
        }
        to
    }

    /// Drops rows of entry `from`, the first one that was copied, that are before `place`.
    fn cut_from(&mut self, from: usize, place: Place<'_>) {
        let is_before =
            |copied: &&Copied| usize::from(copied.at) == from && copied.tid.to_u64() < place.tie;
        let before = self.entries.iter().take_while(is_before).count();
        self.entries.drain(..before);
        self.ends.drain(..before.min(self.ends.len()));
    }

    /// Drops rows that are not before `place`, which was copied up to entry `to`: a posting that begins before it may
    /// go on behind it. (It had the entry that is now among its rows for its own first one, or another page had.)
    fn cut_before(&mut self, node: Node<'_>, to: usize, place: Place<'_>) {
        let last = to.wrapping_sub(1);
        if to == 0 || !node.slot(last).is_posting() || !node.key_is(last, place.key) {
            return;
        }
        let is_behind =
            |copied: &Copied| usize::from(copied.at) == last && copied.tid.to_u64() >= place.tie;
        while self.entries.last().is_some_and(is_behind) {
            self.entries.pop();
        }
        self.ends.truncate(self.entries.len());
    }

    /// Key and carried bytes of an entry, if keys were copied.
    pub fn bytes_of(&self, i: usize) -> (&[u8], &[u8]) {
        let Some(Ends { start, key, carried }) = self.ends.get(i).copied() else {
            return (&[], &[]);
        };
        let (start, key, carried) = (start as usize, key as usize, carried as usize);
        (&self.bytes[start..key], &self.bytes[key..carried])
    }

    /// Whether the leaf has had the entries ever since they were copied.
    fn is_as_copied(&self, tree: &BTree) -> Result<bool> {
        let changes = self.changes;
        tree.look(self.block, |node| node.is_live() && node.is_leaf() && node.changes() == changes)
    }
}
