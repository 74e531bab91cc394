//! Fields of records.

use crate::error::{Result, SqlError, sql_error};
use crate::types::TypeId;

use super::query::{Query, RelColumn, RelKind};
use super::tree::{Column, Expr, FieldSelect, Ty, Var};
use super::types::display;
use super::{Binder, at};

impl Binder<'_, '_> {
    pub(super) fn field_by_name(&mut self, expr: Expr, name: &str) -> Result<Expr> {
        let fields = self.record_fields(&expr)?;
        match fields.iter().position(|field| *field.name == *name) {
            Some(i) => Ok(self.field(expr, i as u16, &fields[i])),
            None => Err(at(
                sql_error!(
                    UNDEFINED_COLUMN,
                    "could not identify column \"{name}\" in record data type"
                ),
                expr.loc(),
            )),
        }
    }

    pub(super) fn field(&mut self, arg: Expr, field: u16, info: &RelColumn) -> Expr {
        let (ty, collation) = (info.ty, info.collation);
        if let Expr::Var(var) = &arg
            && var.column == Column::Whole
        {
            let column = Column::User(field);
            return Expr::Var(super::tree::Var { column, ty, collation, ..*var });
        }
        Expr::Field(Box::new(FieldSelect { arg, field, ty, collation }))
    }

    /// Names and types of a record expression's fields.
    pub(super) fn record_fields(&mut self, expr: &Expr) -> Result<Vec<RelColumn>> {
        match expr {
            Expr::Var(var) if var.column == Column::Whole => {
                let depth = self.scopes.len() - 1 - usize::from(var.level);
                let rel = &self.scopes[depth].rels[usize::from(var.rel)];
                if let RelKind::Join = rel.kind {
                    return Err(SqlError::unsupported("fields of a join's row"));
                }
                Ok(rel.columns.clone())
            }
            Expr::Row(row) => Ok(row
                .args
                .iter()
                .enumerate()
                .map(|(i, arg)| RelColumn {
                    collation: super::collate::of(arg),
                    ..RelColumn::plain(format!("f{}", i + 1), arg.ty())
                })
                .collect()),
            Expr::Call(call) if !call.func.columns.is_empty() => {
                let columns = call.func.columns.iter();
                Ok(columns.map(|(name, id)| RelColumn::plain(*name, Ty::of(*id))).collect())
            }
            Expr::SubLink(link) if link.ty.id == TypeId::RECORD => {
                let inner = link.query.visible().next().expect("a scalar sub-select").expr.clone();
                match inner {
                    Expr::Row(_) | Expr::Call(_) => self.record_fields(&inner),
                    _ => Err(no_fields(expr)),
                }
            }
            _ => Err(no_fields(expr)),
        }
    }
}

impl Query {
    /// Whether an expression of the query is a row whose type has no name, or has such rows for elements: not one of a
    /// table or view.
    pub fn is_nameless(&self, expr: &Expr) -> bool {
        let is_row = |expr: &Expr| matches!(expr.type_id(), TypeId::RECORD | TypeId::RECORD_ARRAY);
        if !is_row(expr) {
            return false;
        }
        let is_any = |exprs: &[Expr]| exprs.iter().any(|expr| self.is_nameless(expr));
        match expr {
            Expr::Row(_) => true,
            // Of what it takes, or a record of its own.
            Expr::Call(call) => is_any(&call.args) || !call.args.iter().any(is_row),
            Expr::Array(array) => is_any(&array.elements),
            Expr::Coalesce(list) => is_any(&list.args),
            Expr::Case(case) => {
                let results = case.whens.iter().map(|(_, result)| result).chain(&case.default);
                results.into_iter().any(|result| self.is_nameless(result))
            }
            Expr::SubLink(link) => {
                link.query.visible().next().is_some_and(|only| link.query.is_nameless(&only.expr))
            }
            Expr::Var(var) if var.level == 0 => self.has_nameless(var),
            _ => false,
        }
    }

    fn has_nameless(&self, var: &Var) -> bool {
        match (&self.rels[usize::from(var.rel)].kind, var.column) {
            (RelKind::Subquery(query), Column::User(at)) => {
                let target = query.visible().nth(usize::from(at));
                target.is_some_and(|target| query.is_nameless(&target.expr))
            }
            (RelKind::Subquery(query), _) => !query.of_view,
            (RelKind::Table(_), _) => false,
            (_, column) => column == Column::Whole,
        }
    }
}

fn no_fields(expr: &Expr) -> SqlError {
    at(
        sql_error!(
            WRONG_OBJECT_TYPE,
            "column notation applied to type {}, which is not a composite type",
            display(expr.ty())
        ),
        expr.loc(),
    )
}
