//! UNION, INTERSECT, EXCEPT.

use std::sync::Arc;

use crate::bind::query::{Query, RelKind, SetNode, SetOperator, SetTree};
use crate::bind::tree::{Expr, Slot};
use crate::error::{Result, SqlError, check_stack};

use super::node::{Aggregate, Node, Project, SetOp};
use super::{Planner, collate};

impl Planner {
    /// The node of a tree of set operations; its rows have the result's columns.
    pub(super) fn set_operation(&mut self, query: &Query, tree: &SetTree) -> Result<Node> {
        check_stack()?;
        match tree {
            SetTree::Leaf(rel) => {
                let RelKind::Subquery(leaf) = &query.rels[usize::from(*rel)].kind else {
                    return Err(SqlError::internal("a leaf of a set operation is a sub-query"));
                };
                let (node, correlation) = self.subquery(leaf)?;
                let own = self.split_correlation(correlation);
                if !own.is_empty() {
                    return Err(SqlError::internal("a set operation's leaf is not lateral"));
                }
                Ok(node)
            }
            SetTree::Op(op) if op.op == SetOperator::Union && op.all => {
                let mut parts = Vec::new();
                self.union_all(query, op, &mut parts)?;
                Ok(Node::Append(Arc::new(parts)))
            }
            SetTree::Op(op) => {
                let left = self.side(query, &op.left, &op.casts[0])?;
                let right = self.side(query, &op.right, &op.casts[1])?;
                // The binder lets nothing else come here with such columns.
                if op.collations.iter().any(|collation| collation.loose().is_some()) {
                    return Ok(distinct_rows(left, right, op));
                }
                let types = op.types.iter().map(|ty| ty.id).collect();
                Ok(Node::SetOp(Arc::new(SetOp { left, right, op: op.op, all: op.all, types })))
            }
        }
    }

    /// The rows of a side, in the types of its operation.
    fn side(&mut self, query: &Query, tree: &SetTree, casts: &[Expr]) -> Result<Node> {
        let input = self.set_operation(query, tree)?;
        Ok(cast_to(input, casts))
    }

    fn union_all(&mut self, query: &Query, op: &SetNode, out: &mut Vec<Node>) -> Result<()> {
        check_stack()?;
        for (side, casts) in [&op.left, &op.right].into_iter().zip(&op.casts) {
            match side {
                SetTree::Op(within)
                    if within.op == SetOperator::Union && within.all && casts.is_empty() =>
                {
                    self.union_all(query, within, out)?;
                }
                other => out.push(self.side(query, other, casts)?),
            }
        }
        Ok(())
    }
}

/// Rows with their columns, as slots, made others; as they are if there is nothing to make.
pub(super) fn cast_to(input: Node, casts: &[Expr]) -> Node {
    match casts.is_empty() {
        true => input,
        false => Node::Project(Arc::new(Project { input, exprs: casts.to_vec() })),
    }
}

/// UNION of rows that are equal without being the same: one of each group.
fn distinct_rows(left: Node, right: Node, op: &SetNode) -> Node {
    let slots = op.types.iter().enumerate();
    let keys = slots.map(|(i, ty)| Expr::Slot(Slot { slot: i as u16, ty: *ty })).collect();
    let sets = vec![(0..op.types.len() as u16).collect()];
    let input = Node::Append(Arc::new(vec![left, right]));
    let (calls, groupings) = (Vec::new(), Vec::new());
    collate::aggregate(Aggregate { input, keys, sets, calls, groupings }, &op.collations)
}
