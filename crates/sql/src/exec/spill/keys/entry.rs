//! Entries of an index in memory, sixteen bytes each, and how they are sorted.
//!
//! A key's first nine bytes are part of its entry, so that nearly all comparisons are those of two numbers:
//! nine hold a marker and the largest integer or timestamp. Only what longer keys have besides lies in an
//! arena, one piece behind the other. Where many share those nine bytes, each is given what its key has next in their place,
//! behind all that they share, until that is sorted.

use std::cmp::Ordering;

use base::ids::Tid;

use crate::error::Result;

/// Bytes of a key that its entry holds.
pub(super) const HEAD_BYTES: usize = 9;
/// The lower bits of an entry: a TID, or the arena's offset.
const PLACE_BITS: u32 = 48;
/// Where the head begins, from below; between the two is the key's length, or [`LONG`].
const HEAD_SHIFT: u32 = 56;
/// In place of a length: the key has a tail in the arena.
const LONG: u8 = HEAD_BYTES as u8 + 1;
/// Bytes of a TID in the arena, and in files.
pub(super) const TID_BYTES: usize = 6;
/// In front of a tail: its length and the entry's TID.
const TAIL_HEADER_BYTES: usize = 4 + TID_BYTES;

/// A key's head (shorter ones filled with zeros), its length, its TID, from the highest bits to the lowest:
/// the order of these numbers is the order of short keys, of equal ones that of their TIDs. A long key
/// has [`LONG`] and an arena's offset there, and so comes behind all short ones with its head.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Entry(u128);

impl Entry {
    /// `place` is the TID of a short key and the tail's offset of a long one.
    #[inline]
    pub fn new(key: &[u8], place: u64) -> Entry {
        debug_assert!(place >> PLACE_BITS == 0, "a place has {PLACE_BITS} bits");
        let mut head = [0; 16];
        let taken = key.len().min(HEAD_BYTES);
        head[..taken].copy_from_slice(&key[..taken]);
        let length = if key.len() > HEAD_BYTES { LONG } else { key.len() as u8 };
        head[HEAD_BYTES] = length;
        Entry(u128::from_be_bytes(head) | u128::from(place))
    }

    #[inline]
    pub fn is_long(self) -> bool {
        (self.0 >> PLACE_BITS) as u8 == LONG
    }

    #[inline]
    pub fn place(self) -> u64 {
        self.0 as u64 & ((1 << PLACE_BITS) - 1)
    }

    /// The head's bytes, filled with zeros.
    #[inline]
    pub fn head(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// How many of the head's bytes are the key's.
    #[inline]
    pub fn head_len(self) -> usize {
        usize::from((self.0 >> PLACE_BITS) as u8).min(HEAD_BYTES)
    }

    /// The order of two entries, if the tails of long keys have no say in it.
    #[inline]
    pub fn compare_heads(self, other: Entry) -> Option<Ordering> {
        if self.0 >> HEAD_SHIFT == other.0 >> HEAD_SHIFT && self.is_long() && other.is_long() {
            return None;
        }
        Some(self.cmp(&other))
    }
}

/// Entries in memory.
#[derive(Default)]
pub(super) struct Batch {
    entries: Vec<Entry>,
    /// What long keys have behind their heads.
    arena: Vec<u8>,
    /// They came in their order.
    sorted: bool,
}

impl Batch {
    pub fn new() -> Batch {
        Batch { sorted: true, ..Batch::default() }
    }

    /// Adds an entry; `bytes_max` is what all may take.
    #[inline]
    pub fn push(&mut self, key: &[u8], tid: Tid, bytes_max: usize) {
        let mut place = tid.to_u64();
        if key.len() > HEAD_BYTES {
            place = self.arena.len() as u64;
            let tail = &key[HEAD_BYTES..];
            grow(&mut self.arena, TAIL_HEADER_BYTES + tail.len(), bytes_max);
            self.arena.extend_from_slice(&(tail.len() as u32).to_le_bytes());
            self.arena.extend_from_slice(&tid.to_u64().to_le_bytes()[..TID_BYTES]);
            self.arena.extend_from_slice(tail);
        }
        let entry = Entry::new(key, place);
        if self.sorted
            && let Some(last) = self.entries.last()
        {
            let arena = &self.arena;
            let tails = || compare_tails(tail_of(arena, *last), tail_of(arena, entry));
            self.sorted = last.compare_heads(entry).unwrap_or_else(tails).is_le();
        }
        if self.entries.len() == self.entries.capacity() {
            grow(&mut self.entries, 1, bytes_max);
        }
        self.entries.push(entry);
    }

    /// Bytes that the entries take.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<Entry>() + self.arena.len()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the entries came in their order: then there is nothing to sort.
    pub fn came_sorted(&self) -> bool {
        self.sorted
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.arena.clear();
        self.sorted = true;
    }

    /// Brings the entries into their order.
    pub fn sort(&mut self) -> Result<()> {
        if !self.sorted {
            let fixed_bits = if self.arena.is_empty() { 0 } else { PLACE_BITS };
            let order = Order { arena: &self.arena, fixed_bits, taken: None, depth: 0 };
            sort(&mut self.entries, order)?;
            self.sorted = true;
        }
        Ok(())
    }

    /// Entry `i`: its head, its tail, its TID.
    #[inline]
    pub fn get(&self, i: usize) -> (Entry, &[u8], Tid) {
        let entry = self.entries[i];
        if !entry.is_long() {
            return (entry, &[], Tid::from_u64(entry.place()));
        }
        let (tail, tid) = tail_of(&self.arena, entry);
        (entry, tail, tid)
    }
}

/// Makes room for `more` in steps that double, but not past what `bytes_max` asks for.
fn grow<T>(values: &mut Vec<T>, more: usize, bytes_max: usize) {
    let needed = values.len() + more;
    if needed > values.capacity() {
        let doubled = (values.capacity() * 2).max(64).min(bytes_max / size_of::<T>() + 1);
        values.reserve_exact(doubled.max(needed) - values.len());
    }
}

fn tail_of(arena: &[u8], entry: Entry) -> (&[u8], Tid) {
    let bytes = &arena[entry.place() as usize..];
    let (length, rest) = bytes.split_first_chunk().expect("a tail has a header");
    let (tid, rest) = rest.split_first_chunk().expect("a tail has a header");
    (&rest[..u32::from_le_bytes(*length) as usize], read_tid(*tid))
}

pub(super) fn read_tid(bytes: [u8; TID_BYTES]) -> Tid {
    let mut wide = [0; 8];
    wide[..TID_BYTES].copy_from_slice(&bytes);
    Tid::from_u64(u64::from_le_bytes(wide))
}

/// The order of two long keys with the same head.
pub(super) fn compare_tails(a: (&[u8], Tid), b: (&[u8], Tid)) -> Ordering {
    a.0.cmp(b.0).then_with(|| a.1.to_u64().cmp(&b.1.to_u64()))
}

/// What says how entries are ordered.
#[derive(Clone, Copy)]
struct Order<'a> {
    arena: &'a [u8],
    /// How many of the lowest bits don't say it: those of places, where some lie in the arena.
    fixed_bits: u32,
    /// Bytes of their tails that long keys, which are all there are then, have in their heads or share; `None`: heads
    /// are the keys' own.
    taken: Option<usize>,
    /// How often heads were replaced.
    depth: usize,
}

impl<'a> Order<'a> {
    fn compare(self, a: Entry, b: Entry) -> Ordering {
        let tails = || compare_tails(self.rest(a), self.rest(b));
        match self.taken {
            None => a.compare_heads(b).unwrap_or_else(tails),
            Some(_) => (a.0 >> PLACE_BITS).cmp(&(b.0 >> PLACE_BITS)).then_with(tails),
        }
    }

    /// What a long key has behind its entry's head, and its TID.
    fn rest(self, entry: Entry) -> (&'a [u8], Tid) {
        let (tail, tid) = tail_of(self.arena, entry);
        (tail.get(self.taken.unwrap_or(0)..).unwrap_or_default(), tid)
    }
}

/// Entries that are sorted at once, by comparisons; more are first parted by eight bits.
const AT_ONCE: usize = 4096;

/// How often heads are replaced by what comes behind them.
const DEPTH_MAX: usize = 3;

/// Sorts by the highest bits in which entries differ, in place, then each part.
fn sort(entries: &mut [Entry], order: Order<'_>) -> Result<()> {
    if entries.len() <= AT_ONCE {
        if order.fixed_bits == 0 {
            entries.sort_unstable();
        } else {
            entries.sort_unstable_by(|a, b| order.compare(*a, *b));
        }
        return crate::exec::breathe();
    }
    let first = entries[0].0;
    let fixed_bits = order.fixed_bits;
    let differing = entries.iter().fold(0, |bits, entry| bits | entry.0 ^ first) >> fixed_bits;
    if differing == 0 {
        return sort_alike(entries, order);
    }
    let shift = (u128::BITS - differing.leading_zeros()).saturating_sub(8) + fixed_bits;
    let mut rest = entries;
    for count in part(rest, shift)? {
        let (part, others) = rest.split_at_mut(count);
        sort(part, order)?;
        rest = others;
    }
    Ok(())
}

/// Sorts entries whose heads are the same.
fn sort_alike(entries: &mut [Entry], order: Order<'_>) -> Result<()> {
    if order.fixed_bits == 0 {
        return Ok(());
    }
    if order.taken.is_none() && !entries[0].is_long() {
        // One short key: places are TIDs.
        return sort(entries, Order { fixed_bits: 0, ..order });
    }
    if order.depth == DEPTH_MAX {
        entries.sort_unstable_by(|a, b| {
            base::park::checkpoint();
            order.compare(*a, *b)
        });
        return crate::exec::breathe();
    }
    let head = entries[0].0 >> PLACE_BITS << PLACE_BITS;
    let (first, _) = order.rest(entries[0]);
    let (mut shared, mut one_key) = (first.len(), true);
    for some in entries.chunks(AT_ONCE) {
        for entry in some {
            let (rest, _) = order.rest(*entry);
            shared = shared_bytes(&first[..shared], rest);
            one_key &= rest.len() == first.len();
        }
        crate::exec::breathe()?;
    }
    one_key &= shared == first.len();
    for some in entries.chunks_mut(AT_ONCE) {
        for entry in some {
            let ((rest, tid), place) = (order.rest(*entry), entry.place());
            *entry = match one_key {
                true => {
                    Entry(u128::from(tid.to_u64()) << (u128::BITS - PLACE_BITS) | u128::from(place))
                }
                false => Entry::new(&rest[shared..], place),
            };
        }
        crate::exec::breathe()?;
    }
    let taken = order.taken.unwrap_or(0) + shared + HEAD_BYTES;
    sort(entries, Order { taken: Some(taken), depth: order.depth + 1, ..order })?;
    entries.iter_mut().for_each(|entry| entry.0 = head | u128::from(entry.place()));
    Ok(())
}

/// How many bytes both begin with.
pub(super) fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Brings entries together whose eight bits from `shift` on are the same, by these; how many have which.
fn part(entries: &mut [Entry], shift: u32) -> Result<[usize; 256]> {
    let bits = |entry: Entry| usize::from((entry.0 >> shift) as u8);
    let mut counts = [0; 256];
    entries.iter().for_each(|entry| counts[bits(*entry)] += 1);
    // Where each part's next entry goes, and where the part ends.
    let (mut next, mut ends, mut at) = ([0; 256], [0; 256], 0);
    for i in 0..256 {
        next[i] = at;
        at += counts[i];
        ends[i] = at;
    }
    for own in 0..256 {
        while next[own] < ends[own] {
            let mut entry = entries[next[own]];
            // Follows the entry to its part, takes the one there along, until one belongs here.
            loop {
                let to = bits(entry);
                if to == own {
                    break;
                }
                std::mem::swap(&mut entry, &mut entries[next[to]]);
                next[to] += 1;
            }
            entries[next[own]] = entry;
            next[own] += 1;
        }
        crate::exec::breathe()?;
    }
    Ok(counts)
}
