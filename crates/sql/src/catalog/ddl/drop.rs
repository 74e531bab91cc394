//! DROP.

use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{DropObjects, Loc, ObjectKind, ObjectName, QualifiedName, RelationRef};

use crate::catalog::rights::Class;
use crate::catalog::store::lookup::pg_class;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlError, sql_error};
use crate::types::{Datum, Oid};

use super::Ddl;
use super::cascade::{Dependents, Object};
use super::concurrent::Beside;
use super::index::IndexState;

/// A qualified name as a reference to a relation.
pub(super) fn relation_ref(name: &QualifiedName) -> RelationRef {
    let n = name.parts.len();
    RelationRef {
        catalog: (n > 2).then(|| name.parts[n - 3].clone()),
        schema: (n > 1).then(|| name.parts[n - 2].clone()),
        name: name.last().into(),
        only: false,
        loc: Loc::NONE,
    }
}

impl Ddl<'_> {
    pub(super) fn drop(&mut self, drop: &DropObjects) -> Result<String> {
        let (word, tag) = match drop.kind {
            ObjectKind::Table => ("table", "DROP TABLE"),
            ObjectKind::Index => ("index", "DROP INDEX"),
            ObjectKind::Sequence => ("sequence", "DROP SEQUENCE"),
            ObjectKind::View => ("view", "DROP VIEW"),
            ObjectKind::Schema => {
                self.drop_schemas(drop)?;
                return Ok("DROP SCHEMA".to_owned());
            }
            ObjectKind::Collation => {
                self.drop_collations(drop)?;
                return Ok("DROP COLLATION".to_owned());
            }
            ObjectKind::Type => {
                self.drop_types(drop)?;
                return Ok("DROP TYPE".to_owned());
            }
            ObjectKind::Extension => {
                self.drop_extensions(drop)?;
                return Ok("DROP EXTENSION".to_owned());
            }
            ObjectKind::MaterializedView => ("materialized view", "DROP MATERIALIZED VIEW"),
            ObjectKind::ForeignTable => ("foreign table", "DROP FOREIGN TABLE"),
            _ => return self.drop_absent(drop),
        };
        let mut relations = Vec::new();
        for name in &drop.names {
            let ObjectName::Name(name) = name else { continue };
            if let Some(relation) = self.find_to_drop(drop, name, word)? {
                relations.push(relation);
            }
        }
        if drop.kind == ObjectKind::Index {
            relations.iter().try_for_each(|index| self.drop_free_index(index, drop.cascade))?;
            return Ok(tag.to_owned());
        }
        for sequence in relations.iter().filter(|found| found.kind == TableKind::Sequence) {
            self.must_not_be_an_identity(sequence)?;
        }
        let relations = relations.iter().map(|relation| Object::Relation(relation.oid)).collect();
        self.drop_objects(relations, Dependents::of(drop.cascade))?;
        Ok(tag.to_owned())
    }

    /// Drops an index that stands for itself.
    fn drop_free_index(&mut self, index: &TableDef, cascade: bool) -> Result<()> {
        let table = self.table_of_index(index.oid)?;
        self.catalog.lock(self.host.txn(), table, LockMode::AccessExclusive)?;
        self.must_not_back_a_constraint(index, table)?;
        let (table, what) = (self.table(table)?, self.relation_words(index)?);
        self.release_index(&table, index.oid, &what, cascade)?;
        self.drop_index(index.oid, table.oid)
    }

    /// The relation under an exclusive lock; with IF EXISTS a notice and `None` when there is none.
    fn find_to_drop(
        &mut self,
        drop: &DropObjects,
        name: &QualifiedName,
        word: &str,
    ) -> Result<Option<Arc<TableDef>>> {
        let reference = relation_ref(name);
        let missing_schema = match &reference.schema {
            Some(schema) => self.catalog.named_schema(self.host.txn(), schema)?.is_none(),
            None => false,
        };
        if missing_schema {
            let schema = reference.schema.as_deref().unwrap_or_default();
            return self.missing(
                drop,
                UNDEFINED_SCHEMA,
                format!("schema \"{schema}\" does not exist"),
            );
        }
        let mode = match drop.concurrently {
            true => LockMode::ShareUpdateExclusive,
            false => LockMode::AccessExclusive,
        };
        let found = match drop.kind {
            ObjectKind::Index => self.lock_index_by_name(&reference, mode)?.map(|(_, index)| index),
            _ => self.find(&reference, mode)?,
        };
        let Some(relation) = found else {
            let text = format!("{word} \"{}\" does not exist", name.last());
            let state = match drop.kind {
                ObjectKind::Index | ObjectKind::ForeignTable => UNDEFINED_OBJECT,
                _ => UNDEFINED_TABLE,
            };
            return self.missing(drop, state, text);
        };
        let class = Class::of(&relation);
        self.may_drop(relation.owner, relation.schema, class, &relation.name)?;
        if relation.is_catalog() {
            return Err(sql_error!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                relation.name
            ));
        }
        let fits = matches!(
            (drop.kind, relation.kind),
            (ObjectKind::Table, TableKind::Table)
                | (ObjectKind::Index, TableKind::Index)
                | (ObjectKind::Sequence, TableKind::Sequence)
                | (ObjectKind::View, TableKind::View)
                | (ObjectKind::MaterializedView, TableKind::MaterializedView)
        );
        if !fits {
            let wrong = if word == "index" { "an index" } else { &format!("a {word}") };
            let right = match relation.kind {
                TableKind::Toast => TableKind::View.word(),
                kind => kind.word(),
            };
            let article = if right == "index" { "an" } else { "a" };
            return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not {wrong}", relation.name)
                .with_hint(format!(
                    "Use DROP {} to remove {article} {right}.",
                    right.to_uppercase()
                )));
        }
        Ok(Some(relation))
    }

    /// The index that DROP INDEX CONCURRENTLY names, which no query is to use from when this commits. `None`: there
    /// was none, or it was dropped at once, since nobody else uses its table.
    pub(super) fn begin_drop_beside(&mut self, drop: &DropObjects) -> Result<Option<Beside>> {
        let Some(ObjectName::Name(name)) = drop.names.first() else { return Ok(None) };
        let Some(index) = self.find_to_drop(drop, name, "index")? else { return Ok(None) };
        let table = self.table_of_index(index.oid)?;
        self.must_not_back_a_constraint(&index, table)?;
        let (definition, what) = (self.table(table)?, self.relation_words(&index)?);
        self.release_index(&definition, index.oid, &what, false)?;
        if index.persistence == base::Persistence::Temporary {
            self.drop_index(index.oid, table)?;
            return Ok(None);
        }
        let definition = self.table(table)?;
        // One that is only entered, or dead already, must not be kept up now.
        if definition.index(index.oid).is_some_and(|index| index.valid) {
            self.set_index_state(&definition, index.oid, IndexState::READY)?;
        }
        Ok(Some(Beside { table, index: index.oid }))
    }

    /// An error, or with IF EXISTS a notice.
    pub(super) fn missing<T>(
        &mut self,
        drop: &DropObjects,
        state: crate::error::SqlState,
        text: String,
    ) -> Result<Option<T>> {
        self.skip(SqlError::new(state, text), drop.if_exists).map(|()| None)
    }

    /// Removes a table, or a materialized view, with all that is its own, once nothing else depends on it.
    pub(super) fn drop_table(&mut self, table: &TableDef) -> Result<()> {
        self.must_not_be_in_use(table, "DROP TABLE")?;
        for index in &table.indexes {
            self.drop_relation_rows(index.oid)?;
            self.delete_rows("pg_index", "pg_index_indexrelid_index", &[Datum::Oid(index.oid)])?;
            self.store().drop_storage(self.txn(), index.storage)?;
        }
        for sequence in self.owned_sequences(table.oid, None)? {
            self.drop_sequence(sequence)?;
        }
        for key in &table.foreign.own {
            self.hold_alone(key.referenced)?;
            self.forget_foreign_key(key.oid, key.referenced)?;
        }
        self.drop_toast(table)?;
        for constraint in self.store().constraints(self.txn(), table.oid)? {
            self.forget_constraint(&constraint)?;
        }
        let key = [Datum::Oid(table.oid)];
        self.forget_defaults(&key)?;
        self.delete_rows("pg_statistic", "pg_statistic_relid_att_inh_index", &key)?;
        self.delete_rows("pg_type", "pg_type_oid_index", &[Datum::Oid(table.row_type.oid())])?;
        if table.kind.has_query() {
            self.forget_query(table.oid)?;
        }
        self.drop_relation_rows(table.oid)?;
        self.store().drop_storage(self.txn(), table.storage)?;
        self.changed(table.oid)
    }

    /// Removes one sequence, without asking who uses it.
    pub(super) fn drop_sequence(&mut self, oid: Oid) -> Result<()> {
        self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
        let Some(sequence) = self.catalog.table(self.host.txn(), oid)? else { return Ok(()) };
        self.delete_rows("pg_sequence", "pg_sequence_seqrelid_index", &[Datum::Oid(oid)])?;
        self.drop_relation_rows(oid)?;
        self.store().drop_storage(self.txn(), sequence.storage)?;
        self.changed(oid)
    }

    fn must_not_be_an_identity(&mut self, sequence: &TableDef) -> Result<()> {
        let Some((table, number)) = self.identity_of(sequence.oid)? else { return Ok(()) };
        let column = &table.columns[number as usize - 1];
        let part = format!("column {} of {}", column.name, self.relation_words(&table)?);
        Err(sql_error!(
            DEPENDENT_OBJECTS_STILL_EXIST,
            "cannot drop {} because {part} requires it",
            self.relation_words(sequence)?
        )
        .with_hint(format!("You can drop {part} instead.")))
    }

    /// Removes an index, which no constraint needs.
    pub(super) fn drop_index(&mut self, index: Oid, table: Oid) -> Result<()> {
        let definition = self.table(table)?;
        self.drop_relation_rows(index)?;
        self.delete_rows("pg_index", "pg_index_indexrelid_index", &[Datum::Oid(index)])?;
        if let Some(index) = definition.index(index) {
            self.store().drop_storage(self.txn(), index.storage)?;
        }
        self.changed(table)?;
        self.changed(index)
    }

    fn must_not_back_a_constraint(&mut self, index: &TableDef, table: Oid) -> Result<()> {
        let table = self.table(table)?;
        if table.index(index.oid).is_none_or(|index| index.constraint.is_none()) {
            return Ok(());
        }
        // It has the index's name.
        let (constraint, table) = (&index.name, &table.name);
        Err(sql_error!(
            DEPENDENT_OBJECTS_STILL_EXIST,
            "cannot drop index {constraint} because constraint {constraint} on table {table} requires it"
        )
        .with_hint(format!("You can drop constraint {constraint} on table {table} instead.")))
    }

    /// Removes the rows that every relation has: class, columns, comments, dependencies. Waits for who changes those of an
    /// index or cleans a heap of large values, whose table does not need to be locked for that.
    pub(super) fn drop_relation_rows(&mut self, oid: Oid) -> Result<()> {
        self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
        let key = [Datum::Oid(oid)];
        self.delete_rows("pg_attribute", "pg_attribute_relid_attnum_index", &key)?;
        self.delete_rows("pg_class", "pg_class_oid_index", &key)?;
        let described = [Datum::Oid(oid), Datum::Oid(pg_class())];
        self.delete_rows("pg_description", "pg_description_o_c_o_index", &described)?;
        self.forget_owner(oid)?;
        self.changed(oid)
    }

    /// Deletes all rows that an index has under a key.
    pub(super) fn delete_rows(&mut self, table: &str, index: &str, key: &[Datum]) -> Result<()> {
        let (txn, store) = (self.txn(), self.store());
        for found in store.find(txn, table, index, key)? {
            store.delete(txn, table, &found)?;
        }
        Ok(())
    }
}

use crate::error::SqlState;
const UNDEFINED_SCHEMA: SqlState = SqlState::UNDEFINED_SCHEMA;
const UNDEFINED_OBJECT: SqlState = SqlState::UNDEFINED_OBJECT;
const UNDEFINED_TABLE: SqlState = SqlState::UNDEFINED_TABLE;
