//! Type names, as `format_type` spells them.

use super::ident::{qualified, quote_ident};
use crate::ast::{Const, Expr, Literal, TypeName};

/// SQL's spelling of a type: `integer`, `character varying(10)`, `timestamp(3) with time zone`.
/// `None` if a modifier is no whole number.
pub fn type_name(name: &TypeName) -> Option<String> {
    let modifiers: Vec<i64> = name.modifiers.iter().map(whole_number).collect::<Option<_>>()?;
    let mut text = match &name.name.parts[..] {
        [own] => spelled(own, &modifiers),
        [schema, own] if &**schema == "pg_catalog" => spelled(own, &modifiers),
        _ => qualified(&name.name) + &list(&modifiers),
    };
    if name.set_of {
        text.insert_str(0, "SETOF ");
    }
    if !name.array_bounds.is_empty() {
        text.push_str("[]");
    }
    Some(text)
}

fn whole_number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(Const { value: Literal::Integer(value), .. }) => Some(*value),
        _ => None,
    }
}

/// A type of `pg_catalog`, or one written without a schema.
fn spelled(own: &str, modifiers: &[i64]) -> String {
    let list = list(modifiers);
    match own {
        "bool" => "boolean".to_string(),
        "int2" => "smallint".to_string(),
        "int4" => "integer".to_string(),
        "int8" => "bigint".to_string(),
        "float4" => "real".to_string(),
        "float8" => "double precision".to_string(),
        "varchar" => format!("character varying{list}"),
        "bpchar" if modifiers.is_empty() => "bpchar".to_string(),
        "bpchar" => format!("character{list}"),
        "char" => "\"char\"".to_string(),
        // A bare `bit` is read as `bit(1)`.
        "bit" if modifiers.is_empty() => "\"bit\"".to_string(),
        "bit" => format!("bit{list}"),
        "varbit" => format!("bit varying{list}"),
        "numeric" if modifiers.len() == 1 => format!("numeric({},0)", modifiers[0]),
        "numeric" => format!("numeric{list}"),
        "time" => format!("time{list} without time zone"),
        "timetz" => format!("time{list} with time zone"),
        "timestamp" => format!("timestamp{list} without time zone"),
        "timestamptz" => format!("timestamp{list} with time zone"),
        "interval" => interval(modifiers),
        other => format!("{}{list}", quote_ident(other)),
    }
}

fn list(modifiers: &[i64]) -> String {
    if modifiers.is_empty() {
        return String::new();
    }
    let items: Vec<String> = modifiers.iter().map(i64::to_string).collect();
    format!("({})", items.join(","))
}

/// The first modifier is a set of fields, one bit each, the second a precision.
fn interval(modifiers: &[i64]) -> String {
    const YEAR: i64 = 1 << 2;
    const MONTH: i64 = 1 << 1;
    const DAY: i64 = 1 << 3;
    const HOUR: i64 = 1 << 10;
    const MINUTE: i64 = 1 << 11;
    const SECOND: i64 = 1 << 12;
    const RANGES: &[(i64, &str)] = &[
        (YEAR, " year"),
        (MONTH, " month"),
        (DAY, " day"),
        (HOUR, " hour"),
        (MINUTE, " minute"),
        (SECOND, " second"),
        (YEAR | MONTH, " year to month"),
        (DAY | HOUR, " day to hour"),
        (DAY | HOUR | MINUTE, " day to minute"),
        (DAY | HOUR | MINUTE | SECOND, " day to second"),
        (HOUR | MINUTE, " hour to minute"),
        (HOUR | MINUTE | SECOND, " hour to second"),
        (MINUTE | SECOND, " minute to second"),
    ];
    let fields = modifiers
        .first()
        .and_then(|mask| RANGES.iter().find(|(bits, _)| bits == mask))
        .map_or("", |(_, words)| words);
    let precision = modifiers.get(1).map_or(String::new(), |precision| format!("({precision})"));
    format!("interval{fields}{precision}")
}
