//! Sub-selects inside expressions.

use syntax::ast;

use crate::error::{Result, sql_error};
use crate::types::TypeId;

use super::query::RelColumn;
use super::tree::{Expr, Slot, SubLink, SubLinkKind, Ty};
use super::types::display;
use super::{Binder, at};

impl Binder<'_, '_> {
    pub(super) fn sublink(&mut self, link: &ast::SubLink) -> Result<Expr> {
        if !self.kind.allows_sublinks() {
            let words = match self.kind {
                super::ExprKind::Default => "DEFAULT expression",
                super::ExprKind::Check => "check constraint",
                super::ExprKind::IndexExpr => "index expression",
                super::ExprKind::IndexPredicate => "index predicate",
                super::ExprKind::Execute => "EXECUTE parameter",
                super::ExprKind::Generated => "column generation expression",
                kind => kind.words(),
            };
            return Err(at(
                sql_error!(FEATURE_NOT_SUPPORTED, "cannot use subquery in {words}"),
                link.loc,
            ));
        }
        let query = self.select(&link.query, true)?;
        self.scope().has_sublinks = true;
        let outputs: Vec<RelColumn> = query.visible().map(RelColumn::of_target).collect();
        let columns: Vec<Ty> = outputs.iter().map(|output| output.ty).collect();
        let too_many =
            || at(sql_error!(SYNTAX_ERROR, "subquery must return only one column"), link.loc);
        let (kind, ty) = match &link.kind {
            ast::SubLinkKind::Exists => (SubLinkKind::Exists, Ty::BOOL),
            ast::SubLinkKind::Scalar => match columns[..] {
                [only] => (SubLinkKind::Scalar, only),
                _ => return Err(too_many()),
            },
            ast::SubLinkKind::Array => match columns[..] {
                [only] => {
                    let of_arrays = || super::types::element_of(only.id).map(|_| (only.id, true));
                    let of_values = self.catalog.array_of(only.id).map(|id| (id, false));
                    let Some((id, nested)) = of_values.or_else(of_arrays) else {
                        return Err(at(
                            sql_error!(
                                UNDEFINED_OBJECT,
                                "could not find array type for data type {}",
                                display(only)
                            ),
                            link.loc,
                        ));
                    };
                    (SubLinkKind::Array { nested }, Ty::of(id))
                }
                _ => return Err(too_many()),
            },
            ast::SubLinkKind::Any { left, op } => {
                let default =
                    ast::Operator { schema: Vec::new(), symbol: "=".into(), loc: link.loc };
                let op = op.as_ref().unwrap_or(&default);
                (self.quantified_link(left, op, &outputs, false, link)?, Ty::BOOL)
            }
            ast::SubLinkKind::All { left, op } => {
                (self.quantified_link(left, op, &outputs, true, link)?, Ty::BOOL)
            }
        };
        let (id, query, loc) = (self.next_sublink(), Box::new(query), link.loc);
        let bound = Expr::SubLink(Box::new(SubLink { id, kind, query, ty, loc }));
        Ok(if rows_differ(&link.kind) { Expr::Not(Box::new(bound)) } else { bound })
    }

    fn quantified_link(
        &mut self,
        left: &ast::Expr,
        op: &ast::Operator,
        columns: &[RelColumn],
        all: bool,
        link: &ast::SubLink,
    ) -> Result<SubLinkKind> {
        self.check_operator_schema(op)?;
        let left: Vec<Expr> = match left {
            ast::Expr::Row(row) => {
                row.args.iter().map(|arg| self.expr(arg)).collect::<Result<_>>()?
            }
            single => vec![self.expr(single)?],
        };
        if left.len() < columns.len() {
            return Err(at(sql_error!(SYNTAX_ERROR, "subquery has too many columns"), link.loc));
        }
        if left.len() > columns.len() {
            return Err(at(sql_error!(SYNTAX_ERROR, "subquery has too few columns"), link.loc));
        }
        if left.len() > 1 && !matches!(&*op.symbol, "=" | "<>") {
            return Err(at(
                crate::error::SqlError::unsupported(
                    "row comparison with a sub-select by an ordering operator is not supported yet",
                ),
                link.loc,
            ));
        }
        // Rows differ where not all of their columns are equal: `<> ALL` is asked as NOT (`= ANY`), and `<> ANY` as
        // NOT (`= ALL`).
        let differ = rows_differ(&link.kind);
        let (symbol, all) = if differ { ("=", !all) } else { (&*op.symbol, all) };
        let mut tests = Vec::with_capacity(left.len());
        for (i, (left, column)) in left.into_iter().zip(columns).enumerate() {
            let right = Expr::Slot(Slot { slot: i as u16, ty: column.ty });
            let mut test = self.plain_call(symbol, left, right, op.loc)?;
            self.collate_with(&mut test, (1, column.collation))?;
            if test.ty.id != TypeId::BOOL {
                return Err(at(
                    sql_error!(
                        DATATYPE_MISMATCH,
                        "row comparison operator must yield type boolean, not type {}",
                        display(test.ty)
                    ),
                    op.loc,
                ));
            }
            tests.push(test);
        }
        Ok(SubLinkKind::Quantified { tests, all })
    }
}

/// Whether a row of several columns is asked to differ from those of the sub-select.
fn rows_differ(kind: &ast::SubLinkKind) -> bool {
    match kind {
        ast::SubLinkKind::Any { left: ast::Expr::Row(row), op: Some(op) }
        | ast::SubLinkKind::All { left: ast::Expr::Row(row), op } => {
            row.args.len() > 1 && &*op.symbol == "<>"
        }
        _ => false,
    }
}
