//! SQL values: their types, text and binary forms, order, keys and rows.
//!
//! The README beside this file says which bytes they become.

pub mod acl;
pub mod array;
mod binary;
mod builtin;
pub mod chars;
pub mod collation;
mod compare;
pub mod context;
pub mod datetime;
mod datum;
pub mod encoding;
pub mod enums;
pub(crate) mod float;
mod format_type;
mod inet;
mod io;
pub(crate) mod json;
pub mod jsonb;
pub mod keycode;
pub mod numeric;
mod oid;
mod record;
pub mod row;
pub(crate) mod scalar;
mod snapshot;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod typmod;

pub use array::Array;
pub use binary::{receive, send};
pub use builtin::{BUILTIN_TYPES, TypeInfo, array_of, type_by_name, type_info};
pub use collation::{Collation, Rules};
pub use compare::{
    ValueOrder, compare, compare_alike, compare_f64, compare_under, equals, hash_datum, is_equal,
    is_equal_as,
};
pub use context::{FormatContext, IoContext, Names};
pub use datetime::{Date, Interval, Time, TimeTz, TimeZone, Timestamp, TimestampTz};
pub use datum::{Datum, Record, Tid};
pub use encoding::Encoding;
pub use format_type::{fill_in, format_type, type_name};
pub use inet::Inet;
pub use io::{input, is_oid_alias, output, output_string};
pub use numeric::Numeric;
pub use oid::{Oid, TypeId};
pub use snapshot::parse_snapshot;
pub use text::Text;
pub use typmod::{IntervalFields, MAX_SECOND_PRECISION, TypeMod, typmod_in, typmod_out};
