//! The session, to statements that change the catalogs.

use std::sync::Arc;

use storage::heap::Freeze;
use storage::txn::TxnState;
use syntax::ast::{self, OnCommit, Statement, TypeName};

use crate::bind::needs::Needs;
use crate::bind::query::{Query, RelColumn};
use crate::bind::{Binder, Expr, ExprKind, Params, Ty, collate};
use crate::catalog::ddl::{
    Columns, DdlHost, Stored, Taking, empty_temporary_schema, temporary_schema_name,
};
use crate::catalog::foreign_key::ForeignKey;
use crate::catalog::rights::{Class, no_privilege};
use crate::catalog::store::building::{Building, Command, Working};
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::{BOOTSTRAP_SUPERUSER, SearchPath, SessionCatalog};
use crate::catalog::{Catalog, Record, TableDef, TableKind};
use crate::error::{Result, SqlError, bail};
use crate::exec::{self, Cx, Loader, State};
use crate::func::CastUse;
use crate::plan;
use crate::types::{Collation, Datum, Oid, TypeId, TypeMod, input};

use super::backend::{Backend, Executed, New};
use super::client::Field;
use super::identity::RESTRICTED;
use super::portal::Run;

impl Backend {
    /// The rows of a query that is planned.
    fn fill_from_run(&mut self, table: &Arc<TableDef>, executed: Executed) -> Result<u64> {
        let Executed { planned, params, profile } = executed;
        let mut loader = Loader::new(table.clone(), Vec::new(), Vec::new(), Freeze::No);
        let mut run = Run::watched(self, &planned, params, profile)?;
        let mut state = State::default();
        let mut count = 0;
        while let Some(row) = run.next(self)? {
            let mut cx = Cx { state: &mut state, host: self };
            loader.push(row, &mut cx)?;
            count += 1;
        }
        loader.flush(&mut Cx { state: &mut state, host: self })?;
        if self.txn.state() == TxnState::Active {
            self.txn.next_command()?;
        }
        Ok(count)
    }
}

impl Backend {
    /// Inserts the rows of a query.
    fn fill(&mut self, table: &Arc<TableDef>, query: &Statement) -> Result<u64> {
        self.forget_used();
        let bound = self.with_catalog(|catalog| {
            let mut params = Params::none();
            Binder::new(catalog, &mut params).insert_all(table, query)
        })?;
        let needs = Needs::of(&bound);
        self.must_be_allowed(&needs)?;
        self.must_be_ready_to_fill(&needs)?;
        let plan = plan::plan(&bound, self.indexes()?)?;
        let mut state = crate::exec::State::new(&plan, Vec::new());
        let plan::node::Node::Modify(modify) = &plan.root else {
            return Err(SqlError::internal("an INSERT is a change"));
        };
        self.snapshot = self.txn.statement_snapshot();
        let count = Loader::insert(modify.clone(), &mut Cx { state: &mut state, host: self })?;
        if self.txn.state() == TxnState::Active {
            self.txn.next_command()?;
        }
        Ok(count)
    }

    /// Runs a view's query, and hands out its rows.
    fn hand_out(&mut self, view: &TableDef, take: Taking<'_>) -> Result<()> {
        let text = view.view.as_deref().unwrap_or_default();
        self.forget_used();
        let query = self.with_catalog(|catalog| {
            let statement = catalog.parse_stored(text)?;
            stored_query(catalog, &statement)
        })?;
        must_still_fit(view, &query)?;
        let bound = crate::bind::Statement::Query(query);
        let needs = Needs::of(&bound);
        self.must_be_allowed(&needs)?;
        self.must_be_ready_to_fill(&needs)?;
        let plan = plan::plan(&bound, self.indexes()?)?;
        let mut state = State::new(&plan, Vec::new());
        let mut rows = exec::run(&plan.root);
        let snapshot = self.txn.statement_snapshot();
        let mut count: u64 = 0;
        loop {
            self.snapshot = snapshot;
            let mut cx = Cx { state: &mut state, host: self };
            if !rows.next(&mut cx)? {
                return Ok(());
            }
            count += 1;
            if count.is_multiple_of(64) {
                base::park::checkpoint();
                base::interrupt::check().map_err(crate::error::interrupted)?;
            }
            take(self, rows.row())?;
        }
    }
}

impl DdlHost for Backend {
    fn catalog(&self) -> Arc<SessionCatalog> {
        self.catalog.clone()
    }

    fn is_in_use(&self, relation: Oid) -> bool {
        self.standing.in_use.contains(&relation)
    }

    fn has_pending_checks(&self, table: Oid) -> bool {
        self.events.is_pending_on(table)
    }

    fn search_path(&mut self) -> Result<SearchPath> {
        Backend::search_path(self).map(|path| (*path).clone())
    }

    fn temporary_schema(&mut self) -> Result<Oid> {
        let may = self.catalog.may_make_temporary(&self.txn)?;
        if let Some(oid) = self.catalog.temporary() {
            return match may {
                true => Ok(oid),
                false => {
                    Err(no_privilege(Class::Schema, &temporary_schema_name(self.txn.session().0)))
                }
            };
        }
        if !may {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create temporary tables in database \"{}\"",
                self.database
            );
        }
        let name = temporary_schema_name(self.txn.session().0);
        let oid = match self.catalog.schema(&self.txn, &name)? {
            // A session that had this place before, and made temporary relations, has ended.
            Some(oid) => {
                empty_temporary_schema(self, oid)?;
                self.temp_schema_new.set(New::Here);
                oid
            }
            None => {
                let store = &self.instance.store;
                let oid = Oid(store.engine.oids().allocate()?);
                let row = RowBuilder::of("pg_namespace")
                    .oid("oid", oid)
                    .set("nspname", name.as_str())
                    .oid("nspowner", BOOTSTRAP_SUPERUSER);
                store.insert(&self.txn, "pg_namespace", &row.build())?;
                self.catalog.note_change(&self.txn, oid)?;
                self.temp_schema_new.set(New::Here);
                oid
            }
        };
        self.catalog.set_temporary(Some(oid));
        Ok(oid)
    }

    fn database(&self) -> &str {
        &self.database
    }

    fn user(&self) -> Oid {
        self.user_oid()
    }

    fn session_user(&self) -> Oid {
        self.values.identity.session.oid
    }

    fn notice(&mut self, severity: &'static str, fields: SqlError) {
        Backend::notice(self, severity, fields);
    }

    fn bind_table_expr(
        &mut self,
        table: &Arc<TableDef>,
        text: &str,
        kind: ExprKind,
    ) -> Result<Expr> {
        let bound = self.bind_stored(text, Stored::Over { table, kind })?;
        plan::over_row(table, &bound)
    }

    fn bind_generated(&mut self, table: &Arc<TableDef>, column: usize) -> Result<Expr> {
        let bound = self.with_catalog(|catalog| {
            let mut params = Params::none();
            Binder::new(catalog, &mut params).generated_column(table, column)
        })?;
        plan::over_row(table, &bound)
    }

    fn bind_of_statement(
        &mut self,
        table: &Arc<TableDef>,
        expr: &ast::Expr,
        kind: ExprKind,
    ) -> Result<Expr> {
        self.bind_to_store(table, expr, kind)
    }

    fn index_key(&mut self, table: &Arc<TableDef>, text: &str) -> Result<(Ty, Collation)> {
        let kind = ExprKind::IndexExpr;
        let bound = self.bind_stored(text, Stored::Over { table, kind })?;
        Ok((bound.ty(), collate::of(&bound)))
    }

    fn bind_default(&mut self, text: &str, column: &str, ty: Ty) -> Result<Expr> {
        self.bind_stored(text, Stored::Default { column, ty })
    }

    fn bind_using(
        &mut self,
        table: &Arc<TableDef>,
        using: &ast::Expr,
        ty: Ty,
    ) -> Result<Option<Expr>> {
        let bound = self.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            let expr = binder.bind_over_table(table, using, ExprKind::Using)?;
            let loc = expr.loc();
            binder.coerce(expr, ty, CastUse::Assignment, loc)
        })?;
        bound.map(|expr| plan::over_row(table, &expr)).transpose()
    }

    fn lasting_text(
        &mut self,
        text: &str,
        stored: Stored<'_>,
        renamed: Option<(usize, &str)>,
    ) -> Result<Option<String>> {
        Backend::lasting_text(self, text, stored, renamed)
    }

    fn check_foreign_key(&mut self, key: Arc<ForeignKey>) {
        self.events.check(key);
    }

    fn type_of(&mut self, name: &TypeName) -> Result<Ty> {
        self.with_catalog(|catalog| {
            let mut params = Params::none();
            Binder::new(catalog, &mut params).type_name(name)
        })
    }

    fn value_of(&mut self, id: TypeId, text: &str) -> Result<Datum> {
        input(id, TypeMod::NONE, text, &self.io())
    }

    fn fill_from_query(&mut self, table: &Arc<TableDef>, query: &Statement) -> Result<u64> {
        if let Some(executed) = self.executed.take() {
            return self.fill_from_run(table, executed);
        }
        match table.kind {
            // It is to yield what REFRESH will.
            TableKind::MaterializedView => {
                self.restricted_to(table.owner, RESTRICTED, |backend| backend.fill(table, query))
            }
            _ => self.fill(table, query),
        }
    }

    fn each_row_of(&mut self, view: &TableDef, take: Taking<'_>) -> Result<()> {
        self.restricted_to(view.owner, RESTRICTED, |backend| backend.hand_out(view, take))
    }

    fn view_query(&mut self, view: &TableDef) -> Result<Box<Query>> {
        let text = view.view.as_deref().unwrap_or_default();
        self.with_catalog(|catalog| {
            let statement = catalog.parse_stored(text)?;
            catalog.record = Some(Record::default());
            stored_query(catalog, &statement)
        })
    }

    fn bind_view(&mut self, query: &Statement) -> Result<(Box<Query>, Columns, Record)> {
        self.with_catalog(|catalog| {
            catalog.record = Some(Record::default());
            let query = view_query(catalog, query)?;
            let columns = columns_of(&query);
            Ok((query, columns, catalog.record.take().unwrap_or_default()))
        })
    }

    fn at_commit(&mut self, table: Oid, what: OnCommit) {
        self.on_commit.push((table, what));
    }

    fn begin_building(&mut self, command: Command) -> Working {
        let store = &self.instance.store;
        let working = store.builds().begin(self.pid, self.instance.database, command);
        self.building = Some(working.board().clone());
        working
    }

    fn building(&self) -> Option<&Arc<Building>> {
        self.building.as_ref()
    }

    fn statement_text(&self) -> Arc<str> {
        self.query_text.clone()
    }

    fn query_columns(&mut self, query: &Statement) -> Result<Columns> {
        if let Some(Executed { planned, .. }) = &self.executed {
            let fields = planned.fields.as_deref().unwrap_or_default();
            let ty = |f: &Field| Ty { id: f.type_id, modifier: f.type_mod };
            let column = |field: &Field| RelColumn {
                collation: field.collation,
                nameless: field.nameless,
                ..RelColumn::plain(field.name.clone(), ty(field))
            };
            return Ok(fields.iter().map(column).collect());
        }
        self.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            match binder.statement(query)? {
                crate::bind::Statement::Query(query) => Ok(columns_of(&query)),
                crate::bind::Statement::Modify(_) => {
                    Err(SqlError::internal("CREATE TABLE AS takes a query"))
                }
            }
        })
    }
}

/// An error where a materialized view's query yields other types than the view was made for: that of a later version of
/// the system may.
fn must_still_fit(view: &TableDef, query: &Query) -> Result<()> {
    let own = view.columns.iter().map(|column| column.ty.id);
    let now = query.visible().map(|target| target.expr.ty().id);
    // Literals without a type were made texts.
    let now = now.map(|id| if id == TypeId::UNKNOWN { TypeId::TEXT } else { id });
    if own.eq(now) {
        return Ok(());
    }
    bail!(
        DATATYPE_MISMATCH,
        "the query of materialized view \"{}\" has other columns than the view",
        view.name
    )
}

/// What a query yields, to be stored.
fn columns_of(query: &Query) -> Columns {
    query.visible().map(RelColumn::of_target).collect()
}

/// What a view is of that is there.
fn stored_query(catalog: &mut Catalog<'_>, statement: &Statement) -> Result<Box<Query>> {
    catalog.lookup.in_stored_text(true);
    let query = view_query(catalog, statement);
    catalog.lookup.in_stored_text(false);
    query
}

/// What a view is of.
fn view_query(catalog: &mut Catalog<'_>, statement: &Statement) -> Result<Box<Query>> {
    let mut params = Params::none();
    match Binder::new(catalog, &mut params).statement(statement)? {
        crate::bind::Statement::Query(query) => Ok(query),
        _ => Err(SqlError::internal("a view is of a query")),
    }
}
