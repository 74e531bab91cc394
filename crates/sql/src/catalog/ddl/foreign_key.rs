//! Foreign keys as constraints of tables: made, dropped, and in the way of dropping what they need.

use std::rc::Rc;
use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{self, Constraint, ConstraintKind, ForeignKeyAction, ForeignKeyMatch};

use crate::catalog::foreign_key::{Action, ForeignKey};
use crate::catalog::store::Found;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::{IndexDef, TableDef, TableKind};
use crate::error::{Result, SqlError, sql_error};
use crate::func::CastUse;
use crate::types::acl::Privileges;
use crate::types::{Array, Datum, Oid, TypeId, TypeMod, format_type};

use super::cascade::{Dependents, Object, User};
use super::index::INDEX_COLUMNS_MAX;
use super::{Ddl, names};

/// `pg_trigger.tgtype`: for each row, after the event.
const AFTER_INSERT: i16 = 5;
const AFTER_DELETE: i16 = 9;
const AFTER_UPDATE: i16 = 17;

/// PostgreSQL's OIDs of `RI_FKey_check_ins` and `_upd`; of `RI_FKey_noaction_del`, ….
const CHECK_INSERT: Oid = Oid(1644);
const CHECK_UPDATE: Oid = Oid(1645);

/// The functions for DELETE and UPDATE.
fn functions(on_delete: Action, on_update: Action) -> (Oid, Oid) {
    let first = |action| match action {
        Action::Cascade => 1646,
        Action::Restrict => 1648,
        Action::SetNull => 1650,
        Action::SetDefault => 1652,
        Action::NoAction => 1654,
    };
    (Oid(first(on_delete)), Oid(first(on_update) + 1))
}

/// Whether a trigger that calls this function may be deferred: one that only looks.
pub(super) fn can_wait(function: Oid) -> bool {
    let (no_delete, no_update) = functions(Action::NoAction, Action::NoAction);
    [CHECK_INSERT, CHECK_UPDATE, no_delete, no_update].contains(&function)
}

/// What a FOREIGN KEY clause comes to.
struct NewKey {
    referenced: Arc<TableDef>,
    columns: Vec<u16>,
    referenced_columns: Vec<u16>,
    delete_columns: Vec<u16>,
    index: Arc<IndexDef>,
}

impl Ddl<'_> {
    /// Adds a foreign key; the table's rows are checked unless it is NOT VALID.
    pub(super) fn add_foreign_key(
        &mut self,
        oid: Oid,
        constraint: &Constraint,
        clause: &ast::ForeignKey,
    ) -> Result<()> {
        if clause.with_period || constraint.not_enforced {
            return Err(SqlError::unsupported("this form of foreign key is not supported"));
        }
        if clause.matching == ForeignKeyMatch::Partial {
            return Err(SqlError::unsupported("MATCH PARTIAL not yet implemented"));
        }
        let table = self.table(oid)?;
        let key = self.foreign_key(&table, clause)?;
        let name = match &constraint.name {
            Some(name) => {
                self.constraint_is_new(&table, name)?;
                name.to_string()
            }
            None => {
                let columns: Vec<&str> =
                    key.columns.iter().map(|c| &*table.columns[usize::from(*c)].name).collect();
                let (columns, catalog) = (columns.join("_"), self.catalog.clone());
                let (txn, column) = (self.host.txn(), Some(columns.as_str()));
                names::free_constraint_name(&catalog, txn, oid, &table.name, column, "fkey", &[])?
            }
        };
        can_be_compared(&name, (&table, &key.columns), (&key.referenced, &key.referenced_columns))?;
        let (on_delete, on_update) = (action(clause.on_delete), action(clause.on_update));
        let numbers = |columns: &[u16]| {
            let numbers = columns.iter().map(|c| Datum::Int2(*c as i16 + 1)).collect();
            Datum::from(Array::from_elements(TypeId::INT2, numbers))
        };
        let row = self
            .constraint_row(&name, &table, b'f')?
            .set("condeferrable", constraint.deferrable)
            .set("condeferred", constraint.initially_deferred)
            .set("convalidated", !constraint.not_valid)
            .set("conkey", numbers(&key.columns))
            .set("confkey", numbers(&key.referenced_columns))
            .oid("confrelid", key.referenced.oid)
            .oid("conindid", key.index.oid)
            .letter("confdeltype", on_delete.letter())
            .letter("confupdtype", on_update.letter());
        let matching = if clause.matching == ForeignKeyMatch::Full { b'f' } else { b's' };
        let mut row = row.letter("confmatchtype", matching);
        if !key.delete_columns.is_empty() {
            row = row.set("confdelsetcols", numbers(&key.delete_columns));
        }
        let row = row.build();
        let constraint_oid = row[0].as_oid();
        self.store().insert(self.txn(), "pg_constraint", &row)?;
        self.triggers(&table, &key, constraint_oid, (on_delete, on_update), constraint)?;
        for oid in [oid, key.referenced.oid] {
            self.update_class(oid, &[("relhastriggers", Datum::Bool(true))])?;
            self.changed(oid)?;
        }
        if constraint.not_valid { Ok(()) } else { self.check_foreign_key(oid, constraint_oid) }
    }

    /// The table's rows are checked when the statement is done.
    pub(super) fn check_foreign_key(&mut self, table: Oid, constraint: Oid) -> Result<()> {
        let table = self.table(table)?;
        let key = table.foreign.own.iter().find(|key| key.oid == constraint).cloned();
        let key = key.ok_or_else(|| SqlError::internal("a foreign key was not stored"))?;
        self.host.check_foreign_key(key);
        Ok(())
    }

    /// `42710` if the table has a constraint of that name.
    pub(super) fn constraint_is_new(&self, table: &TableDef, name: &str) -> Result<()> {
        let rows = self.store().constraints(self.txn(), table.oid)?;
        if rows.iter().any(|found| found.row.text("conname") == name) {
            return Err(sql_error!(
                DUPLICATE_OBJECT,
                "constraint \"{name}\" for relation \"{}\" already exists",
                table.name
            ));
        }
        Ok(())
    }

    fn foreign_key(&mut self, table: &TableDef, clause: &ast::ForeignKey) -> Result<NewKey> {
        let referenced = self.open(&clause.referenced, LockMode::ShareRowExclusive)?;
        if referenced.kind != TableKind::Table {
            return Err(sql_error!(
                WRONG_OBJECT_TYPE,
                "referenced relation \"{}\" is not a table",
                referenced.name
            ));
        }
        self.must_be_user_table(&referenced)?;
        lives_as_long(table, &referenced)?;
        let columns = key_columns(table, &clause.columns)?;
        refuse_changes_of_generated(table, &columns, clause)?;
        let (referenced_columns, index) = referenced_key(&referenced, clause)?;
        self.must_have_of(&referenced, Privileges::REFERENCES, &referenced_columns)?;
        if columns.len() != referenced_columns.len() {
            return Err(sql_error!(
                INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree"
            ));
        }
        let delete_columns = key_columns(table, &clause.on_delete_columns)?;
        if let Some(other) = delete_columns.iter().find(|c| !columns.contains(c)) {
            return Err(sql_error!(
                INVALID_COLUMN_REFERENCE,
                "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
                table.columns[usize::from(*other)].name
            ));
        }
        Ok(NewKey { referenced, columns, referenced_columns, delete_columns, index })
    }

    /// Rows of `pg_trigger` at both tables: by them each finds its foreign keys.
    fn triggers(
        &mut self,
        table: &TableDef,
        key: &NewKey,
        constraint: Oid,
        actions: (Action, Action),
        clause: &Constraint,
    ) -> Result<()> {
        let (deleted, updated) = functions(actions.0, actions.1);
        let referenced = key.referenced.oid;
        let check = clause.deferrable;
        let rows = [
            ('a', referenced, table.oid, deleted, AFTER_DELETE),
            ('a', referenced, table.oid, updated, AFTER_UPDATE),
            ('c', table.oid, referenced, CHECK_INSERT, AFTER_INSERT),
            ('c', table.oid, referenced, CHECK_UPDATE, AFTER_UPDATE),
        ];
        for (letter, on, other, function, kind) in rows {
            let oid = self.new_oid()?;
            let row = RowBuilder::of("pg_trigger")
                .oid("oid", oid)
                .oid("tgrelid", on)
                .set("tgname", format!("RI_ConstraintTrigger_{letter}_{oid}").as_str())
                .oid("tgfoid", function)
                .set("tgtype", kind)
                .letter("tgenabled", b'O')
                .set("tgisinternal", true)
                .oid("tgconstrrelid", other)
                .oid("tgconstrindid", key.index.oid)
                .oid("tgconstraint", constraint)
                .set("tgdeferrable", check && can_wait(function))
                .set("tginitdeferred", clause.initially_deferred && can_wait(function))
                .set("tgattr", crate::catalog::store::row::vector(TypeId::INT2, Vec::new()))
                .set("tgargs", Datum::bytea(&[]));
            self.store().insert(self.txn(), "pg_trigger", &row.build())?;
        }
        Ok(())
    }

    /// Removes what a foreign key has beside its row in `pg_constraint`.
    pub(super) fn forget_foreign_key(&mut self, constraint: Oid, other: Oid) -> Result<()> {
        let key = [Datum::Oid(constraint)];
        self.delete_rows("pg_trigger", "pg_trigger_tgconstraint_index", &key)?;
        self.changed(other)
    }

    /// Before a unique index goes, with `what`: the foreign keys that rest on it go, too (CASCADE), or are in the way.
    pub(super) fn release_index(
        &mut self,
        table: &TableDef,
        index: Oid,
        what: &str,
        cascade: bool,
    ) -> Result<()> {
        let Some(index) = table.index(index) else { return Ok(()) };
        let users = self.keys_on(table, index)?;
        self.drop_users(what, users, Dependents::of(cascade))
    }

    /// The foreign keys that rest on a unique index, the oldest first.
    pub(super) fn keys_on(&mut self, table: &TableDef, index: &IndexDef) -> Result<Vec<User>> {
        let shown = self.shown_name(index.oid, &table.schema_name, &index.name)?;
        let on: Rc<str> = format!("index {shown}").into();
        let mut users = Vec::new();
        for key in &table.foreign.referring {
            let rows = self.store().constraints(self.txn(), key.table)?;
            let rests = |found: &Found| {
                found.row.oid("oid") == key.oid && found.row.oid("conindid") == index.oid
            };
            if rows.iter().any(rests) {
                users.push((Object::ForeignKey(key.clone()), on.clone()));
            }
        }
        users.sort_by_key(|(user, _)| user.oid());
        Ok(users)
    }

    /// Takes a table from whose sight a foreign key is about to go, as PostgreSQL does: by then other sessions that have
    /// changed the table's rows have seen to what the key says of them.
    pub(super) fn hold_alone(&self, table: Oid) -> Result<()> {
        self.catalog.lock(self.host.txn(), table, LockMode::AccessExclusive)
    }

    /// Removes a foreign key, unless it is gone by now.
    pub(super) fn drop_foreign_key(&mut self, key: &ForeignKey) -> Result<()> {
        self.hold_alone(key.table)?;
        self.hold_alone(key.referenced)?;
        let (index, row) = ("pg_constraint_oid_index", [Datum::Oid(key.oid)]);
        let Some(found) = self.store().find_one(self.txn(), "pg_constraint", index, &row)? else {
            return Ok(());
        };
        self.forget_constraint(&found)?;
        self.forget_foreign_key(key.oid, key.table)?;
        self.changed(key.referenced)
    }
}

fn action(action: ForeignKeyAction) -> Action {
    match action {
        ForeignKeyAction::NoAction => Action::NoAction,
        ForeignKeyAction::Restrict => Action::Restrict,
        ForeignKeyAction::Cascade => Action::Cascade,
        ForeignKeyAction::SetNull => Action::SetNull,
        ForeignKeyAction::SetDefault => Action::SetDefault,
    }
}

/// The index of the referenced columns must be able to look for values of the referring ones.
pub(super) fn can_be_compared(
    name: &str,
    (table, columns): (&TableDef, &[u16]),
    (referenced, referenced_columns): (&TableDef, &[u16]),
) -> Result<()> {
    for (own, other) in columns.iter().zip(referenced_columns) {
        let own = &table.columns[usize::from(*own)];
        let other = &referenced.columns[usize::from(*other)];
        let (from, to) = (own.ty.id, other.ty.id);
        let implicit = |cast: &crate::func::Cast| cast.allowed == CastUse::Implicit;
        if family(from) == family(to) || crate::func::cast(from, to).is_some_and(implicit) {
            continue;
        }
        return Err(sql_error!(
            DATATYPE_MISMATCH,
            "foreign key constraint \"{name}\" cannot be implemented"
        )
        .with_detail(format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
            own.name,
            other.name,
            format_type(from, TypeMod::NONE),
            format_type(to, TypeMod::NONE)
        )));
    }
    Ok(())
}

/// One of the types that this one can be compared with without a conversion.
fn family(id: TypeId) -> TypeId {
    match id {
        TypeId::INT2 | TypeId::INT4 | TypeId::INT8 => TypeId::INT8,
        TypeId::FLOAT4 | TypeId::FLOAT8 => TypeId::FLOAT8,
        TypeId::DATE | TypeId::TIMESTAMP | TypeId::TIMESTAMPTZ => TypeId::TIMESTAMP,
        TypeId::TEXT | TypeId::VARCHAR | TypeId::NAME => TypeId::TEXT,
        other => other,
    }
}

/// A referenced row must not be lost while those that refer to it are kept.
fn lives_as_long(table: &TableDef, referenced: &TableDef) -> Result<()> {
    use base::Persistence::{Permanent, Temporary, Unlogged};
    let text = match (table.persistence, referenced.persistence) {
        (Permanent, Unlogged | Temporary) => {
            "constraints on permanent tables may reference only permanent tables"
        }
        (Unlogged, Temporary) => {
            "constraints on unlogged tables may reference only permanent or unlogged tables"
        }
        (Temporary, Permanent | Unlogged) => {
            "constraints on temporary tables may reference only temporary tables"
        }
        _ => return Ok(()),
    };
    Err(sql_error!(INVALID_TABLE_DEFINITION, "{text}"))
}

fn key_columns(table: &TableDef, names: &[ast::Name]) -> Result<Vec<u16>> {
    let number = |name: &ast::Name| match table.column(name) {
        Some(at) => Ok(at as u16),
        None => Err(sql_error!(
            UNDEFINED_COLUMN,
            "column \"{name}\" referenced in foreign key constraint does not exist"
        )),
    };
    let columns = names.iter().map(number).collect::<Result<Vec<u16>>>()?;
    if columns.len() > INDEX_COLUMNS_MAX {
        return Err(sql_error!(
            TOO_MANY_COLUMNS,
            "cannot have more than {INDEX_COLUMNS_MAX} keys in a foreign key"
        ));
    }
    Ok(columns)
}

/// The referenced columns, and the unique index on them.
fn referenced_key(
    referenced: &TableDef,
    clause: &ast::ForeignKey,
) -> Result<(Vec<u16>, Arc<IndexDef>)> {
    if clause.referenced_columns.is_empty() {
        let Some(primary) = referenced.indexes.iter().find(|i| i.primary) else {
            return Err(sql_error!(
                UNDEFINED_OBJECT,
                "there is no primary key for referenced table \"{}\"",
                referenced.name
            ));
        };
        if !primary.immediate {
            return Err(is_deferrable("primary key", referenced));
        }
        return Ok((primary.key_columns().flatten().collect(), primary.clone()));
    }
    let columns = key_columns(referenced, &clause.referenced_columns)?;
    if (1..columns.len()).any(|i| columns[..i].contains(&columns[i])) {
        return Err(sql_error!(
            INVALID_FOREIGN_KEY,
            "foreign key referenced-columns list must not contain duplicates"
        ));
    }
    let fits = |index: &&Arc<IndexDef>| {
        index.unique
            && index.valid
            && !index.has_expressions()
            && index.keys.len() == columns.len()
            && index.key_columns().flatten().all(|c| columns.contains(&c))
    };
    let fitting = || referenced.indexes.iter().filter(fits);
    match fitting().find(|index| index.immediate) {
        Some(index) => Ok((columns, index.clone())),
        None if fitting().next().is_some() => Err(is_deferrable("unique constraint", referenced)),
        None => Err(sql_error!(
            INVALID_FOREIGN_KEY,
            "there is no unique constraint matching given keys for referenced table \"{}\"",
            referenced.name
        )),
    }
}

fn is_deferrable(what: &str, referenced: &TableDef) -> SqlError {
    sql_error!(
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cannot use a deferrable {what} for referenced table \"{}\"",
        referenced.name
    )
}

/// Whether a constraint is one that CREATE TABLE must add after all others: it may refer to the table's own
/// keys.
pub(super) fn is_foreign(constraint: &Constraint) -> bool {
    matches!(constraint.kind, ConstraintKind::ForeignKey(_))
}

/// What is computed can't be set by a key's actions.
fn refuse_changes_of_generated(
    table: &TableDef,
    columns: &[u16],
    clause: &ast::ForeignKey,
) -> Result<()> {
    use ForeignKeyAction::{Cascade, SetDefault, SetNull};
    if !columns.iter().any(|column| table.columns[usize::from(*column)].generated) {
        return Ok(());
    }
    let event = match (clause.on_update, clause.on_delete) {
        (Cascade | SetNull | SetDefault, _) => "ON UPDATE",
        (_, SetNull | SetDefault) => "ON DELETE",
        _ => return Ok(()),
    };
    Err(sql_error!(
        SYNTAX_ERROR,
        "invalid {event} action for foreign key constraint containing generated column"
    ))
}
