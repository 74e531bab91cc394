//! What ANALYZE is to write down of a table's columns, by what ALTER COLUMN has said of them.

use crate::catalog::statistics::TARGET_DEFAULT;
use crate::catalog::{TableDef, parameters};
use crate::error::Result;
use crate::session::backend::Backend;
use crate::types::Datum;

/// Of one column.
pub(super) struct Wanted {
    /// The column, from 0.
    pub at: u16,
    /// How many values are listed, and parts made, at most.
    pub target: usize,
    /// How many distinct values it is said to have, as `stadistinct` tells it.
    pub distinct: Option<f64>,
}

/// Of these columns (from 0), but for those that are to have no statistics.
pub(super) fn of(b: &Backend, table: &TableDef, columns: &[u16]) -> Result<Vec<Wanted>> {
    let usual = b.values.get("default_statistics_target").as_integer().max(1) as usize;
    let key = [Datum::Oid(table.oid)];
    let index = "pg_attribute_relid_attnum_index";
    let rows = b.instance.store.find(&b.txn, "pg_attribute", index, &key)?;
    let mut all = Vec::with_capacity(columns.len());
    for &at in columns {
        let is_own = |number: i16| number == at as i16 + 1;
        // Columns of catalogs may have no rows.
        let row = rows.iter().map(|found| &found.row).find(|row| is_own(row.int2("attnum")));
        let target = row.map_or(TARGET_DEFAULT, |row| row.int4("attstattarget"));
        if target != 0 {
            let lines = row.map(|row| row.texts("attoptions")).unwrap_or_default();
            let target = usize::try_from(target).unwrap_or(usual);
            all.push(Wanted { at, target, distinct: parameters::distinct(&lines) });
        }
    }
    Ok(all)
}
