//! CREATE INDEX, DROP INDEX and REINDEX that go on beside readers and writers: several transactions, with waiting in
//! between ([`crate::catalog::ddl::concurrent`] has the steps).
//!
//! A lock of the session keeps the table's shape from changing meanwhile, and other such statements away. While
//! others are waited for no snapshot is in force, so that two of these statements never wait for each other.

use storage::lock::{LockMode, LockScope, LockTag, SessionId, WaitPolicy};
use storage::txn::Txn;
use syntax::ast::{CreateIndex, DropObjects, Reindex, ReindexTarget, Statement};

use crate::catalog::TableDef;
use crate::catalog::ddl::DdlHost as _;
use crate::catalog::ddl::concurrent::{self, Beside};
use crate::catalog::ddl::reindex::{self, ReindexOptions};
use crate::catalog::rights::{Class, DATABASE_OWNER, not_owner};
use crate::catalog::store::building::{Building, Command, Phase};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::types::Oid;

use super::Session;
use super::transaction::Block;

/// What the session holds between the transactions.
const MODE: LockMode = LockMode::ShareUpdateExclusive;

impl Session {
    pub(super) fn create_index_concurrently(
        &mut self,
        create: &CreateIndex,
        statement: &Statement,
    ) -> Result<String> {
        self.refuse_block("CREATE INDEX CONCURRENTLY")?;
        self.refuse_if_cannot_write(statement)?;
        let _working = self.backend.begin_building(Command::CreateConcurrently);
        if let Some(beside) = concurrent::enter(&mut self.backend, create)? {
            self.hold_table(beside.table)?;
            self.next_transaction()?;
            self.make_beside(&[beside])?;
            concurrent::make_valid(&mut self.backend, beside)?;
            self.next_transaction()?;
            self.release_table(beside.table);
        }
        Ok("CREATE INDEX".to_owned())
    }

    pub(super) fn drop_index_concurrently(
        &mut self,
        drop: &DropObjects,
        statement: &Statement,
    ) -> Result<String> {
        self.refuse_block("DROP INDEX CONCURRENTLY")?;
        self.refuse_if_cannot_write(statement)?;
        if drop.names.len() != 1 {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "DROP INDEX CONCURRENTLY does not support dropping multiple objects"
            );
        }
        if drop.cascade {
            bail!(FEATURE_NOT_SUPPORTED, "DROP INDEX CONCURRENTLY does not support CASCADE");
        }
        if let Some(beside) = concurrent::begin_drop(&mut self.backend, drop)? {
            self.hold_table(beside.table)?;
            self.next_transaction()?;
            self.drop_beside(&[beside])?;
            self.release_table(beside.table);
        }
        Ok("DROP INDEX".to_owned())
    }

    pub(super) fn reindex(&mut self, reindex: &Reindex, statement: &Statement) -> Result<String> {
        let options = ReindexOptions::of(&reindex.options)?;
        if options.concurrently {
            self.refuse_block("REINDEX CONCURRENTLY")?;
        }
        let what = match &reindex.target {
            ReindexTarget::Index(_) | ReindexTarget::Table(_) if !options.concurrently => {
                return self.define(statement);
            }
            ReindexTarget::Index(_) | ReindexTarget::Table(_) => "",
            ReindexTarget::Schema(_) => "REINDEX SCHEMA",
            ReindexTarget::System(_) => "REINDEX SYSTEM",
            ReindexTarget::Database(_) => "REINDEX DATABASE",
        };
        self.refuse_if_cannot_write(statement)?;
        match &reindex.target {
            ReindexTarget::Index(name) => {
                let (table, index) = reindex::named_index(&mut self.backend, name, MODE)?;
                refuse_catalog(&table)?;
                if table.persistence == base::Persistence::Temporary {
                    return self.define(statement);
                }
                let beside = Beside { table: table.oid, index };
                self.reindex_beside(&table, vec![beside], false, options)?;
            }
            ReindexTarget::Table(name) => {
                let table = reindex::named_table(&mut self.backend, name, MODE)?;
                refuse_catalog(&table)?;
                if table.persistence == base::Persistence::Temporary {
                    return self.define(statement);
                }
                let fit = reindex::rebuildable(&mut self.backend, &table);
                if fit.is_empty() {
                    let text = format!(
                        "table \"{}\" has no indexes that can be reindexed concurrently",
                        table.name
                    );
                    let told = SqlError::new(SqlState::SUCCESSFUL_COMPLETION, text);
                    self.backend.notice("NOTICE", told);
                } else {
                    self.reindex_beside(&table, fit, true, options)?;
                }
            }
            many => {
                self.refuse_block(what)?;
                self.reindex_many(many, options)?;
            }
        }
        Ok("REINDEX".to_owned())
    }

    /// REINDEX of the tables of a schema, or all: each is a matter of its own.
    fn reindex_many(&mut self, target: &ReindexTarget, options: ReindexOptions) -> Result<()> {
        let schema = match target {
            ReindexTarget::Schema(name) => {
                let found = self.backend.catalog.schema(&self.backend.txn, name)?;
                let missing = || sql_error!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist");
                let schema = found.ok_or_else(missing)?;
                let backend = &self.backend;
                if let Some(guard) = backend.catalog.guard(&backend.txn, Class::Schema, schema)? {
                    backend.catalog.must_own(&backend.txn, guard.owner, Class::Schema, name)?;
                }
                Some(schema)
            }
            ReindexTarget::Database(Some(name)) | ReindexTarget::System(Some(name))
                if **name != *self.backend.database =>
            {
                bail!(FEATURE_NOT_SUPPORTED, "can only reindex the currently open database");
            }
            ReindexTarget::System(_) if options.concurrently => return Err(no_catalogs()),
            ReindexTarget::System(_) => {
                bail!(FEATURE_NOT_SUPPORTED, "REINDEX of system catalogs is not supported");
            }
            _ => None,
        };
        if schema.is_none() && !self.backend.has_rights_of(DATABASE_OWNER)? {
            return Err(not_owner(Class::Database, &self.backend.database));
        }
        let is_catalogs = schema == Some(crate::catalog::store::PG_CATALOG);
        if options.concurrently && (is_catalogs || schema.is_none()) {
            let text = "cannot reindex system catalogs concurrently, skipping all";
            let told = SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, text);
            self.backend.notice("WARNING", told);
        }
        let temporary = self.backend.catalog.temporary();
        let store = &self.backend.instance.store;
        let classes = store.scan(&self.backend.txn, "pg_class", |row| {
            let namespace = row.oid("relnamespace");
            matches!(row.letter("relkind"), b'r' | b'm')
                && row.oid("oid") >= crate::catalog::FIRST_USER_OID
                && schema.is_none_or(|schema| namespace == schema)
                && (row.letter("relpersistence") != b't' || Some(namespace) == temporary)
        })?;
        let mut tables: Vec<Oid> = classes.iter().map(|found| found.row.oid("oid")).collect();
        tables.sort();
        for oid in tables {
            self.next_transaction()?;
            self.reindex_one_of_many(oid, options)?;
        }
        Ok(())
    }

    fn reindex_one_of_many(&mut self, oid: Oid, options: ReindexOptions) -> Result<()> {
        let backend = &mut self.backend;
        let known = backend.txn.briefly(|| backend.catalog.table(&backend.txn, oid))?;
        let is_temporary = known.is_some_and(|t| t.persistence == base::Persistence::Temporary);
        let beside = options.concurrently && !is_temporary;
        let mode = if beside { MODE } else { LockMode::AccessExclusive };
        backend.catalog.lock(&backend.txn, oid, mode)?;
        // It may have been dropped meanwhile.
        let table = backend.txn.briefly(|| backend.catalog.table(&backend.txn, oid))?;
        let Some(table) = table.filter(|table| table.kind.is_heap()) else {
            return Ok(());
        };
        if beside {
            let fit = reindex::rebuildable(backend, &table);
            if !fit.is_empty() {
                self.reindex_beside(&table, fit, true, options)?;
            }
            return Ok(());
        }
        let _working = self.backend.begin_building(Command::Reindex);
        let done = reindex::rebuild_all(&mut self.backend, &table, options.verbose)?;
        if done && options.verbose {
            self.inform(format!("table \"{}\" was reindexed", table.qualified()));
        }
        Ok(())
    }

    /// REINDEX CONCURRENTLY of indexes of one table, which the transaction has locked.
    fn reindex_beside(
        &mut self,
        table: &TableDef,
        old: Vec<Beside>,
        whole_table: bool,
        options: ReindexOptions,
    ) -> Result<()> {
        let begun = base::clock::now();
        let _working = self.backend.begin_building(Command::ReindexConcurrently);
        self.hold_table(table.oid)?;
        let mut new = Vec::with_capacity(old.len());
        for index in &old {
            new.push(concurrent::enter_copy(&mut self.backend, *index)?);
        }
        self.next_transaction()?;
        self.make_beside(&new)?;
        for (old, new) in old.iter().zip(&new) {
            concurrent::swap(&mut self.backend, *old, *new)?;
            self.next_transaction()?;
        }
        self.drop_beside(&old)?;
        self.release_table(table.oid);
        if options.verbose {
            let elapsed = base::clock::now().since(begun).as_secs_f64();
            self.inform_of_rebuilt(table, &old, whole_table, elapsed);
        }
        Ok(())
    }

    /// What VERBOSE asked for.
    fn inform_of_rebuilt(
        &mut self,
        table: &TableDef,
        indexes: &[Beside],
        whole_table: bool,
        elapsed: f64,
    ) {
        let names = indexes.iter().filter_map(|index| table.index(index.index)).map(|i| &i.name);
        let mut lines: Vec<String> = names
            .map(|name| format!("index \"{}.{name}\" was reindexed", table.schema_name))
            .collect();
        if whole_table {
            lines.push(format!("table \"{}\" was reindexed", table.qualified()));
        }
        let last = lines.pop().unwrap_or_default();
        lines.into_iter().for_each(|line| self.inform(line));
        let told = SqlError::new(SqlState::SUCCESSFUL_COMPLETION, last);
        self.backend.notice("INFO", told.with_detail(format!("elapsed: {elapsed:.2} s.")));
    }

    /// Fills indexes of one table that have been entered; what is left is to say so.
    fn make_beside(&mut self, indexes: &[Beside]) -> Result<()> {
        let Some(first) = indexes.first() else { return Ok(()) };
        self.wait_for_users(first.table, LockMode::Share, Phase::WritersBeforeBuild)?;
        for beside in indexes {
            concurrent::build(&mut self.backend, *beside)?;
            self.next_transaction()?;
        }
        self.wait_for_users(first.table, LockMode::Share, Phase::WritersBeforeValidation)?;
        for beside in indexes {
            let seen = concurrent::validate(&mut self.backend, *beside)?;
            self.next_transaction()?;
            self.tell_phase(Phase::OldSnapshots);
            let backend = &self.backend;
            let (txn, building) = (&backend.txn, backend.building.as_deref());
            txn.wait_for_snapshots(seen, &mut |total, left| note(building, txn, total, left))?;
        }
        Ok(())
    }

    /// Drops indexes of one table that no query uses any more once those that run now are over.
    fn drop_beside(&mut self, indexes: &[Beside]) -> Result<()> {
        let Some(first) = indexes.first() else { return Ok(()) };
        self.wait_for_users(first.table, LockMode::AccessExclusive, Phase::ReadersBeforeDead)?;
        for beside in indexes {
            concurrent::make_dead(&mut self.backend, *beside)?;
            self.next_transaction()?;
        }
        self.wait_for_users(first.table, LockMode::AccessExclusive, Phase::ReadersBeforeDrop)?;
        for beside in indexes {
            concurrent::remove(&mut self.backend, *beside)?;
        }
        self.next_transaction()
    }

    /// Waits for all that have the table locked so that it conflicts with `mode`, by whatever definition.
    fn wait_for_users(&mut self, table: Oid, mode: LockMode, phase: Phase) -> Result<()> {
        self.tell_phase(phase);
        let backend = &self.backend;
        let (txn, building) = (&backend.txn, backend.building.as_deref());
        let tag = LockTag::Relation { db: backend.catalog.database.0, rel: table.0 };
        txn.wait_for_holders(tag, mode, &mut |total, left| note(building, txn, total, left))?;
        Ok(())
    }

    /// Commits, and begins the next transaction.
    pub(super) fn next_transaction(&mut self) -> Result<()> {
        self.finish_statement()?;
        self.commit_storage()?;
        self.begin_storage();
        self.block = Block::Implicit;
        Ok(())
    }

    fn hold_table(&self, table: Oid) -> Result<()> {
        let tag = LockTag::Relation { db: self.backend.catalog.database.0, rel: table.0 };
        let locks = self.backend.txn.locks();
        locks.lock(tag, MODE, LockScope::Session, WaitPolicy::Block)?;
        if let Some(building) = &self.backend.building {
            building.at_table(table);
        }
        Ok(())
    }

    fn release_table(&self, table: Oid) {
        let tag = LockTag::Relation { db: self.backend.catalog.database.0, rel: table.0 };
        self.backend.txn.locks().unlock(tag, MODE);
    }

    /// After an error: what the statement held between its transactions.
    pub(super) fn release_tables(&self) {
        self.backend.txn.locks().unlock_all(|tag| matches!(tag, LockTag::Relation { .. }));
    }

    fn tell_phase(&self, phase: Phase) {
        if let Some(building) = &self.backend.building {
            building.enter(phase);
        }
    }
}

fn refuse_catalog(table: &TableDef) -> Result<()> {
    if table.is_catalog() { Err(no_catalogs()) } else { Ok(()) }
}

fn no_catalogs() -> SqlError {
    sql_error!(FEATURE_NOT_SUPPORTED, "cannot reindex system catalogs concurrently")
}

/// Tells who is waited for.
fn note(building: Option<&Building>, txn: &Txn, total: usize, left: &[SessionId]) {
    if let Some(building) = building {
        let sessions = txn.manager().locks().sessions();
        let pid = left.first().map_or(0, |session| sessions.slot(*session).pid());
        building.waits(total, left.len(), pid);
    }
}
