//! Conditions on key columns that do not bound a range: they are tested in the entries, before any row is fetched, and
//! where an entry fails, they tell the next key that may pass. So columns of few values are skipped over.
//!
//! Each column has a set of codes that it may have, as intervals of bytes in key order. A key is looked at column by
//! column. At the first code that is outside of its set the next possible key is: the next interval of this column
//! under the same codes before it; or, if there is none, the next code of the nearest column before that can still move.

use base::ids::Tid;
use storage::btree::{BTree, Scan};

use crate::catalog::IndexDef;
use crate::error::Result;
use crate::types::keycode::{CodeLength, after_prefix};

use super::breathe;

/// Entries passed over between two looks whether the statement goes on.
const ENTRIES_PER_BREATH: u32 = 1024;

/// Codes of a column from `low` on and before `high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub low: Vec<u8>,
    pub high: Vec<u8>,
    /// It is one code, `low`.
    pub is_point: bool,
}

/// What each key column may be, while conditions are added.
#[derive(Default)]
pub(super) struct TestedKeys {
    /// `None`: anything.
    sets: Vec<Option<Vec<Interval>>>,
}

/// What the keys of a scan's entries must be.
pub(super) struct KeyFilter {
    columns: Vec<Column>,
    backward: bool,
    /// Of the key looked at last: where each column's code ends, and in which interval it lies.
    ends: Vec<usize>,
    within: Vec<usize>,
    place: Vec<u8>,
}

struct Column {
    length: CodeLength,
    set: Option<Vec<Interval>>,
}

/// What becomes of a scan at an entry.
pub(super) enum Verdict {
    /// It has all that is asked for.
    Kept,
    /// It has not, nor has any before [`KeyFilter::place`].
    GoOn,
    /// Nor has any other that is still to come.
    Over,
}

impl TestedKeys {
    /// A column's code is to be in one of these intervals, too, which ascend and do not overlap.
    pub fn add(&mut self, column: usize, set: Vec<Interval>) {
        if self.sets.len() <= column {
            self.sets.resize(column + 1, None);
        }
        let known = &mut self.sets[column];
        *known = Some(match known.take() {
            Some(known) => common(&known, &set),
            None => set,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.sets.iter().all(Option::is_none)
    }

    /// What a column's code is to be in, if that is one interval: no more to be tested then.
    pub fn take_interval(&mut self, column: usize) -> Option<Interval> {
        let set = self.sets.get_mut(column)?;
        match set.take() {
            Some(mut one) if one.len() == 1 => one.pop(),
            other => {
                *set = other;
                None
            }
        }
    }

    /// Whether no key meets the conditions.
    pub fn is_contradictory(&self) -> bool {
        self.sets.iter().flatten().any(Vec::is_empty)
    }

    /// The filter of a scan that goes this way, if there is anything to be tested.
    pub fn into_filter(self, index: &IndexDef, backward: bool) -> Option<KeyFilter> {
        if self.is_empty() {
            return None;
        }
        let column = |(set, key): (_, &crate::catalog::IndexKey)| {
            let length = key.code().code_length().expect("the planner asked for it");
            Column { length, set }
        };
        let columns: Vec<Column> = self.sets.into_iter().zip(&index.keys).map(column).collect();
        let (ends, within) = (vec![0; columns.len()], vec![0; columns.len()]);
        Some(KeyFilter { columns, backward, ends, within, place: Vec::new() })
    }
}

/// What is in both of two sets.
fn common(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let low = x.low.clone().max(y.low.clone());
        let high = x.high.clone().min(y.high.clone());
        if low < high {
            all.push(Interval { low, high, is_point: x.is_point || y.is_point });
        }
        if x.high <= y.high { i += 1 } else { j += 1 }
    }
    all
}

impl KeyFilter {
    /// Looks at a key.
    pub fn check(&mut self, key: &[u8]) -> Verdict {
        let mut start = 0;
        for at in 0..self.columns.len() {
            let column = &self.columns[at];
            let end = start + column.length.of(&key[start..]);
            self.ends[at] = end;
            if let Some(set) = &column.set {
                match place_in(set, &key[start..end]) {
                    Ok(nth) => self.within[at] = nth,
                    Err(next) if self.backward => return self.go_back(key, at, next),
                    Err(next) => return self.go_on(key, at, next),
                }
            }
            start = end;
        }
        Verdict::Kept
    }

    /// Whether a key has all that is asked for.
    pub fn keeps(&self, key: &[u8]) -> bool {
        let mut start = 0;
        self.columns.iter().all(|column| {
            let end = start + column.length.of(&key[start..]);
            let code = &key[start..end];
            start = end;
            column.set.as_ref().is_none_or(|set| place_in(set, code).is_ok())
        })
    }

    /// Where a scan is to go on ([`Scan::skip_to`]) after [`Verdict::GoOn`].
    pub fn place(&self) -> &[u8] {
        &self.place
    }

    fn start_of(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// The place to go on at when column `at` lies before its interval `next`, or behind all.
    fn go_on(&mut self, key: &[u8], at: usize, next: usize) -> Verdict {
        if self.begin_interval(key, at, next) {
            return Verdict::GoOn;
        }
        for before in (0..at).rev() {
            let (start, end) = (self.start_of(before), self.ends[before]);
            let beyond = after_prefix(&key[..end]).expect("a marker is not the largest byte");
            let moves = match &self.columns[before].set {
                None => true,
                // The code after this one, if the interval has more of them.
                Some(set) => beyond[start..] < set[self.within[before]].high[..],
            };
            if moves {
                self.place = beyond;
                return Verdict::GoOn;
            }
            if self.begin_interval(key, before, self.within[before] + 1) {
                return Verdict::GoOn;
            }
        }
        Verdict::Over
    }

    /// Places before the first key of a column's interval under the codes before it; false if there is no such interval.
    fn begin_interval(&mut self, key: &[u8], at: usize, nth: usize) -> bool {
        let start = self.start_of(at);
        let Some(first) = self.columns[at].set.as_ref().and_then(|set| set.get(nth)) else {
            return false;
        };
        self.place.clear();
        self.place.extend_from_slice(&key[..start]);
        self.place.extend_from_slice(&first.low);
        // Under one code the columns behind it have a first one, too.
        let mut is_point = first.is_point;
        for set in self.columns[at + 1..].iter().map(|column| column.set.as_ref()) {
            let Some(set) = set.filter(|_| is_point) else { break };
            self.place.extend_from_slice(&set[0].low);
            is_point = set[0].is_point;
        }
        true
    }

    /// The same backwards: column `at` lies behind the interval before `next`, or before all.
    fn go_back(&mut self, key: &[u8], at: usize, next: usize) -> Verdict {
        if self.end_interval(key, at, next) {
            return Verdict::GoOn;
        }
        for before in (0..at).rev() {
            let (start, end) = (self.start_of(before), self.ends[before]);
            let moves = match &self.columns[before].set {
                None => true,
                Some(set) => set[self.within[before]].low[..] < key[start..end],
            };
            if moves {
                self.place.clear();
                self.place.extend_from_slice(&key[..end]);
                return Verdict::GoOn;
            }
            if self.end_interval(key, before, self.within[before]) {
                return Verdict::GoOn;
            }
        }
        Verdict::Over
    }

    /// Places behind the last key of the interval before `nth`.
    fn end_interval(&mut self, key: &[u8], at: usize, nth: usize) -> bool {
        let start = self.start_of(at);
        let set = self.columns[at].set.as_ref();
        let Some(mut last) = set.zip(nth.checked_sub(1)).map(|(set, nth)| &set[nth]) else {
            return false;
        };
        self.place.clear();
        self.place.extend_from_slice(&key[..start]);
        let mut behind = self.columns[at + 1..].iter().map(|column| column.set.as_ref());
        while last.is_point {
            self.place.extend_from_slice(&last.low);
            match behind.next().flatten().and_then(|set| set.last()) {
                Some(next) => last = next,
                None => {
                    let end = after_prefix(&self.place);
                    self.place = end.expect("a marker is not the largest byte");
                    return true;
                }
            }
        }
        self.place.extend_from_slice(&last.high);
        true
    }
}

/// In which interval a code is, or which one comes behind it.
fn place_in(set: &[Interval], code: &[u8]) -> std::result::Result<usize, usize> {
    let nth = set.partition_point(|interval| interval.high.as_slice() <= code);
    match set.get(nth) {
        Some(interval) if interval.low.as_slice() <= code => Ok(nth),
        _ => Err(nth),
    }
}

/// The row of the next entry that is kept. Nothing is dead behind the end.
pub(super) fn next_kept(
    scan: &mut Scan,
    tree: &BTree,
    filter: Option<&mut KeyFilter>,
) -> Result<Option<Tid>> {
    let Some(filter) = filter else { return Ok(scan.next(tree)?.map(|entry| entry.tid)) };
    let mut turns = 0u32;
    while let Some(entry) = scan.next(tree)? {
        let tid = entry.tid;
        match filter.check(entry.key) {
            Verdict::Kept => return Ok(Some(tid)),
            Verdict::GoOn => scan.skip_to(filter.place()),
            Verdict::Over => break,
        }
        turns += 1;
        if turns.is_multiple_of(ENTRIES_PER_BREATH) {
            breathe()?;
        }
    }
    scan.settle(tree);
    Ok(None)
}
