//! ANALYZE by the background worker: what the statement does, in a transaction of its own, with rests, and left to
//! later as soon as somebody waits for the table.

use std::sync::Arc;

use storage::lock::LockTag;
use storage::txn::Txn;
use storage::vacuum::Pace;

use crate::catalog::store::{Cluster, Instance, SessionCatalog};
use crate::catalog::{TableDef, TableKind};
use crate::error::Result;
use crate::session::backend::Backend;
use crate::session::set::Values;
use crate::types::Oid;

use super::renew;

/// Analyzes a table. `txn` has locked it, by `locked`, for that and is over afterwards: rolled back where this fails.
/// False: somebody waits for one of the locks, and nothing was changed.
pub(crate) fn analyze_in_background(
    cluster: &Arc<Cluster>,
    instance: &Arc<Instance>,
    txn: Txn,
    table: &TableDef,
    locked: &[LockTag],
) -> Result<bool> {
    debug_assert!(table.kind == TableKind::Table && !table.is_catalog(), "it has rows to analyze");
    let catalog = Arc::new(SessionCatalog::new(Arc::clone(instance)));
    let user: &str = &cluster.superuser;
    let values = Values::new(Values::table_defaults(), user, Arc::clone(&cluster.running));
    let none = Arc::from("");
    let backend = Backend::new(
        txn,
        Arc::clone(instance),
        catalog,
        values,
        none,
        Arc::from(user),
        Oid::INVALID,
        0,
    );
    let locks = cluster.engine().txns().locks();
    let waited_for = || locked.iter().any(|tag| locks.is_waited_for(tag));
    let mut pace = Pace::new(Some(&waited_for));
    let columns: Vec<u16> = table.live().map(|(at, _)| at as u16).collect();
    let done = renew(&backend, table, &columns, &mut pace, true);
    if done.is_err() && pace.gave_way {
        return Ok(false);
    }
    done?;
    backend.txn.commit()?;
    Ok(true)
}
