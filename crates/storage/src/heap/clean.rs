//! Pruning a page and reclaiming its line pointers, logged.

use super::insert::CLEAR_BYTES;
use super::prune::{Judge, PLAN_BYTES_MAX, Plan, apply, plan};
use super::{HeapRel, fsm, page};
use crate::buffer::{Ring, WriteGuard};
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::page::LineFlags;
use crate::txlog::TxLog;
use crate::txn::{Fate, Flags, TupleHeader, visibility};
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Csn, Fork, Lsn, Tid, Xid, sim};

/// `info` of a prune record: trailing unused line pointers are given back.
pub(super) const TRUNCATE_LINES: u8 = 1;

/// What cleaning one page did and found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageCleaning {
    /// Versions removed.
    pub removed: u32,
    /// Versions that must stay although they ended.
    pub recently_dead: u32,
    /// Versions that are there, or may come to be.
    pub live: u32,
    /// Dead line pointers, before those were freed that no index entry leads to.
    pub dead_lines: u32,
    /// Whether everything on it is visible to all now.
    pub all_visible: bool,
    /// Free bytes afterwards.
    pub free: u32,
}

const PRUNE_BYTES: usize = record_bound(1, 1, PLAN_BYTES_MAX);

impl HeapRel {
    /// Prunes a latched page; the journal has a claim for it. Tells whether anything went.
    pub(super) fn prune_latched(
        &self,
        page: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
    ) -> Result<bool> {
        let (mut plan, found) = self.plan(page)?;
        if plan.is_empty() && found.recently_dead > 0 {
            // The horizon known to all may be older than need be; looking at every session costs less
            // than moving the row to another page.
            self.txns.refresh();
            plan = self.plan(page)?.0;
        }
        if plan.is_empty() {
            return Ok(false);
        }
        let _window = sim::window("heap-pruned");
        self.carry_out(page, journal, &plan, 0);
        Ok(true)
    }

    /// Whether a transaction that ended something on the page has ended itself.
    pub(super) fn has_prunable(&self, page: &WriteGuard<'_>) -> bool {
        let hint = page::prune_hint(page.view());
        if hint == Xid::INVALID {
            return false;
        }
        if hint >= self.txns.oldest_running() {
            // The bound known to all may be older than need be.
            self.txns.refresh();
        }
        hint < self.txns.oldest_running()
    }

    /// Plans the pruning of a page, and counts what it found.
    fn plan(&self, page: &mut WriteGuard<'_>) -> Result<(Plan, PageCleaning)> {
        let mut bench = Bench {
            txlog: self.txns.txlog(),
            visible: self.txns.visible_horizon(),
            durable: self.wal.durable_and_published(),
            found: PageCleaning::default(),
            failed: None,
        };
        let (plan, hints) = plan(page.view(), &mut bench);
        bench.found.removed = (plan.dead.len() + plan.unused.len()) as u32;
        if let Some(error) = bench.failed {
            return Err(error);
        }
        // The page need not get dirty for them.
        hints.into_iter().for_each(|(at, flags)| page.put_u16(at, flags.0));
        Ok((plan, bench.found))
    }

    fn carry_out(
        &self,
        page: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
        plan: &Plan,
        info: u8,
    ) {
        page.mark_dirty();
        apply(page, plan, info & TRUNCATE_LINES != 0);
        let bytes = plan.encode();
        let at = journal.insert(|terms| {
            terms.record(Kind::HEAP_PRUNE, Xid::INVALID).info(info).block(&*page, &bytes)
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
    }

    /// Prunes a page if that is likely to help somebody who reads it: something ended here long enough ago,
    /// and the page is nearly full. Does not wait for anything but the page. In the reader's ring, if it has one: else the
    /// page would count as used by others, and the scan would take a frame of theirs for the next.
    pub(super) fn prune_if_due(&self, ring: Option<&mut Ring>, block: BlockNo) -> Result<()> {
        let mut journal = match Journal::open(&self.wal, &self.rel, 1, PRUNE_BYTES) {
            // Reading goes on when the log can't grow.
            Err(e) if e.is_log_refused() => return Ok(()),
            other => other?,
        };
        let mut page = match ring {
            Some(ring) => self.rel.write_in(ring, Fork::Main, block)?,
            None => self.rel.write(Fork::Main, block)?,
        };
        self.prune_latched(&mut page, &mut journal)?;
        Ok(())
    }

    /// Cleans one page for vacuum: prunes it, notes the dead line pointers that index entries may lead to
    /// (or, if the table has no indexes, frees them), promises visibility, records free space.
    pub fn clean_page(
        &self,
        ring: &mut Ring,
        block: BlockNo,
        has_indexes: bool,
        dead: &mut Vec<Tid>,
    ) -> Result<PageCleaning> {
        let bytes = 2 * PRUNE_BYTES + CLEAR_BYTES;
        let mut journal = Journal::open(&self.wal, &self.rel, 4, bytes)?;
        let mut page = self.rel.write_in(ring, Fork::Main, block)?;
        if page.is_new() {
            drop(page);
            let free = super::MAX_ROW_BYTES;
            fsm::record(&self.rel, block, free)?;
            return Ok(PageCleaning { free: free as u32, ..PageCleaning::default() });
        }
        let (plan, mut done) = self.plan(&mut page)?;
        if !plan.is_empty() {
            let _window = sim::window("heap-pruned");
            self.carry_out(&mut page, &mut journal, &plan, 0);
        }
        let lines: Vec<u16> = dead_lines(&page);
        done.dead_lines = lines.len() as u32;
        if has_indexes {
            dead.extend(lines.iter().map(|offset| Tid { block, offset: *offset }));
        } else {
            self.free_lines(&mut page, &mut journal, &lines);
        }
        done.all_visible = self.try_set_visible(&mut page, &mut journal)?;
        done.free = page::room(page.view()) as u32;
        drop(page);
        fsm::record(&self.rel, block, done.free as usize)?;
        Ok(done)
    }

    /// Frees dead line pointers that no index entry leads to any more (H3). Tells whether everything on
    /// the page is visible to all now.
    pub fn reclaim_lines(&self, ring: &mut Ring, block: BlockNo, offsets: &[u16]) -> Result<bool> {
        let bytes = PRUNE_BYTES + CLEAR_BYTES;
        let mut journal = Journal::open(&self.wal, &self.rel, 3, bytes)?;
        let mut page = self.rel.write_in(ring, Fork::Main, block)?;
        self.free_lines(&mut page, &mut journal, offsets);
        let visible = self.try_set_visible(&mut page, &mut journal)?;
        let free = page::room(page.view());
        drop(page);
        fsm::record(&self.rel, block, free)?;
        Ok(visible)
    }

    fn free_lines(&self, page: &mut WriteGuard<'_>, journal: &mut Journal<'_>, offsets: &[u16]) {
        if offsets.is_empty() {
            return;
        }
        assert!(
            offsets.iter().all(|o| page.line(*o).flags() == LineFlags::Dead),
            "only dead line pointers are reclaimed (H3)"
        );
        let hint = page::prune_hint(page.view());
        let plan = Plan { unused: offsets.to_vec(), hint, ..Plan::default() };
        self.carry_out(page, journal, &plan, TRUNCATE_LINES);
    }
}

/// Judges the versions of one page.
struct Bench<'h> {
    txlog: &'h TxLog,
    visible: Csn,
    durable: Lsn,
    found: PageCleaning,
    failed: Option<Error>,
}

impl Bench<'_> {
    fn fate_before(&mut self, horizon: Csn, header: &TupleHeader) -> (Fate, Flags) {
        let fate = visibility::fate(self.txlog, horizon, self.durable, header);
        fate.unwrap_or_else(|error| {
            self.failed = Some(error);
            (Fate::Live, Flags::NONE)
        })
    }
}

impl Judge for &mut Bench<'_> {
    fn fate(&mut self, header: &TupleHeader) -> (Fate, Flags) {
        let (fate, hints) = self.fate_before(self.visible, header);
        match fate {
            Fate::Dead => {}
            Fate::RecentlyDead => self.found.recently_dead += 1,
            _ => self.found.live += 1,
        }
        (fate, hints)
    }

    fn met_live(&mut self) {
        self.found.live += 1;
    }

    fn is_durably_dead(&mut self, header: &TupleHeader) -> bool {
        let durable = self.visible.min(Csn(self.durable.0));
        self.fate_before(durable, header).0 == Fate::Dead
    }
}

fn dead_lines(page: &WriteGuard<'_>) -> Vec<u16> {
    (1..=page.line_count()).filter(|o| page.line(*o).flags() == LineFlags::Dead).collect()
}
