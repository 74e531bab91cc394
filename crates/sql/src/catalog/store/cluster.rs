//! One open data directory: its databases, what they share, and who is connected to which.
//!
//! `docs/decisions/databases.md` says why it is made this way.

use base::sync::unmodelled::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use base::hash::HashMap;
use base::interrupt::Interrupt;
use base::latch::Latch;
use base::rank::Rank;
use storage::Engine;
use storage::heap::Seen;
use storage::lock::{LockMode, LockTag};
use storage::txn::Txn;

use crate::catalog::TableDef;
use crate::error::Result;
use crate::exec::spill::{TempCounts, TempFiles};
use crate::session::bases::Bases;
use crate::session::board::{Board, Lease};
use crate::session::done::Sums;
use crate::session::resets::Resets;
use crate::settings::Running;
use crate::types::{Datum, Oid, TimestampTz};

use super::channels::Channels;
use super::instance::Change;
use super::opened::Opened;
use super::schema::catalog;
use super::{Found, Instance, Store};

/// What all sessions share, whatever their database.
pub struct Cluster {
    /// The catalogs that all databases share, and no others.
    pub shared: Store,
    /// The role that made the directory.
    pub superuser: String,
    /// The temporary files of all sessions.
    pub temp_files: Arc<TempFiles>,
    /// When the directory was opened.
    pub started: TimestampTz,
    /// Since when figures count, where they can be reset.
    pub resets: Resets,
    /// Likewise of tables, indexes and databases.
    pub bases: Bases,
    /// Who listens to what.
    pub channels: Channels,
    /// Settings of the server as they are.
    pub running: Arc<Running>,
    /// Counts committed changes of roles and memberships.
    pub(super) roles_changed: Arc<AtomicU64>,
    /// Databases that somebody has used, until they are dropped.
    databases: Latch<BTreeMap<Oid, Arc<Instance>>>,
    sessions: Latch<Sessions>,
    /// The server's sessions, to functions that interrupt them.
    signal: Latch<Option<Arc<Signal>>>,
    /// How the server is asked to read its configuration again.
    reload: Latch<Option<Arc<Reload>>>,
    /// What the server's configuration says of sessions' settings: name, value.
    session_settings: Latch<Arc<[(&'static str, String)]>>,
}

/// Has the configuration read again, soon; false if that can't be asked for.
type Reload = dyn Fn() -> bool + Send + Sync;

/// The role of the session with a process number, if there is one; it is interrupted if so asked.
type Signal = dyn Fn(i32, Option<Interrupt>) -> Option<Oid> + Send + Sync;

/// What is known of a session to all others.
#[derive(Clone, Copy)]
pub struct Connected {
    pub database: Oid,
    pub role: Oid,
    pub since: TimestampTz,
    /// What it is doing.
    pub board: &'static Board,
}

/// Those who are connected, and what those did who were.
#[derive(Default)]
struct Sessions {
    /// By process number.
    live: BTreeMap<i32, Connected>,
    /// By database.
    ended: BTreeMap<Oid, Sums>,
}

impl Connected {
    /// What it has done so far.
    fn sums(&self) -> Sums {
        self.board.sums(crate::session::stamp().0 - self.since.0)
    }
}

/// A session's entry in the list of who is connected to what; goes when it is dropped.
pub struct Presence {
    cluster: Arc<Cluster>,
    pid: i32,
    /// Spare again once the entry is gone.
    board: Lease,
}

impl Presence {
    /// Where the session shows what it is doing.
    pub fn board(&self) -> &'static Board {
        *self.board
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut sessions = self.cluster.sessions.lock();
        if let Some(gone) = sessions.live.remove(&self.pid) {
            sessions.ended.entry(gone.database).or_default().add(gone.sums());
        }
    }
}

impl Cluster {
    pub(super) fn new(shared: Store, superuser: String, temp_files: Arc<TempFiles>) -> Cluster {
        Cluster {
            shared,
            superuser,
            temp_files,
            started: crate::session::stamp(),
            resets: Resets::default(),
            bases: Bases::default(),
            channels: Channels::default(),
            running: Arc::default(),
            roles_changed: Arc::default(),
            databases: Latch::new(Rank::Outer, BTreeMap::new()),
            sessions: Latch::new(Rank::Leaf, Sessions::default()),
            signal: Latch::new(Rank::Leaf, None),
            reload: Latch::new(Rank::Leaf, None),
            session_settings: Latch::new(Rank::Leaf, Arc::from([])),
        }
    }

    /// Storage.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.shared.engine
    }

    /// A database that exists; the caller holds a lock on it.
    pub fn database(self: &Arc<Self>, oid: Oid) -> Arc<Instance> {
        let mut databases = self.databases.lock();
        let made = || Arc::new(Instance::new(Store::of_database(&self.shared, oid), oid, self));
        databases.entry(oid).or_insert_with(made).clone()
    }

    /// A commit has changed roles or memberships: whatever was found out of them, and made by that, is out of date, in
    /// every database. One that is opened only now was looked at after that commit.
    pub fn roles_changed(&self) {
        // Release: pairs with the acquire in `Instance::roles_version`; who sees it reads what was committed.
        self.roles_changed.fetch_add(1, Ordering::Release);
        let used: Vec<Arc<Instance>> = self.databases.lock().values().cloned().collect();
        for instance in used {
            instance.changed(Oid::INVALID, Change::Any);
        }
    }

    /// A database that somebody has used since the start, and that was not dropped.
    pub(super) fn used_database(&self, oid: Oid) -> Option<Arc<Instance>> {
        self.databases.lock().get(&oid).cloned()
    }

    /// The database was dropped.
    pub fn forget_database(&self, oid: Oid) {
        self.databases.lock().remove(&oid);
        self.sessions.lock().ended.remove(&oid);
        self.engine().pool().forget_totals(oid.0);
    }

    /// What the sessions of a database have done since the start.
    pub fn done(&self, database: Oid) -> Sums {
        let sessions = self.sessions.lock();
        let mut sums = sessions.ended.get(&database).copied().unwrap_or_default();
        let live = sessions.live.values().filter(|connected| connected.database == database);
        live.for_each(|connected| sums.add(connected.sums()));
        sums
    }

    /// What the sessions of a database have put into temporary files.
    pub fn temp_counts(&self, database: Oid) -> Arc<TempCounts> {
        self.used_database(database).map(|of| Arc::clone(&of.temp_counts)).unwrap_or_default()
    }

    /// The row of a database of that name.
    pub fn database_row(&self, txn: &Txn, name: &str) -> Result<Option<Found>> {
        let key = [Datum::text(name)];
        self.shared.find_one(txn, "pg_database", "pg_database_datname_index", &key)
    }

    /// The row of a database of that name, as it is once the database is locked.
    pub fn locked_database(&self, txn: &Txn, name: &str, mode: LockMode) -> Result<Option<Found>> {
        let mut locked = None;
        loop {
            let Some(found) = self.database_row(txn, name)? else { return Ok(None) };
            let oid = found.row.oid("oid");
            if locked == Some(oid) {
                return Ok(Some(found));
            }
            txn.lock(database_tag(oid), mode)?;
            locked = Some(oid);
        }
    }

    /// Lists a session as one of a database. The caller holds a lock on it.
    pub fn enter(self: &Arc<Self>, pid: i32, database: Oid, role: Oid) -> Presence {
        let board = Lease::default();
        let since = crate::session::stamp();
        let connected = Connected { database, role, since, board: *board };
        self.sessions.lock().live.insert(pid, connected);
        Presence { cluster: Arc::clone(self), pid, board }
    }

    /// The process numbers of a database's sessions.
    pub fn sessions_of(&self, database: Oid) -> Vec<i32> {
        let sessions = self.sessions.lock();
        sessions
            .live
            .iter()
            .filter(|(_, of)| of.database == database)
            .map(|(pid, _)| *pid)
            .collect()
    }

    /// How many sessions a role has.
    pub fn sessions_by(&self, role: Oid) -> usize {
        self.sessions.lock().live.values().filter(|of| of.role == role).count()
    }

    /// All sessions, by process number.
    pub fn sessions(&self) -> Vec<(i32, Connected)> {
        self.sessions.lock().live.iter().map(|(pid, connected)| (*pid, *connected)).collect()
    }

    /// Vacuums at work: database, table, how far.
    pub fn vacuums(&self) -> Vec<(Oid, Oid, Seen)> {
        let all = self.shared.opened.vacuums();
        all.into_iter().map(|(owner, seen)| (owner.database, owner.relation, seen)).collect()
    }

    /// Says how sessions are found and interrupted by process number. Without, there are no others.
    pub fn set_signal(
        &self,
        signal: impl Fn(i32, Option<Interrupt>) -> Option<Oid> + Send + Sync + 'static,
    ) {
        *self.signal.lock() = Some(Arc::new(signal));
    }

    /// Says how the server is asked to read its configuration again. Without, it can't be.
    pub fn set_reload(&self, reload: impl Fn() -> bool + Send + Sync + 'static) {
        *self.reload.lock() = Some(Arc::new(reload));
    }

    /// Says what the server's configuration says of sessions' settings, for who works as a session and is none.
    pub fn set_session_settings(&self, configured: Vec<(&'static str, String)>) {
        *self.session_settings.lock() = Arc::from(configured);
    }

    /// What was said last.
    pub fn session_settings(&self) -> Arc<[(&'static str, String)]> {
        Arc::clone(&self.session_settings.lock())
    }

    /// Asks the server to read its configuration again; false if there is none to ask.
    pub fn reload(&self) -> bool {
        let reload = self.reload.lock().clone();
        reload.is_some_and(|reload| reload())
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
}

/// What is locked of a database: `RowExclusive` by who connects or cleans, `Share` by who copies it,
/// `AccessExclusive` by who drops or renames it.
pub fn database_tag(database: Oid) -> LockTag {
    LockTag::Object { db: 0, class: catalog("pg_database").oid.0, object: database.0, sub: 0 }
}

impl Store {
    /// The catalogs of one database, together with the shared ones.
    fn of_database(shared: &Store, database: Oid) -> Store {
        let mut system = shared.system.clone();
        system.extend(super::layout::definitions(false, super::layout::root(database)));
        Store {
            engine: Arc::clone(&shared.engine),
            database,
            system,
            opened: Arc::clone(&shared.opened),
        }
    }

    /// The shared catalogs of a directory.
    pub(super) fn shared(engine: &Arc<Engine>) -> Store {
        let shared = super::layout::definitions(true, super::layout::FIRST);
        let system: HashMap<&'static str, Arc<TableDef>> = shared.collect();
        Store {
            engine: Arc::clone(engine),
            database: Oid::INVALID,
            system,
            opened: Arc::new(Opened::default()),
        }
    }
}
