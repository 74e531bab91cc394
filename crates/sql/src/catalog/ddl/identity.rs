//! ALTER COLUMN: ADD GENERATED … AS IDENTITY, SET GENERATED and the sequence's options, DROP IDENTITY.

use syntax::ast::{AlterSequenceStep, Loc, SequenceOption, SequenceOptionKind, TypeName};

use crate::catalog::TableDef;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Datum, Oid, TypeId};

use super::Ddl;
use super::cascade::{Dependents, Object};
use super::create_table::persistence_word;

impl Ddl<'_> {
    pub(super) fn add_identity(
        &mut self,
        oid: Oid,
        column: &str,
        always: bool,
        options: &[SequenceOption],
    ) -> Result<()> {
        let (table, number) = self.column(oid, column)?;
        let def = &table.columns[number as usize - 1];
        let persistence = persistence_word(table.persistence);
        // Before the column is looked at, as in PostgreSQL: an option that is wrong is told first.
        let (sequence, _) = self.column_sequence(
            &table.name,
            column,
            def.ty.id,
            table.schema,
            persistence,
            options,
        )?;
        let relation = &table.name;
        if !def.not_null {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "column \"{column}\" of relation \"{relation}\" must be declared NOT NULL before identity can be added"
            );
        }
        if def.identity.is_some() {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "column \"{column}\" of relation \"{relation}\" is already an identity column"
            );
        }
        if def.default.is_some() {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "column \"{column}\" of relation \"{relation}\" already has a default value"
            );
        }
        self.update_attribute(oid, number, &[("attidentity", letter(always))])?;
        self.depend_on_column(sequence, oid, number, b'i')
    }

    pub(super) fn set_identity(
        &mut self,
        oid: Oid,
        column: &str,
        steps: &[AlterSequenceStep],
    ) -> Result<()> {
        let (table, number) = self.column(oid, column)?;
        let Some(identity) = &table.columns[number as usize - 1].identity else {
            return Err(no_identity(&table, column));
        };
        let mut options = Vec::new();
        for step in steps {
            match step {
                AlterSequenceStep::Generated { always } => {
                    self.update_attribute(oid, number, &[("attidentity", letter(*always))])?;
                }
                AlterSequenceStep::Option(option) => options.push(option.clone()),
            }
        }
        if options.is_empty() {
            return Ok(());
        }
        self.change_sequence(identity.sequence, &options)
    }

    /// An identity column gets another type, and its sequence with it.
    pub(super) fn retype_identity(
        &mut self,
        table: &TableDef,
        number: i16,
        type_name: &TypeName,
    ) -> Result<()> {
        let column = &table.columns[number as usize - 1];
        let Some(identity) = &column.identity else { return Ok(()) };
        if !matches!(self.host.type_of(type_name)?.id, TypeId::INT2 | TypeId::INT4 | TypeId::INT8) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "identity column type must be smallint, integer, or bigint"
            );
        }
        let kind = SequenceOptionKind::As(type_name.clone());
        self.change_sequence(identity.sequence, &[SequenceOption { kind, loc: Loc::NONE }])
    }

    pub(super) fn drop_identity(&mut self, oid: Oid, column: &str, if_exists: bool) -> Result<()> {
        let (table, number) = self.column(oid, column)?;
        let Some(identity) = &table.columns[number as usize - 1].identity else {
            return self.skip(no_identity(&table, column), if_exists);
        };
        let sequence = identity.sequence;
        self.update_attribute(oid, number, &[("attidentity", Datum::Char(0))])?;
        self.drop_objects(vec![Object::Relation(sequence)], Dependents::Hold)
    }
}

fn letter(always: bool) -> Datum {
    Datum::Char(if always { b'a' } else { b'd' })
}

fn no_identity(table: &TableDef, column: &str) -> SqlError {
    sql_error!(
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "column \"{column}\" of relation \"{}\" is not an identity column",
        table.name
    )
}

/// What can't be said of an identity column: its values and its being NOT NULL come with that.
pub(super) fn refuse(table: &TableDef, number: i16) -> Result<()> {
    let column = &table.columns[number as usize - 1];
    if column.identity.is_some() {
        bail!(
            SYNTAX_ERROR,
            "column \"{}\" of relation \"{}\" is an identity column",
            column.name,
            table.name
        );
    }
    Ok(())
}
