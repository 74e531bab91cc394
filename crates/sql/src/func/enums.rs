//! Enums: order, ends and ranges.

use super::Context;
use super::bodies::{Bodies, comparisons, scalars};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Array, Datum, TypeId, type_info};

pub(super) const ROOMS: &[Bodies] = &[COMPARE, LABELS];

// A value's bits are in the order of its type.
const COMPARE: Bodies = comparisons!(OID, "enum_eq" "enum_ne" "enum_lt" "enum_le" "enum_gt" "enum_ge"
    "enum_cmp" "enum_larger" "enum_smaller");

const LABELS: Bodies = scalars! {
    "enum_first" => |cx, _| {
        let (id, values) = values(cx)?;
        values.first().cloned().ok_or_else(|| without_values(id))
    };
    "enum_last" => |cx, _| {
        let (id, values) = values(cx)?;
        values.last().cloned().ok_or_else(|| without_values(id))
    };
    "enum_range_all" => |cx, _| range(cx, &Datum::Null, &Datum::Null);
    "enum_range_bounds" => |cx, a| range(cx, &a[0], &a[1]);
};

/// The enum that the call is about, and its values.
fn values(cx: &Context<'_>) -> Result<(TypeId, Vec<Datum>)> {
    let Some(id) = cx.arg_types.first().copied().filter(|id| id.is_enum()) else {
        bail!(DATATYPE_MISMATCH, "could not determine actual enum type");
    };
    Ok((id, cx.session.names().enum_labels(id)?.values().collect()))
}

fn without_values(id: TypeId) -> SqlError {
    let name = crate::types::type_name(id);
    sql_error!(OBJECT_NOT_IN_PREREQUISITE_STATE, "enum {name} contains no values")
}

/// The values from one to another, as an array; null is no bound.
fn range(cx: &Context<'_>, low: &Datum, high: &Datum) -> Result<Datum> {
    let (id, mut values) = values(cx)?;
    values.retain(|value| {
        let value = value.as_oid();
        (low.is_null() || low.as_oid() <= value) && (high.is_null() || value <= high.as_oid())
    });
    debug_assert_eq!(type_info(id).map(|info| info.array), Some(cx.result_type));
    Ok(Array::from_elements(id, values).into())
}
