//! `@>`, `<@`, `?`, `?|`, `?&`.

use super::tree;
use crate::error::Result;
use crate::func::bodies::{Bodies, scalars};
use crate::func::checkpoint;
use crate::types::jsonb::Json;
use crate::types::{Array, Datum};

pub(super) const BODIES: Bodies = scalars! {
    "jsonb_contains" => |_, a| contains_whole(&tree(&a[0])?, &tree(&a[1])?).map(Datum::Bool);
    "jsonb_contained" => |_, a| contains_whole(&tree(&a[1])?, &tree(&a[0])?).map(Datum::Bool);
    "jsonb_exists" => |_, a| Ok(Datum::Bool(has_key(&tree(&a[0])?, a[1].as_text())));
    "jsonb_exists_any" => |_, a| {
        has_keys(&tree(&a[0])?, a[1].as_array(), true).map(Datum::Bool)
    };
    "jsonb_exists_all" => |_, a| {
        Ok(Datum::Bool(!has_keys(&tree(&a[0])?, a[1].as_array(), false)?))
    };
};

/// Whether a key, of an array of any shape, that is no null is there (`wanted`), or one is not.
fn has_keys(value: &Json, keys: &Array, wanted: bool) -> Result<bool> {
    for key in keys.elements.iter().filter(|key| !key.is_null()) {
        checkpoint()?;
        if has_key(value, key.as_text()) == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

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
                let mut found = false;
                for candidate in own {
                    checkpoint()?;
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
