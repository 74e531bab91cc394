//! What pages cost in reads, writes and extensions: by whom, for which kind of table, in which ring.
//!
//! All of it happens off the fast path, where a shared counter is cheap beside the file call that it counts.

use super::Ring;
use base::clock;
use base::sync::unmodelled::{AtomicU64, Ordering::Relaxed};
use base::usage::{self, Role, Use};
use base::{Persistence, RelId};
use std::time::Duration;

/// For what a page was wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(usize)]
pub enum Purpose {
    /// To be used, and kept.
    #[default]
    Normal,
    /// A large scan, in its ring.
    BulkRead,
    /// Vacuum, in its ring.
    Vacuum,
    /// Rows stored in bulk, in their ring.
    BulkWrite,
}

impl Purpose {
    /// All of them, in their order.
    pub const ALL: [Purpose; 4] =
        [Purpose::Normal, Purpose::BulkRead, Purpose::Vacuum, Purpose::BulkWrite];

    pub(super) fn of(ring: Option<&Ring>) -> Purpose {
        ring.map_or(Purpose::Normal, Ring::purpose)
    }
}

/// Whose, of what, and for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoKey {
    /// Who did it.
    pub role: Role,
    /// To a temporary table.
    pub temporary: bool,
    /// What for.
    pub purpose: Purpose,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IoCounts {
    /// Pages read from files.
    pub reads: u64,
    /// Time in that.
    pub read_time: Duration,
    /// Pages written to their places.
    pub writes: u64,
    /// Time in that.
    pub write_time: Duration,
    /// Pages that the system was asked to start writing to the device.
    pub writebacks: u64,
    /// Time in that.
    pub writeback_time: Duration,
    /// Blocks that files were lengthened by.
    pub extends: u64,
    /// Time in that.
    pub extend_time: Duration,
    /// Pages found in memory by scans that go round in a ring.
    pub ring_hits: u64,
    /// Pages evicted for other pages.
    pub evictions: u64,
    /// Pages of a ring that made room for its next.
    pub reuses: u64,
    /// Files synced.
    pub syncs: u64,
    /// Time in that.
    pub sync_time: Duration,
}

impl IoCounts {
    /// What was done since `then`.
    pub fn since(&self, then: &IoCounts) -> IoCounts {
        IoCounts {
            reads: self.reads - then.reads,
            read_time: self.read_time - then.read_time,
            writes: self.writes - then.writes,
            write_time: self.write_time - then.write_time,
            writebacks: self.writebacks - then.writebacks,
            writeback_time: self.writeback_time - then.writeback_time,
            extends: self.extends - then.extends,
            extend_time: self.extend_time - then.extend_time,
            ring_hits: self.ring_hits - then.ring_hits,
            evictions: self.evictions - then.evictions,
            reuses: self.reuses - then.reuses,
            syncs: self.syncs - then.syncs,
            sync_time: self.sync_time - then.sync_time,
        }
    }
}

#[derive(Default)]
struct Counts {
    reads: AtomicU64,
    read_ns: AtomicU64,
    writes: AtomicU64,
    write_ns: AtomicU64,
    writebacks: AtomicU64,
    writeback_ns: AtomicU64,
    extends: AtomicU64,
    extend_ns: AtomicU64,
    ring_hits: AtomicU64,
    evictions: AtomicU64,
    reuses: AtomicU64,
    syncs: AtomicU64,
    sync_ns: AtomicU64,
}

/// The counts of a pool.
#[derive(Default)]
pub(super) struct IoStats([[[Counts; Purpose::ALL.len()]; 2]; Role::ALL.len()]);

/// A file call that is being timed.
pub(super) struct Timed(clock::Instant);

impl Timed {
    pub fn start() -> Timed {
        Timed(clock::now())
    }

    fn ns(&self) -> u64 {
        clock::now().since(self.0).as_nanos() as u64
    }
}

fn add(counter: &AtomicU64, by: u64) {
    // Relaxed: figures for people.
    counter.fetch_add(by, Relaxed);
}

/// A page has been waited for.
fn read_for(counts: &Counts, timed: &Timed) -> u64 {
    let ns = timed.ns();
    add(&counts.read_ns, ns);
    usage::count(Use::ReadNs, ns);
    ns
}

impl IoStats {
    /// The current context's counts.
    fn mine(&self, rel: RelId, purpose: Purpose) -> &Counts {
        let temporary = rel.persistence() == Persistence::Temporary;
        &self.0[base::usage::role() as usize][usize::from(temporary)][purpose as usize]
    }

    /// A page was read. Answers the nanoseconds that this took.
    pub fn read(&self, rel: RelId, purpose: Purpose, timed: &Timed) -> u64 {
        let counts = self.mine(rel, purpose);
        add(&counts.reads, 1);
        read_for(counts, timed)
    }

    /// Pages that are read ahead; who waits for one counts the time.
    pub fn read_started(&self, rel: RelId, purpose: Purpose, pages: u64) {
        add(&self.mine(rel, purpose).reads, pages);
    }

    /// A page that was read ahead has been waited for. Answers for how many nanoseconds.
    pub fn waited(&self, rel: RelId, purpose: Purpose, timed: &Timed) -> u64 {
        read_for(self.mine(rel, purpose), timed)
    }

    pub fn written(&self, rel: RelId, pages: usize, timed: &Timed) {
        let counts = self.mine(rel, Purpose::Normal);
        add(&counts.writes, pages as u64);
        add(&counts.write_ns, timed.ns());
    }

    pub fn writeback(&self, rel: RelId, pages: u32, timed: &Timed) {
        let counts = self.mine(rel, Purpose::Normal);
        add(&counts.writebacks, pages.into());
        add(&counts.writeback_ns, timed.ns());
    }

    pub fn extended(&self, rel: RelId, purpose: Purpose, blocks: u64, timed: &Timed) {
        let counts = self.mine(rel, purpose);
        add(&counts.extends, blocks);
        add(&counts.extend_ns, timed.ns());
    }

    pub fn ring_hit(&self, rel: RelId, purpose: Purpose) {
        add(&self.mine(rel, purpose).ring_hits, 1);
    }

    pub fn evicted(&self, rel: RelId) {
        add(&self.mine(rel, Purpose::Normal).evictions, 1);
    }

    pub fn reused(&self, rel: RelId, purpose: Purpose) {
        add(&self.mine(rel, purpose).reuses, 1);
    }

    /// Files were synced. Where none had to be nothing is counted, though it may have waited for others.
    pub fn synced(&self, files: usize, timed: &Timed) {
        if files == 0 {
            return;
        }
        let counts = &self.0[base::usage::role() as usize][0][Purpose::Normal as usize];
        add(&counts.syncs, files as u64);
        add(&counts.sync_ns, timed.ns());
    }

    /// All counts, by role, kind of table and purpose.
    pub fn all(&self) -> Vec<(IoKey, IoCounts)> {
        let mut all = Vec::new();
        for (role, of_role) in Role::ALL.into_iter().zip(&self.0) {
            for (temporary, of_kind) in [false, true].into_iter().zip(of_role) {
                for (purpose, counts) in Purpose::ALL.into_iter().zip(of_kind) {
                    all.push((IoKey { role, temporary, purpose }, counts.sum()));
                }
            }
        }
        all
    }
}

impl Counts {
    fn sum(&self) -> IoCounts {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        let time = |counter: &AtomicU64| Duration::from_nanos(get(counter));
        IoCounts {
            reads: get(&self.reads),
            read_time: time(&self.read_ns),
            writes: get(&self.writes),
            write_time: time(&self.write_ns),
            writebacks: get(&self.writebacks),
            writeback_time: time(&self.writeback_ns),
            extends: get(&self.extends),
            extend_time: time(&self.extend_ns),
            ring_hits: get(&self.ring_hits),
            evictions: get(&self.evictions),
            reuses: get(&self.reuses),
            syncs: get(&self.syncs),
            sync_time: time(&self.sync_ns),
        }
    }
}
