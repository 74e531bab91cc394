//! Verifying an index: stamps (X2), order and room of pages (X3), chains (X4), every entry in its bucket (X5).
//!
//! Takes shared latches, one bucket at a time; run it on a quiet index.

use super::HashIndex;
use super::page::*;
use crate::error::Result;
use crate::page::PageKind;
use base::hash::HashSet;
use base::{BlockNo, Fork, Tid, sim};

struct Walk<'i, 'r> {
    index: &'i HashIndex,
    buckets: u32,
    blocks: u32,
    report: &'r mut dyn FnMut(String),
    reached: HashSet<u32>,
    /// States of the buckets, for the pairs of splits.
    states: Vec<u8>,
}

impl HashIndex {
    /// Verifies the whole index, calling `report` with a sentence for everything that is wrong and `entry`
    /// with every entry, by its hash.
    pub fn check(
        &self,
        report: &mut dyn FnMut(String),
        entry: &mut dyn FnMut(u64, Tid),
    ) -> Result<()> {
        let buckets = self.refresh()?;
        if buckets == 0 {
            return Ok(());
        }
        let blocks = self.rel.blocks(Fork::Main)?;
        let (reached, states) = (HashSet::default(), Vec::new());
        let mut walk = Walk { index: self, buckets, blocks, report, reached, states };
        let extents = walk.extents()?;
        for bucket in 0..buckets {
            walk.bucket(bucket, entry)?;
        }
        walk.pairs();
        let mut extents = extents.into_iter().peekable();
        let mut extent_end = 0;
        for block in 1..blocks {
            if let Some((start, size)) = extents.next_if(|(start, _)| *start == block) {
                extent_end = start + size;
            }
            walk.unreached(BlockNo(block), block < extent_end)?;
        }
        Ok(())
    }
}

impl Walk<'_, '_> {
    fn complain(&mut self, block: BlockNo, what: impl AsRef<str>) {
        (self.report)(format!("{} block {block}: {}", self.index.name(), what.as_ref()));
    }

    /// The metapage's table: extents one after the other, within the file, and none too many.
    fn extents(&mut self) -> Result<Vec<(u32, u32)>> {
        let extents = self.index.extents();
        let mut end = META.0 + 1;
        for (start, size) in &extents {
            if *start < end || start + size > self.blocks {
                self.complain(META, format!("extent {start} of {size} blocks is out of place"));
            }
            end = start + size;
        }
        let meta = self.index.rel.read(Fork::Main, META)?;
        let (entered, target) = (Node(meta.view()).meta_extents(), Node(meta.view()).meta_target());
        drop(meta);
        let needed = extent_of(self.buckets - 1).index + 1;
        // One more if a crash came between an extent and its first bucket.
        if entered != extents.len() || entered != needed && entered != needed + 1 {
            self.complain(META, format!("{entered} extents for {} buckets", self.buckets));
        }
        if usize::from(target) > MAX_ENTRIES {
            self.complain(META, format!("no page has room for {target} entries"));
        }
        Ok(extents)
    }

    fn bucket(&mut self, bucket: u32, entry: &mut dyn FnMut(u64, Tid)) -> Result<()> {
        let index = self.index;
        let first = index.block_of(bucket);
        let page = index.rel.read(Fork::Main, first)?;
        let node = Node(page.view());
        let (depth, state) = (node.depth(), node.state());
        self.states.push(state);
        // What a crash has left half made counts among its kinds.
        drop((state & SPLITTING != 0).then(|| sim::window("left: a bucket's split open")));
        let mut faults: Vec<(BlockNo, String)> = Vec::new();
        if !node.is(role::BUCKET) || node.bucket() != bucket {
            self.complain(first, format!("the first page of bucket {bucket} should be here"));
            return Ok(());
        }
        if depth != depth_of(bucket, self.buckets) {
            let what = format!("bucket {bucket} of {} has depth {depth}", self.buckets);
            faults.push((first, what));
        }
        // While it is split, entries that will leave may be there.
        let certain = if state & SPLITTING != 0 { mask(depth - 1) } else { mask(depth) };
        let belongs = |hash: u64| hash & certain == u64::from(bucket) & certain;
        let (mut next, mut cursor_seen) = (first, node.cursor() == NONE);
        let cursor = node.cursor();
        while next != NONE {
            if next.0 >= self.blocks || !self.reached.insert(next.0) {
                faults.push((next, format!("bucket {bucket} leads there, again or past the end")));
                break;
            }
            cursor_seen |= next == cursor;
            let overflow;
            let node = if next == first {
                node
            } else {
                overflow = index.rel.read(Fork::Main, next)?;
                let node = Node(overflow.view());
                if !node.is_overflow_of(bucket) {
                    faults.push((next, format!("it is no overflow page of bucket {bucket}")));
                    break;
                }
                node
            };
            faults.extend(page_fault(node).map(|fault| (next, fault)));
            for at in 0..node.count() {
                if !belongs(node.hash(at)) {
                    faults.push((next, format!("entry {at} belongs to another bucket")));
                }
                entry(node.hash(at), node.slot(at).tid());
            }
            next = node.next();
        }
        if !cursor_seen {
            faults.push((first, "the cursor of its split is not in its chain".into()));
        }
        drop(page);
        faults.into_iter().for_each(|(block, fault)| self.complain(block, fault));
        Ok(())
    }

    /// A bucket that is split has one that is filled, and the other way round.
    fn pairs(&mut self) {
        let states = std::mem::take(&mut self.states);
        for (bucket, state) in states.iter().enumerate() {
            let bucket = bucket as u32;
            let block = self.index.block_of(bucket);
            if state & SPLITTING != 0 {
                let depth = depth_of(bucket, self.buckets);
                let partner = (bucket + (1 << (depth - 1))) as usize;
                if states.get(partner).is_none_or(|state| state & FILLING == 0) {
                    self.complain(block, format!("its split fills no bucket {partner}"));
                }
            }
            if state & FILLING != 0 && states[parent_of(bucket) as usize] & SPLITTING == 0 {
                self.complain(block, "it is filled from a bucket that is not split");
            }
        }
    }

    fn unreached(&mut self, block: BlockNo, in_extent: bool) -> Result<()> {
        if self.reached.contains(&block.0) {
            return Ok(());
        }
        let page = self.index.rel.read(Fork::Main, block)?;
        let fine = page.is_new() || !in_extent && Node(page.view()).is(role::FREE);
        drop(page);
        if !fine {
            self.complain(block, "is in use but in no bucket's chain");
        }
        Ok(())
    }
}

/// What is wrong with the bytes of a page with entries.
fn page_fault(node: Node<'_>) -> Option<String> {
    let page = node.0;
    if page.kind() != Some(PageKind::Hash) || !page.header_is_sound() {
        return Some("is not a page of a hash index or its header is damaged".into());
    }
    let count = usize::from(page.get_u16(COUNT));
    if count > MAX_ENTRIES || page.lower() != ENTRIES + count * ENTRY_BYTES {
        return Some(format!("{count} entries do not end at {}", page.lower()));
    }
    let at = (1..count).find(|at| node.entry(at - 1) >= node.entry(*at))?;
    Some(format!("entry {at} is not above the one before"))
}
