//! How many rows: guesses that order joins and choose between indexes and scans, from what ANALYZE has found
//! where it has been.

pub(super) use crate::bind::volatility::{is_volatile, is_volatile_query, is_volatile_within};

use crate::bind::tree::{ArrayArg, Call, Expr, Shape};
use crate::catalog::statistics::{below_share, equal_share};
use crate::catalog::{KeySource, TableDef};
use crate::types::{Datum, Oid, TypeId};

use super::node::{KeyRange, KeyValue};

/// Rows of a table that was never counted.
const UNKNOWN_ROWS: f64 = 1000.0;
/// Share of rows that an equality keeps, a range, any other condition, and IS NULL.
const EQUAL: f64 = 0.005;
const RANGE: f64 = 1.0 / 3.0;
/// A range with two ends.
const BOTH_ENDS: f64 = 0.005;
const OTHER: f64 = 0.5;
const NULLS: f64 = 0.01;

/// Rows of the table as of its last count.
pub(super) fn table_rows(table: &TableDef) -> f64 {
    if table.stored_rows < 0.0 { UNKNOWN_ROWS } else { f64::from(table.stored_rows).max(1.0) }
}

/// Which column of which table an expression is, if it is one.
pub type Columns<'a> = dyn Fn(&Expr) -> Option<(&'a TableDef, u16)> + 'a;

/// Rows that are left of `rows` under these conditions, of whose columns nothing is known.
pub fn filtered(rows: f64, conditions: &[Expr]) -> f64 {
    filtered_by(rows, conditions, &|_| None)
}

/// Rows that are left of a table's `rows` under these conditions.
pub fn filtered_by(rows: f64, conditions: &[Expr], columns: &Columns<'_>) -> f64 {
    (rows * share_of(conditions, rows, columns)).max(1.0)
}

/// Share of a table's `rows` that conditions keep together.
pub fn share_of<'e>(
    conditions: impl IntoIterator<Item = &'e Expr>,
    rows: f64,
    columns: &Columns<'_>,
) -> f64 {
    share(&mut conditions.into_iter(), &Known { rows, columns })
}

struct Known<'a, 'c> {
    rows: f64,
    columns: &'c Columns<'a>,
}

/// Two ends of a range of one column belong together.
struct Span {
    table: Oid,
    column: u16,
    nulls: f64,
    low: Option<f64>,
    high: Option<f64>,
}

fn share(conditions: &mut dyn Iterator<Item = &Expr>, known: &Known<'_, '_>) -> f64 {
    let mut share = 1.0;
    let mut spans: Vec<Span> = Vec::new();
    // Ends of ranges that may be anywhere: which column, which end.
    let mut open: Vec<(Oid, u16, bool)> = Vec::new();
    for condition in conditions {
        let Some((table, column, symbol, value)) = bound(condition, known) else {
            share *= selectivity(condition, known);
            continue;
        };
        let statistics = table.statistics_of(column);
        let own = &table.columns[usize::from(column)];
        let order = own.order();
        let value = value.and_then(|value| fitted(own.ty.id, value));
        let below = statistics.zip(value.as_ref()).and_then(|(of, v)| below_share(of, order, v));
        let (Some(below), Some(of), Some(value)) = (below, statistics, &value) else {
            let is_low = symbol.starts_with('>');
            match open.iter().position(|end| *end == (table.oid, column, !is_low)) {
                Some(other) => {
                    open.swap_remove(other);
                    share *= BOTH_ENDS / RANGE;
                }
                None => {
                    open.push((table.oid, column, is_low));
                    share *= RANGE;
                }
            }
            continue;
        };
        let at = spans.iter().position(|span| (span.table, span.column) == (table.oid, column));
        let at = at.unwrap_or_else(|| {
            let (low, high) = (None, None);
            spans.push(Span { table: table.oid, column, nulls: of.nulls, low, high });
            spans.len() - 1
        });
        let equal = equal_share(of, order, value, known.rows).unwrap_or(0.0);
        let span = &mut spans[at];
        match symbol {
            "<" => span.high = Some(span.high.unwrap_or(1.0).min(below)),
            "<=" => span.high = Some(span.high.unwrap_or(1.0).min(below + equal)),
            ">" => span.low = Some(span.low.unwrap_or(0.0).max(below + equal)),
            _ => span.low = Some(span.low.unwrap_or(0.0).max(below)),
        }
    }
    for span in spans {
        let present = 1.0 - span.nulls;
        let (low, high) = (span.low.unwrap_or(0.0), span.high.unwrap_or(present));
        share *= (high - low).clamp(1.0 / known.rows.max(1.0), 1.0);
    }
    share
}

/// `column < value` and its kin; the value if it is known.
fn bound<'a, 'e>(
    condition: &'e Expr,
    known: &Known<'a, '_>,
) -> Option<(&'a TableDef, u16, &'static str, Option<&'e Datum>)> {
    let Expr::Call(call) = condition else { return None };
    let symbol = operator(call)?;
    let [left, right] = &call.args[..] else { return None };
    let ((table, at), value, turned) = match (column_of(left, known), column_of(right, known)) {
        (Some(column), None) => (column, constant(right), false),
        (None, Some(column)) => (column, constant(left), true),
        _ => return None,
    };
    let symbol = match (symbol, turned) {
        ("<", false) | (">", true) => "<",
        ("<=", false) | (">=", true) => "<=",
        (">", false) | ("<", true) => ">",
        (">=", false) | ("<=", true) => ">=",
        _ => return None,
    };
    Some((table, at, symbol, value))
}

/// The column that an expression is, under its own type or a text type's.
fn column_of<'a>(expr: &Expr, known: &Known<'a, '_>) -> Option<(&'a TableDef, u16)> {
    match expr {
        Expr::Relabel(relabel) => column_of(&relabel.arg, known),
        Expr::Collate(collate) => column_of(&collate.arg, known),
        expr => (known.columns)(expr),
    }
}

/// Can the value be compared with a column's values as it is?
fn same_kind(ty: TypeId, value: &Datum) -> bool {
    if ty.is_enum() {
        return matches!(value, Datum::Oid(_));
    }
    matches!(
        (ty, value),
        (TypeId::INT2, Datum::Int2(_))
            | (TypeId::INT4, Datum::Int4(_))
            | (TypeId::INT8, Datum::Int8(_))
            | (TypeId::FLOAT4, Datum::Float4(_))
            | (TypeId::FLOAT8, Datum::Float8(_))
            | (TypeId::NUMERIC, Datum::Numeric(_))
            | (TypeId::TEXT | TypeId::VARCHAR | TypeId::BPCHAR | TypeId::NAME, Datum::Text(_))
            | (TypeId::DATE, Datum::Date(_))
            | (TypeId::TIMESTAMP, Datum::Timestamp(_))
            | (TypeId::TIMESTAMPTZ, Datum::TimestampTz(_))
            | (TypeId::BOOL, Datum::Bool(_))
            | (TypeId::OID, Datum::Oid(_))
            | (TypeId::UUID, Datum::Uuid(_))
            | (TypeId::INET | TypeId::CIDR, Datum::Inet(_))
            | (TypeId::JSONB, Datum::Jsonb(_))
    )
}

/// The value as one of the column's type.
fn fitted(ty: TypeId, value: &Datum) -> Option<Datum> {
    if same_kind(ty, value) {
        return Some(value.clone());
    }
    super::fit::fit_constant(value, ty)
}

/// Share of a table's rows where the column equals the value, which may be known.
fn equal_to(table: &TableDef, column: u16, value: Option<&Datum>, rows: f64) -> Option<f64> {
    let own = &table.columns[usize::from(column)];
    if let (Some(of), Some(value)) = (table.statistics_of(column), value)
        && let Some(value) = fitted(own.ty.id, value)
        && let Some(share) = equal_share(of, own.order(), &value, rows)
    {
        return Some(share);
    }
    let nulls = table.statistics_of(column).map_or(0.0, |of| of.nulls);
    Some((1.0 - nulls) / table.distinct_values(column, rows)?)
}

fn constant(expr: &Expr) -> Option<&Datum> {
    match expr {
        Expr::Const(c) if !c.value.is_null() => Some(&c.value),
        Expr::Relabel(relabel) => constant(&relabel.arg),
        Expr::Collate(collate) => constant(&collate.arg),
        _ => None,
    }
}

/// `column = value`: its share.
fn equality(call: &Call, known: &Known<'_, '_>) -> f64 {
    let [left, right] = &call.args[..] else { return EQUAL };
    let one = |column: &Expr, value: &Expr| match folded(column) {
        // It has about as many values, but not the same.
        Some(of) => {
            let (table, at) = column_of(of, known)?;
            equal_to(table, at, None, known.rows)
        }
        None => {
            let (table, at) = column_of(column, known)?;
            equal_to(table, at, constant(value), known.rows)
        }
    };
    match (one(left, right), one(right, left)) {
        (Some(a), Some(b)) => a.min(b),
        (Some(share), None) | (None, Some(share)) => share,
        (None, None) => EQUAL,
    }
}

/// Whether it is the comparison of a column with one value, and all values of the column are as common: then it does not
/// matter to the planner which value it is.
pub(super) fn is_any_value<'a>(condition: &Expr, columns: &Columns<'a>) -> bool {
    let Expr::Call(call) = condition else { return false };
    let [left, right] = &call.args[..] else { return false };
    let known = Known { columns, rows: 0.0 };
    let column = match (column_of(left, &known), column_of(right, &known)) {
        (Some(column), None) | (None, Some(column)) => column,
        _ => return false,
    };
    let counted = column.0.statistics_of(column.1);
    operator(call) == Some("=") && counted.is_some_and(|counted| counted.common.is_empty())
}

/// What a text was before it was put in one case.
fn folded(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Call(call) if matches!(call.func.name, "lower" | "upper") => call.args.first(),
        Expr::Relabel(relabel) => folded(&relabel.arg),
        _ => None,
    }
}

fn selectivity(condition: &Expr, known: &Known<'_, '_>) -> f64 {
    match condition {
        Expr::Call(call) => match operator(call) {
            Some("=") => equality(call, known),
            Some("<" | "<=" | ">" | ">=") => match bound(condition, known) {
                Some(_) => share(&mut std::iter::once(condition), known),
                None => RANGE,
            },
            Some("<>") => 1.0 - equality(call, known),
            _ => OTHER,
        },
        Expr::IsNull(test) => {
            let nulls = column_of(&test.arg, known)
                .and_then(|(table, at)| table.statistics_of(at))
                .map_or(NULLS, |of| of.nulls);
            if test.negated { 1.0 - nulls } else { nulls }
        }
        Expr::ArrayOp(op) if !op.all && &*op.symbol == "=" => {
            let each = |value: Option<&Datum>| {
                let (table, at) = column_of(&op.left, known)?;
                equal_to(table, at, value, known.rows)
            };
            let sum = match &op.right {
                ArrayArg::List(list) => {
                    list.iter().map(|value| each(constant(value)).unwrap_or(EQUAL)).sum()
                }
                ArrayArg::Array(Expr::Const(c)) => match &c.value {
                    Datum::Array(array) => {
                        array.elements.iter().map(|v| each(Some(v)).unwrap_or(EQUAL)).sum()
                    }
                    _ => 10.0 * EQUAL,
                },
                ArrayArg::Array(_) => 10.0 * each(None).unwrap_or(EQUAL),
            };
            f64::min(sum, 1.0)
        }
        Expr::ArrayOp(op) if !op.all => 10.0 * EQUAL,
        Expr::Or(args) => {
            1.0 - args.iter().map(|arg| 1.0 - selectivity(arg, known)).product::<f64>()
        }
        Expr::And(args) => share(&mut args.iter(), known),
        Expr::Not(arg) => 1.0 - selectivity(arg, known),
        _ => match column_of(condition, known)
            .and_then(|(table, at)| equal_to(table, at, Some(&Datum::Bool(true)), known.rows))
        {
            Some(share) => share,
            None => OTHER,
        },
    }
}

/// Share of a table's rows in one range of an index, where the columns' statistics tell; `None` elsewhere.
pub fn range_share(
    table: &TableDef,
    keys: &[crate::catalog::IndexKey],
    range: &KeyRange,
    rows: f64,
) -> Option<f64> {
    let column = |at: usize| match keys.get(at)?.source {
        KeySource::Column(column) => Some(column),
        KeySource::Expr(_) => None,
    };
    let mut share = 1.0;
    for (at, value) in range.equal.iter().enumerate() {
        let column = column(at)?;
        share *= match value {
            KeyValue::Is(expr) => equal_to(table, column, constant(expr), rows)?,
            KeyValue::IsNull => table.statistics_of(column)?.nulls,
            KeyValue::AnyOf(Expr::Const(c)) => match &c.value {
                Datum::Array(array) => {
                    let each = |v: &Datum| equal_to(table, column, Some(v), rows);
                    array.elements.iter().map(each).sum::<Option<f64>>()?
                }
                _ => return None,
            },
            KeyValue::AnyOf(Expr::Array(array)) => {
                let each = |v: &Expr| equal_to(table, column, constant(v), rows);
                array.elements.iter().map(each).sum::<Option<f64>>()?
            }
            KeyValue::AnyOf(_) => 10.0 * equal_to(table, column, None, rows)?,
        };
    }
    if range.lower.is_none() && range.upper.is_none() {
        return Some(share.min(1.0));
    }
    let column = column(range.equal.len())?;
    let (of, own) = (table.statistics_of(column)?, &table.columns[usize::from(column)]);
    let at = |bound: &Option<(Expr, bool)>, after: bool| -> Option<f64> {
        let Some((expr, included)) = bound else {
            return Some(if after { 1.0 - of.nulls } else { 0.0 });
        };
        let value = &fitted(own.ty.id, constant(expr)?)?;
        let equal = equal_share(of, own.order(), value, rows).unwrap_or(0.0);
        // Up to the bound with it, or from it on without it.
        Some(below_share(of, own.order(), value)? + if *included == after { equal } else { 0.0 })
    };
    let (low, high) = (at(&range.lower, false)?, at(&range.upper, true)?);
    Some((share * (high - low).max(0.0)).clamp(0.0, 1.0))
}

/// Distinct values of an expression that is a column.
pub fn distinct_of(expr: &Expr, rows: f64, columns: &Columns<'_>) -> Option<f64> {
    let (table, at) = column_of(expr, &Known { rows, columns })?;
    table.distinct_values(at, rows)
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
