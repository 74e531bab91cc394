//! The first rows of a join, in the order of one of its tables: that table's index gives the order, and loops that look each
//! row's partners up keep it, so that no more is read than is wanted.

use crate::bind::query::{JoinKind, JoinTree, RelKind};
use crate::bind::tree::Expr;

use super::access::{QueryCx, WantedOrder};
use super::choose::candidates;
use super::estimate::table_rows;
use super::join::{Unit, connecting, entry_rows, is_within, lookup, rels_in, unit_rows};
use super::members::limit_rows;

/// How much less the rows in order must cost than all of them, which are guessed more surely.
const MARGIN: f64 = 2.0;
/// What looking a row's partners up costs about, in rows read one after the other.
const LOOKUP: f64 = 12.0;

/// What the order asks of these units, if it pays to join them by it.
pub(super) fn order_of_join(
    cx: &QueryCx<'_>,
    units: &[Unit<'_>],
    joining: &[(Vec<u16>, Expr)],
    order: &WantedOrder,
) -> Option<WantedOrder> {
    if !order.limited || order.extreme {
        return None;
    }
    let first = units.iter().find(|unit| unit.rels.contains(&order.rel))?;
    if !first.needs.is_empty() {
        return None;
    }
    let others = || units.iter().filter(|unit| !std::ptr::eq(*unit, first));
    let share: f64 = others().map(|unit| share_left(cx, unit)).product();
    let wanted = order.rows.unwrap_or_else(|| limit_rows(cx.query) / share.max(1e-6));
    let mut each = keeps(cx, first.tree, &first.conditions, order, wanted)?;
    let mut joined = first.rels.clone();
    let mut left: Vec<&Unit<'_>> = others().collect();
    while !left.is_empty() {
        let found = left
            .iter()
            .enumerate()
            .find_map(|(at, unit)| Some((at, by_lookup(cx, unit, &joined, joining, wanted)?)));
        let (at, cost) = found?;
        joined.extend(&left.remove(at).rels);
        each += cost;
    }
    let RelKind::Table(table) = &cx.query.rels[usize::from(order.rel)].kind else { return None };
    let own = unit_rows(cx, first);
    let read = (wanted * table_rows(table) / own).min(table_rows(table));
    let fewest = units.iter().map(|unit| unit_rows(cx, unit)).fold(own, f64::min);
    let entries = units.iter().flat_map(|unit| unit.rels.iter());
    let all: f64 = entries.map(|rel| entry_rows(cx, *rel, &[]).min(fewest * LOOKUP)).sum();
    let pays = (read + wanted * each) * MARGIN < all + fewest;
    pays.then(|| WantedOrder { rows: Some(wanted), ..order.clone() })
}

/// What share of the other rows' partners are left by what is asked of the unit alone.
fn share_left(cx: &QueryCx<'_>, unit: &Unit<'_>) -> f64 {
    let JoinTree::Rel(rel) = unit.tree else { return 1.0 };
    match &cx.query.rels[usize::from(*rel)].kind {
        RelKind::Table(table) => entry_rows(cx, *rel, &unit.conditions) / table_rows(table),
        _ => 1.0,
    }
}

/// What looking up the unit's rows for one that is joined already costs, if that pays for so many.
pub(super) fn by_lookup(
    cx: &QueryCx<'_>,
    unit: &Unit<'_>,
    joined: &[u16],
    joining: &[(Vec<u16>, Expr)],
    rows: f64,
) -> Option<f64> {
    if !unit.needs.is_empty() {
        let is_ready = unit.needs.iter().all(|rel| joined.contains(rel));
        return is_ready.then(|| unit_rows(cx, unit));
    }
    let JoinTree::Rel(rel) = unit.tree else { return None };
    let on = connecting(unit, joined, joining);
    paying(cx, *rel, &unit.conditions, &on, rows)
}

fn paying(cx: &QueryCx<'_>, rel: u16, conditions: &[Expr], on: &[Expr], rows: f64) -> Option<f64> {
    let RelKind::Table(table) = &cx.query.rels[usize::from(rel)].kind else { return None };
    lookup(cx, rel, conditions, on).filter(|each| rows * each < table_rows(table))
}

/// What the joins of a tree cost for each row that comes in the order, if all of them keep it.
fn keeps(
    cx: &QueryCx<'_>,
    tree: &JoinTree,
    conditions: &[Expr],
    order: &WantedOrder,
    rows: f64,
) -> Option<f64> {
    let join = match tree {
        JoinTree::Rel(rel) => {
            let RelKind::Table(table) = &cx.query.rels[usize::from(*rel)].kind else { return None };
            let own = conditions.iter().filter(|condition| is_within(condition, &[*rel]));
            let own: Vec<Expr> = own.cloned().collect();
            let all = candidates(cx, table, *rel, &own, false, Some(order));
            return all.iter().any(|choice| choice.sorted).then_some(0.0);
        }
        JoinTree::Join(join) => join,
    };
    let in_left = rels_in(&join.left).contains(&order.rel);
    let (with, other) = match (join.kind, in_left) {
        (JoinKind::Left | JoinKind::Inner, true) => (&join.left, &join.right),
        (JoinKind::Right | JoinKind::Inner, false) => (&join.right, &join.left),
        _ => return None,
    };
    let JoinTree::Rel(other) = other else { return None };
    let on = join.condition.clone().map(Expr::into_conjuncts).unwrap_or_default();
    let (own, on): (Vec<Expr>, Vec<Expr>) =
        on.into_iter().partition(|condition| is_within(condition, &[*other]));
    let each = keeps(cx, with, conditions, order, rows)?;
    Some(each + paying(cx, *other, &own, &on, rows)?)
}
