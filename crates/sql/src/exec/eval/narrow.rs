//! Values as keys of an index of another type.

use crate::bind::tree::NarrowTo;
use crate::exec::Cx;
use crate::func;
use crate::types::datetime::{Date, Timestamp};
use crate::types::{Datum, TypeId};

/// More than what clocks are ever put forward or back by, in microseconds.
const DAY: i64 = 86_400_000_000;

/// See [`NarrowTo`].
pub(super) fn value(value: Datum, ty: TypeId, to: NarrowTo, cx: &Cx<'_>) -> Datum {
    match value {
        Datum::Null => Datum::Null,
        Datum::Int8(value) => number(value, ty, to),
        Datum::Int4(value) => number(value.into(), ty, to),
        value => time(func::compared_as(&value, ty, &cx.host.io().format.time_zone), to),
    }
}

fn time(value: Datum, to: NarrowTo) -> Datum {
    match value {
        Datum::Timestamp(at) if at.is_finite() => Datum::Timestamp(Timestamp(moved(at.0, DAY, to))),
        Datum::Date(at) if at.is_finite() => {
            let day = moved(at.0.into(), 1, to);
            Datum::Date(Date(day.clamp(i32::MIN.into(), i32::MAX.into()) as i32))
        }
        other => other,
    }
}

fn number(value: i64, ty: TypeId, to: NarrowTo) -> Datum {
    let (least, most) = match ty {
        TypeId::INT2 => (i16::MIN.into(), i16::MAX.into()),
        _ => (i32::MIN.into(), i32::MAX.into()),
    };
    let held = value.clamp(least, most);
    match (ty, to) {
        (_, NarrowTo::Equal) if held != value => Datum::Null,
        (TypeId::INT2, _) => Datum::Int2(held as i16),
        _ => Datum::Int4(held as i32),
    }
}

fn moved(at: i64, by: i64, to: NarrowTo) -> i64 {
    match to {
        NarrowTo::Equal => at,
        NarrowTo::Lower => at.saturating_sub(by),
        NarrowTo::Upper => at.saturating_add(by),
    }
}
