//! `ADD CONSTRAINT … USING INDEX`: an index that is there becomes the key.

use std::sync::Arc;

use syntax::ast::Constraint;

use crate::catalog::{AccessMethod, IndexDef, KeySource, TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::Datum;

use super::Ddl;
use super::index::default_class;

impl Ddl<'_> {
    /// PRIMARY KEY or UNIQUE over the index of that name.
    pub(super) fn adopt_index(
        &mut self,
        table: &Arc<TableDef>,
        constraint: &Constraint,
        name: &str,
        primary: bool,
    ) -> Result<()> {
        let index = self.index_to_adopt(table, name, constraint.deferrable);
        let index = index.map_err(|error| crate::bind::at(error, constraint.loc))?;
        if primary && table.indexes.iter().any(|i| i.primary) {
            return Err(several_primary_keys(table));
        }
        let key = constraint.name.as_deref().unwrap_or(name);
        if key != name {
            let text = format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{name}\" to \"{key}\""
            );
            self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
            self.name_is_taken(table.schema, key, false)?;
            self.update_class(index.oid, &[("relname", Datum::text(key))])?;
        }
        let columns: Vec<u16> = index.key_columns().flatten().collect();
        if primary {
            self.columns_not_null(table, columns.iter().copied())?;
        }
        let immediate = !constraint.deferrable;
        let row = self.key_row(table, key, primary, &columns)?;
        let row = row
            .oid("conindid", index.oid)
            .set("condeferrable", !immediate)
            .set("condeferred", constraint.initially_deferred);
        self.store().insert(self.txn(), "pg_constraint", &row.build())?;
        let changes =
            [("indisprimary", Datum::Bool(primary)), ("indimmediate", Datum::Bool(immediate))];
        self.update_index(index.oid, &changes)?;
        self.changed(index.oid)?;
        self.changed(table.oid)
    }

    /// An index of the table's that can stand behind a key.
    fn index_to_adopt<'t>(
        &self,
        table: &'t TableDef,
        name: &str,
        deferrable: bool,
    ) -> Result<&'t IndexDef> {
        let Some(index) = table.indexes.iter().find(|index| *index.name == *name) else {
            return Err(self.no_index_of(table, name)?);
        };
        if index.constraint.is_some() {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "index \"{name}\" is already associated with a constraint"
            );
        }
        if !index.valid {
            bail!(OBJECT_NOT_IN_PREREQUISITE_STATE, "index \"{name}\" is not valid");
        }
        let unfit = if !index.unique {
            Some(format!("\"{name}\" is not a unique index"))
        } else if index.has_expressions() {
            Some(format!("index \"{name}\" contains expressions"))
        } else if index.predicate.is_some() {
            Some(format!("\"{name}\" is a partial index"))
        } else {
            out_of_order(table, index)?.map(|at| {
                format!(
                    "index \"{name}\" column number {at} does not have default sorting behavior"
                )
            })
        };
        if let Some(text) = unfit {
            return Err(sql_error!(WRONG_OBJECT_TYPE, "{text}").with_detail(
                "Cannot create a primary key or unique constraint using such an index.",
            ));
        }
        if !index.immediate && !deferrable {
            return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{name}\" is a deferrable index")
                .with_detail(
                    "Cannot create a non-deferrable constraint using a deferrable index.",
                ));
        }
        Ok(index)
    }

    /// Why the table has no index of that name.
    fn no_index_of(&self, table: &TableDef, name: &str) -> Result<SqlError> {
        let Some(oid) = self.catalog.relation_oid(self.host.txn(), table.schema, name)? else {
            return Ok(sql_error!(UNDEFINED_OBJECT, "index \"{name}\" does not exist"));
        };
        Ok(match self.table(oid)?.kind {
            TableKind::Index => sql_error!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "index \"{name}\" does not belong to table \"{}\"",
                table.name
            ),
            _ => sql_error!(WRONG_OBJECT_TYPE, "\"{name}\" is not an index"),
        })
    }
}

/// `42P16` for a second one.
pub(super) fn several_primary_keys(table: &TableDef) -> SqlError {
    sql_error!(
        INVALID_TABLE_DEFINITION,
        "multiple primary keys for table \"{}\" are not allowed",
        table.name
    )
}

/// The first key, from 1, that is not compared as its column is by default.
fn out_of_order(table: &TableDef, index: &IndexDef) -> Result<Option<usize>> {
    for (at, key) in index.keys.iter().enumerate() {
        let KeySource::Column(column) = key.source else { continue };
        let own = table.columns[usize::from(column)].collation;
        let plain = !key.desc
            && !key.nulls_first
            && key.collation.oid == own.oid
            && key.class == default_class(key.ty, AccessMethod::BTree)?;
        if !plain {
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
}
