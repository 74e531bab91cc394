//! Outer joins that need not be: where conditions can hold only for rows that have a row of the side that may be
//! missing, a LEFT or RIGHT JOIN is an inner one, and a FULL JOIN at most a LEFT or RIGHT one. Which conditions these
//! are goes by PostgreSQL's `find_nonnullable_rels`.

use std::borrow::Cow;

use crate::bind::implied::follows;
use crate::bind::query::{JoinKind, JoinTree, Query};
use crate::bind::tree::{
    ArrayArg, ArrayOp, Call, Column, Comparison, Expr, IsBool, IsNull, SubLink, SubLinkKind,
};

use super::join::rels_in;
use super::pull_up::pulled_up;

/// The query with all that can be made part of it, and its outer joins reduced. Of an entry that always has a row more
/// can be made part of the query than of one that may have none, and what it brings along may reduce more.
pub(super) fn simplified(query: &Query) -> Cow<'_, Query> {
    let mut query = pulled_up(query);
    while let Some(from) = reduced(&query) {
        query.to_mut().from = from;
        query = Cow::Owned(pulled_up(&query).into_owned());
    }
    query
}

/// Is there a join that might be reduced?
pub(super) fn has_outer(query: &Query) -> bool {
    query.from.iter().any(is_outer)
}

fn is_outer(tree: &JoinTree) -> bool {
    let JoinTree::Join(join) = tree else { return false };
    join.kind != JoinKind::Inner || is_outer(&join.left) || is_outer(&join.right)
}

/// Does the condition hold for just those rows of a LEFT JOIN that have no row of the other side? A column of that side is
/// to be null that its condition `on` can't hold without.
pub(super) fn asks_for_none(condition: &Expr, other_side: &[u16], on: &[Expr]) -> bool {
    let Expr::IsNull(test) = condition else { return false };
    let Expr::Var(var) = &test.arg else { return false };
    let is_column = var.level == 0 && matches!(var.column, Column::User(_));
    if test.negated || test.row || !is_column || !other_side.contains(&var.rel) {
        return false;
    }
    let is_known = IsNull { negated: true, ..(**test).clone() };
    follows(&Expr::IsNull(Box::new(is_known)), on)
}

/// FROM with its outer joins reduced, if one can be.
fn reduced(query: &Query) -> Option<Vec<JoinTree>> {
    if !has_outer(query) {
        return None;
    }
    let needed = query.filter.as_ref().map(|filter| needed_by(filter, 0)).unwrap_or_default();
    let mut from = query.from.clone();
    let mut changed = false;
    for tree in &mut from {
        changed |= reduce(tree, &needed);
    }
    changed.then_some(from)
}

/// Reduces what is in the tree, of which only rows count that have a row of each of the `needed` entries.
fn reduce(tree: &mut JoinTree, needed: &[u16]) -> bool {
    let JoinTree::Join(join) = tree else { return false };
    let is_needed = |side| rels_in(side).iter().any(|rel| needed.contains(rel));
    let kind = without_missing(join.kind, is_needed(&join.left), is_needed(&join.right));
    let changed = kind != join.kind;
    join.kind = kind;
    let mut own = join.condition.as_ref().map(|on| needed_by(on, 0)).unwrap_or_default();
    let (for_left, for_right) = match kind {
        JoinKind::Inner => {
            own.extend(needed);
            (&own[..], &own[..])
        }
        // The side that is kept is so whatever the join's condition says.
        JoinKind::Left => (needed, &own[..]),
        JoinKind::Right => (&own[..], needed),
        JoinKind::Full => (&[][..], &[][..]),
    };
    let in_left = reduce(&mut join.left, for_left);
    let in_right = reduce(&mut join.right, for_right);
    changed || in_left || in_right
}

/// The kind of a join, if rows without one of its left or right side do not count.
fn without_missing(kind: JoinKind, left: bool, right: bool) -> JoinKind {
    match (kind, left, right) {
        (JoinKind::Left, _, true) | (JoinKind::Right, true, _) => JoinKind::Inner,
        (JoinKind::Full, true, true) => JoinKind::Inner,
        (JoinKind::Full, true, false) => JoinKind::Left,
        (JoinKind::Full, false, true) => JoinKind::Right,
        _ => kind,
    }
}

/// The entries, of the query `depth` queries outwards, without a row of which the condition is false or null.
fn needed_by(condition: &Expr, depth: u16) -> Vec<u16> {
    match condition {
        Expr::And(parts) => union(parts.iter().map(|part| needed_by(part, depth))),
        Expr::Or(parts) => common(parts.iter().map(|part| needed_by(part, depth))),
        Expr::IsNull(test) if test.negated && !test.row => null_with(&test.arg, depth),
        Expr::IsBool(test) if is_false_of_null(test) => null_with(&test.arg, depth),
        // Of an array without elements it is false.
        Expr::ArrayOp(op) if op.func.strict && !op.all => {
            let mut needed = null_with(&op.left, depth);
            needed.extend(members_null_with(op, depth));
            needed
        }
        Expr::RowCompare(rows) if rows.op == Comparison::Eq => {
            union(rows.columns.iter().map(|(equal, _)| call_null_with(equal, depth)))
        }
        Expr::SubLink(link) => needed_by_rows(link, depth),
        other => null_with(other, depth),
    }
}

/// Likewise, of a sub-select that is to have a row.
fn needed_by_rows(link: &SubLink, depth: u16) -> Vec<u16> {
    match &link.kind {
        SubLinkKind::Quantified { tests, all: false } => {
            let strict = tests.iter().filter(|test| test.func.strict);
            union(strict.map(|test| null_with(&test.args[0], depth)))
        }
        SubLinkKind::Exists if link.query.set_op.is_none() && !link.query.is_grouped() => {
            let filter = link.query.filter.as_ref();
            filter.map(|filter| needed_by(filter, depth + 1)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn is_false_of_null(test: &IsBool) -> bool {
    test.negated == test.value.is_none()
}

/// The entries without a row of which the value is null.
fn null_with(expr: &Expr, depth: u16) -> Vec<u16> {
    match expr {
        Expr::Var(var) if var.level == depth => vec![var.rel],
        Expr::Call(call) => call_null_with(call, depth),
        Expr::Not(arg) => null_with(arg, depth),
        // One that is not null may decide both.
        Expr::And(parts) | Expr::Or(parts) => {
            common(parts.iter().map(|part| null_with(part, depth)))
        }
        Expr::ArrayOp(op) if op.func.strict && has_elements(op) => {
            let mut needed = null_with(&op.left, depth);
            needed.extend(members_null_with(op, depth));
            needed
        }
        Expr::Relabel(cast) => null_with(&cast.arg, depth),
        Expr::Collate(collate) => null_with(&collate.arg, depth),
        Expr::ViaText(cast) => null_with(&cast.arg, depth),
        Expr::ArrayCast(cast) => null_with(&cast.arg, depth),
        _ => Vec::new(),
    }
}

fn call_null_with(call: &Call, depth: u16) -> Vec<u16> {
    if !call.func.strict || call.func.returns_set {
        return Vec::new();
    }
    union(call.args.iter().map(|arg| null_with(arg, depth)))
}

/// Of an array that has none ANY is false and ALL true, whatever is compared with it.
fn has_elements(op: &ArrayOp) -> bool {
    match &op.right {
        ArrayArg::List(list) => !list.is_empty(),
        ArrayArg::Array(Expr::Array(array)) => !array.nested && !array.elements.is_empty(),
        ArrayArg::Array(_) => false,
    }
}

/// The entries without a row of which the array or each member of the list is null.
fn members_null_with(op: &ArrayOp, depth: u16) -> Vec<u16> {
    match &op.right {
        ArrayArg::Array(array) => null_with(array, depth),
        ArrayArg::List(list) => common(list.iter().map(|member| null_with(member, depth))),
    }
}

fn union(sets: impl Iterator<Item = Vec<u16>>) -> Vec<u16> {
    sets.flatten().collect()
}

fn common(sets: impl Iterator<Item = Vec<u16>>) -> Vec<u16> {
    let both = |mut a: Vec<u16>, b: Vec<u16>| {
        a.retain(|rel| b.contains(rel));
        a
    };
    sets.reduce(both).unwrap_or_default()
}
