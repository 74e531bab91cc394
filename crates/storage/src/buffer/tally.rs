//! What is done with relations: pages found in memory, scans begun, rows handed out.
//!
//! These are counted where every statement passes, so no line is shared: each thread has a table of its own, in
//! which every relation has one cache line under its *number*. A count is a load and a store; who wants a sum looks
//! into all threads' tables. What a thread that has ended counted is kept beside them.

use base::sync::unmodelled::{AtomicU64, Ordering::Relaxed};
use std::cell::Cell;
use std::sync::{Arc, Mutex, OnceLock};

/// What is counted of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Figure {
    /// Pages found in memory.
    Hits,
    /// Scans of the whole table.
    Scans,
    /// Rows that those handed out.
    ScanRows,
    /// Of an index: scans. Of a table: scans of its indexes.
    IndexScans,
    /// Of an index: entries that its scans handed out.
    IndexEntries,
    /// Rows fetched by way of an index.
    IndexRows,
    /// Of a B-tree: full leaves whose entries the table was asked about before they were to split.
    LeavesAsked,
    /// Of a B-tree: entries that went because the table told their rows to be gone.
    EntriesCleared,
}

const FIGURES: usize = 8;
const SEGMENT: usize = 64;
/// Relations beyond so many segments at a time are not counted.
const SEGMENTS: usize = 1024;

/// One relation's counts by one thread.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; FIGURES]);

// One thread writes all of a table: a line is to be one line, not a pair.
const _: () = assert!(size_of::<Line>() == 64 && align_of::<Line>() == 64);

type Segment = [Line; SEGMENT];

/// One thread's counts.
struct Table(Box<[OnceLock<Box<Segment>>]>);

impl Table {
    fn new() -> Table {
        Table((0..SEGMENTS).map(|_| OnceLock::new()).collect())
    }

    fn line(&self, number: u32) -> Option<&Line> {
        let number = number as usize;
        self.0.get(number / SEGMENT)?.get().map(|segment| &segment[number % SEGMENT])
    }
}

/// All tables. Numbers of relations are handed out again once they are free.
struct Registry {
    tables: Vec<Arc<Table>>,
    /// What threads that have ended counted.
    ended: Table,
    free: Vec<u32>,
    next: u32,
}

static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();

fn registry() -> &'static Mutex<Registry> {
    REGISTRY.get_or_init(|| {
        let (tables, free) = (Vec::new(), Vec::new());
        Mutex::new(Registry { tables, ended: Table::new(), free, next: 0 })
    })
}

thread_local! {
    /// The table of this thread; null before its first count and after its end.
    static MINE: Cell<*const Table> = const { Cell::new(std::ptr::null()) };
    static OWNER: Owner = Owner::new();
}

/// Keeps the thread's table, and hands in what it counted.
struct Owner(Arc<Table>);

impl Owner {
    fn new() -> Owner {
        let table = Arc::new(Table::new());
        registry().lock().expect("no code panics under it").tables.push(Arc::clone(&table));
        Owner(table)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        MINE.set(std::ptr::null());
        let mut registry = registry().lock().expect("no code panics under it");
        registry.tables.retain(|table| !Arc::ptr_eq(table, &self.0));
        for (at, segment) in self.0.0.iter().enumerate() {
            let Some(segment) = segment.get() else { continue };
            let kept = registry.ended.0[at].get_or_init(Box::default_segment);
            for (line, kept) in segment.iter().zip(kept.iter()) {
                for (count, kept) in line.0.iter().zip(&kept.0) {
                    kept.store(kept.load(Relaxed) + count.load(Relaxed), Relaxed);
                }
            }
        }
    }
}

trait DefaultSegment {
    fn default_segment() -> Box<Segment>;
}

impl DefaultSegment for Box<Segment> {
    fn default_segment() -> Box<Segment> {
        Box::new(std::array::from_fn(|_| Line::default()))
    }
}

/// A relation's place in the tables.
#[derive(Debug)]
pub(super) struct Tally(u32);

impl Tally {
    pub fn new() -> Tally {
        let mut registry = registry().lock().expect("no code panics under it");
        let Some(number) = registry.free.pop() else {
            let number = registry.next;
            registry.next = number.saturating_add(1);
            return Tally(number);
        };
        Tally(number)
    }

    /// One thread's line, where counts of this relation by this thread go.
    #[inline]
    pub fn count(&self, figure: Figure, by: u64) {
        let table = MINE.get();
        // SAFETY: OWNER keeps the table, and clears the pointer before it lets go of it; both are this thread's.
        let line = unsafe { table.as_ref() }.and_then(|table| table.line(self.0));
        match line {
            // Not an addition in one step: nobody else writes the line.
            Some(line) => {
                let count = &line.0[figure as usize];
                count.store(count.load(Relaxed) + by, Relaxed);
            }
            None => self.count_first(figure, by),
        }
    }

    /// The thread's first count in this part of its table.
    #[cold]
    fn count_first(&self, figure: Figure, by: u64) {
        // A thread that is ending counts no more.
        let table = OWNER.try_with(|owner| Arc::as_ptr(&owner.0));
        let (Ok(table), true) = (table, (self.0 as usize) < SEGMENTS * SEGMENT) else { return };
        MINE.set(table);
        // SAFETY: as above.
        let table = unsafe { &*table };
        table.0[self.0 as usize / SEGMENT].get_or_init(Box::default_segment);
        self.count(figure, by);
    }

    /// What all threads have counted. Exact once they rest.
    pub fn sum(&self, figure: Figure) -> u64 {
        let registry = registry().lock().expect("no code panics under it");
        let tables = registry.tables.iter().map(|table| &**table);
        let lines = tables.chain([&registry.ended]).filter_map(|table| table.line(self.0));
        lines.map(|line| line.0[figure as usize].load(Relaxed)).sum()
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let mut registry = registry().lock().expect("no code panics under it");
        // Nobody counts any more: the relation's last handle goes.
        let tables = registry.tables.iter().map(|table| &**table);
        for line in tables.chain([&registry.ended]).filter_map(|table| table.line(self.0)) {
            line.0.iter().for_each(|count| count.store(0, Relaxed));
        }
        registry.free.push(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_threads_are_summed_and_outlive_them() {
        let (one, other) = (Tally::new(), Tally::new());
        one.count(Figure::Hits, 3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..100).for_each(|_| one.count(Figure::Hits, 1));
                    other.count(Figure::Scans, 1);
                });
            }
        });
        assert_eq!((one.sum(Figure::Hits), one.sum(Figure::Scans)), (403, 0));
        assert_eq!((other.sum(Figure::Hits), other.sum(Figure::Scans)), (0, 4));
    }

    #[test]
    fn a_number_that_is_used_again_starts_at_zero() {
        for _ in 0..100 {
            let tally = Tally::new();
            assert_eq!(tally.sum(Figure::IndexRows), 0);
            tally.count(Figure::IndexRows, 7);
            assert_eq!(tally.sum(Figure::IndexRows), 7);
        }
    }
}
