//! Sub-selects in expressions become sub-plans.

use std::sync::Arc;

use crate::bind::query::Query;
use crate::bind::tree::{Call, Const, Expr, Slot, SubLink, SubLinkKind, SubPlan, Ty};
use crate::bind::walk;
use crate::error::Result;
use crate::types::Datum;

use super::estimate::{is_volatile_query, operator};
use super::join::of_one_type;
use super::members::{probe_pays, rows_read};
use super::node::{Limit, Members, Node, RowKeys, Subplan};
use super::pull_up::pulled_up;
use super::rewrite::Below;
use super::semijoin::{Ties, reduce_to, same_type, ties_of};
use super::{Planner, collate};

impl Planner {
    pub(super) fn sublink(&mut self, link: &SubLink, below: &mut Below<'_>) -> Result<Expr> {
        if let SubLinkKind::Row { again } = link.kind
            && let Some((_, run)) = self.row_sources.iter().rfind(|(id, _)| *id == link.id)
            && (again || run.plan.once)
        {
            let (kind, args) = (link.kind.clone(), Vec::new());
            return Ok(Expr::SubPlan(Box::new(SubPlan { kind, args, ..run.clone() })));
        }
        let reads = self.reads.len();
        let hashable = self.hashable(link);
        let plain = self.plain_exists;
        // Each with two plans would be two for each of those around it.
        self.plain_exists |= hashable.is_some();
        let planned = self.subquery(&link.query);
        self.plain_exists = plain;
        let (mut root, correlation) = planned?;
        if matches!(link.kind, SubLinkKind::Exists) {
            root = first_row(root);
        }
        let once = correlation.is_empty() && !self.has_read(reads);
        let members = match hashable {
            Some((query, ties)) if !once => self.members(query, ties, &correlation)?,
            _ => None,
        };
        let own = self.split_correlation(correlation);
        let mut args = Vec::with_capacity(own.len());
        for (slot, expr) in own {
            args.push((slot, self.rewrite(&expr, below)?));
        }
        let kind = match &link.kind {
            SubLinkKind::Quantified { tests, all } => {
                let mut rewritten = Vec::with_capacity(tests.len());
                for test in tests {
                    let left = self.rewrite(&test.args[0], below)?;
                    rewritten.push(Call { args: vec![left, test.args[1].clone()], ..test.clone() });
                }
                SubLinkKind::Quantified { tests: rewritten, all: *all }
            }
            other => other.clone(),
        };
        let id = self.subplans;
        self.subplans += 1;
        let hashed = if once { row_keys(&kind) } else { None };
        let plan = Arc::new(Subplan { root, once, hashed, members });
        let planned = SubPlan { kind, plan, args, id, ty: link.ty };
        if let SubLinkKind::Row { .. } = link.kind {
            self.row_sources.push((link.id, planned.clone()));
        }
        Ok(Expr::SubPlan(Box::new(planned)))
    }

    /// An EXISTS that only equalities tie to the rows that ask, and what these are, if no index answers each of the rows.
    fn hashable(&self, link: &SubLink) -> Option<(Query, Ties)> {
        if self.plain_exists || !matches!(link.kind, SubLinkKind::Exists) {
            return None;
        }
        let query = pulled_up(&link.query).into_owned();
        let ties = ties_of(&query)?;
        let fits = ties.others.is_empty()
            && !is_volatile_query(&query)
            && !probe_pays(&query, 1.0, &self.indexes);
        fits.then_some((query, ties))
    }

    /// The rows of an EXISTS without its ties. `correlation`: what is set before it is run with them.
    fn members(
        &mut self,
        mut query: Query,
        ties: Ties,
        correlation: &[(u16, Expr)],
    ) -> Result<Option<Members>> {
        let rows = rows_read(&query, &self.indexes);
        let mut keys = RowKeys { left: Vec::new(), right: Vec::new(), open: false };
        let mut columns = Vec::with_capacity(ties.keys.len());
        for (i, (outer, inner, collation)) in ties.keys.into_iter().enumerate() {
            let slot = Expr::Slot(Slot { slot: i as u16, ty: inner.ty() });
            let mut set = outer;
            if !by_slots(&mut set, correlation) {
                return Ok(None);
            }
            let Some((left, right)) = same_type(set, slot, collation) else { return Ok(None) };
            keys.left.push(left);
            keys.right.push(right);
            columns.push(inner);
        }
        reduce_to(&mut query, ties.own, columns);
        let reads = self.reads.len();
        let (root, correlation) = self.subquery(&query)?;
        let is_whoever_asks = correlation.is_empty() && !self.has_read(reads);
        Ok(is_whoever_asks.then_some(Members { root, keys, rows }))
    }

    /// Plans a query one level further in; answers what it needs from outside, too.
    pub(super) fn subquery(&mut self, query: &Query) -> Result<(Node, Vec<(u16, Expr)>)> {
        let depth = self.levels.len();
        let planned = self.query(query);
        let level = self.levels.drain(depth..).next();
        let node = planned?;
        Ok((node, level.map(|level| level.correlation).unwrap_or_default()))
    }
}

/// What the sub-select's rows are hashed by: they are, where it is asked whether one of them is equal, or none.
fn row_keys(kind: &SubLinkKind) -> Option<RowKeys> {
    let SubLinkKind::Quantified { tests, all } = kind else { return None };
    // That rows of several columns differ is asked as that they are not equal.
    let asked = if *all { "<>" } else { "=" };
    let mut keys = RowKeys { left: Vec::new(), right: Vec::new(), open: true };
    for (i, test) in tests.iter().enumerate() {
        if operator(test) != Some(asked) || !test.func.strict || *all && tests.len() > 1 {
            return None;
        }
        let collation = collate::of_equality(test)?;
        let value = Expr::Slot(Slot { slot: i as u16, ty: test.args[0].ty() });
        let (left, right) = of_one_type(value, test.args[1].clone())?;
        keys.left.push(collate::grouped(left, collation));
        keys.right.push(collate::grouped(right, collation));
    }
    Some(keys)
}

/// Puts exec slots into the places of what they are set to; false, if that is not all that the value is made of.
fn by_slots(value: &mut Expr, correlation: &[(u16, Expr)]) -> bool {
    if let Some((slot, set)) = correlation.iter().find(|(_, set)| walk::same(set, value)) {
        *value = Expr::Exec(Slot { slot: *slot, ty: set.ty() });
        return true;
    }
    let is_of_rows = matches!(
        value,
        Expr::Var(_) | Expr::Aggregate(_) | Expr::Grouping(_) | Expr::Window(_) | Expr::SubLink(_)
    );
    let mut all = !is_of_rows;
    walk::each_child_mut(value, &mut |part| all = all && by_slots(part, correlation));
    all
}

/// One row is enough to know that there is one.
fn first_row(input: Node) -> Node {
    let one =
        Expr::Const(Const { value: Datum::Int8(1), ty: Ty::INT8, loc: syntax::ast::Loc::NONE });
    Node::Limit(Arc::new(Limit { input, count: Some(one), offset: None, ties: None }))
}
