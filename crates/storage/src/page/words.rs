//! Word access: the only place that touches a page's memory.
//!
//! All loads and stores are relaxed: they carry data, not order. Order comes from the frame word (a latch's
//! acquire and release, or the fences of the version check; `buffer/word.rs`). Every access is to a whole
//! aligned 64-bit word, also for narrower fields, because racing atomics of different sizes at one address
//! have no defined meaning. Bytes are little-endian within the word, on disk and in memory.
//!
//! Reads are *total*: an offset past the end wraps around within the page. An optimistic reader may compute
//! an offset from half-changed fields; it must get garbage, not a panic, and then fail its validation.
//! Writers hold the exclusive latch; a write past the end is a broken invariant and panics.

use base::sync::unmodelled::{Ordering::Relaxed, PageWord};
use std::cmp::Ordering as Cmp;
use std::ops::Deref;

/// Size of every page, in memory and on disk.
pub const PAGE_BYTES: usize = 8192;
/// The page in 64-bit words.
pub const WORDS: usize = PAGE_BYTES / 8;
const MASK: usize = WORDS - 1;

/// The memory of one page.
#[repr(C, align(4096))]
pub struct PageWords([PageWord; WORDS]);

const _: () = assert!(size_of::<PageWords>() == PAGE_BYTES);
const _: () = assert!(WORDS.is_power_of_two());

/// A private copy of a page as bytes, aligned for direct I/O: what is read from and written to files.
#[repr(C, align(4096))]
#[derive(Clone)]
pub struct PageBytes(pub [u8; PAGE_BYTES]);

const _: () = assert!(size_of::<PageBytes>() == PAGE_BYTES);

impl PageBytes {
    /// A zero page on the heap.
    pub fn new() -> Box<PageBytes> {
        Box::new(PageBytes([0; PAGE_BYTES]))
    }
}

/// A page outside the buffer cache: page images under construction, redo of images, tests.
pub struct PageBuf(Box<PageWords>);

impl Default for PageBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl PageBuf {
    /// A zero page.
    pub fn new() -> PageBuf {
        PageBuf(Box::new(PageWords([const { PageWord::new(0) }; WORDS])))
    }

    /// A copy of `bytes`.
    pub fn from_bytes(bytes: &PageBytes) -> PageBuf {
        let mut page = PageBuf::new();
        page.page_mut().write_bytes(0, &bytes.0);
        page
    }

    /// To read it.
    pub fn view(&self) -> PageView<'_> {
        PageView::new(&self.0)
    }

    /// To change it.
    pub fn page_mut(&mut self) -> PageMut<'_> {
        PageMut::new(&self.0)
    }
}

/// Reads a page. `Copy`; valid as long as the memory, consistent as long as the latch or the version says.
#[derive(Clone, Copy)]
pub struct PageView<'a> {
    words: &'a PageWords,
}

/// Changes a page; made only for holders of the exclusive latch and owners of private pages.
pub struct PageMut<'a> {
    view: PageView<'a>,
}

impl<'a> Deref for PageMut<'a> {
    type Target = PageView<'a>;
    #[inline]
    fn deref(&self) -> &PageView<'a> {
        &self.view
    }
}

impl<'a> PageView<'a> {
    #[inline]
    pub(crate) fn new(words: &'a PageWords) -> PageView<'a> {
        PageView { words }
    }

    /// Word `index`, as the little-endian number that the bytes spell.
    #[inline]
    fn word(self, index: usize) -> u64 {
        #[cfg(test)]
        if let Some(word) = super::changing::word(index & MASK) {
            return word;
        }
        #[cfg(feature = "lab-hash-lines")]
        super::lines::note_read(index & MASK);
        u64::from_le(self.words.0[index & MASK].load(Relaxed))
    }

    /// The 8 bytes at any `offset`, little-endian.
    #[inline]
    pub fn get_u64(self, offset: usize) -> u64 {
        let (index, shift) = (offset >> 3, (offset & 7) * 8);
        let low = self.word(index) >> shift;
        if shift == 0 { low } else { low | self.word(index + 1) << (64 - shift) }
    }

    /// So many words from any `offset` on; fast where it is a multiple of 8.
    #[inline]
    pub fn get_words<const N: usize>(self, offset: usize) -> [u64; N] {
        let first = offset >> 3;
        match self.words.0.get(first..first + N) {
            // The bytes of a word are little-endian on disk, as `word` knows.
            Some(_) if offset & 7 == 0 => std::array::from_fn(|i| self.word(first + i)),
            _ => std::array::from_fn(|i| self.get_u64(offset + i * 8)),
        }
    }

    /// The 4 bytes at any `offset`.
    #[inline]
    pub fn get_u32(self, offset: usize) -> u32 {
        if offset & 7 <= 4 { self.within_word(offset) as u32 } else { self.get_u64(offset) as u32 }
    }

    /// The 2 bytes at any `offset`.
    #[inline]
    pub fn get_u16(self, offset: usize) -> u16 {
        if offset & 7 <= 6 { self.within_word(offset) as u16 } else { self.get_u64(offset) as u16 }
    }

    /// The byte at `offset`.
    #[inline]
    pub fn get_u8(self, offset: usize) -> u8 {
        self.within_word(offset) as u8
    }

    #[inline]
    fn within_word(self, offset: usize) -> u64 {
        self.word(offset >> 3) >> ((offset & 7) * 8)
    }

    /// Fills `to` with the bytes from `offset` on.
    #[inline]
    pub fn copy_out(self, offset: usize, to: &mut [u8]) {
        let (chunks, tail) = to.as_chunks_mut::<8>();
        let copied = chunks.len() * 8;
        let (first, count) = (offset >> 3, chunks.len());
        if offset & 7 == 0 && first + count <= WORDS {
            // No bound to check and no word to combine: one load and one store for each word.
            for (chunk, word) in chunks.iter_mut().zip(&self.words.0[first..first + count]) {
                *chunk = word.load(Relaxed).to_ne_bytes();
            }
        } else {
            let mut reader = WordReader::new(self, offset);
            for chunk in chunks {
                *chunk = reader.next().to_le_bytes();
            }
        }
        if !tail.is_empty() {
            let last = self.last_bytes(offset + copied, tail.len()).to_le_bytes();
            tail.copy_from_slice(&last[..tail.len()]);
        }
    }

    /// Appends `len` bytes from `offset` on to `to`.
    #[inline]
    pub fn append_to(self, offset: usize, len: usize, to: &mut Vec<u8>) {
        let start = to.len();
        to.resize(start + len, 0);
        self.copy_out(offset, &mut to[start..]);
    }

    /// The whole page.
    pub fn to_bytes(self, to: &mut PageBytes) {
        self.copy_out(0, &mut to.0);
    }

    /// Compares the `len` bytes at `offset` with `other` as `memcmp` does, the shorter first when one is a
    /// prefix of the other.
    #[inline]
    pub fn cmp_bytes(self, offset: usize, len: usize, other: &[u8]) -> Cmp {
        let common = len.min(other.len());
        let mut reader = WordReader::new(self, offset);
        let (chunks, tail) = other[..common].as_chunks::<8>();
        for chunk in chunks {
            let (mine, theirs) = (reader.next().swap_bytes(), u64::from_be_bytes(*chunk));
            if mine != theirs {
                return mine.cmp(&theirs);
            }
        }
        if !tail.is_empty() {
            let mine = self.last_bytes(offset + common - tail.len(), tail.len()).swap_bytes();
            let mut padded = [0; 8];
            padded[..tail.len()].copy_from_slice(tail);
            let theirs = u64::from_be_bytes(padded);
            if mine != theirs {
                return mine.cmp(&theirs);
            }
        }
        len.cmp(&other.len())
    }

    /// Whether every byte of the page is zero: a page that was extended and never written.
    pub fn is_zero(self) -> bool {
        self.words.0.iter().all(|w| w.load(Relaxed) == 0)
    }

    /// Whether nothing was ever put on the page, though it was logged once, as earlier commits did with pages of a
    /// copied database: zero but for position and checksum.
    pub fn is_blank(self) -> bool {
        let is_zero = |word: &PageWord| word.load(Relaxed) == 0;
        let [_, checksum, rest @ ..] = &self.words.0;
        checksum.load(Relaxed) >> 32 == 0 && rest.iter().all(is_zero)
    }

    /// The `len` < 8 bytes at `offset` as a number whose other bytes are zero.
    #[inline]
    fn last_bytes(self, offset: usize, len: usize) -> u64 {
        debug_assert!((1..8).contains(&len), "a tail is shorter than a word");
        let all =
            if (offset & 7) + len <= 8 { self.within_word(offset) } else { self.get_u64(offset) };
        all & (u64::MAX >> (64 - 8 * len))
    }

    /// Sets bits of the 16-bit field at `offset` while others may read the page or set bits too. The field
    /// must not straddle a word. Callers hold at least the shared latch.
    #[inline]
    pub fn or_u16(self, offset: usize, bits: u16) {
        let shift = (offset & 7) * 8;
        assert!(offset + 2 <= PAGE_BYTES && shift <= 48, "a hint field lies within one word");
        // Relaxed: a hint repeats what the transaction log says; no reader infers anything else from it.
        self.words.0[offset >> 3].fetch_or((u64::from(bits) << shift).to_le(), Relaxed);
    }
}

#[cfg(feature = "lab-hash-pages")]
impl PageView<'_> {
    /// Where the page lies, for who has it to himself.
    #[inline]
    pub fn address(self) -> *const u8 {
        std::ptr::from_ref(self.words).cast()
    }
}

impl<'a> PageMut<'a> {
    #[inline]
    pub(crate) fn new(words: &'a PageWords) -> PageMut<'a> {
        PageMut { view: PageView::new(words) }
    }

    /// The view, for functions that only read.
    #[inline]
    pub fn view(&self) -> PageView<'a> {
        self.view
    }

    #[inline]
    fn set_word(&mut self, index: usize, value: u64) {
        #[cfg(feature = "lab-hash-lines")]
        super::lines::note_write(index);
        self.view.words.0[index].store(value.to_le(), Relaxed);
    }

    /// Replaces the bits of word `index` that `mask` names. Not atomic: the latch excludes other writers.
    #[inline]
    fn merge_word(&mut self, index: usize, value: u64, mask: u64) {
        let old = self.view.word(index);
        self.set_word(index, old & !mask | value & mask);
    }

    #[inline]
    fn put(&mut self, offset: usize, value: u64, bytes: usize) {
        let (index, shift) = (offset >> 3, (offset & 7) * 8);
        let mask = u64::MAX >> (64 - 8 * bytes);
        self.merge_word(index, value << shift, mask << shift);
        if shift + 8 * bytes > 64 {
            self.merge_word(index + 1, value >> (64 - shift), mask >> (64 - shift));
        }
    }

    /// Stores 8 bytes at any `offset`.
    #[inline]
    pub fn put_u64(&mut self, offset: usize, value: u64) {
        if offset & 7 == 0 { self.set_word(offset >> 3, value) } else { self.put(offset, value, 8) }
    }

    /// Stores 4 bytes at any `offset`.
    #[inline]
    pub fn put_u32(&mut self, offset: usize, value: u32) {
        self.put(offset, u64::from(value), 4);
    }

    /// Stores 2 bytes at any `offset`.
    #[inline]
    pub fn put_u16(&mut self, offset: usize, value: u16) {
        self.put(offset, u64::from(value), 2);
    }

    /// Stores a byte.
    #[inline]
    pub fn put_u8(&mut self, offset: usize, value: u8) {
        self.put(offset, u64::from(value), 1);
    }

    /// Stores `from` at any `offset`.
    pub fn write_bytes(&mut self, offset: usize, from: &[u8]) {
        assert!(offset + from.len() <= PAGE_BYTES, "a write stays within its page");
        let head = (offset.wrapping_neg() & 7).min(from.len());
        let (head, rest) = from.split_at(head);
        self.put_short(offset, head);
        let first = (offset + head.len()) >> 3;
        let (chunks, tail) = rest.as_chunks::<8>();
        let end = first + chunks.len();
        for (word, chunk) in self.view.words.0[first..end].iter().zip(chunks) {
            word.store(u64::from_ne_bytes(*chunk), Relaxed);
        }
        self.put_short(end << 3, tail);
    }

    /// Stores fewer than 8 bytes that lie within one word.
    fn put_short(&mut self, offset: usize, from: &[u8]) {
        if !from.is_empty() {
            let mut padded = [0; 8];
            padded[..from.len()].copy_from_slice(from);
            self.put(offset, u64::from_le_bytes(padded), from.len());
        }
    }

    /// Zeroes `len` bytes from `offset` on.
    pub fn zero(&mut self, offset: usize, len: usize) {
        assert!(offset + len <= PAGE_BYTES, "a write stays within its page");
        let mut at = offset;
        let end = offset + len;
        while at < end {
            if at & 7 == 0 && end - at >= 8 {
                self.set_word(at >> 3, 0);
                at += 8;
            } else {
                self.put_u8(at, 0);
                at += 1;
            }
        }
    }

    /// Moves `len` bytes within the page; the ranges may overlap.
    pub fn move_within(&mut self, from: usize, to: usize, len: usize) {
        assert!(from + len <= PAGE_BYTES && to + len <= PAGE_BYTES, "a move stays within its page");
        if (from | to | len) & 7 == 0 {
            self.move_words(from >> 3, to >> 3, len >> 3);
        } else if (from ^ to) & 7 == 0 && from.abs_diff(to) >= len {
            self.move_apart(from, to, len);
        } else if to <= from {
            let words = len / 8;
            for i in 0..words {
                let word = self.view.get_u64(from + i * 8);
                self.put_u64(to + i * 8, word);
            }
            for i in words * 8..len {
                self.put_u8(to + i, self.view.get_u8(from + i));
            }
        } else {
            let tail = len % 8;
            for i in (len - tail..len).rev() {
                self.put_u8(to + i, self.view.get_u8(from + i));
            }
            for i in (0..len / 8).rev() {
                let word = self.view.get_u64(from + i * 8);
                self.put_u64(to + i * 8, word);
            }
        }
    }

    /// Moves bytes that lie in their words where they are going to lie in theirs; the ranges are apart.
    fn move_apart(&mut self, from: usize, to: usize, len: usize) {
        let head = (from.wrapping_neg() & 7).min(len);
        if head > 0 {
            self.put(to, self.view.last_bytes(from, head), head);
        }
        let (words, tail) = ((len - head) / 8, (len - head) % 8);
        self.move_words((from + head) >> 3, (to + head) >> 3, words);
        if tail > 0 {
            let done = len - tail;
            self.put(to + done, self.view.last_bytes(from + done, tail), tail);
        }
    }

    fn move_words(&mut self, from: usize, to: usize, words: usize) {
        if to <= from {
            for i in 0..words {
                self.set_word(to + i, self.view.word(from + i));
            }
        } else {
            for i in (0..words).rev() {
                self.set_word(to + i, self.view.word(from + i));
            }
        }
    }

    /// Replaces the whole page.
    pub fn from_bytes(&mut self, from: &PageBytes) {
        self.write_bytes(0, &from.0);
    }

    /// Replaces the whole page by what another page holds.
    pub fn copy_from(&mut self, from: PageView<'_>) {
        for index in 0..WORDS {
            self.set_word(index, from.word(index));
        }
    }

    /// Makes the whole page zero.
    pub fn clear(&mut self) {
        self.view.words.0.iter().for_each(|word| word.store(0, Relaxed));
    }
}

/// Yields consecutive 8-byte groups from any offset, loading each word of the page once.
struct WordReader<'a> {
    view: PageView<'a>,
    index: usize,
    shift: usize,
    carry: u64,
}

impl<'a> WordReader<'a> {
    #[inline]
    fn new(view: PageView<'a>, offset: usize) -> Self {
        let (index, shift) = (offset >> 3, (offset & 7) * 8);
        let carry = if shift == 0 { 0 } else { view.word(index) };
        WordReader { view, index: index + usize::from(shift != 0), shift, carry }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let word = self.view.word(self.index);
        self.index += 1;
        if self.shift == 0 {
            return word;
        }
        let value = self.carry >> self.shift | word << (64 - self.shift);
        self.carry = word;
        value
    }
}
