//! Evaluating typed expressions over a row of slots.
//!
//! The tree is walked as it is: the binder has resolved every call to its function, so a node costs a
//! branch and the call. Arguments of calls live on the stack.

mod compound;
mod hashed_rows;
mod list;
mod narrow;
mod subplan;

pub(super) use list::List;
pub(super) use subplan::SubplanState;

use crate::bind::tree::{Call, Expr, IsBool, IsNull, Slot};
use crate::error::{Result, bail, sql_error};
use crate::func::{self, Body, Function};
use crate::types::{Datum, TypeId};

use super::Cx;

/// Deepest nesting that is evaluated; the binder refuses deeper trees, so this is an invariant's guard.
const ARGS_INLINE: usize = 4;

/// The value of `expr` over `row`.
pub fn eval(expr: &Expr, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    match expr {
        Expr::Const(c) => Ok(c.value.clone()),
        Expr::Slot(Slot { slot, .. }) => Ok(row[usize::from(*slot)].clone()),
        Expr::Param(p) => Ok(cx.state.params[usize::from(p.index)].clone()),
        Expr::Exec(Slot { slot, .. }) => Ok(cx.state.exec[usize::from(*slot)].clone()),
        Expr::Call(call) => eval_call(call, row, cx),
        Expr::And(args) => eval_and(args, row, cx),
        Expr::Or(args) => eval_or(args, row, cx),
        Expr::Not(arg) => Ok(match eval(arg, row, cx)? {
            Datum::Bool(value) => Datum::Bool(!value),
            other => other,
        }),
        Expr::IsNull(test) => eval_is_null(test, row, cx),
        Expr::IsBool(test) => eval_is_bool(test, row, cx),
        Expr::Relabel(relabel) => eval(&relabel.arg, row, cx),
        Expr::Element(_) => Ok(cx.state.element.clone()),
        Expr::SubPlan(subplan) => subplan::eval(subplan, row, cx),
        Expr::SqlValue(value) => cx.host.sql_value(value),
        Expr::NextValue(next) => next_value(next, cx),
        Expr::CurrentOf(current) => cx.host.current_of(current),
        Expr::Var(_)
        | Expr::SubLink(_)
        | Expr::Aggregate(_)
        | Expr::Window(_)
        | Expr::Grouping(_)
        | Expr::SetToDefault(_) => {
            Err(sql_error!(INTERNAL_ERROR, "the planner left {expr:?} in an executable expression"))
        }
        other => compound::eval(other, row, cx),
    }
}

/// Whether a condition holds: null does not.
#[inline]
pub fn eval_bool(expr: &Expr, row: &[Datum], cx: &mut Cx<'_>) -> Result<bool> {
    Ok(matches!(eval(expr, row, cx)?, Datum::Bool(true)))
}

/// Whether all conditions hold (`None`: yes).
#[inline]
pub(super) fn passes(filter: Option<&Expr>, row: &[Datum], cx: &mut Cx<'_>) -> Result<bool> {
    filter.map_or(Ok(true), |f| eval_bool(f, row, cx))
}

/// The same for a row that was read; one that is not passed on is counted (EXPLAIN's "Rows Removed by Filter").
#[inline]
pub(super) fn keeps(filter: Option<&Expr>, row: &[Datum], cx: &mut Cx<'_>) -> Result<bool> {
    let keeps = passes(filter, row, cx)?;
    cx.state.removed += u64::from(!keeps);
    Ok(keeps)
}

fn eval_and(args: &[Expr], row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let mut result = Datum::Bool(true);
    for arg in args {
        match eval(arg, row, cx)? {
            Datum::Bool(true) => {}
            Datum::Bool(false) => return Ok(Datum::Bool(false)),
            _ => result = Datum::Null,
        }
    }
    Ok(result)
}

fn eval_or(args: &[Expr], row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let mut result = Datum::Bool(false);
    for arg in args {
        match eval(arg, row, cx)? {
            Datum::Bool(false) => {}
            Datum::Bool(true) => return Ok(Datum::Bool(true)),
            _ => result = Datum::Null,
        }
    }
    Ok(result)
}

fn eval_is_null(test: &IsNull, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let value = eval(&test.arg, row, cx)?;
    let holds = match &value {
        Datum::Record(record) if test.row => {
            record.fields.iter().all(|(_, field)| field.is_null() != test.negated)
        }
        value => value.is_null() != test.negated,
    };
    Ok(Datum::Bool(holds))
}

fn eval_is_bool(test: &IsBool, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let value = match eval(&test.arg, row, cx)? {
        Datum::Bool(value) => Some(value),
        _ => None,
    };
    Ok(Datum::Bool((value == test.value) != test.negated))
}

fn next_value(next: &crate::bind::tree::NextValue, cx: &mut Cx<'_>) -> Result<Datum> {
    let value = cx.host.next_value(next.sequence)?;
    let out_of_range = |name: &str| sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "{name} out of range");
    match next.ty.id {
        TypeId::INT2 => i16::try_from(value).map(Datum::Int2).map_err(|_| out_of_range("smallint")),
        TypeId::INT4 => i32::try_from(value).map(Datum::Int4).map_err(|_| out_of_range("integer")),
        _ => Ok(Datum::Int8(value)),
    }
}

/// Evaluates the arguments and calls the function.
pub(super) fn eval_call(call: &Call, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let n = call.args.len();
    if n <= ARGS_INLINE {
        let mut values = [const { Datum::Null }; ARGS_INLINE];
        let mut types = [TypeId::UNKNOWN; ARGS_INLINE];
        let mut null = false;
        // A null is no reason to leave the rest: it may be an error, or do something.
        for (i, arg) in call.args.iter().enumerate() {
            values[i] = eval(arg, row, cx)?;
            null |= values[i].is_null();
            types[i] = arg.type_id();
        }
        if null && call.func.strict {
            return Ok(Datum::Null);
        }
        cx.state.variadic = call.variadic;
        return invoke(call.func, &values[..n], &types[..n], call.ty.id, cx);
    }
    let values = call.args.iter().map(|a| eval(a, row, cx)).collect::<Result<Vec<_>>>()?;
    if call.func.strict && values.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let types: Vec<TypeId> = call.args.iter().map(Expr::type_id).collect();
    cx.state.variadic = call.variadic;
    invoke(call.func, &values, &types, call.ty.id, cx)
}

/// Calls a function on values; strictness has been dealt with.
pub(super) fn invoke(
    func: &'static Function,
    values: &[Datum],
    types: &[TypeId],
    result: TypeId,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    let value = match func.body {
        Body::Scalar(body) => cx.with_context(types, result, |context| body(context, values))?,
        Body::Session => return cx.host.call(func, values),
        Body::Under(rules, body) => {
            cx.with_context(types, result, |context| body(rules, context, values))?
        }
        Body::Refused(error, what) => return Err(error(what)),
        Body::Set(_) => bail!(
            FEATURE_NOT_SUPPORTED,
            "set-valued function called in context that cannot accept a set"
        ),
        Body::Window => {
            bail!(WINDOWING_ERROR, "window function {} requires an OVER clause", func.name)
        }
    };
    func::check_value(&value)?;
    Ok(value)
}

/// A binary function on two values: null if it is strict and one of them is.
pub(super) fn invoke_pair(
    call: &Call,
    left: &Datum,
    right: &Datum,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    if call.func.strict && (left.is_null() || right.is_null()) {
        return Ok(Datum::Null);
    }
    let types = [call.args[0].type_id(), call.args[1].type_id()];
    invoke(call.func, &[left.clone(), right.clone()], &types, call.ty.id, cx)
}
