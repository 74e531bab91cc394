//! Fields of records.

use crate::error::{Result, SqlError, sql_error};
use crate::types::{TypeId, type_info};

use super::query::{RelColumn, RelKind};
use super::tree::{Call, Column, Expr, FieldSelect, Ty, Var};
use super::types::display;
use super::{Binder, at};

impl Binder<'_, '_> {
    pub(super) fn field_by_name(&mut self, expr: Expr, name: &str) -> Result<Expr> {
        let fields = self.record_fields(&expr)?;
        match fields.iter().position(|field| !field.dropped && *field.name == *name) {
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

    /// Names and types of a record expression's fields, those that were dropped among them.
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
            Expr::Call(call) if !call.func.columns.is_empty() => Ok(columns_of(call)),
            // A sub-select's column that is a record has the fields of what it was given as there.
            Expr::Var(Var { column: Column::User(at), .. }) if is_row(expr.ty()) => {
                let Expr::Var(var) = expr else { unreachable!("just seen") };
                let depth = self.scopes.len() - 1 - usize::from(var.level);
                let rel = &self.scopes[depth].rels[usize::from(var.rel)];
                let RelKind::Subquery(query) = &rel.kind else { return Err(no_fields(expr)) };
                let given = query.visible().nth(usize::from(*at)).map(|target| &target.expr);
                match given.cloned() {
                    Some(given @ (Expr::Row(_) | Expr::Call(_))) => self.record_fields(&given),
                    _ => Err(no_fields(expr)),
                }
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

impl Binder<'_, '_> {
    /// Whether an expression is a row whose type has no name, or has such rows for elements: not one of a table or view.
    pub(super) fn is_nameless(&self, expr: &Expr) -> bool {
        self.are_nameless(expr.ty(), [expr])
    }

    /// Whether what has its values of these expressions is: all of them have to be of types with names.
    pub(super) fn are_nameless<'e>(
        &self,
        ty: Ty,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> bool {
        is_row(ty) && self.have_names(exprs) != Some(true)
    }

    /// Whether the types of all rows among the expressions have names; `None`: there are none but nulls.
    fn have_names<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Option<bool> {
        let rows = exprs.into_iter().filter(|expr| is_row(expr.ty()));
        rows.filter_map(|row| self.has_name(row)).reduce(|all, one| all && one)
    }

    /// Whether the type of a row, or of an array's rows, has a name; `None`: it takes that of those beside it.
    fn has_name(&self, expr: &Expr) -> Option<bool> {
        match expr {
            Expr::Const(constant) if constant.value.is_null() => None,
            Expr::Param(_) => None,
            Expr::Var(var) => Some(self.is_of_named(var)),
            Expr::Call(call) => self.have_names(&call.args),
            Expr::Aggregate(aggregate) => self.have_names(&aggregate.args),
            Expr::Window(window) => self.have_names(&window.args),
            Expr::Array(array) => self.have_names(&array.elements),
            Expr::Coalesce(list) => self.have_names(&list.args),
            Expr::MinMax(list) => self.have_names(&list.args),
            Expr::NullIf(null_if) => self.has_name(&null_if.equal.args[0]),
            Expr::Case(case) => {
                let results = case.whens.iter().map(|(_, result)| result);
                self.have_names(results.chain(&case.default))
            }
            Expr::Subscript(part) => self.has_name(&part.arg),
            Expr::Relabel(relabel) => self.has_name(&relabel.arg),
            Expr::Field(select) => match &select.arg {
                Expr::Row(row) => self.has_name(&row.args[usize::from(select.field)]),
                _ => Some(false),
            },
            Expr::SubLink(link) => Some(link.query.visible().all(|target| !target.nameless)),
            _ => Some(false),
        }
    }

    fn is_of_named(&self, var: &Var) -> bool {
        let depth = self.scopes.len() - 1 - usize::from(var.level);
        let rel = &self.scopes[depth].rels[usize::from(var.rel)];
        match (var.column, &rel.kind) {
            (Column::User(at), _) => !rel.columns[usize::from(at)].nameless,
            (_, RelKind::Table(_) | RelKind::Excluded) => true,
            (_, RelKind::Subquery(query)) => query.of_view,
            _ => false,
        }
    }
}

/// The columns of the records that a call yields.
pub(super) fn columns_of(call: &Call) -> Vec<RelColumn> {
    let columns = call.func.columns.iter().map(|(name, id)| {
        let id = match *id {
            TypeId::ANYELEMENT => {
                let array = call.args.first().and_then(|arg| type_info(arg.type_id()));
                array.map_or(TypeId::ANYELEMENT, |array| array.element)
            }
            id => id,
        };
        RelColumn::plain(*name, Ty::of(id))
    });
    columns.collect()
}

/// Whether values of the type are rows, or arrays of rows.
pub(super) fn is_row(ty: Ty) -> bool {
    matches!(ty.id, TypeId::RECORD | TypeId::RECORD_ARRAY)
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
