//! Sets of row addresses, by which bitmap scans go: gathered from indexes in any order, combined, then visited page by
//! page in the heap's order.
//!
//! A page is *exact* (a bit for each line pointer) until the set outgrows its memory; then pages become *lossy*, a bit
//! for the whole page among 256, and whoever visits one looks at all of its rows.

use super::page::MAX_LINES;
use base::hash::HashMap;
use base::{BlockNo, Tid};
use std::collections::VecDeque;
use std::{mem, vec};

const WORDS: usize = MAX_LINES as usize / 64 + 1;
/// Line pointers of a page, a bit for each.
pub(super) type Roots = [u64; WORDS];
/// Pages whose lossy bits lie together.
const CHUNK: u32 = 256;
const CHUNK_WORDS: usize = CHUNK as usize / 64;

/// What a page takes in the set, as PostgreSQL reckons it.
pub const TID_PAGE_BYTES: usize = 64;
/// Pages that every set has room for.
pub const TID_PAGES_MIN: usize = 16;

/// A set of row addresses; see the module.
#[derive(Debug)]
pub struct TidSet {
    exact: HashMap<u32, Exact>,
    /// By block number divided by [`CHUNK`].
    lossy: HashMap<u32, [u64; CHUNK_WORDS]>,
    /// Entries of both kinds.
    entries_max: usize,
}

/// One page's rows.
#[derive(Clone, Copy, Debug, Default)]
struct Exact {
    /// By offset.
    words: Roots,
    recheck: bool,
}

/// What is to be visited of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TidPage {
    pub block: BlockNo,
    /// Roots by their line pointers, by bits; `None`: all rows of the page.
    pub roots: Option<Roots>,
    /// The condition must be tested on the rows found.
    pub recheck: bool,
}

impl TidSet {
    /// An empty set that takes about so many bytes at most.
    pub fn new(bytes_max: usize) -> TidSet {
        TidSet {
            exact: HashMap::default(),
            lossy: HashMap::default(),
            entries_max: (bytes_max / TID_PAGE_BYTES).max(TID_PAGES_MIN),
        }
    }

    /// Adds an address that an index entry names. `recheck`: the entry does not prove that the row meets the
    /// condition.
    #[inline]
    pub fn add(&mut self, tid: Tid, recheck: bool) {
        let block = tid.block.0;
        if !self.lossy.is_empty() && self.is_lossy(block) {
            return;
        }
        let page = self.exact.entry(block).or_default();
        page.recheck |= recheck;
        // An offset out of range is a damaged entry's: the row is looked for all the same, on the page.
        match page.words.get_mut(usize::from(tid.offset) / 64) {
            Some(word) => *word |= 1 << (tid.offset % 64),
            None => self.lose(block),
        }
        if self.entries() > self.entries_max {
            self.shrink();
        }
    }

    /// Leaves what is in both.
    pub fn intersect(&mut self, other: &TidSet) {
        let own_lossy = mem::take(&mut self.lossy);
        self.exact.retain(|block, page| {
            if let Some(theirs) = other.exact.get(block) {
                page.recheck |= theirs.recheck;
                page.words.iter_mut().zip(&theirs.words).for_each(|(own, other)| *own &= other);
                return page.words.iter().any(|word| *word != 0);
            }
            // All that is known is that some of its rows are in the other.
            page.recheck = true;
            other.is_lossy(*block)
        });
        for (chunk, words) in own_lossy {
            for block in blocks_of(chunk, &words) {
                if other.is_lossy(block) {
                    self.lose(block);
                } else if let Some(page) = other.exact.get(&block) {
                    self.exact.insert(block, Exact { recheck: true, ..*page });
                }
            }
        }
        if self.entries() > self.entries_max {
            self.shrink();
        }
    }

    /// Adds what is in the other.
    pub fn unite(&mut self, other: &TidSet) {
        for (chunk, words) in &other.lossy {
            blocks_of(*chunk, words).for_each(|block| self.lose(block));
        }
        for (block, theirs) in &other.exact {
            if self.is_lossy(*block) {
                continue;
            }
            let page = self.exact.entry(*block).or_default();
            page.recheck |= theirs.recheck;
            page.words.iter_mut().zip(&theirs.words).for_each(|(own, other)| *own |= other);
            if self.entries() > self.entries_max {
                self.shrink();
            }
        }
        if self.entries() > self.entries_max {
            self.shrink();
        }
    }

    /// Whether no row is in it.
    pub fn is_empty(&self) -> bool {
        self.entries() == 0
    }

    fn entries(&self) -> usize {
        self.exact.len() + self.lossy.len()
    }

    fn is_lossy(&self, block: u32) -> bool {
        let words = self.lossy.get(&(block / CHUNK));
        words.is_some_and(|words| words[word_of(block)] & bit_of(block) != 0)
    }

    /// Keeps of a page only that it is in the set.
    fn lose(&mut self, block: u32) {
        self.exact.remove(&block);
        self.lossy.entry(block / CHUNK).or_default()[word_of(block)] |= bit_of(block);
    }

    /// Makes pages lossy until half of the room is free, so that it is not done again for each page; if that does
    /// not help, because lossy pages lie far apart, the set takes the memory that it needs.
    #[cold]
    fn shrink(&mut self) {
        let wanted = self.entries_max / 2;
        let mut blocks: Vec<u32> = self.exact.keys().copied().collect();
        // Neighbours together: they share their bits' entry.
        blocks.sort_unstable();
        for block in blocks {
            if self.entries() <= wanted {
                break;
            }
            self.lose(block);
        }
        self.exact.shrink_to(wanted);
        self.entries_max = self.entries_max.max(2 * self.entries());
    }

    /// Its pages, to be visited.
    pub(super) fn into_pages(self) -> TidPages {
        let mut exact: Vec<u32> = self.exact.keys().copied().collect();
        exact.sort_unstable();
        let mut lossy: Vec<_> = self.lossy.into_iter().collect();
        lossy.sort_unstable_by_key(|(chunk, _)| *chunk);
        let bits = |words: &[u64; CHUNK_WORDS]| words.iter().map(|word| word.count_ones()).sum();
        let count: u32 = lossy.iter().map(|(_, words)| -> u32 { bits(words) }).sum();
        TidPages {
            count: count + exact.len() as u32,
            set: self.exact,
            exact: exact.into_iter(),
            lossy: lossy.into_iter(),
            next_exact: None,
            chunk: VecDeque::new(),
            window: VecDeque::new(),
            first: 0,
        }
    }
}

fn word_of(block: u32) -> usize {
    (block % CHUNK / 64) as usize
}

fn bit_of(block: u32) -> u64 {
    1 << (block % 64)
}

fn blocks_of(chunk: u32, words: &[u64; CHUNK_WORDS]) -> impl Iterator<Item = u32> {
    let words = *words;
    (0..CHUNK)
        .map(move |at| chunk * CHUNK + at)
        .filter(move |block| words[word_of(*block)] & bit_of(*block) != 0)
}

/// The pages of a set in the heap's order, by *places*: 0, 1, 2 and so on. Lossy ones are told one by one as a scan and
/// what reads ahead for it come by, never all at once.
pub(super) struct TidPages {
    count: u32,
    set: HashMap<u32, Exact>,
    exact: vec::IntoIter<u32>,
    lossy: vec::IntoIter<(u32, [u64; CHUNK_WORDS])>,
    next_exact: Option<u32>,
    /// Lossy blocks at hand.
    chunk: VecDeque<u32>,
    /// Blocks from place `first` on, as far as somebody has looked.
    window: VecDeque<u32>,
    first: u32,
}

impl TidPages {
    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The block at a place that is still to come, or the scan's.
    pub fn block_at(&mut self, place: u32) -> BlockNo {
        debug_assert!(place >= self.first && place < self.count, "a place of the set, ahead");
        let at = (place - self.first) as usize;
        while self.window.len() <= at {
            let block = self.next_block().expect("there are as many as were counted");
            self.window.push_back(block);
        }
        BlockNo(self.window[at])
    }

    /// What is to be visited at a place; what is before it is forgotten.
    pub fn visit(&mut self, place: u32) -> TidPage {
        let block = self.block_at(place);
        self.window.drain(..(place - self.first) as usize);
        self.first = place;
        match self.set.get(&block.0) {
            Some(page) => TidPage { block, roots: Some(page.words), recheck: page.recheck },
            None => TidPage { block, roots: None, recheck: true },
        }
    }

    fn next_block(&mut self) -> Option<u32> {
        if self.chunk.is_empty()
            && let Some((chunk, words)) = self.lossy.next()
        {
            self.chunk.extend(blocks_of(chunk, &words));
        }
        self.next_exact = self.next_exact.or_else(|| self.exact.next());
        match (self.next_exact, self.chunk.front()) {
            (Some(exact), Some(lossy)) if exact > *lossy => self.chunk.pop_front(),
            (Some(_), _) => self.next_exact.take(),
            (None, _) => self.chunk.pop_front(),
        }
    }
}

/// The offsets whose bits are set, ascending.
pub(super) fn offsets(words: &Roots) -> impl Iterator<Item = u16> {
    let words = *words;
    let in_word = |(at, word): (usize, u64)| {
        (0..64u16).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at as u16 * 64 + bit)
    };
    words.into_iter().enumerate().filter(|(_, word)| *word != 0).flat_map(in_word)
}
