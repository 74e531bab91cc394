//! VALUES lists.

use syntax::ast::{self, Loc, Select, Values};

use crate::error::{Result, bail, sql_error};
use crate::types::TypeId;

use super::query::{JoinTree, Query, Rel, RelColumn, RelKind, Target};
use super::scope::var;
use super::tree::Expr;
use super::{Binder, ExprKind, at, coerce, locking};

impl Binder<'_, '_> {
    /// `VALUES (…), (…)` as a query: one range-table entry named `*VALUES*`. Literals that nothing gives a type are
    /// text, whatever uses the query.
    pub(super) fn values(&mut self, select: &Select, values: &Values) -> Result<Query> {
        let mut rows = self.value_rows(&values.rows, ExprKind::Values)?;
        let width = rows[0].len();
        let mut columns = Vec::with_capacity(width);
        for i in 0..width {
            let column: Vec<Expr> = rows.iter().map(|row| row[i].clone()).collect();
            let mut ty = self.common_type(&column, "VALUES")?;
            if ty.id == TypeId::UNKNOWN {
                ty = super::Ty::TEXT;
            }
            for row in &mut rows {
                let expr = std::mem::replace(&mut row[i], Expr::bool(true));
                row[i] = coerce::to_common(self, expr, ty, "VALUES")?;
            }
            let values = rows.iter().map(|row| &row[i]);
            let nameless = self.are_nameless(ty, values.clone());
            let collation = self.column_collation(values, true)?;
            let name = format!("column{}", i + 1);
            columns.push(RelColumn { collation, nameless, ..RelColumn::plain(name, ty) });
        }
        let rel = Rel {
            alias: "*VALUES*".into(),
            kind: RelKind::Values(rows),
            columns: columns.clone(),
            lateral: true,
            loc: Loc::NONE,
        };
        let index = self.scope().add_rel(rel);
        let item = self.scope().item_of(index, None);
        self.scope().items.push(item);
        let mut query = Query { from: vec![JoinTree::Rel(index)], ..Query::default() };
        for (i, column) in columns.iter().enumerate() {
            query.targets.push(Target {
                expr: var(index, i, column),
                name: column.name.clone(),
                junk: false,
                origin: None,
                nameless: column.nameless,
            });
        }
        query.order_by = self.order_by(&select.order_by, &mut query.targets)?;
        self.limits(select, &mut query)?;
        if let Some(clause) = select.locking.first() {
            let words = locking::words(clause.strength);
            bail!(FEATURE_NOT_SUPPORTED, "{words} cannot be applied to VALUES");
        }
        self.finish(&mut query)?;
        Ok(query)
    }

    /// The rows' expressions, all rows equally long.
    pub(super) fn value_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        kind: ExprKind,
    ) -> Result<Vec<Vec<Expr>>> {
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        for row in rows {
            let mut out = Vec::with_capacity(row.len());
            for expr in row {
                if let ast::Expr::Star(star) = expr {
                    out.extend(self.star(star)?.into_iter().map(|(_, expr)| expr));
                    continue;
                }
                out.push(self.with_kind(kind, |b| b.expr(expr))?);
            }
            if bound.first().is_some_and(|first| first.len() != out.len()) {
                let loc = out.first().map_or(Loc::NONE, Expr::loc);
                return Err(at(
                    sql_error!(SYNTAX_ERROR, "VALUES lists must all be the same length"),
                    loc,
                ));
            }
            bound.push(out);
        }
        Ok(bound)
    }
}
