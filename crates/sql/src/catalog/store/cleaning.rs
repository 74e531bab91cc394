//! Background vacuum: tables, their locks and indexes, to the engine's worker.
//!
//! A heap enters itself into the worker's queue when enough of it has changed (`opened.rs`). The worker takes
//! VACUUM's lock if it is free, so that the table is not dropped, truncated, or given an index meanwhile;
//! who waits for that lock is let through after the page at hand.

use std::sync::{Arc, Weak};

use base::ids::RelId;
use storage::index::Index;
use storage::lock::{LockMode, LockScope, LockTag, WaitPolicy};
use storage::txn::{Isolation, Txn};
use storage::vacuum::{Clean, Opened};

use crate::catalog::TableDef;
use crate::error::Result;
use crate::types::Oid;

use super::opened::Owner;
use super::schema::catalog_by_oid;
use super::{Cluster, SessionCatalog, Store, database_tag};

impl Cluster {
    /// Starts background vacuum, once per engine. `failed` is told of tables that could not be cleaned.
    pub fn start_vacuum(self: &Arc<Self>, failed: impl Fn(&str) + Send + Sync + 'static) {
        let failed = Arc::new(failed);
        let to_tell = failed.clone();
        // Weak: the engine, which owns the worker, is the cluster's.
        let cluster = Arc::downgrade(self);
        let open = move |storage: RelId, clean: &mut Clean<'_>| {
            open(&cluster, storage, clean).unwrap_or_else(|error| {
                failed(&format!("background vacuum could not open a table: {}", error.message()));
                Opened::Busy
            })
        };
        let told = move |storage, error: &storage::Error| {
            to_tell(&format!("background vacuum of relation {storage} failed: {error}"));
        };
        self.engine().start_vacuum(Box::new(open), told);
    }
}

fn open(cluster: &Weak<Cluster>, storage: RelId, clean: &mut Clean<'_>) -> Result<Opened> {
    let Some(cluster) = cluster.upgrade() else { return Ok(Opened::No) };
    let Some(owner) = cluster.shared.opened.owner(storage) else { return Ok(Opened::No) };
    let txn = Txn::attach(cluster.engine().txns(), 0, owner.database.0)?;
    txn.begin(Isolation::ReadCommitted);
    let opened = match owner.database.is_valid() {
        true => hand_over(&cluster, &txn, owner, storage, clean),
        false => hand_over_shared(&cluster, &txn, owner.relation, clean),
    };
    txn.abort();
    opened
}

/// Takes a lock if nobody is in the way.
pub(super) fn locked(txn: &Txn, tag: LockTag, mode: LockMode) -> Result<bool> {
    match txn.locks().lock(tag, mode, LockScope::Transaction, WaitPolicy::Never) {
        Ok(_) => Ok(true),
        Err(storage::Error::LockNotAvailable) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

fn hand_over(
    cluster: &Arc<Cluster>,
    txn: &Txn,
    owner: Owner,
    storage: RelId,
    clean: &mut Clean<'_>,
) -> Result<Opened> {
    // Keeps the database from being copied or dropped meanwhile.
    if !locked(txn, database_tag(owner.database), LockMode::RowExclusive)? {
        return Ok(Opened::Busy);
    }
    let Some(instance) = cluster.used_database(owner.database) else { return Ok(Opened::No) };
    let oid = owner.relation;
    let tag = LockTag::Relation { db: owner.database.0, rel: oid.0 };
    // System tables are never dropped, and get no indexes; nobody locks them. Any other is locked by whoever
    // makes, drops or truncates it until that is certain: who gets the lock sees what there is to see.
    if catalog_by_oid(oid).is_none() && !locked(txn, tag, LockMode::ShareUpdateExclusive)? {
        return Ok(Opened::Busy);
    }
    let catalog = SessionCatalog::new(Arc::clone(&instance));
    let Some(table) = catalog.table(txn, oid)? else { return Ok(Opened::No) };
    if table.storage != storage {
        return Ok(Opened::No);
    }
    hand_out(&instance.store, txn, &table, &[tag, database_tag(owner.database)], clean)
}

/// A system table of all databases.
fn hand_over_shared(
    cluster: &Cluster,
    txn: &Txn,
    oid: Oid,
    clean: &mut Clean<'_>,
) -> Result<Opened> {
    let Some(catalog) = catalog_by_oid(oid) else { return Ok(Opened::No) };
    let table = cluster.shared.system_table(catalog.name);
    hand_out(&cluster.shared, txn, &table, &[], clean)
}

fn hand_out(
    store: &Store,
    txn: &Txn,
    table: &TableDef,
    locked: &[LockTag],
    clean: &mut Clean<'_>,
) -> Result<Opened> {
    let trees = table.indexes.iter().map(|index| Ok(store.tree(index)?.clone()));
    let trees: Vec<Index> = trees.collect::<Result<_>>()?;
    // The snapshot that the definition was read with must not keep back what is to be cleaned.
    txn.release_statement();
    let locks = store.engine.txns().locks();
    let waited_for = || locked.iter().any(|tag| locks.is_waited_for(tag));
    clean(store.heap(table)?, &trees, &waited_for);
    Ok(Opened::Yes)
}
