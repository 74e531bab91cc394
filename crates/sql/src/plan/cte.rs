//! WITH: each CTE is planned once; references scan its kept rows, or repeat its plan.

use std::sync::Arc;

use crate::bind::query::{Cte, CteQuery, Query};
use crate::bind::tree::Expr;
use crate::error::Result;

use super::Planner;
use super::estimate::is_volatile_query;
use super::node::{Node, RecursiveUnion};

/// How references to a CTE are planned.
pub(super) enum PlannedCte {
    /// Nobody refers to it.
    Unused,
    /// Its rows are computed once and kept under this id.
    Kept(u16),
    /// Its query stands in for the one reference.
    Inline(Box<Query>),
    /// It is recursive and takes values of an enclosing query, or rows of a recursion around it, so its rows differ
    /// from run to run: each reference computes its own.
    Correlated(Node, Vec<(u16, Expr)>),
    /// It is being planned: references are to its own growing result.
    Growing(u16),
}

/// The query of a CTE that stands in for the one reference to it, or for each.
pub(super) fn inlined(cte: &Cte) -> Option<&Query> {
    let CteQuery::Plain(query) = &cte.query else { return None };
    let inline =
        cte.materialized == Some(false) || (cte.materialized.is_none() && cte.references == 1);
    (inline && query.locking.is_empty() && !is_volatile_query(query)).then_some(&**query)
}

impl Planner {
    /// Plans a query's CTEs into the level at hand.
    pub(super) fn plan_ctes(&mut self, ctes: &[Cte]) -> Result<()> {
        for cte in ctes {
            let planned = self.plan_cte(cte)?;
            self.level().ctes.push(planned);
        }
        Ok(())
    }

    fn plan_cte(&mut self, cte: &Cte) -> Result<PlannedCte> {
        match &cte.query {
            CteQuery::Plain(query) => {
                if cte.references == 0 {
                    return Ok(PlannedCte::Unused);
                }
                if inlined(cte).is_some() {
                    return Ok(PlannedCte::Inline(query.clone()));
                }
                let growth = self.growth();
                let (node, correlation) = self.subquery(query)?;
                if !correlation.is_empty() || self.has_read(growth) {
                    // Its rows differ from run to run of the query around it.
                    return Ok(PlannedCte::Inline(query.clone()));
                }
                Ok(PlannedCte::Kept(self.keep(node)))
            }
            CteQuery::Recursive { first, again, all } => {
                if cte.references == 0 {
                    return Ok(PlannedCte::Unused);
                }
                let growth = self.growth();
                let (first, mut correlation) = self.subquery(first)?;
                let work_table = self.work_tables;
                self.work_tables += 1;
                self.level().ctes.push(PlannedCte::Growing(work_table));
                let planned = self.subquery(again);
                self.level().ctes.pop();
                let (again, more) = planned?;
                correlation.extend(more);
                let node = Node::RecursiveUnion(Arc::new(RecursiveUnion {
                    first,
                    again,
                    work_table,
                    all: *all,
                    types: cte.columns.iter().map(|column| column.ty.id).collect(),
                }));
                if !correlation.is_empty() || self.has_read(growth) {
                    return Ok(PlannedCte::Correlated(node, correlation));
                }
                Ok(PlannedCte::Kept(self.keep(node)))
            }
            CteQuery::Modify(modify) => {
                let node = self.modify(modify)?;
                Ok(PlannedCte::Kept(self.keep(node)))
            }
        }
    }

    /// Where planning is: the work tables there are, and how many reads of them.
    fn growth(&self) -> (u16, usize) {
        (self.work_tables, self.work_scans.len())
    }

    /// Does what was planned since then read the rows of a recursion around it, which are others in each round?
    fn has_read(&self, (tables, scans): (u16, usize)) -> bool {
        self.work_scans[scans..].iter().any(|table| *table < tables)
    }

    fn keep(&mut self, node: Node) -> u16 {
        self.ctes.push(Arc::new(node));
        (self.ctes.len() - 1) as u16
    }
}
