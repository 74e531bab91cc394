//! Figures about tables and indexes, kept where their rows and pages are used. They start anew with the server.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::rank::Rank;
use storage::buffer::{Figure, Relation};
use storage::heap::{Phase, Upkeep};

use crate::catalog::rights::{READ_ALL_STATS, Rights};
use crate::catalog::store::building::Building;
use crate::catalog::{TableDef, TableKind};
use crate::error::Result;
use crate::exec::Host;
use crate::types::{Datum, Oid, TimestampTz};

use super::backend::Backend;
use super::names;

/// `pg_stat_get_…` of a table, an index or a sequence.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let Some(figure) = name.strip_prefix("pg_stat_get_") else { return Ok(None) };
    let [Datum::Oid(oid)] = args else { return Ok(None) };
    let Some(table) = names::table_by_oid(b, *oid)? else {
        let never = figure.ends_with("_time");
        return Ok(Some(if never { Datum::Null } else { Datum::Int8(0) }));
    };
    let Some((value, with_pages)) = counted(b, &table, figure)? else { return Ok(None) };
    let (cluster, database) = (b.instance.cluster()?, b.instance.database);
    Ok(Some(cluster.bases.of_relation(database, &table, figure, with_pages, value)))
}

/// A relation's figure since the server started, whatever was reset, and whether it is counted with its pages.
pub(super) fn counted(
    b: &mut Backend,
    table: &TableDef,
    figure: &str,
) -> Result<Option<(Datum, bool)>> {
    Ok(match of_pages(b, table, figure) {
        Some(value) => Some((Datum::Int8(value as i64), true)),
        None => of_rows(b, table, figure)?.map(|value| (value, false)),
    })
}

/// The pages of a relation that has any.
fn pages_of(b: &Backend, table: &TableDef) -> Option<Relation> {
    let rank = match table.kind {
        TableKind::Table | TableKind::MaterializedView | TableKind::Toast => Rank::HeapPage,
        TableKind::Index => Rank::IndexPage,
        TableKind::Sequence => Rank::SequencePage,
        TableKind::View | TableKind::Virtual => return None,
    };
    Some(b.instance.store.engine.pool().relation(table.storage, rank))
}

/// Figures that are counted with the pages; `None`: it is none of them.
fn of_pages(b: &Backend, table: &TableDef, figure: &str) -> Option<u64> {
    let is_index = table.kind == TableKind::Index;
    let counted = match figure {
        "blocks_hit" | "blocks_fetched" => Some(Figure::Hits),
        "numscans" if is_index => Some(Figure::IndexScans),
        "numscans" => Some(Figure::Scans),
        "tuples_returned" if is_index => Some(Figure::IndexEntries),
        "tuples_returned" => Some(Figure::ScanRows),
        // What comes by way of one index is counted with the index, by way of a bitmap with the table.
        "tuples_fetched" => Some(Figure::IndexRows),
        _ => return None,
    };
    let Some(pages) = pages_of(b, table) else { return Some(0) };
    let more = if figure == "blocks_fetched" { pages.pages_read() } else { 0 };
    Some(counted.map_or(0, |counted| pages.figure(counted)) + more)
}

/// Figures that are counted with a table's rows.
fn of_rows(b: &Backend, table: &TableDef, figure: &str) -> Result<Option<Datum>> {
    let upkeep = match figure {
        "vacuum_count" | "last_vacuum_time" => Some(Upkeep::Vacuum),
        "autovacuum_count" | "last_autovacuum_time" => Some(Upkeep::AutoVacuum),
        "analyze_count" | "last_analyze_time" => Some(Upkeep::Analyze),
        "autoanalyze_count" | "last_autoanalyze_time" => Some(Upkeep::AutoAnalyze),
        _ => None,
    };
    let is_time = figure.ends_with("_time");
    if !(table.kind.is_heap() || table.kind == TableKind::Toast) {
        return Ok(Some(if is_time { Datum::Null } else { Datum::Int8(0) }));
    }
    let heap = b.heap(table)?;
    if let Some(upkeep) = upkeep {
        let (times, last) = heap.upkeep(upkeep);
        return Ok(Some(match is_time {
            true if last == 0 => Datum::Null,
            true => Datum::TimestampTz(TimestampTz(last - super::EPOCH_OFFSET_USECS)),
            false => Datum::Int8(times as i64),
        }));
    }
    let (done, dirt) = (heap.activity(), heap.dirt());
    let value = match figure {
        "tuples_inserted" => done.inserted,
        "tuples_updated" => done.updated + done.hot_updated,
        "tuples_hot_updated" => done.hot_updated,
        "tuples_deleted" => done.deleted,
        "live_tuples" => dirt.live,
        "dead_tuples" => dirt.dead,
        "ins_since_vacuum" => dirt.inserted,
        "mod_since_analyze" => dirt.changed,
        _ => return Ok(None),
    };
    Ok(Some(Datum::Int8(value as i64)))
}

/// Columns of `pg_stat_get_progress_info`.
const PROGRESS_COLUMNS: usize = 23;

/// The rows of `pg_stat_get_progress_info`: vacuums and makers of indexes at work. Other commands tell of no
/// progress.
pub(super) fn progress(b: &Backend, command: &Datum) -> Result<Vec<Vec<Datum>>> {
    let is = |name: &str| matches!(command, Datum::Text(text) if text.eq_ignore_ascii_case(name));
    if is("create index") {
        return builds(b);
    }
    let watched = Watched::new(b)?;
    let mut rows = Vec::new();
    for (database, table, seen) in b.instance.cluster()?.vacuums() {
        if !is("vacuum") {
            continue;
        }
        let mut row = vec![Datum::Int8(0); PROGRESS_COLUMNS];
        row[0] = Datum::Int4(seen.pid);
        row[1] = Datum::Oid(database);
        row[2] = Datum::Oid(table);
        let phase = match seen.phase {
            Phase::Heap => 1,
            Phase::Indexes => 2,
            Phase::Reclaim => 3,
            Phase::Truncate => 5,
        };
        let params: [i64; 7] = [
            phase,
            seen.blocks.into(),
            seen.scanned.into(),
            seen.reclaimed.into(),
            seen.index_passes.into(),
            storage::vacuum::DEAD_MAX as i64,
            seen.dead as i64,
        ];
        for (to, value) in row[3..].iter_mut().zip(params) {
            *to = Datum::Int8(value);
        }
        watched.hide(seen.pid, &mut row);
        rows.push(row);
    }
    Ok(rows)
}

/// Whose work the current role may watch.
struct Watched {
    rights: Arc<Rights>,
    /// By process number, who works there.
    roles: BTreeMap<i32, Oid>,
}

impl Watched {
    fn new(b: &Backend) -> Result<Watched> {
        let sessions = b.instance.cluster()?.sessions().into_iter();
        let roles = sessions.map(|(pid, connected)| (pid, connected.role)).collect();
        Ok(Watched { rights: b.catalog.rights(&b.txn)?, roles })
    }

    /// Leaves of a row of progress what anybody may know: the process and its database.
    fn hide(&self, pid: i32, row: &mut [Datum]) {
        let role = self.roles.get(&pid);
        let is_seen = self.rights.has_rights_of(READ_ALL_STATS)
            || role.is_some_and(|role| self.rights.has_rights_of(*role));
        if !is_seen {
            row[2..].fill(Datum::Null);
        }
    }
}

fn builds(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    let watched = Watched::new(b)?;
    let row = |building: &Arc<Building>| {
        let mut row = vec![
            Datum::Int4(building.pid),
            Datum::Oid(building.database),
            Datum::Oid(building.table()),
        ];
        row.extend(building.params().map(Datum::Int8));
        watched.hide(building.pid, &mut row);
        row
    };
    Ok(b.instance.store.builds().all().iter().map(row).collect())
}

/// The relation of a table, index or sequence with this OID, for whoever works on its pages.
pub(super) fn relation(b: &Backend, oid: Oid) -> Result<Option<Relation>> {
    let table = names::table_by_oid(b, oid)?;
    Ok(table.and_then(|table| pages_of(b, &table)))
}
