//! How many rows: coarse guesses that order joins and choose between indexes and scans.

use crate::bind::tree::{Call, Expr, Shape};
use crate::bind::walk;
use crate::catalog::TableDef;

/// Rows of a table that was never counted.
const UNKNOWN_ROWS: f64 = 1000.0;
/// Share of rows that an equality keeps, a range, and any other condition.
const EQUAL: f64 = 0.005;
const RANGE: f64 = 1.0 / 3.0;
const OTHER: f64 = 0.5;

/// Rows of the table as of its last count.
pub(super) fn table_rows(table: &TableDef) -> f64 {
    if table.stored_rows < 0.0 { UNKNOWN_ROWS } else { f64::from(table.stored_rows).max(1.0) }
}

/// Rows that are left of `rows` under these conditions.
pub fn filtered(rows: f64, conditions: &[Expr]) -> f64 {
    let share: f64 = conditions.iter().map(selectivity).product();
    (rows * share).max(1.0)
}

fn selectivity(condition: &Expr) -> f64 {
    match condition {
        Expr::Call(call) => match operator(call) {
            Some("=") => EQUAL,
            Some("<" | "<=" | ">" | ">=") => RANGE,
            Some("<>") => 1.0 - EQUAL,
            _ => OTHER,
        },
        Expr::IsNull(test) => {
            if test.negated {
                0.99
            } else {
                0.01
            }
        }
        Expr::ArrayOp(op) if !op.all => 10.0 * EQUAL,
        Expr::Or(args) => args.iter().map(selectivity).sum::<f64>().min(1.0),
        Expr::And(args) => args.iter().map(selectivity).product(),
        _ => OTHER,
    }
}

/// The symbol of an operator call.
pub(super) fn operator(call: &Call) -> Option<&str> {
    match &call.shape {
        Shape::Operator(symbol) => Some(symbol),
        _ => None,
    }
}

/// Rows that a set-returning call is supposed to give.
pub(super) const FUNCTION_ROWS: f64 = 1000.0;

/// Is the condition free of functions whose answer may change from row to row?
pub(super) fn is_volatile(expr: &Expr) -> bool {
    walk::any(expr, &mut |e| match e {
        Expr::Call(call) => call.func.volatility == crate::func::Volatility::Volatile,
        Expr::NextValue(_) => true,
        _ => false,
    })
}
