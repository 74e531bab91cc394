//! Set-returning functions in the target list.

use std::sync::Arc;

use crate::bind::tree::{Expr, Slot};
use crate::bind::walk;

use super::node::{Node, Project};

/// Computes outputs that hold set-returning calls: the calls themselves first, beside the input's
/// slots, then the outputs around them.
pub(super) fn project_sets(input: Node, input_width: u16, exprs: Vec<Expr>) -> Node {
    let all_top = exprs.iter().all(|expr| is_set_call(expr) || !contains_set(expr));
    if all_top {
        return Node::ProjectSet(Arc::new(Project { input, exprs }));
    }
    let mut calls: Vec<Expr> = Vec::new();
    let mut exprs = exprs;
    for expr in &mut exprs {
        lift(expr, input_width, &mut calls);
    }
    // The input's slots pass through; their types are not needed to copy them.
    let mut inner: Vec<Expr> = (0..input_width)
        .map(|slot| Expr::Slot(Slot { slot, ty: crate::bind::Ty::UNKNOWN }))
        .collect();
    inner.extend(calls);
    let sets = Node::ProjectSet(Arc::new(Project { input, exprs: inner }));
    Node::Project(Arc::new(Project { input: sets, exprs }))
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
