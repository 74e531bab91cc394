//! Holds on a page: pinned, latched shared, latched alone. All end when dropped.

use super::frame::Frame;
use super::latch;
use super::relation::Relation;
use super::word::{Attempt, EXCLUSIVE, PIN, SHARED};
use crate::error::Result;
use crate::page::{PAGE_BYTES, PageMut, PageView};
use crate::wal::{LoggedPage, PageImage};
use base::counts::{self, Count, Hold as Held, Stopwatch};
use base::rank::{self, Rank};
use base::sync::unmodelled::Ordering;
use base::{BlockNo, Fork, PageId};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// Keeps a page in memory, without a claim on its content.
pub struct Pin<'a> {
    rel: &'a Relation,
    frame: &'a Frame,
}

/// The page, shared with other readers. Derefs to [`PageView`].
pub struct ReadGuard<'a> {
    view: PageView<'a>,
    hold: Hold<'a>,
}

/// The page, alone. Derefs to [`PageMut`].
pub struct WriteGuard<'a> {
    page: PageMut<'a>,
    hold: Hold<'a>,
}

#[derive(Clone, Copy)]
struct Hold<'a> {
    rel: &'a Relation,
    frame: &'a Frame,
    rank: Rank,
    held: Stopwatch,
}

impl<'a> Pin<'a> {
    #[inline]
    pub(super) fn new(rel: &'a Relation, frame: &'a Frame) -> Pin<'a> {
        Pin { rel, frame }
    }

    /// Which page.
    pub fn page_id(&self) -> PageId {
        self.frame.page_id()
    }

    /// Which block.
    pub fn block(&self) -> BlockNo {
        self.frame.page_id().block
    }

    fn rank(&self) -> Rank {
        self.rel.map().rank(self.frame.page_id().fork)
    }

    /// Latches shared; parks while another has the page alone. The pin stays.
    pub fn read(&self) -> ReadGuard<'_> {
        let rank = self.rank();
        rank::acquired(rank);
        match self.frame.word.try_shared() {
            Attempt::Taken => {}
            Attempt::Refused { wake } => {
                if wake {
                    latch::wake(&self.frame.word);
                }
                latch::lock_pinned(self.frame, SHARED, 0);
            }
        }
        ReadGuard::new(self.rel, self.frame, rank)
    }

    /// Latches alone; parks while others have the page. The pin stays.
    pub fn write(&self) -> WriteGuard<'_> {
        let rank = self.rank();
        rank::acquired(rank);
        if !self.frame.word.try_exclusive() {
            latch::lock_pinned(self.frame, EXCLUSIVE, 0);
        }
        WriteGuard::new(self.rel, self.frame, rank)
    }

    /// Latches alone if that needs no waiting.
    pub fn try_write(&self) -> Option<WriteGuard<'a>> {
        if !self.frame.word.try_exclusive() {
            return None;
        }
        let rank = self.rank();
        rank::acquired(rank);
        Some(WriteGuard::new(self.rel, self.frame, rank))
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frame.word.unpin();
    }
}

impl<'a> ReadGuard<'a> {
    #[inline]
    pub(super) fn new(rel: &'a Relation, frame: &'a Frame, rank: Rank) -> ReadGuard<'a> {
        counts::one(Count::Latch);
        let hold = Hold { rel, frame, rank, held: Stopwatch::start() };
        ReadGuard { view: rel.pool().view(frame), hold }
    }

    /// Which page.
    pub fn page_id(&self) -> PageId {
        self.hold.frame.page_id()
    }

    /// Which block.
    pub fn block(&self) -> BlockNo {
        self.hold.frame.page_id().block
    }

    /// Sets hint bits in the 16-bit field at `offset`: what they say can be found out again, so the page does
    /// not become dirty and the change may be lost.
    #[inline]
    pub fn hint_or(&self, offset: usize, bits: u16) {
        self.view.or_u16(offset, bits);
    }

    /// The view, for functions that take it.
    #[inline]
    pub fn view(&self) -> PageView<'a> {
        self.view
    }

    /// Ends the latch and keeps the page in memory.
    pub fn into_pin(self) -> Pin<'a> {
        let Hold { rel, frame, rank, held } = ManuallyDrop::new(self).hold;
        held.stop(rank, Held::Shared);
        if frame.word.shared_to_pin() {
            latch::wake(&frame.word);
        }
        rank::released(rank);
        Pin { rel, frame }
    }
}

impl<'a> Deref for ReadGuard<'a> {
    type Target = PageView<'a>;
    #[inline]
    fn deref(&self) -> &PageView<'a> {
        &self.view
    }
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.hold.held.stop(self.hold.rank, Held::Shared);
        latch::unlock_shared(self.hold.frame);
        rank::released(self.hold.rank);
    }
}

impl<'a> WriteGuard<'a> {
    #[inline]
    pub(super) fn new(rel: &'a Relation, frame: &'a Frame, rank: Rank) -> WriteGuard<'a> {
        counts::one(Count::Latch);
        let page = PageMut::new(rel.pool().pages.get(frame.index));
        WriteGuard { page, hold: Hold { rel, frame, rank, held: Stopwatch::start() } }
    }

    /// Which page.
    pub fn page_id(&self) -> PageId {
        self.hold.frame.page_id()
    }

    /// Which fork.
    pub fn fork(&self) -> Fork {
        self.hold.frame.page_id().fork
    }

    /// Which block.
    pub fn block(&self) -> BlockNo {
        self.hold.frame.page_id().block
    }

    /// To be called before the change is logged, and before or after it is made: from now on redo may not
    /// start after the log's current position, until the page is on disk.
    #[inline]
    pub fn mark_dirty(&mut self) {
        // Relaxed: set and cleared under this latch or a shared one.
        if self.hold.frame.rec_lsn.load(Ordering::Relaxed) == 0 {
            self.hold.rel.pool().first_dirty(self.hold.frame);
        }
    }

    /// Whether the page will be written.
    pub fn is_dirty(&self) -> bool {
        self.hold.frame.rec_lsn.load(Ordering::Relaxed) != 0
    }

    /// Ends the latch and keeps the page in memory.
    pub fn into_pin(self) -> Pin<'a> {
        let Hold { rel, frame, rank, held } = ManuallyDrop::new(self).hold;
        held.stop(rank, Held::Alone);
        latch::unlock_exclusive(frame, PIN);
        rank::released(rank);
        Pin { rel, frame }
    }
}

impl<'a> Deref for WriteGuard<'a> {
    type Target = PageMut<'a>;
    #[inline]
    fn deref(&self) -> &PageMut<'a> {
        &self.page
    }
}

impl<'a> DerefMut for WriteGuard<'a> {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageMut<'a> {
        &mut self.page
    }
}

impl Drop for WriteGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.hold.held.stop(self.hold.rank, Held::Alone);
        latch::unlock_exclusive(self.hold.frame, 0);
        rank::released(self.hold.rank);
    }
}

/// A latched page owes the log its image from when it became dirty; the first record about it that pays, under
/// `full_page_writes`, carries it.
impl LoggedPage for WriteGuard<'_> {
    fn page_id(&self) -> PageId {
        self.hold.frame.page_id()
    }

    fn image(&self) -> Option<PageImage> {
        // Relaxed: under the exclusive latch.
        if !self.hold.frame.owes_image.load(Ordering::Relaxed) {
            return None;
        }
        self.hold.frame.owes_image.store(false, Ordering::Relaxed);
        let mut bytes = [0; PAGE_BYTES];
        self.page.copy_out(0, &mut bytes);
        let hole =
            if self.page.header_is_sound() { self.page.lower()..self.page.upper() } else { 0..0 };
        Some(PageImage::new(&bytes, hole))
    }
}

/// A pin that owns its relation's handle: for scans that live in a struct of their own and move from block
/// to block.
pub struct Cursor {
    rel: Relation,
    /// Index of the pinned frame.
    pinned: Option<u32>,
}

impl Cursor {
    /// Over `rel`, at no block.
    pub fn new(rel: Relation) -> Cursor {
        Cursor { rel, pinned: None }
    }

    /// The relation.
    pub fn relation(&self) -> &Relation {
        &self.rel
    }

    /// Pins `block` instead of what was pinned before.
    pub fn move_to(&mut self, fork: Fork, block: BlockNo) -> Result<()> {
        let pin = ManuallyDrop::new(self.rel.pin(fork, block)?);
        let index = pin.frame.index;
        self.release();
        self.pinned = Some(index);
        Ok(())
    }

    /// Unpins.
    pub fn release(&mut self) {
        if let Some(index) = self.pinned.take() {
            self.rel.pool().frames[index as usize].word.unpin();
        }
    }

    /// The pinned page, for as long as the cursor stays; `None` if it is at no block.
    pub fn page(&self) -> Option<CursorPage<'_>> {
        let index = self.pinned?;
        let frame = &self.rel.pool().frames[index as usize];
        Some(CursorPage(ManuallyDrop::new(Pin { rel: &self.rel, frame })))
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.release();
    }
}

/// A cursor's pin, borrowed. Derefs to [`Pin`].
pub struct CursorPage<'a>(ManuallyDrop<Pin<'a>>);

impl<'a> Deref for CursorPage<'a> {
    type Target = Pin<'a>;
    fn deref(&self) -> &Pin<'a> {
        &self.0
    }
}
