//! The rule of grouped queries: outside aggregates, only grouping columns may be used.

use syntax::ast::Loc;

use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, SqlError, sql_error};
use crate::types::Oid;

use super::query::{Query, RelKind};
use super::tree::{Column, Expr, Grouping, Var};
use super::{at, walk};

/// Checks a grouped query's outputs and HAVING. The primary keys, by their constraints, but for which it would be wrong.
pub(super) fn check(query: &Query) -> Result<Vec<Oid>> {
    let keys = query.group.as_ref().map_or(&[][..], |group| &group.keys);
    let sets = query.group.as_ref().map_or(&[][..], |group| &group.sets);
    let common = (0..keys.len()).filter(|i| sets.iter().all(|set| set.contains(&(*i as u16))));
    let common = common.map(|i| &keys[i]).collect();
    let mut checker = Checker { query, keys, common, rests_on: Vec::new() };
    for target in &query.targets {
        checker.expr(&target.expr, 0)?;
    }
    if let Some(having) = &query.having {
        checker.expr(having, 0)?;
    }
    for window in &query.windows {
        for expr in &window.partition_by {
            checker.expr(expr, 0)?;
        }
        for key in &window.order_by {
            checker.expr(&key.expr, 0)?;
        }
    }
    Ok(checker.rests_on)
}

struct Checker<'a> {
    query: &'a Query,
    keys: &'a [Expr],
    /// Those that are in every grouping set. In a row of another set a key is null, and determines nothing.
    common: Vec<&'a Expr>,
    rests_on: Vec<Oid>,
}

impl Checker<'_> {
    fn expr(&mut self, expr: &Expr, depth: u16) -> Result<()> {
        if depth == 0 && self.keys.iter().any(|key| walk::same(key, expr)) {
            return Ok(());
        }
        match expr {
            // The arguments of this level's aggregates are computed before grouping.
            Expr::Aggregate(agg) if agg.level == depth => return Ok(()),
            Expr::Grouping(grouping) if grouping.level == depth => return self.grouping(grouping),
            Expr::Grouping(grouping) if grouping.level > depth => return Ok(()),
            Expr::Var(var) if var.level == depth => return self.var(var, depth),
            Expr::SubLink(link) => {
                let mut first: Result<()> = Ok(());
                walk::query_exprs(&link.query, depth + 1, &mut |e, d| {
                    if first.is_ok() {
                        first = self.expr(e, d);
                    }
                });
                first?;
            }
            _ => {}
        }
        let mut result = Ok(());
        walk::each_child(expr, &mut |child| {
            if result.is_ok() {
                result = self.expr(child, depth);
            }
        });
        result
    }

    fn grouping(&self, grouping: &Grouping) -> Result<()> {
        let foreign = |arg: &&Expr| {
            let own = walk::moved_out((*arg).clone(), grouping.level);
            !self.keys.iter().any(|key| walk::same(key, &own))
        };
        grouping.args.iter().find(foreign).map_or(Ok(()), |arg| {
            let error = sql_error!(
                GROUPING_ERROR,
                "arguments to GROUPING must be grouping expressions of the associated query level"
            );
            Err(at(error, arg.loc()))
        })
    }

    fn var(&mut self, var: &Var, depth: u16) -> Result<()> {
        let own = Var { level: 0, ..*var };
        if self.keys.iter().any(|key| matches!(key, Expr::Var(k) if k.same(&own))) {
            return Ok(());
        }
        let rel = &self.query.rels[usize::from(var.rel)];
        // A primary key among the grouping columns determines the table's others.
        if let RelKind::Table(def) = &rel.kind
            && let Some(primary) = self.primary_key(def, var.rel)
        {
            self.rests_on.extend(primary.constraint);
            return Ok(());
        }
        let name = match var.column {
            Column::User(i) => {
                format!("{}.{}", rel.alias, rel.columns[usize::from(i)].name)
            }
            Column::Whole => format!("{}.*", rel.alias),
            Column::Ctid => format!("{}.ctid", rel.alias),
            Column::TableOid => format!("{}.tableoid", rel.alias),
            _ => format!("{}.xmin", rel.alias),
        };
        Err(ungrouped(&name, depth, var.loc))
    }

    /// The table's primary key, if it is among the grouping columns.
    fn primary_key<'d>(&self, def: &'d TableDef, rel: u16) -> Option<&'d IndexDef> {
        let primary: &IndexDef = def.indexes.iter().find(|i| i.primary && i.immediate)?;
        let is_grouped = |column| {
            self.common.iter().any(|key| {
                matches!(key, Expr::Var(k)
                    if k.level == 0 && k.rel == rel && k.column == Column::User(column))
            })
        };
        primary.key_columns().all(|column| column.is_some_and(is_grouped)).then_some(primary)
    }
}

fn ungrouped(name: &str, depth: u16, loc: Loc) -> SqlError {
    let error = if depth == 0 {
        sql_error!(
            GROUPING_ERROR,
            "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
        )
    } else {
        sql_error!(GROUPING_ERROR, "subquery uses ungrouped column \"{name}\" from outer query")
    };
    at(error, loc)
}
