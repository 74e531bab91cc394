//! TRUNCATE: new, empty storage in place of the old.

use std::sync::Arc;

use base::rank::Rank;
use storage::lock::LockMode;
use syntax::ast::Truncate;

use crate::catalog::rights::Class;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::Ddl;
use super::index::IndexState;

impl Ddl<'_> {
    pub(super) fn truncate(&mut self, truncate: &Truncate) -> Result<()> {
        let mut tables: Vec<Arc<TableDef>> = Vec::new();
        for name in &truncate.relations {
            let table = self.open(name, LockMode::AccessExclusive)?;
            self.must_have_of(&table, Privileges::TRUNCATE, &[])?;
            self.must_be_user_table(&table)?;
            if table.kind != TableKind::Table {
                return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not a table", table.name));
            }
            if tables.iter().any(|named| named.oid == table.oid) {
                continue;
            }
            self.must_not_be_in_use(&table, "TRUNCATE")?;
            tables.push(table);
        }
        self.with_referring(&mut tables, truncate.cascade)?;
        for table in tables {
            self.empty(&table)?;
            if truncate.restart_identity {
                for sequence in self.owned_sequences(table.oid, None)? {
                    self.must_own_object(Class::Sequence, sequence)?;
                    self.restart_sequence(sequence)?;
                }
            }
            self.changed(table.oid)?;
        }
        Ok(())
    }

    /// Who refers to a table by a foreign key must be truncated with it.
    fn with_referring(&mut self, tables: &mut Vec<Arc<TableDef>>, cascade: bool) -> Result<()> {
        let mut at = 0;
        while let Some(table) = tables.get(at).cloned() {
            at += 1;
            for key in &table.foreign.referring {
                if tables.iter().any(|table| table.oid == key.table) {
                    continue;
                }
                let referring = self.table(key.table)?;
                if !cascade {
                    return Err(is_referenced(&table, &referring));
                }
                let text = format!("truncate cascades to table \"{}\"", referring.name);
                self.host.notice("NOTICE", SqlError::new(SqlState::SUCCESSFUL_COMPLETION, text));
                self.catalog.lock(self.host.txn(), referring.oid, LockMode::AccessExclusive)?;
                let referring = self.table(referring.oid)?;
                self.must_have_of(&referring, Privileges::TRUNCATE, &[])?;
                self.must_not_be_in_use(&referring, "TRUNCATE")?;
                tables.push(referring);
            }
        }
        Ok(())
    }

    /// New, empty storage for a table and all that is its own.
    pub(super) fn empty(&mut self, table: &TableDef) -> Result<()> {
        self.new_storage(table.oid, table.storage, table.persistence, Rank::HeapPage)?;
        self.toast_anew(table)?;
        for index in &table.indexes {
            self.new_storage(index.oid, index.storage, table.persistence, Rank::IndexPage)?;
            // Nothing is missing from it any more. What was to be unique stays as it is in PostgreSQL.
            if index.live && !index.unique {
                self.set_index_state(table, index.oid, IndexState::VALID)?;
            }
        }
        Ok(())
    }

    pub(super) fn new_storage(
        &mut self,
        oid: Oid,
        old: base::RelId,
        persistence: base::Persistence,
        rank: Rank,
    ) -> Result<()> {
        // Of an index, which others may change though its table is locked, or of large values, whose heap background vacuum
        // locks by itself.
        self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
        let storage = self.store().create_storage(self.txn(), persistence, rank)?;
        let changes = [
            ("relfilenode", Datum::Oid(Oid(storage.0))),
            ("relpages", Datum::Int4(0)),
            ("reltuples", Datum::Float4(-1.0)),
            ("relallvisible", Datum::Int4(0)),
        ];
        self.update_class(oid, &changes)?;
        self.store().drop_storage(self.txn(), old)
    }
}

fn is_referenced(table: &TableDef, referring: &TableDef) -> SqlError {
    sql_error!(
        FEATURE_NOT_SUPPORTED,
        "cannot truncate a table referenced in a foreign key constraint"
    )
    .with_detail(format!("Table \"{}\" references \"{}\".", referring.name, table.name))
    .with_hint(format!(
        "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
        referring.name
    ))
}
