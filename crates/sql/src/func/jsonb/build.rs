//! Values of SQL to `jsonb`: `to_jsonb`, `jsonb_build_object`, `jsonb_agg` and their kin. They become `json` first
//! ([`crate::func::json`]).

use std::sync::Arc;

use super::stored;
use crate::error::{Result, bail};
use crate::func::aggregate::Aggregates;
use crate::func::bodies::{Bodies, scalars};
use crate::func::json::{object_of_pairs, object_of_texts, odd_arguments, write_name, write_value};
use crate::func::quote::variadic_arguments;
use crate::func::{Accumulator, Context, check_length};
use crate::steps::Steps;
use crate::types::jsonb::{self, Json};
use crate::types::{Datum, IoContext, TypeId};

pub(super) const BODIES: Bodies = scalars! {
    "to_jsonb" => |cx, a| stored(&to_json(cx.arg_types[0], &a[0], &cx.io())?);
    "jsonb_build_array" => |cx, a| {
        if cx.variadic && a[0].is_null() {
            return Ok(Datum::Null);
        }
        let io = cx.io();
        let values = variadic_arguments(cx, a, 0);
        let elements = values.iter().map(|(type_id, value)| to_json(*type_id, value, &io));
        stored(&Json::Array(elements.collect::<Result<_>>()?))
    };
    "jsonb_build_array_noargs" => |_, _| stored(&Json::Array(Vec::new()));
    "jsonb_build_object" => |cx, a| {
        if cx.variadic && a[0].is_null() {
            return Ok(Datum::Null);
        }
        build_object(cx, &variadic_arguments(cx, a, 0))
    };
    "jsonb_object" => |_, a| from_json(&object_of_texts(a[0].as_array())?);
    "jsonb_object_two_arg" => |_, a| {
        from_json(&object_of_pairs(a[0].as_array(), a[1].as_array())?)
    };
    "jsonb_build_object_noargs" => |_, _| stored(&Json::Object(Vec::new()));
};

fn build_object(cx: &Context<'_>, arguments: &[(TypeId, Datum)]) -> Result<Datum> {
    if !arguments.len().is_multiple_of(2) {
        return Err(odd_arguments("jsonb_build_object"));
    }
    let io = cx.io();
    let pairs = arguments.chunks_exact(2).enumerate().map(|(i, pair)| {
        let (key_type, key) = &pair[0];
        if key.is_null() {
            bail!(INVALID_PARAMETER_VALUE, "argument {}: key must not be null", 2 * i + 1);
        }
        Ok((to_key(*key_type, key, &io)?, to_json(pair[1].0, &pair[1].1, &io)?))
    });
    stored(&Json::object(pairs.collect::<Result<_>>()?))
}

/// A value as an object's key.
fn to_key(type_id: TypeId, value: &Datum, io: &IoContext<'_>) -> Result<Arc<str>> {
    let mut text = Vec::new();
    write_name(type_id, value, io, &mut text)?;
    match reread(&text)? {
        Json::String(key) => Ok(key),
        other => unreachable!("names are written as strings, not {other:?}"),
    }
}

fn to_json(type_id: TypeId, value: &Datum, io: &IoContext<'_>) -> Result<Json> {
    if let Datum::Jsonb(text) = value {
        return jsonb::take_apart(text);
    }
    let mut text = Vec::new();
    write_value(type_id, value, io, &mut text)?;
    reread(&text)
}

fn from_json(value: &Datum) -> Result<Datum> {
    stored(&jsonb::parse(value.as_text())?)
}

fn reread(text: &[u8]) -> Result<Json> {
    jsonb::parse(std::str::from_utf8(text).expect("output functions write UTF-8"))
}

pub(in crate::func) const AGGREGATES: Aggregates = &[
    ("jsonb_agg(anyelement)", |types| {
        Box::new(Elements { type_id: types[0], count: 0, out: String::new() })
    }),
    ("jsonb_object_agg(any,any)", |types| {
        Box::new(Pairs { types: [types[0], types[1]], pairs: Vec::new(), bytes: 0 })
    }),
];

/// Appends the canonical text of what is going to be part of an array or an object.
fn write_part(value: &Json, out: &mut String) -> Result<()> {
    value.check_shape(1)?;
    value.write(out, &mut Steps::default())?;
    check_length(out.len())
}

/// All values as one array: the text so far.
struct Elements {
    type_id: TypeId,
    count: usize,
    out: String,
}

impl Accumulator for Elements {
    fn add(&mut self, cx: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        let value = to_json(self.type_id, &args[0], &cx.io())?;
        if self.count == jsonb::MAX_ELEMENTS {
            return Err(jsonb::too_many_elements());
        }
        self.count += 1;
        self.out.push_str(if self.out.is_empty() { "[" } else { ", " });
        write_part(&value, &mut self.out)
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        if self.out.is_empty() {
            return Ok(Datum::Null);
        }
        check_length(self.out.len() + 1)?;
        Ok(Datum::Jsonb(format!("{}]", self.out).into()))
    }

    fn memory(&self) -> usize {
        self.out.capacity()
    }
}

/// All pairs as one object: keys with the texts of their values.
struct Pairs {
    types: [TypeId; 2],
    pairs: Vec<(Arc<str>, Box<str>)>,
    /// Of keys and texts.
    bytes: usize,
}

impl Accumulator for Pairs {
    fn add(&mut self, cx: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            bail!(INVALID_PARAMETER_VALUE, "field name must not be null");
        }
        let io = cx.io();
        let key = to_key(self.types[0], &args[0], &io)?;
        let mut text = String::new();
        write_part(&to_json(self.types[1], &args[1], &io)?, &mut text)?;
        self.bytes += key.len() + text.len();
        check_length(self.bytes)?;
        self.pairs.push((key, text.into()));
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        if self.pairs.is_empty() {
            return Ok(Datum::Null);
        }
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        let key = |at: usize| &*self.pairs[at].0;
        order.sort_by(|a, b| jsonb::key_order(key(*a), key(*b)));
        // Of one key the last stays.
        let stays = |i: &usize| order.get(i + 1).is_none_or(|next| key(*next) != key(order[*i]));
        let kept: Vec<usize> = (0..order.len()).filter(stays).map(|i| order[i]).collect();
        if kept.len() > jsonb::MAX_PAIRS {
            return Err(jsonb::too_many_pairs());
        }
        let mut out = String::from("{");
        for (i, at) in kept.into_iter().enumerate() {
            let (key, text) = &self.pairs[at];
            out.push_str(if i > 0 { ", " } else { "" });
            jsonb::write_string(key, &mut out);
            out.push_str(": ");
            out.push_str(text);
            check_length(out.len())?;
        }
        out.push('}');
        Ok(Datum::Jsonb(out.into()))
    }

    fn memory(&self) -> usize {
        self.bytes + self.pairs.capacity() * size_of::<(Arc<str>, Box<str>)>()
    }
}
