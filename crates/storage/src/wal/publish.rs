//! Publication: commits become visible in ticket order, and whoever closes a gap publishes those behind.
//!
//! The *published* word packs the position of the last published commit and the ticket of the next one.
//! A committer stores its CSN where readers look, then marks its ticket's cell with its position, then
//! moves the word over every marked cell in line, and returns once the word has passed its own.
//!
//! A cell is marked iff its position is above that of the last published commit. Cells are never cleared:
//! what an earlier lap left in a cell is the position of a commit published a lap ago, which is below; and
//! the next lap cannot have come yet, because its reservation of this cell would be [`TICKETS`] commits
//! after one that is still unpublished, and no context parks between reserving and marking, so the number
//! of such commits is bounded by the number of threads.
//!
//! Rejected: publishing in the order of arrival needs a list of gaps; publishing by a lock makes
//! committers wait for whoever was preempted holding it, and so does this, but only in its shadow.

use super::reserve::{Place, TICKETS, pack, position, ticket};
use base::pad::Padded;
use base::sync::atomic::{AtomicU64, Ordering};
use base::sync::spin_hint;

/// How often a committer looks at its predecessor's cell before it offers the processor to it.
const SPINS: u32 = 64;

/// The published word and the cells.
pub(super) struct Publish {
    word: Padded<AtomicU64>,
    lines: Box<[Line]>,
}

/// Cells that lie together. Neighbours in time are not neighbours in memory, see [`Publish::cell`].
struct Line(Padded<[AtomicU64; CELLS]>);

/// Cells of a line; of the model's, the few that there are.
const CELLS: usize = if TICKETS > 16 { 16 } else { 1 };

#[cfg(not(loom))]
const _: () = assert!(base::pad::is_one_line::<[AtomicU64; CELLS]>() && CELLS * 8 == 128);

impl Publish {
    /// Nothing published; every commit must lie above position `below`.
    pub fn new(below: u64) -> Publish {
        Publish {
            word: Padded(AtomicU64::new(pack(0, below))),
            lines: (0..TICKETS / CELLS)
                .map(|_| Line(Padded(std::array::from_fn(|_| AtomicU64::new(0)))))
                .collect(),
        }
    }

    /// A ticket's cell. Consecutive tickets are on consecutive lines.
    #[inline]
    fn cell(&self, ticket: usize) -> &AtomicU64 {
        const LINES: usize = TICKETS / CELLS;
        &self.lines[ticket % LINES].0[ticket / LINES % CELLS]
    }

    /// Position of the last published commit.
    #[inline]
    pub fn last(&self) -> u64 {
        // Acquire: pairs with the release in `advance`; the CSNs up to here are stored.
        position(self.word.load(Ordering::Acquire))
    }

    /// Says that the commit at `place` has its CSN stored.
    #[inline]
    pub fn mark(&self, place: Place) {
        // Release: pairs with the acquire in `advance`.
        self.cell(place.ticket).store(place.start, Ordering::Release);
    }

    /// Publishes what can be published and returns when the marked commit at `place` is.
    #[inline]
    pub fn wait(&self, place: Place) {
        // Two that mark at the same time may each miss the other's mark; both look again until they are
        // passed, so one of them sees both.
        self.wait_for(place.start);
    }

    /// Returns when the commit at a position is published, whose committer has stored its CSN, and so marks it next: it
    /// neither waits for anybody nor parks before.
    pub fn wait_for(&self, start: u64) {
        let mut tries = 0;
        while !self.advance(start) {
            tries += 1;
            if tries < SPINS {
                spin_hint();
            } else {
                yield_thread();
            }
        }
    }

    /// Moves the word over all marked cells in line; tells whether it has passed `until`.
    fn advance(&self, until: u64) -> bool {
        // Acquire: pairs with the release of whoever moved it last, see below.
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            let (mut next, mut last) = (ticket(word), position(word));
            loop {
                // Acquire: pairs with the release in `mark`: its committer's CSN is stored.
                let cell = self.cell(next).load(Ordering::Acquire);
                if cell <= last {
                    break;
                }
                (next, last) = ((next + 1) % TICKETS, cell);
            }
            if last == position(word) {
                return last >= until;
            }
            // Release: hands the CSNs acquired from the cells (and, through the acquire of the word, all
            // earlier ones) to whoever loads the word. No ABA: positions only grow.
            let moved = self.word.compare_exchange(
                word,
                pack(next, last),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match moved {
                Ok(_) => return last >= until,
                Err(now) => word = now,
            }
        }
    }
}

/// Gives the processor away without suspending the fiber: whoever is waited for runs on another thread.
#[cold]
fn yield_thread() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}
