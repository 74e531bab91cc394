//! REINDEX of tables that nobody else uses meanwhile.

use std::sync::Arc;

use base::rank::Rank;
use storage::lock::LockMode;
use syntax::ast::{DefOption, OptionValue, Reindex, ReindexTarget, RelationRef};

use crate::catalog::store::building::Command;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::options::boolean;
use crate::types::{Datum, Oid};

use super::concurrent::Beside;
use super::index::IndexState;
use super::{Ddl, DdlHost};

/// What a REINDEX was told.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReindexOptions {
    pub concurrently: bool,
    pub verbose: bool,
}

impl ReindexOptions {
    pub fn of(options: &[DefOption]) -> Result<ReindexOptions> {
        let mut wanted = ReindexOptions::default();
        let mut tablespace = None;
        for option in options {
            match &*option.name {
                "concurrently" => wanted.concurrently = boolean(option)?,
                "verbose" => wanted.verbose = boolean(option)?,
                "tablespace" => tablespace = option.value.as_ref(),
                other => {
                    let error = sql_error!(SYNTAX_ERROR, "unrecognized REINDEX option \"{other}\"");
                    return Err(crate::bind::at(error, option.loc));
                }
            }
        }
        match tablespace {
            None => Ok(wanted),
            Some(OptionValue::String(name)) if &**name == "pg_default" => Ok(wanted),
            Some(OptionValue::String(name)) => {
                Err(sql_error!(UNDEFINED_OBJECT, "tablespace \"{name}\" does not exist"))
            }
            Some(_) => Err(sql_error!(SYNTAX_ERROR, "tablespace requires a parameter")),
        }
    }
}

/// The index that REINDEX INDEX names, its table locked.
pub fn named_index(
    host: &mut dyn DdlHost,
    name: &RelationRef,
    mode: LockMode,
) -> Result<(Arc<TableDef>, Oid)> {
    Ddl::new(host).named_index(name, mode)
}

/// The table that REINDEX TABLE names, locked.
pub fn named_table(
    host: &mut dyn DdlHost,
    name: &RelationRef,
    mode: LockMode,
) -> Result<Arc<TableDef>> {
    Ddl::new(host).named_table(name, mode)
}

/// Rebuilds all indexes of a table, which is locked; whether there are any.
pub fn rebuild_all(host: &mut dyn DdlHost, table: &TableDef, verbose: bool) -> Result<bool> {
    Ddl::new(host).rebuild_all(table, verbose)
}

impl Ddl<'_> {
    /// REINDEX INDEX and TABLE.
    pub(super) fn reindex(&mut self, reindex: &Reindex) -> Result<()> {
        let options = ReindexOptions::of(&reindex.options)?;
        let _working = self.host.begin_building(Command::Reindex);
        match &reindex.target {
            // Readers lock the table, not its indexes, and must not lose the old one's storage.
            ReindexTarget::Table(name) => {
                let table = self.named_table(name, LockMode::AccessExclusive)?;
                self.must_be_user_table(&table)?;
                if !self.rebuild_all(&table, options.verbose)? {
                    let text = format!("table \"{}\" has no indexes to reindex", table.name);
                    let told = SqlError::new(SqlState::SUCCESSFUL_COMPLETION, text);
                    self.host.notice("NOTICE", told);
                }
                Ok(())
            }
            ReindexTarget::Index(name) => {
                let (table, index) = self.named_index(name, LockMode::AccessExclusive)?;
                self.must_be_user_table(&table)?;
                self.rebuild_told(&table, index, options.verbose)
            }
            _ => Err(SqlError::internal("the session takes many tables one by one")),
        }
    }

    fn named_table(&mut self, name: &RelationRef, mode: LockMode) -> Result<Arc<TableDef>> {
        let table = self.open(name, mode)?;
        self.must_own(&table)?;
        if !table.kind.is_heap() {
            return Err(sql_error!(
                WRONG_OBJECT_TYPE,
                "\"{}\" is not a table or materialized view",
                table.name
            ));
        }
        Ok(table)
    }

    fn named_index(&mut self, name: &RelationRef, mode: LockMode) -> Result<(Arc<TableDef>, Oid)> {
        match self.lock_index_by_name(name, mode)? {
            Some((Some(table), index)) => {
                self.must_own(&index)?;
                Ok((table, index.oid))
            }
            Some((None, other)) => {
                Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not an index", other.name))
            }
            None => Err(self.no_relation(name)),
        }
    }

    /// Finds an index by name and locks its table, then the index itself: in that order, since whoever makes
    /// indexes beside others holds the table, and exchanges what names stand for. Without a table: what has the name
    /// is no index, and not locked.
    #[allow(clippy::type_complexity, reason = "the table and its index, if it is one")]
    pub(super) fn lock_index_by_name(
        &mut self,
        name: &RelationRef,
        mode: LockMode,
    ) -> Result<Option<(Option<Arc<TableDef>>, Arc<TableDef>)>> {
        loop {
            self.refuse_other_database(name)?;
            let path = self.host.search_path()?;
            let (txn, schema) = (self.host.txn(), name.schema.as_deref());
            let resolve = || self.catalog.resolve(txn, &path, schema, &name.name);
            let Some(oid) = txn.briefly(resolve)? else { return Ok(None) };
            let Some(index) = txn.briefly(|| self.catalog.table(txn, oid))? else { continue };
            if index.kind != TableKind::Index {
                return Ok(Some((None, index)));
            }
            let Some(table) = txn.briefly(|| self.find_table_of_index(oid))? else { continue };
            self.catalog.lock(txn, table, mode)?;
            self.catalog.lock(txn, oid, mode)?;
            let still = txn.briefly(resolve)? == Some(oid);
            let table = txn.briefly(|| self.catalog.table(txn, table))?;
            let index = txn.briefly(|| self.catalog.table(txn, oid))?;
            if let (true, Some(table), Some(index)) = (still, table, index) {
                return Ok(Some((Some(table), index)));
            }
        }
    }

    fn find_table_of_index(&self, index: Oid) -> Result<Option<Oid>> {
        let key = [Datum::Oid(index)];
        let row =
            self.store().find_one(self.txn(), "pg_index", "pg_index_indexrelid_index", &key)?;
        Ok(row.map(|f| f.row.oid("indrelid")))
    }

    /// The table that an index is of.
    pub(super) fn table_of_index(&self, index: Oid) -> Result<Oid> {
        self.find_table_of_index(index)?
            .ok_or_else(|| sql_error!(INTERNAL_ERROR, "index {index} is gone"))
    }

    fn rebuild_all(&mut self, table: &TableDef, verbose: bool) -> Result<bool> {
        let mut live = table.indexes.iter().filter(|index| index.live).peekable();
        let are_there = live.peek().is_some();
        for index in live {
            self.rebuild_told(table, index.oid, verbose)?;
        }
        Ok(are_there)
    }

    fn rebuild_told(&mut self, table: &TableDef, index: Oid, verbose: bool) -> Result<()> {
        let begun = base::clock::now();
        self.rebuild(table, index)?;
        if verbose && let Some(index) = table.index(index) {
            let text = format!("index \"{}\" was reindexed", index.name);
            let elapsed = base::clock::now().since(begun).as_secs_f64();
            let told = SqlError::new(SqlState::SUCCESSFUL_COMPLETION, text);
            self.host.notice("INFO", told.with_detail(format!("elapsed: {elapsed:.2} s")));
        }
        Ok(())
    }

    /// Gives an index new storage and fills it. One that was left half made is whole then.
    pub(super) fn rebuild(&mut self, table: &TableDef, index: Oid) -> Result<()> {
        self.catalog.lock(self.host.txn(), index, LockMode::AccessExclusive)?;
        let old = table.index(index);
        self.renew_index_storage(table, index)?;
        if old.is_some_and(|old| !old.live) {
            return Ok(());
        }
        self.set_index_state(table, index, IndexState::VALID)?;
        self.build_index(table.oid, index)
    }

    /// Gives an index new, empty storage.
    pub(super) fn renew_index_storage(&mut self, table: &TableDef, index: Oid) -> Result<()> {
        let old = table.index(index).map(|i| i.storage);
        let storage =
            self.store().create_storage(self.txn(), table.persistence, Rank::IndexPage)?;
        self.update_class(index, &[("relfilenode", Datum::Oid(Oid(storage.0)))])?;
        if let Some(old) = old {
            self.store().drop_storage(self.txn(), old)?;
        }
        self.changed(table.oid)
    }
}

/// The indexes of a table that REINDEX CONCURRENTLY can rebuild; those that it can't are told of.
pub fn rebuildable(host: &mut dyn DdlHost, table: &TableDef) -> Vec<Beside> {
    let mut fit = Vec::new();
    for index in &table.indexes {
        if index.valid {
            fit.push(Beside { table: table.oid, index: index.oid });
            continue;
        }
        if !index.live {
            continue;
        }
        let text = format!(
            "cannot reindex invalid index \"{}.{}\" concurrently, skipping",
            table.schema_name, index.name
        );
        host.notice("WARNING", SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, text));
    }
    fit
}
