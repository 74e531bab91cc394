//! Keys of texts that are not compared by their bytes: nodes sort, group and join by what they are in an index.

use std::sync::Arc;

use crate::bind::collate;
use crate::bind::tree::{AggCall, Call, Case, CollationKey, Expr, IsNull, Slot, SortExpr, Ty};
use crate::func;
use crate::types::Collation;

use super::node::{Aggregate, Node, Project};

/// What rows are sorted by, to be in a collation's order.
pub(super) fn ordered(expr: Expr, collation: Collation) -> Expr {
    match collation.rules() {
        None => expr,
        Some(_) => Expr::SortKey(Box::new(CollationKey { arg: expr, collation })),
    }
}

/// What is the same for texts that are equal, where their bytes need not be.
pub(super) fn grouped(expr: Expr, collation: Collation) -> Expr {
    match collation.loose() {
        None => expr,
        Some(_) => Expr::SortKey(Box::new(CollationKey { arg: expr, collation })),
    }
}

/// A sort key over a node's row, for an expression of the query that is `own` there.
pub(super) fn sort_key(key: &SortExpr, own: Expr) -> SortExpr {
    SortExpr { expr: ordered(own, key.collation), ..*key }
}

/// What an equality compares its sides by; `None`, if it can only be evaluated.
pub(super) fn of_equality(call: &Call) -> Option<Collation> {
    (!call.collation.is_unclear()).then_some(call.collation)
}

/// Groups rows; the node's own row is the keys, as the first row of each group has them, the calls' values, and those
/// of GROUPING. `collations`: what the keys are compared by.
pub(super) fn aggregate(grouping: Aggregate, collations: &[Collation]) -> Node {
    if collations.iter().all(|collation| collation.loose().is_none()) {
        return Node::Aggregate(Arc::new(grouping));
    }
    let Aggregate { input, keys, sets, mut calls, groupings } = grouping;
    let (own_keys, own_calls) = (keys.len(), calls.len());
    let types: Vec<Ty> = keys.iter().map(Expr::ty).collect();
    let mut exprs: Vec<Expr> = Vec::new();
    for (i, (ty, collation)) in types.iter().zip(collations).enumerate() {
        let shown = Expr::Slot(Slot { slot: i as u16, ty: *ty });
        if collation.loose().is_none() {
            exprs.push(shown);
            continue;
        }
        let first = Slot { slot: (own_keys + calls.len()) as u16, ty: *ty };
        calls.push(first_of(keys[i].clone()));
        // Null in sets without the key.
        let is_null = IsNull { arg: shown, negated: false, row: false };
        let whens = vec![(Expr::IsNull(Box::new(is_null)), Expr::null(*ty))];
        let default = Some(Expr::Slot(first));
        exprs.push(Expr::Case(Box::new(Case { arg: None, whens, default, ty: *ty })));
    }
    let slot = |at: usize, ty: Ty| Expr::Slot(Slot { slot: at as u16, ty });
    exprs.extend((0..own_calls).map(|i| slot(own_keys + i, calls[i].ty)));
    let behind = own_keys + calls.len();
    exprs.extend((0..groupings.len()).map(|i| slot(behind + i, Ty::INT4)));
    let keys = keys.into_iter().zip(collations).map(|(key, own)| grouped(key, *own)).collect();
    let input = Node::Aggregate(Arc::new(Aggregate { input, keys, sets, calls, groupings }));
    Node::Project(Arc::new(Project { input, exprs }))
}

fn first_of(arg: Expr) -> AggCall {
    let ty = arg.ty();
    AggCall {
        agg: func::first_value(),
        args: vec![arg],
        star: false,
        distinct: false,
        order_by: Vec::new(),
        filter: None,
        ty,
        level: 0,
        loc: syntax::ast::Loc::NONE,
    }
}

/// The call with DISTINCT and ORDER BY as its collations want them. `call` is over columns, `own` over the node's row.
pub(super) fn aggregate_call(call: &AggCall, mut own: AggCall) -> AggCall {
    own.order_by =
        call.order_by.iter().zip(own.order_by).map(|(key, own)| sort_key(key, own.expr)).collect();
    if !call.distinct {
        return own;
    }
    let counts = call.agg.name == "count";
    for (arg, own_arg) in call.args.iter().zip(&mut own.args) {
        let collation = collate::of(arg);
        if collation.rules().is_none() {
            continue;
        }
        if counts {
            *own_arg = grouped(own_arg.clone(), collation);
        } else {
            let (desc, nulls_first, expr) = (false, false, ordered(own_arg.clone(), collation));
            own.order_by.push(SortExpr { expr, desc, nulls_first, collation });
        }
    }
    // Of equal texts it is one that is the largest, or the smallest.
    let extreme = matches!(call.agg.name, "min" | "max");
    own.distinct &= !(extreme && call.agg.rules.is_some());
    if extreme && !own.distinct {
        own.order_by.clear();
    }
    own
}
