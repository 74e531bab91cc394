//! Which FULL JOINs there are: PostgreSQL joins so by equalities only, and refuses other conditions.

use crate::bind::query::Join;
use crate::bind::tree::Expr;
use crate::bind::volatility::is_immutable;
use crate::bind::walk;
use crate::error::{Result, sql_error};

use super::join::{equality_across, rels_in};

/// Refuses a FULL JOIN whose condition has no equality between its sides. A constant will do, as one that is false makes
/// a constant of the rest; that this is so of every constant is more than PostgreSQL grants. Where other conditions make
/// rows without a partner not count, it is no FULL JOIN any more.
pub(super) fn check(join: &Join) -> Result<()> {
    let conditions = join.condition.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let (left, right) = (rels_in(&join.left), rels_in(&join.right));
    let across = |condition: &Expr| {
        equality_across(condition, |rel| left.contains(rel), |rel| right.contains(rel)).is_some()
    };
    let supported = conditions.is_empty()
        || conditions.iter().any(|condition| across(condition) || is_constant(condition));
    if supported {
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
