//! Figures about tables' rows, kept where the rows are changed. They start anew with the server.

use crate::catalog::TableKind;
use crate::error::Result;
use crate::exec::Host;
use crate::types::Datum;

use super::backend::Backend;
use super::names;

/// `pg_stat_get_…` of a table.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let Some(figure) = name.strip_prefix("pg_stat_get_") else { return Ok(None) };
    let [Datum::Oid(oid)] = args else { return Ok(None) };
    let table = names::table_by_oid(b, *oid)?;
    let Some(table) = table.filter(|table| table.kind == TableKind::Table) else {
        return Ok(Some(Datum::Int8(0)));
    };
    let heap = b.heap(&table)?;
    let (done, dirt) = (heap.activity(), heap.dirt());
    let value = match figure {
        "tuples_inserted" => done.inserted,
        "tuples_updated" => done.updated + done.hot_updated,
        "tuples_hot_updated" => done.hot_updated,
        "tuples_deleted" => done.deleted,
        "live_tuples" => dirt.live,
        "dead_tuples" => dirt.dead,
        "ins_since_vacuum" => dirt.inserted,
        "autovacuum_count" => dirt.cleanings,
        _ => return Ok(None),
    };
    Ok(Some(Datum::Int8(value as i64)))
}
