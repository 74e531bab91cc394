//! SQL values: their types, text and binary forms, order, keys and rows.
//!
//! The README beside this file says which bytes they become.

pub mod array;
mod builtin;
pub mod datetime;
mod datum;
pub mod numeric;
mod oid;
pub mod row;
mod text;
mod typmod;

pub use array::Array;
pub use builtin::{BUILTIN_TYPES, TypeInfo, type_by_name, type_info};
pub use datetime::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
pub use datum::{Datum, Record, Tid};
pub use numeric::Numeric;
pub use oid::{Oid, TypeId};
pub use text::Text;
pub use typmod::{IntervalFields, MAX_SECOND_PRECISION, TypeMod, typmod_in, typmod_out};
