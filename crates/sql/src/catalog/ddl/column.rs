//! A new column: its type, its constraints sorted apart, its default, the sequence behind it.

use base::hash::HashSet;
use syntax::ast::{
    self, ColumnDef, Constraint, ConstraintKind, QualifiedName, SequenceOption, SequenceOptionKind,
};

use crate::bind::query::RelColumn;
use crate::bind::{Expr, Ty};
use crate::catalog::collation;
use crate::catalog::store::row::RowBuilder;
use crate::error::{Result, SqlError, sql_error};
use crate::types::row::MAX_COLUMNS;
use crate::types::{Collation, Datum, Oid, TypeId, TypeInfo};

use super::{Ddl, Stored, column_clauses, names};

/// A column to be made.
pub(super) struct NewColumn {
    pub name: Box<str>,
    pub ty: Ty,
    pub collation: Collation,
    pub not_null: bool,
    /// As text.
    pub default: Option<Box<str>>,
    /// The default is what a generated column is computed by.
    pub generated: bool,
    /// `a`lways or by `d`efault.
    pub identity: Option<u8>,
    /// The sequence made for serial or identity.
    pub owned_sequence: Option<Oid>,
}

impl NewColumn {
    /// A column of this type and nothing else.
    pub(super) fn plain(name: Box<str>, ty: Ty) -> NewColumn {
        NewColumn {
            name,
            ty,
            collation: ty.collation(),
            not_null: false,
            default: None,
            generated: false,
            identity: None,
            owned_sequence: None,
        }
    }
}

/// `serial` and its kin: the integer type behind the word.
fn serial_type(def: &ColumnDef) -> Option<TypeId> {
    let name = def.type_name.as_ref()?;
    if !name.array_bounds.is_empty() {
        return None;
    }
    match name.name.as_bare()? {
        "smallserial" | "serial2" => Some(TypeId::INT2),
        "serial" | "serial4" => Some(TypeId::INT4),
        "bigserial" | "serial8" => Some(TypeId::INT8),
        _ => None,
    }
}

impl Ddl<'_> {
    /// Works a column definition out. Constraints of the column go to `constraints` as table constraints.
    pub(super) fn new_column(
        &mut self,
        def: &ColumnDef,
        table: &str,
        schema: Oid,
        persistence: ast::Persistence,
        constraints: &mut Vec<Constraint>,
    ) -> Result<NewColumn> {
        let serial = serial_type(def);
        let ty = match (serial, &def.type_name) {
            (Some(id), _) => Ty::of(id),
            (None, Some(name)) => self.host.type_of(name)?,
            (None, None) => return Err(sql_error!(SYNTAX_ERROR, "a column needs a type")),
        };
        let mut column = NewColumn::plain(def.name.clone(), ty);
        if let Some(name) = &def.collation {
            column.collation = self
                .column_collation(ty, name)
                .map_err(|error| crate::bind::at(error, name.loc))?;
        }
        column.not_null = column_clauses::check(def, table, serial.is_some())?;
        check_column_name(&def.name)?;
        check_column_type(&def.name, ty)?;
        self.hold_type(ty.id)?;
        for constraint in &def.constraints {
            match &constraint.kind {
                ConstraintKind::Null | ConstraintKind::NotNull { .. } => {}
                ConstraintKind::Default(expr) => {
                    column.default = Some(super::text_of(expr)?.into());
                }
                ConstraintKind::Identity { always, options } => {
                    column.identity = Some(if *always { b'a' } else { b'd' });
                    let sequence = self.column_sequence(
                        table,
                        &def.name,
                        ty.id,
                        schema,
                        persistence,
                        options,
                    )?;
                    column.owned_sequence = Some(sequence.0);
                }
                ConstraintKind::Generated { stored: false, .. } => {
                    return Err(sql_error!(
                        FEATURE_NOT_SUPPORTED,
                        "virtual generated columns are not supported"
                    ));
                }
                ConstraintKind::Generated { expr, .. } => {
                    let Ok(text) = super::text_of(expr) else {
                        return Err(sql_error!(
                            FEATURE_NOT_SUPPORTED,
                            "cannot use subquery in column generation expression"
                        ));
                    };
                    column.default = Some(text.into());
                    column.generated = true;
                }
                _ => constraints.push(on_column(constraint, &def.name)),
            }
        }
        if serial.is_some() {
            let (oid, name) =
                self.column_sequence(table, &def.name, ty.id, schema, persistence, &[])?;
            let qualified = self.qualified_for_default(schema, &name)?;
            column.default = Some(format!("nextval('{qualified}'::regclass)").into());
            column.owned_sequence = Some(oid);
        }
        Ok(column)
    }

    /// The collation that a column of this type is given.
    pub(super) fn column_collation(&mut self, ty: Ty, name: &QualifiedName) -> Result<Collation> {
        collation::check_for(ty.id).and_then(|()| self.collation(name)).map(|named| named.collation)
    }

    /// A sequence's name as a default refers to it: qualified unless its schema is searched.
    fn qualified_for_default(&mut self, schema: Oid, name: &str) -> Result<String> {
        let path = self.host.search_path()?;
        let quoted = syntax::deparse::quote_ident(name).replace('\'', "''");
        if path.schemas.contains(&schema) {
            return Ok(quoted);
        }
        let schema = self.store().schema_name(self.txn(), schema)?;
        Ok(format!("{}.{quoted}", syntax::deparse::quote_ident(&schema)))
    }

    /// Makes the sequence behind a serial or identity column.
    pub(super) fn column_sequence(
        &mut self,
        table: &str,
        column: &str,
        type_id: TypeId,
        schema: Oid,
        persistence: ast::Persistence,
        options: &[SequenceOption],
    ) -> Result<(Oid, String)> {
        if !matches!(type_id, TypeId::INT2 | TypeId::INT4 | TypeId::INT8) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "identity column type must be smallint, integer, or bigint"
            ));
        }
        let chosen = options.iter().find_map(|o| match &o.kind {
            SequenceOptionKind::SequenceName(name) => Some(name),
            _ => None,
        });
        let name = match chosen {
            Some(name) => self.chosen_name(name, schema)?,
            None => {
                let txn = self.host.txn();
                names::free_relation_name(&self.catalog, txn, schema, table, Some(column), "seq")?
            }
        };
        let persistence = super::create_table::persistence(persistence);
        let oid = self.new_sequence(&name, schema, persistence, Some(type_id), options)?;
        Ok((oid, name))
    }

    /// The name that a statement gives the sequence behind a column: one that is free, in the schema of the table.
    fn chosen_name(&mut self, name: &QualifiedName, schema: Oid) -> Result<String> {
        let own = match name.schema() {
            Some(named) => self.named_schema(named)?,
            None => schema,
        };
        self.name_is_taken(own, name.last(), false)?;
        if own != schema {
            return Err(in_other_schema());
        }
        Ok(name.last().to_owned())
    }

    /// What follows a new column's `pg_attribute` row: default, identity, ownership of its sequence.
    pub(super) fn finish_column(
        &mut self,
        table: Oid,
        number: i16,
        column: &NewColumn,
    ) -> Result<()> {
        if let Some(default) = column.default.as_ref().filter(|_| !column.generated) {
            let text = self.default_to_store(default, &column.name, column.ty)?;
            self.set_default(table, number, text.as_deref())?;
            if let Some(text) = text {
                self.depend_on_named(table, number, &text, &column.name, column.ty)?;
            }
        }
        if let Some(letter) = column.identity {
            let changes = [("attidentity", Datum::Char(letter))];
            self.update_attribute(table, number, &changes)?;
        }
        if let Some(sequence) = column.owned_sequence {
            let kind = if column.identity.is_some() { b'i' } else { b'a' };
            self.depend_on_column(sequence, table, number, kind)?;
        }
        Ok(())
    }

    /// What to store for a default that somebody wrote: nothing, if it is null.
    pub(super) fn default_to_store(
        &mut self,
        text: &str,
        column: &str,
        ty: Ty,
    ) -> Result<Option<String>> {
        if let Expr::Const(value) = self.host.bind_default(text, column, ty)?
            && value.value.is_null()
        {
            return Ok(None);
        }
        self.text_to_store(text.to_owned(), Stored::Default { column, ty }).map(Some)
    }

    /// Replaces, sets or removes a column's stored default.
    pub(super) fn set_default(
        &mut self,
        table: Oid,
        number: i16,
        default: Option<&str>,
    ) -> Result<()> {
        let oid = self.new_oid()?;
        self.forget_defaults(&[Datum::Oid(table), Datum::Int2(number)])?;
        let (txn, store) = (self.txn(), self.store());
        if let Some(default) = default {
            let row = RowBuilder::of("pg_attrdef")
                .oid("oid", oid)
                .oid("adrelid", table)
                .set("adnum", number)
                .set("adbin", default);
            store.insert(txn, "pg_attrdef", &row.build())?;
        }
        self.txn().next_command()?;
        self.update_attribute(table, number, &[("atthasdef", Datum::Bool(default.is_some()))])
    }

    /// Changes a column's `pg_attribute` row.
    pub(super) fn update_attribute(
        &mut self,
        table: Oid,
        number: i16,
        changes: &[(&str, Datum)],
    ) -> Result<()> {
        // Rows that this statement wrote are visible from the next command on.
        self.txn().next_command()?;
        let txn = self.host.txn();
        let store = self.store();
        let key = [Datum::Oid(table), Datum::Int2(number)];
        let index = "pg_attribute_relid_attnum_index";
        let found = store.find_one(txn, "pg_attribute", index, &key)?;
        let found = found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "column {number} is gone"))?;
        store.update_columns(txn, "pg_attribute", &found, changes)
    }
}

/// A column's constraint as a constraint of its table.
pub(super) fn on_column(constraint: &Constraint, column: &str) -> Constraint {
    let mut constraint = constraint.clone();
    match &mut constraint.kind {
        ConstraintKind::PrimaryKey(key) | ConstraintKind::Unique(key) if key.columns.is_empty() => {
            key.columns.push(column.into());
        }
        ConstraintKind::ForeignKey(key) if key.columns.is_empty() => {
            key.columns.push(column.into());
        }
        _ => {}
    }
    constraint
}

/// `55000` for a sequence that would go with a column of a table elsewhere.
pub(super) fn in_other_schema() -> SqlError {
    sql_error!(
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "sequence must be in same schema as table it is linked to"
    )
}

/// The columns that every table has.
pub(super) const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// `42701` for a column that would be called as one that every table has.
pub(super) fn check_column_name(name: &str) -> Result<()> {
    if SYSTEM_COLUMNS.contains(&name) {
        return Err(sql_error!(
            DUPLICATE_COLUMN,
            "column name \"{name}\" conflicts with a system column name"
        ));
    }
    Ok(())
}

/// `42701` for a name that two columns have.
pub(super) fn are_named_apart<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut seen = HashSet::default();
    match names.find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => {
            Err(sql_error!(DUPLICATE_COLUMN, "column \"{name}\" specified more than once"))
        }
    }
}

/// `54011` for more columns than a relation can have, those counted that were dropped.
pub(super) fn has_room_for(columns: usize) -> Result<()> {
    if columns > MAX_COLUMNS {
        return Err(sql_error!(TOO_MANY_COLUMNS, "tables can have at most {MAX_COLUMNS} columns"));
    }
    Ok(())
}

/// `42P16` for a query's column that can't be stored. Rows of tables and views are of types with names in PostgreSQL.
pub(super) fn check_type_of(column: &RelColumn) -> Result<()> {
    let is_row = matches!(column.ty.id, TypeId::RECORD | TypeId::RECORD_ARRAY);
    if is_row && !column.nameless {
        return Ok(());
    }
    check_column_type(&column.name, column.ty)
}

/// `42P16` for a type that only functions have.
pub(super) fn check_column_type(name: &str, ty: Ty) -> Result<()> {
    let pseudo = crate::types::type_info(ty.id).is_some_and(|info| info.kind == b'p');
    if pseudo {
        return Err(sql_error!(
            INVALID_TABLE_DEFINITION,
            "column \"{name}\" has pseudo-type {}",
            crate::bind::display(ty)
        ));
    }
    Ok(())
}

/// What `pg_attribute` says of a type.
pub(super) fn attribute_type(ty: Ty, collation: Collation) -> [(&'static str, Datum); 8] {
    let info = crate::types::type_info(ty.id);
    [
        ("atttypid", Datum::Oid(ty.id.oid())),
        ("atttypmod", Datum::Int4(ty.modifier)),
        ("attlen", Datum::Int2(info.map_or(-1, |i| i.len))),
        ("attcollation", Datum::Oid(collation.oid)),
        ("attbyval", Datum::Bool(info.is_some_and(|i| i.by_value))),
        ("attalign", Datum::Char(info.map_or(b'd', |i| i.align))),
        ("attstorage", Datum::Char(info.map_or(b'x', |i| i.storage))),
        ("attndims", Datum::Int4(i32::from(info.is_some_and(TypeInfo::is_array)))),
    ]
}
