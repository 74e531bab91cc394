//! `IN (SELECT …)`, `EXISTS (…)` and `NOT EXISTS (…)` as joins.

use std::sync::Arc;

use crate::bind::query::{Query, Target};
use crate::bind::tree::{Call, Expr, SubLink, SubLinkKind};
use crate::bind::walk;
use crate::error::Result;
use crate::types::Collation;

use super::access::Planned;
use super::estimate::{is_volatile, operator};
use super::join::of_one_type;
use super::members::asked_by_row;
use super::node::{HashJoin, JoinType, Node};
use super::pull_up::pulled_up;
use super::rewrite::Below;
use super::{Planner, collate};

/// Might the condition be a join? Cheap to ask; [`Planner::semi_join`] looks closer.
pub(super) fn is_candidate(condition: &Expr) -> bool {
    match condition {
        Expr::SubLink(link) => match &link.kind {
            SubLinkKind::Exists => keys_of(&link.query).is_some(),
            SubLinkKind::Quantified { tests, all: false } => {
                tests.iter().all(is_equality) && !walk::is_correlated(&link.query)
            }
            _ => false,
        },
        Expr::Not(arg) => match &**arg {
            Expr::SubLink(link) => {
                matches!(link.kind, SubLinkKind::Exists) && keys_of(&link.query).is_some()
            }
            _ => false,
        },
        _ => false,
    }
}

impl Planner {
    /// The rows of `left` that meet the condition.
    pub(super) fn semi_join(&mut self, left: Planned, condition: Expr) -> Result<Planned> {
        if let Some(asked) = asked_by_row(&condition, left.rows, &self.indexes) {
            let Planned { node, layout, rows, .. } = left;
            let node = self.filter(node, vec![asked], &layout)?;
            return Ok(Planned { node, layout, rows: (rows * 0.5).max(1.0), sorted: false });
        }
        let joined = match &condition {
            Expr::SubLink(link) => match &link.kind {
                SubLinkKind::Exists => self.exists(&left, link, JoinType::Semi)?,
                SubLinkKind::Quantified { .. } => self.membership(&left, link)?,
                _ => None,
            },
            Expr::Not(arg) => match &**arg {
                Expr::SubLink(link) => self.exists(&left, link, JoinType::Anti)?,
                _ => None,
            },
            _ => None,
        };
        let Planned { node, layout, rows, .. } = left;
        let node = match joined {
            Some(mut join) => {
                join.outer = node;
                Node::HashJoin(Arc::new(join))
            }
            None => self.filter(node, vec![condition], &layout)?,
        };
        // A join whose table does not fit in memory gives rows in another order.
        Ok(Planned { node, layout, rows: (rows * 0.5).max(1.0), sorted: false })
    }

    fn membership(&mut self, left: &Planned, link: &SubLink) -> Result<Option<HashJoin>> {
        let SubLinkKind::Quantified { tests, .. } = &link.kind else { return Ok(None) };
        let mut pairs = Vec::with_capacity(tests.len());
        for test in tests {
            if is_volatile(&test.args[0]) {
                return Ok(None);
            }
            let outer = self.rewrite(&test.args[0], &mut Below::row(&left.layout))?;
            let pair = same_type(outer, test.args[1].clone(), test.collation);
            let Some(pair) = pair else { return Ok(None) };
            pairs.push(pair);
        }
        let (inner, correlation) = self.subquery(&link.query)?;
        if !correlation.is_empty() {
            return Ok(None);
        }
        let inner_width = link.query.visible().count() as u16;
        let (outer_keys, inner_keys) = pairs.into_iter().unzip();
        Ok(Some(HashJoin {
            outer: Node::OneRow(None),
            inner,
            outer_width: left.layout.width(),
            inner_width,
            kind: JoinType::Semi,
            outer_keys,
            inner_keys,
            condition: None,
        }))
    }

    fn exists(
        &mut self,
        left: &Planned,
        link: &SubLink,
        kind: JoinType,
    ) -> Result<Option<HashJoin>> {
        let mut query = pulled_up(&link.query).into_owned();
        let Some((keys, rest)) = keys_of(&query) else { return Ok(None) };
        query.filter = Expr::all_of(rest);
        query.order_by = Vec::new();
        // It says nothing about which keys there are, and names targets that are gone.
        query.distinct = None;
        query.targets = Vec::with_capacity(keys.len());
        let mut outer_keys = Vec::with_capacity(keys.len());
        let mut inner_keys = Vec::with_capacity(keys.len());
        for (i, (outer, inner, collation)) in keys.into_iter().enumerate() {
            let slot = Expr::Slot(crate::bind::tree::Slot { slot: i as u16, ty: inner.ty() });
            let outer = self.rewrite(&outer, &mut Below::row(&left.layout))?;
            let Some((outer, slot)) = same_type(outer, slot, collation) else { return Ok(None) };
            outer_keys.push(outer);
            inner_keys.push(slot);
            query.targets.push(Target {
                expr: inner,
                name: "key".into(),
                junk: false,
                origin: None,
                nameless: false,
            });
        }
        let (inner, correlation) = self.subquery(&query)?;
        if !correlation.is_empty() {
            return Ok(None);
        }
        Ok(Some(HashJoin {
            outer: Node::OneRow(None),
            inner,
            outer_width: left.layout.width(),
            inner_width: outer_keys.len() as u16,
            kind,
            outer_keys,
            inner_keys,
            condition: None,
        }))
    }
}

fn same_type(outer: Expr, inner: Expr, collation: Collation) -> Option<(Expr, Expr)> {
    let (outer, inner) = of_one_type(outer, inner)?;
    Some((collate::grouped(outer, collation), collate::grouped(inner, collation)))
}

pub(super) fn is_equality(call: &Call) -> bool {
    operator(call) == Some("=") && collate::of_equality(call).is_some()
}

/// For an EXISTS whose only ties to the outer query are equalities: the pairs (outer side as the
/// outer query sees it, inner side, what they are compared by) and the conditions that are left.
#[allow(clippy::type_complexity, reason = "pairs and the rest")]
fn keys_of(query: &Query) -> Option<(Vec<(Expr, Expr, Collation)>, Vec<Expr>)> {
    let simple = query.set_op.is_none()
        && !query.is_grouped()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.ctes.is_empty()
        && query.windows.is_empty()
        && query.locking.is_empty()
        && !query.has_srf;
    if !simple {
        return None;
    }
    let mut keys = Vec::new();
    let mut rest = Vec::new();
    for condition in query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default() {
        let (inner, outer) = sides(&condition);
        if !outer {
            rest.push(condition);
            continue;
        }
        // What may have another value each time is asked of each pair.
        if !inner || is_volatile(&condition) {
            return None;
        }
        let Expr::Call(call) = &condition else { return None };
        if !is_equality(call) {
            return None;
        }
        let [a, b] = &call.args[..] else { return None };
        let pair = match (sides(a), sides(b)) {
            ((true, false), (false, true)) => (lower(b), a.clone(), call.collation),
            ((false, true), (true, false)) => (lower(a), b.clone(), call.collation),
            _ => return None,
        };
        keys.push(pair);
    }
    let mut bare = query.clone();
    bare.filter = None;
    bare.targets = Vec::new();
    bare.order_by = Vec::new();
    (!keys.is_empty() && !walk::is_correlated(&bare)).then_some((keys, rest))
}

/// Does the expression use columns of the query itself, and of queries around it?
fn sides(expr: &Expr) -> (bool, bool) {
    let (mut inner, mut outer) = (false, false);
    walk::each_var(expr, 0, &mut |var, depth| {
        if var.level == depth {
            inner = true;
        } else if var.level > depth {
            outer = true;
        }
    });
    (inner, outer)
}

/// As the query around it sees the expression.
fn lower(expr: &Expr) -> Expr {
    walk::moved_out(expr.clone(), 1)
}
