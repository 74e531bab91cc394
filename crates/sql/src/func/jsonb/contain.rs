//! `@>`, `<@`, `?`, `?|`, `?&`.

use super::{texts, tree};
use crate::error::Result;
use crate::func::bodies::{Bodies, scalars};
use crate::func::checkpoint;
use crate::types::Datum;
use crate::types::jsonb::Json;

pub(super) const BODIES: Bodies = scalars! {
    "jsonb_contains" => |_, a| contains_whole(&tree(&a[0])?, &tree(&a[1])?).map(Datum::Bool);
    "jsonb_contained" => |_, a| contains_whole(&tree(&a[1])?, &tree(&a[0])?).map(Datum::Bool);
    "jsonb_exists" => |_, a| Ok(Datum::Bool(has_key(&tree(&a[0])?, a[1].as_text())));
    "jsonb_exists_any" => |_, a| {
        let value = tree(&a[0])?;
        let keys = texts(a[1].as_array())?;
        Ok(Datum::Bool(keys.into_iter().flatten().any(|key| has_key(&value, key))))
    };
    "jsonb_exists_all" => |_, a| {
        let value = tree(&a[0])?;
        let keys = texts(a[1].as_array())?;
        Ok(Datum::Bool(keys.into_iter().flatten().all(|key| has_key(&value, key))))
    };
};

/// A key of an object, or a string of an array; one that stands alone counts as an array of itself.
fn has_key(value: &Json, key: &str) -> bool {
    let is_key = |value: &Json| matches!(value, Json::String(text) if **text == *key);
    match value {
        Json::Object(_) => value.field(key).is_some(),
        Json::Array(elements) => elements.iter().any(is_key),
        scalar => is_key(scalar),
    }
}

/// Whether all of `part` is in `value`. An array contains a scalar that stands alone, too, but none the other way round.
fn contains_whole(value: &Json, part: &Json) -> Result<bool> {
    match (value, part) {
        (Json::Array(elements), part) if part.is_scalar() => Ok(elements.contains(part)),
        _ => contains(value, part),
    }
}

fn contains(value: &Json, part: &Json) -> Result<bool> {
    match (value, part) {
        (Json::Object(own), Json::Object(pairs)) => {
            if own.len() < pairs.len() {
                return Ok(false);
            }
            for (key, wanted) in pairs {
                match value.field(key) {
                    Some(found) if contains(found, wanted)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Json::Array(own), Json::Array(elements)) => {
            for wanted in elements {
                checkpoint()?;
                let mut found = false;
                for candidate in own {
                    if contains(candidate, wanted)? {
                        found = true;
                        break;
                    }
                }
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (value, part) => Ok(part.is_scalar() && value == part),
    }
}
