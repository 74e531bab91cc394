//! Functions about types and values, random numbers, identifiers, and the input and output
//! functions of all types.

use std::cell::Cell;

use super::bodies::{Bodies, scalars};
use super::{Body, Context};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::row::{MAX_ROW_BYTES, RowDesc, ValueKind};
use crate::types::{Datum, Numeric, TypeId, TypeMod, input, output_string, typmod_in, typmod_out};

pub(super) const ROOMS: &[Bodies] = &[TYPES, RANDOM, SETTINGS, INPUT, OUTPUT, PROTOCOL, TYPMODS];

const TYPES: Bodies = scalars! {
    "pg_typeof" => |cx, _| {
        Ok(Datum::Oid(cx.arg_types.first().map_or(TypeId::UNKNOWN, |id| *id).oid()))
    };
    "pg_column_size" => |_, a| column_size(&a[0]);
    "pg_num_nulls" => |cx, a| nulls(cx, a, true);
    "pg_num_nonnulls" => |cx, a| nulls(cx, a, false);
    "pg_size_bytes" => |_, a| parse_size(a[0].as_text());
    "oidvectortypes" => |_, a| Ok(vector_types(&a[0]));
    "pg_encoding_max_length_sql" => |_, a| Ok(match a[0].as_int4() {
        0 | 8 => Datum::Int4(1),
        6 => Datum::Int4(4),
        _ => Datum::Null,
    });
    "pg_size_pretty" => |_, a| Ok(pretty_size(a[0].as_int8()).into());
    "pg_size_pretty_numeric" => |_, a| Ok(pretty_numeric(a[0].as_numeric())?.into());
};

/// `8 kB` to bytes.
fn parse_size(text: &str) -> Result<Datum> {
    let trimmed = crate::types::scalar::trim_spaces(text);
    let invalid = || sql_error!(INVALID_PARAMETER_VALUE, "invalid size: \"{text}\"");
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
    let mut end = trimmed.find(|c| !is_number(c)).unwrap_or(trimmed.len());
    // An exponent belongs to the number only with digits behind it.
    if let Some(exponent) = trimmed[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let digits = exponent[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            end += 1 + sign + digits;
        }
    }
    let (number, unit) = trimmed.split_at(end);
    if !number.bytes().any(|b| b.is_ascii_digit()) {
        return Err(invalid());
    }
    let number = crate::types::Numeric::parse(number).map_err(|_| invalid())?;
    let unit = crate::types::scalar::trim_spaces(unit);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "bytes" | "b" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        "pb" => 50,
        _ => {
            return Err(invalid()
                .with_detail(format!("Invalid size unit: \"{unit}\"."))
                .with_hint(
                    "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".",
                ));
        }
    };
    let bytes = number.mul(&crate::types::Numeric::from(1i64 << shift))?;
    bytes.to_int("bigint", i64::MIN, i64::MAX).map(Datum::Int8)
}

/// The types of a vector, as `\df` lists arguments.
fn vector_types(value: &Datum) -> Datum {
    let names: Vec<String> = value
        .as_array()
        .elements
        .iter()
        .map(|oid| crate::types::format_type(oid.as_oid().into(), TypeMod::NONE))
        .collect();
    names.join(", ").into()
}

/// Bytes that a value takes in a row.
fn column_size(value: &Datum) -> Result<Datum> {
    let Some(kind) = ValueKind::of_datum(value) else { return Ok(Datum::Null) };
    let mut row = Vec::new();
    let header = 2;
    match RowDesc::new([kind]).encode(std::slice::from_ref(value), &mut row) {
        Ok(()) => Ok(Datum::Int4((row.len() - header) as i32)),
        Err(_) => Ok(Datum::Int4(MAX_ROW_BYTES as i32)),
    }
}

/// How many arguments are null, or are not; or elements of the array that stands for them.
fn nulls(cx: &Context<'_>, args: &[Datum], wanted: bool) -> Result<Datum> {
    let count = |values: &[Datum]| {
        Datum::Int4(values.iter().filter(|value| value.is_null() == wanted).count() as i32)
    };
    match args {
        [Datum::Null] if cx.variadic => Ok(Datum::Null),
        [Datum::Array(array)] if cx.variadic => Ok(count(&array.elements)),
        values => Ok(count(values)),
    }
}

/// Bytes with the unit that keeps the number below 10240, halves rounded away from zero.
fn pretty_size(bytes: i64) -> String {
    const LIMIT: u64 = 10 * 1024;
    if bytes.unsigned_abs() < LIMIT {
        return format!("{bytes} bytes");
    }
    // From here on the number has one more binary digit, which rounds in the end.
    let half = |value: i64| (value + value.signum()) / 2;
    let mut size = bytes / (1 << 9);
    for unit in ["kB", "MB", "GB", "TB"] {
        if size.unsigned_abs() < LIMIT * 2 - 1 {
            return format!("{} {unit}", half(size));
        }
        size /= 1 << 10;
    }
    format!("{} PB", half(size))
}

/// As [`pretty_size`], of any size; bytes keep their fraction.
fn pretty_numeric(bytes: &Numeric) -> Result<String> {
    let number = |n: i64| Numeric::from(n);
    if bytes.abs() < number(10 * 1024) {
        return Ok(format!("{bytes} bytes"));
    }
    let mut size = bytes.div_trunc(&number(1 << 9))?;
    for unit in ["kB", "MB", "GB", "TB", "PB"] {
        if unit == "PB" || size.abs() < number(20 * 1024 - 1) {
            let one = number(if size < Numeric::ZERO { -1 } else { 1 });
            let half = size.add(&one)?.div_trunc(&number(2))?;
            return Ok(format!("{half} {unit}"));
        }
        size = size.div_trunc(&number(1 << 10))?;
    }
    unreachable!("the last unit takes what is left")
}

thread_local! {
    /// State of this thread's generator when the session brings none of its own.
    static UNSEEDED: Cell<u64> = const { Cell::new(0) };
}

/// The state of `random()`: SplitMix64 (Steele, Lea and Flood, 2014).
///
/// A session that called `setseed` has one of its own; until then numbers come from a state that
/// the clock and the address space have stirred.
#[derive(Clone, Debug, Default)]
pub struct RandomSequence(Option<u64>);

impl RandomSequence {
    /// Starts the sequence that belongs to a seed between -1 and 1.
    pub fn seed(&mut self, seed: f64) {
        self.0 = Some(seed.to_bits());
    }

    /// The next 64 bits.
    pub fn next_bits(&mut self) -> u64 {
        match &mut self.0 {
            Some(state) => split_mix(state),
            None => UNSEEDED.with(|cell| {
                let mut state = cell.get();
                if state == 0 {
                    let here = &raw const *cell as u64;
                    state = here ^ (base::clock::wall_micros() as u64).rotate_left(32);
                }
                let bits = split_mix(&mut state);
                cell.set(state);
                bits
            }),
        }
    }

    /// A double in [0, 1).
    pub fn next_double(&mut self) -> f64 {
        (self.next_bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const RANDOM: Bodies = scalars! {
    "drandom" => |cx, _| Ok(Datum::Float8(cx.session.random().next_double()));
    "setseed" => |cx, a| {
        let seed = a[0].as_float8();
        if !(-1.0..=1.0).contains(&seed) {
            let shown = crate::types::float::shown(seed);
            bail!(
                INVALID_PARAMETER_VALUE,
                "setseed parameter {shown} is out of allowed range [-1,1]"
            );
        }
        cx.session.random().seed(seed);
        Ok(Datum::VOID)
    };
};

const SETTINGS: Bodies = scalars! {
    "show_config_by_name" => |cx, a| setting(cx, a[0].as_text(), false);
    "show_config_by_name_missing_ok" => |cx, a| {
        setting(cx, a[0].as_text(), a[1].as_bool())
    };
};

fn setting(cx: &Context<'_>, name: &str, missing_ok: bool) -> Result<Datum> {
    match cx.session.setting(name) {
        Some(value) => Ok(value.into()),
        None if missing_ok => Ok(Datum::Null),
        None => {
            Err(sql_error!(UNDEFINED_OBJECT, "unrecognized configuration parameter \"{name}\""))
        }
    }
}

/// An input function: the text, and for some types the element type and the modifier.
fn read(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let typmod = args.get(2).map_or(TypeMod::NONE, |typmod| TypeMod(typmod.as_int4()));
    // Those of types that have no values are asked for a null, too, and refuse it.
    let text = if args[0].is_null() { "" } else { args[0].as_text() };
    input(cx.result_type, typmod, text, &cx.io())
}

fn write(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let type_id = cx.arg_types.first().copied().unwrap_or(TypeId::UNKNOWN);
    output_string(type_id, &args[0], &cx.io()).map(Datum::from)
}

macro_rules! inputs {
    ($($name:literal)*) => {
        &[$(($name, Body::Scalar(|cx, a| read(cx, a))),)*]
    };
}

macro_rules! outputs {
    ($($name:literal)*) => {
        &[$(($name, Body::Scalar(|cx, a| write(cx, a))),)*]
    };
}

const INPUT: Bodies = inputs!(
    "boolin" "byteain" "charin" "namein" "int8in" "int2in" "int2vectorin" "int4in" "regprocin"
    "textin" "oidin" "tidin" "xidin" "cidin" "oidvectorin" "json_in" "pg_node_tree_in" "float4in"
    "float8in" "unknownin" "bpcharin" "varcharin" "date_in" "time_in" "timestamp_in"
    "timestamptz_in" "timetz_in" "interval_in" "numeric_in" "regprocedurein" "regoperin"
    "regoperatorin" "regclassin" "regtypein" "record_in" "cstring_in" "any_in" "anyarray_in"
    "void_in" "trigger_in" "internal_in" "anyelement_in" "anynonarray_in" "uuid_in" "pg_lsn_in"
    "anyenum_in" "event_trigger_in" "regnamespacein" "regrolein" "regcollationin"
    "pg_snapshot_in" "xid8in" "anycompatible_in" "anycompatiblearray_in"
    "anycompatiblenonarray_in" "array_in" "enum_in" "aclitemin" "language_handler_in"
    "index_am_handler_in" "table_am_handler_in" "inet_in" "cidr_in" "jsonb_in"
);

const OUTPUT: Bodies = outputs!(
    "boolout" "byteaout" "charout" "nameout" "int8out" "int2out" "int2vectorout" "int4out"
    "regprocout" "textout" "oidout" "tidout" "xidout" "cidout" "oidvectorout" "json_out"
    "pg_node_tree_out" "float4out" "float8out" "unknownout" "bpcharout" "varcharout" "date_out"
    "time_out" "timestamp_out" "timestamptz_out" "timetz_out" "interval_out" "numeric_out"
    "regprocedureout" "regoperout" "regoperatorout" "regclassout" "regtypeout" "record_out"
    "cstring_out" "any_out" "anyarray_out" "void_out" "trigger_out" "internal_out"
    "anyelement_out" "anynonarray_out" "uuid_out" "pg_lsn_out" "anyenum_out" "event_trigger_out"
    "regnamespaceout" "regroleout" "regcollationout" "pg_snapshot_out" "xid8out"
    "anycompatible_out" "anycompatiblearray_out" "anycompatiblenonarray_out" "array_out"
    "enum_out" "aclitemout" "language_handler_out" "index_am_handler_out" "table_am_handler_out"
    "inet_out" "cidr_out" "jsonb_out"
);

/// Receive functions take a message, which SQL has no way to write.
fn no_message(_: &mut Context<'_>, _: &[Datum]) -> Result<Datum> {
    Err(SqlError::unsupported("receive functions cannot be called from SQL"))
}

fn send(cx: &mut Context<'_>, args: &[Datum]) -> Result<Datum> {
    let type_id = cx.arg_types.first().copied().unwrap_or(TypeId::UNKNOWN);
    let mut out = Vec::new();
    crate::types::send(type_id, &args[0], cx.io().names, &mut out)?;
    Ok(Datum::bytea(&out))
}

macro_rules! protocol {
    ($($receive:literal $send:literal)*) => {
        &[$(($receive, Body::Scalar(no_message)), ($send, Body::Scalar(send)),)*]
    };
}

const PROTOCOL: Bodies = protocol!(
    "boolrecv" "boolsend" "bytearecv" "byteasend" "charrecv" "charsend" "namerecv" "namesend"
    "int8recv" "int8send" "int2recv" "int2send" "int2vectorrecv" "int2vectorsend" "int4recv"
    "int4send" "regprocrecv" "regprocsend" "textrecv" "textsend" "oidrecv" "oidsend" "tidrecv"
    "tidsend" "xidrecv" "xidsend" "cidrecv" "cidsend" "oidvectorrecv" "oidvectorsend" "json_recv"
    "json_send" "pg_node_tree_recv" "pg_node_tree_send" "float4recv" "float4send" "float8recv"
    "float8send" "unknownrecv" "unknownsend" "bpcharrecv" "bpcharsend" "varcharrecv"
    "varcharsend" "date_recv" "date_send" "time_recv" "time_send" "timestamp_recv"
    "timestamp_send" "timestamptz_recv" "timestamptz_send" "timetz_recv" "timetz_send"
    "interval_recv" "interval_send" "numeric_recv" "numeric_send" "regprocedurerecv"
    "regproceduresend" "regoperrecv" "regopersend" "regoperatorrecv" "regoperatorsend"
    "regclassrecv" "regclasssend" "regtyperecv" "regtypesend" "record_recv" "record_send"
    "cstring_recv" "cstring_send" "anyarray_recv" "anyarray_send" "void_recv" "void_send"
    "uuid_recv" "uuid_send" "pg_lsn_recv" "pg_lsn_send" "regnamespacerecv" "regnamespacesend"
    "regrolerecv" "regrolesend" "regcollationrecv" "regcollationsend" "pg_snapshot_recv"
    "pg_snapshot_send" "xid8recv" "xid8send" "anycompatiblearray_recv" "anycompatiblearray_send"
    "array_recv" "array_send" "inet_recv" "inet_send" "cidr_recv" "cidr_send"
    "jsonb_recv" "jsonb_send" "enum_recv" "enum_send"
);

/// The numbers in a type's parentheses, from an array of their texts.
fn modifier(type_id: TypeId, args: &[Datum]) -> Result<Datum> {
    let array = args[0].as_array();
    if array.dims.len() > 1 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "typmod array must be one-dimensional");
    }
    if array.elements.iter().any(Datum::is_null) {
        bail!(NULL_VALUE_NOT_ALLOWED, "typmod array must not contain nulls");
    }
    let numbers = array
        .elements
        .iter()
        .map(|text| {
            let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
            crate::types::scalar::parse_int(text.as_text(), "integer", min, max).map(|n| n as i32)
        })
        .collect::<Result<Vec<_>>>()?;
    typmod_in(type_id, &numbers).map(|typmod| Datum::Int4(typmod.0))
}

macro_rules! typmods {
    ($($type:ident $read:literal $write:literal)*) => {
        &[
            $(
                ($read, Body::Scalar(|_, a| modifier(TypeId::$type, a))),
                ($write, Body::Scalar(|_, a| {
                    Ok(typmod_out(TypeId::$type, TypeMod(a[0].as_int4())).into())
                })),
            )*
        ]
    };
}

const TYPMODS: Bodies = typmods!(
    BPCHAR "bpchartypmodin" "bpchartypmodout"
    VARCHAR "varchartypmodin" "varchartypmodout"
    TIME "timetypmodin" "timetypmodout"
    TIMETZ "timetztypmodin" "timetztypmodout"
    TIMESTAMP "timestamptypmodin" "timestamptypmodout"
    TIMESTAMPTZ "timestamptztypmodin" "timestamptztypmodout"
    INTERVAL "intervaltypmodin" "intervaltypmodout"
    NUMERIC "numerictypmodin" "numerictypmodout"
);
