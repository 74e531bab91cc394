//! Finding the page that is responsible for a place.
//!
//! Nothing is latched on the way down. Each page is read optimistically: what was read is used only after
//! the frame's version proved that nobody changed the page meanwhile. Between two pages nothing is held
//! either; what makes that safe is that a key never moves to the left, that a page knows its high key, and
//! that an unlinked page is not reused while a snapshot of this session is registered (B5).

use super::BTree;
use super::page::*;
use crate::buffer::{Optimistic, WriteGuard};
use crate::error::{Error, Result};
use base::{BlockNo, Fork};

/// After so many failed optimistic reads a page is read under its shared latch.
const OPTIMISTIC_TRIES: u32 = 8;

/// After so many restarts from the root the tree is taken to be damaged.
const RESTARTS_MAX: u32 = 10_000;

/// What a page says to somebody on the way down.
enum Step<T> {
    Found(T),
    Down {
        child: BlockNo,
        level: u8,
    },
    Right(BlockNo),
    /// The tree has no page yet.
    Empty,
    /// Not what the way here promised: the tree changed meanwhile.
    Lost,
}

/// A latched page, or why there is none.
pub(super) enum Latched<'r> {
    Ready(WriteGuard<'r>),
    /// This page's split must be completed first.
    Incomplete(BlockNo),
}

/// The place that ends a page's key space on the left; `None` for the leftmost page of a level.
pub(super) type Fence = Option<(Vec<u8>, u64)>;

/// What [`BTree::before`] found.
pub(super) struct Before<T> {
    pub found: T,
    pub block: BlockNo,
    pub fence: Fence,
}

impl BTree {
    /// Reads a page: optimistically if that works soon, else under its latch. `f` may be called several
    /// times and on bytes that make no sense; the last call's result counts.
    #[inline]
    pub(super) fn look<T>(&self, block: BlockNo, mut f: impl FnMut(Node<'_>) -> T) -> Result<T> {
        for _ in 0..OPTIMISTIC_TRIES {
            match self.rel.optimistic(Fork::Main, block, |page| Some(f(Node(page)))) {
                Optimistic::Ok(found) => return Ok(found),
                Optimistic::Retry => {}
            }
        }
        let page = self.rel.read(Fork::Main, block)?;
        Ok(f(Node(page.view())))
    }

    /// Descends to the page of `level` that is responsible for `place` and reads it: `f` gets the page, its
    /// block and the position of the first entry not before `place`. `None`: the tree is empty.
    #[inline]
    pub(super) fn descend<T>(
        &self,
        place: Place<'_>,
        level: u8,
        mut f: impl FnMut(Node<'_>, BlockNo, usize) -> T,
    ) -> Result<Option<T>> {
        if self.rel.blocks(Fork::Main)? == 0 {
            return Ok(None);
        }
        let (mut block, mut expected, mut restarts) = (ROOT, None, 0);
        loop {
            let step = self
                .look(block, |node| step(node, place, level, expected, |at| f(node, block, at)))?;
            match step {
                Step::Found(found) => return Ok(Some(found)),
                Step::Down { child, level } => (block, expected) = (child, Some(level)),
                Step::Right(right) => block = right,
                Step::Empty if block == ROOT => return Ok(None),
                Step::Empty | Step::Lost => {
                    (block, expected) = (ROOT, None);
                    restarts += 1;
                    self.give_up_after(restarts)?;
                }
            }
        }
    }

    /// Descends to the page of `level` that holds what lies right before `place`; also tells the page's left
    /// fence. `None`: the tree is empty.
    pub(super) fn before<T>(
        &self,
        place: Place<'_>,
        level: u8,
        mut f: impl FnMut(Node<'_>, usize) -> T,
    ) -> Result<Option<Before<T>>> {
        if self.rel.blocks(Fork::Main)? == 0 {
            return Ok(None);
        }
        let (mut block, mut expected, mut restarts, mut fence) = (ROOT, None, 0, None);
        loop {
            let (step, passed) = self
                .look(block, |node| step_before(node, place, level, expected, |at| f(node, at)))?;
            fence = passed.or(fence);
            match step {
                Step::Found(found) => return Ok(Some(Before { found, block, fence })),
                Step::Down { child, level } => (block, expected) = (child, Some(level)),
                Step::Right(right) => block = right,
                Step::Empty if block == ROOT => return Ok(None),
                Step::Empty | Step::Lost => {
                    (block, expected, fence) = (ROOT, None, None);
                    restarts += 1;
                    self.give_up_after(restarts)?;
                }
            }
        }
    }

    /// Descends to the last page of `level`, that has no high key.
    pub(super) fn last<T>(
        &self,
        level: u8,
        mut f: impl FnMut(Node<'_>, BlockNo) -> T,
    ) -> Result<Option<T>> {
        if self.rel.blocks(Fork::Main)? == 0 {
            return Ok(None);
        }
        let (mut block, mut restarts) = (ROOT, 0);
        loop {
            let step = self.look(block, |node| match node.count() {
                _ if !node.is_live() => {
                    if node.0.is_new() {
                        Step::Empty
                    } else {
                        Step::Lost
                    }
                }
                _ if !node.is_rightmost() => Step::Right(node.right()),
                _ if node.level() == level => Step::Found(f(node, block)),
                0 => Step::Lost,
                n => Step::Down { child: node.slot(n - 1).child(), level },
            })?;
            match step {
                Step::Found(found) => return Ok(Some(found)),
                Step::Down { child: next, .. } | Step::Right(next) => block = next,
                Step::Empty if block == ROOT => return Ok(None),
                Step::Empty | Step::Lost => {
                    block = ROOT;
                    restarts += 1;
                    self.give_up_after(restarts)?;
                }
            }
        }
    }

    fn give_up_after(&self, restarts: u32) -> Result<()> {
        if restarts < RESTARTS_MAX {
            return Ok(());
        }
        Err(Error::damaged(self.name(), None, "links between the pages of the index lead nowhere"))
    }

    /// Latches the page of `level` that is responsible for `place`. `None`: the tree is empty.
    pub(super) fn latch(&self, place: Place<'_>, level: u8) -> Result<Option<Latched<'_>>> {
        loop {
            let Some(block) = self.descend(place, level, |_, block, _| block)? else {
                return Ok(None);
            };
            if let Some(latched) = self.latch_from(block, place, level)? {
                return Ok(Some(latched));
            }
        }
    }

    /// Latches the page for `place`, which was `block` a moment ago, going right if it has split. `None`:
    /// `block` has become something else.
    pub(super) fn latch_from(
        &self,
        block: BlockNo,
        place: Place<'_>,
        level: u8,
    ) -> Result<Option<Latched<'_>>> {
        let guard = self.rel.write(Fork::Main, block)?;
        let node = Node(guard.view());
        if !node.is_live() || node.level() != level {
            return Ok(None);
        }
        self.go_right(guard, place).map(Some)
    }

    /// From a latched page to the one responsible for `place`. The next page is latched before the latch of
    /// this one goes: whoever comes behind can't overtake.
    pub(super) fn go_right<'r>(
        &'r self,
        mut guard: WriteGuard<'r>,
        place: Place<'_>,
    ) -> Result<Latched<'r>> {
        loop {
            let node = Node(guard.view());
            if node.has(INCOMPLETE) {
                return Ok(Latched::Incomplete(guard.block()));
            }
            if !node.is_beyond(place) {
                return Ok(Latched::Ready(guard));
            }
            guard = self.rel.write(Fork::Main, node.right())?;
        }
    }
}

/// What every step checks first: that the page is what the way here promised.
#[inline]
fn arrive<T>(node: Node<'_>, level: u8, expected: Option<u8>) -> Option<Step<T>> {
    if !node.is_live() {
        // A deleted page leads to the one that took its key space over.
        let deleted = node.has(DELETED) && node.right() != ROOT;
        let gone = if deleted { Step::Right(node.right()) } else { Step::Lost };
        return Some(if node.0.is_new() { Step::Empty } else { gone });
    }
    let unexpected = expected.is_some_and(|e| e != node.level()) || node.level() < level;
    unexpected.then_some(Step::Lost)
}

#[inline]
fn step<T>(
    node: Node<'_>,
    place: Place<'_>,
    level: u8,
    expected: Option<u8>,
    found: impl FnOnce(usize) -> T,
) -> Step<T> {
    if let Some(step) = arrive(node, level, expected) {
        return step;
    }
    let is_target = node.level() == level;
    let at = node.lower_bound(if is_target { place } else { place.next() });
    // An entry at or behind the place proves that the place is below the high key.
    if at >= node.count() && node.is_beyond(place) {
        return Step::Right(node.right());
    }
    if is_target {
        return Step::Found(found(at));
    }
    let child = node.slot(at.saturating_sub(1)).child();
    // Wrapping: what is read without a latch may change between two looks; then the step is not taken.
    Step::Down { child, level: node.level().wrapping_sub(1) }
}

fn step_before<T>(
    node: Node<'_>,
    place: Place<'_>,
    level: u8,
    expected: Option<u8>,
    found: impl FnOnce(usize) -> T,
) -> (Step<T>, Fence) {
    if let Some(step) = arrive(node, level, expected) {
        return (step, None);
    }
    if !node.reaches(place) {
        return (Step::Right(node.right()), node.high());
    }
    let at = node.lower_bound(place);
    if node.level() == level {
        return (Step::Found(found(at)), None);
    }
    let way = at.saturating_sub(1);
    let fence = (way > 0).then(|| (node.key(way), node.tie(way)));
    (Step::Down { child: node.slot(way).child(), level: node.level().wrapping_sub(1) }, fence)
}
