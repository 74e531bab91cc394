//! Background vacuum: tables, their locks and indexes, to the engine's worker.
//!
//! A heap enters itself into the worker's queue when enough of it has changed (`opened.rs`). The worker takes
//! VACUUM's lock if it is free, so that the table is not dropped, truncated, or given an index meanwhile;
//! who waits for that lock is let through after the page at hand.

use std::sync::{Arc, Weak};

use base::ids::RelId;
use storage::btree::BTree;
use storage::lock::{LockMode, LockScope, LockTag, WaitPolicy};
use storage::txn::{Isolation, Txn};
use storage::vacuum::{Clean, Opened};

use crate::error::Result;
use crate::types::Oid;

use super::schema::catalog_by_oid;
use super::{Instance, SessionCatalog, builtin};

impl Instance {
    /// Starts background vacuum, once per engine. `failed` is told of tables that could not be cleaned.
    pub fn start_vacuum(self: &Arc<Self>, failed: impl Fn(&str) + Send + Sync + 'static) {
        let failed = Arc::new(failed);
        let to_tell = failed.clone();
        // Weak: the engine, which owns the worker, is the instance's.
        let instance = Arc::downgrade(self);
        let open = move |storage: RelId, clean: &mut Clean<'_>| {
            open(&instance, storage, clean).unwrap_or_else(|error| {
                failed(&format!("background vacuum could not open a table: {}", error.message()));
                Opened::Busy
            })
        };
        let told = move |storage, error: &storage::Error| {
            to_tell(&format!("background vacuum of relation {storage} failed: {error}"));
        };
        self.store.engine.start_vacuum(Box::new(open), told);
    }
}

fn open(instance: &Weak<Instance>, storage: RelId, clean: &mut Clean<'_>) -> Result<Opened> {
    let Some(instance) = instance.upgrade() else { return Ok(Opened::No) };
    let Some(oid) = instance.store.opened.owner(storage) else { return Ok(Opened::No) };
    let txn = Txn::attach(instance.store.engine.txns(), 0, builtin::POSTGRES.0)?;
    txn.begin(Isolation::ReadCommitted);
    let opened = hand_over(&instance, &txn, oid, storage, clean);
    txn.abort();
    opened
}

fn hand_over(
    instance: &Arc<Instance>,
    txn: &Txn,
    oid: Oid,
    storage: RelId,
    clean: &mut Clean<'_>,
) -> Result<Opened> {
    let tag = LockTag::Relation { db: builtin::POSTGRES.0, rel: oid.0 };
    // System tables are never dropped, and get no indexes; nobody locks them. Any other is locked by whoever
    // makes, drops or truncates it until that is certain: who gets the lock sees what there is to see.
    if catalog_by_oid(oid).is_none() {
        let mode = LockMode::ShareUpdateExclusive;
        match txn.locks().lock(tag, mode, LockScope::Transaction, WaitPolicy::Never) {
            Ok(_) => {}
            Err(storage::Error::LockNotAvailable) => return Ok(Opened::Busy),
            Err(other) => return Err(other.into()),
        }
    }
    let catalog = SessionCatalog::new(Arc::clone(instance), builtin::POSTGRES);
    let Some(table) = catalog.table(txn, oid)? else { return Ok(Opened::No) };
    if table.storage != storage {
        return Ok(Opened::No);
    }
    let trees = table.indexes.iter().map(|index| Ok(instance.store.tree(index)?.clone()));
    let trees: Vec<Arc<BTree>> = trees.collect::<Result<_>>()?;
    // The snapshot that the definition was read with must not keep back what is to be cleaned.
    txn.release_statement();
    let waited_for = || instance.store.engine.txns().locks().is_waited_for(&tag);
    clean(instance.store.heap(&table)?, &trees, &waited_for);
    Ok(Opened::Yes)
}
