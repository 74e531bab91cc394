//! Expressions that stand by themselves: EXECUTE's arguments, stored defaults and conditions, and
//! INSERT made from parts.

use std::sync::Arc;

use syntax::ast::{self, InsertSource, Loc};

use crate::catalog::TableDef;
use crate::error::{Result, SqlError, sql_error};
use crate::func::CastUse;

use super::query::Statement;
use super::tree::{Expr, Ty};
use super::types::display;
use super::{Binder, ExprKind, at, coerce};

impl Binder<'_, '_> {
    /// A value without columns, converted to `ty` as by assignment: argument `position` (from 0)
    /// of EXECUTE.
    pub fn parameter_value(
        &mut self,
        expr: &ast::Expr,
        ty: Ty,
        position: usize,
        kind: ExprKind,
    ) -> Result<Expr> {
        let bound = self.with_kind(kind, |b| b.expr(expr))?;
        let (own, loc) = (bound.ty(), bound.loc());
        match self.coerce(bound, ty, CastUse::Assignment, loc)? {
            Some(expr) => Ok(expr),
            None => Err(at(
                sql_error!(
                    DATATYPE_MISMATCH,
                    "parameter ${} of type {} cannot be coerced to the expected type {}",
                    position + 1,
                    display(own),
                    display(ty)
                )
                .with_hint("You will need to rewrite or cast the expression."),
                loc,
            )),
        }
    }

    /// The expression as a condition of a constraint or a partial index.
    pub fn condition_of(&mut self, expr: Expr, kind: ExprKind) -> Result<Expr> {
        let clause = if kind == ExprKind::Check { "CHECK" } else { "WHERE" };
        self.boolean(expr, clause)
    }

    /// The expression with a type of its own.
    pub fn known(&mut self, expr: Expr) -> Result<Expr> {
        coerce::resolve_unknown(self, expr)
    }

    /// The table's generated columns, over its columns as entry 0.
    pub fn generated(&mut self, table: &Arc<TableDef>) -> Result<Vec<(u16, Expr)>> {
        let columns = table.live().filter(|(_, column)| column.generated);
        columns.map(|(at, _)| Ok((at as u16, self.generated_column(table, at)?))).collect()
    }

    /// What a generated column (from 0) is computed by, converted to its type, over the table's columns as entry 0.
    pub fn generated_column(&mut self, table: &Arc<TableDef>, at: usize) -> Result<Expr> {
        let column = &table.columns[at];
        let text = column.default.as_deref().unwrap_or_default();
        let expr = self.table_expr(table, text, ExprKind::Generated)?;
        self.default_to_column(expr, &column.name, column.ty)
    }

    /// A DEFAULT, converted to its column's type.
    pub fn default_expr(&mut self, text: &str, column: &str, ty: Ty) -> Result<Expr> {
        let parsed = self.catalog.parse_stored_expr(text)?;
        self.scopes.push(super::scope::Scope::default());
        let bound = self.with_kind(ExprKind::Default, |b| b.expr(&parsed));
        self.scopes.pop();
        self.default_to_column(bound?, column, ty)
    }

    fn default_to_column(&mut self, expr: Expr, column: &str, ty: Ty) -> Result<Expr> {
        let own = expr.ty();
        match self.coerce(expr, ty, CastUse::Assignment, Loc::NONE)? {
            Some(expr) => Ok(expr),
            None => Err(sql_error!(
                DATATYPE_MISMATCH,
                "column \"{column}\" is of type {} but default expression is of type {}",
                display(ty),
                display(own)
            )
            .with_hint("You will need to rewrite or cast the expression.")),
        }
    }

    /// `INSERT INTO table query`, for a table that only its definition names.
    pub fn insert_all(
        &mut self,
        table: &Arc<TableDef>,
        query: &ast::Statement,
    ) -> Result<Statement> {
        let ast::Statement::Select(select) = query else {
            return Err(SqlError::internal("a table is filled from a query"));
        };
        let insert = ast::Insert {
            with: None,
            target: ast::RelationRef {
                catalog: None,
                schema: Some(table.schema_name.clone()),
                name: table.name.clone(),
                only: false,
                loc: Loc::NONE,
            },
            alias: None,
            columns: Vec::new(),
            overriding: None,
            source: InsertSource::Query(select.clone()),
            on_conflict: None,
            returning: Vec::new(),
        };
        Ok(Statement::Modify(Box::new(self.insert_into(table.clone(), &insert)?)))
    }
}
