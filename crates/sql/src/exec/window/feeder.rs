//! Brings rows into an aggregate's state, and out of it.

use std::sync::Arc;

use crate::bind::tree::WindowFunc;
use crate::bind::volatility::is_volatile;
use crate::error::Result;
use crate::exec::Cx;
use crate::exec::aggregate::arg_types;
use crate::exec::eval::{eval, passes};
use crate::func::{Accumulator, Aggregate};
use crate::plan::node::WindowAgg;
use crate::types::{Datum, TypeId};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

/// For one of a window's calls.
pub(super) struct Feeder {
    agg: &'static Aggregate,
    plan: Arc<WindowAgg>,
    /// The call's.
    number: usize,
    types: Vec<TypeId>,
    /// A row's arguments are the same whenever they are computed.
    pub(super) is_stable: bool,
    args: Vec<Datum>,
}

impl Feeder {
    /// `None`: the call is no aggregate.
    pub(super) fn new(plan: &Arc<WindowAgg>, number: usize) -> Option<Feeder> {
        let call = &plan.calls[number];
        let WindowFunc::Aggregate(agg) = call.func else { return None };
        let is_stable = !call.args.iter().chain(&call.filter).any(is_volatile);
        let (plan, types) = (Arc::clone(plan), arg_types(&call.args));
        Some(Feeder { agg, plan, number, types, is_stable, args: Vec::new() })
    }

    /// A state without rows.
    pub(super) fn begin(&self) -> Box<dyn Accumulator> {
        self.agg.begin(&self.types)
    }

    /// What the aggregate comes to by now.
    pub(super) fn value(
        &self,
        accumulator: &mut Box<dyn Accumulator>,
        cx: &mut Cx<'_>,
    ) -> Result<Datum> {
        let result = self.plan.calls[self.number].ty.id;
        cx.with_context(&self.types, result, |context| accumulator.finish(context))
    }

    /// False: the row can't be taken out.
    pub(super) fn feed_row(
        &mut self,
        accumulator: &mut Box<dyn Accumulator>,
        row: &[Datum],
        way: Way,
        cx: &mut Cx<'_>,
    ) -> Result<bool> {
        let call = &self.plan.calls[self.number];
        if !passes(call.filter.as_ref(), row, cx)? {
            return Ok(true);
        }
        self.args.clear();
        for arg in &call.args {
            self.args.push(eval(arg, row, cx)?);
        }
        if self.agg.strict && self.args.iter().any(Datum::is_null) {
            return Ok(true);
        }
        let args = &self.args;
        cx.with_context(&self.types, call.ty.id, |context| match way {
            Way::In => accumulator.add(context, args).map(|()| true),
            Way::Out => accumulator.remove(context, args),
        })
    }
}
