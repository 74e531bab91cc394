//! IN and NOT IN of lists, `= ANY` and `<> ALL` of arrays: where all members are known before the first row, and are many, they
//! are hashed when a second row is compared with them. PostgreSQL does so with constants.

use std::sync::Arc;

use crate::bind::element_of;
use crate::bind::tree::{ArrayArg, ArrayOp, Expr, Slot, Ty};
use crate::bind::volatility::is_immutable;

use super::join::of_one_type;
use super::node::HashedList;
use super::values::is_value;
use super::{Planner, collate};

/// From so many members on a hash table is worth it, as PostgreSQL has it.
pub const MEMBERS_MIN: usize = 9;

impl Planner {
    /// Has the members hashed, if they can be. The comparison is over a node's row.
    pub(super) fn hash_list(&mut self, op: &mut ArrayOp) {
        let Some(lists) = self.lists.and_then(|lists| lists.checked_add(1)) else { return };
        if let Some((left, right)) = keys_of(op) {
            op.hashed = Some(Arc::new(HashedList { id: lists - 1, left, right }));
            self.lists = Some(lists);
        }
    }
}

/// Does it ask for one that is equal?
pub(super) fn is_equality_of_any(op: &ArrayOp) -> bool {
    &*op.symbol == if op.all { "<>" } else { "=" }
}

/// What both sides are compared by, each in slot 0.
fn keys_of(op: &ArrayOp) -> Option<(Expr, Expr)> {
    if !is_equality_of_any(op) || !op.func.strict || op.collation.is_unclear() || !is_known(op) {
        return None;
    }
    let element = match &op.right {
        ArrayArg::Array(array) => element_of(array.type_id())?,
        ArrayArg::List(list) => {
            let first = list.first()?.type_id();
            list.iter().all(|member| member.type_id() == first).then_some(first)?
        }
    };
    let slot = |ty: Ty| Expr::Slot(Slot { slot: 0, ty });
    let (left, right) = of_one_type(slot(op.left.ty()), slot(Ty::of(element)))?;
    Some((collate::grouped(left, op.collation), collate::grouped(right, op.collation)))
}

/// Are the members the same for all rows?
fn is_known(op: &ArrayOp) -> bool {
    let is_constant = |value: &Expr| is_value(value) && is_immutable(value);
    match &op.right {
        ArrayArg::List(list) => list.len() >= MEMBERS_MIN && list.iter().all(is_constant),
        ArrayArg::Array(Expr::SubPlan(plan)) => plan.plan.once,
        ArrayArg::Array(array) => is_constant(array),
    }
}
