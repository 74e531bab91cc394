//! WITH: common table expressions, plain and recursive.

use std::collections::BTreeSet;

use syntax::ast::{self, Loc, SelectBody, Statement, With};

use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::TypeId;

use super::from::rename;
use super::query::{Cte, CteQuery, Query, Rel, RelColumn, RelKind};
use super::setop::loose_rows;
use super::tree::{Expr, Ty};
use super::types::display;
use super::{Binder, at, coerce, recursion};

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
        let ctes = if with.recursive {
            recursion::in_order(&with.ctes)?
        } else {
            // The next is the last: it leaves the list when it is bound.
            self.scope().future_ctes = with.ctes.iter().rev().map(|c| c.name.clone()).collect();
            with.ctes.iter().map(|cte| (cte, false)).collect()
        };
        for (cte, recursive) in ctes {
            if cte.search.is_some() || cte.cycle.is_some() {
                return Err(SqlError::unsupported(
                    "SEARCH and CYCLE clauses are not supported yet",
                ));
            }
            let bound = match &*cte.query {
                Statement::Select(select) if recursive => self.recursive_cte(cte, select)?,
                Statement::Select(select) => {
                    let query = self.select(select, true)?;
                    let columns = self.cte_columns(&query, cte)?;
                    Cte {
                        name: cte.name.clone(),
                        query: CteQuery::Plain(Box::new(query)),
                        columns,
                        references: 0,
                        materialized: cte.materialized,
                        hidden: false,
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
            hidden: false,
        })
    }

    fn recursive_cte(&mut self, cte: &ast::Cte, select: &ast::Select) -> Result<Cte> {
        let SelectBody::SetOp(op) = &select.body else {
            unreachable!("the form of recursive queries was looked at");
        };
        let own = self.scope().ctes.len();
        if let Some(with) = &select.with {
            let later = std::mem::take(&mut self.scope().future_ctes);
            self.with_clause(with)?;
            self.scope().future_ctes = later;
        }
        let mut first = self.select(&op.left, false)?;
        let given: Vec<Ty> = first.visible().map(|target| target.expr.ty()).collect();
        self.resolve_targets(&mut first.targets)?;
        let columns = self.cte_columns(&first, cte)?;
        // Enter the name with the first part's columns: the second part sees that.
        let index = self.scope().ctes.len();
        self.scope().ctes.push(Cte {
            name: cte.name.clone(),
            query: CteQuery::Plain(Box::default()),
            columns: columns.clone(),
            references: u16::MAX,
            materialized: None,
            hidden: false,
        });
        let again = self.select(&op.right, false);
        self.scope().ctes.truncate(index);
        self.scope().ctes[own..].iter_mut().for_each(|cte| cte.hidden = true);
        let mut again = again?;
        if again.visible().count() != columns.len() {
            let loc = again.visible().next().map_or(Loc::NONE, |target| target.expr.loc());
            let message = "each UNION query must have the same number of columns";
            return Err(at(sql_error!(SYNTAX_ERROR, "{message}"), loc));
        }
        let hangs_on_types = again.hangs_on_types();
        for (i, given) in given.into_iter().enumerate() {
            let target = again.targets.iter_mut().filter(|t| !t.junk).nth(i).expect("counted");
            let expr = std::mem::replace(&mut target.expr, Expr::bool(true));
            let whole = RelColumn { ty: given, ..columns[i].clone() };
            let overall = self.common_type(&[RelColumn::var_of(&whole), expr.clone()], "UNION")?;
            if overall != columns[i].ty && overall.id != TypeId::UNKNOWN {
                let loc = first.visible().nth(i).map_or(Loc::NONE, |target| target.expr.loc());
                return Err(at(other_type(cte, i, columns[i].ty, overall), loc));
            }
            let expr = match hangs_on_types {
                true => expr,
                false => coerce::to_common(self, expr, columns[i].ty, "UNION")?,
            };
            let target = again.targets.iter_mut().filter(|t| !t.junk).nth(i).expect("counted");
            target.expr = expr;
        }
        self.check_recursive_collations(cte, &columns, &first, &again, op.all)?;
        let own: Vec<Ty> = again.visible().map(|target| target.expr.ty()).collect();
        let types: Vec<Ty> = columns.iter().map(|column| column.ty).collect();
        let casts = if own == types { Vec::new() } else { self.casts_of(&own, &types)? };
        Ok(Cte {
            name: cte.name.clone(),
            query: CteQuery::Recursive {
                first: Box::new(first),
                again: Box::new(again),
                all: op.all,
                casts,
            },
            columns,
            references: 0,
            materialized: Some(true),
            hidden: false,
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
            let overall = self.recursive_collation([&whole, &target.expr], all)?;
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
            let is_it = |cte: &Cte| !cte.hidden && *cte.name == *name;
            let Some(index) = scope.ctes.iter().rposition(is_it) else { continue };
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

fn other_type(cte: &ast::Cte, i: usize, own: Ty, overall: Ty) -> SqlError {
    sql_error!(
        DATATYPE_MISMATCH,
        "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
        cte.name,
        i + 1,
        display(own),
        display(overall)
    )
    .with_hint("Cast the output of the non-recursive term to the correct type.")
}
