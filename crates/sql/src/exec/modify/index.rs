//! A row's entries in its table's indexes.

use base::ids::Tid;
use storage::btree::{Liveness, NewEntry};

use crate::catalog::{AccessMethod, IndexDef, TableDef};
use crate::error::{Result, SqlError, sql_error};
use crate::exec::Cx;
use crate::exec::eval::{eval, passes};
use crate::exec::waiting::waiting;
use crate::types::row::write_values;
use crate::types::{Datum, is_equal};

use super::Work;
use super::foreign_key::Event;

/// The values of an index's key columns for a row; `None` when a partial index leaves the row out.
pub(in crate::exec) fn key_datums(
    index: &IndexDef,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Option<Vec<Datum>>> {
    if !index.has_expressions() {
        let value = |column: Option<u16>| row[usize::from(column.expect("plain columns"))].clone();
        return Ok(Some(index.key_columns().map(value).collect()));
    }
    let exprs = cx.host.index_exprs(index)?;
    if !passes(exprs.predicate.as_ref(), row, cx)? {
        return Ok(None);
    }
    let values = exprs.keys.iter().map(|key| eval(key, row, cx)).collect::<Result<Vec<_>>>()?;
    Ok(Some(values))
}

/// Encodes key values. Appends to `key`.
pub(crate) fn encode(index: &IndexDef, values: &[Datum], key: &mut Vec<u8>) {
    for (column, value) in index.keys.iter().zip(values) {
        column.code().encode(value, key);
    }
}

/// What a row's entry carries beside its key, in the place of what is in `carried`: nothing without INCLUDE.
///
/// # Errors
/// `54000`: it is too large for any row, and so for an entry.
#[inline]
pub(crate) fn carry(index: &IndexDef, row: &[Datum], carried: &mut Vec<u8>) -> Result<()> {
    carried.clear();
    if index.included.is_empty() {
        return Ok(());
    }
    let values = index.included.iter().map(|column| row[usize::from(*column)].clone());
    index.carried.encode(&values.collect::<Vec<_>>(), carried)
}

/// Whether equal keys must not meet: unique, and no null among them (unless nulls are not distinct).
pub(in crate::exec) fn must_be_alone(index: &IndexDef, values: &[Datum]) -> bool {
    index.unique && (index.nulls_not_distinct || !values.iter().any(Datum::is_null))
}

/// Where a row version that is entered into indexes comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exec) enum Made {
    /// A new row.
    Inserted,
    /// Another version of one that has entries already.
    Updated,
}

/// Enters a row version into every index that is kept up.
pub(in crate::exec) fn insert_all(
    table: &TableDef,
    tid: Tid,
    made: Made,
    work: &mut Work,
    cx: &mut Cx<'_>,
) -> Result<()> {
    for index in table.indexes.iter().filter(|index| index.ready) {
        let Some(alone) = row_key(index, &work.new, &mut work.key, cx)? else { continue };
        carry(index, &work.new, &mut work.carried)?;
        let entry = NewEntry { key: &work.key, carried: &work.carried, tid };
        let (txn, tree, heap) = (cx.host.txn(), cx.host.tree(index)?, cx.host.heap(table)?);
        let mut is_gone = |other: Tid| heap.is_gone(other);
        if !alone || !index.immediate {
            let entered = match made {
                Made::Inserted => tree.insert(entry),
                Made::Updated => tree.insert_version(entry, &mut is_gone),
            };
            entered.map_err(|error| refused(error, table, index, tid))?;
        }
        if !alone {
            continue;
        }
        if !index.immediate {
            // Whoever enters the same key from now on finds this entry.
            if may_repeat(table, index, tid, &work.key, cx)? {
                cx.host.note(Event::Repeats { index: index.clone(), row: tid });
            }
            continue;
        }
        let mut judge = |other: Tid| -> storage::Result<Liveness> { heap.liveness(txn, other) };
        match tree.insert_unique(txn, entry, &mut judge, &mut is_gone) {
            Ok(()) => {}
            Err(storage::Error::Duplicate { .. }) => {
                let values = key_datums(index, &work.new, cx)?.unwrap_or_default();
                return Err(duplicate(table, index, &values, cx));
            }
            Err(other @ storage::Error::TooLarge { .. }) => {
                return Err(refused(other, table, index, tid));
            }
            Err(other) => {
                return Err(waiting("inserting index tuple", tid, &index.name)(other));
            }
        }
    }
    Ok(())
}

/// Why an entry could not be made: one that no B-tree's page would hold often enough in PostgreSQL's words, and others
/// in their own.
#[cold]
pub(crate) fn refused(
    error: storage::Error,
    table: &TableDef,
    index: &IndexDef,
    tid: Tid,
) -> SqlError {
    let storage::Error::TooLarge { bytes, bytes_max, .. } = error else { return error.into() };
    sql_error!(
        PROGRAM_LIMIT_EXCEEDED,
        "index row size {bytes} exceeds btree version 4 maximum {bytes_max} for index \"{}\"",
        index.name
    )
    .with_detail(format!(
        "Index row references tuple ({},{}) in relation \"{}\".",
        tid.block.0, tid.offset, table.name
    ))
    .with_hint(
        "Values larger than 1/3 of a buffer page cannot be indexed.\nConsider a function index of \
         an MD5 hash of the value, or use full text indexing.",
    )
    .with_table(&table.schema_name, &table.name)
    .with_constraint(&index.name)
}

/// Whether a row other than the one at `tid` has its key, or may come to have it.
fn may_repeat(
    table: &TableDef,
    index: &IndexDef,
    tid: Tid,
    key: &[u8],
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let (heap, mut tids) = (cx.host.heap(table)?, Vec::new());
    cx.host.tree(index)?.lookup(key, &mut tids)?;
    for other in tids {
        if other != tid && !matches!(heap.liveness(cx.host.txn(), other)?, Liveness::Dead) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Encodes a row's key into `key`; whether it must be alone. `None` when the index leaves the row out: a
/// partial one, or one by hash whose key is null.
fn row_key(
    index: &IndexDef,
    row: &[Datum],
    key: &mut Vec<u8>,
    cx: &mut Cx<'_>,
) -> Result<Option<bool>> {
    key.clear();
    if index.has_expressions() {
        let Some(values) = key_datums(index, row, cx)? else { return Ok(None) };
        if !index.holds(&values) {
            return Ok(None);
        }
        encode(index, &values, key);
        return Ok(Some(must_be_alone(index, &values)));
    }
    let mut has_null = false;
    for (column, at) in index.keys.iter().zip(index.key_columns()) {
        let value = &row[usize::from(at.expect("plain columns"))];
        has_null |= value.is_null();
        column.code().encode(value, key);
    }
    if has_null && index.method == AccessMethod::Hash {
        return Ok(None);
    }
    Ok(Some(index.unique && (index.nulls_not_distinct || !has_null)))
}

/// `23505` as PostgreSQL words it.
pub(in crate::exec) fn duplicate(
    table: &TableDef,
    index: &IndexDef,
    values: &[Datum],
    cx: &mut Cx<'_>,
) -> SqlError {
    let error = sql_error!(
        UNIQUE_VIOLATION,
        "duplicate key value violates unique constraint \"{}\"",
        index.name
    );
    // A key is told to who may read all of it.
    let readable = cx.host.readable(table);
    let is_told = readable.is_none_or(|readable| {
        index.key_columns().all(|column| column.is_some_and(|c| readable.contains(&c)))
    });
    match is_told {
        true => {
            error.with_detail(format!("Key {} already exists.", key_text(table, index, values, cx)))
        }
        false => error,
    }
    .with_table(&table.schema_name, &table.name)
    .with_constraint(&index.name)
}

/// `(a, b)=(1, x)`: an index's keys and their values.
pub(in crate::exec) fn key_text(
    table: &TableDef,
    index: &IndexDef,
    values: &[Datum],
    cx: &Cx<'_>,
) -> String {
    let shown: Vec<String> = values
        .iter()
        .zip(&index.keys)
        .map(|(value, key)| match value {
            Datum::Null => "null".to_owned(),
            value => super::display(value, key.ty.id, cx),
        })
        .collect();
    let names: Vec<String> = index.keys.iter().map(|k| k.source.name(table)).collect();
    format!("({})=({})", names.join(", "), shown.join(", "))
}

/// Whether any index would get another entry for the new row than for the old one.
pub(in crate::exec) fn any_key_changed(
    table: &TableDef,
    old: &[Datum],
    new: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<bool> {
    let changed = |c: u16| !same(&old[usize::from(c)], &new[usize::from(c)]);
    for index in table.indexes.iter().filter(|index| index.live) {
        if carries_other(index, old, new)? {
            return Ok(true);
        }
        if !index.has_expressions() {
            if index.key_columns().flatten().any(changed) {
                return Ok(true);
            }
            continue;
        }
        if !index.ready {
            // It may be building still, and fail: its expressions' errors are not the writer's yet. They may tell values
            // apart that are equal.
            let exprs = cx.host.index_exprs(index)?;
            let all = exprs.keys.iter().chain(&exprs.predicate);
            let changed = |c: u16| !is_same_image(&old[usize::from(c)], &new[usize::from(c)]);
            if all.flat_map(crate::exec::columns_of).any(changed) {
                return Ok(true);
            }
            continue;
        }
        let (before, after) = (key_datums(index, old, cx)?, key_datums(index, new, cx)?);
        let unchanged = match (&before, &after) {
            (None, None) => true,
            (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| same(a, b)),
            _ => false,
        };
        if !unchanged {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an entry of the new row would carry other bytes than one of the old row: values may be equal and yet
/// not the same, as 1.0 and 1.00 are.
fn carries_other(index: &IndexDef, old: &[Datum], new: &[Datum]) -> Result<bool> {
    if index.included.is_empty() {
        return Ok(false);
    }
    let (mut before, mut after) = (Vec::new(), Vec::new());
    carry(index, old, &mut before)?;
    carry(index, new, &mut after)?;
    Ok(before != after)
}

/// Whether a column of a unique index that a foreign key could refer to has changed: such an update
/// conflicts with KEY SHARE.
pub(in crate::exec) fn referenced_key_changed(
    table: &TableDef,
    old: &[Datum],
    new: &[Datum],
) -> bool {
    let unique = table.indexes.iter().filter(|i| i.unique);
    unique.filter(|i| !i.has_expressions()).flat_map(|i| i.key_columns()).flatten().any(|c| {
        let at = usize::from(c);
        !same(&old[at], &new[at])
    })
}

/// Are they stored alike? Values may be equal and yet not the same, as 1.0 and 1.00 are.
fn is_same_image(a: &Datum, b: &Datum) -> bool {
    let image = |value: &Datum| {
        let mut bytes = Vec::new();
        write_values(std::slice::from_ref(value), &mut bytes);
        bytes
    };
    image(a) == image(b)
}

pub(super) fn same(a: &Datum, b: &Datum) -> bool {
    match (a.is_null(), b.is_null()) {
        (true, true) => true,
        (false, false) => is_equal(a, b),
        _ => false,
    }
}
