//! Where temporary relations end: those whose rows, or which themselves, go with the transaction (ON COMMIT DELETE ROWS
//! and DROP); all of a session with the session; what a crash has left of earlier sessions' at the next start.

use std::sync::Arc;

use base::ids::Fork;
use base::sync::unmodelled::Ordering;
use storage::lock::WaitLimits;
use storage::txn::{Isolation, Txn, TxnState};
use syntax::ast::{
    DropObjects, Loc, ObjectKind, ObjectName, OnCommit, QualifiedName, RelationRef, Statement,
    Truncate,
};

use crate::catalog::store::{BOOTSTRAP_SUPERUSER, Cluster, Instance};
use crate::catalog::{TableDef, ddl};
use crate::error::Result;
use crate::types::Oid;

use super::Session;
use super::analyze::background_backend;
use super::backend::{Backend, New};

impl Session {
    /// Does to the session's temporary tables what was said when they were made. To be called when nothing else is
    /// left to do before the commit.
    pub(super) fn end_temporary_tables(&mut self) -> Result<()> {
        if self.backend.on_commit.is_empty() {
            return Ok(());
        }
        // Whose tables they are was asked when they were made, and who commits may be another role.
        let place = self.backend.catalog.user_place();
        // Relaxed: only the session's own thread of execution changes it.
        let user = place.swap(BOOTSTRAP_SUPERUSER.0, Ordering::Relaxed);
        let ended = self.end_all_temporary();
        place.store(user, Ordering::Relaxed);
        ended
    }

    fn end_all_temporary(&mut self) -> Result<()> {
        let tables: Vec<(Oid, OnCommit)> = self.backend.on_commit.clone();
        let (mut emptied, mut dropped) = (Vec::new(), Vec::new());
        for (oid, what) in &tables {
            // One that is dropped, or was made by what was rolled back, is not there any more.
            match (self.backend.catalog.table(&self.backend.txn, *oid)?, what) {
                (Some(table), OnCommit::DeleteRows) => emptied.push(table),
                (Some(table), OnCommit::Drop) => dropped.push(table),
                (Some(_), OnCommit::PreserveRows) | (None, _) => {}
            }
        }
        let kept: Vec<_> = emptied.iter().map(|table| (table.oid, OnCommit::DeleteRows)).collect();
        self.empty_tables(&emptied)?;
        for table in &dropped {
            // With one before it, perhaps.
            if self.backend.catalog.table(&self.backend.txn, table.oid)?.is_some() {
                self.drop_table(table)?;
            }
        }
        // A commit that fails drops nothing, and has the others still emptied by the next.
        self.backend.on_commit = kept;
        Ok(())
    }

    /// Empties those that have rows, all at once: some may refer to others. Who refers to one of them has to be named with it.
    fn empty_tables(&mut self, tables: &[Arc<TableDef>]) -> Result<()> {
        let (mut filled, mut others) = (Vec::new(), Vec::new());
        for table in tables {
            let heap = self.backend.instance.store.heap(table)?;
            let is_empty = heap.relation().blocks(Fork::Main)? == 0;
            if is_empty { others.push(table) } else { filled.push(table) }
        }
        let mut at = 0;
        while let Some(oid) = filled.get(at).map(|table| table.oid) {
            at += 1;
            let refers = |other: &mut &Arc<TableDef>| {
                other.foreign.own.iter().any(|key| key.referenced == oid)
            };
            filled.extend(others.extract_if(.., refers));
        }
        if filled.is_empty() {
            return Ok(());
        }
        let named = |table: &Arc<TableDef>| RelationRef {
            catalog: None,
            schema: Some(table.schema_name.clone()),
            name: table.name.clone(),
            only: false,
            loc: Loc::NONE,
        };
        let relations = filled.into_iter().map(named).collect();
        let truncate = Truncate { relations, restart_identity: false, cascade: false };
        self.execute_unasked(&Statement::Truncate(Box::new(truncate)))
    }

    fn drop_table(&mut self, table: &TableDef) -> Result<()> {
        let parts = vec![table.schema_name.clone(), table.name.clone()];
        self.execute_unasked(&Statement::Drop(Box::new(DropObjects {
            kind: ObjectKind::Table,
            names: vec![ObjectName::Name(QualifiedName { parts, loc: Loc::NONE })],
            if_exists: false,
            cascade: true,
            concurrently: false,
        })))
    }

    fn execute_unasked(&mut self, statement: &Statement) -> Result<()> {
        let told = self.backend.notices.len();
        let done = ddl::execute(&mut self.backend, statement);
        // Nobody asked for this now.
        self.backend.notices.truncate(told);
        done.expect("both are catalog statements").map(drop)
    }

    /// Drops the session's temporary relations and whatever else is made of them, without a word.
    pub(super) fn discard_temporary(&mut self) -> Result<()> {
        let Some(schema) = self.backend.catalog.temporary() else { return Ok(()) };
        let told = self.backend.notices.len();
        let dropped = ddl::empty_temporary_schema(&mut self.backend, schema);
        self.backend.notices.truncate(told);
        dropped
    }

    /// The transaction is rolled back: the schema of temporary relations that it made is gone.
    pub(super) fn forget_new_temp_schema(&self) {
        if self.backend.temp_schema_new.replace(New::No) != New::No {
            self.backend.catalog.set_temporary(None);
        }
    }

    /// Notes under how many savepoints the schema was made, before there are more, and when there are fewer.
    pub(super) fn place_temp_schema(&self) {
        let (made, now) = (&self.backend.temp_schema_new, self.savepoints.len());
        made.set(match made.get() {
            New::No => New::No,
            New::Here => New::Under(now),
            New::Under(savepoints) => New::Under(savepoints.min(now)),
        });
    }

    /// What was done since the savepoint with this place in the list is rolled back, the schema perhaps with it.
    pub(super) fn undo_temp_schema(&self, position: usize) {
        self.place_temp_schema();
        if matches!(self.backend.temp_schema_new.get(), New::Under(count) if count > position) {
            self.forget_new_temp_schema();
        }
    }

    /// The session ends: what it has not committed is undone, and its temporary relations are dropped in transactions
    /// of their own, so that nobody's relation is held by them. What can't be dropped (the disk is full, the server is
    /// about to end while somebody holds what they are made of) goes with the next start, or earlier, when the next
    /// session in this place has temporary relations.
    pub(super) fn end_with_temporary(&mut self) {
        let txn = &self.backend.txn;
        if txn.state() == TxnState::Active {
            txn.abort();
        }
        self.forget_new_temp_schema();
        let Some(schema) = self.backend.catalog.temporary() else { return };
        // A commit while the stack unwinds would end the process.
        if std::thread::panicking() {
            return;
        }
        self.drop_portals();
        self.backend.catalog.end_transaction();
        base::interrupt::clear_statement();
        let txn = &self.backend.txn;
        // Nobody is left whom the settings were for.
        txn.locks().set_limits(WaitLimits::default());
        txn.set_synchronous(false);
        let step = |b: &mut Backend| ddl::empty_temporary_schema_in_steps(b, schema);
        while matches!(in_transaction(&mut self.backend, step), Ok(false)) {}
    }
}

/// Does something to the catalogs in a transaction.
fn in_transaction<T>(b: &mut Backend, f: impl FnOnce(&mut Backend) -> Result<T>) -> Result<T> {
    b.txn.begin(Isolation::ReadCommitted);
    let mut done = f(b);
    if done.is_ok()
        && let Err(error) = b.txn.commit()
    {
        done = Err(error.into());
    }
    if b.txn.state() == TxnState::Active {
        b.txn.abort();
    }
    b.catalog.end_transaction();
    done
}

impl Cluster {
    /// Drops the temporary relations of sessions that the server's end has left no time to drop them, in all databases.
    /// To be called before the first session: from then on a schema of temporary relations may be somebody's.
    ///
    /// # Errors
    /// They stay, each until a session in the place of its owner makes temporary relations.
    pub fn drop_left_temporaries(self: &Arc<Self>) -> Result<()> {
        let txn = Txn::attach(self.engine().txns(), 0, 0)?;
        txn.begin(Isolation::ReadCommitted);
        let databases = self.shared.scan(&txn, "pg_database", |_| true);
        txn.abort();
        for database in databases? {
            self.drop_left_in(&self.database(database.row.oid("oid")))?;
        }
        Ok(())
    }

    fn drop_left_in(self: &Arc<Self>, instance: &Arc<Instance>) -> Result<()> {
        let txn = Txn::attach(self.engine().txns(), 0, instance.database.0)?;
        // Its settings are read from the catalogs.
        txn.begin(Isolation::ReadCommitted);
        let mut backend = background_backend(self, instance, txn)?;
        backend.txn.abort();
        let step = |b: &mut Backend| ddl::empty_temporary_schemas_in_steps(b);
        while !in_transaction(&mut backend, step)? {}
        Ok(())
    }
}
