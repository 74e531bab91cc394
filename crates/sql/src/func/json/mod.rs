//! `json`: values made from others, and parts of values.
//!
//! A `json` value is its text, which was checked when it came in ([`crate::types`]): what reads one here may rely on
//! that it is well formed.
//!
//! Records do not know what their fields are called. Where one becomes JSON, the binder puts [`NAMED`] around it, with
//! the names as the second argument (`bind/json.rs`).

mod build;
mod parts;
mod record;

use std::sync::Arc;

use super::bodies::Bodies;
use super::{Aggregate, Body, Facts, Function, Volatility};
use crate::types::{Datum, Oid, TypeId};

pub(super) use build::{object_of_pairs, object_of_texts, odd_arguments, write_name, write_value};
pub(super) use parts::{element, field, text};

pub(super) const ROOMS: &[Bodies] = &[build::BUILDING, parts::PARTS, parts::ROWS, record::RECORDS];

const FACTS: Facts = Facts {
    kind: b'f',
    leakproof: false,
    parallel: b's',
    cost: 1.0,
    rows: 0.0,
    variadic_type: TypeId::INVALID,
};

/// A record with names for its fields. It has no name in SQL.
pub(crate) static NAMED: Function = Function {
    oid: Oid::INVALID,
    name: "row",
    args: &[TypeId::RECORD, TypeId::TEXT_ARRAY],
    result: TypeId::RECORD,
    source: "",
    defaults: &[],
    variadic: false,
    strict: true,
    returns_set: false,
    volatility: Volatility::Immutable,
    columns: &[],
    value_name: None,
    arg_names: &[],
    facts: FACTS,
    body: Body::Scalar(|_, args| {
        let [Datum::Record(record), Datum::Array(names)] = args else { return Ok(Datum::Null) };
        Ok(Datum::Record(Arc::new(record.named(names))))
    }),
};

/// `json_agg` of records: its rows come as JSON, since a record that waits to be sorted loses its names.
pub(crate) static ROWS_AGG: Aggregate = Aggregate {
    oid: Oid(3175),
    name: "json_agg",
    args: &[TypeId::JSON],
    result: TypeId::JSON,
    variadic: false,
    strict: false,
    facts: Facts { kind: b'a', ..FACTS },
    start: super::aggregate::json_rows,
    rules: None,
};
