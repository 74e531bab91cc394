//! Parts of a value: `->`, `->>`, `#>`, `#>>`, and what it is.
//!
//! These are looked for in the text: what is asked for is most often a little of it.

use super::{kind_name, path_index, tree};
use crate::error::{Result, bail};
use crate::func::bodies::{Bodies, scalars};
use crate::func::{check_length, checkpoint, json};
use crate::steps::Steps;
use crate::types::Datum;
use crate::types::jsonb::{Json, position};

pub(super) const BODIES: Bodies = scalars! {
    "jsonb_object_field" => |_, a| Ok(part(json::field(a[0].as_jsonb(), a[1].as_text())?));
    "jsonb_object_field_text" => |_, a| {
        json::text(json::field(a[0].as_jsonb(), a[1].as_text())?)
    };
    "jsonb_array_element" => |_, a| Ok(part(element(a[0].as_jsonb(), a[1].as_int4())?));
    "jsonb_array_element_text" => |_, a| json::text(element(a[0].as_jsonb(), a[1].as_int4())?);
    "jsonb_extract_path" => |_, a| Ok(part(at_path(&a[0], &a[1])?));
    "jsonb_extract_path_text" => |_, a| json::text(at_path(&a[0], &a[1])?);
    "jsonb_typeof" => |_, a| Ok(kind_name(&tree(&a[0])?).into());
    "jsonb_array_length" => |_, a| match tree(&a[0])? {
        Json::Array(elements) => Ok(Datum::Int4(elements.len() as i32)),
        Json::Object(_) => {
            bail!(INVALID_PARAMETER_VALUE, "cannot get array length of a non-array")
        }
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot get array length of a scalar"),
    };
    "jsonb_pretty" => |_, a| {
        let mut out = String::new();
        write_indented(&tree(&a[0])?, 0, &mut out)?;
        Ok(out.into())
    };
};

/// A part of a canonical text is one.
pub(super) fn part(found: Option<&str>) -> Datum {
    found.map_or(Datum::Null, |text| Datum::Jsonb(text.into()))
}

/// A value that is no array but stands alone is the one element of itself.
fn element(value: &str, index: i32) -> Result<Option<&str>> {
    if value.starts_with(['{', '[']) {
        return json::element(value, index);
    }
    Ok(position(1, index.into()).map(|_| value))
}

/// What a path leads to; nothing where one of its elements is null.
fn at_path<'v>(value: &'v Datum, path: &Datum) -> Result<Option<&'v str>> {
    part_at(value.as_jsonb(), texts_of_any_shape(path).into_iter())
}

pub(super) fn part_at<'v, 'p>(
    value: &'v str,
    path: impl Iterator<Item = Option<&'p str>>,
) -> Result<Option<&'v str>> {
    let mut at = value;
    for step in path {
        let Some(step) = step else { return Ok(None) };
        let next = match at.as_bytes()[0] {
            b'{' => json::field(at, step)?,
            b'[' => match path_index(step) {
                Some(index) => json::element(at, index)?,
                None => None,
            },
            _ => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// The elements one after the other, or one null where any is null.
fn texts_of_any_shape(path: &Datum) -> Vec<Option<&str>> {
    let elements = &path.as_array().elements;
    if elements.iter().any(Datum::is_null) {
        return vec![None];
    }
    elements.iter().map(|element| Some(element.as_text().as_str())).collect()
}

/// `jsonb_pretty`: an entry a line, four blanks for each level.
fn write_indented(value: &Json, level: usize, out: &mut String) -> Result<()> {
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("    ", level));
    };
    match value {
        Json::Array(elements) => {
            out.push('[');
            for (i, element) in elements.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(level + 1, out);
                write_indented(element, level + 1, out)?;
            }
            line(level, out);
            out.push(']');
        }
        Json::Object(pairs) => {
            out.push('{');
            for (i, (key, value)) in pairs.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                line(level + 1, out);
                crate::types::jsonb::write_string(key, out);
                out.push_str(": ");
                write_indented(value, level + 1, out)?;
            }
            line(level, out);
            out.push('}');
        }
        scalar => scalar.write(out, &mut Steps::default())?,
    }
    check_length(out.len())?;
    checkpoint()
}
