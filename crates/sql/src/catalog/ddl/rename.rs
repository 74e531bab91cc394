//! ALTER … RENAME, COMMENT.

use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{Comment, ObjectKind, ObjectName, QualifiedName, Rename};

use crate::bind::ExprKind;
use crate::catalog::rights::Class;
use crate::catalog::store::Found;
use crate::catalog::store::load::EXPRESSION_SEPARATOR;
use crate::catalog::store::lookup::pg_class;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::catalog::{IndexDef, KeySource, TableDef, TableKind};
use crate::error::{Result, bail, sql_error};
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid};

use super::column::{SYSTEM_COLUMNS, check_column_name};
use super::drop::relation_ref;
use super::{Ddl, Stored};

impl Ddl<'_> {
    pub(super) fn rename(&mut self, rename: &Rename) -> Result<String> {
        match (&rename.kind, &rename.object) {
            (ObjectKind::Column, ObjectName::Of { relation, name }) => {
                if let Some(table) = self.relation_to_rename(rename, relation)? {
                    self.rename_column(&table, name, &rename.new_name)?;
                }
                Ok(tag_of(rename.relation_kind).to_owned())
            }
            (ObjectKind::TableConstraint, ObjectName::Of { relation, name }) => {
                if let Some(table) = self.relation_to_rename(rename, relation)? {
                    self.rename_constraint(&table, name, &rename.new_name)?;
                }
                Ok("ALTER TABLE".to_owned())
            }
            (ObjectKind::Schema, ObjectName::Name(name)) => {
                self.rename_schema(name.last(), &rename.new_name)?;
                Ok("ALTER SCHEMA".to_owned())
            }
            (ObjectKind::Collation, ObjectName::Name(name)) => {
                self.rename_collation(name, &rename.new_name)?;
                Ok("ALTER COLLATION".to_owned())
            }
            (ObjectKind::Type, name) => {
                self.rename_type(name, &rename.new_name)?;
                Ok("ALTER TYPE".to_owned())
            }
            (ObjectKind::Role, ObjectName::Name(name)) => {
                self.rename_role(name.last(), &rename.new_name)?;
                Ok("ALTER ROLE".to_owned())
            }
            (ObjectKind::Database, ObjectName::Name(name)) => {
                self.rename_database(name.last(), &rename.new_name)?;
                Ok("ALTER DATABASE".to_owned())
            }
            (
                ObjectKind::Table
                | ObjectKind::Index
                | ObjectKind::Sequence
                | ObjectKind::View
                | ObjectKind::MaterializedView,
                ObjectName::Name(name),
            ) => {
                if let Some(relation) = self.relation_to_rename(rename, name)? {
                    self.must_be_user_table(&relation)?;
                    // ALTER TABLE and ALTER INDEX rename whatever it is.
                    if !matches!(rename.kind, ObjectKind::Table | ObjectKind::Index) {
                        must_be(rename.kind, &relation)?;
                    }
                    self.rename_relation(&relation, &rename.new_name)?;
                }
                Ok(tag_of(Some(rename.kind)).to_owned())
            }
            _ => Err(sql_error!(FEATURE_NOT_SUPPORTED, "this kind of RENAME is not supported")),
        }
    }

    /// What a statement is to rename, or a part of which; `None`: there is none, and that is good enough.
    fn relation_to_rename(
        &mut self,
        rename: &Rename,
        name: &QualifiedName,
    ) -> Result<Option<Arc<TableDef>>> {
        let reference = relation_ref(name);
        let found = self.find(&reference, LockMode::AccessExclusive)?;
        match &found {
            Some(relation) => self.must_own(relation)?,
            None => self.without_relation(&reference, rename.if_exists)?,
        }
        Ok(found)
    }

    fn rename_relation(&mut self, relation: &TableDef, new_name: &str) -> Result<()> {
        self.must_make_beside(relation)?;
        self.refuse_if_viewed(relation, None)?;
        self.name_is_taken(relation.schema, new_name, false)?;
        if relation.row_type.is_valid() {
            self.row_type_is_new(relation.schema, new_name)?;
        }
        self.update_class(relation.oid, &[("relname", Datum::text(new_name))])?;
        if relation.row_type.is_valid() {
            let key = [Datum::Oid(relation.row_type.oid())];
            let (txn, store) = (self.txn(), self.store());
            if let Some(found) = store.find_one(txn, "pg_type", "pg_type_oid_index", &key)? {
                let changes = [("typname", Datum::text(new_name))];
                store.update_columns(txn, "pg_type", &found, &changes)?;
            }
        }
        if relation.kind == TableKind::Index {
            self.rename_key(relation.oid, new_name)?;
        }
        self.changed(relation.oid)
    }

    /// The key that an index stands behind, if it does, has the index's name.
    fn rename_key(&mut self, index: Oid, new_name: &str) -> Result<()> {
        let table = self.table_of_index(index)?;
        let table = self.table(table)?;
        if let Some(constraint) = table.index(index).and_then(|index| index.constraint) {
            self.constraint_is_new(&table, new_name)?;
            let rows = self.store().constraints(self.txn(), table.oid)?;
            for found in rows.iter().filter(|found| found.row.oid("oid") == constraint) {
                let changes = [("conname", Datum::text(new_name))];
                self.store().update_columns(self.txn(), "pg_constraint", found, &changes)?;
            }
        }
        self.changed(table.oid)
    }

    fn rename_column(&mut self, table: &Arc<TableDef>, name: &str, new_name: &str) -> Result<()> {
        if matches!(table.kind, TableKind::Sequence | TableKind::Toast) {
            return Err(sql_error!(
                WRONG_OBJECT_TYPE,
                "cannot rename columns of relation \"{}\"",
                table.name
            )
            .with_detail(table.kind.not_supported()));
        }
        self.must_be_user_table(table)?;
        let has_system_columns = table.kind.is_heap();
        let Some(at) = table.column(name) else {
            if has_system_columns && SYSTEM_COLUMNS.contains(&name) {
                bail!(FEATURE_NOT_SUPPORTED, "cannot rename system column \"{name}\"");
            }
            bail!(UNDEFINED_COLUMN, "column \"{name}\" does not exist");
        };
        if has_system_columns {
            check_column_name(new_name)?;
        }
        if table.column(new_name).is_some() {
            return Err(sql_error!(
                DUPLICATE_COLUMN,
                "column \"{new_name}\" of relation \"{}\" already exists",
                table.name
            ));
        }
        self.refuse_if_viewed(table, Some(at))?;
        let asked = self.asked_of(table.oid, &[new_name])?;
        self.rename_in_expressions(table, at, new_name)?;
        self.update_attribute(table.oid, at as i16 + 1, &[("attname", Datum::text(new_name))])?;
        for index in &table.indexes {
            for (i, column) in index.key_columns().enumerate() {
                if column.is_some_and(|c| usize::from(c) == at) {
                    let changes = [("attname", Datum::text(new_name))];
                    self.update_attribute(index.oid, i as i16 + 1, &changes)?;
                }
            }
        }
        self.changed(table.oid)?;
        self.must_ask_the_same(table, asked)
    }

    /// The table's conditions, generated columns and index keys are stored as text: with the column's new
    /// name from now on.
    fn rename_in_expressions(
        &mut self,
        table: &Arc<TableDef>,
        at: usize,
        name: &str,
    ) -> Result<()> {
        for found in self.store().constraints(self.txn(), table.oid)? {
            if found.row.letter("contype") == b'c' {
                let text = found.row.text("conbin");
                let text = self.renamed(text, table, ExprKind::Check, at, name)?;
                let changes = [("conbin", Datum::text(text))];
                self.store().update_columns(self.txn(), "pg_constraint", &found, &changes)?;
            }
        }
        for (i, column) in table.live().filter(|(_, column)| column.generated) {
            let text = column.default.as_deref().unwrap_or_default();
            let text = self.renamed(text, table, ExprKind::Generated, at, name)?;
            self.set_default(table.oid, i as i16 + 1, Some(&text))?;
        }
        for index in table.indexes.iter().filter(|index| index.has_expressions()) {
            self.rename_in_index(table, index, at, name)?;
        }
        Ok(())
    }

    fn rename_in_index(
        &mut self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        at: usize,
        name: &str,
    ) -> Result<()> {
        let mut keys = Vec::new();
        for key in &index.keys {
            if let KeySource::Expr(text) = &key.source {
                keys.push(self.renamed(text, table, ExprKind::IndexExpr, at, name)?);
            }
        }
        let mut changes = Vec::new();
        if !keys.is_empty() {
            changes.push(("indexprs", Datum::text(keys.join(&EXPRESSION_SEPARATOR.to_string()))));
        }
        if let Some(text) = &index.predicate {
            let kind = ExprKind::IndexPredicate;
            let text = self.renamed(text, table, kind, at, name)?;
            changes.push(("indpred", Datum::text(text)));
        }
        let key = [Datum::Oid(index.oid)];
        let (txn, store) = (self.txn(), self.store());
        let found = store.find_one(txn, "pg_index", "pg_index_indexrelid_index", &key)?;
        let found =
            found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "index {} is gone", index.oid))?;
        store.update_columns(txn, "pg_index", &found, &changes)?;
        self.changed(index.oid)
    }

    /// A stored expression's text once the column has its new name.
    fn renamed(
        &mut self,
        text: &str,
        table: &Arc<TableDef>,
        kind: ExprKind,
        at: usize,
        name: &str,
    ) -> Result<String> {
        let renamed =
            self.host.lasting_text(text, Stored::Over { table, kind }, Some((at, name)))?;
        renamed.ok_or_else(|| {
            sql_error!(
                FEATURE_NOT_SUPPORTED,
                "a column cannot be renamed while \"{text}\" is stored"
            )
        })
    }

    /// A constraint, in the words of statements that name it on its own.
    fn constraint_for(&self, table: &TableDef, name: &str) -> Result<Found> {
        let rows = self.store().constraints(self.txn(), table.oid)?;
        let found = rows.into_iter().find(|f| f.row.text("conname") == name);
        found.ok_or_else(|| {
            sql_error!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" for table \"{}\" does not exist",
                table.name
            )
        })
    }

    fn rename_constraint(&mut self, table: &TableDef, name: &str, new_name: &str) -> Result<()> {
        self.must_be_user_table(table)?;
        let found = &self.constraint_for(table, name)?;
        let index = match found.row.letter("contype") {
            // Its own, that is: a foreign key's is the other table's.
            b'p' | b'u' => found.row.oid("conindid"),
            _ => Oid::INVALID,
        };
        if index.is_valid() {
            self.name_is_taken(table.schema, new_name, false)?;
        }
        self.constraint_is_new(table, new_name)?;
        let changes = [("conname", Datum::text(new_name))];
        self.store().update_columns(self.txn(), "pg_constraint", found, &changes)?;
        if index.is_valid() {
            self.update_class(index, &[("relname", Datum::text(new_name))])?;
            self.changed(index)?;
        }
        if found.row.letter("contype") == b'f' {
            self.changed(found.row.oid("confrelid"))?;
        }
        self.changed(table.oid)
    }

    fn rename_schema(&mut self, name: &str, new_name: &str) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        let index = "pg_namespace_nspname_index";
        let Some(found) = store.find_one(txn, "pg_namespace", index, &[Datum::text(name)])? else {
            return Err(sql_error!(UNDEFINED_SCHEMA, "schema \"{name}\" does not exist"));
        };
        self.must_own_row(Class::Schema, &found)?;
        self.must_have(Class::Database, self.catalog.database, Privileges::CREATE)?;
        if self.catalog.schema(self.host.txn(), new_name)?.is_some() {
            return Err(sql_error!(DUPLICATE_SCHEMA, "schema \"{new_name}\" already exists"));
        }
        super::schema::check_new_name(new_name)?;
        let schema = found.row.oid("oid");
        let within = store.scan(txn, "pg_class", |row| row.oid("relnamespace") == schema)?;
        for relation in &within {
            if let Some(relation) = self.catalog.table(self.host.txn(), relation.row.oid("oid"))? {
                self.refuse_if_viewed(&relation, None)?;
            }
        }
        for found in self.enums_in(schema)? {
            self.must_not_be_viewed(found.row.oid("oid").into())?;
        }
        let (txn, store) = (self.txn(), self.store());
        let changes = [("nspname", Datum::text(new_name))];
        store.update_columns(txn, "pg_namespace", &found, &changes)?;
        // What is known of what is in it names it.
        self.catalog.note_schema(self.host.txn(), schema)
    }

    pub(super) fn comment(&mut self, comment: &Comment) -> Result<()> {
        let (class, object, sub) = match (&comment.kind, &comment.object) {
            (
                ObjectKind::Table
                | ObjectKind::Index
                | ObjectKind::Sequence
                | ObjectKind::View
                | ObjectKind::MaterializedView,
                ObjectName::Name(name),
            ) => {
                let reference = relation_ref(name);
                let relation = self.open(&reference, LockMode::ShareUpdateExclusive)?;
                self.must_own(&relation)?;
                must_be(comment.kind, &relation)?;
                (pg_class(), relation.oid, 0)
            }
            (ObjectKind::Column, ObjectName::Of { relation, name }) => {
                let table = self.open(&relation_ref(relation), LockMode::ShareUpdateExclusive)?;
                self.must_own_of_part(&table)?;
                let Some(at) = table.column(name) else {
                    return Err(super::no_column(&table, name));
                };
                // As in PostgreSQL, which dumps no others: names of an index's columns are the system's to pick.
                if matches!(table.kind, TableKind::Index | TableKind::Sequence | TableKind::Toast) {
                    let refusal = sql_error!(
                        WRONG_OBJECT_TYPE,
                        "cannot set comment on relation \"{}\"",
                        table.name
                    );
                    return Err(refusal.with_detail(table.kind.not_supported()));
                }
                (pg_class(), table.oid, at as i32 + 1)
            }
            (ObjectKind::TableConstraint, ObjectName::Of { relation, name }) => {
                let table = self.open(&relation_ref(relation), LockMode::ShareUpdateExclusive)?;
                self.must_own_of_part(&table)?;
                let constraint = self.constraint_for(&table, name)?;
                (catalog("pg_constraint").oid, constraint.row.oid("oid"), 0)
            }
            (ObjectKind::Schema, ObjectName::Name(name)) => {
                let schema = self.catalog.schema(self.host.txn(), name.last())?;
                let oid = schema.ok_or_else(|| {
                    sql_error!(UNDEFINED_SCHEMA, "schema \"{}\" does not exist", name.last())
                })?;
                self.must_own_object(Class::Schema, oid)?;
                (catalog("pg_namespace").oid, oid, 0)
            }
            (ObjectKind::Extension, ObjectName::Name(name)) => {
                let oid = self.extension_oid(name.last())?;
                self.must_own_object(Class::Extension, oid)?;
                (catalog("pg_extension").oid, oid, 0)
            }
            (ObjectKind::Collation, ObjectName::Name(name)) => {
                let oid = self.collation(name)?.collation.oid;
                self.must_own_object(Class::Collation, oid)?;
                (catalog("pg_collation").oid, oid, 0)
            }
            (ObjectKind::Type, ObjectName::Type(name)) => {
                let oid = self.type_to_tell_of(&name.name)?;
                self.must_own_object(Class::Type, oid)?;
                (catalog("pg_type").oid, oid, 0)
            }
            (ObjectKind::Database, ObjectName::Name(name)) => {
                return self.comment_on_database(name.last(), comment.text.as_deref());
            }
            (ObjectKind::Role, ObjectName::Name(name)) => {
                return self.comment_on_role(name.last(), comment.text.as_deref());
            }
            _ => {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "comments on this kind of object are not supported"
                ));
            }
        };
        self.set_comment(class, object, sub, comment.text.as_deref())
    }

    pub(super) fn set_comment(
        &mut self,
        class: Oid,
        object: Oid,
        sub: i32,
        text: Option<&str>,
    ) -> Result<()> {
        let key = [Datum::Oid(object), Datum::Oid(class), Datum::Int4(sub)];
        self.delete_rows("pg_description", "pg_description_o_c_o_index", &key)?;
        if let Some(text) = text.filter(|t| !t.is_empty()) {
            let row = RowBuilder::of("pg_description")
                .oid("objoid", object)
                .oid("classoid", class)
                .set("objsubid", sub)
                .set("description", text);
            self.store().insert(self.txn(), "pg_description", &row.build())?;
        }
        self.txn().next_command()?;
        Ok(())
    }
}

/// The tag of a statement that renames a relation, or a column of one, of the kind that it says.
fn tag_of(kind: Option<ObjectKind>) -> &'static str {
    match kind {
        Some(ObjectKind::Index) => "ALTER INDEX",
        Some(ObjectKind::Sequence) => "ALTER SEQUENCE",
        Some(ObjectKind::View) => "ALTER VIEW",
        Some(ObjectKind::MaterializedView) => "ALTER MATERIALIZED VIEW",
        _ => "ALTER TABLE",
    }
}

/// `42809` for a relation that is not of the kind that a statement says.
pub(super) fn must_be(kind: ObjectKind, relation: &TableDef) -> Result<()> {
    let (fits, wanted) = match kind {
        ObjectKind::Index => (relation.kind == TableKind::Index, "an index"),
        ObjectKind::Sequence => (relation.kind == TableKind::Sequence, "a sequence"),
        ObjectKind::View => {
            (matches!(relation.kind, TableKind::View | TableKind::Virtual), "a view")
        }
        ObjectKind::MaterializedView => {
            (relation.kind == TableKind::MaterializedView, "a materialized view")
        }
        _ => (relation.kind == TableKind::Table, "a table"),
    };
    match fits {
        true => Ok(()),
        false => Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not {wanted}", relation.name)),
    }
}
