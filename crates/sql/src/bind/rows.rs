//! Rows that are written out: what stands in them, and how two of them compare field by field.

use syntax::ast::{self, Loc};

use crate::error::{Result, sql_error};

use super::tree::{Comparison, Distinct, Expr, RowCompare};
use super::{Binder, at};

impl Binder<'_, '_> {
    pub(super) fn row_compare(
        &mut self,
        op: &ast::Operator,
        left: &[ast::Expr],
        right: &[ast::Expr],
    ) -> Result<Expr> {
        let pairs = self.row_pairs(left, right, op.loc)?;
        self.compare_pairs(op, pairs)
    }

    /// The fields of two rows, side by side.
    fn row_pairs(
        &mut self,
        left: &[ast::Expr],
        right: &[ast::Expr],
        loc: Loc,
    ) -> Result<Vec<(Expr, Expr)>> {
        let left = self.row_fields(left)?;
        let right = self.row_fields(right)?;
        if left.len() != right.len() {
            return Err(at(
                sql_error!(SYNTAX_ERROR, "unequal number of entries in row expressions"),
                loc,
            ));
        }
        Ok(left.into_iter().zip(right).collect())
    }

    /// What stands between a row's parentheses, `*` expanded.
    pub(super) fn row_fields(&mut self, args: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut fields = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                ast::Expr::Star(star) => {
                    fields.extend(self.star(star)?.into_iter().map(|(_, field)| field));
                }
                arg => fields.push(self.expr(arg)?),
            }
        }
        Ok(fields)
    }

    pub(super) fn compare_pairs(
        &mut self,
        op: &ast::Operator,
        pairs: Vec<(Expr, Expr)>,
    ) -> Result<Expr> {
        if pairs.is_empty() {
            return Err(at(
                sql_error!(FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length"),
                op.loc,
            ));
        }
        let (comparison, strict) = match &*op.symbol {
            "=" => (Comparison::Eq, None),
            "<>" => (Comparison::Ne, None),
            "<" => (Comparison::Lt, Some("<")),
            "<=" => (Comparison::Le, Some("<")),
            ">" => (Comparison::Gt, Some(">")),
            ">=" => (Comparison::Ge, Some(">")),
            other => {
                for (l, r) in pairs {
                    self.operator_call(other, l, r, op.loc)?;
                }
                return Err(at(
                    sql_error!(
                        FEATURE_NOT_SUPPORTED,
                        "could not determine interpretation of row comparison operator {other}"
                    )
                    .with_hint(
                        "Row comparison operators must be associated with btree operator families.",
                    ),
                    op.loc,
                ));
            }
        };
        if strict.is_none() {
            let mut parts = Vec::with_capacity(pairs.len());
            for (l, r) in pairs {
                parts.push(self.operator(&op.symbol, l, r, op.loc)?);
            }
            if parts.len() == 1 {
                return Ok(parts.remove(0));
            }
            return Ok(if comparison == Comparison::Eq {
                Expr::And(parts)
            } else {
                Expr::Or(parts)
            });
        }
        let mut columns = Vec::with_capacity(pairs.len());
        for (l, r) in pairs {
            let equal = self.operator_call("=", l.clone(), r.clone(), op.loc)?;
            let order = match strict {
                Some(symbol) => Some(self.operator_call(symbol, l, r, op.loc)?),
                None => None,
            };
            columns.push((equal, order));
        }
        Ok(Expr::RowCompare(Box::new(RowCompare { op: comparison, columns })))
    }

    /// Rows are distinct where one of their fields is, whose types need be comparable only.
    pub(super) fn rows_distinct(
        &mut self,
        left: &[ast::Expr],
        right: &[ast::Expr],
        d: &ast::IsDistinctExpr,
    ) -> Result<Expr> {
        let mut tests = Vec::with_capacity(left.len());
        for (l, r) in self.row_pairs(left, right, d.loc)? {
            let equal = self.operator_call("=", l, r, d.loc)?;
            tests.push(Expr::Distinct(Box::new(Distinct { equal, negated: d.negated })));
        }
        Ok(match tests.len() {
            0 => Expr::bool(d.negated),
            1 => tests.remove(0),
            _ if d.negated => Expr::And(tests),
            _ => Expr::Or(tests),
        })
    }
}
