//! Quoting of identifiers and literals, `concat`, `format`.

use super::Context;
use super::bodies::{Bodies, scalars};
use super::text::{MAX_BYTES, too_large};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Array, Datum, TypeId, output, output_string};

pub(super) const ROOMS: &[Bodies] = &[QUOTING, CONCATENATION];

/// Words that cannot be identifiers everywhere, sorted; source: `pg_get_keywords()`.
const QUOTED_WORDS: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// Whether a name can stand in SQL as it is.
pub fn is_plain_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'_')
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && QUOTED_WORDS.binary_search(&name).is_err()
}

/// A name as SQL reads it back.
pub fn quote_identifier(name: &str) -> String {
    if is_plain_identifier(name) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// A string constant as SQL reads it back.
pub fn quote_literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    if text.contains('\\') {
        format!("E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

/// An argument of any type as a cast to text gives it, which of truth values is not how they are written.
fn argument_text(cx: &Context<'_>, i: usize, value: &Datum) -> Result<String> {
    if let Datum::Bool(value) = value {
        return Ok(value.to_string());
    }
    output_string(cx.arg_types.get(i).copied().unwrap_or(TypeId::TEXT), value, &cx.io())
}

const QUOTING: Bodies = scalars! {
    "quote_ident" => |_, a| Ok(quote_identifier(a[0].as_text()).into());
    "quote_literal" => |_, a| Ok(quote_literal(a[0].as_text()).into());
    "sql:1285" => |cx, a| Ok(quote_literal(&argument_text(cx, 0, &a[0])?).into());
    "quote_nullable" => |_, a| Ok(match &a[0] {
        Datum::Null => "NULL".into(),
        value => quote_literal(value.as_text()).into(),
    });
    "sql:1290" => |cx, a| Ok(match &a[0] {
        Datum::Null => "NULL".into(),
        value => quote_literal(&argument_text(cx, 0, value)?).into(),
    });
    "parse_ident" => |_, a| parse_identifier(a[0].as_text(), a[1].as_bool());
};

/// `a."B".c` to its parts.
fn parse_identifier(text: &str, strict: bool) -> Result<Datum> {
    let error = |detail: Option<&str>| {
        let error =
            sql_error!(INVALID_PARAMETER_VALUE, "string is not a valid identifier: \"{text}\"");
        detail.map_or(error.clone(), |detail| error.with_detail(detail))
    };
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    let mut after_dot = false;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut chars = quoted.char_indices().peekable();
            let end = loop {
                match chars.next() {
                    Some((_, '"')) if chars.peek().is_some_and(|(_, c)| *c == '"') => {
                        chars.next();
                        name.push('"');
                    }
                    Some((i, '"')) => break i + 1,
                    Some((_, c)) => name.push(c),
                    None => return Err(error(Some("String has unclosed double quotes."))),
                }
            };
            if name.is_empty() {
                return Err(error(Some("Quoted identifier must not be empty.")));
            }
            parts.push(Datum::from(name));
            rest = &quoted[end..];
        } else {
            let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
            let len = if rest.starts_with(starts) {
                rest.find(|c: char| !(starts(c) || c.is_ascii_digit() || c == '$'))
                    .unwrap_or(rest.len())
            } else {
                0
            };
            if len == 0 {
                return Err(if rest.starts_with('.') {
                    error(Some("No valid identifier before \".\"."))
                } else if after_dot {
                    error(Some("No valid identifier after \".\"."))
                } else {
                    error(None)
                });
            }
            parts.push(Datum::from(rest[..len].to_ascii_lowercase()));
            rest = &rest[len..];
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(more) => {
                rest = more.trim_start();
                after_dot = true;
            }
            None if rest.is_empty() || !strict => break,
            None => return Err(error(None)),
        }
    }
    Ok(Array::from_elements(TypeId::TEXT, parts).into())
}

/// The arguments from `first` on, or the elements of the one array that stands for them.
pub(super) fn variadic_arguments(
    cx: &Context<'_>,
    args: &[Datum],
    first: usize,
) -> Vec<(TypeId, Datum)> {
    match &args[first..] {
        [Datum::Array(array)] if cx.variadic => {
            return array.elements.iter().map(|e| (array.element_type, e.clone())).collect();
        }
        [Datum::Null] if cx.variadic => return Vec::new(),
        _ => {}
    }
    let types = cx.arg_types.iter().copied().skip(first);
    types.zip(args[first..].iter().cloned()).collect()
}

const CONCATENATION: Bodies = scalars! {
    "text_concat" => |cx, a| {
        if cx.variadic && a[0].is_null() {
            return Ok(Datum::Null);
        }
        concat(cx, "", &variadic_arguments(cx, a, 0))
    };
    "text_concat_ws" => |cx, a| {
        if a[0].is_null() || (cx.variadic && a[1].is_null()) {
            return Ok(Datum::Null);
        }
        concat(cx, a[0].as_text(), &variadic_arguments(cx, a, 1))
    };
    "text_format" => |cx, a| {
        if a[0].is_null() {
            return Ok(Datum::Null);
        }
        format(cx, a[0].as_text(), &variadic_arguments(cx, a, 1))
    };
    "text_format_nv" => |cx, a| {
        if a[0].is_null() { Ok(Datum::Null) } else { format(cx, a[0].as_text(), &[]) }
    };
    "sql:2003" => |cx, a| {
        let tail = argument_text(cx, 1, &a[1])?;
        Ok(format!("{}{tail}", a[0].as_text().as_str()).into())
    };
    "sql:2004" => |cx, a| {
        let head = argument_text(cx, 0, &a[0])?;
        Ok(format!("{head}{}", a[1].as_text().as_str()).into())
    };
};

/// Texts of all values that are not null, with separators.
fn concat(cx: &Context<'_>, separator: &str, values: &[(TypeId, Datum)]) -> Result<Datum> {
    let mut out = Vec::new();
    let mut first = true;
    for (type_id, value) in values.iter().filter(|(_, value)| !value.is_null()) {
        if !first {
            out.extend_from_slice(separator.as_bytes());
        }
        first = false;
        output(*type_id, value, &cx.io(), &mut out)?;
        if out.len() > MAX_BYTES {
            return Err(too_large());
        }
    }
    Ok(String::from_utf8(out).expect("output functions write UTF-8").into())
}

#[cold]
fn too_few() -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "too few arguments for format()")
}

/// `format()`: `%[position$][-][width]{s|I|L}`.
fn format(cx: &Context<'_>, template: &str, values: &[(TypeId, Datum)]) -> Result<Datum> {
    let mut out = String::new();
    let mut rest = template;
    let mut next = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let spec = Spec::parse(&mut rest)?;
        let mut take = |position: Option<usize>| -> Result<&(TypeId, Datum)> {
            let index = position.unwrap_or(next);
            next = index + 1;
            values.get(index).ok_or_else(too_few)
        };
        let width = match spec.width {
            Width::None => 0,
            Width::Fixed(width) => width,
            Width::Argument(position) => width_argument(cx, take(position)?)?,
        };
        let (type_id, value) = take(spec.position)?;
        let text = match (spec.conversion, value) {
            ('s', Datum::Null) => String::new(),
            ('s', value) => output_string(*type_id, value, &cx.io())?,
            ('I', Datum::Null) => bail!(
                NULL_VALUE_NOT_ALLOWED,
                "null values cannot be formatted as an SQL identifier"
            ),
            ('I', value) => quote_identifier(&output_string(*type_id, value, &cx.io())?),
            ('L', Datum::Null) => "NULL".to_owned(),
            (_, value) => quote_literal(&output_string(*type_id, value, &cx.io())?),
        };
        push_padded(&mut out, &text, width, spec.left);
        if out.len() > MAX_BYTES {
            return Err(too_large());
        }
    }
    out.push_str(rest);
    Ok(out.into())
}

fn push_padded(out: &mut String, text: &str, width: i64, left: bool) {
    let missing = (width.unsigned_abs() as usize).saturating_sub(text.chars().count());
    let missing = missing.min(MAX_BYTES + 1);
    let left = left || width < 0;
    if left {
        out.push_str(text);
    }
    out.extend(std::iter::repeat_n(' ', missing));
    if !left {
        out.push_str(text);
    }
}

/// A width that an argument gives: negative ones align left.
fn width_argument(cx: &Context<'_>, (type_id, value): &(TypeId, Datum)) -> Result<i64> {
    match value {
        Datum::Null => Ok(0),
        Datum::Int2(v) => Ok(i64::from(*v)),
        Datum::Int4(v) => Ok(i64::from(*v)),
        value => {
            let text = output_string(*type_id, value, &cx.io())?;
            crate::types::scalar::parse_int(&text, "integer", i32::MIN.into(), i32::MAX.into())
        }
    }
}

enum Width {
    None,
    Fixed(i64),
    /// From the next argument, or from the one at this index.
    Argument(Option<usize>),
}

struct Spec {
    /// Index of the argument, if one is named.
    position: Option<usize>,
    left: bool,
    width: Width,
    conversion: char,
}

impl Spec {
    /// Reads what follows the percent sign.
    fn parse(rest: &mut &str) -> Result<Spec> {
        let mut spec = Spec { position: None, left: false, width: Width::None, conversion: 's' };
        let number = digits(rest)?;
        if let Some(n) = number {
            if let Some(after) = rest.strip_prefix('$') {
                *rest = after;
                spec.position = Some(position(n)?);
            } else {
                spec.width = Width::Fixed(n);
            }
        }
        if number.is_none() || spec.position.is_some() {
            while let Some(after) = rest.strip_prefix('-') {
                *rest = after;
                spec.left = true;
            }
            if let Some(after) = rest.strip_prefix('*') {
                *rest = after;
                spec.width = Width::Argument(match digits(rest)? {
                    None => None,
                    Some(n) => {
                        *rest = rest.strip_prefix('$').ok_or_else(|| {
                            sql_error!(
                                INVALID_PARAMETER_VALUE,
                                "width argument position must be ended by \"$\""
                            )
                        })?;
                        Some(position(n)?)
                    }
                });
            } else if let Some(n) = digits(rest)? {
                spec.width = Width::Fixed(n);
            }
        }
        let Some(conversion) = rest.chars().next() else {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "unterminated format() type specifier"
            )
            .with_hint("For a single \"%\" use \"%%\"."));
        };
        if !matches!(conversion, 's' | 'I' | 'L') {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "unrecognized format() type specifier \"{conversion}\""
            )
            .with_hint("For a single \"%\" use \"%%\"."));
        }
        *rest = &rest[conversion.len_utf8()..];
        spec.conversion = conversion;
        Ok(spec)
    }
}

/// Leading digits as a number.
fn digits(rest: &mut &str) -> Result<Option<i64>> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    if len == 0 {
        return Ok(None);
    }
    let value = rest[..len]
        .parse::<i32>()
        .map_err(|_| sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"))?;
    *rest = &rest[len..];
    Ok(Some(i64::from(value)))
}

/// An argument's number to its index.
fn position(n: i64) -> Result<usize> {
    if n == 0 {
        bail!(
            INVALID_PARAMETER_VALUE,
            "format specifies argument 0, but arguments are numbered from 1"
        );
    }
    Ok(n as usize - 1)
}
