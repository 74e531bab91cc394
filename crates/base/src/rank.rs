//! Latch ranks: the order in which latches are taken, checked per execution context in debug builds.
//!
//! A context that holds a latch of rank r may take only latches of higher rank, so no cycle of waiting
//! contexts can form. Rooms whose order within a rank is by position (heap pages by block, a B-tree parent
//! after its child) say so by [`Rank::same_rank_allowed`] and document the order in their README.

/// Rank of a latch; declared in the order in which they may be taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Rank {
    /// Engine-wide and SQL-side structures taken with nothing else held.
    Outer = 1,
    /// What the status logs hold while they read or write: the fold, ids logged ahead, the next window page.
    Table = 2,
    /// The one writer of pages; its holder tries page latches and never waits for one.
    PageWriter = 5,
    /// Heap pages; several in block order.
    HeapPage = 10,
    /// B-tree pages; left to right, child before parent.
    IndexPage = 11,
    /// Free-space map pages.
    FsmPage = 12,
    /// Visibility map pages.
    VmPage = 13,
    /// Sequence pages.
    SequencePage = 14,
    /// SLRU banks.
    SlruBank = 20,
    /// Lock table shards.
    LockShard = 30,
    /// Buffer cache bookkeeping.
    BufferMap = 40,
    /// Held by the one who syncs a relation's file.
    RelSync = 45,
    /// Relation file table.
    RelFile = 50,
    /// Log segments, control file.
    Wal = 60,
    /// Taken last, and nothing under it.
    Leaf = 100,
}

impl Rank {
    /// Whether several latches of this rank may be held at once, in an order that the room documents.
    pub fn same_rank_allowed(self) -> bool {
        matches!(self, Rank::HeapPage | Rank::IndexPage)
    }
}

/// The ranks that one context holds, each as often as it holds it.
#[derive(Default)]
pub(crate) struct Held {
    /// Touched by the context alone; the mutex only makes handles to it shareable.
    #[cfg(debug_assertions)]
    ranks: std::sync::Mutex<Vec<Rank>>,
}

impl Held {
    #[cfg(debug_assertions)]
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Rank>> {
        self.ranks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    #[cfg(debug_assertions)]
    pub(crate) fn push(&self, rank: Rank) {
        let mut ranks = self.lock();
        if let Some(&top) = ranks.iter().max() {
            let fine = rank > top || (rank == top && rank.same_rank_allowed());
            assert!(fine, "latch order: {rank:?} taken while {:?} held", *ranks);
        }
        ranks.push(rank);
    }

    #[cfg(debug_assertions)]
    pub(crate) fn pop(&self, rank: Rank) {
        let mut ranks = self.lock();
        let at = ranks.iter().rposition(|r| *r == rank).expect("a latch is released by its taker");
        ranks.remove(at);
    }

    #[cfg(debug_assertions)]
    pub(crate) fn any_from(&self, rank: Rank) -> bool {
        self.lock().iter().any(|held| *held >= rank)
    }

    #[cfg(debug_assertions)]
    pub(crate) fn any_within(&self, ranks: std::ops::RangeInclusive<Rank>) -> bool {
        self.lock().iter().any(|held| ranks.contains(held))
    }

    #[cfg(debug_assertions)]
    pub(crate) fn any(&self) -> bool {
        !self.lock().is_empty()
    }
}

/// Notes that the current context took a latch of this rank *blocking*. Free in release builds.
#[inline]
pub fn acquired(rank: Rank) {
    #[cfg(debug_assertions)]
    crate::park::with_current(|c| c.held.push(rank));
    #[cfg(not(debug_assertions))]
    let _ = rank;
}

/// Notes that the current context released it. Free in release builds.
#[inline]
pub fn released(rank: Rank) {
    #[cfg(debug_assertions)]
    crate::park::with_current(|c| c.held.pop(rank));
    #[cfg(not(debug_assertions))]
    let _ = rank;
}

/// Whether the current context holds any latch; release builds do not know, and say no.
pub fn any_held() -> bool {
    #[cfg(debug_assertions)]
    return crate::park::with_current(|c| c.held.any());
    #[cfg(not(debug_assertions))]
    return false;
}

/// Fails in debug builds when the current context holds any latch: for places that wait on clients or locks.
#[inline]
pub fn assert_none_held() {
    #[cfg(debug_assertions)]
    crate::park::with_current(|c| assert!(!c.held.any(), "a latch is held across a long wait"));
}

/// Fails in debug builds when the current context holds a latch of this rank or a later one: for the first of
/// several latches of a rank whose order the room documents.
#[inline]
pub fn assert_none_from(rank: Rank) {
    #[cfg(debug_assertions)]
    crate::park::with_current(|c| {
        assert!(!c.held.any_from(rank), "latch order: a first {rank:?} taken after another");
    });
    #[cfg(not(debug_assertions))]
    let _ = rank;
}

/// Fails in debug builds when the current context holds a page's latch: for what must be done before the first.
#[inline]
pub fn assert_no_page_held() {
    #[cfg(debug_assertions)]
    crate::park::with_current(|c| {
        let held = c.held.any_within(Rank::HeapPage..=Rank::SequencePage);
        assert!(!held, "what may wait or fail comes before the first latch of a page");
    });
}
