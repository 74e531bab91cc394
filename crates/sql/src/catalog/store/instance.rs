//! One database: its catalogs and the cache of definitions that its sessions share.
//!
//! A definition in the shared cache is what the last committed change made of a relation. Whoever uses
//! one holds a lock on the relation; a change is made under a lock that excludes users, and takes the old
//! definition out of the cache after its commit is published and before that lock is given back. So a
//! locked relation's cached definition is never stale. There are two exceptions. One are the steps by which indexes are
//! made and dropped beside users (`ddl/concurrent.rs`): whoever makes one waits, once the old definition is out of the
//! cache, for all that have the table locked then; who locks it later gets the new definition. The other are changes that
//! mean nothing to those users (`ddl/alter.rs`, `lock_of`): storage parameters, targets of statistics and the validity of
//! constraints, beside everybody, and foreign keys, beside readers. A session that has changed catalogs itself works with
//! definitions of its own until its transaction ends, see `lookup.rs`.

use base::sync::unmodelled::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use base::hash::HashMap;
use base::latch::Latch;
use base::rank::Rank;

use crate::cache::Scope;
use crate::catalog::TableDef;
use crate::error::{Result, SqlError};
use crate::exec::spill::{TempCounts, TempFiles};
use crate::types::Oid;

use super::{Cluster, Store};

/// What the sessions of one database share.
pub struct Instance {
    pub store: Store,
    /// The database's OID.
    pub database: Oid,
    pub temp_files: Arc<TempFiles>,
    /// What its sessions have put into them.
    pub temp_counts: Arc<TempCounts>,
    /// Weak: the cluster keeps its databases.
    cluster: Weak<Cluster>,
    /// Counts committed catalog changes; plans remember it.
    version: AtomicU64,
    /// Its value at the last [`Change::Any`], and at the last [`Change::Figures`].
    any_changed: AtomicU64,
    figures_changed: AtomicU64,
    /// Counts committed changes of roles and memberships, in whatever database.
    roles_changed: Arc<AtomicU64>,
    cache: Latch<Cache>,
    scopes: Mutex<Scopes>,
}

/// What a change of a relation's catalog rows may have an effect on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Whatever was made of the catalogs.
    Any,
    /// Likewise, and what is known of all relations: a schema has another name.
    Schema,
    /// What the relation's own session does: no other looks names up where it is.
    Temporary,
    /// What was made of the relation, by what is known of its size and values.
    Figures,
}

type UserAndPath = (Box<str>, Box<str>);

/// As many of user and search path are remembered as used lately, and as many of before.
const SCOPES_MAX: usize = 4096;

/// Scopes by user and search path: those asked for lately, and those before. One that is in neither any more is made
/// anew for who asks next.
#[derive(Default)]
struct Scopes {
    recent: BTreeMap<UserAndPath, Scope>,
    older: BTreeMap<UserAndPath, Scope>,
}

#[derive(Default)]
struct Cache {
    tables: HashMap<Oid, Arc<TableDef>>,
    /// OIDs by schema and name; names that lead nowhere are not kept.
    names: HashMap<(Oid, Box<str>), Oid>,
    /// The version at the last change of a relation's figures, if it came after the last of [`Change::Any`].
    figures: HashMap<Oid, u64>,
}

impl Instance {
    pub(super) fn new(store: Store, database: Oid, cluster: &Arc<Cluster>) -> Instance {
        Instance {
            store,
            database,
            temp_files: Arc::clone(&cluster.temp_files),
            temp_counts: Arc::default(),
            cluster: Arc::downgrade(cluster),
            version: AtomicU64::new(1),
            any_changed: AtomicU64::new(0),
            figures_changed: AtomicU64::new(0),
            roles_changed: Arc::clone(&cluster.roles_changed),
            cache: Latch::new(Rank::Outer, Cache::default()),
            scopes: Mutex::default(),
        }
    }

    /// The directory.
    ///
    /// # Errors
    /// It was closed.
    pub fn cluster(&self) -> Result<Arc<Cluster>> {
        self.cluster.upgrade().ok_or_else(|| SqlError::internal("the data directory was closed"))
    }

    /// The number of the catalogs' current state. A plan made under another number may be out of date.
    #[inline]
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the release in `changed`; who sees the new number sees the cache emptied.
        self.version.load(Ordering::Acquire)
    }

    /// The number of the roles' and memberships' current state.
    #[inline]
    pub fn roles_version(&self) -> u64 {
        // Acquire: pairs with the release in `Cluster::roles_changed`.
        self.roles_changed.load(Ordering::Acquire)
    }

    /// Forgets a relation that a commit changed (all names, since renames and drops move those too).
    pub fn changed(&self, oid: Oid, change: Change) {
        let mut cache = self.cache.lock();
        match change {
            // Those that were made in it meanwhile, too, whose definitions tell its name.
            Change::Schema => cache.tables.clear(),
            _ => {
                cache.tables.remove(&oid);
            }
        }
        // Relaxed: it moves under the latch only.
        let now = self.version.load(Ordering::Relaxed) + 1;
        // Relaxed: whoever asks has seen the version that is stored below.
        match change {
            Change::Any | Change::Schema => {
                cache.names.clear();
                cache.figures.clear();
                self.any_changed.store(now, Ordering::Relaxed);
            }
            Change::Temporary => {
                cache.names.clear();
                cache.figures.remove(&oid);
            }
            Change::Figures => {
                cache.figures.insert(oid, now);
                self.figures_changed.store(now, Ordering::Relaxed);
            }
        }
        // Release: pairs with the acquire in `version`; under the latch, so that `remember` can compare.
        self.version.store(now, Ordering::Release);
    }

    /// Whether what was made of these relations under one number would be made the same now: the number of now.
    /// Temporary relations and their names are their session's own business.
    pub fn holds(&self, made: u64, mut relations: impl Iterator<Item = Oid>) -> Option<u64> {
        let now = self.version();
        if made == now {
            return Some(now);
        }
        // Relaxed: what has moved the version to `now` was stored before it.
        if made < self.any_changed.load(Ordering::Relaxed) {
            return None;
        }
        if made < self.figures_changed.load(Ordering::Relaxed) {
            let cache = self.cache.lock();
            if relations.any(|oid| cache.figures.get(&oid).is_some_and(|at| *at > made)) {
                return None;
            }
        }
        Some(now)
    }

    /// What sessions of this user with this search path, and without temporary tables, have in common.
    pub fn scope(&self, user: &str, path: &str) -> Scope {
        let mut scopes = self.scopes.lock().expect("no code panics under it");
        let key = (Box::from(user), Box::from(path));
        if let Some(scope) = scopes.recent.get(&key) {
            return *scope;
        }
        if scopes.recent.len() >= SCOPES_MAX {
            scopes.older = std::mem::take(&mut scopes.recent);
        }
        let scope = scopes.older.remove(&key).unwrap_or_else(Scope::unique);
        scopes.recent.insert(key, scope);
        scope
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
