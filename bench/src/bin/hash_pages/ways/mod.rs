//! Ways to arrange entries on a page and to find them. All have the index's page header and its count of entries; entries
//! are 16 bytes, hash and slot.

mod gaps;
mod prefixes;
mod prints;
mod sorted;
#[cfg(test)]
mod tests;

use base::Tid;
use prints::{Joined, Plain, Words};
use storage::hash::bare::{DEAD, MAX_ENTRIES};
use storage::page::{PageMut, PageView};

type Find = fn(PageView<'_>, u64, &mut Vec<Tid>);
type Insert = fn(&mut PageMut<'_>, u64, Tid);

/// How the bytes of a page are laid out; ways with the same layout search the same pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// As built: ascending.
    Sorted,
    /// In order of arrival, behind an array of fingerprints of a byte.
    Bytes,
    /// The same with two bytes.
    Pairs,
    /// Ascending, behind an array of their hashes' high two bytes.
    Prefixes,
    /// Each near the place that its hash asks for, with gaps between.
    Gaps,
}

impl Layout {
    pub const ALL: [Layout; 5] =
        [Layout::Sorted, Layout::Bytes, Layout::Pairs, Layout::Prefixes, Layout::Gaps];

    /// Most entries of a page.
    pub fn room(self) -> usize {
        match self {
            Layout::Sorted | Layout::Gaps => MAX_ENTRIES,
            Layout::Bytes => prints::room(1),
            Layout::Pairs | Layout::Prefixes => prints::room(2),
        }
    }

    pub fn insert(self) -> Insert {
        match self {
            Layout::Sorted => storage::hash::bare::insert,
            Layout::Bytes => prints::insert::<1>,
            Layout::Pairs => prints::insert::<2>,
            Layout::Prefixes => prefixes::insert,
            Layout::Gaps => gaps::insert,
        }
    }

    /// The way whose name stands for inserts.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Sorted => "as built: sorted",
            Layout::Bytes => "appended, fingerprints of 1 byte",
            Layout::Pairs => "appended, fingerprints of 2 bytes",
            Layout::Prefixes => "sorted, prefixes of 2 bytes",
            Layout::Gaps => "linear probing",
        }
    }
}

/// A way to search.
pub struct Way {
    pub name: &'static str,
    pub layout: Layout,
    pub find: Find,
    /// It finds what is there.
    pub is_search: bool,
    /// Reads past the page's words, so that a build that counts lines does not see it.
    #[cfg_attr(
        not(feature = "lab-hash-lines"),
        expect(dead_code, reason = "others only take time")
    )]
    pub is_plain: bool,
}

const fn way(name: &'static str, layout: Layout, find: Find) -> Way {
    Way { name, layout, find, is_search: true, is_plain: false }
}

const fn plain(name: &'static str, layout: Layout, find: Find) -> Way {
    Way { is_plain: true, ..way(name, layout, find) }
}

/// All of them. The first reads the count alone: what all others cost above it is the search.
pub static WAYS: [Way; 11] = [
    Way { is_search: false, ..way("count alone", Layout::Sorted, sorted::count_alone) },
    way("as built: interpolation", Layout::Sorted, storage::hash::bare::find),
    way("halving", Layout::Sorted, sorted::halve),
    way("prefixes of 2 bytes, interpolation", Layout::Prefixes, prefixes::find),
    way("linear probing", Layout::Gaps, gaps::find),
    way("fingerprints of 1 byte, SSE2", Layout::Bytes, prints::find::<1, Joined>),
    plain("fingerprints of 1 byte, SSE2, plain loads", Layout::Bytes, prints::find::<1, Plain>),
    way("fingerprints of 1 byte, words", Layout::Bytes, prints::find::<1, Words>),
    way("fingerprints of 2 bytes, SSE2", Layout::Pairs, prints::find::<2, Joined>),
    plain("fingerprints of 2 bytes, SSE2, plain loads", Layout::Pairs, prints::find::<2, Plain>),
    way("fingerprints of 2 bytes, words", Layout::Pairs, prints::find::<2, Words>),
];

/// Appends a slot's TID unless its row is dead, as look-ups do.
#[inline]
fn take(slot: u64, tids: &mut Vec<Tid>) {
    if slot & DEAD == 0 {
        tids.push(Tid::from_u64(slot & (u64::MAX >> 16)));
    }
}
