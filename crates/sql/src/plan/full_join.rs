//! Which FULL JOINs there are: PostgreSQL joins so by equalities only, and refuses other conditions.

use crate::bind::query::{Join, JoinKind, JoinTree, Query};
use crate::bind::tree::Expr;
use crate::bind::volatility::is_immutable;
use crate::bind::walk;
use crate::error::{Result, sql_error};

use super::join::{equality_across, rels_in};

/// Refuses a FULL JOIN whose condition has no equality between its sides. A constant will do, as one that is false makes
/// a constant of the rest, and so will any condition where another one makes rows without a partner not count, since
/// then it need not be a FULL JOIN. That this is so of every constant, and wherever a condition further out names one of
/// its entries, is more than PostgreSQL grants.
pub(super) fn check(query: &Query, join: &Join) -> Result<()> {
    let conditions = join.condition.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let (left, right) = (rels_in(&join.left), rels_in(&join.right));
    let across = |condition: &Expr| {
        equality_across(condition, |rel| left.contains(rel), |rel| right.contains(rel)).is_some()
    };
    let supported = conditions.is_empty()
        || conditions.iter().any(|condition| across(condition) || is_constant(condition));
    let own = |condition: &Expr| {
        walk::rels_of(condition).iter().any(|rel| left.contains(rel) || right.contains(rel))
    };
    if supported || conditions_outside(query, join).into_iter().any(own) {
        return Ok(());
    }
    Err(sql_error!(
        FEATURE_NOT_SUPPORTED,
        "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions"
    ))
}

fn is_constant(condition: &Expr) -> bool {
    let sub_select = |part: &Expr| matches!(part, Expr::SubLink(_));
    let mut outside = false;
    walk::each_var(condition, 0, &mut |_, _| outside = true);
    !outside && !walk::any(condition, &mut |part| sub_select(part)) && is_immutable(condition)
}

/// WHERE, and the conditions of the joins around this one that drop rows of it.
fn conditions_outside<'q>(query: &'q Query, join: &Join) -> Vec<&'q Expr> {
    let mut found: Vec<&Expr> = query.filter.iter().collect();
    query.from.iter().for_each(|tree| {
        conditions_around(tree, join, &mut found);
    });
    found
}

/// Whether the tree has the join in it.
fn conditions_around<'q>(tree: &'q JoinTree, join: &Join, found: &mut Vec<&'q Expr>) -> bool {
    let JoinTree::Join(own) = tree else { return false };
    if std::ptr::eq(&**own, join) {
        return true;
    }
    let mut within = |side| conditions_around(side, join, found);
    let (in_left, in_right) = (within(&own.left), within(&own.right));
    let counts = match own.kind {
        JoinKind::Inner => true,
        // Its rows on the other side stay, whatever the condition is.
        JoinKind::Left => in_right,
        JoinKind::Right => in_left,
        JoinKind::Full => false,
    };
    if counts && (in_left || in_right) {
        found.extend(&own.condition);
    }
    in_left || in_right
}
