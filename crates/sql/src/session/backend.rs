//! What a session's statements reach: transaction, catalogs, settings, clock. The executor's
//! [`Host`], the binder's [`Lookup`] and the conversions' [`Names`], all in one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use base::ids::Fork;
use storage::buffer::Reach;
use storage::heap::HeapRel;
use storage::index::Index;
use storage::lock::LockMode;
use storage::txn::{Isolation, Snapshot, Txn};
use syntax::ast::{OnCommit, QualifiedName, RelationRef};

use crate::bind::tree::{CurrentOf, SqlValue, SqlValueKind};
use crate::bind::{Binder, ExprKind, Params};
use crate::cache::{Place, Scope};
use crate::catalog::collation::Named;
use crate::catalog::foreign_key::ForeignKeys;
use crate::catalog::statistics::Statistics;
use crate::catalog::store::building::Building;
use crate::catalog::store::lookup::{TEMPORARY, lock_mode};
use crate::catalog::store::{
    BOOTSTRAP_SUPERUSER, Instance, PG_CATALOG, SearchPath, SessionCatalog, Stamp,
};
use crate::catalog::{
    Access, Catalog, ColumnDef, Handle, IndexDef, KeySource, Lookup, TableDef, TableKind,
    system_views,
};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::exec::spill::{Helpers, TempSpace};
use crate::exec::watch::Profile;
use crate::exec::{Event, Host, IndexExprs};
use crate::func::{Function, RandomSequence, Rows, SessionInfo};
use crate::plan;
use crate::types::enums::Labels;
use crate::types::{
    Datum, FormatContext, IoContext, Names, Oid, TimestampTz, TypeId, TypeMod, input,
};

use super::client::Notice;
use super::foreign_key::Events;
use super::notify::Notifying;
use super::prepare::Planned;
use super::set::Values;
use super::stamp;
use super::standing::Standing;

/// See the module's description.
pub struct Backend {
    pub txn: Txn,
    pub instance: Arc<Instance>,
    pub catalog: Arc<SessionCatalog>,
    pub values: Values,
    /// The statement's snapshot.
    pub snapshot: Snapshot,
    /// The transaction is READ UNCOMMITTED, which means READ COMMITTED and is told by its own name.
    pub read_uncommitted: bool,
    /// The transaction is READ ONLY.
    pub read_only: bool,
    pub transaction_start: TimestampTz,
    pub statement_start: TimestampTz,
    pub database: Arc<str>,
    pub pid: i32,
    /// The last value that `nextval` gave in this session, by sequence.
    pub currvals: BTreeMap<Oid, i64>,
    pub last_sequence: Option<Oid>,
    /// The catalog's schema of temporary relations was made in the running transaction, and goes with it, or with a savepoint.
    pub temp_schema_new: Cell<New>,
    /// Temporary tables that a commit does something to.
    pub on_commit: Vec<(Oid, OnCommit)>,
    /// To be sent when the statement next writes to the client.
    pub notices: Vec<Notice>,
    /// Relations that the statement at hand was bound to, with the locks taken.
    pub used: Vec<(Oid, LockMode)>,
    /// Their indexes that this transaction's snapshots must not use.
    pub unusable: Vec<Oid>,
    /// Who made others that only snapshots may use that see it.
    pub makers: Vec<base::Xid>,
    /// The search path resolved, and the state of affairs it was resolved in.
    path: RefCell<Option<(PathKey, Arc<SearchPath>)>>,
    /// What [`Backend::scope`] found last.
    known_scope: Cell<Option<(ScopeKey, Scope)>>,
    /// Definitions of the system views that were used.
    views: BTreeMap<u32, Arc<TableDef>>,
    /// What `random()` draws from.
    random: RandomSequence,
    index_exprs: BTreeMap<Oid, (Stamp, Arc<IndexExprs>)>,
    /// The text of the statement at hand.
    pub query_text: Arc<str>,
    /// Cursors and prepared statements, to SQL.
    pub standing: Standing,
    /// The query that CREATE TABLE AS runs, where it is planned before: that of EXECUTE, and of EXPLAIN ANALYZE.
    pub executed: Option<Executed>,
    /// Where the making of indexes that was begun last tells how far it is.
    pub building: Option<Arc<Building>>,
    /// What foreign keys have to look into.
    pub events: Events,
    /// The session's temporary files.
    pub temp: Arc<TempSpace>,
    /// Its part in LISTEN and NOTIFY.
    pub(super) notifying: Notifying,
}

/// Whether something was made by what may still be rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum New {
    No,
    /// Since the newest savepoint, if there is any.
    Here,
    /// When there were so many savepoints.
    Under(usize),
}

/// A planned query that fills a new table.
pub struct Executed {
    pub planned: Arc<Planned>,
    pub params: Vec<Datum>,
    /// Who watches it.
    pub profile: Option<Arc<Profile>>,
}

/// How many blocks a table and its valid indexes have.
fn sizes(instance: &Instance, table: &TableDef) -> Result<Vec<(Oid, u32)>> {
    let store = &instance.store;
    let heap = store.heap(table)?.relation();
    let mut sizes = vec![(table.oid, heap.blocks(Fork::Main)?)];
    for index in table.indexes.iter().filter(|index| index.valid) {
        let blocks = store.tree(index)?.relation().blocks(Fork::Main)?;
        sizes.push((index.oid, blocks));
    }
    Ok(sizes)
}

/// A search path, a temporary schema, and a state of what is in that.
type ScopeKey = (u64, Option<Oid>, u64);

#[derive(Clone, Copy, PartialEq, Eq)]
struct PathKey {
    generation: u64,
    version: u64,
    temp: Option<Oid>,
    /// In a transaction that has changed catalogs nothing is kept.
    changed: bool,
}

impl Backend {
    pub fn new(
        txn: Txn,
        instance: Arc<Instance>,
        catalog: Arc<SessionCatalog>,
        values: Values,
        database: Arc<str>,
        pid: i32,
    ) -> Backend {
        let temp = TempSpace::new(&instance.temp_files, &instance.temp_counts);
        Backend {
            txn,
            instance,
            catalog,
            values,
            snapshot: Snapshot::NOW,
            read_uncommitted: false,
            read_only: false,
            transaction_start: stamp(),
            statement_start: stamp(),
            database,
            pid,
            currvals: BTreeMap::new(),
            last_sequence: None,
            temp_schema_new: Cell::new(New::No),
            on_commit: Vec::new(),
            notices: Vec::new(),
            used: Vec::new(),
            unusable: Vec::new(),
            makers: Vec::new(),
            path: RefCell::new(None),
            known_scope: Cell::new(None),
            views: BTreeMap::new(),
            random: RandomSequence::default(),
            index_exprs: BTreeMap::new(),
            query_text: Arc::from(""),
            standing: Standing::default(),
            executed: None,
            building: None,
            events: Events::default(),
            temp,
            notifying: Notifying::default(),
        }
    }

    /// A statement is about to be bound: nothing is used yet.
    pub fn forget_used(&mut self) {
        self.used.clear();
        self.unusable.clear();
        self.makers.clear();
    }

    /// Forgets what a statement that ended in its midst may have left.
    pub fn forget_statement(&mut self) {
        self.notices.clear();
        self.forget_used();
        self.index_exprs.clear();
        self.executed = None;
        self.standing.in_use.clear();
        *self.path.borrow_mut() = None;
    }

    /// Runs `f` with the binder's view of the catalogs.
    pub fn with_catalog<R>(&mut self, f: impl FnOnce(&mut Catalog<'_>) -> R) -> R {
        let database = self.database.clone();
        let system_table_mods = false;
        f(&mut Catalog { lookup: self, database: &database, system_table_mods, record: None })
    }

    /// What a name means, without a lock: the next moment it may be another relation.
    pub fn relation_named(&mut self, name: &RelationRef) -> Result<Option<Arc<TableDef>>> {
        self.with_catalog(|catalog| catalog.must_be_here(name))?;
        let schema = name.schema.as_deref();
        if let Some(view) = self.system_view(schema, &name.name)? {
            return Ok(Some(view));
        }
        let (path, catalog, txn) = (self.search_path()?, &self.catalog, &self.txn);
        let found = txn.briefly(|| match catalog.resolve(txn, &path, schema, &name.name)? {
            Some(oid) => catalog.table(txn, oid),
            None => Ok(None),
        })?;
        if found.as_ref().is_some_and(|table| catalog.is_anothers(table)) {
            bail!(FEATURE_NOT_SUPPORTED, "cannot access temporary tables of other sessions");
        }
        Ok(found)
    }

    /// Which plans this session could run now.
    pub fn place(&self) -> Place<'_> {
        Place { scope: self.scope(), instance: &self.instance }
    }

    /// With which sessions this one shares plans.
    #[inline]
    pub fn scope(&self) -> Scope {
        let moves = self.catalog.temporary_moves();
        let key = (self.values.path_generation, self.catalog.temporary(), moves);
        match self.known_scope.get() {
            Some((known, scope)) if known == key => scope,
            _ => self.find_scope(key),
        }
    }

    #[cold]
    fn find_scope(&self, key: ScopeKey) -> Scope {
        let path = self.values.text("search_path");
        let planner = &self.values.planner;
        let current = self.values.identity.current();
        let user = &*format!("{}\0{}", current.oid.0, current.name);
        let scope = match key.1 {
            // What its names meant before, they may not mean now.
            Some(_) => Scope::unique(),
            None if *planner == plan::Settings::default() => self.instance.scope(user, path),
            // Who plans by other settings shares with those who plan by the same.
            None => self.instance.scope(user, &format!("{path}\0{planner:?}")),
        };
        self.known_scope.set(Some((key, scope)));
        scope
    }

    /// Whether names may lead later to temporary relations of other sessions, which tell nobody of them.
    pub(super) fn may_meet_others_temporary(&self) -> bool {
        self.values.text("search_path").contains("pg_temp_")
    }

    /// The schemas that names are looked up in, in order.
    pub fn search_path(&self) -> Result<Arc<SearchPath>> {
        let key = PathKey {
            generation: self.values.path_generation,
            version: self.catalog.version(),
            temp: self.catalog.temporary(),
            changed: self.catalog.is_changed(),
        };
        if let Some((known, path)) = &*self.path.borrow()
            && *known == key
            && !key.changed
        {
            return Ok(path.clone());
        }
        self.txn.briefly(|| self.look_up_path(key))
    }

    fn look_up_path(&self, key: PathKey) -> Result<Arc<SearchPath>> {
        let mut found = SearchPath::default();
        let mut has_temp = false;
        for name in super::words::path_words(self.values.text("search_path")) {
            let name = match name == "$user" {
                true => self.values.identity.current().name.to_string(),
                false => name,
            };
            let oid = match &*name {
                TEMPORARY => key.temp,
                name => self.catalog.schema(&self.txn, name)?,
            };
            if name == TEMPORARY {
                has_temp = true;
                found.creates_temporary |= found.schemas.is_empty();
            }
            let Some(oid) = oid.filter(|oid| !found.schemas.contains(oid)) else { continue };
            if !self.catalog.may_use(&self.txn, oid)? {
                continue;
            }
            found.schemas.push(oid);
        }
        found.creation = found.schemas.first().copied();
        let has_catalog = found.schemas.contains(&PG_CATALOG);
        let unnamed = [(!has_catalog).then_some(PG_CATALOG), key.temp.filter(|_| !has_temp)];
        for oid in unnamed.into_iter().flatten() {
            found.schemas.insert(0, oid);
            found.unnamed += 1;
        }
        let path = Arc::new(found);
        *self.path.borrow_mut() = Some((key, path.clone()));
        Ok(path)
    }

    /// The conversions' context.
    pub fn io(&self) -> IoContext<'_> {
        IoContext { format: &self.values.format, now: self.transaction_start, names: self }
    }

    pub fn notice(&mut self, severity: &'static str, fields: SqlError) {
        // INFO is what the client asked for.
        let wanted = self.values.text("client_min_messages");
        if severity == "INFO" || message_rank(severity) >= message_rank(wanted) {
            let fields = self.name_types(fields);
            self.notices.push(Notice { severity, fields });
        }
    }

    /// The system view of that name; `pg_catalog`'s need no schema.
    fn system_view(&mut self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableDef>>> {
        let Some(view) = system_views::find(schema.unwrap_or("pg_catalog"), name) else {
            return Ok(None);
        };
        if let Some(known) = self.views.get(&view.oid) {
            return Ok(Some(known.clone()));
        }
        let columns = self.with_catalog(|catalog| {
            let statement = catalog.parse_stored(view.query)?;
            let syntax::ast::Statement::Select(select) = &statement else {
                return Err(SqlError::internal("a view is a query"));
            };
            let mut params = Params::none();
            let query = Binder::new(catalog, &mut params).query(select)?;
            let columns = query.visible().map(|target| ColumnDef {
                generated: false,
                name: target.name.clone(),
                ty: target.expr.ty(),
                collation: crate::bind::collate::of(&target.expr),
                not_null: false,
                dropped: false,
                default: None,
                identity: None,
                missing: Datum::Null,
                acl: None,
            });
            Ok(columns.collect::<Vec<_>>())
        })?;
        let schema_oid = self.catalog.schema(&self.txn, view.schema)?.unwrap_or_default();
        let def = Arc::new(TableDef {
            oid: Oid(view.oid),
            name: view.name.into(),
            schema: schema_oid,
            schema_name: view.schema.into(),
            kind: TableKind::View,
            persistence: base::Persistence::Permanent,
            owner: BOOTSTRAP_SUPERUSER,
            acl: None,
            row_type: TypeId::INVALID,
            desc: TableDef::row_desc(&columns),
            columns,
            indexes: Vec::new(),
            checks: Vec::new(),
            foreign: ForeignKeys::default(),
            parameters: Vec::new(),
            view: Some(view.query.into()),
            populated: true,
            storage: base::RelId(0),
            stored_rows: -1.0,
            stored_blocks: 0,
            stored_visible: 0,
            statistics: Statistics::default(),
            heap: Handle::default(),
            toast: None,
        });
        self.views.insert(view.oid, def.clone());
        Ok(Some(def))
    }

    /// What the planner is to know of the indexes of the tables in use.
    pub(super) fn indexes(&mut self) -> Result<plan::Indexes> {
        let mut exprs = Vec::new();
        let used: Vec<Oid> = self.used.iter().map(|(oid, _)| *oid).collect();
        for oid in used {
            let Some(table) = self.catalog.table(&self.txn, oid)? else { continue };
            for index in table.indexes.iter().filter(|index| index.has_expressions()) {
                exprs.push((index.oid, self.index_exprs(index)?));
            }
        }
        let unusable = self.unusable.clone();
        let settings = self.values.planner;
        let instance = Arc::clone(&self.instance);
        let measure: Box<plan::Measure> = Box::new(move |table| sizes(&instance, table));
        let measure = Some(measure);
        Ok(plan::Indexes { unusable, exprs, settings, measure, ..plan::Indexes::default() })
    }

    fn bind_index_exprs(&mut self, index: &IndexDef) -> Result<IndexExprs> {
        let Some(table) = self.catalog.table(&self.txn, index.table)? else {
            return Err(SqlError::internal("an index without its table"));
        };
        self.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            let mut keys = Vec::with_capacity(index.keys.len());
            for key in &index.keys {
                keys.push(match &key.source {
                    KeySource::Column(column) => plan::column_slot(&table, *column),
                    KeySource::Expr(text) => {
                        let expr = binder.table_expr(&table, text, ExprKind::IndexExpr)?;
                        plan::over_row(&table, &expr)?
                    }
                });
            }
            let predicate = match &index.predicate {
                Some(text) => {
                    let expr = binder.table_expr(&table, text, ExprKind::IndexPredicate)?;
                    Some(plan::over_row(&table, &expr)?)
                }
                None => None,
            };
            Ok(IndexExprs { keys, predicate })
        })
    }
}

/// How much a message of that severity matters to a client.
fn message_rank(severity: &str) -> usize {
    let levels = ["LOG", "NOTICE", "WARNING", "ERROR"];
    levels.iter().position(|level| level.eq_ignore_ascii_case(severity)).map_or(0, |at| at + 1)
}

impl Lookup for Backend {
    fn in_stored_text(&mut self, is_so: bool) {
        self.catalog.in_stored_text(is_so);
    }

    fn relation(
        &mut self,
        schema: Option<&str>,
        name: &str,
        access: Access,
    ) -> Result<Option<Arc<TableDef>>> {
        let mode = lock_mode(access);
        let path = self.search_path()?;
        if let Some(view) = self.system_view(schema, name)? {
            return Ok(Some(view));
        }
        let found = self.catalog.open(&self.txn, &path, schema, name, mode)?;
        if let Some(table) = &found {
            if self.catalog.is_anothers(table) {
                bail!(FEATURE_NOT_SUPPORTED, "cannot access temporary tables of other sessions");
            }
            for index in &table.indexes {
                let Some(maker) = index.check_xmin else { continue };
                if !self.txn.will_see(maker)? {
                    self.unusable.push(index.oid);
                } else if maker >= self.txn.manager().refresh().xid {
                    self.makers.push(maker);
                }
            }
            match self.used.iter_mut().find(|(oid, _)| *oid == table.oid) {
                Some((_, known)) => *known = (*known).max(mode),
                None => self.used.push((table.oid, mode)),
            }
        }
        Ok(found)
    }

    fn user_type(&mut self, schema: Option<&str>, name: &str) -> Result<Option<TypeId>> {
        self.type_by_its_name(schema, name)
    }

    fn schema_of_type(&mut self, id: TypeId) -> Result<Box<str>> {
        self.schema_of_made(id)
    }

    fn has_schema(&mut self, name: &str) -> Result<bool> {
        Ok(self.txn.briefly(|| self.catalog.named_schema(&self.txn, name))?.is_some())
    }

    fn collation(&mut self, name: &QualifiedName) -> Result<Named> {
        let path = self.search_path()?;
        self.txn.briefly(|| self.catalog.collation(&self.txn, &path, name))
    }

    fn collation_name(&mut self, oid: Oid) -> Result<String> {
        let found = self.txn.briefly(|| self.instance.store.collation_row(&self.txn, oid))?;
        Ok(found.map_or_else(String::new, |found| found.row.text("collname").to_owned()))
    }

    fn collation_label(&mut self, oid: Oid) -> Result<Option<String>> {
        self.txn.briefly(|| super::names::collation_name(self, oid))
    }

    fn lasting_literal(
        &mut self,
        id: TypeId,
        value: &Datum,
    ) -> Result<(Option<String>, Option<Oid>)> {
        Backend::lasting_literal(self, id, value)
    }

    fn text_in(&mut self, id: TypeId, modifier: i32, text: &str) -> Result<Datum> {
        input(id, TypeMod(modifier), text, &self.io())
    }
}

impl Names for Backend {
    fn object_by_name(&self, alias: TypeId, text: &str) -> Result<Oid> {
        super::names::by_name(self, alias, text)
    }

    fn object_name(&self, alias: TypeId, oid: Oid) -> Result<Option<String>> {
        super::names::of_object(self, alias, oid)
    }

    fn enum_name(&self, type_id: TypeId) -> Result<Option<String>> {
        self.name_of_enum(type_id)
    }

    fn enum_label(&self, type_id: TypeId, value: Oid) -> Result<Option<Arc<str>>> {
        self.label_of(type_id, value)
    }

    fn enum_labels(&self, type_id: TypeId) -> Result<Arc<Labels>> {
        self.catalog.labels(&self.txn, type_id)
    }

    fn input_user_type(&self, type_id: TypeId, text: &str, _typmod: TypeMod) -> Result<Datum> {
        if type_id.is_enum() {
            return self.enum_of_text(type_id, text);
        }
        Err(sql_error!(
            FEATURE_NOT_SUPPORTED,
            "input of a composite type ({}) is not implemented",
            type_id.oid()
        ))
    }
}

impl SessionInfo for Backend {
    fn format(&self) -> &FormatContext {
        &self.values.format
    }

    fn names(&self) -> &dyn Names {
        self
    }

    fn random(&mut self) -> &mut RandomSequence {
        &mut self.random
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.show(name)
    }
}

impl Host for Backend {
    #[inline]
    fn txn(&self) -> &Txn {
        &self.txn
    }

    #[inline]
    fn heap<'t>(&self, table: &'t TableDef) -> Result<&'t HeapRel> {
        self.instance.store.heap(table)
    }

    #[inline]
    fn tree<'t>(&self, index: &'t IndexDef) -> Result<&'t Index> {
        self.instance.store.tree(index)
    }

    fn index_exprs(&mut self, index: &IndexDef) -> Result<Arc<IndexExprs>> {
        let stamp = self.catalog.stamp();
        if let Some((known, exprs)) = self.index_exprs.get(&index.oid)
            && *known == stamp
        {
            return Ok(exprs.clone());
        }
        let exprs = Arc::new(self.bind_index_exprs(index)?);
        self.index_exprs.insert(index.oid, (stamp, exprs.clone()));
        Ok(exprs)
    }

    fn io(&self) -> IoContext<'_> {
        Backend::io(self)
    }

    #[inline]
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn note(&mut self, event: Event) {
        self.events.note(event);
    }

    fn shown_by(&self) -> Option<Snapshot> {
        self.events.shown_by
    }

    fn transaction_start(&self) -> TimestampTz {
        self.transaction_start
    }

    fn statement_start(&self) -> TimestampTz {
        self.statement_start
    }

    #[inline]
    fn follows_updates(&self) -> bool {
        self.txn.isolation() == Isolation::ReadCommitted
    }

    fn call(&mut self, func: &'static Function, args: &[Datum]) -> Result<Datum> {
        super::functions::call(self, func, args)
    }

    fn call_set(&mut self, func: &'static Function, args: &[Datum]) -> Result<Rows> {
        super::functions::call_set(self, func, args)
    }

    fn current_of(&self, current: &CurrentOf) -> Result<Datum> {
        self.standing.current_of(current)
    }

    fn readable(&self, table: &TableDef) -> Option<Vec<u16>> {
        self.readable_columns(table)
    }

    fn sql_value(&mut self, value: &SqlValue) -> Result<Datum> {
        let now = self.transaction_start;
        let as_type = |backend: &Backend, id: TypeId, typmod: i32| -> Result<Datum> {
            // Through the text form: it applies zone and precision as the types' own input does.
            let text = crate::types::output_string(
                TypeId::TIMESTAMPTZ,
                &Datum::TimestampTz(now),
                &backend.io(),
            )?;
            let text = match id {
                TypeId::TIME | TypeId::TIMETZ => {
                    text.split_once(' ').map_or("", |(_, t)| t).to_owned()
                }
                _ => text,
            };
            input(id, TypeMod(typmod), &text, &backend.io())
        };
        Ok(match value.kind {
            SqlValueKind::CurrentUser => super::names::role_name(self, self.user_oid())?,
            SqlValueKind::SessionUser => {
                super::names::role_name(self, self.values.identity.session.oid)?
            }
            SqlValueKind::CurrentCatalog => Datum::text(&*self.database),
            SqlValueKind::CurrentSchema => match super::names::current_schema(self)? {
                Some(name) => Datum::text(name),
                None => Datum::Null,
            },
            SqlValueKind::CurrentTimestamp if value.ty.modifier < 0 => Datum::TimestampTz(now),
            _ => as_type(self, value.ty.id, value.ty.modifier)?,
        })
    }

    fn next_value(&mut self, sequence: Oid) -> Result<i64> {
        super::sequence::next_of_column(self, sequence)
    }

    fn work_mem_bytes(&self) -> usize {
        self.values.hot.work_mem_bytes
    }

    fn hash_mem_bytes(&self) -> usize {
        self.values.hot.hash_mem_bytes
    }

    fn maintenance_mem_bytes(&self) -> usize {
        self.values.get("maintenance_work_mem").as_integer() as usize * 1024
    }

    fn sort_helpers(&self) -> Option<Helpers> {
        let wanted = self.values.get("max_parallel_maintenance_workers").as_integer() as usize;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = wanted.min(cores);
        let env = self.instance.store.engine.env().clone();
        (count > 0).then_some(Helpers { env, count })
    }

    fn reach(&self) -> Reach {
        self.values.hot.reach
    }

    fn maintenance_reach(&self) -> Reach {
        self.values.hot.maintenance_reach
    }

    fn temp(&self) -> &Arc<TempSpace> {
        self.temp.set_limit(self.values.hot.temp_limit_bytes);
        &self.temp
    }
}
