//! Pages that were taken out of the tree, until they are used again.
//!
//! Who was on the way to a page when it was deleted may still come to it, so it *waits* until every snapshot is newer
//! than its deletion (B5). What waits is remembered in memory, oldest first: a split looks at the oldest only. Whatever is
//! not remembered (after a restart; when too much waits) the next vacuum enters into the free-space map once it may be used,
//! with pages that a crash left behind, new and never filled.

use super::page::*;
use super::{BTree, IndexCleaning};
use crate::buffer::{Optimistic, Passage, WriteGuard};
use crate::error::Result;
use crate::heap::fsm;
use crate::page::PageView;
use base::latch::Latch;
use base::rank::Rank;
use base::{BlockNo, Csn, Fork};
use std::collections::VecDeque;

/// More are left to the next vacuum.
const WAITING_MAX: usize = 1 << 16;

/// Deleted pages with the stamps of their deletion, which only rise. A hint: a page counts by what it says itself.
pub(super) struct Waiting(Latch<VecDeque<(Csn, BlockNo)>>);

impl Waiting {
    pub fn new() -> Waiting {
        Waiting(Latch::new(Rank::Leaf, VecDeque::new()))
    }
}

impl BTree {
    /// Remembers a page that was deleted, for use when the horizon has passed `stamp`.
    pub(super) fn let_wait(&self, stamp: Csn, block: BlockNo) {
        let mut waiting = self.waiting.0.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back((stamp, block));
        }
    }

    /// The oldest page that waits, if it need not any more.
    fn take_waiting(&self) -> Option<BlockNo> {
        let mut waiting = self.waiting.0.lock();
        let (stamp, _) = waiting.front()?;
        if *stamp >= self.horizon() {
            return None;
        }
        waiting.pop_front().map(|(_, block)| block)
    }

    /// A page for new content, latched: one that was deleted long enough ago, else a new one. Nobody else
    /// knows it, so the order of latches does not matter.
    pub(super) fn allocate(&self) -> Result<WriteGuard<'_>> {
        loop {
            let block = match self.take_waiting() {
                Some(block) => block,
                None => match fsm::take_whole(&self.rel)? {
                    Some(block) => block,
                    None => return self.rel.extend(Fork::Main),
                },
            };
            // The map is a hint, and stale after a crash: it may name a page in use, even the one that is being
            // split, latched by this very context. Nothing is waited for; what is missed the next vacuum finds.
            let page = self.rel.pin(Fork::Main, block)?.try_write();
            if let Some(page) = page.filter(|page| self.is_reusable(page.view())) {
                return Ok(page);
            }
        }
    }

    /// Whether the page holds nothing, and nobody can be on the way to it (B5).
    fn is_reusable(&self, page: PageView<'_>) -> bool {
        let node = Node(page);
        page.is_new() || (node.has(DELETED) && page.get_u64(DELETED_STAMP) < self.horizon().0)
    }

    /// Whether the page holds nothing, and whether it is reusable.
    fn emptiness(&self, page: PageView<'_>) -> (bool, bool) {
        (page.is_new() || Node(page).has(DELETED), self.is_reusable(page))
    }

    /// Enters reusable pages into the map, and counts pages that hold nothing, but for those `counted`, by block: leaves,
    /// and what was taken out just now.
    pub(super) fn find_free_pages(
        &self,
        passage: &mut Passage,
        counted: &[bool],
        rest: &mut dyn FnMut() -> Result<()>,
        done: &mut IndexCleaning,
    ) -> Result<()> {
        let others = counted.iter().enumerate().filter(|(_, is_counted)| !**is_counted);
        for block in others.map(|(block, _)| BlockNo(block as u32)) {
            let look = |page: PageView<'_>| Some(self.emptiness(page));
            let (is_empty, is_free) = match self.rel.peek(Fork::Main, block, look) {
                Optimistic::Ok(found) => found,
                Optimistic::Retry => {
                    rest()?;
                    self.emptiness(passage.read(&self.rel, block)?.view())
                }
            };
            done.empty += u64::from(is_empty);
            if is_free {
                done.reusable += 1;
                fsm::give_whole(&self.rel, block)?;
            }
        }
        Ok(())
    }
}
