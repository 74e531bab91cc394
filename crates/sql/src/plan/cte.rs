//! WITH: each CTE is planned once; references scan its kept rows, or repeat its plan.
//!
//! A CTE that takes values of an enclosing query, or reads rows of a recursion around it, has other rows from run to run
//! of the query that has it: that query's plan begins with a [`Renew`], and so does that of every CTE that reads such
//! rows. A sub-select that does is run each time it is asked.

use std::sync::Arc;

use crate::bind::query::{Cte, CteQuery, Query};
use crate::bind::tree::Expr;
use crate::error::{Result, SqlError};

use super::Planner;
use super::estimate::is_volatile_query;
use super::node::{Node, RecursiveUnion, Renew};
use super::setop::cast_to;

/// How references to a CTE are planned.
pub(super) enum PlannedCte {
    /// Nobody refers to it.
    Unused,
    /// Its rows are computed once, or, `renewed`, once for each run of the query that has it, and kept under this id.
    Kept { id: u16, renewed: bool },
    /// Its query stands in for the one reference, or for each.
    Inline(Box<Query>),
    /// It is being planned: references are to its own growing result.
    Growing(u16),
}

/// How a CTE that stands in for its references is planned for one from a query further in.
pub(super) enum Again {
    Node(Node),
    Kept(PlannedCte),
}

/// A reference to rows that are others from time to time.
pub(super) struct Read {
    /// The level that has them: whatever is run again within one run of that may keep them.
    pub depth: usize,
    /// Where they are the last round's of a recursion.
    pub work_table: Option<u16>,
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
            self.level().cte_names.push(cte.name.clone());
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
                let reads = self.reads.len();
                let (node, correlation) = self.subquery(query)?;
                self.kept(&cte.name, (node, correlation), reads, None)
            }
            CteQuery::Recursive { first, again, all, casts } => {
                if cte.references == 0 {
                    return Ok(PlannedCte::Unused);
                }
                let reads = self.reads.len();
                let (first, mut correlation) = self.subquery(first)?;
                let work_table = self.work_tables;
                self.work_tables += 1;
                self.level().ctes.push(PlannedCte::Growing(work_table));
                let planned = self.subquery(again);
                self.level().ctes.pop();
                let (again, more) = planned?;
                let again = cast_to(again, casts);
                correlation.extend(more);
                let node = Node::RecursiveUnion(Arc::new(RecursiveUnion {
                    first,
                    again,
                    work_table,
                    all: *all,
                    types: cte.columns.iter().map(|column| column.ty.id).collect(),
                }));
                self.kept(&cte.name, (node, correlation), reads, Some(work_table))
            }
            CteQuery::Modify(modify) => {
                let node = self.modify(modify)?;
                Ok(PlannedCte::Kept { id: self.keep(&cte.name, node), renewed: false })
            }
        }
    }

    /// Plans a CTE that stands in for its references once more, for one from a query further in.
    pub(super) fn plan_again(&mut self, name: &str, query: &Query) -> Result<Again> {
        let reads = self.reads.len();
        let (node, correlation) = self.subquery(query)?;
        if correlation.is_empty() {
            return Ok(Again::Node(node));
        }
        // What it takes from outside is set only where it was written.
        self.kept(name, (node, correlation), reads, None).map(Again::Kept)
    }

    /// Keeps the rows of a CTE of the level at hand. `reads`: so many there were before it was planned; `own`: the work
    /// table of its own recursion.
    pub(super) fn kept(
        &mut self,
        name: &str,
        (node, correlation): (Node, Vec<(u16, Expr)>),
        reads: usize,
        own: Option<u16>,
    ) -> Result<PlannedCte> {
        let depth = self.levels.len();
        let others = |read: &Read| read.depth < depth && (own.is_none() || read.work_table != own);
        let renewed = !correlation.is_empty() || self.reads[reads..].iter().any(others);
        let id = self.keep(name, node);
        if renewed {
            self.level().renewed.push(id);
        }
        // What it takes from outside is set before the query that has it is run, and stays.
        if !self.split_correlation(correlation).is_empty() {
            return Err(SqlError::internal("a WITH query refers to entries of FROM beside it"));
        }
        Ok(PlannedCte::Kept { id, renewed })
    }

    /// Does what was planned one level further in since there were so many reads read rows of this level or one around
    /// it, which may be others when it is run again?
    pub(super) fn has_read(&self, reads: usize) -> bool {
        self.reads[reads..].iter().any(|read| read.depth < self.levels.len())
    }

    /// The plan of a level's query, beginning with what is to be done each time it is run.
    pub(super) fn renewing(&mut self, input: Node) -> Node {
        let renewed = std::mem::take(&mut self.level().renewed);
        if renewed.is_empty() {
            return input;
        }
        let of = |id: u16| (id, Arc::clone(&self.ctes[usize::from(id)]));
        Node::Renew(Arc::new(Renew { ctes: renewed.into_iter().map(of).collect(), input }))
    }

    fn keep(&mut self, name: &str, node: Node) -> u16 {
        self.cte_names.push(name.into());
        self.ctes.push(Arc::new(node));
        (self.ctes.len() - 1) as u16
    }
}
