//! Neither fingerprints nor moving half a page: an entry lies where its hash says on a page that it has to itself, or as
//! close behind as those allow that were closer to their own places (linear probing, Robin Hood's). Behind the last place
//! comes the first. A slot of zero is a gap.

use super::take;
use base::Tid;
use storage::hash::bare::{ENTRIES, ENTRY_BYTES, MAX_ENTRIES, count, set_count};
use storage::page::{PageMut, PageView};

/// The place that a hash asks for.
#[inline]
fn place(hash: u64) -> usize {
    ((u128::from(hash) * MAX_ENTRIES as u128) >> 64) as usize
}

#[inline]
fn after(at: usize) -> usize {
    if at + 1 == MAX_ENTRIES { 0 } else { at + 1 }
}

#[inline]
fn entry(page: PageView<'_>, at: usize) -> (u64, u64) {
    let offset = ENTRIES + at * ENTRY_BYTES;
    (page.get_u64(offset), page.get_u64(offset + 8))
}

fn put(page: &mut PageMut<'_>, at: usize, (hash, slot): (u64, u64)) {
    let offset = ENTRIES + at * ENTRY_BYTES;
    page.put_u64(offset, hash);
    page.put_u64(offset + 8, slot);
}

/// How far behind its place the entry with this hash is.
#[inline]
fn distance(hash: u64, at: usize) -> usize {
    let place = place(hash);
    if at >= place { at - place } else { at + MAX_ENTRIES - place }
}

pub fn find(page: PageView<'_>, hash: u64, tids: &mut Vec<Tid>) {
    let mut at = place(hash);
    for far in 0..count(page) {
        let (this, slot) = entry(page, at);
        if slot == 0 {
            return;
        }
        if this == hash {
            take(slot, tids);
        } else if distance(this, at) < far {
            return;
        }
        at = after(at);
    }
}

pub fn insert(page: &mut PageMut<'_>, hash: u64, tid: Tid) {
    let count = count(page.view());
    assert!(count < MAX_ENTRIES, "there is room");
    let (mut at, mut far) = (place(hash), 0);
    loop {
        let (this, slot) = entry(page.view(), at);
        if slot == 0 || distance(this, at) < far {
            break;
        }
        (at, far) = (after(at), far + 1);
    }
    // Who is closer to his place makes room, up to the next gap.
    let mut moving = (hash, tid.to_u64());
    while moving.1 != 0 {
        let next = entry(page.view(), at);
        put(page, at, moving);
        (moving, at) = (next, after(at));
    }
    set_count(page, count + 1);
}
