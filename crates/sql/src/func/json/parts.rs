//! Parts of a `json` value, each the text that it has there.

use std::sync::Arc;

use crate::error::{Result, SqlError, check_stack, sql_error};
use crate::func::bodies::{Bodies, scalars};
use crate::func::{Body, Rows};
use crate::steps::Steps;
use crate::types::jsonb::write_string;
use crate::types::{Datum, Record, TypeId};

pub(super) const PARTS: Bodies = scalars! {
    "json_object_field" => |_, a| Ok(json(field(a[0].as_text(), a[1].as_text())?));
    "json_object_field_text" => |_, a| text(field(a[0].as_text(), a[1].as_text())?);
    "json_array_element" => |_, a| Ok(json(element(a[0].as_text(), a[1].as_int4())?));
    "json_array_element_text" => |_, a| text(element(a[0].as_text(), a[1].as_int4())?);
    "json_extract_path" => |_, a| Ok(json(at_path(a)?));
    "json_extract_path_text" => |_, a| text(at_path(a)?);
    "json_array_length" => |_, a| {
        let what = "cannot get array length of a";
        let elements = elements(a[0].as_text(), &format!("{what} scalar"), &format!("{what} non-array"))?;
        Ok(Datum::Int4(elements.len() as i32))
    };
    "json_strip_nulls" => |_, a| {
        let mut out = String::new();
        strip(a[0].as_text(), &mut out)?;
        Ok(out.into())
    };
    "json_typeof" => |_, a| Ok(Datum::text(match Reader::new(a[0].as_text()).first() {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "boolean",
        b'n' => "null",
        _ => "number",
    }));
};

pub(super) const ROWS: Bodies = &[
    (
        "json_array_elements",
        Body::Set(|_, a| {
            let found = elements_of(a, "json_array_elements")?;
            Ok(rows(found.into_iter().map(|value| Ok(Datum::text(value)))))
        }),
    ),
    (
        "json_array_elements_text",
        Body::Set(|_, a| {
            let found = elements_of(a, "json_array_elements_text")?;
            Ok(rows(found.into_iter().map(|value| text(Some(value)))))
        }),
    ),
    (
        "json_object_keys",
        Body::Set(|_, a| {
            let what = "cannot call json_object_keys on";
            let found =
                members(a[0].as_text(), &format!("{what} a scalar"), &format!("{what} an array"))?;
            Ok(rows(found.into_iter().map(|(name, _)| unescaped(name).map(Datum::from))))
        }),
    ),
    ("json_each", Body::Set(|_, a| each(a, TypeId::JSON))),
    ("json_each_text", Body::Set(|_, a| each(a, TypeId::TEXT))),
];

/// All rows at once: they are parts of a value that is in memory.
fn rows(values: impl Iterator<Item = Result<Datum>>) -> Rows {
    Box::new(values.collect::<Vec<_>>().into_iter())
}

fn elements_of<'a>(args: &'a [Datum], name: &str) -> Result<Vec<&'a str>> {
    let what = format!("cannot call {name} on a");
    elements(args[0].as_text(), &format!("{what} scalar"), &format!("{what} non-array"))
}

fn each(args: &[Datum], type_id: TypeId) -> Result<Rows> {
    let (scalar, array) =
        ("cannot deconstruct a scalar", "cannot deconstruct an array as an object");
    let found = members(args[0].as_text(), scalar, array)?;
    Ok(rows(found.into_iter().map(|(name, value)| {
        let name = unescaped(name)?.into();
        let value = if type_id == TypeId::JSON { json(Some(value)) } else { text(Some(value))? };
        let fields = vec![(TypeId::TEXT, name), (type_id, value)];
        Ok(Datum::Record(Arc::new(Record::new(TypeId::RECORD, fields))))
    })))
}

fn json(part: Option<&str>) -> Datum {
    part.map_or(Datum::Null, Datum::text)
}

/// Writes a value anew, without blanks and without members that are null.
fn strip(value: &str, out: &mut String) -> Result<()> {
    check_stack()?;
    let mut reader = Reader::new(value);
    match reader.first() {
        b'{' => {
            out.push('{');
            while let Some((name, value)) = reader.member()? {
                if value == "null" {
                    continue;
                }
                out.push_str(if out.ends_with('{') { "" } else { "," });
                write_string(&unescaped(name)?, out);
                out.push(':');
                strip(value, out)?;
            }
            out.push('}');
        }
        b'[' => {
            out.push('[');
            while let Some(element) = reader.element()? {
                out.push_str(if out.ends_with('[') { "" } else { "," });
                strip(element, out)?;
            }
            out.push(']');
        }
        b'"' => write_string(&unescaped(reader.value()?)?, out),
        _ => out.push_str(reader.value()?),
    }
    Ok(())
}

/// A part as text: a string without its quotes, and null is SQL's.
pub(in crate::func) fn text(part: Option<&str>) -> Result<Datum> {
    let Some(part) = part else { return Ok(Datum::Null) };
    match part.trim_start() {
        "null" => Ok(Datum::Null),
        string if string.starts_with('"') => unescaped(string).map(Datum::from),
        _ => Ok(Datum::text(part)),
    }
}

/// The value of the last member of that name; none of what is no object.
pub(in crate::func) fn field<'a>(value: &'a str, name: &str) -> Result<Option<&'a str>> {
    let mut reader = Reader::new(value);
    if reader.first() != b'{' {
        return Ok(None);
    }
    let mut found = None;
    while let Some((own, value)) = reader.member()? {
        if unescaped(own)? == name {
            found = Some(value);
        }
    }
    Ok(found)
}

/// The element of that number, from the end where it is negative; none of what is no array.
pub(in crate::func) fn element(value: &str, index: i32) -> Result<Option<&str>> {
    let mut reader = Reader::new(value);
    if reader.first() != b'[' {
        return Ok(None);
    }
    let Ok(mut left) = usize::try_from(index) else {
        let mut all = Vec::new();
        while let Some(element) = reader.element()? {
            all.push(element);
        }
        let back = index.unsigned_abs() as usize;
        return Ok(all.len().checked_sub(back).map(|at| all[at]));
    };
    while let Some(element) = reader.element()? {
        if left == 0 {
            return Ok(Some(element));
        }
        left -= 1;
    }
    Ok(None)
}

fn at_path(args: &[Datum]) -> Result<Option<&str>> {
    let whole = args[0].as_text();
    let mut reader = Reader::new(whole);
    let begins = reader.first();
    let mut value = reader.value()?;
    // What has no parts keeps the blanks before it.
    if args[1].as_array().elements.is_empty() && !matches!(begins, b'{' | b'[') {
        value = &whole[..reader.at];
    }
    for step in &args[1].as_array().elements {
        if step.is_null() {
            return Ok(None);
        }
        let step = step.as_text();
        let part = match Reader::new(value).first() {
            b'[' => match step.trim_start().parse() {
                Ok(index) => element(value, index)?,
                Err(_) => None,
            },
            _ => field(value, step)?,
        };
        let Some(part) = part else { return Ok(None) };
        value = part;
    }
    Ok(Some(value))
}

fn elements<'a>(value: &'a str, scalar: &str, object: &str) -> Result<Vec<&'a str>> {
    let mut reader = Reader::new(value);
    match reader.first() {
        b'[' => {}
        b'{' => return Err(sql_error!(INVALID_PARAMETER_VALUE, "{object}")),
        _ => return Err(sql_error!(INVALID_PARAMETER_VALUE, "{scalar}")),
    }
    let mut all = Vec::new();
    while let Some(element) = reader.element()? {
        all.push(element);
    }
    Ok(all)
}

/// Names, in their quotes, and values.
fn members<'a>(value: &'a str, scalar: &str, array: &str) -> Result<Vec<(&'a str, &'a str)>> {
    let mut reader = Reader::new(value);
    match reader.first() {
        b'{' => {}
        b'[' => return Err(sql_error!(INVALID_PARAMETER_VALUE, "{array}")),
        _ => return Err(sql_error!(INVALID_PARAMETER_VALUE, "{scalar}")),
    }
    let mut all = Vec::new();
    while let Some(member) = reader.member()? {
        all.push(member);
    }
    Ok(all)
}

/// Goes through the parts of a value that is known to be well formed.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The opening brace of the value whose parts are asked for lies behind.
    inside: bool,
    steps: Steps,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        let mut reader = Reader { text, at: 0, inside: false, steps: Steps::default() };
        reader.skip_blanks();
        reader
    }

    /// The byte that comes, which tells what kind of value it begins; 0 at the end.
    fn first(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.first(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Goes over the opening brace, at the beginning, or a comma; false at the closing brace.
    fn goes_on(&mut self) -> bool {
        self.skip_blanks();
        if !self.inside || self.first() == b',' {
            self.inside = true;
            self.at += 1;
            self.skip_blanks();
        }
        !matches!(self.first(), b'}' | b']' | 0)
    }

    /// The array's next element.
    pub(super) fn element(&mut self) -> Result<Option<&'a str>> {
        if self.goes_on() { self.value().map(Some) } else { Ok(None) }
    }

    /// The object's next member: its name, in its quotes, and its value.
    pub(super) fn member(&mut self) -> Result<Option<(&'a str, &'a str)>> {
        if !self.goes_on() {
            return Ok(None);
        }
        let name = self.value()?;
        self.skip_blanks();
        self.at += 1;
        self.skip_blanks();
        Ok(Some((name, self.value()?)))
    }

    /// The value that begins here, without what is around it.
    fn value(&mut self) -> Result<&'a str> {
        let start = self.at;
        let mut depth = 0;
        loop {
            self.steps.next()?;
            match self.first() {
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b'"' => self.skip_string(),
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                0 => break,
                _ => self.skip_word(),
            }
            if depth == 0 {
                break;
            }
        }
        Ok(&self.text[start..self.at])
    }

    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return,
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }

    fn skip_word(&mut self) {
        let ends = |byte: &u8| b",:]}\" \t\n\r".contains(byte);
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
    }
}

/// A string without its quotes and escapes.
pub(super) fn unescaped(string: &str) -> Result<String> {
    let mut rest = &string[1..string.len() - 1];
    let mut out = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes()[at + 1];
        rest = &rest[at + 2..];
        match escape {
            b'b' => out.push('\x08'),
            b'f' => out.push('\x0c'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => out.push(unicode(&mut rest)?),
            other => out.push(char::from(other)),
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The character of `uXXXX`, or of two of them that are surrogates.
fn unicode(rest: &mut &str) -> Result<char> {
    let mut unit = || {
        let (digits, after) = rest.split_at(4);
        *rest = after;
        u32::from_str_radix(digits, 16).expect("four digits")
    };
    let first = unit();
    if first == 0 {
        return Err(sql_error!(UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence")
            .with_detail("\\u0000 cannot be converted to text."));
    }
    if let Some(character) = char::from_u32(first) {
        return Ok(character);
    }
    if first >= 0xdc00 {
        return Err(lone_surrogate());
    }
    let Some(after) = rest.strip_prefix("\\u") else { return Err(lone_surrogate()) };
    let (digits, after) = after.split_at(4);
    let second = u32::from_str_radix(digits, 16).expect("four digits");
    match second {
        0xd800..0xdc00 => {
            Err(sql_error!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
                .with_detail("Unicode high surrogate must not follow a high surrogate."))
        }
        0xdc00..0xe000 => {
            *rest = after;
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            Ok(char::from_u32(code).expect("two surrogates are a character"))
        }
        _ => Err(lone_surrogate()),
    }
}

fn lone_surrogate() -> SqlError {
    sql_error!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
        .with_detail("Unicode low surrogate must follow a high surrogate.")
}
