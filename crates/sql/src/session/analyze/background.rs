//! ANALYZE by a background worker: what the statement does, in a transaction of its own, with rests, and left to
//! later as soon as somebody waits for the table. And what background vacuum writes down of a table's size.

use std::sync::Arc;

use storage::heap::vm;
use storage::lock::{LockTag, WaitPolicy};
use storage::txn::Txn;
use storage::vacuum::{Pace, Report, Unhurried};

use crate::catalog::TableDef;
use crate::catalog::store::{BOOTSTRAP_SUPERUSER, Cluster, Instance, SessionCatalog};
use crate::error::Result;
use crate::session::admit::settings_for;
use crate::session::backend::Backend;
use crate::session::identity::{Identity, Role};
use crate::session::set::Values;
use crate::types::{Datum, Oid};

use super::{class_row, indexes, renew, size};

/// Plans go by pages and rows for each page; what differs less than by this share of what they went by is not worth
/// making them anew.
const WORTH_PLANS: f64 = 0.1;
/// Fewer pages are read as soon as the visibility map tells that they need not be.
const SHOWN_PAGES_MIN: u32 = 16;

/// Analyzes a table. `txn` has locked it, by `locked`, for that and is over afterwards: rolled back where this fails.
/// False: somebody waits for one of the locks, and nothing was changed.
pub(crate) fn analyze_in_background(
    cluster: &Arc<Cluster>,
    instance: &Arc<Instance>,
    txn: Txn,
    table: &TableDef,
    locked: &[LockTag],
) -> Result<bool> {
    debug_assert!(table.kind.is_heap() && !table.is_catalog(), "it has rows to analyze");
    let mut backend = backend(cluster, instance, txn)?;
    let locks = cluster.engine().txns().locks();
    let waited_for = || locked.iter().any(|tag| locks.is_waited_for(tag));
    let queue = cluster.engine().vacuum_queue();
    let mut pace = Pace::new(Some(Unhurried { waited_for: &waited_for, queue }));
    let columns: Vec<u16> = table.live().map(|(at, _)| at as u16).collect();
    let counted = match renew(&mut backend, table, &columns, &mut pace, WaitPolicy::Never) {
        Err(_) if pace.gave_way => return Ok(false),
        counted => counted?,
    };
    let heap = instance.store.heap(table)?;
    backend.txn.commit()?;
    // Whoever is told that the table was analyzed finds what came of it.
    counted.note(heap, true);
    Ok(true)
}

/// Writes down a table's size after background vacuum, as VACUUM does, if nobody is about to change what `pg_class` says
/// of it: the worker waits for nobody. `txn` has locked the table and is over afterwards.
///
/// A hot table is cleaned every second: plans are made anew only where its size is another now.
pub(crate) fn note_cleaned(
    cluster: &Arc<Cluster>,
    instance: &Arc<Instance>,
    txn: Txn,
    table: &TableDef,
    report: &Report,
) -> Result<()> {
    debug_assert!(!table.is_catalog(), "of system tables nothing is written down");
    let backend = backend(cluster, instance, txn)?;
    let store = &instance.store;
    let Some(found) = class_row(&backend, table.oid)? else { return Ok(()) };
    // What was never counted stays so.
    let stored: f32 = found.row.get("reltuples").as_float4();
    let rows = report.rows.map_or(f64::from(stored), |rows| rows as f64);
    let pages = report.pages - report.pages_removed;
    let (visible, _) = vm::count(store.heap(table)?.relation())?;
    let counts = size(rows, pages, visible);
    if counts.iter().all(|(column, count)| is_same(found.row.get(column), count)) {
        return Ok(());
    }
    if !store.locked_row(&backend.txn, "pg_class", &found)? {
        return Ok(());
    }
    store.update_columns(&backend.txn, "pg_class", &found, &counts)?;
    if is_worth_plans(table.stored_rows.into(), rows)
        || is_worth_plans(table.stored_blocks.into(), pages.into())
        || is_shown_otherwise(table, visible)
    {
        backend.catalog.note_figures(&backend.txn, table.oid)?;
    }
    indexes::note(&backend, table, &indexes::of_all_rows(table, rows))?;
    backend.txn.commit()?;
    Ok(())
}

fn is_worth_plans(known: f64, now: f64) -> bool {
    (known < 0.0) != (now < 0.0) || (known - now).abs() > WORTH_PLANS * known.abs()
}

/// Whether other pages are visible to all than plans went by, so many that an index alone answers more, or less.
fn is_shown_otherwise(table: &TableDef, visible: u32) -> bool {
    let changed = table.stored_visible.abs_diff(visible);
    changed > SHOWN_PAGES_MIN && f64::from(changed) > WORTH_PLANS * f64::from(table.stored_blocks)
}

fn is_same(stored: &Datum, now: &Datum) -> bool {
    match (stored, now) {
        (Datum::Int4(stored), Datum::Int4(now)) => stored == now,
        (Datum::Float4(stored), Datum::Float4(now)) => stored == now,
        _ => false,
    }
}

/// What stands for a session of the superuser in the database, with its settings.
pub(in crate::session) fn backend(
    cluster: &Arc<Cluster>,
    instance: &Arc<Instance>,
    txn: Txn,
) -> Result<Backend> {
    let catalog = Arc::new(SessionCatalog::new(Arc::clone(instance)));
    let user: &str = &cluster.superuser;
    let owner = Role { oid: BOOTSTRAP_SUPERUSER, name: Arc::from(user), superuser: true };
    let mut values = Values::new(
        Values::table_defaults(),
        Identity { session: owner, role: None },
        catalog.user_place(),
        Arc::clone(&cluster.running),
    );
    for (name, value) in cluster.session_settings().iter() {
        values.set_startup(name, value)?;
    }
    values.take_stored(&settings_for(cluster, &txn, instance.database, Oid::INVALID)?);
    let instance = Arc::clone(instance);
    let none = Arc::from("");
    Ok(Backend::new(txn, instance, catalog, values, none, 0))
}
