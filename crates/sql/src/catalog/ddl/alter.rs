//! ALTER TABLE.

use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{
    self, AlterTable, AlterTableStep, ColumnDef, Constraint, ConstraintKind, RelationKind,
};

use crate::bind::Expr;
use crate::bind::volatility::is_volatile;
use crate::catalog::parameters::{self, Of};
use crate::catalog::store::builtin::attribute_row;
use crate::catalog::{AccessMethod, TableDef, TableKind};
use crate::error::{Result, SqlError, sql_error};
use crate::exec::{self, Cx, State};
use crate::types::{Datum, Oid};

use super::Ddl;
use super::cascade::Dependents;
use super::create_table::{missing_value, persistence_word};
use super::foreign_key::is_foreign;
use super::rework::Rework;

/// Whether a statement of that kind may change this relation. Ownership changes through ALTER TABLE, whatever it is:
/// pg_dump writes nothing else.
fn check_kind(alter: &AlterTable, relation: &TableDef) -> Result<()> {
    let wanted = match alter.kind {
        RelationKind::Table => match relation.kind {
            TableKind::Table => return Ok(()),
            TableKind::MaterializedView => return steps_fit(alter, relation),
            _ if alter.steps.iter().all(|s| matches!(s, AlterTableStep::OwnerTo(_))) => {
                return Ok(());
            }
            _ => "a table",
        },
        RelationKind::View if relation.kind != TableKind::View => "a view",
        RelationKind::MaterializedView if relation.kind == TableKind::MaterializedView => {
            return steps_fit(alter, relation);
        }
        RelationKind::MaterializedView => "a materialized view",
        RelationKind::Sequence if relation.kind != TableKind::Sequence => "a sequence",
        RelationKind::Index if relation.kind != TableKind::Index => "an index",
        _ => return Ok(()),
    };
    Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not {wanted}", relation.name))
}

/// `42809` for a step that changes what rows a materialized view has: those are its query's.
fn steps_fit(alter: &AlterTable, view: &TableDef) -> Result<()> {
    let refused = alter.steps.iter().find_map(|step| match step {
        AlterTableStep::Other("REPLICA IDENTITY") | AlterTableStep::SetAccessMethod(_) => None,
        AlterTableStep::SetExpression { .. } => None,
        step => words_of(step),
    });
    let Some(action) = refused else { return Ok(()) };
    Err(sql_error!(
        WRONG_OBJECT_TYPE,
        "ALTER action {action} cannot be performed on relation \"{}\"",
        view.name
    )
    .with_detail(view.kind.not_supported()))
}

/// What messages call a step that not every relation can take.
fn words_of(step: &AlterTableStep) -> Option<&'static str> {
    Some(match step {
        AlterTableStep::AddColumn { .. } => "ADD COLUMN",
        AlterTableStep::DropColumn { .. } => "DROP COLUMN",
        AlterTableStep::AlterColumnType(_) => "ALTER COLUMN ... SET DATA TYPE",
        AlterTableStep::SetDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        AlterTableStep::SetNotNull { .. } => "ALTER COLUMN ... SET NOT NULL",
        AlterTableStep::DropNotNull { .. } => "ALTER COLUMN ... DROP NOT NULL",
        AlterTableStep::SetExpression { .. } => "ALTER COLUMN ... SET EXPRESSION",
        AlterTableStep::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        AlterTableStep::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        AlterTableStep::SetIdentity { .. } => "ALTER COLUMN ... SET",
        AlterTableStep::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        AlterTableStep::AddConstraint(_) => "ADD CONSTRAINT",
        AlterTableStep::AlterConstraint { .. } => "ALTER CONSTRAINT",
        AlterTableStep::ValidateConstraint { .. } => "VALIDATE CONSTRAINT",
        AlterTableStep::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterTableStep::SetLogged => "SET LOGGED",
        AlterTableStep::SetUnlogged => "SET UNLOGGED",
        AlterTableStep::SetAccessMethod(_) => "SET ACCESS METHOD",
        AlterTableStep::Inherit(_) => "INHERIT",
        AlterTableStep::NoInherit(_) => "NO INHERIT",
        AlterTableStep::AttachPartition { .. } => "ATTACH PARTITION",
        AlterTableStep::DetachPartition { .. } => "DETACH PARTITION",
        AlterTableStep::Other(words) => *words,
        _ => return None,
    })
}

/// When a step's turn is, in PostgreSQL's order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Drops,
    Types,
    Columns,
    /// What columns are: NOT NULL.
    Attributes,
    Keys,
    /// Conditions, foreign keys, defaults.
    Others,
    Rest,
}

impl Pass {
    const ALL: [Pass; 7] = [
        Pass::Drops,
        Pass::Types,
        Pass::Columns,
        Pass::Attributes,
        Pass::Keys,
        Pass::Others,
        Pass::Rest,
    ];

    fn of(step: &AlterTableStep) -> Pass {
        match step {
            AlterTableStep::DropColumn { .. }
            | AlterTableStep::DropConstraint { .. }
            | AlterTableStep::DropNotNull { .. }
            | AlterTableStep::DropExpression { .. }
            | AlterTableStep::DropIdentity { .. }
            | AlterTableStep::SetDefault { default: None, .. } => Pass::Drops,
            AlterTableStep::AlterColumnType(_) => Pass::Types,
            AlterTableStep::AddColumn { .. } => Pass::Columns,
            AlterTableStep::SetNotNull { .. } => Pass::Attributes,
            AlterTableStep::AddConstraint(constraint) => match constraint.kind {
                ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_) => Pass::Keys,
                _ => Pass::Others,
            },
            AlterTableStep::AddIdentity { .. } | AlterTableStep::SetDefault { .. } => Pass::Others,
            _ => Pass::Rest,
        }
    }
}

/// Whom a step keeps away: what says nothing of the rows that come leaves readers and writers alone, a foreign key readers.
fn lock_of(step: &AlterTableStep) -> LockMode {
    match step {
        AlterTableStep::ValidateConstraint { .. }
        | AlterTableStep::SetStatistics { .. }
        | AlterTableStep::SetColumnOptions { .. }
        | AlterTableStep::ResetColumnOptions { .. } => LockMode::ShareUpdateExclusive,
        AlterTableStep::SetOptions(options) | AlterTableStep::ResetOptions(options) => {
            match options.iter().all(|option| parameters::is_for_upkeep(&option.name)) {
                true => LockMode::ShareUpdateExclusive,
                false => LockMode::AccessExclusive,
            }
        }
        AlterTableStep::AddConstraint(constraint) if is_foreign(constraint) => {
            LockMode::ShareRowExclusive
        }
        _ => LockMode::AccessExclusive,
    }
}

impl Ddl<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<String> {
        let tag = match alter.kind {
            RelationKind::Index => "ALTER INDEX",
            RelationKind::Sequence => "ALTER SEQUENCE",
            RelationKind::View => "ALTER VIEW",
            RelationKind::MaterializedView => "ALTER MATERIALIZED VIEW",
            _ => "ALTER TABLE",
        };
        let mode = alter.steps.iter().map(lock_of).max().unwrap_or(LockMode::AccessExclusive);
        let Some(table) = self.find(&alter.relation, mode)? else {
            self.without_relation(&alter.relation, alter.if_exists)?;
            return Ok(tag.to_owned());
        };
        self.must_own(&table)?;
        self.must_be_user_table(&table)?;
        check_kind(alter, &table)?;
        self.must_not_be_in_use(&table, "ALTER TABLE")?;
        self.rework = Some(Rework::new(table.clone()));
        self.alter_in_passes(table.oid, &alter.steps)?;
        self.finish_rework(table.oid)?;
        Ok(tag.to_owned())
    }

    /// Takes the steps in PostgreSQL's order, whatever theirs is: what is dropped makes room for what is added, and keys
    /// and conditions are over columns as they are going to be.
    fn alter_in_passes(&mut self, oid: Oid, steps: &[AlterTableStep]) -> Result<()> {
        let mut of_columns: Vec<AlterTableStep> = Vec::new();
        for pass in Pass::ALL {
            let added: Vec<_> = of_columns.extract_if(.., |step| Pass::of(step) == pass).collect();
            let own = steps.iter().filter(|step| Pass::of(step) == pass);
            let mut any = false;
            for step in added.iter().chain(own) {
                any = true;
                match step {
                    AlterTableStep::AddColumn { if_not_exists, column } => {
                        let constraints = self.add_column(oid, column, *if_not_exists)?;
                        let steps = constraints.into_iter().map(Box::new);
                        of_columns.extend(steps.map(AlterTableStep::AddConstraint));
                    }
                    step => self.alter_step(oid, step)?,
                }
                self.changed(oid)?;
            }
            if any && pass == Pass::Types {
                self.follow_types(oid)?;
            }
        }
        Ok(())
    }

    fn alter_step(&mut self, oid: Oid, step: &AlterTableStep) -> Result<()> {
        match step {
            AlterTableStep::DropColumn { name, if_exists, cascade } => {
                self.drop_column(oid, name, *if_exists, Dependents::of(*cascade))
            }
            AlterTableStep::DropExpression { column, if_exists } => {
                self.drop_expression(oid, column, *if_exists)
            }
            AlterTableStep::SetDefault { column, default } => {
                self.change_default(oid, column, default.as_ref())
            }
            AlterTableStep::SetNotNull { column } => {
                let (table, number) = self.column(oid, column)?;
                if !table.columns[number as usize - 1].not_null {
                    self.must_have_no_nulls();
                }
                self.update_attribute(oid, number, &[("attnotnull", Datum::Bool(true))])
            }
            AlterTableStep::DropNotNull { column } => self.drop_not_null(oid, column),
            AlterTableStep::AlterColumnType(change) => self.alter_type(oid, change),
            AlterTableStep::AddConstraint(constraint) => self.add_another(oid, constraint),
            AlterTableStep::AlterConstraint { name, deferrable, initially_deferred } => {
                self.alter_constraint(oid, name, *deferrable, *initially_deferred)
            }
            AlterTableStep::ValidateConstraint { name } => self.validate_constraint(oid, name),
            AlterTableStep::DropConstraint { name, if_exists, cascade } => {
                self.drop_constraint(oid, name, *if_exists, *cascade)
            }
            AlterTableStep::AddIdentity { column, always, options } => {
                self.add_identity(oid, column, *always, options)
            }
            AlterTableStep::SetIdentity { column, steps } => self.set_identity(oid, column, steps),
            AlterTableStep::DropIdentity { column, if_exists } => {
                self.drop_identity(oid, column, *if_exists)
            }
            AlterTableStep::SetOptions(options) => {
                self.change_parameters(oid, |of, lines| parameters::set(of, lines, options))
            }
            AlterTableStep::ResetOptions(options) => {
                self.change_parameters(oid, |of, lines| parameters::reset(of, lines, options))
            }
            AlterTableStep::SetTablespace(name) => self.check_tablespace_of_relation(Some(name)),
            AlterTableStep::SetStatistics { column, target } => {
                self.set_statistics(oid, column, *target)
            }
            AlterTableStep::SetColumnOptions { column, options } => {
                self.change_column_options(oid, column, |of, lines| {
                    parameters::set(of, lines, options)
                })
            }
            AlterTableStep::ResetColumnOptions { column, options } => {
                self.change_column_options(oid, column, |of, lines| {
                    parameters::reset(of, lines, options)
                })
            }
            // Hints about storage are accepted: nothing here depends on them.
            AlterTableStep::SetStorage { .. }
            | AlterTableStep::SetCompression { .. }
            | AlterTableStep::ClusterOn(_)
            | AlterTableStep::SetWithoutCluster => Ok(()),
            AlterTableStep::OwnerTo(role) => self.relation_owner(oid, role),
            other => {
                let what = words_of(other).unwrap_or("in this form");
                Err(sql_error!(FEATURE_NOT_SUPPORTED, "ALTER TABLE {what} is not supported yet"))
            }
        }
    }

    /// SET and RESET of storage parameters.
    fn change_parameters(
        &mut self,
        oid: Oid,
        change: impl FnOnce(Of, Vec<String>) -> Result<Vec<String>>,
    ) -> Result<()> {
        let relation = self.table(oid)?;
        let of = match relation.kind {
            TableKind::Table | TableKind::MaterializedView => Of::Table,
            TableKind::View => Of::View,
            TableKind::Index => {
                let table = self.table_of_index(oid)?;
                self.changed(table)?;
                let table = self.table(table)?;
                let index = table.index(oid);
                Of::Index(index.map_or(AccessMethod::BTree, |index| index.method))
            }
            _ => {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "storage parameters of this kind of relation can't be changed"
                ));
            }
        };
        let lines = change(of, relation.parameters.clone())?;
        self.set_parameters(oid, &lines)
    }

    /// A column's number (from 1) by name.
    pub(super) fn column(&mut self, oid: Oid, name: &str) -> Result<(Arc<TableDef>, i16)> {
        let table = self.table(oid)?;
        match table.column(name) {
            Some(at) => Ok((table, at as i16 + 1)),
            None => Err(super::no_column(&table, name)),
        }
    }

    /// SET DEFAULT and DROP DEFAULT.
    fn change_default(&mut self, oid: Oid, name: &str, default: Option<&ast::Expr>) -> Result<()> {
        let (table, number) = self.column(oid, name)?;
        let column = &table.columns[number as usize - 1];
        let drop_instead = |error: SqlError, what: &str| match default {
            Some(_) => error,
            None => error
                .with_hint(format!("Use ALTER TABLE ... ALTER COLUMN ... DROP {what} instead.")),
        };
        super::identity::refuse(&table, number).map_err(|error| drop_instead(error, "IDENTITY"))?;
        if column.generated {
            let error = sql_error!(
                SYNTAX_ERROR,
                "column \"{name}\" of relation \"{}\" is a generated column",
                table.name
            );
            return Err(drop_instead(error, "EXPRESSION"));
        }
        let text = match default {
            Some(expr) => self.default_to_store(&super::text_of(expr)?, name, column.ty)?,
            None => None,
        };
        self.set_default(oid, number, text.as_deref())?;
        match text {
            Some(text) => self.depend_on_named(oid, number, &text, name, column.ty),
            None => Ok(()),
        }
    }

    /// Adds a column; the constraints that its definition has, too, are left to the caller.
    fn add_column(
        &mut self,
        oid: Oid,
        def: &ColumnDef,
        if_not_exists: bool,
    ) -> Result<Vec<Constraint>> {
        let table = self.table(oid)?;
        if table.column(&def.name).is_some() {
            let text =
                format!("column \"{}\" of relation \"{}\" already exists", def.name, table.name);
            if !if_not_exists {
                return Err(sql_error!(DUPLICATE_COLUMN, "{text}"));
            }
            self.host.notice("NOTICE", sql_error!(DUPLICATE_COLUMN, "{text}, skipping"));
            return Ok(Vec::new());
        }
        super::column::has_room_for(table.columns.len() + 1)?;
        let mut constraints = Vec::new();
        let persistence = persistence_word(table.persistence);
        let column =
            self.new_column(def, &table.name, table.schema, persistence, &mut constraints)?;
        let number = table.columns.len() as i16 + 1;
        let asked = self.asked_of(oid, &[&*column.name])?;
        let row = attribute_row(oid, number, &column.name, column.ty, column.collation)
            .set("attnotnull", column.not_null);
        self.store().insert(self.txn(), "pg_attribute", &row.build())?;
        self.update_class(oid, &[("relnatts", Datum::Int2(number))])?;
        let fill = match &column.default {
            _ if column.generated => None,
            Some(text) => Some(self.host.bind_default(text, &column.name, column.ty)?),
            None => None,
        };
        self.finish_column(oid, number, &column)?;
        self.changed(oid)?;
        self.must_ask_the_same(&table, asked)?;
        self.toast_if_needed(oid)?;
        if column.generated {
            self.set_generated(oid, number, &column)?;
            self.rework().generate(number as usize - 1);
        }
        self.fill_column(oid, number, &column, fill)?;
        Ok(constraints)
    }

    /// A constraint of a table that is there. PostgreSQL does not tell then where a condition is wrong.
    fn add_another(&mut self, oid: Oid, constraint: &Constraint) -> Result<()> {
        let added = self.add_constraint(oid, constraint);
        match constraint.kind {
            ConstraintKind::Check(_) => super::without_place(added),
            _ => added,
        }
    }

    /// Rows that are there get the new column's value: a stable default is stored once, beside the column;
    /// a volatile one, or a sequence, rewrites the rows.
    fn fill_column(
        &mut self,
        oid: Oid,
        number: i16,
        column: &super::column::NewColumn,
        fill: Option<Expr>,
    ) -> Result<()> {
        let at = number as usize - 1;
        if let Some(sequence) = column.identity.and(column.owned_sequence) {
            self.rework().set(at, exec::next_value_of(sequence, column.ty));
            return Ok(());
        }
        let value = match fill {
            Some(fill) if column.owned_sequence.is_some() || is_volatile(&fill) => {
                self.rework().set(at, fill);
                return Ok(());
            }
            Some(fill) => {
                let mut state = State::default();
                let mut cx = Cx { state: &mut state, host: &mut *self.host };
                exec::eval(&fill, &[], &mut cx)?
            }
            None => Datum::Null,
        };
        if value.is_null() {
            if column.not_null {
                self.must_have_no_nulls();
            }
            return Ok(());
        }
        let changes = [
            ("atthasmissing", Datum::Bool(true)),
            ("attmissingval", missing_value(column.ty, value)),
        ];
        self.update_attribute(oid, number, &changes)
    }

    fn drop_not_null(&mut self, oid: Oid, name: &str) -> Result<()> {
        let (table, number) = self.column(oid, name)?;
        super::identity::refuse(&table, number)?;
        let in_key = table
            .indexes
            .iter()
            .filter(|i| i.primary)
            .any(|i| i.key_columns().flatten().any(|c| c as i16 + 1 == number));
        if in_key {
            return Err(sql_error!(
                INVALID_TABLE_DEFINITION,
                "column \"{name}\" is in a primary key"
            ));
        }
        self.update_attribute(oid, number, &[("attnotnull", Datum::Bool(false))])
    }
}
