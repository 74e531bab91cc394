//! Sequences, as the session's functions use them.

use storage::lock::LockMode;
use storage::sequence::{Params, SequenceRel, State};

use crate::catalog::ddl::sequence::params_of;
use crate::catalog::store::row::CatalogRow;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::{Function, ROW_OF_SEQUENCE};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::backend::Backend;
use super::functions;
use super::xacts::record;

use std::sync::Arc;

/// A sequence at hand.
struct Open {
    table: Arc<TableDef>,
    rel: SequenceRel,
    params: Params,
    /// That of `pg_sequence`.
    row: CatalogRow,
}

fn open(backend: &Backend, oid: Oid) -> Result<Open> {
    backend.catalog.lock(&backend.txn, oid, LockMode::RowExclusive)?;
    let table = backend.catalog.table(&backend.txn, oid)?;
    let table = match table {
        Some(table) if table.kind == TableKind::Sequence => table,
        Some(table) => {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a sequence", table.name)
        }
        None => bail!(UNDEFINED_TABLE, "could not open relation with OID {oid}"),
    };
    let store = &backend.instance.store;
    let key = [Datum::Oid(oid)];
    let row = store.find_one(&backend.txn, "pg_sequence", "pg_sequence_seqrelid_index", &key)?;
    let Some(row) = row else { return Err(SqlError::internal("a sequence without its row")) };
    let params = params_of(&row.row);
    let rel = store.sequence(table.storage);
    rel.begin_if_emptied(row.row.get("seqstart").as_int8())?;
    Ok(Open { table, rel, params, row: row.row })
}

/// Either lets one see a sequence's value.
const READS: Privileges = Privileges::SELECT.or(Privileges::USAGE);

fn may_write(backend: &Backend, sequence: &Open, what: &str) -> Result<()> {
    match sequence.table.persistence {
        base::Persistence::Temporary => Ok(()),
        _ => backend.must_not_be_read_only(what),
    }
}

/// `nextval`.
pub fn next(backend: &mut Backend, oid: Oid) -> Result<i64> {
    let sequence = open(backend, oid)?;
    backend.must_have_any(&sequence.table, Privileges::USAGE.or(Privileges::UPDATE))?;
    draw(backend, &sequence)
}

/// The next value for a column that it belongs to, whoever fills that.
pub fn next_of_column(backend: &mut Backend, oid: Oid) -> Result<i64> {
    let sequence = open(backend, oid)?;
    draw(backend, &sequence)
}

fn draw(backend: &mut Backend, sequence: &Open) -> Result<i64> {
    let oid = sequence.table.oid;
    may_write(backend, sequence, "nextval()")?;
    let value = sequence.rel.next(&backend.txn, &sequence.params).map_err(|error| match error {
        storage::Error::SequenceExhausted { ascending, bound } => sql_error!(
            SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
            "nextval: reached {} value of sequence \"{}\" ({bound})",
            if ascending { "maximum" } else { "minimum" },
            sequence.table.name
        ),
        other => other.into(),
    })?;
    backend.currvals.insert(oid, value);
    backend.last_sequence = Some(oid);
    Ok(value)
}

/// `currval`.
pub fn current(backend: &mut Backend, oid: Oid) -> Result<i64> {
    let sequence = open(backend, oid)?;
    backend.must_have_any(&sequence.table, READS)?;
    backend.currvals.get(&oid).copied().ok_or_else(|| {
        sql_error!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "currval of sequence \"{}\" is not yet defined in this session",
            sequence.table.name
        )
    })
}

/// `lastval`.
pub fn last(backend: &mut Backend) -> Result<i64> {
    let none = || {
        sql_error!(OBJECT_NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session")
    };
    let oid = backend.last_sequence.ok_or_else(none)?;
    let value = backend.currvals.get(&oid).copied().ok_or_else(none)?;
    let sequence = open(backend, oid)?;
    backend.must_have_any(&sequence.table, READS)?;
    Ok(value)
}

/// `setval`.
pub fn set(backend: &mut Backend, oid: Oid, value: i64, called: bool) -> Result<i64> {
    let sequence = open(backend, oid)?;
    backend.must_have_any(&sequence.table, Privileges::UPDATE)?;
    may_write(backend, &sequence, "setval()")?;
    let Params { min, max, .. } = sequence.params;
    if value < min || value > max {
        bail!(
            NUMERIC_VALUE_OUT_OF_RANGE,
            "setval: value {value} is out of bounds for sequence \"{}\" ({min}..{max})",
            sequence.table.name
        );
    }
    sequence.rel.set(&backend.txn, State { last: value, is_called: called })?;
    if called {
        backend.currvals.insert(oid, value);
    }
    Ok(value)
}

/// `pg_sequence_last_value`: none before the first `nextval`.
pub fn last_value(backend: &Backend, oid: Oid) -> Result<Option<i64>> {
    let sequence = open(backend, oid)?;
    backend.must_have_any(&sequence.table, READS)?;
    let state = sequence.rel.read(&backend.txn)?;
    Ok(state.is_called.then_some(state.last))
}

/// Functions of sequences that answer one value.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let oid = |i: usize| args[i].as_oid();
    Ok(Some(match name {
        "nextval" => next(b, oid(0))?.into(),
        "currval" => current(b, oid(0))?.into(),
        "lastval" => last(b)?.into(),
        "setval" => {
            let called = args.get(2).is_none_or(Datum::as_bool);
            set(b, oid(0), args[1].as_int8(), called)?.into()
        }
        "pg_sequence_last_value" => last_value(b, oid(0))?.into(),
        "pg_get_serial_sequence" => {
            functions::serial_sequence(b, args[0].as_text(), args[1].as_text())?
        }
        _ => return Ok(None),
    }))
}

/// Functions that tell several things of a sequence at once.
pub(super) fn call_record(
    b: &mut Backend,
    func: &Function,
    args: &[Datum],
) -> Result<Option<Datum>> {
    let by_name = func.source == ROW_OF_SEQUENCE;
    if !matches!(func.name, "pg_get_sequence_data" | "pg_sequence_parameters") {
        return Ok(None);
    }
    let oid = args[0].as_oid();
    let sequence = open(b, oid)?;
    if func.name != "pg_sequence_parameters" {
        if !by_name {
            b.must_have_any(&sequence.table, Privileges::SELECT)?;
        }
        // Also before the first `nextval`: the value that it will give then.
        let state = sequence.rel.read(&b.txn)?;
        return Ok(Some(record(func, vec![state.last.into(), state.is_called.into()])));
    }
    b.must_have_any(&sequence.table, READS.or(Privileges::UPDATE))?;
    let row = sequence.row;
    let names =
        ["seqstart", "seqmin", "seqmax", "seqincrement", "seqcycle", "seqcache", "seqtypid"];
    Ok(Some(record(func, names.map(|name| row.get(name).clone()).to_vec())))
}
