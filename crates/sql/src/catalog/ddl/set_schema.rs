//! ALTER … SET SCHEMA of relations.

use syntax::ast::{AlterObjectSchema, ObjectKind, ObjectName, Persistence};

use storage::lock::LockMode;

use crate::catalog::TableDef;
use crate::catalog::TableKind;
use crate::catalog::store::builtin::TOAST_SCHEMA;
use crate::error::{Result, bail, sql_error};
use crate::types::{Datum, Oid};

use super::drop::relation_ref;
use super::rename::must_be;
use super::{Ddl, is_temporary_schema};

/// The tag of a statement that moves relations of a kind; `None` for what is no relation.
pub(super) fn tag_of(kind: ObjectKind) -> Option<&'static str> {
    match kind {
        ObjectKind::Table => Some("ALTER TABLE"),
        ObjectKind::View => Some("ALTER VIEW"),
        ObjectKind::MaterializedView => Some("ALTER MATERIALIZED VIEW"),
        ObjectKind::Sequence => Some("ALTER SEQUENCE"),
        _ => None,
    }
}

impl Ddl<'_> {
    pub(super) fn set_schema(&mut self, alter: &AlterObjectSchema) -> Result<String> {
        self.move_named(alter)?;
        Ok(tag_of(alter.kind).unwrap_or("ALTER TABLE").to_owned())
    }

    fn move_named(&mut self, alter: &AlterObjectSchema) -> Result<()> {
        let ObjectName::Name(name) = &alter.object else {
            bail!(SYNTAX_ERROR, "a relation has a name");
        };
        let mut reference = relation_ref(name);
        let Some(relation) = self.find(&reference, LockMode::AccessExclusive)? else {
            return self.without_relation(&reference, alter.if_exists);
        };
        self.must_own(&relation)?;
        self.must_be_user_table(&relation)?;
        self.can_move(alter.kind, &relation)?;
        reference.schema = Some(alter.new_schema.clone());
        let (schema, _) = match self.catalog.named_schema(self.host.txn(), &alter.new_schema)? {
            Some(schema) if self.is_for_temporary(schema)? => (schema, Persistence::Temporary),
            _ => self.creation_schema(&reference, Persistence::Permanent)?,
        };
        self.must_not_be_in_use(&relation, "ALTER TABLE")?;
        self.must_keep_kind(relation.schema, schema)?;
        if schema == relation.schema {
            return Ok(());
        }
        self.refuse_if_viewed(&relation, None)?;
        self.must_be_free_in(schema, &relation.name)?;
        self.move_relation(&relation, schema)
    }

    /// What stands for itself can be moved.
    fn can_move(&mut self, kind: ObjectKind, relation: &TableDef) -> Result<()> {
        let name = &relation.name;
        if kind != ObjectKind::Table {
            must_be(kind, relation)?;
        }
        match relation.kind {
            TableKind::Index => {
                return Err(sql_error!(
                    WRONG_OBJECT_TYPE,
                    "cannot change schema of index \"{name}\""
                )
                .with_hint("Change the schema of the table instead."));
            }
            TableKind::Toast => {
                return Err(sql_error!(
                    WRONG_OBJECT_TYPE,
                    "cannot change schema of TOAST table \"{name}\""
                )
                .with_hint("Change the schema of the table instead."));
            }
            TableKind::Sequence => {}
            _ => return Ok(()),
        }
        let Some(table) = self.table_of_sequence(relation.oid)? else { return Ok(()) };
        let table = self.table(table)?;
        let text = "cannot move an owned sequence into another schema";
        Err(sql_error!(FEATURE_NOT_SUPPORTED, "{text}")
            .with_detail(format!("Sequence \"{name}\" is linked to table \"{}\".", table.name)))
    }

    fn is_for_temporary(&self, schema: Oid) -> Result<bool> {
        Ok(self.catalog.temporary() == Some(schema)
            || is_temporary_schema(&self.store().schema_name(self.txn(), schema)?))
    }

    fn must_keep_kind(&self, from: Oid, to: Oid) -> Result<()> {
        if self.is_for_temporary(from)? || self.is_for_temporary(to)? {
            let text = "cannot move objects into or out of temporary schemas";
            bail!(FEATURE_NOT_SUPPORTED, "{text}");
        }
        if from == TOAST_SCHEMA || to == TOAST_SCHEMA {
            bail!(FEATURE_NOT_SUPPORTED, "cannot move objects into or out of TOAST schema");
        }
        Ok(())
    }

    fn must_be_free_in(&self, schema: Oid, name: &str) -> Result<()> {
        if self.catalog.relation_oid(self.host.txn(), schema, name)?.is_some() {
            let schema = self.store().schema_name(self.txn(), schema)?;
            bail!(DUPLICATE_TABLE, "relation \"{name}\" already exists in schema \"{schema}\"");
        }
        Ok(())
    }

    /// Moves a relation with its row type, its indexes and keys, and the sequences of its columns.
    fn move_relation(&mut self, relation: &TableDef, schema: Oid) -> Result<()> {
        let to = Datum::Oid(schema);
        if relation.row_type.is_valid() {
            let name = &relation.name;
            if self.catalog.type_in(self.txn(), schema, name)?.is_some() {
                let schema = self.store().schema_name(self.txn(), schema)?;
                bail!(DUPLICATE_OBJECT, "type \"{name}\" already exists in schema \"{schema}\"");
            }
            let key = [Datum::Oid(relation.row_type.oid())];
            let (txn, store) = (self.txn(), self.store());
            if let Some(found) = store.find_one(txn, "pg_type", "pg_type_oid_index", &key)? {
                let changes = [("typnamespace", to.clone())];
                store.update_columns(txn, "pg_type", &found, &changes)?;
            }
        }
        for found in self.store().constraints(self.txn(), relation.oid)? {
            let changes = [("connamespace", to.clone())];
            self.store().update_columns(self.txn(), "pg_constraint", &found, &changes)?;
        }
        self.update_class(relation.oid, &[("relnamespace", to.clone())])?;
        if relation.kind == TableKind::MaterializedView {
            self.depend_on_schema(relation.oid, schema)?;
        }
        for index in &relation.indexes {
            self.must_be_free_in(schema, &index.name)?;
            self.update_class(index.oid, &[("relnamespace", to.clone())])?;
            self.changed(index.oid)?;
        }
        self.changed(relation.oid)?;
        for sequence in self.owned_sequences(relation.oid, None)? {
            let sequence = self.table(sequence)?;
            self.must_be_free_in(schema, &sequence.name)?;
            self.move_relation(&sequence, schema)?;
        }
        Ok(())
    }
}
