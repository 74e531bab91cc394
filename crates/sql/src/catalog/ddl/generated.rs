//! Generated columns: what they are computed from, and what depends on that.

use std::rc::Rc;
use std::sync::Arc;

use crate::bind::volatility::is_immutable;
use crate::bind::{Expr, ExprKind};
use crate::catalog::TableDef;
use crate::error::{Result, sql_error};
use crate::exec;
use crate::types::{Datum, Oid};

use super::cascade::Dependents;
use super::column::NewColumn;
use super::{Ddl, Stored};

impl Ddl<'_> {
    /// Stores what a new column is computed by, if it is generated. The table has all its columns.
    pub(super) fn set_generated(
        &mut self,
        oid: Oid,
        number: i16,
        column: &NewColumn,
    ) -> Result<()> {
        let Some(text) = column.default.as_deref().filter(|_| column.generated) else {
            return Ok(());
        };
        self.update_attribute(oid, number, &[("attgenerated", Datum::Char(b's'))])?;
        self.changed(oid)?;
        let table = self.table(oid)?;
        let stored = Stored::Over { table: &table, kind: ExprKind::Generated };
        let text = self.text_to_store(text.to_owned(), stored)?;
        self.set_default(oid, number, Some(&text))?;
        self.changed(oid)?;
        let table = self.table(oid)?;
        let expr = self.generation(&table, number as usize - 1)?;
        if !is_immutable(&expr) {
            return Err(sql_error!(
                INVALID_OBJECT_DEFINITION,
                "generation expression is not immutable"
            ));
        }
        let used = exec::columns_of(&expr).into_iter().find(|used| {
            let other = &table.columns[usize::from(*used)];
            other.generated || usize::from(*used) == number as usize - 1
        });
        match used {
            None => Ok(()),
            Some(used) => Err(sql_error!(
                INVALID_OBJECT_DEFINITION,
                "cannot use generated column \"{}\" in column generation expression",
                table.columns[usize::from(used)].name
            )
            .with_detail("A generated column cannot reference another generated column.")),
        }
    }

    /// The expression of a generated column (from 0), over the table's columns as slots.
    pub(super) fn generation(&mut self, table: &Arc<TableDef>, at: usize) -> Result<Expr> {
        super::without_place(self.host.bind_generated(table, at))
    }

    /// The generated columns (from 0) that are computed from this one.
    pub(super) fn generated_from(
        &mut self,
        table: &Arc<TableDef>,
        at: usize,
    ) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for i in 0..table.columns.len() {
            let column = &table.columns[i];
            if !column.generated || column.dropped || i == at {
                continue;
            }
            let expr = self.generation(table, i)?;
            if exec::columns_of(&expr).contains(&(at as u16)) {
                found.push(i);
            }
        }
        Ok(found)
    }

    /// A column goes: with CASCADE those computed from it go, too; otherwise they hold it.
    pub(super) fn drop_generated_from(
        &mut self,
        oid: Oid,
        at: usize,
        others: Dependents,
    ) -> Result<()> {
        let table = self.table(oid)?;
        let dependents = self.generated_from(&table, at)?;
        if dependents.is_empty() {
            return Ok(());
        }
        let of = self.relation_words(&table)?;
        let words = |i: usize| format!("column {} of {of}", table.columns[i].name);
        let own = words(at);
        let listed: Vec<(Rc<str>, Rc<str>)> =
            dependents.iter().map(|i| (words(*i).into(), own.as_str().into())).collect();
        self.settle(Some(&own), &listed, others)?;
        for i in dependents {
            self.drop_column(oid, &table.columns[i].name, false, others)?;
        }
        Ok(())
    }

    /// ALTER COLUMN … DROP EXPRESSION: the values stay, as those of a plain column.
    pub(super) fn drop_expression(&mut self, oid: Oid, name: &str, if_exists: bool) -> Result<()> {
        let (table, number) = self.column(oid, name)?;
        if !table.columns[number as usize - 1].generated {
            let error = sql_error!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "column \"{name}\" of relation \"{}\" is not a stored generated column",
                table.name
            );
            return self.skip(error, if_exists);
        }
        self.update_attribute(oid, number, &[("attgenerated", Datum::Char(0))])?;
        self.set_default(oid, number, None)
    }
}
