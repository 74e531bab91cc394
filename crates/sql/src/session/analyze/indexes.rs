//! What `pg_class` says of a table's indexes: how many entries and pages they have.

use base::Fork;
use storage::lock::LockMode;

use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::exec::{self, Cx, Host, State};
use crate::session::backend::Backend;
use crate::types::Datum;

use super::class_row;

/// Of each index, the share of the rows that has an entry in it, by a sample.
pub(super) fn shares(b: &mut Backend, table: &TableDef, rows: &[Vec<Datum>]) -> Result<Vec<f64>> {
    let mut state = State::default();
    let mut cx = Cx { state: &mut state, host: b };
    let mut share = |index: &IndexDef| -> Result<f64> {
        if index.predicate.is_none() || rows.is_empty() {
            return Ok(1.0);
        }
        let mut held = 0;
        for row in rows {
            let values = exec::index_values(index, row, &mut cx)?;
            held += usize::from(values.is_some_and(|values| index.holds(&values)));
        }
        Ok(held as f64 / rows.len() as f64)
    };
    table.indexes.iter().map(|index| share(index)).collect()
}

/// Of each index, how many entries it has if the table has so many rows, as far as that tells.
pub(super) fn of_all_rows(table: &TableDef, rows: f64) -> Vec<Option<f64>> {
    let known = |index: &IndexDef| (rows >= 0.0 && index.predicate.is_none()).then_some(rows);
    table.indexes.iter().map(|index| known(index)).collect()
}

/// Writes down how many entries and pages each index has; not of one that somebody is about to change.
pub(super) fn note(b: &Backend, table: &TableDef, entries: &[Option<f64>]) -> Result<()> {
    let store = &b.instance.store;
    for (index, entries) in table.indexes.iter().zip(entries) {
        // Who renames it, or gives it other parameters, has locked the index alone.
        if !index.live || !b.catalog.try_lock(&b.txn, index.oid, LockMode::ShareUpdateExclusive)? {
            continue;
        }
        let Some(found) = class_row(b, index.oid)? else { continue };
        let pages = b.tree(index)?.relation().blocks(Fork::Main)?;
        let known: f32 = found.row.get("reltuples").as_float4();
        let entries = entries.map_or(known, |entries| entries as f32);
        if (known, found.row.int4("relpages")) == (entries, pages as i32) {
            continue;
        }
        let size = [("reltuples", Datum::Float4(entries)), ("relpages", Datum::Int4(pages as i32))];
        store.update_columns(&b.txn, "pg_class", &found, &size)?;
    }
    Ok(())
}
