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
            SetTree::Op(op) => {
                let node = self.combined(query, op)?;
                if op.casts.is_empty() {
                    return Ok(node);
                }
                let exprs = op.casts.clone();
                Ok(Node::Project(Arc::new(Project { input: node, exprs })))
            }
        }
    }

    /// The rows of an operation, in its own types.
    fn combined(&mut self, query: &Query, op: &SetNode) -> Result<Node> {
        if op.op == SetOperator::Union && op.all {
            let mut parts = Vec::new();
            self.union_all(query, &op.left, &mut parts)?;
            self.union_all(query, &op.right, &mut parts)?;
            return Ok(Node::Append(Arc::new(parts)));
        }
        let left = self.set_operation(query, &op.left)?;
        let right = self.set_operation(query, &op.right)?;
        // The binder lets nothing else come here with such columns.
        if op.collations.iter().any(|collation| collation.loose().is_some()) {
            return Ok(distinct_rows(left, right, op));
        }
        let types = op.types.iter().map(|ty| ty.id).collect();
        Ok(Node::SetOp(Arc::new(SetOp { left, right, op: op.op, all: op.all, types })))
    }

    fn union_all(&mut self, query: &Query, tree: &SetTree, out: &mut Vec<Node>) -> Result<()> {
        check_stack()?;
        match tree {
            SetTree::Op(op) if op.op == SetOperator::Union && op.all && op.casts.is_empty() => {
                self.union_all(query, &op.left, out)?;
                self.union_all(query, &op.right, out)
            }
            other => {
                out.push(self.set_operation(query, other)?);
                Ok(())
            }
        }
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
