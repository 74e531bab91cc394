//! `json_agg` and `json_object_agg`: texts that grow with each row.

use super::Aggregates;
use crate::error::{Result, sql_error};
use crate::func::json::{write_name, write_value};
use crate::func::text::check_length;
use crate::func::{Accumulator, Context};
use crate::types::{Datum, TypeId};

pub(super) const AGGREGATES: Aggregates = &[
    ("json_agg(anyelement)", |types| {
        Box::new(List { type_id: types[0], of_rows: false, out: Vec::new() })
    }),
    ("json_object_agg(any,any)", |types| {
        Box::new(Object { types: [types[0], types[1]], out: Vec::new() })
    }),
];

/// An array of rows.
pub(in crate::func) fn rows(_: &[TypeId]) -> Box<dyn Accumulator> {
    Box::new(List { type_id: TypeId::JSON, of_rows: true, out: Vec::new() })
}

/// An array of all values, nulls included.
struct List {
    type_id: TypeId,
    /// The values are rows that have become JSON before.
    of_rows: bool,
    out: Vec<u8>,
}

impl Accumulator for List {
    fn add(&mut self, cx: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let is_first = self.out.is_empty();
        self.out.extend_from_slice(if is_first { b"[" } else { b", " });
        // What has parts begins a line.
        let has_parts = match args[0] {
            Datum::Null => false,
            Datum::Array(_) | Datum::Record(_) => true,
            _ => self.of_rows,
        };
        if !is_first && has_parts {
            self.out.extend_from_slice(b"\n ");
        }
        write_value(self.type_id, &args[0], &cx.io(), &mut self.out)?;
        check_length(self.out.len())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        finished(&self.out, "]")
    }

    fn memory(&self) -> usize {
        self.out.capacity()
    }
}

/// An object of names and values; a name may come again.
struct Object {
    types: [TypeId; 2],
    out: Vec<u8>,
}

impl Accumulator for Object {
    fn add(&mut self, cx: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let [name, value] = args else { unreachable!("a name and a value") };
        if name.is_null() {
            return Err(sql_error!(INVALID_PARAMETER_VALUE, "field name must not be null"));
        }
        self.out.extend_from_slice(if self.out.is_empty() { b"{ " } else { b", " });
        write_name(self.types[0], name, &cx.io(), &mut self.out)?;
        self.out.extend_from_slice(b" : ");
        write_value(self.types[1], value, &cx.io(), &mut self.out)?;
        check_length(self.out.len())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        finished(&self.out, " }")
    }

    fn memory(&self) -> usize {
        self.out.capacity()
    }
}

fn finished(out: &[u8], end: &str) -> Result<Datum> {
    if out.is_empty() {
        return Ok(Datum::Null);
    }
    let text = std::str::from_utf8(out).expect("output functions write UTF-8");
    Ok(format!("{text}{end}").into())
}
