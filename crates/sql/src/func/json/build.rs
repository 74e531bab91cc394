//! From values of any type to `json`, as PostgreSQL writes it: what a type has no form of its own for is its text.

use crate::error::{Result, SqlError, sql_error};
use crate::func::bodies::{Bodies, scalars};
use crate::func::quote::variadic_arguments;
use crate::func::text::check_length;
use crate::func::{Context, checkpoint};
use crate::types::context::DateStyle;
use crate::types::json::quoted;
use crate::types::{Array, Datum, FormatContext, IoContext, Record, TypeId, output};

pub(super) const BUILDING: Bodies = scalars! {
    "to_json" => |cx, a| value_of(cx, &a[0], false);
    "array_to_json" => |cx, a| value_of(cx, &a[0], false);
    "array_to_json_pretty" => |cx, a| value_of(cx, &a[0], a[1].as_bool());
    "row_to_json" => |cx, a| value_of(cx, &a[0], false);
    "row_to_json_pretty" => |cx, a| value_of(cx, &a[0], a[1].as_bool());
    "json_build_array" => |cx, a| {
        if is_missing(cx, a) { Ok(Datum::Null) } else { array(cx, &variadic_arguments(cx, a, 0)) }
    };
    "json_build_array_noargs" => |cx, _| array(cx, &[]);
    "json_build_object" => |cx, a| {
        if is_missing(cx, a) { Ok(Datum::Null) } else { object(cx, &variadic_arguments(cx, a, 0)) }
    };
    "json_build_object_noargs" => |cx, _| object(cx, &[]);
    "json_object" => |_, a| object_of_texts(a[0].as_array());
    "json_object_two_arg" => |_, a| object_of_pairs(a[0].as_array(), a[1].as_array());
};

const KEYS: &str = "Object keys should be text.";

/// VARIADIC with null for the array.
fn is_missing(cx: &Context<'_>, args: &[Datum]) -> bool {
    cx.variadic && args[0].is_null()
}

fn finished(out: Vec<u8>) -> Result<Datum> {
    check_length(out.len())?;
    Ok(String::from_utf8(out).expect("output functions write UTF-8").into())
}

fn value_of(cx: &Context<'_>, value: &Datum, lines: bool) -> Result<Datum> {
    let mut out = Vec::new();
    let type_id = cx.arg_types[0];
    match value {
        Datum::Array(array) => write_array(array, &cx.io(), &mut out, lines)?,
        Datum::Record(record) => write_record(record, &cx.io(), &mut out, lines)?,
        value => write_value(type_id, value, &cx.io(), &mut out)?,
    }
    finished(out)
}

fn array(cx: &Context<'_>, values: &[(TypeId, Datum)]) -> Result<Datum> {
    let mut out = vec![b'['];
    for (i, (type_id, value)) in values.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        write_value(*type_id, value, &cx.io(), &mut out)?;
        check_length(out.len())?;
    }
    out.push(b']');
    finished(out)
}

fn object(cx: &Context<'_>, values: &[(TypeId, Datum)]) -> Result<Datum> {
    if !values.len().is_multiple_of(2) {
        return Err(odd_arguments("json_build_object"));
    }
    let mut out = vec![b'{'];
    for (i, pair) in values.chunks(2).enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        let [(key_type, key), (type_id, value)] = pair else { unreachable!("an even number") };
        if key.is_null() {
            let number = 2 * i + 1;
            return Err(sql_error!(INVALID_PARAMETER_VALUE, "argument {number} cannot be null")
                .with_hint(KEYS));
        }
        write_name(*key_type, key, &cx.io(), &mut out)?;
        out.extend_from_slice(b" : ");
        write_value(*type_id, value, &cx.io(), &mut out)?;
        check_length(out.len())?;
    }
    out.push(b'}');
    finished(out)
}

fn wrong_dimensions() -> SqlError {
    sql_error!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
}

/// An object of names and texts in turn, or of rows of both.
pub(in crate::func) fn object_of_texts(array: &Array) -> Result<Datum> {
    match array.dims[..] {
        [] => {}
        [dim] if dim.len % 2 == 0 => {}
        [_] => {
            let message = "array must have even number of elements";
            return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "{message}"));
        }
        [_, dim] if dim.len == 2 => {}
        [_, _] => return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "array must have two columns")),
        _ => return Err(wrong_dimensions()),
    }
    let pairs = array.elements.chunks(2).map(|pair| (&pair[0], &pair[1]));
    object_of(pairs)
}

pub(in crate::func) fn object_of_pairs(names: &Array, values: &Array) -> Result<Datum> {
    if names.dims.len() > 1 || names.dims.len() != values.dims.len() {
        return Err(wrong_dimensions());
    }
    if names.elements.len() != values.elements.len() {
        return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "mismatched array dimensions"));
    }
    object_of(names.elements.iter().zip(&values.elements))
}

fn object_of<'v>(pairs: impl Iterator<Item = (&'v Datum, &'v Datum)>) -> Result<Datum> {
    let mut out = vec![b'{'];
    for (i, (name, value)) in pairs.enumerate() {
        if name.is_null() {
            return Err(sql_error!(
                NULL_VALUE_NOT_ALLOWED,
                "null value not allowed for object key"
            ));
        }
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        write_string(name.as_text(), &mut out);
        out.extend_from_slice(b" : ");
        match value {
            Datum::Null => out.extend_from_slice(b"null"),
            value => write_string(value.as_text(), &mut out),
        }
        check_length(out.len())?;
    }
    out.push(b'}');
    finished(out)
}

/// Appends a value.
pub(in crate::func) fn write_value(
    type_id: TypeId,
    value: &Datum,
    cx: &IoContext<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    match value {
        Datum::Null => out.extend_from_slice(b"null"),
        Datum::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Datum::Array(array) => write_array(array, cx, out, false)?,
        Datum::Record(record) => write_record(record, cx, out, false)?,
        Datum::Jsonb(text) => out.extend_from_slice(text.as_bytes()),
        Datum::Text(text) if type_id == TypeId::JSON => out.extend_from_slice(text.as_bytes()),
        value => {
            let text = text_of(type_id, value, cx)?;
            if is_number(type_id) && !text.ends_with(|last: char| last.is_ascii_alphabetic()) {
                out.extend_from_slice(text.as_bytes());
            } else {
                write_string(&text, out);
            }
        }
    }
    Ok(())
}

/// Appends a value that is not null as a name in an object.
pub(in crate::func) fn write_name(
    type_id: TypeId,
    value: &Datum,
    cx: &IoContext<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let has_parts = matches!(value, Datum::Array(_) | Datum::Record(_) | Datum::Jsonb(_));
    if has_parts || type_id == TypeId::JSON {
        return Err(sql_error!(
            INVALID_PARAMETER_VALUE,
            "key value must be scalar, not array, composite, or json"
        ));
    }
    match value {
        Datum::Bool(value) => write_string(if *value { "true" } else { "false" }, out),
        value => write_string(&text_of(type_id, value, cx)?, out),
    }
    Ok(())
}

/// The types whose values are numbers, unless they are not finite.
fn is_number(type_id: TypeId) -> bool {
    matches!(
        type_id,
        TypeId::INT2
            | TypeId::INT4
            | TypeId::INT8
            | TypeId::FLOAT4
            | TypeId::FLOAT8
            | TypeId::NUMERIC
    )
}

/// The value's text; of dates and moments that of ISO 8601, whatever `DateStyle` says.
fn text_of(type_id: TypeId, value: &Datum, cx: &IoContext<'_>) -> Result<String> {
    let mut out = Vec::new();
    if let Datum::Date(_) | Datum::Timestamp(_) | Datum::TimestampTz(_) = value {
        let format = FormatContext { date_style: DateStyle::Iso, ..cx.format.clone() };
        output(type_id, value, &IoContext { format: &format, ..*cx }, &mut out)?;
        if let Some(blank) = out.iter().position(|byte| *byte == b' ')
            && !matches!(value, Datum::Date(_))
        {
            out[blank] = b'T';
        }
        if let Datum::TimestampTz(_) = value {
            complete_zone(&mut out);
        }
    } else {
        output(type_id, value, cx, &mut out)?;
    }
    Ok(String::from_utf8(out).expect("output functions write UTF-8"))
}

/// `+hh` becomes `+hh:00`.
fn complete_zone(text: &mut Vec<u8>) {
    let Some(clock) = text.iter().position(|byte| *byte == b'T') else { return };
    let Some(sign) = text[clock..].iter().position(|byte| matches!(byte, b'+' | b'-')) else {
        return;
    };
    let end = clock + sign + 3;
    if text.get(end) != Some(&b':') {
        text.splice(end..end, *b":00");
    }
}

fn write_array(array: &Array, cx: &IoContext<'_>, out: &mut Vec<u8>, lines: bool) -> Result<()> {
    if array.elements.is_empty() {
        out.extend_from_slice(b"[]");
        return Ok(());
    }
    let lengths: Vec<usize> = array.dims.iter().map(|dim| dim.len as usize).collect();
    for (i, element) in array.elements.iter().enumerate() {
        // As many brackets as dimensions begin here, or end before it.
        let mut size = 1;
        let mut begun = 0;
        for len in lengths.iter().rev() {
            size *= len;
            begun += usize::from(i % size == 0);
        }
        if i > 0 {
            out.extend(std::iter::repeat_n(b']', begun));
            let outermost = begun + 1 == lengths.len();
            out.extend_from_slice(if lines && outermost { b",\n " } else { b"," });
        }
        out.extend(std::iter::repeat_n(b'[', begun));
        write_value(array.element_type, element, cx, out)?;
        check_length(out.len())?;
        checkpoint()?;
    }
    out.extend(std::iter::repeat_n(b']', lengths.len()));
    Ok(())
}

fn write_record(record: &Record, cx: &IoContext<'_>, out: &mut Vec<u8>, lines: bool) -> Result<()> {
    out.push(b'{');
    for (i, (type_id, value)) in record.fields.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(if lines { b",\n " } else { b"," });
        }
        write_string(&record.field_name(i), out);
        out.push(b':');
        write_value(*type_id, value, cx, out)?;
        check_length(out.len())?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends a string in quotes, with what must be escaped in it.
fn write_string(text: &str, out: &mut Vec<u8>) {
    quoted(text, |piece| out.extend_from_slice(piece.as_bytes()));
}

/// `22023` of a list of keys and values that do not pair.
#[cold]
pub(in crate::func) fn odd_arguments(function: &str) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "argument list must have even number of elements")
        .with_hint(format!(
            "The arguments of {function}() must consist of alternating keys and values."
        ))
}
