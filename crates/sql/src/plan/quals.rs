//! The order in which conditions on a row are asked. It is PostgreSQL's, since applications lean on it: of `a / b > 1 AND b <> 0`
//! the second keeps the first from being asked where it fails. What stands further in comes first (a view's condition before
//! those on the view, ON before WHERE), which the callers see to; then what costs less; and then what was written first.

use crate::bind::tree::{ArrayOp, Expr, SubLink, SubLinkKind};
use crate::bind::walk;

use super::list::{MEMBERS_MIN, is_equality_of_any};
use super::path::elements;

/// In units of half an operator.
const OPERATOR: u64 = 2;
/// What reads rows each time.
const QUERY: u64 = 1 << 32;

/// Puts the cheap conditions first; of equally cheap ones none overtakes another.
pub(super) fn order(conditions: &mut [Expr]) {
    if conditions.len() > 1 {
        conditions.sort_by_cached_key(cost);
    }
}

/// One condition with its parts in that order.
pub(super) fn ordered(condition: Expr) -> Option<Expr> {
    let mut parts = condition.into_conjuncts();
    order(&mut parts);
    Expr::all_of(parts)
}

/// Does a value take longer than ten operators?
pub(super) fn is_dear(expr: &Expr) -> bool {
    cost(expr) > 10 * OPERATOR
}

fn cost(expr: &Expr) -> u64 {
    let own = match expr {
        Expr::Call(_)
        | Expr::MinMax(_)
        | Expr::Distinct(_)
        | Expr::NullIf(_)
        | Expr::SqlValue(_)
        | Expr::NextValue(_) => OPERATOR,
        Expr::ViaText(_) => 2 * OPERATOR,
        Expr::RowCompare(compare) => OPERATOR * compare.columns.len() as u64,
        Expr::ArrayOp(op) => return cost_of_list(op),
        Expr::SubLink(link) => return cost_of_query(link),
        // They were computed before.
        Expr::Aggregate(_) | Expr::Window(_) => return 0,
        _ => 0,
    };
    let mut sum = own;
    walk::each_child(expr, &mut |child| sum = sum.saturating_add(cost(child)));
    sum
}

/// Half of the elements are looked at, on average, or one is found by its hash.
fn cost_of_list(op: &ArrayOp) -> u64 {
    let all = elements(&op.right) as u64;
    let is_hashed = is_equality_of_any(op) && all >= MEMBERS_MIN as u64;
    let list = if is_hashed { 2 * OPERATOR } else { OPERATOR / 2 * all };
    list.saturating_add(cost(&op.left))
}

/// A query that depends on nothing around it is run once.
fn cost_of_query(link: &SubLink) -> u64 {
    match &link.kind {
        _ if walk::is_correlated(&link.query) => QUERY,
        SubLinkKind::Quantified { tests, .. } => {
            let lefts = tests.iter().map(|test| cost(&test.args[0]));
            lefts.fold(OPERATOR * tests.len() as u64, u64::saturating_add)
        }
        _ => 0,
    }
}
