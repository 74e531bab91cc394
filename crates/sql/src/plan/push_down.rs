//! Conditions on the rows of a query in FROM that stays one of its own (groups, set operations, DISTINCT, …) are asked within
//! it, before it groups or compares rows, where that leaves the same ones. Within a view with `security_barrier` those alone
//! are asked that tell nothing of rows that they see: it leaves out rows that are not for everybody.

use std::borrow::Cow;

use crate::bind::query::{Distinct, Query, RelKind, SetTree};
use crate::bind::tree::{Column, Expr, Var};
use crate::bind::walk;
use syntax::ast::SetOperator;

use super::estimate::is_volatile;
use super::target::contains_set;

/// The query of entry `rel` with those of the conditions that it can ask itself, and the others.
pub(super) fn pushed_down(
    query: &Query,
    rel: u16,
    conditions: Vec<Expr>,
) -> (Cow<'_, Query>, Vec<Expr>) {
    let takes = |condition: &Expr| {
        (!query.is_barrier() || is_leakproof(condition))
            && columns_of(condition, rel).is_some_and(|columns| can_ask(query, &columns))
    };
    let (down, left): (Vec<_>, Vec<_>) = conditions.into_iter().partition(takes);
    let mut query = Cow::Borrowed(query);
    if !down.is_empty() {
        ask(query.to_mut(), rel, &down, 1);
    }
    (query, left)
}

/// Does a condition tell nothing of the values that it is asked of, by an error or otherwise?
fn is_leakproof(condition: &Expr) -> bool {
    !walk::any(condition, &mut |part| match part {
        Expr::Const(_) | Expr::Param(_) | Expr::Exec(_) | Expr::Var(_) | Expr::Relabel(_) => false,
        Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::IsNull(_) | Expr::IsBool(_) => false,
        Expr::Collate(_) | Expr::Array(_) => false,
        Expr::Call(call) => !call.func.facts.leakproof,
        Expr::ArrayOp(op) => !op.func.facts.leakproof,
        Expr::Distinct(distinct) => !distinct.equal.func.facts.leakproof,
        _ => true,
    })
}

/// The entry's columns that a condition is about; nothing if it is about more than them.
fn columns_of(condition: &Expr, rel: u16) -> Option<Vec<u16>> {
    let is_more = |part: &Expr| matches!(part, Expr::SubLink(_) | Expr::SubPlan(_));
    if is_volatile(condition) || walk::any(condition, &mut |part| is_more(part)) {
        return None;
    }
    let mut columns = Some(Vec::new());
    walk::each_var(condition, 0, &mut |var, _| {
        if var.level == 0 {
            match (var.column, &mut columns) {
                (Column::User(column), Some(columns)) if var.rel == rel => columns.push(column),
                _ => columns = None,
            }
        }
    });
    columns.filter(|columns| !columns.is_empty())
}

/// Does a condition on these targets leave the same rows if the query asks it before all else?
pub(super) fn can_ask(query: &Query, columns: &[u16]) -> bool {
    if query.limit.is_some() || query.offset.is_some() {
        return false;
    }
    if let Some(tree) = &query.set_op {
        return can_all_ask(query, tree, columns);
    }
    columns.iter().all(|column| {
        let target = &query.targets[usize::from(*column)].expr;
        let is_of_the_row = !is_volatile(target)
            && !contains_set(target)
            && !walk::any(target, &mut |part| {
                matches!(
                    part,
                    Expr::SubLink(_) | Expr::Aggregate(_) | Expr::Window(_) | Expr::Grouping(_)
                )
            });
        is_of_the_row && tells_apart(query, *column, target)
    })
}

/// Is a group, or a partition, or what DISTINCT takes for one row, left or left out as a whole by what the target is?
fn tells_apart(query: &Query, column: u16, target: &Expr) -> bool {
    let is_key = |keys: &[Expr]| keys.iter().any(|key| walk::same(key, target));
    let of_groups = query.group.as_ref().is_none_or(|group| {
        group
            .sets
            .iter()
            .all(|set| set.iter().any(|key| walk::same(&group.keys[usize::from(*key)], target)))
    });
    let of_rows = match &query.distinct {
        Some(Distinct::On(targets)) => targets.contains(&column),
        Some(Distinct::All) | None => true,
    };
    of_groups && of_rows && query.windows.iter().all(|window| is_key(&window.partition_by))
}

/// The sides of a set operation, without EXCEPT: what its right side loses would come back.
fn can_all_ask(query: &Query, tree: &SetTree, columns: &[u16]) -> bool {
    match tree {
        SetTree::Leaf(rel) => {
            let RelKind::Subquery(leaf) = &query.rels[usize::from(*rel)].kind else { return false };
            let as_it_is = |column: &u16| {
                let at = usize::from(*column);
                leaf.targets[at].expr.ty() == query.targets[at].expr.ty()
            };
            columns.iter().all(as_it_is) && can_ask(leaf, columns)
        }
        SetTree::Op(node) => {
            node.op != SetOperator::Except
                && can_all_ask(query, &node.left, columns)
                && can_all_ask(query, &node.right, columns)
        }
    }
}

/// Has the query ask conditions on the entry that it is. What they say of others is outside of it, so many queries.
pub(super) fn ask(query: &mut Query, rel: u16, conditions: &[Expr], depth: u16) {
    if let Some(tree) = &query.set_op {
        let mut leaves = Vec::new();
        walk::set_leaves(tree, &mut leaves);
        for leaf in leaves {
            if let RelKind::Subquery(leaf) = &mut query.rels[usize::from(leaf)].kind {
                ask(leaf, rel, conditions, depth + 1);
            }
        }
        return;
    }
    let mut all: Vec<Expr> = query.filter.take().into_iter().collect();
    for condition in conditions {
        let mut condition = condition.clone();
        walk::replace_vars(&mut condition, 0, &mut |var, _| {
            Some(match (var.level, var.column) {
                (0, Column::User(column)) if var.rel == rel => {
                    query.targets[usize::from(column)].expr.clone()
                }
                _ => Expr::Var(Var { level: var.level + depth, ..*var }),
            })
        });
        all.push(condition);
    }
    query.filter = Expr::all_of(all);
}
