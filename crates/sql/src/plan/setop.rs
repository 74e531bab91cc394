//! UNION, INTERSECT, EXCEPT.

use std::sync::Arc;

use crate::bind::query::{Query, RelKind, SetOperator, SetTree};
use crate::error::{Result, SqlError, check_stack};

use super::Planner;
use super::node::{Node, SetOp};

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
                self.union_all(query, tree, &mut parts)?;
                Ok(Node::Append(Arc::new(parts)))
            }
            SetTree::Op(op) => {
                let left = self.set_operation(query, &op.left)?;
                let right = self.set_operation(query, &op.right)?;
                Ok(Node::SetOp(Arc::new(SetOp { left, right, op: op.op, all: op.all })))
            }
        }
    }

    fn union_all(&mut self, query: &Query, tree: &SetTree, out: &mut Vec<Node>) -> Result<()> {
        check_stack()?;
        match tree {
            SetTree::Op(op) if op.op == SetOperator::Union && op.all => {
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
