//! Objects as rows whose columns a FROM clause lists: `json_to_record` and its kin.
//!
//! The binder puts the columns behind the argument: their names, types and modifiers, an array each (`bind/json.rs`).

use super::parts::{Reader, unescaped};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::bodies::Bodies;
use crate::func::{Body, Context, Rows};
use crate::types::array::{Dimension, MAX_DIMENSIONS, too_many_dimensions};
use crate::types::jsonb::{self, Json};
use crate::types::{Array, Datum, IoContext, Record, TypeId, TypeInfo, TypeMod, input, type_info};

pub(super) const RECORDS: Bodies = &[
    ("json_to_record", Body::Scalar(|cx, a| one(cx, a, "json_to_record"))),
    ("jsonb_to_record", Body::Scalar(|cx, a| one(cx, a, "jsonb_to_record"))),
    ("json_to_recordset", Body::Set(|cx, a| set(cx, a, "json_to_recordset"))),
    ("jsonb_to_recordset", Body::Set(|cx, a| set(cx, a, "jsonb_to_recordset"))),
];

/// A value, or a part of one, in either type's form.
enum Part {
    /// As it was written.
    Text(Box<str>),
    Tree(Json),
}

impl Part {
    fn of(value: &Datum) -> Result<Part> {
        Ok(match value {
            Datum::Jsonb(text) => Part::Tree(jsonb::take_apart(text)?),
            json => Part::Text(json.as_text().trim_matches([' ', '\t', '\n', '\r']).into()),
        })
    }

    /// What its text begins with.
    fn kind(&self) -> u8 {
        match self {
            Part::Text(text) => text.as_bytes()[0],
            Part::Tree(Json::Array(_)) => b'[',
            Part::Tree(Json::Object(_)) => b'{',
            Part::Tree(Json::Null) => b'n',
            Part::Tree(_) => b'0',
        }
    }

    fn is_string(&self) -> bool {
        matches!(self, Part::Tree(Json::String(_))) || self.kind() == b'"'
    }

    /// As `->>` gives it.
    fn text(&self) -> Result<String> {
        match self {
            Part::Text(text) if text.starts_with('"') => unescaped(text),
            Part::Text(text) => Ok(text.to_string()),
            Part::Tree(Json::String(text)) => Ok(text.to_string()),
            Part::Tree(tree) => tree.to_text(),
        }
    }

    fn elements(self) -> Result<Vec<Part>> {
        match self {
            Part::Tree(Json::Array(elements)) => Ok(elements.into_iter().map(Part::Tree).collect()),
            Part::Tree(_) => Ok(Vec::new()),
            Part::Text(text) => {
                let mut reader = Reader::new(&text);
                let mut all = Vec::new();
                while let Some(element) = reader.element()? {
                    all.push(Part::Text(element.into()));
                }
                Ok(all)
            }
        }
    }

    /// The value of an object's key, the last one where it is there twice.
    fn field(&self, key: &str) -> Result<Option<Part>> {
        match self {
            Part::Tree(tree) => Ok(tree.field(key).cloned().map(Part::Tree)),
            Part::Text(text) => {
                let mut reader = Reader::new(text);
                let mut found = None;
                while let Some((name, value)) = reader.member()? {
                    if unescaped(name)? == key {
                        found = Some(Part::Text(value.into()));
                    }
                }
                Ok(found)
            }
        }
    }
}

/// One column of the rows.
struct Column {
    name: Box<str>,
    type_id: TypeId,
    modifier: TypeMod,
}

/// What the binder put behind the argument.
fn columns(args: &[Datum], function: &str) -> Result<Vec<Column>> {
    let [_, Datum::Array(names), Datum::Array(types), Datum::Array(modifiers)] = args else {
        return Err(sql_error!(
            FEATURE_NOT_SUPPORTED,
            "could not determine row type for result of {function}"
        )
        .with_hint(
            "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.",
        ));
    };
    let facts = types.elements.iter().zip(&modifiers.elements);
    let columns = names.elements.iter().zip(facts).map(|(name, (type_id, modifier))| Column {
        name: name.as_text().as_str().into(),
        type_id: TypeId(type_id.as_oid().0),
        modifier: TypeMod(modifier.as_int4()),
    });
    Ok(columns.collect())
}

fn one(cx: &mut Context<'_>, args: &[Datum], function: &str) -> Result<Datum> {
    let columns = columns(args, function)?;
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let part = Part::of(&args[0])?;
    match part.kind() {
        b'{' => row(&part, &columns, &cx.io()),
        b'[' => bail!(INVALID_PARAMETER_VALUE, "cannot call populate_composite on an array"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call populate_composite on a scalar"),
    }
}

fn set(cx: &mut Context<'_>, args: &[Datum], function: &str) -> Result<Rows> {
    let columns = columns(args, function)?;
    if args[0].is_null() {
        return Ok(Box::new(std::iter::empty()));
    }
    let part = Part::of(&args[0])?;
    match (part.kind(), &part) {
        (b'[', _) => {}
        (_, Part::Tree(_)) => {
            bail!(INVALID_PARAMETER_VALUE, "cannot call {function} on a non-array")
        }
        (b'{', _) => bail!(INVALID_PARAMETER_VALUE, "cannot call {function} on an object"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call {function} on a scalar"),
    }
    let io = cx.io();
    let mut rows = Vec::new();
    for element in part.elements()? {
        if element.kind() != b'{' {
            bail!(INVALID_PARAMETER_VALUE, "argument of {function} must be an array of objects");
        }
        rows.push(row(&element, &columns, &io)?);
    }
    Ok(Box::new(rows.into_iter().map(Ok)))
}

fn row(object: &Part, columns: &[Column], io: &IoContext<'_>) -> Result<Datum> {
    let fields = columns.iter().map(|column| {
        let value = match object.field(&column.name)? {
            None => Datum::Null,
            Some(part) => value(part, column.type_id, column.modifier, &column.name, io)?,
        };
        Ok((column.type_id, value))
    });
    let fields = fields.collect::<Result<_>>()?;
    Ok(Datum::Record(Record::new(TypeId::RECORD, fields).into()))
}

/// A part as a value of a type.
fn value(
    part: Part,
    type_id: TypeId,
    modifier: TypeMod,
    key: &str,
    io: &IoContext<'_>,
) -> Result<Datum> {
    if part.kind() == b'n' {
        return Ok(Datum::Null);
    }
    match (type_id, part) {
        (TypeId::JSON, Part::Text(text)) => Ok(Datum::text(&*text)),
        (TypeId::JSON, Part::Tree(tree)) => tree.to_text().map(Datum::from),
        (TypeId::JSONB, Part::Text(text)) => Ok(Datum::Jsonb(jsonb::parse(&text)?.to_stored()?)),
        (TypeId::JSONB, Part::Tree(tree)) => Ok(Datum::Jsonb(tree.to_stored()?)),
        (_, part) => match type_info(type_id) {
            // A string is an array as `input` reads it.
            Some(info) if info.is_array() && !part.is_string() => {
                array(part, &info, modifier, key, io)
            }
            _ => input(type_id, modifier, &part.text()?, io),
        },
    }
}

fn array(
    part: Part,
    info: &TypeInfo,
    modifier: TypeMod,
    key: &str,
    io: &IoContext<'_>,
) -> Result<Datum> {
    if part.kind() != b'[' {
        return Err(sql_error!(INVALID_TEXT_REPRESENTATION, "expected JSON array")
            .with_hint(format!("See the value of key \"{key}\".")));
    }
    let mut shape = Shape { lens: Vec::new(), is_known: false, elements: Vec::new() };
    shape.gather(part, 0, &mut |part| value(part, info.element, modifier, key, io))?;
    if shape.elements.is_empty() {
        return Ok(Array::empty(info.element).into());
    }
    let dims = shape.lens.iter().map(|len| Dimension { len: *len as i32, lower: 1 }).collect();
    let array = Array { element_type: info.element, dims, elements: shape.elements };
    array.checked().map(Datum::from)
}

/// Arrays within arrays on their way to one array.
struct Shape {
    lens: Vec<usize>,
    /// An element that is no array has told how many dimensions there are.
    is_known: bool,
    elements: Vec<Datum>,
}

impl Shape {
    fn gather(
        &mut self,
        part: Part,
        depth: usize,
        value: &mut dyn FnMut(Part) -> Result<Datum>,
    ) -> Result<()> {
        if depth == MAX_DIMENSIONS {
            return Err(too_many_dimensions(depth + 1));
        }
        let parts = part.elements()?;
        match self.lens.get(depth) {
            None => self.lens.push(parts.len()),
            Some(len) if *len == parts.len() => {}
            Some(_) => return Err(malformed()),
        }
        for part in parts {
            crate::func::checkpoint()?;
            let is_last = self.is_known && depth + 1 == self.lens.len();
            match part.kind() {
                b'[' if !is_last => self.gather(part, depth + 1, value)?,
                _ if depth + 1 < self.lens.len() => return Err(malformed()),
                _ => {
                    self.is_known = true;
                    self.elements.push(value(part)?);
                }
            }
        }
        Ok(())
    }
}

#[cold]
fn malformed() -> SqlError {
    sql_error!(INVALID_TEXT_REPRESENTATION, "malformed JSON array")
        .with_detail("Multidimensional arrays must have sub-arrays with matching dimensions.")
}
