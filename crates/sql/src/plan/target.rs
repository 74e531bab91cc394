//! Set-returning functions in the target list.

use std::sync::Arc;

use crate::bind::tree::{Expr, Slot};
use crate::bind::walk;

use super::estimate::is_volatile;
use super::node::{Node, Project};

/// Computes outputs that hold set-returning calls: the calls themselves first, beside the input's
/// slots, then the outputs around them.
pub(super) fn project_sets(input: Node, input_width: u16, exprs: Vec<Expr>) -> Node {
    if !exprs.iter().any(contains_set) {
        // Those that were grouped by are computed already.
        return Node::Project(Arc::new(Project { input, exprs }));
    }
    let all_top = exprs.iter().all(|expr| is_set_call(expr) || !contains_set(expr));
    if all_top {
        return Node::ProjectSet(Arc::new(Project { input, exprs }));
    }
    let mut calls: Vec<Expr> = Vec::new();
    let mut exprs = exprs;
    for expr in &mut exprs {
        lift(expr, input_width, &mut calls);
    }
    let mut inner = passed_on(input_width);
    inner.extend(calls);
    let sets = Node::ProjectSet(Arc::new(Project { input, exprs: inner }));
    Node::Project(Arc::new(Project { input: sets, exprs }))
}

/// A row's slots as they are; their types are not needed to copy them.
pub(super) fn passed_on(width: u16) -> Vec<Expr> {
    (0..width).map(|slot| Expr::Slot(Slot { slot, ty: crate::bind::Ty::UNKNOWN })).collect()
}

/// Unfolds the sets among grouping keys beside the input's slots, for each of their rows to be grouped. Volatile keys are
/// computed there, too: once for each row, whose group then does not depend on when it is looked at.
pub(super) fn unfold_keys(input: Node, input_width: u16, keys: &mut [Expr]) -> Node {
    let is_computed = |key: &Expr| contains_set(key) || is_volatile(key);
    if !keys.iter().any(is_computed) {
        return input;
    }
    let mut row = passed_on(input_width);
    for key in keys.iter_mut().filter(|key| is_computed(key)) {
        let slot = Slot { slot: row.len() as u16, ty: key.ty() };
        row.push(std::mem::replace(key, Expr::Slot(slot)));
    }
    project_sets(input, input_width, row)
}

fn is_set_call(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call) if call.func.returns_set && !call.args.iter().any(contains_set))
}

pub(super) fn contains_set(expr: &Expr) -> bool {
    walk::any(expr, &mut |e| matches!(e, Expr::Call(call) if call.func.returns_set))
}

fn lift(expr: &mut Expr, base: u16, calls: &mut Vec<Expr>) {
    if is_set_call(expr) {
        let slot = Slot { slot: base + calls.len() as u16, ty: expr.ty() };
        calls.push(std::mem::replace(expr, Expr::Slot(slot)));
        return;
    }
    walk::each_child_mut(expr, &mut |child| lift(child, base, calls));
}
