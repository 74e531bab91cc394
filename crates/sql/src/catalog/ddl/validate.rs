//! VALIDATE CONSTRAINT: what was added NOT VALID is checked with the rows that there are.

use crate::bind::ExprKind;
use crate::error::{Result, sql_error};
use crate::types::{Datum, Oid};

use super::Ddl;

impl Ddl<'_> {
    pub(super) fn validate_constraint(&mut self, oid: Oid, name: &str) -> Result<()> {
        let table = self.table(oid)?;
        let rows = self.store().constraints(self.txn(), oid)?;
        let Some(found) = rows.into_iter().find(|found| found.row.text("conname") == name) else {
            return Err(sql_error!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" of relation \"{}\" does not exist",
                table.name
            ));
        };
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
            let text = found.row.text("conbin");
            let expr = self.host.bind_table_expr(&table, text, ExprKind::Check)?;
            self.check_rows(&table, name, &expr)?;
        }
        let changes = [("convalidated", Datum::Bool(true))];
        self.store().update_columns(self.txn(), "pg_constraint", &found, &changes)?;
        self.changed(oid)?;
        if kind == b'f' { self.check_foreign_key(oid, found.row.oid("oid")) } else { Ok(()) }
    }
}
