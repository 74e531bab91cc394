//! WITH: common table expressions, plain and recursive.

use std::collections::BTreeSet;

use syntax::ast::{self, Loc, SelectBody, SetOperator, Statement, With};

use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::TypeId;

use super::from::rename;
use super::query::{Cte, CteQuery, Query, Rel, RelColumn, RelKind};
use super::setop::loose_rows;
use super::tree::Ty;
use super::{Binder, at};

impl Binder<'_, '_> {
    /// Binds the CTEs of a WITH clause into the scope at hand.
    pub(super) fn with_clause(&mut self, with: &With) -> Result<()> {
        let mut names = BTreeSet::new();
        for cte in &with.ctes {
            if !names.insert(&cte.name) {
                return Err(at(
                    sql_error!(
                        DUPLICATE_ALIAS,
                        "WITH query name \"{}\" specified more than once",
                        cte.name
                    ),
                    cte.loc,
                ));
            }
        }
        // The next is the last: it leaves the list when it is bound.
        self.scope().future_ctes = with.ctes.iter().rev().map(|c| c.name.clone()).collect();
        for cte in &with.ctes {
            if cte.search.is_some() || cte.cycle.is_some() {
                return Err(SqlError::unsupported(
                    "SEARCH and CYCLE clauses are not supported yet",
                ));
            }
            let bound = match &*cte.query {
                Statement::Select(select) if with.recursive && refers_to(select, &cte.name) => {
                    self.recursive_cte(cte, select)?
                }
                Statement::Select(select) => {
                    let query = self.select(select, true)?;
                    let columns = self.cte_columns(&query, cte)?;
                    Cte {
                        name: cte.name.clone(),
                        query: CteQuery::Plain(Box::new(query)),
                        columns,
                        references: 0,
                        materialized: cte.materialized,
                    }
                }
                other => self.modifying_cte(cte, other)?,
            };
            self.scope().ctes.push(bound);
            self.scope().future_ctes.pop();
        }
        Ok(())
    }

    fn cte_columns(&self, query: &Query, cte: &ast::Cte) -> Result<Vec<RelColumn>> {
        let mut columns: Vec<RelColumn> = query.visible().map(RelColumn::of_target).collect();
        name_columns(&mut columns, cte)?;
        Ok(columns)
    }

    fn modifying_cte(&mut self, cte: &ast::Cte, statement: &Statement) -> Result<Cte> {
        if self.scopes.len() > 1 {
            return Err(at(
                sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "WITH clause containing a data-modifying statement must be at the top level"
                ),
                cte.loc,
            ));
        }
        let modify = match statement {
            Statement::Insert(insert) => self.insert(insert)?,
            Statement::Update(update) => self.update(update)?,
            Statement::Delete(delete) => self.delete(delete)?,
            _ => bail!(SYNTAX_ERROR, "WITH query must be SELECT, INSERT, UPDATE or DELETE"),
        };
        let mut columns: Vec<RelColumn> =
            modify.returning.iter().map(RelColumn::of_target).collect();
        name_columns(&mut columns, cte)?;
        Ok(Cte {
            name: cte.name.clone(),
            query: CteQuery::Modify(Box::new(modify)),
            columns,
            references: 0,
            materialized: Some(true),
        })
    }

    fn recursive_cte(&mut self, cte: &ast::Cte, select: &ast::Select) -> Result<Cte> {
        let SelectBody::SetOp(op) = &select.body else {
            return Err(not_recursive(cte));
        };
        if op.op != SetOperator::Union || refers_to(&op.left, &cte.name) {
            return Err(not_recursive(cte));
        }
        let plain_tail = select.order_by.is_empty()
            && select.limit.is_none()
            && select.offset.is_none()
            && select.locking.is_empty();
        if !plain_tail {
            return Err(SqlError::unsupported(
                "ORDER BY, LIMIT or locking in a recursive query is not implemented",
            ));
        }
        let own = self.scope().ctes.len();
        if let Some(with) = &select.with {
            let later = std::mem::take(&mut self.scope().future_ctes);
            self.with_clause(with)?;
            self.scope().future_ctes = later;
        }
        let first = self.select(&op.left, true)?;
        let columns = self.cte_columns(&first, cte)?;
        // Enter the name with the first part's columns: the second part sees that.
        let index = self.scope().ctes.len();
        self.scope().ctes.push(Cte {
            name: cte.name.clone(),
            query: CteQuery::Plain(Box::default()),
            columns: columns.clone(),
            references: u16::MAX,
            materialized: None,
        });
        let again = self.select(&op.right, true);
        self.scope().ctes.truncate(index);
        // What the query's own WITH names is planned with the rest, but nobody else may name it.
        self.scope().ctes[own..].iter_mut().for_each(|cte| cte.name = "".into());
        let mut again = again?;
        let visible: Vec<Ty> = again.visible().map(|t| t.expr.ty()).collect();
        if visible.len() != columns.len() {
            bail!(SYNTAX_ERROR, "each UNION query must have the same number of columns");
        }
        for (i, (column, ty)) in columns.iter().zip(&visible).enumerate() {
            if column.ty.id == ty.id {
                continue;
            }
            let target = again.targets.iter_mut().filter(|t| !t.junk).nth(i).expect("counted");
            let expr = std::mem::replace(&mut target.expr, super::Expr::bool(true));
            let common = super::coerce::implicit(self, expr, column.ty)?;
            let Some(expr) = common else {
                return Err(sql_error!(
                    DATATYPE_MISMATCH,
                    "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
                    cte.name,
                    i + 1,
                    super::types::display(column.ty),
                    super::types::display(*ty)
                )
                .with_hint("Cast the output of the non-recursive term to the correct type."));
            };
            let target = again.targets.iter_mut().filter(|t| !t.junk).nth(i).expect("counted");
            target.expr = expr;
        }
        self.check_recursive_collations(cte, &columns, &first, &again, op.all)?;
        Ok(Cte {
            name: cte.name.clone(),
            query: CteQuery::Recursive {
                first: Box::new(first),
                again: Box::new(again),
                all: op.all,
            },
            columns,
            references: 0,
            materialized: Some(true),
        })
    }

    /// Both terms of a recursive query must agree on the collations of its columns.
    fn check_recursive_collations(
        &mut self,
        cte: &ast::Cte,
        columns: &[RelColumn],
        first: &Query,
        again: &Query,
        all: bool,
    ) -> Result<()> {
        for (i, (column, target)) in columns.iter().zip(again.visible()).enumerate() {
            let own = column.collation;
            let whole = RelColumn::var_of(column);
            let overall = self.column_collation([&whole, &target.expr], all)?;
            if own != overall {
                let own = self.catalog.lookup.collation_name(own.oid)?;
                let overall = self.catalog.lookup.collation_name(overall.oid)?;
                let loc = first.visible().nth(i).map_or(Loc::NONE, |target| target.expr.loc());
                let error = sql_error!(
                    COLLATION_MISMATCH,
                    "recursive query \"{}\" column {} has collation \"{own}\" in non-recursive term but collation \"{overall}\" overall",
                    cte.name,
                    i + 1
                )
                .with_hint(
                    "Use the COLLATE clause to set the collation of the non-recursive term.",
                );
                return Err(at(error, loc));
            }
            if !all && own.loose().is_some() {
                return Err(loose_rows("a recursive UNION"));
            }
        }
        Ok(())
    }

    /// The range-table entry for a CTE of that name, if one is in sight.
    pub(super) fn cte_rel(&mut self, name: &str, loc: Loc) -> Result<Option<Rel>> {
        for level in 0..self.scopes.len() {
            let at_depth = self.scopes.len() - 1 - level;
            let scope = &mut self.scopes[at_depth];
            // The last of a name is the innermost: a recursive query's own WITH shares its level.
            let Some(index) = scope.ctes.iter().rposition(|cte| *cte.name == *name) else {
                continue;
            };
            let cte = &mut scope.ctes[index];
            let recursive = cte.references == u16::MAX;
            if !recursive {
                cte.references += 1;
                if let CteQuery::Modify(modify) = &cte.query
                    && modify.returning.is_empty()
                {
                    return Err(at(
                        sql_error!(
                            FEATURE_NOT_SUPPORTED,
                            "WITH query \"{name}\" does not have a RETURNING clause"
                        ),
                        loc,
                    ));
                }
            }
            let (level, index) = (level as u16, index as u16);
            let kind = if recursive {
                RelKind::Recursive { level, index }
            } else {
                RelKind::Cte { level, index }
            };
            return Ok(Some(Rel {
                alias: name.into(),
                kind,
                columns: cte.columns.clone(),
                lateral: false,
                loc,
            }));
        }
        Ok(None)
    }
}

fn name_columns(columns: &mut [RelColumn], cte: &ast::Cte) -> Result<()> {
    if cte.columns.len() > columns.len() {
        return Err(at(
            sql_error!(
                INVALID_COLUMN_REFERENCE,
                "WITH query \"{}\" has {} columns available but {} columns specified",
                cte.name,
                columns.len(),
                cte.columns.len()
            ),
            cte.loc,
        ));
    }
    rename(columns, &cte.columns, &cte.name, cte.loc)?;
    for column in columns {
        if column.ty.id == TypeId::UNKNOWN {
            column.ty = Ty::TEXT;
        }
    }
    Ok(())
}

fn not_recursive(cte: &ast::Cte) -> SqlError {
    at(
        sql_error!(
            INVALID_RECURSION,
            "recursive query \"{}\" does not have the form non-recursive-term UNION [ALL] recursive-term",
            cte.name
        ),
        cte.loc,
    )
}

/// Does the query's FROM (at any depth) name this relation?
fn refers_to(select: &ast::Select, name: &str) -> bool {
    let in_with = select.with.as_ref().is_some_and(|with| {
        with.ctes.iter().any(|c| match &*c.query {
            Statement::Select(s) => refers_to(s, name),
            _ => false,
        })
    });
    in_with
        || match &select.body {
            SelectBody::Core(core) => {
                core.from.iter().any(|item| from_refers(item, name))
                    || core.filter.as_ref().is_some_and(|f| expr_refers(f, name))
            }
            SelectBody::SetOp(op) => refers_to(&op.left, name) || refers_to(&op.right, name),
            SelectBody::Values(_) => false,
        }
}

fn expr_refers(expr: &ast::Expr, name: &str) -> bool {
    match expr {
        ast::Expr::SubLink(link) => refers_to(&link.query, name),
        ast::Expr::And(list) | ast::Expr::Or(list) => {
            list.args.iter().any(|arg| expr_refers(arg, name))
        }
        ast::Expr::Not(not) => expr_refers(&not.arg, name),
        _ => false,
    }
}

fn from_refers(item: &ast::FromItem, name: &str) -> bool {
    match item {
        ast::FromItem::Table(table) => {
            table.relation.schema.is_none() && *table.relation.name == *name
        }
        ast::FromItem::Subquery(sub) => refers_to(&sub.query, name),
        ast::FromItem::Join(join) => {
            from_refers(&join.left, name) || from_refers(&join.right, name)
        }
        ast::FromItem::Function(_) => false,
    }
}
