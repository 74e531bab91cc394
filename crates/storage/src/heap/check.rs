//! Verifying a heap: structure of every page, chains (H2), the promises of the visibility map (H4).

use super::fetch::Chain;
use super::{HeapRel, page, vm};
use crate::error::Result;
use crate::page::{LineFlags, LinePointer, PAGE_BYTES, PageKind, PageView};
use crate::txn::{Fate, Flags, visibility};
use base::{BlockNo, Csn, Fork, Tid};

/// What a line pointer of a sound page is to an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// A row's root, with the place of a version of it.
    Root(Tid),
    /// A row that is gone; entries may be left.
    Dead,
    /// Nothing that an index entry may lead to.
    None,
}

/// A version of a row, to a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// Where it is.
    pub tid: Tid,
    /// It was committed and not ended: there must be an index entry for it.
    pub live: bool,
}

impl HeapRel {
    /// Verifies the heap, calling `report` with a sentence for everything that is wrong. Run it on a table
    /// that nobody writes meanwhile.
    pub fn check(&self, report: &mut dyn FnMut(String)) -> Result<()> {
        for block in (0..self.rel.blocks(Fork::Main)?).map(BlockNo) {
            let map = vm::get(&self.rel, block)?;
            let page = self.rel.read(Fork::Main, block)?;
            let mut faults = Vec::new();
            let is_blank = page.is_blank();
            if !is_blank {
                page_faults(page.view(), &mut faults);
            }
            let flag = !is_blank && page::is_all_visible(page.view());
            if map & vm::ALL_VISIBLE != 0 && !flag {
                faults.push("is all visible in the map but not by its flag".to_owned());
            }
            drop(page);
            for fault in faults {
                report(format!("{} block {block}: {fault}", self.name()));
            }
        }
        let behind = vm::first_behind(&self.rel)?;
        if let Some(block) = behind {
            report(format!("{} ends before block {block}, which is all visible", self.name()));
        }
        Ok(())
    }

    /// The versions of the row at this root, oldest first.
    pub fn versions(&self, root: Tid) -> Result<Vec<Version>> {
        let page = self.rel.read(Fork::Main, root.block)?;
        let mut chain = Chain::new(page.view(), root.offset);
        let mut versions = Vec::new();
        while let Some((offset, _, header)) = chain.next() {
            let txlog = self.txns.txlog();
            let (fate, _) = visibility::fate(txlog, Csn(0), self.wal.durable(), &header)?;
            let tid = Tid { block: root.block, offset };
            versions.push(Version { tid, live: fate == Fate::Live });
        }
        Ok(versions)
    }

    /// What every line pointer of a block is to an index; the first has number 1.
    pub fn lines(&self, block: BlockNo) -> Result<Vec<Line>> {
        let page = self.rel.read(Fork::Main, block)?;
        let lines = (1..=page.line_count()).map(|offset| {
            let line = page.line(offset);
            let version = page::resolve(page.view(), offset)
                .and_then(|at| page::version(page.view(), at).map(|item| (at, item)));
            match (line.flags(), version) {
                (LineFlags::Dead, _) => Line::Dead,
                (flags, Some((at, item))) => {
                    let inner = page::header(page.view(), item).flags.has(Flags::HEAP_ONLY);
                    let root = inner == (flags == LineFlags::Redirect);
                    if root { Line::Root(Tid { block, offset: at }) } else { Line::None }
                }
                _ => Line::None,
            }
        });
        Ok(lines.collect())
    }
}

fn page_faults(page: PageView<'_>, faults: &mut Vec<String>) {
    if page.kind() != Some(PageKind::Heap) || !page.header_is_sound() {
        faults.push("is not a heap page or its header is damaged".to_owned());
        return;
    }
    let mut spans = Vec::new();
    for offset in 1..=page.line_count() {
        let line = page.line(offset);
        match line.flags() {
            LineFlags::Unused | LineFlags::Dead => {
                if ![LinePointer::UNUSED, LinePointer::DEAD].contains(&line) {
                    faults.push(format!("line {offset} stands for nothing but names bytes"));
                }
            }
            LineFlags::Redirect => {
                let to = page::resolve(page, offset).and_then(|to| page::version(page, to));
                let inner =
                    to.is_some_and(|item| page::header(page, item).flags.has(Flags::HEAP_ONLY));
                if !inner {
                    faults.push(format!("line {offset} redirects to no heap-only version"));
                }
            }
            LineFlags::Normal => match page::version(page, offset) {
                Some(item) => {
                    spans.push((item.offset, item.len, offset));
                    chain_fault(page, offset, faults);
                }
                None => faults.push(format!("line {offset} names no version")),
            },
        }
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if pair[0].0 + pair[0].1 > pair[1].0 {
            faults.push(format!("lines {} and {} overlap", pair[0].2, pair[1].2));
        }
    }
    let outside = |span: &&(usize, usize, u16)| {
        span.0 < page.upper() || span.0 + span.1 > page.special().min(PAGE_BYTES)
    };
    for span in spans.iter().filter(outside) {
        faults.push(format!("line {} lies outside the space of items", span.2));
    }
}

/// H2: the successor of a HOT update is a heap-only version made by the transaction that ended this one.
/// A successor that is gone was made by a transaction that rolled back.
fn chain_fault(page: PageView<'_>, offset: u16, faults: &mut Vec<String>) {
    let item = page::version(page, offset).expect("seen just now");
    let header = page::header(page, item);
    let settled = header.flags.any(Flags::XMAX_INVALID.with(Flags::LOCK_ONLY));
    if !header.flags.has(Flags::HOT_UPDATED) || settled {
        return;
    }
    let Some(next) = page::version(page, header.successor.offset) else { return };
    let next = page::header(page, next);
    if next.xmin == header.xmax && !next.flags.has(Flags::HEAP_ONLY) {
        faults.push(format!("line {offset} is followed by a version that is not heap-only"));
    }
}
