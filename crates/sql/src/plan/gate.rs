//! Conditions without columns: they have one answer for all rows, so they are asked once, before the rows are read.
//!
//! Not only for the time it saves: `$1 <> 0 AND a = 100 / $1` must not compute an index's key where the first is false.

use std::sync::Arc;

use crate::bind::tree::Expr;
use crate::bind::walk;
use crate::error::Result;
use crate::types::Datum;

use super::access::Planned;
use super::estimate::is_volatile;
use super::node::{Filter, Node};
use super::rewrite::Below;
use super::{Planner, quals};

/// The conditions that have the same answer for every row, and the others.
pub(super) fn split(conditions: Vec<Expr>) -> (Vec<Expr>, Vec<Expr>) {
    conditions
        .into_iter()
        .partition(|condition| walk::rels_of(condition).is_empty() && !is_volatile(condition))
}

impl Planner {
    /// What is planned, behind conditions without columns.
    pub(super) fn gated(&mut self, planned: Planned, conditions: &[Expr]) -> Result<Planned> {
        let mut conditions = conditions.to_vec();
        quals::order(&mut conditions);
        let mut conditions = self.rewrite_all(&conditions, &mut Below::nothing())?;
        conditions.retain(|condition| !is_always(condition));
        if let Some(at) = conditions.iter().position(is_never) {
            conditions = vec![conditions.swap_remove(at)];
        }
        Ok(match Expr::all_of(conditions) {
            None => planned,
            Some(condition) => {
                let gate = Filter { input: planned.node, condition };
                Planned { node: Node::Gate(Arc::new(gate)), ..planned }
            }
        })
    }
}

fn is_always(condition: &Expr) -> bool {
    matches!(condition, Expr::Const(c) if matches!(c.value, Datum::Bool(true)))
}

/// Is it false or null whatever the parameters are?
pub fn is_never(condition: &Expr) -> bool {
    matches!(condition, Expr::Const(c) if matches!(c.value, Datum::Bool(false) | Datum::Null))
}
