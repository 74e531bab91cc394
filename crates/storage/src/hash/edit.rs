//! Changing a page's bytes, and the bytes of log records: one language for both.
//!
//! Every change is written as a list of operations first, and [`apply`] carries the list out: on the page now,
//! and on the same bytes again when the record is redone. So redo can't differ from the way forward (X6).

use super::page::*;
use crate::page::{PageKind, PageMut};
use base::BlockNo;

/// What an operation begins with.
pub(super) mod op {
    pub const ADD: u8 = 1;
    pub const REMOVE: u8 = 2;
    pub const SET_NEXT: u8 = 3;
    pub const SET_STATE: u8 = 4;
    pub const MOVED: u8 = 5;
    pub const INIT: u8 = 6;
    pub const META_SIZE: u8 = 7;
    pub const META_EXTENT: u8 = 8;
    pub const INIT_META: u8 = 9;
}
use op::*;

/// Bytes of an entry in a record.
pub(super) const LOGGED_ENTRY_BYTES: usize = 14;
/// Bytes of an operation that adds one entry.
pub(super) const ADD_ONE_BYTES: usize = 3 + LOGGED_ENTRY_BYTES;
/// Bytes of the longest list of operations on one page.
pub(super) const OPS_BYTES_MAX: usize = 64 + MAX_ENTRIES * LOGGED_ENTRY_BYTES + 2 * MAX_ENTRIES;

/// A list of operations on one page.
#[derive(Default)]
pub(super) struct Ops(Vec<u8>);

impl Ops {
    pub fn new() -> Ops {
        Ops::default()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Puts entries, ascending, where they belong. There must be room.
    pub fn add(mut self, entries: &[Entry]) -> Ops {
        self.0.push(ADD);
        self.0.extend_from_slice(&(entries.len() as u16).to_le_bytes());
        for entry in entries {
            self.0.extend_from_slice(&encode(*entry));
        }
        self
    }

    /// Removes the entries at these positions, ascending.
    pub fn remove(mut self, gone: &[u16]) -> Ops {
        self.0.push(REMOVE);
        self.0.extend_from_slice(&(gone.len() as u16).to_le_bytes());
        for at in gone {
            self.0.extend_from_slice(&at.to_le_bytes());
        }
        self
    }

    /// Links another page behind this one.
    pub fn next(mut self, next: BlockNo) -> Ops {
        self.0.push(SET_NEXT);
        self.0.extend_from_slice(&next.0.to_le_bytes());
        self
    }

    /// A bucket's state, depth and cursor.
    pub fn state(mut self, state: u8, depth: u8, cursor: BlockNo) -> Ops {
        self.0.extend_from_slice(&[SET_STATE, state, depth]);
        self.0.extend_from_slice(&cursor.0.to_le_bytes());
        self
    }

    /// Counts a move of entries between the bucket's pages.
    pub fn moved(mut self) -> Ops {
        self.0.push(MOVED);
        self
    }

    /// Makes the page an empty one.
    pub fn init(mut self, role: u8, bucket: u32, depth: u8, state: u8) -> Ops {
        self.0.extend_from_slice(&[INIT, role, depth, state]);
        self.0.extend_from_slice(&bucket.to_le_bytes());
        self
    }

    /// Makes the page the metapage of an index without buckets.
    pub fn init_meta(mut self, target: u16) -> Ops {
        self.0.push(INIT_META);
        self.0.extend_from_slice(&target.to_le_bytes());
        self
    }

    /// Sets the number of buckets and of entries.
    pub fn size(mut self, buckets: u32, entries: u64) -> Ops {
        self.0.push(META_SIZE);
        self.0.extend_from_slice(&buckets.to_le_bytes());
        self.0.extend_from_slice(&entries.to_le_bytes());
        self
    }

    /// Appends an extent to the table.
    pub fn extent(mut self, start: BlockNo) -> Ops {
        self.0.push(META_EXTENT);
        self.0.extend_from_slice(&start.0.to_le_bytes());
        self
    }
}

/// The operation that adds one entry, without memory of its own: the way of inserts.
pub(super) fn add_one(entry: Entry) -> [u8; ADD_ONE_BYTES] {
    let mut bytes = [0; ADD_ONE_BYTES];
    bytes[0] = ADD;
    bytes[1] = 1;
    bytes[3..].copy_from_slice(&encode(entry));
    bytes
}

fn encode(entry: Entry) -> [u8; LOGGED_ENTRY_BYTES] {
    let mut bytes = [0; LOGGED_ENTRY_BYTES];
    bytes[..8].copy_from_slice(&entry.hash.to_le_bytes());
    bytes[8..].copy_from_slice(&entry.tid.to_le_bytes()[..6]);
    bytes
}

fn decode(bytes: &[u8; LOGGED_ENTRY_BYTES]) -> Entry {
    let mut tid = [0; 8];
    tid[..6].copy_from_slice(&bytes[8..]);
    let (hash, _) = bytes.split_first_chunk().expect("14 bytes are more than 8");
    Entry { hash: u64::from_le_bytes(*hash), tid: u64::from_le_bytes(tid) }
}

/// Carries a list of operations out.
pub(super) fn apply(page: &mut PageMut<'_>, ops: &[u8]) {
    let mut rest = Reader(ops);
    while let Some(op) = rest.byte() {
        match op {
            ADD => {
                let count = usize::from(rest.u16());
                let entries = rest.take(count * LOGGED_ENTRY_BYTES).as_chunks().0;
                match entries {
                    [one] => insert(page, decode(one)),
                    many => merge(page, many),
                }
            }
            REMOVE => {
                let count = usize::from(rest.u16());
                remove(page, rest.take(count * 2).as_chunks().0);
            }
            SET_NEXT => page.put_u32(NEXT, rest.u32()),
            SET_STATE => {
                page.put_u8(STATE, rest.u8());
                page.put_u8(DEPTH, rest.u8());
                page.put_u32(CURSOR, rest.u32());
            }
            MOVED => {
                let moves = Node(page.view()).moves().wrapping_add(1);
                page.put_u32(MOVES, moves);
            }
            INIT => {
                // Whoever copied positions off the page before must see that it is another one.
                let changes = Node(page.view()).changes();
                page.init(PageKind::Hash, 0);
                page.put_u32(CHANGES, changes.wrapping_add(1));
                page.put_u8(ROLE, rest.u8());
                page.put_u8(DEPTH, rest.u8());
                page.put_u8(STATE, rest.u8());
                page.put_u32(BUCKET, rest.u32());
                set_count(page, 0);
            }
            INIT_META => {
                page.init(PageKind::Hash, 0);
                page.put_u8(ROLE, role::META);
                page.put_u16(META_TARGET, rest.u16());
                page.set_lower(META_TABLE + 4 * EXTENTS_MAX);
            }
            META_SIZE => {
                page.put_u32(META_BUCKETS, rest.u32());
                page.put_u64(META_ENTRIES, rest.u64());
            }
            META_EXTENT => {
                let index = Node(page.view()).meta_extents();
                page.put_u32(META_TABLE + 4 * index, rest.u32());
                page.put_u16(META_EXTENTS, index as u16 + 1);
            }
            _ => unreachable!("operations are written by this file alone"),
        }
    }
}

pub(super) fn set_count(page: &mut PageMut<'_>, count: usize) {
    page.put_u16(COUNT, count as u16);
    page.set_lower(ENTRIES + count * ENTRY_BYTES);
}

pub(super) fn count_change(page: &mut PageMut<'_>) {
    let changes = Node(page.view()).changes().wrapping_add(1);
    page.put_u32(CHANGES, changes);
}

fn put(page: &mut PageMut<'_>, i: usize, hash: u64, slot: u64) {
    let at = ENTRIES + i * ENTRY_BYTES;
    page.put_u64(at, hash);
    page.put_u64(at + 8, slot);
}

/// Puts one entry where it belongs. There must be room.
pub(super) fn insert(page: &mut PageMut<'_>, entry: Entry) {
    let node = Node(page.view());
    let (at, count) = (node.lower_bound(entry), node.count());
    assert!(count < MAX_ENTRIES, "whoever adds has looked for room (X3)");
    let from = ENTRIES + at * ENTRY_BYTES;
    page.move_within(from, from + ENTRY_BYTES, (count - at) * ENTRY_BYTES);
    put(page, at, entry.hash, entry.tid);
    set_count(page, count + 1);
    count_change(page);
}

/// Adds many entries at once, from the end, so that each moves once.
fn merge(page: &mut PageMut<'_>, more: &[[u8; LOGGED_ENTRY_BYTES]]) {
    let mut left = Node(page.view()).count();
    let mut to = left + more.len();
    assert!(to <= MAX_ENTRIES, "whoever adds has looked for room (X3)");
    set_count(page, to);
    for entry in more.iter().rev().map(decode) {
        while left > 0 && Node(page.view()).entry(left - 1) > entry {
            left -= 1;
            to -= 1;
            let node = Node(page.view());
            let (hash, slot) = (node.hash(left), node.slot(left).0);
            put(page, to, hash, slot);
        }
        to -= 1;
        put(page, to, entry.hash, entry.tid);
    }
    count_change(page);
}

fn remove(page: &mut PageMut<'_>, gone: &[[u8; 2]]) {
    let count = Node(page.view()).count();
    let mut gone = gone.iter().map(|at| usize::from(u16::from_le_bytes(*at))).peekable();
    let mut to = 0;
    for from in 0..count {
        if gone.next_if_eq(&from).is_some() {
            continue;
        }
        if to != from {
            let node = Node(page.view());
            let (hash, slot) = (node.hash(from), node.slot(from).0);
            put(page, to, hash, slot);
        }
        to += 1;
    }
    page.zero(ENTRIES + to * ENTRY_BYTES, (count - to) * ENTRY_BYTES);
    set_count(page, to);
    count_change(page);
}

struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, bytes: usize) -> &'b [u8] {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        *self.take(N).first_chunk().expect("as many bytes as were taken")
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}
