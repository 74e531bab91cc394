//! `j['a'][0]`, read and assigned to.

use std::sync::Arc;

use super::access::{part, part_at};
use super::change::{Change, apply};
use super::{stored, tree};
use crate::error::{Result, too_deep};
use crate::types::Datum;
use crate::types::jsonb::{self, Json};

/// What keys and places lead to, each a text or an integer.
pub(crate) fn json_part(value: &Datum, path: &[Datum]) -> Result<Datum> {
    let path: Vec<Arc<str>> = path.iter().map(step).collect();
    let steps = path.iter().map(|step| Some(&**step));
    Ok(part(part_at(value.as_jsonb(), steps)?))
}

/// The value once this is there: what leads to it is made where it is missing, nulls fill the places before it.
pub(crate) fn json_with_part(before: &Datum, path: &[Datum], value: &Datum) -> Result<Datum> {
    if path.len() > jsonb::DEPTH_MAX {
        return Err(too_deep());
    }
    let mut whole = match before {
        Datum::Jsonb(text) => jsonb::take_apart(text)?,
        _ if matches!(path.first(), Some(Datum::Int4(_))) => Json::Array(Vec::new()),
        _ => Json::Object(Vec::new()),
    };
    let value = match value {
        Datum::Null => Json::Null,
        value => tree(value)?,
    };
    let path: Vec<Arc<str>> = path.iter().map(step).collect();
    let steps: Vec<Option<&str>> = path.iter().map(|step| Some(&**step)).collect();
    apply(&mut whole, &steps, 0, &Change::Assign { value })?;
    stored(&whole)
}

fn step(step: &Datum) -> Arc<str> {
    match step {
        Datum::Int4(index) => index.to_string().into(),
        key => key.as_text().as_str().into(),
    }
}
