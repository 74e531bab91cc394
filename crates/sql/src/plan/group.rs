//! GROUP BY and aggregates.

use std::sync::Arc;

use crate::bind::query::Query;
use crate::bind::tree::{AggCall, Column, Expr, Slot, SortExpr, Var};
use crate::bind::walk;
use crate::error::Result;
use crate::types::Collation;

use super::estimate::is_volatile_within;
use super::level::Layout;
use super::node::{Aggregate, Filter, Node};
use super::query::Stage;
use super::rewrite::Below;
use super::target::unfold_keys;
use super::{Planner, collate, quals};

/// What the outputs of a grouped query use.
#[derive(Default)]
struct Used {
    calls: Vec<AggCall>,
    groupings: Vec<Expr>,
    /// Columns outside of aggregates that are not grouping keys themselves: a primary key among
    /// the keys determines them.
    columns: Vec<Var>,
}

impl Planner {
    pub(super) fn group(&mut self, query: &Query, stage: &mut Stage) -> Result<()> {
        let group = query.group.as_ref().expect("the caller looked");
        let mut used = Used::default();
        for target in &query.targets {
            collect(&target.expr, 0, &group.keys, &mut used);
        }
        if let Some(having) = &query.having {
            collect(having, 0, &group.keys, &mut used);
        }
        for window in &query.windows {
            window.partition_by.iter().for_each(|e| collect(e, 0, &group.keys, &mut used));
            window.order_by.iter().for_each(|k| collect(&k.expr, 0, &group.keys, &mut used));
        }
        let mut keys = group.keys.clone();
        let mut sets = group.sets.clone();
        for column in &used.columns {
            for set in &mut sets {
                set.push(keys.len() as u16);
            }
            keys.push(Expr::Var(*column));
        }
        let layout = std::mem::take(&mut stage.layout);
        let mut computed: Vec<(Expr, Slot)> = Vec::new();
        let mut next = 0;
        let mut add = |computed: &mut Vec<(Expr, Slot)>, expr: Expr| {
            let slot = Slot { slot: next, ty: expr.ty() };
            next += 1;
            computed.push((expr, slot));
        };
        let mut calls = Vec::with_capacity(used.calls.len());
        for key in &keys {
            add(&mut computed, key.clone());
        }
        for call in &used.calls {
            add(&mut computed, Expr::Aggregate(Box::new(call.clone())));
            calls.push(self.aggregate_call(call, &layout)?);
        }
        let mut groupings = Vec::with_capacity(used.groupings.len());
        for grouping in &used.groupings {
            add(&mut computed, grouping.clone());
            if let Expr::Grouping(g) = grouping {
                groupings.push(
                    g.args
                        .iter()
                        .map(|arg| {
                            let found = keys.iter().position(|key| walk::same(key, arg));
                            found.map_or(0, |i| i as u16)
                        })
                        .collect(),
                );
            }
        }
        let collations: Vec<Collation> = keys.iter().map(crate::bind::collate::of).collect();
        let mut keys = self.rewrite_all(&keys, &mut Below::row(&layout))?;
        let input = std::mem::replace(&mut stage.node, Node::OneRow(None));
        let input = unfold_keys(input, layout.width(), &mut keys);
        let grouping = Aggregate { input, keys, sets, calls, groupings };
        stage.node = collate::aggregate(grouping, &collations);
        // The row is made of what was computed; plain columns are gone.
        stage.layout = Layout {
            slots: computed
                .iter()
                .map(|(_, slot)| (u16::MAX, Column::User(slot.slot), slot.ty))
                .collect(),
        };
        if let Some(having) = query.having.clone().and_then(quals::ordered) {
            let condition = self.rewrite(&having, &mut Below::computed(&computed))?;
            let input = std::mem::replace(&mut stage.node, Node::OneRow(None));
            stage.node = Node::Filter(Arc::new(Filter { input, condition }));
        }
        stage.computed = Some(computed);
        Ok(())
    }

    fn aggregate_call(&mut self, call: &AggCall, layout: &Layout) -> Result<AggCall> {
        let args = self.rewrite_all(&call.args, &mut Below::row(layout))?;
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for key in &call.order_by {
            let expr = self.rewrite(&key.expr, &mut Below::row(layout))?;
            order_by.push(SortExpr { expr, ..*key });
        }
        let filter = match &call.filter {
            Some(filter) => Some(self.rewrite(filter, &mut Below::row(layout))?),
            None => None,
        };
        Ok(collate::aggregate_call(call, AggCall { args, order_by, filter, ..call.clone() }))
    }
}

/// The aggregates of a query without groups, each once, if it uses nothing else of its rows.
pub(super) fn only_calls(query: &Query) -> Option<Vec<AggCall>> {
    let mut used = Used::default();
    let exprs = query.targets.iter().map(|target| &target.expr).chain(&query.having);
    exprs.for_each(|expr| collect(expr, 0, &[], &mut used));
    let alone = query.windows.is_empty() && used.groupings.is_empty() && used.columns.is_empty();
    alone.then_some(used.calls)
}

/// Do two expressions of a grouped query stand for one computed value? Volatile aggregates do only where they are one
/// and the same in the text.
pub(super) fn is_one_value(a: &Expr, b: &Expr) -> bool {
    walk::same(a, b)
        && match (a, b) {
            (Expr::Aggregate(x), Expr::Aggregate(y)) => {
                x.loc.offset() == y.loc.offset() || !is_volatile_within(a)
            }
            _ => true,
        }
}

/// Gathers aggregates and columns of the level `depth` queries out.
fn collect(expr: &Expr, depth: u16, keys: &[Expr], used: &mut Used) {
    if depth == 0 && keys.iter().any(|key| walk::same(key, expr)) {
        return;
    }
    match expr {
        Expr::Aggregate(agg) if agg.level == depth => {
            let own = lowered(agg, depth);
            let expr = Expr::Aggregate(Box::new(own.clone()));
            let known = |c: &AggCall| is_one_value(&Expr::Aggregate(Box::new(c.clone())), &expr);
            if !used.calls.iter().any(known) {
                used.calls.push(own);
            }
            return;
        }
        Expr::Grouping(grouping) if grouping.level == depth => {
            let own = walk::moved_out(expr.clone(), depth);
            if !used.groupings.iter().any(|g| walk::same(g, &own)) {
                used.groupings.push(own);
            }
            return;
        }
        Expr::Var(var) if var.level == depth => {
            let own = Var { level: 0, ..*var };
            let is_key = keys.iter().any(|key| matches!(key, Expr::Var(k) if k.same(&own)));
            if !is_key && !used.columns.iter().any(|c| c.same(&own)) {
                used.columns.push(own);
            }
            return;
        }
        Expr::SubLink(link) => {
            walk::query_exprs(&link.query, depth + 1, &mut |e, d| collect(e, d, keys, used));
        }
        _ => {}
    }
    walk::each_child(expr, &mut |child| collect(child, depth, keys, used));
}

/// The aggregate as its own level sees it.
fn lowered(agg: &AggCall, by: u16) -> AggCall {
    match walk::moved_out(Expr::Aggregate(Box::new(agg.clone())), by) {
        Expr::Aggregate(own) => *own,
        _ => agg.clone(),
    }
}
