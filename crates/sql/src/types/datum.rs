//! One SQL value.

use std::borrow::Cow;
use std::sync::Arc;

use super::Inet;
use super::array::Array;
use super::datetime::{Date, Interval, Time, TimeTz, Timestamp, TimestampTz};
use super::numeric::Numeric;
use super::oid::{Oid, TypeId};
use super::text::Text;

/// A value of any type, without its type: 24 bytes, never a deep copy on clone.
///
/// Several types share a variant where their values are the same kind of thing; the type that an
/// expression or column has decides how a value is written out and compared:
///
/// | variant | types |
/// |---|---|
/// | `Text` | text, varchar, bpchar, name, json, unknown, cstring, refcursor, pg_node_tree, pg_snapshot, txid_snapshot, aclitem, void (empty) |
/// | `Oid` | oid, the `reg*` types, xid, cid; enums (the label's place, [`super::enums`]) |
/// | `Inet` | inet, cidr |
/// | `Int8` | int8, xid8 and pg_lsn (their unsigned values in two's complement) |
/// | `Array` | every array type, int2vector, oidvector |
///
/// `bpchar` keeps its trailing blanks; comparison and `keycode` ignore them.
#[derive(Clone, Debug, Default)]
pub enum Datum {
    #[default]
    Null,
    Bool(bool),
    /// The one-byte type `"char"`.
    Char(u8),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    Oid(Oid),
    Tid(Tid),
    Date(Date),
    Time(Time),
    TimeTz(TimeTz),
    Timestamp(Timestamp),
    TimestampTz(TimestampTz),
    Interval(Interval),
    Uuid([u8; 16]),
    /// `inet` and `cidr`.
    Inet(Inet),
    Numeric(Numeric),
    Text(Text),
    Bytea(Arc<[u8]>),
    /// A `jsonb` value in its canonical text ([`super::jsonb`]).
    Jsonb(Arc<str>),
    Array(Arc<Array>),
    Record(Arc<Record>),
}

const _: () = assert!(size_of::<Datum>() == 24);
const _: () = assert!(size_of::<crate::error::Result<Datum>>() == 24);

/// A row's address: block and slot from 1, PostgreSQL's `tid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid {
    pub block: u32,
    pub slot: u16,
}

/// A composite value: each field with its type.
#[derive(Clone, Debug)]
pub struct Record {
    /// The row type, or `RECORD` for an anonymous one.
    pub type_id: TypeId,
    pub fields: Vec<(TypeId, Datum)>,
    /// The fields' names, in an array of texts, where something asked for them; they are not stored.
    names: Option<Arc<Array>>,
    /// How many records lie in each other here; 1 for one without others.
    depth: u16,
}

/// Records may lie in each other this deep: whatever looks into them does so level by level.
pub const RECORD_DEPTH_MAX: u16 = 500;

impl Record {
    pub fn new(type_id: TypeId, fields: Vec<(TypeId, Datum)>) -> Record {
        let within = fields.iter().map(|(_, field)| record_depth(field)).max().unwrap_or(0);
        Record { type_id, fields, names: None, depth: within.saturating_add(1) }
    }

    /// The same with names for its fields.
    pub fn named(&self, names: &Arc<Array>) -> Record {
        Record { names: Some(Arc::clone(names)), ..self.clone() }
    }

    /// A field's name; without one it is called by its number.
    pub fn field_name(&self, at: usize) -> Cow<'_, str> {
        match self.names.as_ref().and_then(|names| names.elements.get(at)) {
            Some(name) => Cow::Borrowed(name.as_text()),
            None => Cow::Owned(format!("f{}", at + 1)),
        }
    }

    /// Whether it may lie in another one, or be kept.
    pub fn is_too_deep(&self) -> bool {
        self.depth > RECORD_DEPTH_MAX
    }
}

fn record_depth(value: &Datum) -> u16 {
    match value {
        Datum::Record(record) => record.depth,
        Datum::Array(array)
            if matches!(array.elements.first(), Some(Datum::Record(_) | Datum::Null)) =>
        {
            array.elements.iter().map(record_depth).max().unwrap_or(0)
        }
        _ => 0,
    }
}

impl Datum {
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// A text value of any of the types that `Text` stands for.
    pub fn text(text: impl Into<Text>) -> Datum {
        Datum::Text(text.into())
    }

    pub fn bytea(bytes: &[u8]) -> Datum {
        Datum::Bytea(Arc::from(bytes))
    }

    /// What `void` functions return.
    pub const VOID: Datum = Datum::Text(Text::EMPTY);
}

/// Takes the payload of the variant that the binder's typing promises.
///
/// Functions are called with values of the types that the catalog declares for them, and strict
/// ones never with nulls; a mismatch is a broken invariant of the binder, not an error of the
/// user, and panics with the value.
macro_rules! accessors {
    ($($name:ident $variant:ident $type:ty;)*) => {
        impl Datum {
            $(
                #[inline]
                #[track_caller]
                pub fn $name(&self) -> $type {
                    match self {
                        Datum::$variant(value) => *value,
                        other => mismatch(stringify!($variant), other),
                    }
                }
            )*
        }
    };
}

accessors! {
    as_bool Bool bool;
    as_char Char u8;
    as_int2 Int2 i16;
    as_int4 Int4 i32;
    as_int8 Int8 i64;
    as_float4 Float4 f32;
    as_float8 Float8 f64;
    as_oid Oid Oid;
    as_tid Tid Tid;
    as_date Date Date;
    as_time Time Time;
    as_timetz TimeTz TimeTz;
    as_timestamp Timestamp Timestamp;
    as_timestamptz TimestampTz TimestampTz;
    as_interval Interval Interval;
    as_uuid Uuid [u8; 16];
    as_inet Inet Inet;
}

macro_rules! ref_accessors {
    ($($name:ident $variant:ident $type:ty;)*) => {
        impl Datum {
            $(
                #[inline]
                #[track_caller]
                pub fn $name(&self) -> &$type {
                    match self {
                        Datum::$variant(value) => value,
                        other => mismatch(stringify!($variant), other),
                    }
                }
            )*
        }
    };
}

ref_accessors! {
    as_text Text Text;
    as_bytea Bytea [u8];
    as_jsonb Jsonb str;
    as_numeric Numeric Numeric;
    as_array Array Arc<Array>;
    as_record Record Arc<Record>;
}

#[cold]
#[track_caller]
fn mismatch(wanted: &str, found: &Datum) -> ! {
    panic!("typed expression yields {wanted}, but the value is {found:?}")
}

macro_rules! from {
    ($($type:ty => $variant:ident;)*) => {
        $(impl From<$type> for Datum {
            #[inline]
            fn from(value: $type) -> Datum {
                Datum::$variant(value)
            }
        })*
    };
}

from! {
    bool => Bool;
    i16 => Int2;
    i32 => Int4;
    i64 => Int8;
    f32 => Float4;
    f64 => Float8;
    Oid => Oid;
    Tid => Tid;
    Date => Date;
    Time => Time;
    TimeTz => TimeTz;
    Timestamp => Timestamp;
    TimestampTz => TimestampTz;
    Interval => Interval;
    Numeric => Numeric;
    Text => Text;
}

impl From<&str> for Datum {
    fn from(text: &str) -> Datum {
        Datum::text(text)
    }
}

impl From<String> for Datum {
    fn from(text: String) -> Datum {
        Datum::text(text)
    }
}

impl From<Array> for Datum {
    fn from(array: Array) -> Datum {
        Datum::Array(Arc::new(array))
    }
}

impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(value: Option<T>) -> Datum {
        value.map_or(Datum::Null, Into::into)
    }
}
