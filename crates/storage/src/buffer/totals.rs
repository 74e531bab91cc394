//! What is done with all relations of one database, the dropped ones included.

use std::sync::Arc;

use base::hash::HashMap;
use base::latch::Latch;
use base::rank::Rank;

use super::pool::Pool;
use super::relation::RelMap;

/// Sums over relations since they were first used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Pages found in memory.
    pub hits: u64,
    /// Those of them that are temporary relations'.
    pub local_hits: u64,
    /// Pages read from files.
    pub reads: u64,
    /// What waiting for them took, in nanoseconds.
    pub read_ns: u64,
    /// Pages that were found to be damaged.
    pub damaged: u64,
    /// When one was found last, in microseconds since 1970; 0: never.
    pub damaged_at: i64,
    /// Rows that scans of whole tables handed out, and entries that scans of indexes did.
    pub returned: u64,
    /// Rows fetched by way of an index.
    pub fetched: u64,
}

impl Totals {
    fn add(&mut self, more: Totals) {
        self.hits += more.hits;
        self.local_hits += more.local_hits;
        self.reads += more.reads;
        self.read_ns += more.read_ns;
        self.damaged += more.damaged;
        self.damaged_at = self.damaged_at.max(more.damaged_at);
        self.returned += more.returned;
        self.fetched += more.fetched;
    }
}

/// The totals of relations that are gone, by database.
pub(super) struct Gone(Latch<HashMap<u32, Totals>>);

impl Default for Gone {
    fn default() -> Gone {
        Gone(Latch::new(Rank::Leaf, HashMap::default()))
    }
}

impl Gone {
    /// A relation goes.
    pub fn add(&self, map: &RelMap) {
        let (database, totals) = map.totals();
        self.0.lock().entry(database).or_default().add(totals);
    }

    /// Those of all databases.
    pub fn hits(&self) -> u64 {
        self.0.lock().values().map(|totals| totals.hits).sum()
    }
}

impl Pool {
    /// Pages of temporary relations found in memory, by all there are or were.
    pub fn local_hits(&self) -> u64 {
        let gone: u64 = self.gone.0.lock().values().map(|totals| totals.local_hits).sum();
        let maps = self.maps();
        gone + maps.iter().filter(|map| map.is_temporary()).map(|map| map.hits()).sum::<u64>()
    }

    /// What was done with the relations of a database; of those that were dropped at the same moment, perhaps
    /// nothing yet.
    pub fn totals(&self, database: u32) -> Totals {
        let mut sum = self.gone.0.lock().get(&database).copied().unwrap_or_default();
        let maps: Vec<Arc<RelMap>> = self.maps();
        let of = maps.iter().map(|map| map.totals()).filter(|(of, _)| *of == database);
        of.for_each(|(_, totals)| sum.add(totals));
        sum
    }

    /// The database was dropped, and all its relations.
    pub fn forget_totals(&self, database: u32) {
        let mut gone = self.gone.0.lock();
        let totals = gone.remove(&database).unwrap_or_default();
        gone.entry(0).or_default().add(totals);
    }
}
