//! Background vacuum and ANALYZE: tables, their locks and indexes, to the engine's worker.
//!
//! A heap enters itself into the worker's queue when enough of it has changed (`opened.rs`). The worker takes
//! VACUUM's lock if it is free, so that the table is not dropped, truncated, or given an index meanwhile;
//! who waits for that lock is let through after the page at hand. What a table has come to is written into `pg_class`
//! while it is locked. ANALYZE takes the same lock, in a transaction of its
//! own (`session/analyze/background.rs`); what is due is in `storage::heap`, by the settings and storage parameters
//! that are read here.

use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Fork;
use base::ids::RelId;
use base::usage::Meter;
use storage::buffer::Relation;
use storage::heap::{Limits, Threshold};
use storage::index::Index;
use storage::lock::{LockMode, LockScope, LockTag, WaitPolicy};
use storage::txn::{Isolation, Txn};
use storage::vacuum::{Alone, Clean, HandedOver, Opened, Report};

use crate::catalog::{TableDef, TableKind, parameters};
use crate::error::{Result, SqlState};
use crate::session::{analyze_in_background, note_cleaned};
use crate::settings;
use crate::types::Oid;

use super::opened::Owner;
use super::schema::catalog_by_oid;
use super::upkeep_log::{Done, Log};
use super::{Cluster, Instance, SessionCatalog, Store, database_tag};

impl Cluster {
    /// Starts background vacuum and ANALYZE, once per engine. `log` is told of tables that could not be cleaned or
    /// analyzed, and of what `log_autovacuum_min_duration` wants to be told.
    pub fn start_vacuum(self: &Arc<Self>, log: impl Fn(&str) + Send + Sync + 'static) {
        self.limit_upkeep();
        let log: Log = Arc::new(log);
        let (to_tell, to_tell_of_analyze) = (Arc::clone(&log), Arc::clone(&log));
        // Weak: the engine, which owns the worker, is the cluster's.
        let cluster = Arc::downgrade(self);
        let open = move |storage: RelId, clean: &mut Clean<'_>| {
            open(&cluster, storage, clean, &log).unwrap_or_else(|error| {
                log(&format!("background vacuum could not open a table: {}", error.message()));
                Opened::Failed
            })
        };
        let cluster = Arc::downgrade(self);
        let analyze = move |storage: RelId| {
            analyze(&cluster, storage, &to_tell_of_analyze).unwrap_or_else(|error| {
                // The end of the server is no failure.
                if error.sqlstate() != SqlState::ADMIN_SHUTDOWN {
                    let text = format!("background analyze of relation {storage} failed");
                    to_tell_of_analyze(&format!("{text}: {}", error.message()));
                }
                Opened::Failed
            })
        };
        let told = move |storage, error: &storage::Error| {
            to_tell(&format!("background vacuum of relation {storage} failed: {error}"));
        };
        let workers = settings::find("autovacuum_max_workers").expect("a known setting");
        let workers = self.running.get(workers).expect("a setting of the server").as_integer();
        self.engine().start_vacuum(workers as usize, Box::new(open), Box::new(analyze), told);
    }

    /// Takes over what the settings say of when tables are due for upkeep.
    pub fn limit_upkeep(&self) {
        let value = |name: &str| {
            let setting = settings::find(name).expect("a known setting");
            self.running.get(setting).expect("a setting of the server")
        };
        let rows = |name: &str| u64::try_from(value(name).as_integer()).ok();
        let share = |name: &str| value(name).as_real();
        let limit = |name: &str, share_name: &str| {
            rows(name).map(|rows| Threshold { rows, share: share(share_name) })
        };
        let limits = Limits {
            enabled: value("autovacuum").as_bool(),
            ended: limit("autovacuum_vacuum_threshold", "autovacuum_vacuum_scale_factor")
                .expect("it is not below zero"),
            // -1: inserts alone make no table due.
            inserted: limit(
                "autovacuum_vacuum_insert_threshold",
                "autovacuum_vacuum_insert_scale_factor",
            ),
            changed: limit("autovacuum_analyze_threshold", "autovacuum_analyze_scale_factor")
                .expect("it is not below zero"),
            nap: Duration::from_secs(value("autovacuum_naptime").as_integer() as u64),
        };
        self.engine().upkeep_limits().set(limits);
        self.shared.opened.look_for_dirt();
    }
}

fn open(
    cluster: &Weak<Cluster>,
    storage: RelId,
    clean: &mut Clean<'_>,
    log: &Log,
) -> Result<Opened> {
    let Some(cluster) = cluster.upgrade() else { return Ok(Opened::No) };
    let Some(owner) = cluster.shared.opened.owner(storage) else { return Ok(Opened::No) };
    let txn = begin(&cluster, owner)?;
    let meter = Meter::start();
    let tell = |table: &TableDef, report: &Report| {
        Done { table, owner, cost: meter.read() }.vacuumed(&cluster, log, report)
    };
    if !owner.database.is_valid() {
        return hand_over_shared(&cluster, &txn, owner.relation, clean, &tell);
    }
    match find(&cluster, &txn, owner, storage)? {
        Found::Not(opened) => Ok(opened),
        Found::Table { instance, table, locked } => {
            if let Some(report) = hand_out(&instance.store, &txn, &table, &locked, clean)? {
                tell(&table, &report)?;
                if !table.is_catalog() {
                    note_cleaned(&cluster, &instance, txn, &table, &report)?;
                }
            }
            Ok(Opened::Yes)
        }
    }
}

fn analyze(cluster: &Weak<Cluster>, storage: RelId, log: &Log) -> Result<Opened> {
    let Some(cluster) = cluster.upgrade() else { return Ok(Opened::No) };
    let Some(owner) = cluster.shared.opened.owner(storage) else { return Ok(Opened::No) };
    // As by the statement, system tables are not analyzed.
    if !owner.database.is_valid() || catalog_by_oid(owner.relation).is_some() {
        return Ok(Opened::No);
    }
    let txn = begin(&cluster, owner)?;
    let (instance, table, locked) = match find(&cluster, &txn, owner, storage)? {
        Found::Not(opened) => return Ok(opened),
        Found::Table { table, .. } if table.kind == TableKind::Toast => return Ok(Opened::No),
        Found::Table { instance, table, locked } => (instance, table, locked),
    };
    txn.release_statement();
    let meter = Meter::start();
    let done = analyze_in_background(&cluster, &instance, txn, &table, &locked)?;
    if done {
        Done { table: &table, owner, cost: meter.read() }.analyzed(&cluster, log)?;
    }
    Ok(if done { Opened::Yes } else { Opened::Busy })
}

/// A transaction of the worker's. Dropped, it is rolled back.
pub(super) fn begin(cluster: &Cluster, owner: Owner) -> Result<Txn> {
    let txn = Txn::attach(cluster.engine().txns(), 0, owner.database.0)?;
    txn.begin(Isolation::ReadCommitted);
    Ok(txn)
}

/// Takes a lock if nobody is in the way.
pub(super) fn locked(txn: &Txn, tag: LockTag, mode: LockMode) -> Result<bool> {
    match txn.locks().lock(tag, mode, LockScope::Transaction, WaitPolicy::Never) {
        Ok(_) => Ok(true),
        Err(storage::Error::LockNotAvailable) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

/// Takes a relation for the session alone if nobody has it now.
pub(crate) fn locked_alone(txn: &Txn, tag: LockTag) -> storage::Result<bool> {
    let policy = WaitPolicy::Never;
    match txn.locks().lock(tag, LockMode::AccessExclusive, LockScope::Session, policy) {
        Ok(_) => Ok(true),
        Err(storage::Error::LockNotAvailable) => Ok(false),
        Err(other) => Err(other),
    }
}

/// A table by its storage.
enum Found {
    /// As it is now, locked so that it stays so.
    Table { instance: Arc<Instance>, table: Arc<TableDef>, locked: [LockTag; 2] },
    /// Why not.
    Not(Opened),
}

/// Finds a table of a database and locks it, if nobody is in the way.
fn find(cluster: &Arc<Cluster>, txn: &Txn, owner: Owner, storage: RelId) -> Result<Found> {
    let database = database_tag(owner.database);
    // Keeps the database from being copied or dropped meanwhile.
    if !locked(txn, database, LockMode::RowExclusive)? {
        return Ok(Found::Not(Opened::Busy));
    }
    let Some(instance) = cluster.used_database(owner.database) else {
        return Ok(Found::Not(Opened::No));
    };
    let oid = owner.relation;
    let tag = LockTag::Relation { db: owner.database.0, rel: oid.0 };
    // System tables are never dropped, and get no indexes; nobody locks them. Any other is locked by whoever
    // makes, drops or truncates it until that is certain: who gets the lock sees what there is to see.
    if catalog_by_oid(oid).is_none() && !locked(txn, tag, LockMode::ShareUpdateExclusive)? {
        return Ok(Found::Not(Opened::Busy));
    }
    let catalog = SessionCatalog::new(Arc::clone(&instance));
    match catalog.table(txn, oid)? {
        Some(table) if table.storage == storage => {
            Ok(Found::Table { instance, table, locked: [tag, database] })
        }
        _ => Ok(Found::Not(Opened::No)),
    }
}

/// A system table of all databases.
fn hand_over_shared(
    cluster: &Cluster,
    txn: &Txn,
    oid: Oid,
    clean: &mut Clean<'_>,
    tell: &dyn Fn(&TableDef, &Report) -> Result<()>,
) -> Result<Opened> {
    let Some(catalog) = catalog_by_oid(oid) else { return Ok(Opened::No) };
    let table = cluster.shared.system_table(catalog.name);
    if let Some(report) = hand_out(&cluster.shared, txn, &table, &[], clean)? {
        tell(&table, &report)?;
    }
    Ok(Opened::Yes)
}

fn hand_out(
    store: &Store,
    txn: &Txn,
    table: &TableDef,
    locked: &[LockTag],
    clean: &mut Clean<'_>,
) -> Result<Option<Report>> {
    let trees = table.indexes.iter().map(|index| Ok(store.tree(index)?.clone()));
    let trees: Vec<Index> = trees.collect::<Result<_>>()?;
    // The snapshot that the definition was read with must not keep back what is to be cleaned.
    txn.release_statement();
    let locks = store.engine.txns().locks();
    let waited_for = || locked.iter().any(|tag| locks.is_waited_for(tag));
    // Those who store large values lock their table alone, so the end of its TOAST heap is never cut off.
    let cuts = table.kind.is_heap() && !table.is_catalog();
    let relation = locked.first().filter(|_| cuts && parameters::cuts_tail(&table.parameters));
    let files = store.engine.files();
    let take = || match relation {
        Some(tag) => locked_alone(txn, *tag),
        None => Ok(false),
    };
    let give = || {
        if let Some(tag) = relation {
            txn.locks().unlock(*tag, LockMode::AccessExclusive);
        }
    };
    let cut = |rel: &Relation, blocks| files.truncate(rel, Fork::Main, blocks);
    let alone = Alone { take: &take, give: &give, waited_for: &waited_for, cut: &cut };
    Ok(clean(&HandedOver {
        heap: store.heap(table)?,
        indexes: &trees,
        index_cleanup: parameters::index_cleanup(&table.parameters),
        waited_for: &waited_for,
        alone: relation.map(|_| &alone),
    }))
}
