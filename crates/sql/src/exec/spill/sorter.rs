//! Sorting rows that need not fit memory: sorted runs in a temporary file, merged.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::Result;
use crate::exec::sort::{KeyOrder, are_rows, check_alike, compare_keys, sort_rows};
use crate::types::Datum;

use super::Usage;
use super::file::{SpillFile, readers_max};
use super::size::row_bytes;
use super::space::TempSpace;
use super::spool::{Drain, Spool};

/// A row with its key values.
pub(in crate::exec) struct Keyed {
    /// The first key in short ([`KeyOrder::prefix`]).
    prefix: u64,
    /// Its keys, then its values.
    whole: Box<[Datum]>,
}

impl Keyed {
    fn bytes(&self) -> usize {
        row_bytes(&self.whole) + size_of::<Keyed>()
    }
}

/// Takes rows in any order and gives them back sorted; stable, so equal rows keep the order in which they
/// came.
pub(in crate::exec) struct Sorter {
    space: Arc<TempSpace>,
    order: Vec<KeyOrder>,
    /// See [`are_rows`].
    of_rows: bool,
    /// Only the first so many rows are wanted.
    top: Option<usize>,
    /// How many rows were offered.
    taken: usize,
    limit: usize,
    used: usize,
    rows: Vec<Keyed>,
    /// A row on its way in.
    coming: Vec<Datum>,
    /// The `top` first rows met so far are in front, sorted, and nothing behind the last of them is wanted.
    bounded: bool,
    runs: Vec<Spool>,
    file: Option<Arc<SpillFile>>,
}

impl Sorter {
    /// `top`: only so many of the first rows are wanted.
    pub fn new(
        space: &Arc<TempSpace>,
        limit: usize,
        order: Vec<KeyOrder>,
        top: Option<usize>,
    ) -> Sorter {
        Sorter {
            space: space.clone(),
            of_rows: are_rows(&order),
            order,
            top,
            taken: 0,
            limit,
            used: 0,
            rows: Vec::new(),
            coming: Vec::new(),
            bounded: false,
            runs: Vec::new(),
            file: None,
        }
    }

    /// Takes a row. `keys` is emptied.
    pub fn push(&mut self, keys: &mut Vec<Datum>, row: &[Datum]) -> Result<()> {
        self.taken += 1;
        let prefix = self.order.first().map_or(0, |first| first.prefix(&keys[0]));
        if self.bounded
            && let Some(last) = self.top.and_then(|top| self.rows.get(top - 1))
            && prefix >= last.prefix
        {
            if self.of_rows {
                check_alike(&self.order, &last.whole, keys)?;
            }
            if compare_keys(&self.order, keys, &last.whole).is_ge() {
                keys.clear();
                return Ok(());
            }
        }
        self.coming.clear();
        self.coming.append(keys);
        self.coming.extend_from_slice(row);
        let keyed = Keyed { prefix, whole: self.coming.as_slice().into() };
        self.used += keyed.bytes();
        self.rows.push(keyed);
        if let Some(top) = self.top
            && self.rows.len() >= top.saturating_mul(2).max(1024)
        {
            self.cut(top)?;
        }
        if self.used > self.limit { self.spill() } else { Ok(()) }
    }

    /// Keeps the first `top` rows.
    fn cut(&mut self, top: usize) -> Result<()> {
        self.sort()?;
        self.space.note_peak(self.used);
        self.rows.truncate(top);
        self.used = self.rows.iter().map(Keyed::bytes).sum();
        self.bounded = top > 0;
        Ok(())
    }

    /// Memory is full: what is there becomes a run.
    fn spill(&mut self) -> Result<()> {
        if let Some(top) = self.top
            && self.rows.len() > top
        {
            self.cut(top)?;
            // Room enough that this does not happen for every row.
            if self.used <= self.limit / 2 {
                return Ok(());
            }
        }
        self.space.note_peak(self.used);
        self.sort()?;
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::create(&self.space, self.limit)?),
        };
        let mut run = Spool::new(file);
        for (i, keyed) in self.rows.iter().enumerate() {
            run.push(&[&keyed.whole])?;
            if i.is_multiple_of(1024) {
                crate::exec::breathe()?;
            }
        }
        run.seal()?;
        self.runs.push(run);
        self.rows.clear();
        self.used = 0;
        self.bounded = false;
        Ok(())
    }

    fn sort(&mut self) -> Result<()> {
        let order = &self.order;
        let by_keys = |a: &Keyed, b: &Keyed| {
            base::park::checkpoint();
            // Most rows differ in what is at hand; their keys lie elsewhere.
            a.prefix.cmp(&b.prefix).then_with(|| compare_keys(order, &a.whole, &b.whole))
        };
        let are_alike = |a: &Keyed, b: &Keyed| check_alike(order, &a.whole, &b.whole);
        sort_rows(&mut self.rows, by_keys, self.of_rows.then_some(&are_alike))
    }

    /// All rows were taken.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.sort()?;
            self.space.note_peak(self.used);
            // PostgreSQL says so of more than twice the rows wanted.
            let top = self.top.is_some_and(|top| self.taken > top.saturating_mul(2));
            if let Some(top) = self.top {
                self.rows.truncate(top);
            }
            let keys = self.order.len();
            return Ok(Sorted::Memory { rows: self.rows, keys, at: 0, top });
        }
        if !self.rows.is_empty() {
            self.spill()?;
        }
        if !self.rows.is_empty() {
            // The cut left little; it is a run all the same.
            self.top = None;
            self.spill()?;
        }
        self.rows = Vec::new();
        let file = self.file.as_ref().expect("runs lie in a file");
        let runs = merge_down(self.runs, file, &self.order, self.limit)?;
        let disk_bytes = file.bytes();
        Ok(Sorted::Merge(Merge::start(runs, self.order)?, disk_bytes))
    }
}

/// Merges neighbouring runs, as many at a time as an operator with this memory may read, until all that are left
/// can be read together. Equal rows stay in their order.
pub(super) fn merge_down(
    mut runs: Vec<Spool>,
    file: &Arc<SpillFile>,
    order: &[KeyOrder],
    memory_bytes: usize,
) -> Result<Vec<Spool>> {
    let readers = readers_max(memory_bytes);
    while runs.len() > readers {
        let mut merged = Vec::new();
        let mut old = runs.into_iter();
        loop {
            let group: Vec<Spool> = old.by_ref().take(readers).collect();
            match group.len() {
                0 => break,
                1 => merged.extend(group),
                _ => merged.push(merge_into_one(group, file, order)?),
            }
        }
        runs = merged;
    }
    Ok(runs)
}

fn merge_into_one(group: Vec<Spool>, file: &Arc<SpillFile>, order: &[KeyOrder]) -> Result<Spool> {
    let mut merge = Merge::start(group, order.to_vec())?;
    let mut run = Spool::new(file);
    while merge.next()? {
        run.push(&[merge.whole_row()])?;
        if run.rows().is_multiple_of(1024) {
            crate::exec::breathe()?;
        }
    }
    run.seal()?;
    Ok(run)
}

/// Rows in their order.
pub(in crate::exec) enum Sorted {
    Memory {
        rows: Vec<Keyed>,
        /// How many keys each has.
        keys: usize,
        /// How many were given.
        at: usize,
        /// Few of many were wanted.
        top: bool,
    },
    /// With the size of the temporary file.
    Merge(Merge, u64),
}

impl Sorted {
    /// Moves to the next row; false at the end.
    #[inline]
    pub fn next(&mut self) -> Result<bool> {
        match self {
            Sorted::Memory { rows, at, .. } => {
                *at += 1;
                Ok(*at <= rows.len())
            }
            Sorted::Merge(merge, _) => merge.next(),
        }
    }

    /// Goes back to before the first row; false of rows that are gone once they are read.
    pub fn rewind(&mut self) -> bool {
        match self {
            Sorted::Memory { at, .. } => {
                *at = 0;
                true
            }
            Sorted::Merge(..) => false,
        }
    }

    /// The row that `next` moved to.
    #[inline]
    pub fn row(&self) -> &[Datum] {
        match self {
            Sorted::Memory { rows, keys, at, .. } => &rows[at - 1].whole[*keys..],
            Sorted::Merge(merge, _) => &merge.whole_row()[merge.order.len()..],
        }
    }

    /// Its key values.
    #[inline]
    pub fn keys(&self) -> &[Datum] {
        match self {
            Sorted::Memory { rows, keys, at, .. } => &rows[at - 1].whole[..*keys],
            Sorted::Merge(merge, _) => &merge.whole_row()[..merge.order.len()],
        }
    }

    /// How it was sorted.
    pub fn usage(&self) -> Usage {
        match self {
            Sorted::Memory { top, .. } => Usage::Sort { top: *top },
            Sorted::Merge(_, disk_bytes) => Usage::ExternalMerge { disk_bytes: *disk_bytes },
        }
    }
}

/// Sorted runs being merged: a heap of runs, the one with the least row on top. Rows of the file are keys,
/// then values.
pub(in crate::exec) struct Merge {
    order: Vec<KeyOrder>,
    runs: Vec<Drain>,
    /// Numbers of the runs that have rows left.
    heap: Vec<usize>,
    /// The top's row has been given.
    given: bool,
    /// Of rows that not always can be compared ([`are_rows`]), the keys that were given last.
    last: Option<Box<[Datum]>>,
}

impl Merge {
    pub(super) fn start(runs: Vec<Spool>, order: Vec<KeyOrder>) -> Result<Merge> {
        let last = are_rows(&order).then(Box::default);
        let mut merge = Merge { order, runs: Vec::new(), heap: Vec::new(), given: false, last };
        for run in runs {
            let mut drain = run.drain();
            if drain.next()? {
                merge.heap.push(merge.runs.len());
                merge.runs.push(drain);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at);
        }
        Ok(merge)
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        let Some(&top) = self.heap.first() else { return Ok(false) };
        if std::mem::replace(&mut self.given, true) {
            if !self.runs[top].next()? {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        if self.heap.is_empty() {
            return Ok(false);
        }
        if let Some(last) = &self.last {
            // What can't be compared with anything else of its kind comes next to it.
            let keys = &self.whole_row()[..self.order.len()];
            check_alike(&self.order, last, keys)?;
            self.last = Some(keys.into());
        }
        Ok(true)
    }

    /// Keys and values of the least row.
    pub(super) fn whole_row(&self) -> &[Datum] {
        self.runs[self.heap[0]].row()
    }

    /// Restores the heap below a run whose row may be too large for its place.
    fn sink(&mut self, mut at: usize) {
        loop {
            let children = 2 * at + 1..self.heap.len().min(2 * at + 3);
            let least = children.min_by(|a, b| self.compare(*a, *b));
            match least {
                Some(child) if self.compare(child, at).is_lt() => {
                    self.heap.swap(child, at);
                    at = child;
                }
                _ => return,
            }
        }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (a, b) = (self.heap[a], self.heap[b]);
        let order = compare_keys(&self.order, self.runs[a].row(), self.runs[b].row());
        order.then(a.cmp(&b))
    }
}
