//! Statements that change the catalogs.
//!
//! Every one runs inside the session's transaction: rows of the system tables change as rows do, storage
//! that is made goes away on rollback, storage that is dropped goes after the commit is durable. A changed
//! relation is noted ([`crate::catalog::store::SessionCatalog::note_change`]) after its rows are written.

mod alter;
mod alter_type;
mod build;
mod cascade;
mod collation;
mod column;
mod column_clauses;
mod column_statistics;
pub mod concurrent;
mod constraint;
mod create_table;
mod database;
mod depend;
mod drop;
mod drop_absent;
mod drop_column;
mod enums;
mod extension;
mod foreign_key;
mod generated;
mod grant;
mod identity;
mod index;
mod large;
mod like;
mod matview;
mod names;
mod owner;
mod refresh;
pub mod reindex;
mod rename;
mod rework;
mod rights;
mod role;
mod schema;
pub mod sequence;
mod set_schema;
mod truncate;
mod using_index;
mod validate;
mod view;
mod view_text;

use std::sync::Arc;

use storage::lock::LockMode;
use storage::txn::Txn;
use syntax::ast::{self, RelationRef, Statement, TypeName};

use crate::bind::query::RelColumn;
use crate::bind::{Expr, ExprKind, Query, Ty};
use crate::catalog::foreign_key::ForeignKey;
use crate::catalog::rights::Class;
use crate::catalog::store::building::{Building, Command, Phase, Told, Working};
use crate::catalog::store::lookup::TEMPORARY;
use crate::catalog::store::{PG_CATALOG, SearchPath, SessionCatalog, Store};
use crate::catalog::{Record, TableDef, TableKind, other_database};
use crate::error::{Result, SqlError, sql_error};
use crate::exec::Host;
use crate::types::acl::Privileges;
use crate::types::{Collation, Datum, Oid, TypeId};

use rework::Rework;

pub use database::{SETTINGS_INDEX, change_database_settings, settings_of};
pub use extension::{available_extension_versions, available_extensions};
pub use role::change_role_settings;
pub use schema::{
    empty_temporary_schema, empty_temporary_schema_in_steps, empty_temporary_schemas_in_steps,
    is_temporary as is_temporary_schema, temporary_schema_name,
};

/// What a query yields.
pub type Columns = Vec<RelColumn>;

/// Who takes a query's rows, one by one.
pub type Taking<'a> = &'a mut dyn FnMut(&mut dyn DdlHost, &[Datum]) -> Result<()>;

/// What an expression in the catalogs is.
#[derive(Clone, Copy)]
pub enum Stored<'a> {
    /// The DEFAULT of a column of that name and type.
    Default { column: &'a str, ty: Ty },
    /// One over the columns of a table.
    Over { table: &'a Arc<TableDef>, kind: ExprKind },
}

impl<'a> Stored<'a> {
    /// The table whose columns it may use.
    pub fn table(&self) -> Option<&'a Arc<TableDef>> {
        match self {
            Stored::Default { .. } => None,
            Stored::Over { table, .. } => Some(table),
        }
    }
}

/// The session, to a statement that changes catalogs.
pub trait DdlHost: Host {
    fn catalog(&self) -> Arc<SessionCatalog>;
    /// Does a cursor of the session itself read this relation, or a portal that has rows left?
    fn is_in_use(&self, relation: Oid) -> bool;
    /// Is a check of this table's rows put off to the transaction's end?
    fn has_pending_checks(&self, table: Oid) -> bool;
    fn search_path(&mut self) -> Result<SearchPath>;
    /// The schema of temporary relations; made when first asked for.
    fn temporary_schema(&mut self) -> Result<Oid>;
    /// The database's name.
    fn database(&self) -> &str;
    /// The role that new objects belong to.
    fn user(&self) -> Oid;
    /// The role whose session it is.
    fn session_user(&self) -> Oid;
    /// Sends a message of severity `NOTICE`, `WARNING`, …
    fn notice(&mut self, severity: &'static str, fields: SqlError);
    /// Binds a stored expression over a table's columns as slots from 0.
    fn bind_table_expr(
        &mut self,
        table: &Arc<TableDef>,
        text: &str,
        kind: ExprKind,
    ) -> Result<Expr>;
    /// Binds an expression of the statement over a table's columns; errors have their places in the statement.
    fn bind_of_statement(
        &mut self,
        table: &Arc<TableDef>,
        expr: &ast::Expr,
        kind: ExprKind,
    ) -> Result<Expr>;
    /// The type of an index's key, and what it is compared by.
    fn index_key(&mut self, table: &Arc<TableDef>, text: &str) -> Result<(Ty, Collation)>;
    /// Binds a column's DEFAULT, converted to the column's type.
    fn bind_default(&mut self, text: &str, column: &str, ty: Ty) -> Result<Expr>;
    /// Binds what a generated column (from 0) is computed by, converted to its type, over the table's columns as slots.
    fn bind_generated(&mut self, table: &Arc<TableDef>, column: usize) -> Result<Expr>;
    /// Binds what a column of a new type is computed from, converted as by assignment; `None`: it can't be.
    fn bind_using(
        &mut self,
        table: &Arc<TableDef>,
        using: &ast::Expr,
        ty: Ty,
    ) -> Result<Option<Expr>>;
    /// An expression's text that means the same to every session, a column (from 0) renamed if so asked;
    /// `None` if there is none.
    fn lasting_text(
        &mut self,
        text: &str,
        stored: Stored<'_>,
        renamed: Option<(usize, &str)>,
    ) -> Result<Option<String>>;
    fn type_of(&mut self, name: &TypeName) -> Result<Ty>;
    /// Reads a text as a value of a type.
    fn value_of(&mut self, id: TypeId, text: &str) -> Result<Datum>;
    /// The table's rows must be found to meet this key when the statement is done.
    fn check_foreign_key(&mut self, key: Arc<ForeignKey>);
    /// Runs a query's plan into a table: CREATE TABLE AS. The number of rows.
    fn fill_from_query(&mut self, table: &Arc<TableDef>, query: &Statement) -> Result<u64>;
    /// Runs the query of a materialized view as its owner, and hands out its rows.
    fn each_row_of(&mut self, view: &TableDef, take: Taking<'_>) -> Result<()>;
    /// The columns that a query yields.
    fn query_columns(&mut self, query: &Statement) -> Result<Columns>;
    /// A query that is to be a view's: what it yields, and what its text leaves open.
    fn bind_view(&mut self, query: &Statement) -> Result<(Box<Query>, Columns, Record)>;
    /// What a view's query is now, views in it being relations like others.
    fn view_query(&mut self, view: &TableDef) -> Result<Box<Query>>;
    /// What each commit is to do to a temporary table.
    fn at_commit(&mut self, table: Oid, what: ast::OnCommit);
    /// The statement at hand makes indexes, until what is returned is dropped.
    fn begin_building(&mut self, command: Command) -> Working;
    /// Where a statement that makes indexes tells how far it is.
    fn building(&self) -> Option<&Arc<Building>>;
    /// The text of the statement at hand, and maybe of others beside it.
    fn statement_text(&self) -> Arc<str>;
}

/// What the parts of this module share while one statement runs.
pub struct Ddl<'a> {
    pub host: &'a mut dyn DdlHost,
    pub catalog: Arc<SessionCatalog>,
    /// What ALTER TABLE has come to do with the rows.
    rework: Option<Rework>,
}

impl<'a> Ddl<'a> {
    pub(super) fn new(host: &'a mut dyn DdlHost) -> Ddl<'a> {
        let catalog = host.catalog();
        Ddl { host, catalog, rework: None }
    }
}

/// Runs a statement if it is one of ours; its command tag.
pub fn execute(host: &mut dyn DdlHost, statement: &Statement) -> Option<Result<String>> {
    let mut ddl = Ddl::new(host);
    let tag = |tag: &str| tag.to_owned();
    Some(match statement {
        Statement::CreateTable(s) => ddl.create_table(s).map(|()| tag("CREATE TABLE")),
        Statement::CreateTableAs(s) => ddl.create_table_as(s),
        Statement::RefreshMaterializedView(s) => {
            ddl.refresh(s).map(|()| tag("REFRESH MATERIALIZED VIEW"))
        }
        Statement::AlterTable(s) => ddl.alter_table(s),
        Statement::CreateIndex(s) => ddl.create_index(s).map(|()| tag("CREATE INDEX")),
        Statement::CreateSequence(s) => ddl.create_sequence(s).map(|()| tag("CREATE SEQUENCE")),
        Statement::AlterSequence(s) => ddl.alter_sequence(s).map(|()| tag("ALTER SEQUENCE")),
        Statement::CreateSchema(s) => ddl.create_schema(s).map(|()| tag("CREATE SCHEMA")),
        Statement::CreateExtension(s) => ddl.create_extension(s).map(|()| tag("CREATE EXTENSION")),
        Statement::CreateView(s) => ddl.create_view(s).map(|()| tag("CREATE VIEW")),
        Statement::CreateDatabase(s) => ddl.create_database(s).map(|()| tag("CREATE DATABASE")),
        Statement::DropDatabase(s) => ddl.drop_database(s).map(|()| tag("DROP DATABASE")),
        Statement::AlterDatabase(s) => ddl.alter_database(s).map(|()| tag("ALTER DATABASE")),
        Statement::AlterOwner(s) => return ddl.alter_owner(s),
        Statement::Drop(s) => ddl.drop(s),
        Statement::Rename(s) => ddl.rename(s),
        Statement::Truncate(s) => ddl.truncate(s).map(|()| tag("TRUNCATE TABLE")),
        Statement::Reindex(s) => ddl.reindex(s).map(|()| tag("REINDEX")),
        Statement::Comment(s) => ddl.comment(s).map(|()| tag("COMMENT")),
        Statement::AlterObjectSchema(s) if set_schema::tag_of(s.kind).is_some() => {
            ddl.set_schema(s)
        }
        other => {
            let done = ddl.enum_statement(other).or_else(|| ddl.collation_statement(other));
            return done.or_else(|| ddl.role_statement(other));
        }
    })
}

/// VACUUM FULL of a table that the caller has locked alone.
pub fn compact(host: &mut dyn DdlHost, table: Oid) -> Result<()> {
    Ddl::new(host).compact(table)
}

/// Whether CREATE TABLE AS would make its table; not, where there is one and it says IF NOT EXISTS.
///
/// # Errors
/// `42P07` where there is one otherwise.
pub fn would_create(host: &mut dyn DdlHost, create: &ast::CreateTableAs) -> Result<bool> {
    Ok(Ddl::new(host).place_as(create)?.is_some())
}

impl Ddl<'_> {
    /// The text by which an expression that somebody wrote is stored: as it was written, where there is no
    /// better.
    fn text_to_store(&mut self, text: String, stored: Stored<'_>) -> Result<String> {
        Ok(self.host.lasting_text(&text, stored, None)?.unwrap_or(text))
    }

    /// An expression of the statement over a table's columns: as it is stored, and bound.
    fn expr_to_store(
        &mut self,
        expr: &ast::Expr,
        table: &Arc<TableDef>,
        kind: ExprKind,
    ) -> Result<(String, Expr)> {
        let bound = self.host.bind_of_statement(table, expr, kind)?;
        let text = self.text_to_store(text_of(expr)?, Stored::Over { table, kind })?;
        Ok((text, bound))
    }

    fn txn(&self) -> &Txn {
        self.host.txn()
    }

    /// Tells those who watch how far the making of an index is.
    fn tell(&self, what: Told, value: i64) {
        if let Some(building) = self.host.building() {
            building.tell(what, value);
        }
    }

    /// Likewise what it is at.
    fn enters(&self, phase: Phase) {
        if let Some(building) = self.host.building() {
            building.enter(phase);
        }
    }

    fn store(&self) -> &Store {
        &self.catalog.instance.store
    }

    fn new_oid(&self) -> Result<Oid> {
        Ok(Oid(self.store().engine.oids().allocate()?))
    }

    /// Notes a changed relation.
    fn changed(&self, oid: Oid) -> Result<()> {
        self.catalog.note_change(self.host.txn(), oid)
    }

    /// A table's definition as this statement has left it.
    fn table(&self, oid: Oid) -> Result<Arc<TableDef>> {
        let table = self.catalog.table(self.host.txn(), oid)?;
        table.ok_or_else(|| sql_error!(INTERNAL_ERROR, "relation {oid} is gone"))
    }

    /// A relation by name under a lock, or `None`.
    fn find(&mut self, name: &RelationRef, mode: LockMode) -> Result<Option<Arc<TableDef>>> {
        self.refuse_other_database(name)?;
        let path = self.host.search_path()?;
        let txn = self.host.txn();
        self.catalog.open(txn, &path, name.schema.as_deref(), &name.name, mode)
    }

    /// A relation by name under a lock; `42P01` without one.
    fn open(&mut self, name: &RelationRef, mode: LockMode) -> Result<Arc<TableDef>> {
        self.find(name, mode)?.ok_or_else(|| self.no_relation(name))
    }

    fn no_relation(&self, name: &RelationRef) -> SqlError {
        self.catalog.no_relation(self.host.txn(), name.schema.as_deref(), &name.name)
    }

    /// There is no such relation: an error, or with IF EXISTS a notice.
    fn without_relation(&mut self, name: &RelationRef, if_exists: bool) -> Result<()> {
        let error = match if_exists {
            true => sql_error!(UNDEFINED_TABLE, "relation \"{}\" does not exist", name.name),
            false => self.no_relation(name),
        };
        self.skip(error, if_exists)
    }

    /// A statement stays in its database.
    fn refuse_other_database(&self, name: &RelationRef) -> Result<()> {
        match &name.catalog {
            Some(catalog) if **catalog != *self.host.database() => {
                Err(other_database(name, catalog))
            }
            _ => Ok(()),
        }
    }

    /// The schema that a new relation goes to, and how long it is there: what is made in the schema of temporary
    /// relations is one.
    fn creation_schema(
        &mut self,
        name: &RelationRef,
        persistence: ast::Persistence,
    ) -> Result<(Oid, ast::Persistence)> {
        self.refuse_other_database(name)?;
        let schema = self.wanted_schema(name, persistence)?;
        let persistence = self.persistence_in(schema, persistence)?;
        if persistence != ast::Persistence::Temporary {
            self.must_have(Class::Schema, schema, Privileges::CREATE)?;
        }
        if schema == PG_CATALOG {
            let refused = sql_error!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create \"pg_catalog.{}\"",
                name.name
            );
            return Err(
                refused.with_detail("System catalog modifications are currently disallowed.")
            );
        }
        if persistence == ast::Persistence::Temporary
            || self.catalog.lock_schema(self.host.txn(), schema, LockMode::AccessShare)?
        {
            return Ok((schema, persistence));
        }
        Err(name.schema.as_deref().map_or_else(no_schema_selected, no_schema))
    }

    fn wanted_schema(&mut self, name: &RelationRef, persistence: ast::Persistence) -> Result<Oid> {
        let path = self.host.search_path()?;
        let is_temporary = match name.schema.as_deref() {
            Some(schema) => schema == TEMPORARY,
            None => persistence == ast::Persistence::Temporary || path.creates_temporary,
        };
        match name.schema.as_deref() {
            _ if is_temporary => self.host.temporary_schema(),
            Some(schema) => self.named_schema(schema),
            None => path.creation.ok_or_else(no_schema_selected),
        }
    }

    /// A schema that a statement names before an object; `3F000` without one.
    fn named_schema(&self, schema: &str) -> Result<Oid> {
        let found = self.catalog.named_schema(self.host.txn(), schema)?;
        found.ok_or_else(|| no_schema(schema))
    }

    fn persistence_in(&self, schema: Oid, wanted: ast::Persistence) -> Result<ast::Persistence> {
        let is_own = self.catalog.temporary() == Some(schema);
        let is_temporary =
            is_own || is_temporary_schema(&self.store().schema_name(self.txn(), schema)?);
        let wrong = match wanted {
            ast::Persistence::Unlogged if is_temporary => {
                "only temporary relations may be created in temporary schemas"
            }
            ast::Persistence::Temporary if !is_temporary => {
                "cannot create temporary relation in non-temporary schema"
            }
            _ if is_own => return Ok(ast::Persistence::Temporary),
            _ if is_temporary => "cannot create relations in temporary schemas of other sessions",
            _ => return Ok(wanted),
        };
        Err(sql_error!(INVALID_TABLE_DEFINITION, "{wrong}"))
    }

    /// What a cursor of the session reads stays as it is, and so do rows that are yet to be checked. Another session's
    /// temporary table can only be dropped.
    fn must_not_be_in_use(&self, table: &TableDef, command: &str) -> Result<()> {
        let verb = match command {
            "CREATE INDEX" => "create indexes on",
            "TRUNCATE" => "truncate",
            _ => "alter",
        };
        if command != "DROP TABLE" && self.catalog.is_anothers(table) {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "cannot {verb} temporary tables of other sessions"
            ));
        }
        // Cursors read what is below views.
        if table.kind != TableKind::View && self.host.is_in_use(table.oid) {
            return Err(sql_error!(
                OBJECT_IN_USE,
                "cannot {command} \"{}\" because it is being used by active queries in this session",
                table.name
            ));
        }
        if self.host.has_pending_checks(table.oid) {
            return Err(sql_error!(
                OBJECT_IN_USE,
                "cannot {command} \"{}\" because it has pending trigger events",
                table.name
            ));
        }
        Ok(())
    }

    /// What IF EXISTS makes of an error: a notice, and the statement leaves it at that.
    fn skip(&mut self, error: SqlError, if_exists: bool) -> Result<()> {
        if !if_exists {
            return Err(error);
        }
        let text = format!("{}, skipping", error.message());
        self.host.notice("NOTICE", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
        Ok(())
    }

    /// Only tables that users made can be changed.
    fn must_be_user_table(&self, table: &TableDef) -> Result<()> {
        if table.is_catalog() {
            return Err(sql_error!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                table.name
            ));
        }
        Ok(())
    }
}

/// Of a stored text no place is one in the statement.
fn without_place<T>(bound: Result<T>) -> Result<T> {
    bound.map_err(|mut error| {
        error.fields_mut().position = None;
        error
    })
}

fn no_schema(name: &str) -> SqlError {
    sql_error!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist")
}

fn no_schema_selected() -> SqlError {
    sql_error!(UNDEFINED_SCHEMA, "no schema has been selected to create in")
}

/// `column "x" of relation "t" does not exist`.
fn no_column(table: &TableDef, name: &str) -> SqlError {
    sql_error!(UNDEFINED_COLUMN, "column \"{name}\" of relation \"{}\" does not exist", table.name)
}

/// An expression as it is stored. What can't be stored (a sub-select) the binder would refuse anyway.
pub(super) fn text_of(expr: &ast::Expr) -> Result<String> {
    syntax::deparse::expr(expr, syntax::deparse::Style::Untyped).ok_or_else(|| {
        sql_error!(FEATURE_NOT_SUPPORTED, "this expression cannot be stored in a catalog")
    })
}
