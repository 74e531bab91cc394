//! Names to definitions, for one session.

use base::sync::unmodelled::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::Arc;

use base::hash::HashMap;
use base::ids::Persistence;
use base::latch::Latch;
use base::rank::Rank;
use storage::lock::{LockMode, LockTag};
use storage::txn::{Txn, When};

use crate::catalog::rights::{Class, KnownRoles, no_privilege};
use crate::catalog::{Access, TableDef, enums};
use crate::error::{Result, SqlError, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::cleaning::locked;
use super::instance::{Change, Instance};
use super::load::PG_CATALOG;
use super::schema::{catalog, catalog_by_oid};

/// Schemas to look through for names without one.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// OIDs in order; `pg_catalog` and the temporary schema included where they are searched.
    pub schemas: Vec<Oid>,
    /// How many of the first are searched without being named.
    pub unnamed: usize,
    /// Where new objects go; `None` when no schema of the path exists.
    pub creation: Option<Oid>,
    /// They go to the session's temporary schema, which need not exist yet.
    pub creates_temporary: bool,
}

/// No role has this number: until it is known who works, nobody does.
const NOBODY: u32 = 0;

/// What statements and `search_path` call the schema of their session's temporary relations.
pub const TEMPORARY: &str = "pg_temp";

/// The catalogs as one session sees them.
pub struct SessionCatalog {
    pub instance: Arc<Instance>,
    /// The database's OID.
    pub database: Oid,
    /// The schema of this session's temporary relations; 0 as long as there is none.
    temporary: AtomicU32,
    /// So many texts that are stored are being read, one in the other.
    stored_texts: AtomicU32,
    /// Definitions as this transaction's own changes made them.
    own: Latch<Own>,
    /// `own.changed` is not empty: asked for every statement.
    has_changed: AtomicBool,
    /// Moves with each own change, and when a rollback (of a savepoint, too) took some back.
    moves: Arc<AtomicU64>,
    /// Moves with each change of a temporary relation of the session's own.
    temporary_moves: AtomicU64,
    /// Labels of enums that were read or written.
    pub(in crate::catalog) labels: Latch<enums::Known>,
    /// The role whose rights statements have.
    user: Arc<AtomicU32>,
    pub(in crate::catalog) roles: Latch<KnownRoles>,
}

/// What the catalogs were like for this session at some time: while it is the same, so are they.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    version: u64,
    moves: u64,
}

#[derive(Default)]
struct Own {
    /// Relations that this transaction has changed; empty: the shared cache is right.
    changed: Vec<Oid>,
    tables: HashMap<Oid, Arc<TableDef>>,
    /// What `tables` is good for: indexes come and go beside readers and writers, too.
    stamp: Stamp,
    /// Temporary relations of the session's own that were looked at: what is dropped has no row to be told by.
    temporary: BTreeSet<Oid>,
}

impl SessionCatalog {
    pub fn new(instance: Arc<Instance>) -> SessionCatalog {
        let moves = Arc::new(AtomicU64::new(0));
        let database = instance.database;
        SessionCatalog {
            instance,
            database,
            temporary: AtomicU32::new(0),
            stored_texts: AtomicU32::new(0),
            own: Latch::new(Rank::Outer, Own::default()),
            has_changed: AtomicBool::new(false),
            moves,
            temporary_moves: AtomicU64::new(0),
            labels: Latch::new(Rank::Outer, enums::Known::default()),
            user: Arc::new(AtomicU32::new(NOBODY)),
            roles: Latch::new(Rank::Outer, KnownRoles::default()),
        }
    }

    /// The role whose rights statements have.
    #[inline]
    pub fn user(&self) -> Oid {
        // Relaxed, as below: only the session's own thread of execution sets it.
        Oid(self.user.load(Ordering::Relaxed))
    }

    /// Where it is told whose that are.
    pub fn user_place(&self) -> Arc<AtomicU32> {
        self.user.clone()
    }

    /// Whether this transaction has changed catalogs.
    pub fn is_changed(&self) -> bool {
        // Relaxed: only the session itself sets it.
        self.has_changed.load(Ordering::Relaxed)
    }

    /// A number that moves whenever a plan made earlier may be out of date for this session.
    pub fn version(&self) -> u64 {
        self.instance.version()
    }

    /// See [`Stamp`].
    pub fn stamp(&self) -> Stamp {
        // Relaxed: the session's own thread of execution moves it.
        Stamp { version: self.version(), moves: self.moves.load(Ordering::Relaxed) }
    }

    /// A number that moves whenever names may lead to other temporary relations of the session's own.
    #[inline]
    pub fn temporary_moves(&self) -> u64 {
        // Relaxed: the session's own thread of execution moves it.
        self.temporary_moves.load(Ordering::Relaxed)
    }

    /// This transaction has changed a relation's catalog rows (or dropped or made it). What comes next
    /// sees the change; others do when it is committed.
    pub fn note_change(&self, txn: &Txn, oid: Oid) -> Result<()> {
        txn.next_command()?;
        let change = match self.is_own_temporary(txn, oid)? {
            true => Change::Temporary,
            false => Change::Any,
        };
        self.note(txn, oid, change);
        Ok(())
    }

    /// This transaction has given a schema another name.
    pub fn note_schema(&self, txn: &Txn, oid: Oid) -> Result<()> {
        txn.next_command()?;
        self.note(txn, oid, Change::Schema);
        Ok(())
    }

    /// Likewise, where only what is known of its size and values is another.
    pub fn note_figures(&self, txn: &Txn, oid: Oid) -> Result<()> {
        txn.next_command()?;
        self.note(txn, oid, Change::Figures);
        Ok(())
    }

    fn note(&self, txn: &Txn, oid: Oid, change: Change) {
        if change == Change::Temporary {
            // Relaxed: see `temporary_moves`.
            self.temporary_moves.fetch_add(1, Ordering::Relaxed);
        }
        let instance = self.instance.clone();
        txn.on(When::Commit, move || instance.changed(oid, change));
        self.moves.fetch_add(1, Ordering::Relaxed);
        let moves = self.moves.clone();
        // Relaxed: the session's own thread of execution runs it.
        txn.on(When::Abort, move || {
            moves.fetch_add(1, Ordering::Relaxed);
        });
        let mut own = self.own.lock();
        self.has_changed.store(true, Ordering::Relaxed);
        own.changed.push(oid);
        own.tables.clear();
    }

    /// Whether a relation is one of the session's temporary ones, or was until it was dropped just now.
    fn is_own_temporary(&self, txn: &Txn, oid: Oid) -> Result<bool> {
        if self.own.lock().temporary.contains(&oid) {
            return Ok(true);
        }
        let (store, key) = (&self.instance.store, [Datum::Oid(oid)]);
        txn.briefly(|| {
            let found = store.find_one(txn, "pg_class", "pg_class_oid_index", &key)?;
            let Some(found) = found.filter(|found| found.row.letter("relpersistence") == b't')
            else {
                return Ok(false);
            };
            Ok(self.temporary() == Some(found.row.oid("relnamespace")))
        })
    }

    /// Notes what belongs to a temporary table of the session's own.
    fn note_temporary(&self, table: &TableDef) {
        let mut own = self.own.lock();
        own.temporary.insert(table.oid);
        own.temporary.extend(table.indexes.iter().map(|index| index.oid));
        own.temporary.extend(table.toast.iter().map(|toast| toast.oid));
    }

    /// The transaction has ended, either way.
    pub fn end_transaction(&self) {
        if !self.is_changed() {
            return;
        }
        let mut own = self.own.lock();
        self.has_changed.store(false, Ordering::Relaxed);
        own.changed.clear();
        own.tables.clear();
        own.temporary.clear();
    }

    /// A relation's definition. The caller holds a lock on it, or takes what it gets as of now.
    pub fn table(&self, txn: &Txn, oid: Oid) -> Result<Option<Arc<TableDef>>> {
        let found = self.find_table(txn, oid)?;
        if let Some(table) = &found
            && table.persistence == Persistence::Temporary
            && self.temporary() == Some(table.schema)
        {
            self.note_temporary(table);
        }
        Ok(found)
    }

    fn find_table(&self, txn: &Txn, oid: Oid) -> Result<Option<Arc<TableDef>>> {
        if let Some(system) = catalog_by_oid(oid) {
            return Ok(Some(self.instance.store.system_table(system.name)));
        }
        if self.is_changed() {
            return self.own_table(txn, oid);
        }
        if let Some(table) = self.instance.cached(oid) {
            return Ok(Some(table));
        }
        let version = self.instance.version();
        let loaded = self.instance.store.load_table(txn, oid)?;
        Ok(loaded.map(|table| self.instance.remember(version, table)))
    }

    fn own_table(&self, txn: &Txn, oid: Oid) -> Result<Option<Arc<TableDef>>> {
        let stamp = self.stamp();
        {
            let mut own = self.own.lock();
            if own.stamp != stamp {
                own.tables.clear();
                own.stamp = stamp;
            }
            if let Some(table) = own.tables.get(&oid) {
                return Ok(Some(table.clone()));
            }
        }
        let Some(table) = self.instance.store.load_table(txn, oid)? else { return Ok(None) };
        let table = Arc::new(table);
        self.own.lock().tables.insert(oid, table.clone());
        Ok(Some(table))
    }

    /// A schema's OID by name.
    pub fn schema(&self, txn: &Txn, name: &str) -> Result<Option<Oid>> {
        if name == "pg_catalog" {
            return Ok(Some(PG_CATALOG));
        }
        let key = [Datum::text(name)];
        let store = &self.instance.store;
        let row = store.find_one(txn, "pg_namespace", "pg_namespace_nspname_index", &key)?;
        Ok(row.map(|found| found.row.oid("oid")))
    }

    /// The schema that a statement names before an object: one of its session's temporary relations by any session's
    /// name for it.
    pub fn named_schema(&self, txn: &Txn, name: &str) -> Result<Option<Oid>> {
        match self.temporary() {
            Some(temporary) if name == TEMPORARY => Ok(Some(temporary)),
            _ => self.schema(txn, name),
        }
    }

    /// Likewise one to look things up in.
    ///
    /// # Errors
    /// `42501` where the current role may not.
    pub fn usable_schema(&self, txn: &Txn, name: &str) -> Result<Option<Oid>> {
        let schema = self.named_schema(txn, name)?;
        // Relaxed, as below.
        let asked_before = self.stored_texts.load(Ordering::Relaxed) > 0;
        if let Some(schema) = schema
            && !asked_before
            && !self.may_use(txn, schema)?
        {
            return Err(no_privilege(Class::Schema, name));
        }
        Ok(schema)
    }

    /// Names are those of a text that is stored, from here on or no longer.
    pub fn in_stored_text(&self, is_so: bool) {
        // Relaxed: only the session's own thread of execution changes it.
        match is_so {
            true => self.stored_texts.fetch_add(1, Ordering::Relaxed),
            false => self.stored_texts.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// Whether the current role may look things up in a schema.
    pub fn may_use(&self, txn: &Txn, schema: Oid) -> Result<bool> {
        let rights = self.rights(txn)?;
        if rights.superuser || schema == PG_CATALOG || self.temporary() == Some(schema) {
            return Ok(true);
        }
        let guard = txn.briefly(|| self.guard(txn, Class::Schema, schema))?;
        Ok(guard.is_some_and(|guard| guard.privileges(&rights).0.has(Privileges::USAGE)))
    }

    /// Whether the current role may make temporary relations.
    pub fn may_make_temporary(&self, txn: &Txn) -> Result<bool> {
        let rights = self.rights(txn)?;
        let guard = txn.briefly(|| self.guard(txn, Class::Database, self.database))?;
        let has = guard.map(|guard| guard.privileges(&rights).0.has(Privileges::TEMPORARY));
        Ok(rights.superuser || has == Some(true))
    }

    /// The schema of this session's temporary relations, once it has one.
    pub fn temporary(&self) -> Option<Oid> {
        // Relaxed, as below: only the session's own thread of execution sets it.
        Some(Oid(self.temporary.load(Ordering::Relaxed))).filter(|oid| oid.is_valid())
    }

    pub fn set_temporary(&self, schema: Option<Oid>) {
        self.temporary.store(schema.unwrap_or_default().0, Ordering::Relaxed);
    }

    /// Is it another session's temporary relation?
    pub fn is_anothers(&self, relation: &TableDef) -> bool {
        relation.persistence == Persistence::Temporary && self.temporary() != Some(relation.schema)
    }

    /// A relation's OID by name in a schema.
    pub fn relation_oid(&self, txn: &Txn, schema: Oid, name: &str) -> Result<Option<Oid>> {
        if schema == PG_CATALOG
            && let Some(system) = super::schema::catalogs().iter().find(|c| c.name == name)
        {
            return Ok(Some(system.oid));
        }
        let changed = self.is_changed();
        if !changed && let Some(oid) = self.instance.cached_name(schema, name) {
            return Ok(Some(oid));
        }
        let key = [Datum::text(name), Datum::Oid(schema)];
        let store = &self.instance.store;
        let row = store.find_one(txn, "pg_class", "pg_class_relname_nsp_index", &key)?;
        Ok(row.map(|found| found.row.oid("oid")))
    }

    /// A relation by name, along the path if no schema is given, without a lock.
    pub fn resolve(
        &self,
        txn: &Txn,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
    ) -> Result<Option<Oid>> {
        self.first_in(txn, path, schema, |schema| self.relation_oid(txn, schema, name))
    }

    /// What is found first in the schemas of the path, or in that which is given.
    pub(in crate::catalog) fn first_in<T>(
        &self,
        txn: &Txn,
        path: &SearchPath,
        schema: Option<&str>,
        find: impl Fn(Oid) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        if let Some(schema) = schema {
            return self.usable_schema(txn, schema)?.map_or(Ok(None), find);
        }
        for schema in &path.schemas {
            if let Some(found) = find(*schema)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What is said of a relation that a statement, other than a query, names in vain: its schema may be what there is not.
    pub fn no_relation(&self, txn: &Txn, schema: Option<&str>, name: &str) -> SqlError {
        let Some(schema) = schema else {
            return sql_error!(UNDEFINED_TABLE, "relation \"{name}\" does not exist");
        };
        match txn.briefly(|| self.named_schema(txn, schema)) {
            Ok(Some(_)) => {
                sql_error!(UNDEFINED_TABLE, "relation \"{schema}.{name}\" does not exist")
            }
            Ok(None) => sql_error!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist"),
            Err(error) => error,
        }
    }

    /// A relation by name, locked. When the catalogs change while the lock is waited for, the name is
    /// looked up again. No snapshot is in force afterwards, or while the lock is waited for, if none was before: who
    /// has the lock may be waiting for older snapshots to go.
    pub fn open(
        &self,
        txn: &Txn,
        path: &SearchPath,
        schema: Option<&str>,
        name: &str,
        mode: LockMode,
    ) -> Result<Option<Arc<TableDef>>> {
        loop {
            let version = self.instance.version();
            let resolved = || txn.briefly(|| self.resolve(txn, path, schema, name));
            let Some(oid) = resolved()? else { return Ok(None) };
            self.lock(txn, oid, mode)?;
            if self.instance.version() != version && resolved()? != Some(oid) {
                continue;
            }
            if let Some(table) = txn.briefly(|| self.table(txn, oid))? {
                return Ok(Some(table));
            }
        }
    }

    /// As [`SessionCatalog::lock`], but without waiting; false if somebody is in the way.
    pub fn try_lock(&self, txn: &Txn, oid: Oid, mode: LockMode) -> Result<bool> {
        if catalog_by_oid(oid).is_some() {
            return Ok(true);
        }
        locked(txn, LockTag::Relation { db: self.database.0, rel: oid.0 }, mode)
    }

    /// Locks a schema until the transaction ends: it is not dropped while something is made in it. False: it is gone.
    pub fn lock_schema(&self, txn: &Txn, schema: Oid, mode: LockMode) -> Result<bool> {
        let (db, class) = (self.database.0, catalog("pg_namespace").oid.0);
        txn.lock(LockTag::Object { db, class, object: schema.0, sub: 0 }, mode)?;
        let (store, key) = (&self.instance.store, [Datum::Oid(schema)]);
        let index = "pg_namespace_oid_index";
        Ok(txn.briefly(|| store.find_one(txn, "pg_namespace", index, &key))?.is_some())
    }

    /// Locks a relation until the transaction ends. System tables change shape never, and need none.
    pub fn lock(&self, txn: &Txn, oid: Oid, mode: LockMode) -> Result<()> {
        if catalog_by_oid(oid).is_some() {
            return Ok(());
        }
        txn.lock(LockTag::Relation { db: self.database.0, rel: oid.0 }, mode)?;
        Ok(())
    }
}

/// The lock that a look-up takes.
pub fn lock_mode(access: Access) -> LockMode {
    match access {
        Access::Read => LockMode::AccessShare,
        Access::Write => LockMode::RowExclusive,
    }
}

/// The OID of `pg_class`, in which relations are named.
pub fn pg_class() -> Oid {
    catalog("pg_class").oid
}
