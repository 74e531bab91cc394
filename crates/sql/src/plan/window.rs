//! Window functions: for each window one sort and one node that adds its calls' values to the row.

use std::sync::Arc;

use crate::bind::query::{Bound, Frame, Query};
use crate::bind::tree::{Column, Expr, Slot, SortExpr, WindowCall};
use crate::bind::walk;
use crate::error::Result;

use super::node::{Node, WindowAgg};
use super::query::{Stage, sorted};
use super::rewrite::Below;
use super::{Planner, collate};

impl Planner {
    pub(super) fn windows(&mut self, query: &Query, stage: &mut Stage) -> Result<()> {
        let mut calls: Vec<WindowCall> = Vec::new();
        for target in &query.targets {
            collect(&target.expr, &mut calls);
        }
        if calls.is_empty() {
            return Ok(());
        }
        let width = stage.layout.width();
        // Calls of the same window are computed together, so their slots are neighbours.
        let mut order: Vec<usize> = (0..calls.len()).collect();
        order.sort_by_key(|&i| calls[i].window);
        let mut slots = vec![Slot { slot: 0, ty: crate::bind::Ty::UNKNOWN }; calls.len()];
        for (position, &call) in order.iter().enumerate() {
            slots[call] = Slot { slot: width + position as u16, ty: calls[call].ty };
        }
        for (number, window) in query.windows.iter().enumerate() {
            let own: Vec<usize> =
                order.iter().copied().filter(|&i| usize::from(calls[i].window) == number).collect();
            if own.is_empty() {
                continue;
            }
            let mut partition_by = self.rewrite_all(&window.partition_by, &mut stage.below())?;
            let mut keys = Vec::new();
            for (expr, own) in window.partition_by.iter().zip(&mut partition_by) {
                let key = SortExpr::new(expr.clone(), false, false);
                keys.push(collate::sort_key(&key, own.clone()));
                *own = collate::grouped(own.clone(), key.collation);
            }
            let mut order_by = Vec::with_capacity(window.order_by.len());
            for key in &window.order_by {
                let expr = self.rewrite(&key.expr, &mut stage.below())?;
                order_by.push(collate::sort_key(key, expr));
            }
            let mut rewritten = Vec::with_capacity(own.len());
            for &i in &own {
                let call = &calls[i];
                let args = self.rewrite_all(&call.args, &mut stage.below())?;
                let filter = match &call.filter {
                    Some(filter) => Some(self.rewrite(filter, &mut stage.below())?),
                    None => None,
                };
                rewritten.push(WindowCall { args, filter, ..call.clone() });
            }
            let frame = Frame {
                start: self.bound(&window.frame.start)?,
                end: self.bound(&window.frame.end)?,
                ..window.frame.clone()
            };
            keys.extend(order_by.iter().cloned());
            let input = std::mem::replace(&mut stage.node, Node::OneRow(None));
            let input = sorted(input, keys, None);
            stage.node = Node::Window(Arc::new(WindowAgg {
                input,
                partition_by,
                order_by,
                frame,
                calls: rewritten,
            }));
        }
        for slot in order.iter().map(|&i| slots[i]) {
            stage.layout.slots.push((u16::MAX, Column::User(slot.slot), slot.ty));
        }
        stage.windows = slots;
        Ok(())
    }

    fn bound(&mut self, bound: &Bound) -> Result<Bound> {
        Ok(match bound {
            Bound::Preceding(expr) => Bound::Preceding(self.rewrite(expr, &mut Below::nothing())?),
            Bound::Following(expr) => Bound::Following(self.rewrite(expr, &mut Below::nothing())?),
            other => other.clone(),
        })
    }
}

/// Window calls in the order in which rewriting meets them.
fn collect(expr: &Expr, out: &mut Vec<WindowCall>) {
    if let Expr::Window(call) = expr {
        out.push((**call).clone());
        return;
    }
    walk::each_child(expr, &mut |child| collect(child, out));
}
