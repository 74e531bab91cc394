//! Window functions: for each window one sort and one node that adds its calls' values to the row.

use std::sync::Arc;

use crate::bind::query::{Bound, Frame, Query};
use crate::bind::tree::{Column, Expr, Slot, SortExpr, WindowCall};
use crate::bind::walk;
use crate::error::Result;

use super::estimate::is_volatile;
use super::node::{Node, Project, WindowAgg};
use super::query::{Stage, sorted};
use super::rewrite::Below;
use super::target::passed_on;
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
        let fixed = self.volatile_keys(query, &calls, stage)?;
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
            let mut fixed = fixed[number].iter();
            let mut partition_by = Vec::with_capacity(window.partition_by.len());
            for expr in &window.partition_by {
                partition_by.push(self.window_key(expr, fixed.next(), stage)?);
            }
            let mut keys = Vec::new();
            for (expr, own) in window.partition_by.iter().zip(&mut partition_by) {
                let key = SortExpr::new(expr.clone(), false, false);
                keys.push(collate::sort_key(&key, own.clone()));
                *own = collate::grouped(own.clone(), key.collation);
            }
            let mut order_by = Vec::with_capacity(window.order_by.len());
            for key in &window.order_by {
                let expr = self.window_key(&key.expr, fixed.next(), stage)?;
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

    /// Computes the volatile keys of windows beside the row, once: the sort and the window look at the same values. For
    /// each window where its keys are, those of PARTITION BY first; `None` where the row's own columns make them.
    fn volatile_keys(
        &mut self,
        query: &Query,
        calls: &[WindowCall],
        stage: &mut Stage,
    ) -> Result<Vec<Vec<Option<Slot>>>> {
        let width = stage.layout.width();
        let mut computed = Vec::new();
        let mut fixed = Vec::with_capacity(query.windows.len());
        for (number, window) in query.windows.iter().enumerate() {
            let is_used = calls.iter().any(|call| usize::from(call.window) == number);
            let ordered = window.order_by.iter().map(|key| &key.expr);
            let mut slots = Vec::new();
            for expr in window.partition_by.iter().chain(ordered) {
                slots.push(if is_used && is_volatile(expr) {
                    let slot = Slot { slot: width + computed.len() as u16, ty: expr.ty() };
                    computed.push(self.rewrite(expr, &mut stage.below())?);
                    Some(slot)
                } else {
                    None
                });
            }
            fixed.push(slots);
        }
        if !computed.is_empty() {
            let own = computed.iter().enumerate().map(|(i, expr)| (width + i as u16, expr.ty()));
            stage.layout.slots.extend(own.map(|(slot, ty)| (u16::MAX, Column::User(slot), ty)));
            let input = std::mem::replace(&mut stage.node, Node::OneRow(None));
            let mut exprs = passed_on(width);
            exprs.extend(computed);
            stage.node = Node::Project(Arc::new(Project { input, exprs }));
        }
        Ok(fixed)
    }

    fn window_key(
        &mut self,
        expr: &Expr,
        fixed: Option<&Option<Slot>>,
        stage: &Stage,
    ) -> Result<Expr> {
        match fixed {
            Some(Some(slot)) => Ok(Expr::Slot(*slot)),
            _ => self.rewrite(expr, &mut stage.below()),
        }
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
