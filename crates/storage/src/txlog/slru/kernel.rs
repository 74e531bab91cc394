//! The optimistic read: the one piece of the page cache that takes no latch.
//!
//! A slot's *tag* names the page it holds together with a version that moves each time the slot is given
//! another page. A reader matches the tag, reads words, and accepts them if the tag is still the same.
//!
//! | Who | When | Does |
//! |---|---|---|
//! | reader | any time | tag (acquire), words (relaxed), acquire fence, tag again |
//! | evictor | bank latch held | [`Tag::retire`]: tag becomes "nobody's", then a release fence |
//! | loader | slot retired and marked, latch not held | stores words (relaxed) |
//! | loader | bank latch held | [`Tag::publish`]: tag of the new page (release) |
//! | writer | bank latch held, tag valid | atomic read-modify-writes of single words |
//!
//! *A reader never accepts a word of another page.* Words of another page are stored after `retire`'s
//! fence; a reader that saw one of them sees, through its own fence, the tag not older than "nobody's".
//! The version keeps a slot that got its old page back from being taken for one that never moved.

use base::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of a page.
pub const PAGE_WORDS: usize = 1024;

/// Bits of a tag that name the page; the rest counts the slot's tenants.
const PAGE_BITS: u32 = 40;
const PAGE_MASK: u64 = (1 << PAGE_BITS) - 1;
/// In the page's place: no page.
const NOBODY: u64 = PAGE_MASK;

/// Page numbers stay below this. 2⁴⁰ pages are 2⁵⁰ eight-byte entries.
pub const MAX_PAGE: u64 = NOBODY;

/// A page in memory: words that are read and changed only as wholes.
pub struct Page {
    words: Box<[AtomicU64]>,
}

impl Page {
    /// A page of zeros.
    pub fn new(words: usize) -> Page {
        Page { words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The word at `index`.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        // Relaxed: readers validate by tag, writers hold the bank latch.
        self.words[index].load(Ordering::Relaxed)
    }

    /// Replaces a word. Bank latch held.
    #[inline]
    pub fn set(&self, index: usize, value: u64) {
        // Relaxed: a reader may see the old or the new value; whoever must see the new one is ordered
        // by what told it to look (a page latch, the published number).
        self.words[index].store(value, Ordering::Relaxed);
    }

    /// Adds bits to a word. Bank latch held.
    #[inline]
    pub fn or(&self, index: usize, bits: u64) {
        self.words[index].fetch_or(bits, Ordering::Relaxed);
    }

    /// Makes everything zero.
    pub fn zero(&self) {
        (0..self.words.len()).for_each(|i| self.set(i, 0));
    }

    /// A private copy of all words.
    pub fn copy(&self) -> Vec<u64> {
        (0..self.words.len()).map(|i| self.word(i)).collect()
    }

    /// Replaces all words.
    pub fn fill(&self, from: &[u64]) {
        assert_eq!(from.len(), self.words.len(), "a page is replaced whole");
        from.iter().enumerate().for_each(|(i, word)| self.set(i, *word));
    }
}

/// The tag of a slot.
pub struct Tag(AtomicU64);

impl Default for Tag {
    fn default() -> Tag {
        Tag(AtomicU64::new(NOBODY))
    }
}

impl Tag {
    /// Whether the slot holds `page` now; answers what [`Tag::still`] needs.
    #[inline]
    pub fn matches(&self, page: u64) -> Option<u64> {
        // Acquire: pairs with the release in `publish`; the page's words are there.
        let tag = self.0.load(Ordering::Acquire);
        (tag & PAGE_MASK == page).then_some(tag)
    }

    /// Whether the slot was not given away since `matches` answered `tag`, for words read in between.
    #[inline]
    pub fn still(&self, tag: u64) -> bool {
        // The fence pairs with the one in `retire`: words stored after it imply the tag stored before it.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == tag
    }

    /// The page it holds. Exact under the bank latch.
    pub fn page(&self) -> Option<u64> {
        let page = self.0.load(Ordering::Relaxed) & PAGE_MASK;
        (page != NOBODY).then_some(page)
    }

    /// Takes the slot from its page; the words may be overwritten after. Bank latch held.
    pub fn retire(&self) {
        let next = (self.0.load(Ordering::Relaxed) >> PAGE_BITS).wrapping_add(1) << PAGE_BITS;
        self.0.store(next | NOBODY, Ordering::Relaxed);
        // Pairs with the fence in `still`.
        fence(Ordering::Release);
    }

    /// Gives the retired slot, its words in place, to `page`. Bank latch held.
    pub fn publish(&self, page: u64) {
        assert!(page < MAX_PAGE, "status log pages are numbered below 2^{PAGE_BITS}");
        let before = self.0.load(Ordering::Relaxed);
        debug_assert_eq!(before & PAGE_MASK, NOBODY, "a slot is retired before it is given away");
        // Release: pairs with the acquire in `matches`.
        self.0.store(before & !PAGE_MASK | page, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    struct Slot {
        tag: Tag,
        page: Page,
    }

    /// Words of page `p` are all `p + 10`.
    fn read(slot: &Slot, page: u64) -> Option<(u64, u64)> {
        let tag = slot.tag.matches(page)?;
        let words = (slot.page.word(0), slot.page.word(1));
        slot.tag.still(tag).then_some(words)
    }

    fn replace(slot: &Slot, page: u64) {
        slot.tag.retire();
        slot.page.fill(&[page + 10, page + 10]);
        slot.tag.publish(page);
    }

    /// P2: also of a page that has left its slot and come back.
    #[test]
    fn a_reader_accepts_only_words_of_its_page() {
        loom::model(|| {
            let slot = Arc::new(Slot { tag: Tag::default(), page: Page::new(2) });
            replace(&slot, 1);
            let other = Arc::clone(&slot);
            let writer = thread::spawn(move || {
                replace(&other, 2);
                replace(&other, 1);
            });
            for page in [1, 2] {
                if let Some(words) = read(&slot, page) {
                    assert_eq!(words, (page + 10, page + 10));
                }
            }
            writer.join().unwrap();
        });
    }
}
