//! DROP COLUMN: what is the column's own goes with it.

use std::rc::Rc;
use std::sync::Arc;

use crate::bind::ExprKind;
use crate::catalog::store::lookup::pg_class;
use crate::catalog::{IndexDef, KeySource, TableDef};
use crate::error::Result;
use crate::exec;
use crate::types::{Datum, Oid};

use super::Ddl;
use super::cascade::{Dependents, Object, User, oldest_first};

impl Ddl<'_> {
    pub(super) fn drop_column(
        &mut self,
        oid: Oid,
        name: &str,
        if_exists: bool,
        others: Dependents,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let Some(at) = table.column(name) else {
            return self.skip(super::no_column(&table, name), if_exists);
        };
        let number = at as i16 + 1;
        self.drop_generated_from(oid, at, others)?;
        let table = self.table(oid)?;
        let whole: Rc<str> = format!("column {name} of {}", self.relation_words(&table)?).into();
        let indexes = self.indexes_over(&table, at as u16)?;
        let users = self.users_of_column(&table, at, &indexes, &whole)?;
        self.drop_users(&whole, users, others)?;
        self.drop_constraints_with(oid, number, &indexes)?;
        for index in indexes.iter().filter(|index| index.constraint.is_none()) {
            self.drop_index(index.oid, oid)?;
        }
        self.set_default(oid, number, None)?;
        let sequences = self.owned_sequences(oid, Some(number))?;
        let sequences = sequences.into_iter().map(Object::Relation).collect();
        self.drop_for(Some(&whole), sequences, others)?;
        self.forget_column(oid, number)
    }

    /// Marks a column dropped, with nothing left of it but its place in the rows.
    fn forget_column(&mut self, oid: Oid, number: i16) -> Result<()> {
        let comment = [Datum::Oid(oid), Datum::Oid(pg_class()), Datum::Int4(i32::from(number))];
        self.delete_rows("pg_description", "pg_description_o_c_o_index", &comment)?;
        let found_out = [Datum::Oid(oid), Datum::Int2(number)];
        self.delete_rows("pg_statistic", "pg_statistic_relid_att_inh_index", &found_out)?;
        let dropped = format!("........pg.dropped.{number}........");
        let changes = [
            ("attisdropped", Datum::Bool(true)),
            ("attname", Datum::text(dropped.as_str())),
            ("attnotnull", Datum::Bool(false)),
            ("attidentity", Datum::Char(0)),
            ("attgenerated", Datum::Char(0)),
            ("attstattarget", Datum::Int4(0)),
            ("atthasmissing", Datum::Bool(false)),
            ("attmissingval", Datum::Null),
        ];
        self.update_attribute(oid, number, &changes)
    }

    /// What depends on a column (from 0), the oldest first: the views that use it, the foreign keys that refer to it, and
    /// what depends on the indexes that go with it.
    fn users_of_column(
        &mut self,
        table: &TableDef,
        at: usize,
        indexes: &[Arc<IndexDef>],
        whole: &Rc<str>,
    ) -> Result<Vec<User>> {
        let lot = |user: Object| (user.oid(), vec![(user, whole.clone())]);
        let referring = table.foreign.referring.iter();
        let referring = referring.filter(|key| key.referenced_columns.contains(&(at as u16)));
        let mut lots: Vec<_> = referring.cloned().map(Object::ForeignKey).map(lot).collect();
        let views = self.views_over(table, at)?;
        lots.extend(views.iter().map(|view| lot(Object::Relation(view.oid))));
        for index in indexes {
            let through = index.constraint.unwrap_or(index.oid);
            lots.push((through, self.users_of_index(table, index)?));
        }
        let mut users = oldest_first(lots);
        // One that is over the column itself goes with it unasked.
        users.retain(|(user, _)| match user {
            Object::ForeignKey(key) => {
                key.table != table.oid || !key.columns.contains(&(at as u16))
            }
            _ => true,
        });
        Ok(users)
    }

    /// Drops the constraints that a column takes with it, and with them their indexes: those over it, and keys that carry
    /// it. Foreign keys first, which may rest on such a key.
    fn drop_constraints_with(
        &mut self,
        oid: Oid,
        number: i16,
        indexes: &[Arc<IndexDef>],
    ) -> Result<()> {
        let mut rows = self.store().constraints(self.txn(), oid)?;
        rows.retain(|found| {
            let constraint = Some(found.row.oid("oid"));
            found.row.int2s("conkey").contains(&number)
                || indexes.iter().any(|index| index.constraint == constraint)
        });
        rows.sort_by_key(|found| found.row.letter("contype") != b'f');
        rows.iter().try_for_each(|found| self.remove_constraint(oid, found, false))
    }

    /// The indexes that have anything of a column (from 0), as a key, carried, in an expression or in their condition.
    fn indexes_over(&mut self, table: &Arc<TableDef>, column: u16) -> Result<Vec<Arc<IndexDef>>> {
        let mut indexes = Vec::new();
        for index in &table.indexes {
            if self.uses_column(table, index, column)? {
                indexes.push(index.clone());
            }
        }
        Ok(indexes)
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
