//! Rows of a value's entries.

use super::{as_text, stored, tree};
use crate::error::{Result, bail};
use crate::func::bodies::Bodies;
use crate::func::{Body, Rows};
use crate::types::jsonb::Json;
use crate::types::{Datum, Record, TypeId};

pub(super) const BODIES: Bodies = &[
    ("jsonb_array_elements", Body::Set(|_, a| elements(&a[0], stored))),
    ("jsonb_array_elements_text", Body::Set(|_, a| elements(&a[0], as_text))),
    ("jsonb_each", Body::Set(|_, a| pairs(&a[0], "jsonb_each", TypeId::JSONB, stored))),
    ("jsonb_each_text", Body::Set(|_, a| pairs(&a[0], "jsonb_each_text", TypeId::TEXT, as_text))),
    ("jsonb_object_keys", Body::Set(|_, a| keys(&a[0]))),
];

/// What becomes of an entry's value.
type Shape = fn(&Json) -> Result<Datum>;

fn elements(value: &Datum, shape: Shape) -> Result<Rows> {
    match tree(value)? {
        Json::Array(elements) => Ok(Box::new(elements.into_iter().map(move |e| shape(&e)))),
        Json::Object(_) => bail!(INVALID_PARAMETER_VALUE, "cannot extract elements from an object"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot extract elements from a scalar"),
    }
}

fn pairs(value: &Datum, function: &str, value_type: TypeId, shape: Shape) -> Result<Rows> {
    let Json::Object(pairs) = tree(value)? else {
        bail!(INVALID_PARAMETER_VALUE, "cannot call {function} on a non-object");
    };
    Ok(Box::new(pairs.into_iter().map(move |(key, value)| {
        let fields = vec![(TypeId::TEXT, Datum::text(&*key)), (value_type, shape(&value)?)];
        Ok(Datum::Record(Record::new(TypeId::RECORD, fields).into()))
    })))
}

fn keys(value: &Datum) -> Result<Rows> {
    match tree(value)? {
        Json::Object(pairs) => {
            Ok(Box::new(pairs.into_iter().map(|(key, _)| Ok(Datum::text(&*key)))))
        }
        Json::Array(_) => {
            bail!(INVALID_PARAMETER_VALUE, "cannot call jsonb_object_keys on an array")
        }
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call jsonb_object_keys on a scalar"),
    }
}
