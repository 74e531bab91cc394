//! Pieces of execution that commands on catalogs use: index keys, and what an expression reads.

use std::collections::BTreeSet;

use crate::bind::tree::{Column, Expr, NextValue, Ty};
use crate::bind::walk;
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, SqlError};
use crate::types::{Datum, Oid};

use super::Cx;
use super::modify::index;

/// Whether equal keys of an index must not meet.
pub fn must_be_alone(index: &IndexDef, values: &[Datum]) -> bool {
    index::must_be_alone(index, values)
}

/// The values of an index's key columns for a row; `None` when a partial index leaves the row out.
pub fn index_values(
    index: &IndexDef,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<Datum>>> {
    index::key_datums(index, row, cx)
}

/// Appends their bytes.
pub fn index_key(index: &IndexDef, values: &[Datum], key: &mut Vec<u8>) {
    index::encode(index, values, key);
}

/// What a row's entry carries beside its key, in the place of what is in `carried`.
pub fn carry(index: &IndexDef, row: &[Datum], carried: &mut Vec<u8>) -> Result<()> {
    index::carry(index, row, carried)
}

/// `23505` for a key that is there already.
pub fn duplicate(
    table: &TableDef,
    index: &IndexDef,
    values: &[Datum],
    cx: &mut Cx<'_>,
) -> SqlError {
    index::duplicate(table, index, values, cx)
}

/// `(a, b)=(1, x)`, for errors.
pub fn key_text(table: &TableDef, index: &IndexDef, values: &[Datum], cx: &Cx<'_>) -> String {
    index::key_text(table, index, values, cx)
}

/// The columns (from 0) that an expression over a table's slots reads, in the order in which it names them.
pub fn columns_of(expr: &Expr) -> Vec<u16> {
    let mut columns = Vec::new();
    collect_columns(expr, &mut columns);
    let mut seen = BTreeSet::new();
    columns.retain(|column| seen.insert(*column));
    columns
}

fn collect_columns(expr: &Expr, columns: &mut Vec<u16>) {
    match expr {
        Expr::Slot(slot) => columns.push(slot.slot),
        Expr::Var(var) => {
            if let Column::User(column) = var.column {
                columns.push(column);
            }
        }
        other => walk::each_child(other, &mut |child| collect_columns(child, columns)),
    }
}

/// The next value of a column's own sequence.
pub fn next_value_of(sequence: Oid, ty: Ty) -> Expr {
    Expr::NextValue(NextValue { sequence, ty })
}
