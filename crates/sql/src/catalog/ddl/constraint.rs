//! Constraints of tables: keys, checks; foreign keys have a room of their own beside this one.

use std::rc::Rc;

use syntax::ast::{Constraint, ConstraintKind, IndexConstraint, IndexOrder, SortNulls};

use crate::bind::ExprKind;
use crate::catalog::parameters::{self, Of};
use crate::catalog::store::Found;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::catalog::{AccessMethod, IndexDef, KeySource, TableDef};
use crate::error::{Result, sql_error};
use crate::exec;
use crate::types::{Array, Datum, Oid, TypeId};

use super::cascade::{Dependents, Object, User, oldest_first};
use super::index::{KeySpec, NewIndex};
use super::using_index::several_primary_keys;
use super::{Ddl, Stored, names};

/// What a CHECK says of itself.
#[derive(Clone, Copy, Default)]
pub(super) struct CheckMarks {
    /// The rows that are there are not looked at.
    pub not_valid: bool,
    /// Only told: no table inherits from another.
    pub no_inherit: bool,
}

impl Ddl<'_> {
    /// Adds a constraint to a table that exists, checking the rows it has.
    pub(super) fn add_constraint(&mut self, table: Oid, constraint: &Constraint) -> Result<()> {
        match &constraint.kind {
            ConstraintKind::PrimaryKey(key) => self.add_key(table, constraint, key, true),
            ConstraintKind::Unique(key) => self.add_key(table, constraint, key, false),
            ConstraintKind::Check(expr) => {
                let (not_valid, no_inherit) = (constraint.not_valid, constraint.no_inherit);
                let of = self.table(table)?;
                let (text, _) = self.expr_to_store(expr, &of, ExprKind::Check)?;
                let marks = CheckMarks { not_valid, no_inherit };
                self.add_check(table, constraint.name.as_deref(), text, marks)
            }
            ConstraintKind::ForeignKey(key) => self.add_foreign_key(table, constraint, key),
            ConstraintKind::Exclude(_) => {
                Err(sql_error!(FEATURE_NOT_SUPPORTED, "exclusion constraints are not supported"))
            }
            _ => Err(sql_error!(SYNTAX_ERROR, "this constraint belongs to a column")),
        }
    }

    /// PRIMARY KEY or UNIQUE: an index with a constraint's row.
    fn add_key(
        &mut self,
        oid: Oid,
        constraint: &Constraint,
        key: &IndexConstraint,
        primary: bool,
    ) -> Result<()> {
        if key.without_overlaps {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "this form of key constraint is not supported"
            ));
        }
        let table = self.table(oid)?;
        if let Some(index) = &key.using_index {
            return self.adopt_index(&table, constraint, index, primary);
        }
        if primary && table.indexes.iter().any(|i| i.primary) {
            return Err(several_primary_keys(&table));
        }
        super::index::may_have_columns(key.columns.len() + key.including.len())?;
        let keys = self.key_columns(&table, key, constraint)?;
        self.check_tablespace_of_relation(key.tablespace.as_deref())?;
        let name = self.key_name(&table, constraint, key, primary)?;
        if primary {
            self.columns_not_null(&table, keys.iter().filter_map(KeySpec::column))?;
        }
        let mut included = Vec::with_capacity(key.including.len());
        for name in &key.including {
            included.push(super::index::included_column(&table, name)?);
        }
        let new = NewIndex {
            name: name.clone(),
            method: AccessMethod::BTree,
            parameters: parameters::read(Of::Index(AccessMethod::BTree), &key.options)?,
            included,
            keys,
            unique: true,
            primary,
            nulls_not_distinct: key.nulls_not_distinct,
            immediate: !constraint.deferrable,
            predicate: None,
        };
        self.must_make_beside(&table)?;
        let index = self.new_index(&table, &new)?;
        self.key_constraint(&table, &new, index, constraint.initially_deferred)?;
        self.changed(oid)
    }

    /// The `pg_constraint` row of an index that was made for it.
    pub(super) fn key_constraint(
        &mut self,
        table: &TableDef,
        new: &NewIndex,
        index: Oid,
        initially_deferred: bool,
    ) -> Result<()> {
        let columns: Vec<u16> = new.keys.iter().filter_map(KeySpec::column).collect();
        let row = self
            .key_row(table, &new.name, new.primary, &columns)?
            .oid("conindid", index)
            .set("condeferrable", !new.immediate)
            .set("condeferred", initially_deferred);
        self.store().insert(self.txn(), "pg_constraint", &row.build())?;
        Ok(())
    }

    /// A key's row in `pg_constraint`, its columns counted from 0.
    pub(super) fn key_row(
        &self,
        table: &TableDef,
        name: &str,
        primary: bool,
        columns: &[u16],
    ) -> Result<RowBuilder> {
        let numbers = columns.iter().map(|column| Datum::Int2(*column as i16 + 1)).collect();
        let kind = if primary { b'p' } else { b'u' };
        let row = self.constraint_row(name, table, kind)?;
        Ok(row.set("conkey", Datum::from(Array::from_elements(TypeId::INT2, numbers))))
    }

    fn key_columns(
        &self,
        table: &TableDef,
        key: &IndexConstraint,
        constraint: &Constraint,
    ) -> Result<Vec<KeySpec>> {
        let mut keys: Vec<KeySpec> = Vec::new();
        for name in &key.columns {
            let Some(column) = table.column(name) else {
                let error =
                    sql_error!(UNDEFINED_COLUMN, "column \"{name}\" named in key does not exist");
                return Err(crate::bind::at(error, constraint.loc));
            };
            let ty = table.columns[column].ty;
            let class = super::index::default_class(ty, AccessMethod::BTree)?;
            let twice = keys
                .iter()
                .any(|k| matches!(k.source, KeySource::Column(c) if usize::from(c) == column));
            if twice {
                let what = match constraint.kind {
                    ConstraintKind::PrimaryKey(_) => "primary key",
                    _ => "unique",
                };
                let error = sql_error!(
                    DUPLICATE_COLUMN,
                    "column \"{name}\" appears twice in {what} constraint"
                );
                return Err(crate::bind::at(error, constraint.loc));
            }
            keys.push(KeySpec {
                source: KeySource::Column(column as u16),
                name: name.clone(),
                ty,
                collation: table.columns[column].collation,
                class,
                desc: false,
                nulls_first: false,
            });
        }
        Ok(keys)
    }

    fn key_name(
        &mut self,
        table: &TableDef,
        constraint: &Constraint,
        key: &IndexConstraint,
        primary: bool,
    ) -> Result<String> {
        if let Some(name) = &constraint.name {
            self.name_is_taken(table.schema, name, false)?;
            self.constraint_is_new(table, name)?;
            return Ok(name.to_string());
        }
        let columns = key.columns.iter().chain(&key.including);
        let columns = columns.map(|name| &**name).collect::<Vec<_>>().join("_");
        let (column, label) = match primary {
            true => (None, "pkey"),
            false => (Some(columns.as_str()), "key"),
        };
        let txn = self.host.txn();
        names::free_relation_name(&self.catalog, txn, table.schema, &table.name, column, label)
    }

    /// Columns of a primary key become NOT NULL; rows that disagree are an error.
    pub(super) fn columns_not_null(
        &mut self,
        table: &TableDef,
        columns: impl Iterator<Item = u16>,
    ) -> Result<()> {
        for column in columns {
            if !table.columns[usize::from(column)].not_null {
                self.must_have_no_nulls();
                let changes = [("attnotnull", Datum::Bool(true))];
                self.update_attribute(table.oid, column as i16 + 1, &changes)?;
            }
        }
        Ok(())
    }

    pub(super) fn add_check(
        &mut self,
        oid: Oid,
        name: Option<&str>,
        text: String,
        marks: CheckMarks,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let stored = Stored::Over { table: &table, kind: ExprKind::Check };
        let text = self.text_to_store(text, stored)?;
        let expr = self.host.bind_table_expr(&table, &text, ExprKind::Check)?;
        let name = match name {
            Some(name) => {
                self.constraint_is_new(&table, name)?;
                name.to_string()
            }
            None => {
                let used = exec::columns_of(&expr);
                let column = match used[..] {
                    [only] => Some(&*table.columns[usize::from(only)].name),
                    _ => None,
                };
                let txn = self.host.txn();
                let catalog = &self.catalog;
                names::free_constraint_name(catalog, txn, oid, &table.name, column, "check", &[])?
            }
        };
        if !marks.not_valid {
            self.must_meet(&name);
        }
        let numbers: Vec<Datum> =
            exec::columns_of(&expr).into_iter().map(|c| Datum::Int2(c as i16 + 1)).collect();
        let row = self
            .constraint_row(&name, &table, b'c')?
            .set("conkey", Array::from_elements(TypeId::INT2, numbers))
            .set("convalidated", !marks.not_valid)
            .set("connoinherit", marks.no_inherit)
            .set("conbin", text);
        self.store().insert(self.txn(), "pg_constraint", &row.build())?;
        self.changed(oid)?;
        self.count_checks(oid)
    }

    /// Brings `pg_class.relchecks` up to date.
    pub(super) fn count_checks(&mut self, oid: Oid) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let checks = store.constraints(txn, oid)?;
        let count = checks.iter().filter(|f| f.row.letter("contype") == b'c').count();
        self.update_class(oid, &[("relchecks", Datum::Int2(count as i16))])
    }

    pub(super) fn constraint_row(
        &self,
        name: &str,
        table: &TableDef,
        kind: u8,
    ) -> Result<RowBuilder> {
        Ok(RowBuilder::of("pg_constraint")
            .oid("oid", self.new_oid()?)
            .set("conname", name)
            .oid("connamespace", table.schema)
            .letter("contype", kind)
            .set("convalidated", true)
            .oid("conrelid", table.oid)
            .letter("confupdtype", b' ')
            .letter("confdeltype", b' ')
            .letter("confmatchtype", b' ')
            .set("conislocal", true)
            .set("connoinherit", kind != b'c'))
    }

    /// DROP CONSTRAINT.
    pub(super) fn drop_constraint(
        &mut self,
        oid: Oid,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let rows = self.store().constraints(self.txn(), oid)?;
        let Some(found) = rows.into_iter().find(|f| f.row.text("conname") == name) else {
            let error = sql_error!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" of relation \"{}\" does not exist",
                table.name
            );
            return self.skip(error, if_exists);
        };
        if found.row.letter("contype") == b'f' {
            let other = found.row.oid("confrelid");
            self.hold_alone(other)?;
            let other = self.table(other)?;
            self.must_not_be_in_use(&other, "ALTER TABLE")?;
        }
        self.remove_constraint(oid, &found, cascade)
    }

    /// Removes a constraint of a table, by its row, and what stands behind it.
    pub(super) fn remove_constraint(
        &mut self,
        oid: Oid,
        found: &Found,
        cascade: bool,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let kind = found.row.letter("contype");
        let (index, other) = (found.row.oid("conindid"), found.row.oid("confrelid"));
        match kind {
            b'p' | b'u' => self.release_key(&table, index, cascade)?,
            b'f' => self.hold_alone(other)?,
            _ => {}
        }
        self.forget_constraint(found)?;
        self.changed(oid)?;
        match kind {
            b'p' | b'u' => self.drop_index(index, oid),
            b'f' => self.forget_foreign_key(found.row.oid("oid"), other),
            _ => self.count_checks(oid),
        }
    }

    /// Removes a constraint's row and its comment.
    pub(super) fn forget_constraint(&mut self, found: &Found) -> Result<()> {
        let described =
            [Datum::Oid(found.row.oid("oid")), Datum::Oid(catalog("pg_constraint").oid)];
        self.delete_rows("pg_description", "pg_description_o_c_o_index", &described)?;
        self.store().delete(self.txn(), "pg_constraint", found)
    }

    /// Before a key goes: what depends on it goes, too (CASCADE), or is in the way.
    fn release_key(&mut self, table: &TableDef, index: Oid, cascade: bool) -> Result<()> {
        let Some(index) = table.index(index) else { return Ok(()) };
        let what = self.key_words(table, index)?;
        let users = self.users_of_index(table, index)?;
        self.drop_users(&what, users, Dependents::of(cascade))
    }

    /// What depends on an index, or on the key that it stands behind, the oldest first: foreign keys; and views that group
    /// by the key and use the columns that it determines.
    pub(super) fn users_of_index(
        &mut self,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<Vec<User>> {
        let mut lots = vec![(index.oid, self.keys_on(table, index)?)];
        if let Some(constraint) = index.constraint {
            let on = self.key_words(table, index)?;
            let views = self.views_naming(catalog("pg_constraint").oid, constraint)?;
            let lot = |oid| (oid, vec![(Object::Relation(oid), on.clone())]);
            lots.extend(views.iter().map(|view| lot(view.oid)));
        }
        Ok(oldest_first(lots))
    }

    /// A key as messages name it, by the index behind it, whose name it has.
    fn key_words(&mut self, table: &TableDef, index: &IndexDef) -> Result<Rc<str>> {
        Ok(format!("constraint {} on {}", index.name, self.relation_words(table)?).into())
    }
}

/// How an index element asks for its order.
pub(super) fn element_order(order: IndexOrder, nulls: SortNulls) -> (bool, bool) {
    let desc = order == IndexOrder::Desc;
    let nulls_first = match nulls {
        SortNulls::Default => desc,
        SortNulls::First => true,
        SortNulls::Last => false,
    };
    (desc, nulls_first)
}
