//! `bt_index_check` and `bt_index_parent_check`, as the extension amcheck has them, and `hash_index_check`: one index
//! under the eyes of the same `check` that `thalweg check` calls; and what that calls.

use std::sync::Arc;

use storage::check::Report;
use storage::lock::LockMode;
use storage::txn::{Isolation, Txn};

use crate::catalog::store::{Cluster, Instance};
use crate::catalog::verify::{self, Evaluator};
use crate::catalog::{AccessMethod, IndexDef, TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Datum, Oid};

use super::analyze::background_backend;
use super::backend::Backend;
use super::{functions, names};

/// One of these functions. They are strict; behind the index comes whether the table's rows are to be looked for in
/// it. That every entry is found from the root (`rootdescend`) follows from what is verified anyway.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let method = match name {
        "bt_index_check" | "bt_index_parent_check" => AccessMethod::BTree,
        "hash_index_check" => AccessMethod::Hash,
        _ => return Ok(None),
    };
    names::must_be_allowed(b, name)?;
    let with_rows = args.get(1).is_some_and(Datum::as_bool);
    let (table, index) = checkable(b, args[0].as_oid(), method)?;
    let mut report = Report::default();
    verify(b, &table, &index, with_rows, &mut report)?;
    match report.faults.split_first() {
        None => Ok(Some(Datum::VOID)),
        Some((first, more)) => {
            let error = sql_error!(INDEX_CORRUPTED, "index \"{}\": {first}", index.name);
            Err(match more.len() {
                0 => error,
                more => error.with_detail(format!("There are {more} more faults.")),
            })
        }
    }
}

/// The index and its table, which nobody writes or cleans from here on to the end of the transaction.
fn checkable(
    b: &mut Backend,
    oid: Oid,
    method: AccessMethod,
) -> Result<(Arc<TableDef>, Arc<IndexDef>)> {
    let Some(relation) = names::table_by_oid(b, oid)? else {
        return Err(sql_error!(UNDEFINED_TABLE, "could not open relation with OID {oid}"));
    };
    if relation.kind != TableKind::Index {
        bail!(WRONG_OBJECT_TYPE, "\"{}\" is not an index", relation.name);
    }
    let gone = || sql_error!(UNDEFINED_TABLE, "could not open relation with OID {oid}");
    let (table, _) = functions::find_index(b, oid)?.ok_or_else(gone)?;
    for relation in [table.oid, oid] {
        b.catalog.lock(&b.txn, relation, LockMode::Share)?;
    }
    let (table, index) = functions::find_index(b, oid)?.ok_or_else(gone)?;
    if index.method != method {
        return Err(wrong_method(&index, method));
    }
    if !index.valid {
        return Err(sql_error!(FEATURE_NOT_SUPPORTED, "cannot check index \"{}\"", index.name)
            .with_detail("Index is not valid."));
    }
    Ok((table, index))
}

fn wrong_method(index: &IndexDef, method: AccessMethod) -> SqlError {
    let kind = match method {
        AccessMethod::BTree => "B-Tree",
        AccessMethod::Hash => "hash",
    };
    sql_error!(
        FEATURE_NOT_SUPPORTED,
        "only {kind} indexes are supported as targets for verification"
    )
    .with_detail(format!("Relation \"{}\" is not a {kind} index.", index.name))
}

fn verify(
    b: &mut Backend,
    table: &TableDef,
    index: &IndexDef,
    with_rows: bool,
    report: &mut Report,
) -> Result<()> {
    let instance = b.instance.clone();
    let store = &instance.store;
    if !with_rows {
        return verify::verify_alone(store.tree(index)?, report);
    }
    verify::verify(store, table, &[index], Some(&Evaluator::new(b)), report)
}

/// Who verifies the tables of a database that nobody else uses: what stands for a session works out what indexes
/// should have of their rows.
pub struct Verifier(Backend);

impl Verifier {
    /// # Errors
    /// A page that can't be read.
    pub fn open(cluster: &Arc<Cluster>, instance: &Arc<Instance>) -> Result<Verifier> {
        let txn = Txn::attach(cluster.engine().txns(), 0, instance.database.0)?;
        txn.begin(Isolation::RepeatableRead);
        Ok(Verifier(background_backend(cluster, instance, txn)?))
    }

    /// Verifies a table and all of its indexes; those that are not kept up by themselves.
    ///
    /// # Errors
    /// A page that can't be read.
    pub fn table(&mut self, table: &TableDef, report: &mut Report) -> Result<()> {
        let instance = self.0.instance.clone();
        let indexes: Vec<&IndexDef> = table.indexes.iter().map(|index| &**index).collect();
        verify::verify(&instance.store, table, &indexes, Some(&Evaluator::new(&mut self.0)), report)
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        self.0.txn.abort();
    }
}
