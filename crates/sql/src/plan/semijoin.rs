//! `IN (SELECT …)`, `EXISTS (…)` and `NOT EXISTS (…)` as joins.

use std::sync::Arc;

use crate::bind::query::{Query, Target};
use crate::bind::tree::{Call, Column, Expr, Slot, SubLink, SubLinkKind, Var};
use crate::bind::walk;
use crate::error::Result;
use crate::types::Collation;

use super::access::{Planned, QueryCx};
use super::estimate::{is_volatile, is_volatile_within, operator};
use super::join::of_one_type;
use super::level::Layout;
use super::members::{asked_by_row, limit_rows};
use super::node::{HashJoin, JoinType, Node};
use super::pull_up::pulled_up;
use super::rewrite::Below;
use super::{Planner, collate, quals};

/// Might the condition be a join? Cheap to ask; [`Planner::semi_join`] looks closer.
pub(super) fn is_candidate(condition: &Expr) -> bool {
    match condition {
        Expr::SubLink(link) => match &link.kind {
            SubLinkKind::Exists => ties_of(&link.query).is_some(),
            SubLinkKind::Quantified { tests, all: false } => {
                tests.iter().all(is_equality) && !walk::is_correlated(&link.query)
            }
            _ => false,
        },
        Expr::Not(arg) => match &**arg {
            Expr::SubLink(link) => {
                matches!(link.kind, SubLinkKind::Exists) && ties_of(&link.query).is_some()
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
        let Some(Ties { keys, others, own }) = ties_of(&query) else { return Ok(None) };
        let mut outer_keys = Vec::with_capacity(keys.len());
        let mut inner_keys = Vec::with_capacity(keys.len());
        let mut columns = Vec::with_capacity(keys.len());
        for (i, (outer, inner, collation)) in keys.into_iter().enumerate() {
            let slot = Expr::Slot(Slot { slot: i as u16, ty: inner.ty() });
            let outer = self.rewrite(&outer, &mut Below::row(&left.layout))?;
            let Some((outer, slot)) = same_type(outer, slot, collation) else { return Ok(None) };
            outer_keys.push(outer);
            inner_keys.push(slot);
            columns.push(inner);
        }
        // The sub-select's rows are an entry that the query at hand does not have.
        let entry = self.level().columns.len() as u16;
        let mut others: Vec<Expr> =
            others.into_iter().map(|other| over_join(other, entry, &mut columns)).collect();
        quals::order(&mut others);
        reduce_to(&mut query, own, columns);
        let slots = query.targets.iter().enumerate();
        let slots = slots.map(|(i, target)| (entry, Column::User(i as u16), target.expr.ty()));
        let inner_layout = Layout { slots: slots.collect() };
        let (inner, correlation) = self.subquery(&query)?;
        if !correlation.is_empty() {
            return Ok(None);
        }
        let joined = left.layout.join(&inner_layout);
        let condition = Expr::all_of(self.rewrite_all(&others, &mut Below::row(&joined))?);
        Ok(Some(HashJoin {
            outer: Node::OneRow(None),
            inner,
            outer_width: left.layout.width(),
            inner_width: inner_layout.width(),
            kind,
            outer_keys,
            inner_keys,
            condition,
        }))
    }
}

pub(super) fn same_type(outer: Expr, inner: Expr, collation: Collation) -> Option<(Expr, Expr)> {
    let (outer, inner) = of_one_type(outer, inner)?;
    Some((collate::grouped(outer, collation), collate::grouped(inner, collation)))
}

pub(super) fn is_equality(call: &Call) -> bool {
    operator(call) == Some("=") && collate::of_equality(call).is_some()
}

/// What ties an EXISTS to the query around it, and what is asked of its rows alone.
pub(super) struct Ties {
    /// Equalities: the outer side as the outer query sees it, the inner side, what they are compared by.
    pub keys: Vec<(Expr, Expr, Collation)>,
    /// What else is about outer rows, as the sub-select sees it.
    pub others: Vec<Expr>,
    pub own: Vec<Expr>,
}

/// The ties of an EXISTS, if there is an equality among them, by which rows can be hashed.
pub(super) fn ties_of(query: &Query) -> Option<Ties> {
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
    let mut ties = Ties { keys: Vec::new(), others: Vec::new(), own: Vec::new() };
    for condition in query.filter.clone().map(Expr::into_conjuncts).unwrap_or_default() {
        // What may have another value each time is asked each time.
        if is_volatile_within(&condition) {
            return None;
        }
        let (_, outer) = sides(&condition);
        if !outer {
            ties.own.push(condition);
            continue;
        }
        match key_of(&condition) {
            Some(key) => ties.keys.push(key),
            None => ties.others.push(condition),
        }
    }
    let mut bare = query.clone();
    bare.filter = None;
    bare.targets = Vec::new();
    bare.order_by = Vec::new();
    (!ties.keys.is_empty() && !walk::is_correlated(&bare)).then_some(ties)
}

/// The condition as an equality of what is outside with what is inside, outer side first.
fn key_of(condition: &Expr) -> Option<(Expr, Expr, Collation)> {
    let Expr::Call(call) = condition else { return None };
    if !is_equality(call) {
        return None;
    }
    let [a, b] = &call.args[..] else { return None };
    let (outer, inner) = match (sides(a), sides(b)) {
        ((true, false), (false, true)) => (b, a),
        ((false, true), (true, false)) => (a, b),
        _ => return None,
    };
    of_one_type(outer.clone(), inner.clone())?;
    Some((lower(outer), inner.clone(), call.collation))
}

/// Has an EXISTS give, of its rows under its own conditions, these columns.
pub(super) fn reduce_to(query: &mut Query, own: Vec<Expr>, columns: Vec<Expr>) {
    query.filter = Expr::all_of(own);
    query.order_by = Vec::new();
    // It says nothing about which keys there are, and names targets that are gone.
    query.distinct = None;
    let target = |expr: Expr| Target {
        expr,
        name: "key".into(),
        junk: false,
        origin: None,
        nameless: false,
    };
    query.targets = columns.into_iter().map(target).collect();
}

/// A condition of the sub-select as one of the query around it, to which the sub-select's columns are those of `entry`. Those
/// it uses are put into `columns`, unless they are there.
fn over_join(mut condition: Expr, entry: u16, columns: &mut Vec<Expr>) -> Expr {
    walk::replace_vars(&mut condition, 0, &mut |var, depth| {
        if var.level != depth {
            return None;
        }
        let own = Expr::Var(Var { level: 0, ..*var });
        let at = columns.iter().position(|known| walk::same(known, &own)).unwrap_or_else(|| {
            columns.push(own);
            columns.len() - 1
        });
        let column = Column::User(at as u16);
        // It is said one query further out below.
        Some(Expr::Var(Var { level: depth + 1, rel: entry, column, ..*var }))
    });
    lower(&condition)
}

/// Is it an EXISTS that a join would answer for all rows, where an index does for the first ones that are wanted? Where it
/// is no more than equalities all rows are joined.
pub(super) fn is_for_first_rows(condition: &Expr, cx: &QueryCx<'_>) -> bool {
    asks_for_more(condition) && asked_by_row(condition, limit_rows(cx.query), &cx.indexes).is_some()
}

/// Is it an EXISTS with more ties than equalities?
pub(super) fn asks_for_more(condition: &Expr) -> bool {
    let asked = match condition {
        Expr::Not(arg) => &**arg,
        other => other,
    };
    let Expr::SubLink(link) = asked else { return false };
    matches!(link.kind, SubLinkKind::Exists)
        && ties_of(&link.query).is_some_and(|ties| !ties.others.is_empty())
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
