//! What text input and output depend on besides the value: settings, the clock, names.

use std::sync::Arc;

use super::datetime::{Civil, TimeZone, TimestampTz};
use super::encoding::Encoding;
use super::enums::Labels;
use super::oid::{Oid, TypeId};
use super::typmod::TypeMod;
use crate::error::Result;

/// The session's settings that decide how values look.
#[derive(Clone, Debug)]
pub struct FormatContext {
    /// `DateStyle`, first half.
    pub date_style: DateStyle,
    /// `DateStyle`, second half.
    pub date_order: DateOrder,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// `TimeZone`.
    pub time_zone: TimeZone,
    /// `extra_float_digits`, -15 to 3; above zero means the shortest exact form.
    pub extra_float_digits: i32,
    /// `bytea_output`.
    pub bytea_output: ByteaOutput,
    /// `client_encoding`: how texts travel.
    pub client_encoding: Encoding,
}

impl FormatContext {
    /// PostgreSQL's built-in defaults, with UTC.
    pub fn new() -> FormatContext {
        FormatContext {
            date_style: DateStyle::Iso,
            date_order: DateOrder::Mdy,
            interval_style: IntervalStyle::Postgres,
            time_zone: TimeZone::utc(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::Hex,
            client_encoding: Encoding::utf8(),
        }
    }

    /// The session's wall clock at an instant, and its displacement east in seconds.
    pub fn local(&self, instant: TimestampTz) -> (Civil, i32) {
        self.time_zone.civil(instant)
    }
}

impl Default for FormatContext {
    fn default() -> FormatContext {
        FormatContext::new()
    }
}

/// How dates and timestamps are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateStyle {
    Iso,
    Sql,
    Postgres,
    German,
}

/// Which part an ambiguous date begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    Ymd,
    Dmy,
    Mdy,
}

/// How intervals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalStyle {
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

/// How `bytea` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteaOutput {
    Hex,
    Escape,
}

/// Everything that conversions between text and values may look at.
#[derive(Clone, Copy)]
pub struct IoContext<'a> {
    pub format: &'a FormatContext,
    /// The start of the transaction, for `now`, `today` and the like.
    pub now: TimestampTz,
    pub names: &'a dyn Names,
}

/// The catalog as far as conversions need it: names of objects, and types that users made.
pub trait Names {
    /// The object that a text names, for an `oid` alias type such as `regclass`. Texts that are
    /// a number or `-` do not come here.
    fn object_by_name(&self, alias: TypeId, text: &str) -> Result<Oid>;

    /// The name of an object as the alias type prints it; `None` when there is no such object.
    fn object_name(&self, alias: TypeId, oid: Oid) -> Result<Option<String>>;

    /// A value of a type that is not built in, from text.
    fn input_user_type(&self, type_id: TypeId, text: &str, typmod: TypeMod)
    -> Result<super::Datum>;

    /// How an enum is named where it is used; `None` where names are not known.
    fn enum_name(&self, _type_id: TypeId) -> Result<Option<String>> {
        Ok(None)
    }

    /// The label of an enum's value; `None` where labels are not known, or not wanted.
    fn enum_label(&self, _type_id: TypeId, _value: Oid) -> Result<Option<Arc<str>>> {
        Ok(None)
    }

    /// All labels of an enum.
    fn enum_labels(&self, _type_id: TypeId) -> Result<Arc<Labels>> {
        Ok(Arc::default())
    }
}
