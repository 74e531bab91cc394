//! Changes of constraints: VALIDATE CONSTRAINT, which checks what was added NOT VALID with the rows that there are, and
//! ALTER CONSTRAINT, which says when a foreign key is checked.

use crate::catalog::TableDef;
use crate::catalog::store::Found;
use crate::error::{Result, sql_error};
use crate::types::{Datum, Oid};

use super::Ddl;
use super::foreign_key::can_wait;

impl Ddl<'_> {
    pub(super) fn validate_constraint(&mut self, oid: Oid, name: &str) -> Result<()> {
        let table = self.table(oid)?;
        let found = self.constraint_named(&table, name)?;
        let kind = found.row.letter("contype");
        if !matches!(kind, b'c' | b'f') {
            return Err(sql_error!(
                WRONG_OBJECT_TYPE,
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                table.name
            ));
        }
        if found.row.bool("convalidated") {
            return Ok(());
        }
        if kind == b'c' {
            self.must_meet(name);
        }
        let changes = [("convalidated", Datum::Bool(true))];
        self.store().update_columns(self.txn(), "pg_constraint", &found, &changes)?;
        self.changed(oid)?;
        if kind == b'f' { self.check_foreign_key(oid, found.row.oid("oid")) } else { Ok(()) }
    }

    /// A constraint of a table by its name.
    pub(super) fn constraint_named(&self, table: &TableDef, name: &str) -> Result<Found> {
        let rows = self.store().constraints(self.txn(), table.oid)?;
        let found = rows.into_iter().find(|found| found.row.text("conname") == name);
        found.ok_or_else(|| {
            sql_error!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" of relation \"{}\" does not exist",
                table.name
            )
        })
    }

    pub(super) fn alter_constraint(
        &mut self,
        oid: Oid,
        name: &str,
        deferrable: bool,
        initially_deferred: bool,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let found = self.constraint_named(&table, name)?;
        if found.row.letter("contype") != b'f' {
            return Err(sql_error!(
                WRONG_OBJECT_TYPE,
                "constraint \"{name}\" of relation \"{}\" is not a foreign key constraint",
                table.name
            ));
        }
        let (txn, store) = (self.txn(), self.store());
        let when = |deferrable_column, deferred_column| {
            [
                (deferrable_column, Datum::Bool(deferrable)),
                (deferred_column, Datum::Bool(initially_deferred)),
            ]
        };
        let changes = when("condeferrable", "condeferred");
        store.update_columns(txn, "pg_constraint", &found, &changes)?;
        let key = [Datum::Oid(found.row.oid("oid"))];
        let triggers = store.find(txn, "pg_trigger", "pg_trigger_tgconstraint_index", &key)?;
        for trigger in &triggers {
            if can_wait(trigger.row.oid("tgfoid")) {
                let changes = when("tgdeferrable", "tginitdeferred");
                store.update_columns(txn, "pg_trigger", trigger, &changes)?;
            }
        }
        self.changed(found.row.oid("confrelid"))?;
        self.changed(oid)
    }
}
