//! One open data directory, to the SQL layer: its catalogs and the cache of definitions that sessions share.
//!
//! A definition in the shared cache is what the last committed change made of a relation. Whoever uses
//! one holds a lock on the relation; a change is made under a lock that excludes users, and takes the old
//! definition out of the cache after its commit is published and before that lock is given back. So a
//! locked relation's cached definition is never stale. A session that has changed catalogs itself works
//! with definitions of its own until its transaction ends, see `lookup.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::hash::HashMap;
use base::interrupt::Interrupt;
use base::latch::Latch;
use base::rank::Rank;

use crate::catalog::TableDef;
use crate::exec::spill::TempFiles;
use crate::types::Oid;

use super::Store;

/// What sessions share.
pub struct Instance {
    pub store: Store,
    /// The role that made the directory.
    pub superuser: String,
    pub temp_files: Arc<TempFiles>,
    /// Counts committed catalog changes; plans remember it.
    version: AtomicU64,
    cache: Latch<Cache>,
    /// The server's sessions, to functions that interrupt them.
    signal: Latch<Option<Arc<Signal>>>,
}

/// The role of the session with a process number, if there is one; it is interrupted if so asked.
type Signal = dyn Fn(i32, Option<Interrupt>) -> Option<Oid> + Send + Sync;

#[derive(Default)]
struct Cache {
    tables: HashMap<Oid, Arc<TableDef>>,
    /// OIDs by schema and name; names that lead nowhere are not kept.
    names: HashMap<(Oid, Box<str>), Oid>,
}

impl Instance {
    pub(super) fn new(store: Store, superuser: String, temp_files: Arc<TempFiles>) -> Instance {
        Instance {
            store,
            superuser,
            temp_files,
            version: AtomicU64::new(1),
            cache: Latch::new(Rank::Outer, Cache::default()),
            signal: Latch::new(Rank::Leaf, None),
        }
    }

    /// Says how sessions are found and interrupted by process number. Without, there are no others.
    pub fn set_signal(
        &self,
        signal: impl Fn(i32, Option<Interrupt>) -> Option<Oid> + Send + Sync + 'static,
    ) {
        *self.signal.lock() = Some(Arc::new(signal));
    }

    /// The role of the session with this process number.
    pub fn session_role(&self, pid: i32) -> Option<Oid> {
        let signal = self.signal.lock().clone()?;
        signal(pid, None)
    }

    /// Interrupts what a session runs, or ends it; false where there is none.
    pub fn interrupt_session(&self, pid: i32, how: Interrupt) -> bool {
        let signal = self.signal.lock().clone();
        signal.is_some_and(|signal| signal(pid, Some(how)).is_some())
    }

    /// The number of the catalogs' current state. A plan made under another number may be out of date.
    #[inline]
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the release in `changed`; who sees the new number sees the cache emptied.
        self.version.load(Ordering::Acquire)
    }

    /// Forgets relations that a commit changed (all names, since renames and drops move those too).
    pub fn changed(&self, oids: &[Oid]) {
        let mut cache = self.cache.lock();
        for oid in oids {
            cache.tables.remove(oid);
        }
        cache.names.clear();
        // Release: pairs with the acquire in `version`; under the latch, so that `remember` can compare.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// A remembered definition.
    pub fn cached(&self, oid: Oid) -> Option<Arc<TableDef>> {
        self.cache.lock().tables.get(&oid).cloned()
    }

    /// A remembered name.
    pub fn cached_name(&self, schema: Oid, name: &str) -> Option<Oid> {
        self.cache.lock().names.get(&(schema, Box::from(name))).copied()
    }

    /// Remembers a definition that was read while the catalogs were at `version`; another session's that
    /// came first wins.
    pub fn remember(&self, version: u64, table: TableDef) -> Arc<TableDef> {
        let table = Arc::new(table);
        let mut cache = self.cache.lock();
        if self.version() != version {
            return table;
        }
        cache.names.insert((table.schema, table.name.clone()), table.oid);
        cache.tables.entry(table.oid).or_insert(table).clone()
    }
}
