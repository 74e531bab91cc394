//! Conditions whose values are known only when a statement runs: which they are, and what they are then.

use crate::bind::tree::{Expr, Ty};
use crate::bind::walk;
use crate::error::Result;
use crate::types::Datum;

use super::estimate::is_volatile;
use super::node::Top;

/// Whether the condition hangs on values that are known before the first row, and are not now.
pub(super) fn is_open(condition: &Expr) -> bool {
    let mut found = false;
    if is_value(condition) {
        return !matches!(condition, Expr::Const(_));
    }
    walk::each_child(condition, &mut |child| found = found || is_open(child));
    found
}

/// The condition with such values in it, as `eval` gives them. Those that can't be told stay.
pub fn filled_in(condition: &Expr, eval: &mut dyn FnMut(&Expr) -> Result<Datum>) -> Expr {
    let mut condition = condition.clone();
    fill_in(&mut condition, eval);
    condition
}

fn fill_in(expr: &mut Expr, eval: &mut dyn FnMut(&Expr) -> Result<Datum>) {
    if matches!(expr, Expr::Const(_)) {
        return;
    }
    if is_value(expr) {
        let ty: Ty = expr.ty();
        if let Ok(value) = eval(expr) {
            *expr = Expr::constant(value, ty);
        }
        return;
    }
    walk::each_child_mut(expr, &mut |child| fill_in(child, eval));
}

/// The same for all rows, and to be had without reading any.
pub(super) fn is_value(expr: &Expr) -> bool {
    let hangs_on_more = |expr: &Expr| {
        matches!(
            expr,
            Expr::Var(_)
                | Expr::Slot(_)
                | Expr::Exec(_)
                | Expr::SubLink(_)
                | Expr::SubPlan(_)
                | Expr::Aggregate(_)
                | Expr::Window(_)
                | Expr::Grouping(_)
                | Expr::Element(_)
                | Expr::NextValue(_)
                | Expr::SetToDefault(_)
                | Expr::CurrentOf(_)
        )
    };
    match expr {
        Expr::Const(_) | Expr::Param(_) => true,
        expr => !walk::any(expr, &mut |e| hangs_on_more(e)) && !is_volatile(expr),
    }
}

/// How many rows a LIMIT takes in, OFFSET included, where both are constants.
pub fn rows_wanted(top: &Top) -> Option<f64> {
    let offset = top.offset.as_ref().map_or(Some(0.0), number)?;
    Some(number(&top.count)? + offset)
}

fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Const(c) => match c.value {
            Datum::Int8(n) => Some(n as f64),
            Datum::Int4(n) => Some(f64::from(n)),
            _ => None,
        },
        // LIMIT's number made a bigint.
        Expr::Call(call) if call.args.len() == 1 => number(&call.args[0]),
        _ => None,
    }
}
