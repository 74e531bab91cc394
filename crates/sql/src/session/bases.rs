//! What the figures of tables, indexes and databases were when they were reset. As with those of the server
//! (`resets.rs`) nothing that counts is set back; what upkeep goes by, rows that live or are dead and changes since the
//! last round, is not reset at all.

use std::sync::Arc;

use base::hash::HashMap;
use base::ids::RelId;
use base::latch::Latch;
use base::rank::Rank;

use crate::catalog::{TableDef, TableKind};
use crate::error::Result;
use crate::types::{Datum, Oid, TimestampTz};

use super::backend::Backend;
use super::{database_figures, names, statistics};

/// Of a relation, what is reset.
const OF_RELATION: [&str; 13] = [
    "blocks_hit",
    "blocks_fetched",
    "numscans",
    "tuples_returned",
    "tuples_fetched",
    "tuples_inserted",
    "tuples_updated",
    "tuples_hot_updated",
    "tuples_deleted",
    "vacuum_count",
    "autovacuum_count",
    "analyze_count",
    "autoanalyze_count",
];

/// Of a database.
const OF_DATABASE: [&str; 21] = [
    "blocks_hit",
    "blocks_fetched",
    "tuples_returned",
    "tuples_fetched",
    "tuples_inserted",
    "tuples_deleted",
    "tuples_updated",
    "blk_read_time",
    "checksum_failures",
    "xact_commit",
    "xact_rollback",
    "deadlocks",
    "session_time",
    "active_time",
    "idle_in_transaction_time",
    "sessions",
    "sessions_abandoned",
    "sessions_fatal",
    "sessions_killed",
    "temp_files",
    "temp_bytes",
];

/// What had been counted when figures were reset.
struct Base {
    at: TimestampTz,
    counted: HashMap<&'static str, Datum>,
    /// Of a relation: figures about pages begin anew with another storage.
    storage: Option<RelId>,
}

/// A database's, and when something in it was reset last.
struct OfDatabase {
    base: Option<Arc<Base>>,
    told: TimestampTz,
}

/// Resets of relations and databases, until the server stops.
pub struct Bases {
    databases: Latch<HashMap<Oid, OfDatabase>>,
    /// By database and relation.
    relations: Latch<HashMap<(Oid, Oid), Arc<Base>>>,
}

impl Default for Bases {
    fn default() -> Bases {
        Bases {
            databases: Latch::new(Rank::Leaf, HashMap::default()),
            relations: Latch::new(Rank::Leaf, HashMap::default()),
        }
    }
}

impl Bases {
    /// A database's figure since its last reset.
    pub(super) fn of_database(&self, database: Oid, figure: &str, value: Datum) -> Datum {
        let databases = self.databases.lock();
        let base = databases.get(&database).and_then(|of| of.base.as_ref());
        match base {
            Some(base) => base.since(figure, value),
            None => value,
        }
    }

    /// When something in a database was reset last; null if nothing was.
    pub(super) fn reset_at(&self, database: Oid) -> Datum {
        self.databases.lock().get(&database).map_or(Datum::Null, |of| of.told.into())
    }

    /// A relation's figure since its last reset. `with_pages`: it is counted with its pages.
    pub(super) fn of_relation(
        &self,
        database: Oid,
        relation: &TableDef,
        figure: &str,
        with_pages: bool,
        value: Datum,
    ) -> Datum {
        let relations = self.relations.lock();
        match relations.get(&(database, relation.oid)) {
            Some(base) if !with_pages || base.storage == Some(relation.storage) => {
                base.since(figure, value)
            }
            _ => value,
        }
    }
}

impl Base {
    /// What was counted since. A figure below what it was began anew meanwhile.
    fn since(&self, figure: &str, value: Datum) -> Datum {
        let before = self.counted.get(figure);
        match (value, before) {
            (Datum::TimestampTz(at), _) if at <= self.at => Datum::Null,
            (Datum::Int8(now), Some(Datum::Int8(before))) if now >= *before => {
                Datum::Int8(now - before)
            }
            (Datum::Float8(now), Some(Datum::Float8(before))) if now >= *before => {
                Datum::Float8(now - before)
            }
            (value, _) => value,
        }
    }
}

/// The functions that reset.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    match name {
        "pg_stat_reset" => {
            names::must_be_allowed(b, name)?;
            reset_database(b)?;
        }
        "pg_stat_reset_single_table_counters" => {
            names::must_be_allowed(b, name)?;
            reset_relation(b, args[0].as_oid())?;
        }
        _ => return Ok(None),
    }
    Ok(Some(Datum::VOID))
}

/// Everything of the session's database.
fn reset_database(b: &mut Backend) -> Result<()> {
    let (database, at) = (b.instance.database, super::stamp());
    let mut counted = HashMap::default();
    for figure in OF_DATABASE {
        if let Some(value) = database_figures::counted(b, database, figure)? {
            counted.insert(figure, value);
        }
    }
    let mut bases = Vec::new();
    for relation in used_relations(b)? {
        let base = base_of(b, &relation, at)?;
        bases.push(((database, relation.oid), Arc::new(base)));
    }
    let cluster = b.instance.cluster()?;
    let base = Some(Arc::new(Base { at, counted, storage: None }));
    cluster.bases.databases.lock().insert(database, OfDatabase { base, told: at });
    let mut relations = cluster.bases.relations.lock();
    relations.retain(|(of, _), _| *of != database);
    relations.extend(bases);
    Ok(())
}

fn reset_relation(b: &mut Backend, oid: Oid) -> Result<()> {
    let (database, at) = (b.instance.database, super::stamp());
    let Some(relation) = names::table_by_oid(b, oid)? else { return Ok(()) };
    let base = Arc::new(base_of(b, &relation, at)?);
    let cluster = b.instance.cluster()?;
    cluster.bases.relations.lock().insert((database, oid), base);
    let mut databases = cluster.bases.databases.lock();
    databases.entry(database).or_insert(OfDatabase { base: None, told: at }).told = at;
    Ok(())
}

fn base_of(b: &mut Backend, relation: &Arc<TableDef>, at: TimestampTz) -> Result<Base> {
    let mut counted = HashMap::default();
    for figure in OF_RELATION {
        if let Some((value, _)) = statistics::counted(b, relation, figure)? {
            counted.insert(figure, value);
        }
    }
    Ok(Base { at, counted, storage: Some(relation.storage) })
}

/// The database's relations of which something may have been counted: tables whose rows somebody has opened since the
/// start, their indexes, and sequences.
fn used_relations(b: &mut Backend) -> Result<Vec<Arc<TableDef>>> {
    let store = &b.instance.store;
    let rows = store.scan(&b.txn, "pg_class", |row| {
        matches!(row.letter("relkind"), b'r' | b'm' | b't' | b'S')
    })?;
    let mut used = Vec::new();
    for found in rows {
        let Some(relation) = names::table_by_oid(b, found.row.oid("oid"))? else { continue };
        let is_sequence = relation.kind == TableKind::Sequence;
        if !is_sequence && !b.instance.store.is_opened(relation.storage) {
            continue;
        }
        for index in &relation.indexes {
            used.extend(names::table_by_oid(b, index.oid)?);
        }
        used.push(relation);
    }
    Ok(used)
}
