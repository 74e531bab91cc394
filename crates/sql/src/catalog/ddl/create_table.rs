//! CREATE TABLE, and CREATE TABLE AS.

use base::ids::Persistence;
use base::rank::Rank;
use storage::lock::LockMode;
use syntax::ast::{
    self, Constraint, ConstraintKind, CreateTable, CreateTableAs, OnCommit, TableElement,
};

use crate::bind::Ty;
use crate::bind::query::RelColumn;
use crate::catalog::TableKind;
use crate::catalog::parameters::{self, Of};
use crate::catalog::rights::Class;
use crate::catalog::store::builtin::{HEAP_AM, attribute_row, class_row, row_type_row};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Array, Datum, Oid, TypeId};

use super::column::{NewColumn, are_named_apart, check_column_name, check_type_of, has_room_for};
use super::like::Place;
use super::{Columns, Ddl};

/// From the syntax tree's to storage's.
pub(super) fn persistence(p: ast::Persistence) -> Persistence {
    match p {
        ast::Persistence::Permanent => Persistence::Permanent,
        ast::Persistence::Unlogged => Persistence::Unlogged,
        ast::Persistence::Temporary => Persistence::Temporary,
    }
}

/// And back.
pub(super) fn persistence_word(p: Persistence) -> ast::Persistence {
    match p {
        Persistence::Permanent => ast::Persistence::Permanent,
        Persistence::Unlogged => ast::Persistence::Unlogged,
        Persistence::Temporary => ast::Persistence::Temporary,
    }
}

/// `pg_class.relpersistence`.
pub(super) fn persistence_letter(p: Persistence) -> u8 {
    match p {
        Persistence::Permanent => b'p',
        Persistence::Unlogged => b'u',
        Persistence::Temporary => b't',
    }
}

impl Ddl<'_> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<()> {
        refuse_unsupported(create)?;
        let name = &create.relation.name;
        let of = &create.relation;
        let place = self.creation_schema(of, create.persistence);
        let (schema, lasts) = place.map_err(|error| crate::bind::at(error, of.loc))?;
        if self.name_is_taken(schema, name, create.if_not_exists)? {
            return Ok(());
        }
        self.check_tablespace_of_relation(create.tablespace.as_deref())?;
        let persistence = persistence(lasts);
        let parameters = parameters::read(Of::Table, &create.options)?;
        // Its sequences are older, as in PostgreSQL: what depends on both is told in that order.
        let (columns, constraints) = self.collect(create, schema, lasts)?;
        // One of them may have been given the table's name.
        self.name_is_taken(schema, name, false)?;
        let oid = self.new_oid()?;
        self.new_table(oid, name, schema, persistence, &columns, TableKind::Table)?;
        if !parameters.is_empty() {
            self.set_parameters(oid, &parameters)?;
        }
        self.at_commit(oid, persistence, create.on_commit)?;
        for (i, column) in columns.iter().enumerate() {
            self.finish_column(oid, i as i16 + 1, column)?;
        }
        self.changed(oid)?;
        for (i, column) in columns.iter().enumerate() {
            self.set_generated(oid, i as i16 + 1, column)?;
        }
        for element in &create.elements {
            if let TableElement::Like(like) = element {
                self.like_whole(oid, like)?;
            }
        }
        for constraint in &constraints {
            self.add_constraint(oid, constraint)?;
        }
        self.changed(oid)
    }

    /// Whether a relation of this name is there: an error, or with IF NOT EXISTS a notice.
    pub(super) fn name_is_taken(
        &mut self,
        schema: Oid,
        name: &str,
        if_not_exists: bool,
    ) -> Result<bool> {
        if self.catalog.relation_oid(self.host.txn(), schema, name)?.is_none() {
            return Ok(false);
        }
        if !if_not_exists {
            return Err(sql_error!(DUPLICATE_TABLE, "relation \"{name}\" already exists"));
        }
        let fields = sql_error!(DUPLICATE_TABLE, "relation \"{name}\" already exists, skipping");
        self.host.notice("NOTICE", fields);
        Ok(true)
    }

    /// Columns in order, and table constraints, those written at columns included.
    fn collect(
        &mut self,
        create: &CreateTable,
        schema: Oid,
        persistence: ast::Persistence,
    ) -> Result<(Vec<NewColumn>, Vec<Constraint>)> {
        let table = &create.relation.name;
        let place = Place { table, schema, persistence };
        let mut columns: Vec<NewColumn> = Vec::new();
        let mut constraints = Vec::new();
        for element in &create.elements {
            match element {
                TableElement::Column(def) => {
                    let column =
                        self.new_column(def, table, schema, persistence, &mut constraints)?;
                    columns.push(column);
                }
                // A table without rows meets it, whatever is said.
                TableElement::Constraint(constraint) => {
                    constraints.push(Constraint { not_valid: false, ..constraint.clone() })
                }
                TableElement::Like(like) => self.like(like, &place, &mut columns)?,
            }
        }
        are_named_apart(columns.iter().map(|column| &*column.name))?;
        let primary: Vec<&Constraint> = constraints
            .iter()
            .filter(|c| matches!(c.kind, ConstraintKind::PrimaryKey(_)))
            .collect();
        if let [_, second, ..] = primary[..] {
            let error = sql_error!(
                INVALID_TABLE_DEFINITION,
                "multiple primary keys for table \"{table}\" are not allowed"
            );
            return Err(crate::bind::at(error, second.loc));
        }
        checks_are_named_apart(&constraints)?;
        // Columns of the primary key can't be null.
        for constraint in &primary {
            let ConstraintKind::PrimaryKey(key) = &constraint.kind else { continue };
            for column in columns.iter_mut().filter(|c| key.columns.contains(&c.name)) {
                column.not_null = true;
            }
        }
        // Primary key first, then unique, then the rest: the order in which names are picked.
        constraints.sort_by_key(|c| match c.kind {
            ConstraintKind::PrimaryKey(_) => 1,
            ConstraintKind::Unique(_) => 2,
            ConstraintKind::Check(_) => 0,
            _ if super::foreign_key::is_foreign(c) => 4,
            _ => 3,
        });
        Ok((columns, constraints))
    }

    /// Writes the rows of a new table, or materialized view (and of its row type), and makes its storage.
    pub(super) fn new_table(
        &mut self,
        oid: Oid,
        name: &str,
        schema: Oid,
        persistence: Persistence,
        columns: &[NewColumn],
        kind: TableKind,
    ) -> Result<()> {
        has_room_for(columns.len())?;
        self.row_type_is_new(schema, name)?;
        columns.iter().try_for_each(|column| self.hold_type(column.ty.id))?;
        // As PostgreSQL does: who comes by the OID before this is certain waits, or leaves it alone.
        self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
        let row_type = TypeId(self.new_oid()?.0);
        let types = columns.iter().map(|column| column.ty);
        let toast = self.toast_of_new(oid, persistence, types)?;
        let letter = if kind == TableKind::MaterializedView { b'm' } else { b'r' };
        let owner = self.host.user();
        let txn = self.host.txn();
        let store = self.store();
        let storage = store.create_storage(txn, persistence, Rank::HeapPage)?;
        let class = class_row(oid, name, schema, letter, columns.len())
            .oid("relam", HEAP_AM)
            .oid("reltype", row_type.oid())
            .oid("relowner", owner)
            .set("relacl", self.new_acl(Class::Table, owner, schema)?)
            .oid("relfilenode", Oid(storage.0))
            .oid("reltoastrelid", toast)
            .letter("relpersistence", persistence_letter(persistence));
        store.insert(txn, "pg_class", &class.build())?;
        store.insert(txn, "pg_type", &row_type_row(row_type, name, schema, oid, owner))?;
        for (i, column) in columns.iter().enumerate() {
            let row = attribute_row(oid, i as i16 + 1, &column.name, column.ty, column.collation)
                .set("attnotnull", column.not_null);
            store.insert(txn, "pg_attribute", &row.build())?;
        }
        Ok(())
    }

    /// What becomes of a new table at each commit.
    fn at_commit(
        &mut self,
        oid: Oid,
        persistence: Persistence,
        what: Option<OnCommit>,
    ) -> Result<()> {
        let Some(what) = what else { return Ok(()) };
        if persistence != Persistence::Temporary {
            return Err(sql_error!(
                INVALID_TABLE_DEFINITION,
                "ON COMMIT can only be used on temporary tables"
            ));
        }
        if what != OnCommit::PreserveRows {
            self.host.at_commit(oid, what);
        }
        Ok(())
    }

    /// Writes `pg_class.reloptions`.
    pub(super) fn set_parameters(&mut self, oid: Oid, lines: &[String]) -> Result<()> {
        self.update_class(oid, &[("reloptions", parameters_value(lines))])
    }

    /// Where CREATE TABLE AS, or CREATE MATERIALIZED VIEW, makes its table; `None`: there is one of that name, and that is
    /// all right.
    ///
    /// # Errors
    /// `42P07` if it is not.
    pub(super) fn place_as(
        &mut self,
        create: &CreateTableAs,
    ) -> Result<Option<(Oid, ast::Persistence)>> {
        let into = &create.into;
        let (schema, lasts) = self.creation_schema(&into.relation, into.persistence)?;
        let taken = self.name_is_taken(schema, &into.relation.name, create.if_not_exists)?;
        Ok((!taken).then_some((schema, lasts)))
    }

    pub(super) fn create_table_as(&mut self, create: &CreateTableAs) -> Result<String> {
        if create.materialized_view {
            return self.create_materialized_view(create);
        }
        let Some((schema, lasts)) = self.place_as(create)? else {
            return Ok("CREATE TABLE AS".to_owned());
        };
        let into = &create.into;
        let name = &into.relation.name;
        check_access_method(into.access_method.as_deref())?;
        self.check_tablespace_of_relation(into.tablespace.as_deref())?;
        let columns = self.host.query_columns(&create.query)?;
        let columns = self.named_columns(create, columns)?;
        let oid = self.new_oid()?;
        let parameters = parameters::read(Of::Table, &into.options)?;
        let persistence = persistence(lasts);
        self.new_table(oid, name, schema, persistence, &columns, TableKind::Table)?;
        if !parameters.is_empty() {
            self.set_parameters(oid, &parameters)?;
        }
        self.at_commit(oid, persistence, into.on_commit)?;
        self.changed(oid)?;
        let table = self.table(oid)?;
        if into.no_data {
            return Ok("CREATE TABLE AS".to_owned());
        }
        let rows = self.host.fill_from_query(&table, &create.query)?;
        Ok(format!("SELECT {rows}"))
    }

    /// The columns of the table that CREATE TABLE AS makes of those that its query yields.
    pub(super) fn named_columns(
        &self,
        create: &CreateTableAs,
        mut columns: Columns,
    ) -> Result<Vec<NewColumn>> {
        let names = &create.into.columns;
        if names.len() > columns.len() {
            return Err(sql_error!(SYNTAX_ERROR, "too many column names were specified"));
        }
        for (column, name) in columns.iter_mut().zip(names) {
            column.name = name.clone();
        }
        for column in &mut columns {
            if column.ty.id == TypeId::UNKNOWN {
                (column.ty.id, column.collation) = (TypeId::TEXT, Ty::TEXT.collation());
            }
            if column.is_open() {
                return Err(underived(&column.name, column.ty));
            }
        }
        has_room_for(columns.len())?;
        are_named_apart(columns.iter().map(|column| &*column.name))?;
        columns.iter().try_for_each(|column| check_column_name(&column.name))?;
        columns.iter().try_for_each(check_type_of)?;
        let new = |column: RelColumn| {
            let collation = column.collation;
            NewColumn { collation, ..NewColumn::plain(column.name, column.ty) }
        };
        Ok(columns.into_iter().map(new).collect())
    }
}

/// A column of a query's result can't be stored without a collation.
fn underived(column: &str, ty: Ty) -> SqlError {
    sql_error!(
        INDETERMINATE_COLLATION,
        "no collation was derived for column \"{column}\" with collatable type {}",
        crate::bind::display(ty)
    )
    .with_hint("Use the COLLATE clause to set the collation explicitly.")
}

/// Storage parameters as `pg_class.reloptions` has them.
pub(super) fn parameters_value(lines: &[String]) -> Datum {
    match lines {
        [] => Datum::Null,
        lines => {
            let lines = lines.iter().map(|line| Datum::text(line.as_str())).collect();
            Datum::from(Array::from_elements(TypeId::TEXT, lines))
        }
    }
}

fn refuse_unsupported(create: &CreateTable) -> Result<()> {
    let refused = [
        (create.partition_by.is_some() || create.partition_of.is_some(), "partitioned tables are"),
        (!create.inherits.is_empty(), "table inheritance is"),
        (create.of_type.is_some(), "typed tables are"),
    ];
    for (asked, what) in refused {
        if asked {
            return Err(sql_error!(FEATURE_NOT_SUPPORTED, "{what} not supported")
                .with_hint("See docs/compatibility.md for what this version supports."));
        }
    }
    check_access_method(create.access_method.as_deref())
}

pub(super) fn check_access_method(method: Option<&str>) -> Result<()> {
    match method {
        None | Some("heap") => Ok(()),
        Some(method @ ("btree" | "hash")) => Err(sql_error!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "access method \"{method}\" is not of type TABLE"
        )),
        Some(method) => {
            Err(sql_error!(UNDEFINED_OBJECT, "access method \"{method}\" does not exist"))
        }
    }
}

/// What rows written before hold in a new column: a constant default's value, in the one-element array that
/// `pg_attribute.attmissingval` is.
pub(super) fn missing_value(ty: Ty, value: Datum) -> Datum {
    Datum::from(crate::types::Array::from_elements(ty.id, vec![value]))
}

/// `42710` for two conditions of one name.
fn checks_are_named_apart(constraints: &[Constraint]) -> Result<()> {
    let is_check = |constraint: &&Constraint| matches!(constraint.kind, ConstraintKind::Check(_));
    let mut names: Vec<_> =
        constraints.iter().filter(is_check).filter_map(|c| c.name.as_deref()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            bail!(DUPLICATE_OBJECT, "check constraint \"{}\" already exists", pair[0])
        }
        None => Ok(()),
    }
}
