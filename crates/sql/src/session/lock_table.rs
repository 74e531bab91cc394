//! LOCK TABLE.

use std::sync::Arc;

use storage::lock::{LockMode, LockScope, LockTag, WaitPolicy};
use syntax::ast::{self, RelationRef};

use crate::catalog::rights::{Class, no_privilege};
use crate::catalog::store::lookup::pg_class;
use crate::catalog::store::schema::catalog;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, check_stack, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::Session;
use super::backend::Backend;
use super::transaction::no_block;

impl Session {
    /// Locks tables and views until the transaction ends; with a view what its query reads, whatever the depth.
    pub(super) fn lock_table(&mut self, lock: &ast::LockTable) -> Result<String> {
        if !self.is_in_block() {
            return Err(no_block("LOCK TABLE"));
        }
        let policy = if lock.nowait { WaitPolicy::Never } else { WaitPolicy::Block };
        let locking = Locking { backend: &self.backend, mode: mode(lock.mode), policy };
        for name in &lock.relations {
            let relation = locking.named(name)?;
            if relation.kind == TableKind::View {
                locking.below_view(&relation, &mut Vec::new())?;
            }
        }
        Ok("LOCK TABLE".to_owned())
    }
}

fn mode(mode: ast::LockMode) -> LockMode {
    match mode {
        ast::LockMode::AccessShare => LockMode::AccessShare,
        ast::LockMode::RowShare => LockMode::RowShare,
        ast::LockMode::RowExclusive => LockMode::RowExclusive,
        ast::LockMode::ShareUpdateExclusive => LockMode::ShareUpdateExclusive,
        ast::LockMode::Share => LockMode::Share,
        ast::LockMode::ShareRowExclusive => LockMode::ShareRowExclusive,
        ast::LockMode::Exclusive => LockMode::Exclusive,
        ast::LockMode::AccessExclusive => LockMode::AccessExclusive,
    }
}

/// What one statement takes, and how.
struct Locking<'a> {
    backend: &'a Backend,
    mode: LockMode,
    policy: WaitPolicy,
}

impl Locking<'_> {
    /// The relation of this name, locked. What the name meant before the wait may have been dropped or renamed
    /// meanwhile: it is looked up until lock and name agree, and what it meant before is let go.
    fn named(&self, name: &RelationRef) -> Result<Arc<TableDef>> {
        loop {
            let relation = self.find(name)?;
            must_be_lockable(&relation)?;
            self.must_be_allowed(&relation, self.backend.user_oid())?;
            let said = written(name);
            // Held by the session until the name is known to be right: only so it can be given back.
            self.take(relation.oid, LockScope::Session, &said)?;
            let kept = self.keep(name, relation.oid, &said);
            self.backend.txn.locks().unlock(self.tag(relation.oid), self.mode);
            if let Some(relation) = kept? {
                return Ok(relation);
            }
        }
    }

    /// The relation's lock becomes the transaction's if the name still means it.
    fn keep(&self, name: &RelationRef, oid: Oid, said: &str) -> Result<Option<Arc<TableDef>>> {
        let relation = self.find(name)?;
        if relation.oid != oid {
            return Ok(None);
        }
        self.take(oid, LockScope::Transaction, said)?;
        Ok(Some(relation))
    }

    /// Who locks rows away from others must be allowed to change them.
    fn must_be_allowed(&self, relation: &TableDef, role: Oid) -> Result<()> {
        let changes = Privileges::UPDATE.or(Privileges::DELETE).or(Privileges::TRUNCATE);
        let wanted = match self.mode {
            LockMode::AccessShare => Privileges::SELECT,
            LockMode::RowExclusive => changes.or(Privileges::INSERT),
            _ => changes,
        };
        let backend = self.backend;
        let rights = backend.catalog.rights_of(&backend.txn, role)?;
        let may = backend.catalog.guard_of_relation(&backend.txn, relation)?.privileges(&rights).0;
        match rights.superuser || !may.and(wanted).is_empty() {
            true => Ok(()),
            false => Err(no_privilege(Class::of(relation), &relation.name)),
        }
    }

    /// What the name means now.
    fn find(&self, name: &RelationRef) -> Result<Arc<TableDef>> {
        let Backend { catalog, txn, .. } = self.backend;
        let path = self.backend.search_path()?;
        let schema = name.schema.as_deref();
        let found = txn.briefly(|| match catalog.resolve(txn, &path, schema, &name.name)? {
            Some(oid) => catalog.table(txn, oid),
            None => Ok(None),
        })?;
        found.ok_or_else(|| self.backend.no_relation(name))
    }

    /// Tables and views that a view's query names, and those below them. Views may name each other in a circle: those
    /// `above` are not met again. Catalogs of the system never change shape.
    fn below_view(&self, view: &TableDef, above: &mut Vec<Oid>) -> Result<()> {
        check_stack()?;
        above.push(view.oid);
        let Backend { catalog, txn, .. } = self.backend;
        for oid in txn.briefly(|| self.used_by(view.oid))? {
            let Some(relation) = txn.briefly(|| catalog.table(txn, oid))? else { continue };
            if !matches!(relation.kind, TableKind::Table | TableKind::View) {
                continue;
            }
            if above.contains(&oid) {
                continue;
            }
            let asks = if view.asks_as_invoker() { self.backend.user_oid() } else { view.owner };
            self.must_be_allowed(&relation, asks)?;
            self.take(oid, LockScope::Transaction, &relation.name)?;
            if relation.kind == TableKind::View {
                self.below_view(&relation, above)?;
            }
        }
        above.pop();
        Ok(())
    }

    /// The relations that a view depends on, in the order in which they were made.
    fn used_by(&self, view: Oid) -> Result<Vec<Oid>> {
        let store = &self.backend.catalog.instance.store;
        let txn = &self.backend.txn;
        let key = [Datum::Oid(view)];
        let rules = store.find(txn, "pg_rewrite", "pg_rewrite_rel_rulename_index", &key)?;
        let rules = rules.iter().map(|found| (catalog("pg_rewrite").oid, found.row.oid("oid")));
        let mut rows = Vec::new();
        // Earlier versions had views themselves depend on what they use.
        for (class, object) in rules.chain([(pg_class(), view)]) {
            let key = [Datum::Oid(class), Datum::Oid(object)];
            rows.extend(store.find(txn, "pg_depend", "pg_depend_depender_index", &key)?);
        }
        let tables = rows.iter().filter(|found| found.row.oid("refclassid") == pg_class());
        let mut used: Vec<Oid> = tables.map(|found| found.row.oid("refobjid")).collect();
        used.sort_unstable();
        used.dedup();
        used.retain(|oid| *oid != view);
        Ok(used)
    }

    fn take(&self, oid: Oid, scope: LockScope, said: &str) -> Result<()> {
        let locks = self.backend.txn.locks();
        let taken = locks.lock(self.tag(oid), self.mode, scope, self.policy);
        taken.map(drop).map_err(|error| match error {
            storage::Error::LockNotAvailable if self.policy == WaitPolicy::Never => {
                sql_error!(LOCK_NOT_AVAILABLE, "could not obtain lock on relation \"{said}\"")
            }
            other => other.into(),
        })
    }

    fn tag(&self, oid: Oid) -> LockTag {
        LockTag::Relation { db: self.backend.catalog.database.0, rel: oid.0 }
    }
}

/// `42809` for what is neither a table nor a view.
fn must_be_lockable(relation: &TableDef) -> Result<()> {
    if matches!(relation.kind, TableKind::Table | TableKind::View | TableKind::Virtual) {
        return Ok(());
    }
    Err(sql_error!(WRONG_OBJECT_TYPE, "cannot lock relation \"{}\"", relation.name)
        .with_detail(relation.kind.not_supported()))
}

/// A name as the statement has it.
fn written(name: &RelationRef) -> String {
    match &name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => name.name.to_string(),
    }
}
