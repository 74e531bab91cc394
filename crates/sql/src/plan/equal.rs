//! What follows from equalities: `a = b AND a = 1` pins `b`, too, and then says all that `a = b` says.

use crate::bind::tree::{Call, Expr, Var};
use crate::bind::{collate, walk};

use super::estimate::operator;

/// Adds the equalities with constants that follow from others, and takes out the equalities of columns that
/// these make needless. The conditions must all hold for a row to count.
pub(super) fn spread_constants(conditions: &mut Vec<Expr>) {
    let mut at = 0;
    while at < conditions.len() {
        let Some((pinned, value)) = pin(&conditions[at]) else {
            at += 1;
            continue;
        };
        let (pinned, value) = (*pinned, value.clone());
        let template = conditions[at].clone();
        let partners: Vec<Var> = conditions
            .iter()
            .filter_map(|other| match columns(other)? {
                _ if !compare_alike(other, &template) => None,
                (a, b) if a.same(&pinned) && !b.same(&pinned) => Some(*b),
                (a, b) if b.same(&pinned) && !a.same(&pinned) => Some(*a),
                _ => None,
            })
            .collect();
        for partner in partners {
            // One operator: one type on both sides.
            if partner.ty.id != pinned.ty.id || value.type_id() != pinned.ty.id {
                continue;
            }
            let known = |one: &Expr| pin(one).is_some_and(|(to, _)| to.same(&partner));
            if !conditions.iter().any(known) {
                conditions.push(on_column(&template, partner));
            }
        }
        at += 1;
    }
    let pins: Vec<(Var, Expr, Expr)> = conditions
        .iter()
        .filter_map(|condition| pin(condition).map(|(var, value)| (var, value, condition)))
        .map(|(var, value, condition)| (*var, value.clone(), condition.clone()))
        .collect();
    conditions.retain(|condition| match columns(condition) {
        Some((a, b)) if a.ty.id == b.ty.id => {
            let alike = |(_, _, by): &&(Var, Expr, Expr)| compare_alike(condition, by);
            let pinned_to = |var: &Var, value: &Expr| {
                let mut pins = pins.iter().filter(alike);
                pins.any(|(to, known, _)| to.same(var) && walk::same(known, value))
            };
            let mut pins = pins.iter().filter(alike);
            !pins.any(|(to, value, _)| to.same(a) && pinned_to(b, value))
        }
        _ => true,
    });
}

/// Do two equalities mean the same of texts?
fn compare_alike(one: &Expr, other: &Expr) -> bool {
    match (equality(one), equality(other)) {
        (Some(one), Some(other)) => collate::alike(one.collation, other.collation),
        _ => false,
    }
}

fn equality(condition: &Expr) -> Option<&Call> {
    match condition {
        Expr::Call(call) if operator(call) == Some("=") && call.args.len() == 2 => {
            (!call.collation.is_unclear()).then_some(call)
        }
        _ => None,
    }
}

/// `column = value`, the value being the same for every row of this query level.
fn pin(condition: &Expr) -> Option<(&Var, &Expr)> {
    let call = equality(condition)?;
    match (&call.args[0], &call.args[1]) {
        (Expr::Var(var), value) if var.level == 0 && is_fixed(value) => Some((var, value)),
        (value, Expr::Var(var)) if var.level == 0 && is_fixed(value) => Some((var, value)),
        _ => None,
    }
}

fn is_fixed(value: &Expr) -> bool {
    match value {
        Expr::Const(_) | Expr::Param(_) => true,
        Expr::Var(var) => var.level > 0,
        _ => false,
    }
}

/// `column = column`, of this query level.
fn columns(condition: &Expr) -> Option<(&Var, &Var)> {
    let call = equality(condition)?;
    match (&call.args[0], &call.args[1]) {
        (Expr::Var(a), Expr::Var(b)) if a.level == 0 && b.level == 0 => Some((a, b)),
        _ => None,
    }
}

/// The condition on another column of the same type.
fn on_column(condition: &Expr, column: Var) -> Expr {
    let mut condition = condition.clone();
    if let Expr::Call(call) = &mut condition {
        for arg in &mut call.args {
            if matches!(arg, Expr::Var(var) if var.level == 0) {
                *arg = Expr::Var(column);
            }
        }
    }
    condition
}
