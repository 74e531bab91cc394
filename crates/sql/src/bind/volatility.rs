//! Whether an expression's value hangs on more than the row it is over.

use crate::func::{self, Function, Volatility};
use crate::types::{TypeId, TypeInfo, type_info};

use super::query::Query;
use super::tree::{Call, Expr};
use super::types::element_of;
use super::walk;

/// Whether a query gives other rows each time, by what it calls at any depth.
pub fn is_volatile_query(query: &Query) -> bool {
    let mut found = false;
    walk::query_exprs(query, 0, &mut |expr, _| found = found || is_volatile_within(expr));
    found
}

/// As [`is_volatile`], sub-selects included.
pub fn is_volatile_within(expr: &Expr) -> bool {
    let in_sublink = |e: &Expr| matches!(e, Expr::SubLink(link) if is_volatile_query(&link.query));
    is_volatile(expr) || walk::any(expr, &mut |e| in_sublink(e))
}

/// Whether an expression may give another value each time.
pub fn is_volatile(expr: &Expr) -> bool {
    walk::any(expr, &mut |e| match e {
        Expr::Call(call) => call.func.volatility == Volatility::Volatile,
        Expr::NextValue(_) => true,
        _ => false,
    })
}

/// Whether it has the same value for the same row for ever, whatever the settings and the time: what the keys and
/// predicates of indexes must be, and what generated columns are computed by.
pub fn is_immutable(expr: &Expr) -> bool {
    !walk::any(expr, &mut |part| !is_immutable_itself(part))
}

fn is_immutable_itself(part: &Expr) -> bool {
    let plain = |func: &Function| func.volatility == Volatility::Immutable;
    let both = |(equal, order): &(Call, Option<Call>)| {
        plain(equal.func) && order.iter().all(|order| plain(order.func))
    };
    match part {
        Expr::Call(call) if casts_to_text(call.func) => {
            call.args.iter().all(|arg| !hangs_on_settings(arg.ty().id, |from| from.output))
        }
        Expr::Call(call) => plain(call.func),
        Expr::Distinct(distinct) => plain(distinct.equal.func),
        Expr::NullIf(null_if) => plain(null_if.equal.func),
        Expr::ArrayOp(op) => plain(op.func),
        Expr::RowCompare(rows) => rows.columns.iter().all(both),
        Expr::ViaText(cast) => {
            !hangs_on_settings(cast.arg.ty().id, |from| from.output)
                && !hangs_on_settings(cast.ty.id, |to| to.input)
        }
        Expr::NextValue(_) | Expr::SqlValue(_) => false,
        _ => true,
    }
}

/// PostgreSQL's SQL functions that do no more than cast a value of any type to text for an immutable function. It puts in
/// what they say, and so need not take them for what they are declared to be.
fn casts_to_text(func: &Function) -> bool {
    match func.name {
        "textanycat" | "anytextcat" => true,
        "quote_literal" | "quote_nullable" => func.volatility == Volatility::Stable,
        _ => false,
    }
}

/// Whether settings or catalogs say how a value of the type is written, or read. Those of types that users make have a say.
fn hangs_on_settings(ty: TypeId, support: impl Fn(&TypeInfo) -> &'static str) -> bool {
    let Some(info) = type_info(ty) else { return true };
    let mut functions = func::functions(support(&info));
    functions.any(|function| function.volatility != Volatility::Immutable)
}

/// Whether the settings or the time have a say in what the text of a literal means. Names of catalog objects are not
/// looked at: what they mean goes by the search path and the catalogs' version, as all of a plan does.
pub(super) fn reads_by_settings(ty: TypeId, text: &str) -> bool {
    match element_of(ty).unwrap_or(ty) {
        TypeId::DATE | TypeId::TIMESTAMP => !is_iso(text, false),
        TypeId::TIMESTAMPTZ => !is_iso(text, true),
        // Only the sign of a whole interval is read by `IntervalStyle`.
        TypeId::INTERVAL => text.contains('-'),
        TypeId::TIME | TypeId::TIMETZ => true,
        _ => false,
    }
}

/// Year first, and digits only: a date that no setting gives another meaning. With a time zone, if it is asked for, it has to
/// have an offset written out.
fn is_iso(text: &str, zoned: bool) -> bool {
    let (date, time) = text.split_once(' ').unwrap_or((text, ""));
    let is_of =
        |part: &str, signs: &[u8]| part.bytes().all(|b| b.is_ascii_digit() || signs.contains(&b));
    date.find('-') == Some(4)
        && is_of(date, b"-")
        && is_of(time, b":.+-")
        && (!zoned || time.contains(['+', '-']))
}
