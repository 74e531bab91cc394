//! For the laboratory: the search and the insertion inside a page as the index does them, without buffer, latches and log,
//! and memory for pages like the pool's; bench's `hash_pages` measures them beside other ways to arrange a page.

use super::edit;
use super::page::{self, Entry, Node};
use crate::buffer::{HugePages, Pages};
use crate::page::{PageMut, PageView};
use base::Tid;
use std::io;

/// Where entries begin.
pub const ENTRIES: usize = page::ENTRIES;
/// Bytes of an entry: hash, then slot.
pub const ENTRY_BYTES: usize = page::ENTRY_BYTES;
/// Most entries of a page.
pub const MAX_ENTRIES: usize = page::MAX_ENTRIES;
/// The bit of a slot that says that its row is dead.
pub const DEAD: u64 = page::DEAD;

/// Zeroed pages in memory, in large pages where the system has some, as the pool's.
pub struct BarePages(Pages);

impl BarePages {
    /// So many of them.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn new(count: usize) -> io::Result<BarePages> {
        Pages::new(count, HugePages::Try).map(BarePages)
    }

    /// To read page `at`.
    #[inline]
    pub fn view(&self, at: u32) -> PageView<'_> {
        PageView::new(self.0.get(at))
    }

    /// To change page `at`.
    #[inline]
    pub fn page_mut(&mut self, at: u32) -> PageMut<'_> {
        PageMut::new(self.0.get(at))
    }
}

/// Entries of a page.
#[inline]
pub fn count(page: PageView<'_>) -> usize {
    Node(page).count()
}

/// Notes that the page's entries are so many now, as an insertion does.
#[inline]
pub fn set_count(page: &mut PageMut<'_>, count: usize) {
    edit::set_count(page, count);
    edit::count_change(page);
}

/// Appends the TIDs of `hash`: what a look-up does with a page.
#[inline]
pub fn find(page: PageView<'_>, hash: u64, tids: &mut Vec<Tid>) {
    Node(page).append_equal(hash, tids);
}

/// Puts an entry where it belongs: what an insert does with a page that has room.
#[inline]
pub fn insert(page: &mut PageMut<'_>, hash: u64, tid: Tid) {
    edit::insert(page, Entry { hash, tid: tid.to_u64() });
}
