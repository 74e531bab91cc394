//! Does a condition follow from others? Asked of partial indexes; a no may be wrong, a yes never is.

use std::cmp::Ordering;

use crate::types::{Datum, compare, compare_under};

use super::tree::{Call, Expr, Shape};
use super::{collate, walk};

/// Whether `wanted` is true wherever all of `given` are.
pub(crate) fn follows(wanted: &Expr, given: &[Expr]) -> bool {
    if given.iter().any(|one| walk::same(wanted, one)) {
        return true;
    }
    match wanted {
        Expr::Const(c) => matches!(c.value, Datum::Bool(true)),
        Expr::And(parts) => parts.iter().all(|part| follows(part, given)),
        Expr::Or(parts) => parts.iter().any(|part| follows(part, given)),
        // What something strict holds for is not null.
        Expr::IsNull(test) if test.negated && !test.row => {
            given.iter().any(|one| fails_with(one, &test.arg))
        }
        wanted => comparison(wanted).is_some_and(|(call, op, bound)| {
            given.iter().any(|one| {
                comparison(one).is_some_and(|(other, known, value)| {
                    walk::same(call.args[0].bare(), other.args[0].bare())
                        && call.args[1].ty() == other.args[1].ty()
                        && collate::alike(call.collation, other.collation)
                        && narrower(known, order(call, value, bound), op)
                })
            })
        }),
    }
}

/// Is the condition never true where `arg` is null?
fn fails_with(condition: &Expr, arg: &Expr) -> bool {
    match condition {
        // Over an empty array ANY is false whatever stands before it, and ALL is true.
        Expr::ArrayOp(op) if op.func.strict => {
            !op.all && (walk::same(&op.left, arg) || is_null_with(&op.left, arg))
        }
        condition => is_null_with(condition, arg),
    }
}

/// Is the value null where `arg` is null?
fn is_null_with(expr: &Expr, arg: &Expr) -> bool {
    match expr {
        Expr::Call(call) if call.func.strict => {
            call.args.iter().any(|own| walk::same(own, arg) || is_null_with(own, arg))
        }
        Expr::Relabel(relabel) => walk::same(&relabel.arg, arg) || is_null_with(&relabel.arg, arg),
        expr => walk::same(expr, arg) && expr.type_id() == crate::types::TypeId::BOOL,
    }
}

/// How two values of the call's second argument are ordered by what it compares by.
fn order(call: &Call, a: &Datum, b: &Datum) -> Ordering {
    let ty = call.args[1].type_id();
    call.collation.rules().map_or_else(|| compare(ty, a, b), |by| compare_under(by, ty, a, b))
}

/// `x op constant`: the call, the operator and the constant.
fn comparison(expr: &Expr) -> Option<(&Call, &str, &Datum)> {
    let Expr::Call(call) = expr else { return None };
    let Shape::Operator(symbol) = &call.shape else { return None };
    let [_, value] = &call.args[..] else { return None };
    match value.bare() {
        Expr::Const(c) if !c.value.is_null() => Some((call, symbol, &c.value)),
        _ => None,
    }
}

/// Does `x known a` make `x wanted b` true, `a` being so ordered to `b`?
fn narrower(known: &str, a_to_b: Ordering, wanted: &str) -> bool {
    use Ordering::{Equal, Greater, Less};
    match (known, wanted) {
        ("=", "=") => a_to_b == Equal,
        ("=", "<") | ("<=", "<") => a_to_b == Less,
        ("=", "<=") | ("<", "<") | ("<", "<=") | ("<=", "<=") => a_to_b != Greater,
        ("=", ">") | (">=", ">") => a_to_b == Greater,
        ("=", ">=") | (">", ">") | (">", ">=") | (">=", ">=") => a_to_b != Less,
        ("=", "<>") => a_to_b != Equal,
        ("<", "<>") => a_to_b != Greater,
        (">", "<>") => a_to_b != Less,
        ("<=", "<>") => a_to_b == Less,
        (">=", "<>") => a_to_b == Greater,
        _ => false,
    }
}
