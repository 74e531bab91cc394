//! Verifying a heap: structure of every page, chains (H2), the promises of the visibility map (H4), its maps' pages.

use super::fetch::Chain;
use super::{HeapRel, page, vm};
use crate::error::Result;
use crate::page::{LineFlags, LinePointer, PAGE_BYTES, PageKind, PageView};
use crate::txn::{Fate, Flags, TupleHeader, visibility};
use base::{BlockNo, Csn, Fork, Tid};
use std::collections::BTreeMap;

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
            if !is_blank && faults.is_empty() {
                self.lost_rows(page.view(), &mut faults)?;
            }
            let flag = !is_blank && page::is_all_visible(page.view());
            if map & vm::ALL_VISIBLE != 0 && !flag {
                faults.push("is all visible in the map but not by its flag".to_owned());
            }
            if map & vm::ALL_FROZEN != 0 && map & vm::ALL_VISIBLE == 0 {
                faults.push("is all frozen in the map but not all visible".to_owned());
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
        self.check_map(Fork::FreeSpace, PageKind::FreeSpace, report)?;
        self.check_map(Fork::Visibility, PageKind::Visibility, report)
    }

    /// Verifies that a map's pages are such. What the free-space map says may be wrong: it is a hint.
    fn check_map(&self, fork: Fork, kind: PageKind, report: &mut dyn FnMut(String)) -> Result<()> {
        for block in (0..self.rel.blocks(fork)?).map(BlockNo) {
            let page = self.rel.read(fork, block)?;
            if !page.is_blank() && (page.kind() != Some(kind) || !page.header_is_sound()) {
                report(format!("{}, {fork:?} block {block}: is no such page", self.name()));
            }
        }
        Ok(())
    }

    /// H2: a heap-only version that is there is reached from a root. One that nothing leads to is lost to every index; what is
    /// left of a rolled-back update may be.
    fn lost_rows(&self, page: PageView<'_>, faults: &mut Vec<String>) -> Result<()> {
        for (offset, header) in unreached(page) {
            let (fate, _) =
                visibility::fate(self.txns.txlog(), Csn(0), self.wal.durable(), &header)?;
            if fate == Fate::Live {
                faults.push(format!("line {offset} is a row's version that no root leads to"));
            }
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
    if page::is_all_visible(page) {
        promise_faults(page, faults);
    }
}

/// H4: of what the page's flag promises, everybody is told without looking at a version.
fn promise_faults(page: PageView<'_>, faults: &mut Vec<String>) {
    let unended = Flags::XMAX_INVALID.with(Flags::LOCK_ONLY);
    for offset in 1..=page.line_count() {
        let is_kept = match page.line(offset).flags() {
            LineFlags::Unused | LineFlags::Redirect => true,
            LineFlags::Dead => false,
            LineFlags::Normal => page::version(page, offset).is_none_or(|item| {
                let flags = page::header(page, item).flags;
                flags.has(Flags::XMIN_FROZEN) && flags.any(unended)
            }),
        };
        if !is_kept {
            faults.push(format!("is all visible by its flag, but line {offset} may not be"));
        }
    }
}

/// The heap-only versions of a sound page that no root leads to.
fn unreached(page: PageView<'_>) -> Vec<(u16, TupleHeader)> {
    let mut inner = BTreeMap::new();
    let mut roots = Vec::new();
    for offset in 1..=page.line_count() {
        let version = page::version(page, offset).map(|item| page::header(page, item));
        match (page.line(offset).flags(), version) {
            (LineFlags::Normal, Some(header)) if header.flags.has(Flags::HEAP_ONLY) => {
                inner.insert(offset, header);
            }
            (LineFlags::Normal | LineFlags::Redirect, _) => roots.push(offset),
            _ => {}
        }
    }
    for root in roots {
        if inner.is_empty() {
            break;
        }
        let mut chain = Chain::new(page, root);
        // A damaged page could lead round for ever.
        for _ in 0..page.line_count() {
            let Some((offset, ..)) = chain.next() else { break };
            inner.remove(&offset);
        }
    }
    inner.into_iter().collect()
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
