//! DROP COLUMN: what is the column's own goes with it.

use std::sync::Arc;

use crate::bind::ExprKind;
use crate::catalog::{IndexDef, KeySource, TableDef};
use crate::error::Result;
use crate::exec;
use crate::types::{Datum, Oid};

use super::Ddl;
use super::cascade::{Dependents, Object};

impl Ddl<'_> {
    pub(super) fn drop_column(
        &mut self,
        oid: Oid,
        name: &str,
        if_exists: bool,
        cascade: bool,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let Some(at) = table.column(name) else {
            return self.skip(super::no_column(&table, name), if_exists);
        };
        let number = at as i16 + 1;
        self.drop_generated_from(oid, at, cascade)?;
        let whole = format!("column {name} of {}", self.relation_words(&table)?);
        let users = self.users_of_column(&table, at)?;
        self.drop_users(&whole, users, Dependents::of(cascade))?;
        // Constraints on the column go with it, and with them their indexes.
        for found in self.store().constraints(self.txn(), oid)? {
            if found.row.int2s("conkey").contains(&number) {
                self.drop_constraint(oid, found.row.text("conname"), true, cascade)?;
            }
        }
        self.drop_indexes_of(oid, at as u16)?;
        self.set_default(oid, number, None)?;
        let sequences = self.owned_sequences(oid, Some(number))?;
        let sequences = sequences.into_iter().map(Object::Relation).collect();
        self.drop_for(Some(&whole), sequences, Dependents::of(cascade))?;
        let dropped = format!("........pg.dropped.{number}........");
        let changes = [
            ("attisdropped", Datum::Bool(true)),
            ("attname", Datum::text(dropped.as_str())),
            ("attnotnull", Datum::Bool(false)),
            ("attidentity", Datum::Char(0)),
            ("attgenerated", Datum::Char(0)),
        ];
        self.update_attribute(oid, number, &changes)
    }

    /// The views that use a column (from 0), and the foreign keys that refer to it, the oldest first.
    fn users_of_column(&mut self, table: &TableDef, at: usize) -> Result<Vec<Object>> {
        let views = self.views_over(table, at)?;
        let referring = table.foreign.referring.iter();
        let referring = referring.filter(|key| key.referenced_columns.contains(&(at as u16)));
        let mut users: Vec<Object> = referring.cloned().map(Object::ForeignKey).collect();
        users.extend(views.iter().map(|view| Object::Relation(view.oid)));
        users.sort_by_key(Object::oid);
        Ok(users)
    }

    /// Drops the indexes that have anything of a column (from 0), as a key, carried, in an expression or in their
    /// condition.
    fn drop_indexes_of(&mut self, oid: Oid, column: u16) -> Result<()> {
        let table = self.table(oid)?;
        for index in &table.indexes {
            if self.uses_column(&table, index, column)? {
                self.drop_index(index.oid, oid)?;
            }
        }
        Ok(())
    }

    /// Whether an index has anything of a column (from 0).
    pub(super) fn uses_column(
        &mut self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        column: u16,
    ) -> Result<bool> {
        if index.columns().any(|own| own == column) {
            return Ok(true);
        }
        // As in PostgreSQL, the condition is understood first.
        let condition = index.predicate.iter().map(|text| (&**text, ExprKind::IndexPredicate));
        let keys = index.keys.iter().filter_map(|key| match &key.source {
            KeySource::Expr(text) => Some((&**text, ExprKind::IndexExpr)),
            KeySource::Column(_) => None,
        });
        for (text, kind) in condition.chain(keys) {
            let expr = self.host.bind_table_expr(table, text, kind)?;
            if exec::columns_of(&expr).contains(&column) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
