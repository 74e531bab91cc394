//! ALTER COLUMN TYPE, and what rests on the column: indexes, conditions, keys.

use std::sync::Arc;

use storage::lock::LockMode;
use syntax::ast::{self, Loc};

use crate::bind::{ExprKind, Ty};
use crate::catalog::foreign_key::ForeignKey;
use crate::catalog::store::load::EXPRESSION_SEPARATOR;
use crate::catalog::store::row::vector;
use crate::catalog::{self, IndexDef, KeySource, TableDef};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::types::{Collation, Datum, Oid, TypeId};

use super::column::attribute_type;
use super::foreign_key::can_be_compared;
use super::index::{must_be_immutable, retyped_class};
use super::{Ddl, Stored};

impl Ddl<'_> {
    /// A column's default goes with it to another type, if it can be assigned to that.
    fn check_default_of_type(&mut self, column: &catalog::ColumnDef, ty: Ty) -> Result<()> {
        let Some(default) = column.default.as_deref().filter(|_| !column.generated) else {
            return Ok(());
        };
        match self.host.bind_default(default, &column.name, ty) {
            Err(error) if error.sqlstate() == SqlState::DATATYPE_MISMATCH => bail!(
                DATATYPE_MISMATCH,
                "default for column \"{}\" cannot be cast automatically to type {}",
                column.name,
                crate::bind::display(ty)
            ),
            bound => bound.map(drop),
        }
    }

    /// Gives a column another type; its new values are computed when all steps of the statement are done.
    pub(super) fn alter_type(&mut self, oid: Oid, change: &ast::AlterColumnType) -> Result<()> {
        let (table, number) = self.column(oid, &change.column)?;
        let at = number as usize - 1;
        // USING sees the rows as the statement has found them.
        let old = self.rework().old.clone();
        if old.columns.len() <= at {
            return Err(super::no_column(&old, &change.column));
        }
        self.refuse_if_computed_from(&table, at)?;
        if let Some(view) = self.views_over(&table, at)?.first() {
            return Err(is_viewed(&self.relation_words(view)?, &change.column));
        }
        let ty = self.host.type_of(&change.type_name)?;
        super::column::check_column_type(&change.column, ty)?;
        self.hold_type(ty.id)?;
        let collation = match &change.collation {
            Some(name) => self.column_collation(ty, name)?,
            None => ty.collation(),
        };
        let column = &table.columns[at];
        if column.generated {
            must_have_no_using(change)?;
        }
        let value = self.new_value(&old, change, ty)?;
        if self.rework().retyped.contains(&(at as u16)) {
            bail!(FEATURE_NOT_SUPPORTED, "cannot alter type of column \"{}\" twice", change.column);
        }
        // With another collation alone, if that, the values are what they were.
        let stays = change.using.is_none() && column.ty == ty;
        let work = self.rework();
        work.retyped.push(at as u16);
        match column.generated {
            _ if stays => work.reindex(),
            true => work.generate(at),
            false => work.set(at, value),
        }
        self.check_default_of_type(column, ty)?;
        let mut changes = attribute_type(ty, collation).to_vec();
        if !stays {
            changes.push(("atthasmissing", Datum::Bool(false)));
            changes.push(("attmissingval", Datum::Null));
        }
        self.update_attribute(oid, number, &changes)?;
        self.retype_identity(&table, number, &change.type_name)?;
        self.retype_keys(&table, at as u16, ty, collation)?;
        // What was found out about the old values is not true of the new ones.
        let key = [Datum::Oid(oid), Datum::Int2(number)];
        self.delete_rows("pg_statistic", "pg_statistic_relid_att_inh_index", &key)?;
        self.changed(oid)?;
        self.toast_if_needed(oid)
    }

    /// What a column of another type is computed from, over the old row.
    fn new_value(
        &mut self,
        old: &Arc<TableDef>,
        change: &ast::AlterColumnType,
        ty: Ty,
    ) -> Result<crate::bind::Expr> {
        let path = vec![change.column.clone()];
        let itself = ast::Expr::Column(ast::ColumnRef { path, loc: Loc::NONE });
        self.host.bind_using(old, change.using.as_ref().unwrap_or(&itself), ty)?.ok_or_else(|| {
            let to = crate::bind::display(ty);
            if change.using.is_some() {
                return sql_error!(
                    DATATYPE_MISMATCH,
                    "result of USING clause for column \"{}\" cannot be cast automatically to type {to}",
                    change.column
                )
                .with_hint("You might need to add an explicit cast.");
            }
            let error = sql_error!(
                DATATYPE_MISMATCH,
                "column \"{}\" cannot be cast automatically to type {to}",
                change.column
            );
            if old.column(&change.column).is_some_and(|at| old.columns[at].generated) {
                return error;
            }
            let column = syntax::deparse::quote_ident(&change.column);
            error.with_hint(format!("You might need to specify \"USING {column}::{to}\"."))
        })
    }

    fn refuse_if_computed_from(&mut self, table: &Arc<TableDef>, at: usize) -> Result<()> {
        let Some(user) = self.generated_from(table, at)?.first().copied() else { return Ok(()) };
        Err(sql_error!(
            FEATURE_NOT_SUPPORTED,
            "cannot alter type of a column used by a generated column"
        )
        .with_detail(format!(
            "Column \"{}\" is used by generated column \"{}\".",
            table.columns[at].name, table.columns[user].name
        )))
    }

    /// All columns have their new types: what is stored over them is understood anew.
    pub(super) fn follow_types(&mut self, oid: Oid) -> Result<()> {
        let changed = self.rework().retyped.clone();
        let table = self.table(oid)?;
        // As in PostgreSQL, values that stay as they are are not looked for again.
        let anew = self.rework().recomputed();
        let concerns = |columns: &[u16]| columns.iter().any(|column| anew.contains(column));
        for index in table.indexes.iter().filter(|index| index.has_expressions()) {
            super::without_place(self.follow_in_index(&table, index, &changed))?;
        }
        self.renew_checks(&table, &changed)?;
        for key in &table.foreign.own {
            let is_own = key.referenced == oid && concerns(&key.referenced_columns);
            if is_own || concerns(&key.columns) {
                self.follow_key(key)?;
            }
        }
        let others = table.foreign.referring.iter().filter(|key| key.table != oid);
        for key in others.filter(|key| concerns(&key.referenced_columns)) {
            self.catalog.lock(self.host.txn(), key.table, LockMode::AccessExclusive)?;
            let referring = self.table(key.table)?;
            self.must_not_be_in_use(&referring, "ALTER TABLE")?;
            self.follow_key(key)?;
        }
        self.changed(oid)
    }

    /// Conditions over columns of other types are bound anew; rows have to meet them as they are understood now.
    fn renew_checks(&mut self, table: &Arc<TableDef>, changed: &[u16]) -> Result<()> {
        for found in self.store().constraints(self.txn(), table.oid)? {
            let numbers = found.row.int2s("conkey");
            let is_over = changed.iter().any(|column| numbers.contains(&(*column as i16 + 1)));
            if found.row.letter("contype") != b'c' || !is_over {
                continue;
            }
            let stored = Stored::Over { table, kind: ExprKind::Check };
            let text = found.row.text("conbin").to_owned();
            let text = super::without_place(self.text_to_store(text, stored))?;
            let changes = [("conbin", Datum::text(text))];
            self.store().update_columns(self.txn(), "pg_constraint", &found, &changes)?;
            if found.row.bool("convalidated") {
                self.rework().check(found.row.text("conname"));
            }
        }
        Ok(())
    }

    /// A foreign key between columns one of which has another type: they can still be compared, and all rows are looked
    /// at again.
    fn follow_key(&mut self, key: &ForeignKey) -> Result<()> {
        let (table, referenced) = (self.table(key.table)?, self.table(key.referenced)?);
        can_be_compared(&key.name, (&table, &key.columns), (&referenced, &key.referenced_columns))?;
        self.changed(key.table)?;
        let rows = self.store().constraints(self.txn(), key.table)?;
        let is_valid = |found: &catalog::store::Found| {
            found.row.oid("oid") == key.oid && found.row.bool("convalidated")
        };
        if rows.iter().any(is_valid) { self.check_foreign_key(key.table, key.oid) } else { Ok(()) }
    }

    fn follow_in_index(
        &mut self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        changed: &[u16],
    ) -> Result<()> {
        for column in changed {
            if self.uses_column(table, index, *column)? {
                return self.renew_index_expressions(table, index);
            }
        }
        Ok(())
    }

    /// An index's expressions and its condition, as they are understood over the columns' new types.
    fn renew_index_expressions(&mut self, table: &Arc<TableDef>, index: &IndexDef) -> Result<()> {
        let mut changes = Vec::new();
        // As in PostgreSQL, the condition is understood first.
        if let Some(text) = &index.predicate {
            let stored = Stored::Over { table, kind: ExprKind::IndexPredicate };
            let text = self.text_to_store(text.to_string(), stored)?;
            let condition = self.host.bind_table_expr(table, &text, ExprKind::IndexPredicate)?;
            must_be_immutable(&condition, "index predicate")?;
            changes.push(("indpred", Datum::text(text)));
        }
        let mut texts = Vec::new();
        let (mut classes, mut collations) = (Vec::new(), Vec::new());
        for (place, key) in index.keys.iter().enumerate() {
            let (mut class, mut collation) = (key.class, key.collation);
            if let KeySource::Expr(text) = &key.source {
                let (text, ty, own) = self.renewed_key(table, text)?;
                texts.push(text);
                if ty != key.ty {
                    (class, collation) = (retyped_class(index, place, ty)?, own);
                    let shown = attribute_type(ty, own);
                    self.update_attribute(index.oid, place as i16 + 1, &shown)?;
                }
            }
            classes.push(Datum::Oid(class));
            collations.push(Datum::Oid(collation.oid));
        }
        if !texts.is_empty() {
            changes.push(("indexprs", Datum::text(texts.join(&EXPRESSION_SEPARATOR.to_string()))));
            changes.push(("indclass", vector(TypeId::OID, classes)));
            changes.push(("indcollation", vector(TypeId::OID, collations)));
        }
        self.update_index(index.oid, &changes)?;
        self.changed(index.oid)
    }

    /// The text of a key that is an expression, its type and its collation.
    fn renewed_key(
        &mut self,
        table: &Arc<TableDef>,
        text: &str,
    ) -> Result<(String, Ty, Collation)> {
        let kind = ExprKind::IndexExpr;
        let text = self.text_to_store(text.to_owned(), Stored::Over { table, kind })?;
        let key = self.host.bind_table_expr(table, &text, kind)?;
        must_be_immutable(&key, "index expression")?;
        let (ty, collation) = self.host.index_key(table, &text)?;
        Ok((text, ty, collation))
    }
}

fn is_viewed(view: &str, column: &str) -> SqlError {
    sql_error!(FEATURE_NOT_SUPPORTED, "cannot alter type of a column used by a view or rule")
        .with_detail(format!("rule _RETURN on {view} depends on column \"{column}\""))
}

/// `42611` for USING of a generated column: it is what it is computed by.
fn must_have_no_using(change: &ast::AlterColumnType) -> Result<()> {
    if change.using.is_none() {
        return Ok(());
    }
    Err(sql_error!(
        INVALID_COLUMN_DEFINITION,
        "cannot specify USING when altering type of generated column"
    )
    .with_detail(format!("Column \"{}\" is a generated column.", change.column)))
}
