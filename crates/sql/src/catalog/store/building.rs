//! How far the makers of indexes have come, for those who watch (`pg_stat_progress_create_index`).

use base::sync::unmodelled::{AtomicI64, AtomicU32, Ordering::Relaxed};
use std::sync::Arc;

use base::latch::Latch;
use base::rank::Rank;

use crate::types::Oid;

/// What is told, by its place among the parameters of `pg_stat_get_progress_info`, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    Command = 0,
    LockersTotal = 3,
    LockersDone = 4,
    LockerPid = 5,
    Index = 6,
    Method = 8,
    Phase = 9,
    Step = 10,
    RowsTotal = 11,
    RowsDone = 12,
    BlocksTotal = 15,
    BlocksDone = 16,
}

/// What is being run: [`Told::Command`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    Create = 1,
    CreateConcurrently = 2,
    Reindex = 3,
    ReindexConcurrently = 4,
}

/// What a build is at: [`Told::Phase`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    WritersBeforeBuild = 1,
    Build = 2,
    WritersBeforeValidation = 3,
    ScanIndex = 4,
    SortRows = 5,
    ScanTable = 6,
    OldSnapshots = 7,
    ReadersBeforeDead = 8,
    ReadersBeforeDrop = 9,
}

/// What the building of a B-tree is at: [`Told::Step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    ScanTable = 2,
    SortRows = 3,
    Load = 5,
}

/// Parameters that the catalogs' function has.
pub const PARAMS: usize = 20;

/// The board on which a session writes while it makes indexes. All relaxed: for people.
#[derive(Debug)]
pub struct Building {
    pub pid: i32,
    pub database: Oid,
    table: AtomicU32,
    params: [AtomicI64; PARAMS],
}

impl Building {
    pub fn tell(&self, what: Told, value: i64) {
        self.params[what as usize].store(value, Relaxed);
    }

    /// Another table.
    pub fn at_table(&self, table: Oid) {
        self.table.store(table.0, Relaxed);
    }

    /// Another index.
    pub fn at_index(&self, index: Oid, method: Oid) {
        self.tell(Told::Index, i64::from(index.0));
        self.tell(Told::Method, i64::from(method.0));
    }

    /// Something else begins, whose counters start over.
    pub fn enter(&self, phase: Phase) {
        use Told::{BlocksDone, BlocksTotal, LockerPid, LockersDone, LockersTotal};
        use Told::{RowsDone, RowsTotal, Step};
        for what in [
            Step,
            LockersTotal,
            LockersDone,
            LockerPid,
            BlocksTotal,
            BlocksDone,
            RowsTotal,
            RowsDone,
        ] {
            self.tell(what, 0);
        }
        self.tell(Told::Phase, phase as i64);
    }

    /// Others are waited for: so many at first, so many still, one of them this.
    pub fn waits(&self, total: usize, left: usize, pid: i32) {
        self.tell(Told::LockersTotal, total as i64);
        self.tell(Told::LockersDone, (total - left) as i64);
        self.tell(Told::LockerPid, i64::from(pid));
    }

    pub fn table(&self) -> Oid {
        Oid(self.table.load(Relaxed))
    }

    pub fn params(&self) -> [i64; PARAMS] {
        std::array::from_fn(|i| self.params[i].load(Relaxed))
    }
}

/// All builds at work.
pub struct Builds(Latch<Vec<Arc<Building>>>);

impl Default for Builds {
    fn default() -> Builds {
        Builds(Latch::new(Rank::Leaf, Vec::new()))
    }
}

/// A build at work; not any more when it is dropped.
pub struct Working {
    building: Arc<Building>,
    builds: Arc<Builds>,
}

impl Working {
    pub fn board(&self) -> &Arc<Building> {
        &self.building
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.builds.0.lock().retain(|other| !Arc::ptr_eq(other, &self.building));
    }
}

impl Builds {
    pub fn begin(self: &Arc<Self>, pid: i32, database: Oid, command: Command) -> Working {
        let params = std::array::from_fn(|_| AtomicI64::new(0));
        let building = Arc::new(Building { pid, database, table: AtomicU32::new(0), params });
        building.tell(Told::Command, command as i64);
        self.0.lock().push(building.clone());
        Working { building, builds: self.clone() }
    }

    pub fn all(&self) -> Vec<Arc<Building>> {
        self.0.lock().clone()
    }
}
