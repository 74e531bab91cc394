//! Sub-selects in expressions become sub-plans.

use std::sync::Arc;

use crate::bind::query::Query;
use crate::bind::tree::{Call, Const, Expr, Slot, SubLink, SubLinkKind, SubPlan, Ty};
use crate::error::Result;
use crate::types::Datum;

use super::estimate::operator;
use super::join::of_one_type;
use super::node::{Limit, Node, RowKeys, Subplan};
use super::rewrite::Below;
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
        let (mut root, correlation) = self.subquery(&link.query)?;
        if matches!(link.kind, SubLinkKind::Exists) {
            root = first_row(root);
        }
        let once = correlation.is_empty() && !self.has_read(reads);
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
        let plan = Arc::new(Subplan { root, once, hashed });
        let planned = SubPlan { kind, plan, args, id, ty: link.ty };
        if let SubLinkKind::Row { .. } = link.kind {
            self.row_sources.push((link.id, planned.clone()));
        }
        Ok(Expr::SubPlan(Box::new(planned)))
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
    let mut keys = RowKeys { left: Vec::new(), right: Vec::new() };
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

/// One row is enough to know that there is one.
fn first_row(input: Node) -> Node {
    let one =
        Expr::Const(Const { value: Datum::Int8(1), ty: Ty::INT8, loc: syntax::ast::Loc::NONE });
    Node::Limit(Arc::new(Limit { input, count: Some(one), offset: None, ties: None }))
}
