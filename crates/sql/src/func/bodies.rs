//! How rooms register bodies, and the shapes that many bodies share.

use super::Body;

/// Bodies of one room, each under its `prosrc`.
pub(super) type Bodies = &'static [(&'static str, Body)];

/// `"prosrc" => |cx, a| …;` per line: bodies that take datums and yield one.
macro_rules! scalars {
    ($($name:literal => $body:expr;)*) => {
        &[$(($name, $crate::func::Body::Scalar($body)),)*]
    };
}

/// The six comparisons and the three-way comparison of one type, by its default order, and
/// larger and smaller where there are such functions.
macro_rules! comparisons {
    ($type:ident, $eq:literal $ne:literal $lt:literal $le:literal $gt:literal $ge:literal
        $cmp:literal $($larger:literal $smaller:literal)?) => {
        &[
            ($eq, $crate::func::Body::Scalar(|_, a| {
                Ok(Datum::Bool($crate::types::equals(TypeId::$type, &a[0], &a[1])))
            })),
            ($ne, $crate::func::Body::Scalar(|_, a| {
                Ok(Datum::Bool(!$crate::types::equals(TypeId::$type, &a[0], &a[1])))
            })),
            ($lt, $crate::func::Body::Scalar(|_, a| {
                Ok(Datum::Bool($crate::types::compare(TypeId::$type, &a[0], &a[1]).is_lt()))
            })),
            ($le, $crate::func::Body::Scalar(|_, a| {
                Ok(Datum::Bool($crate::types::compare(TypeId::$type, &a[0], &a[1]).is_le()))
            })),
            ($gt, $crate::func::Body::Scalar(|_, a| {
                Ok(Datum::Bool($crate::types::compare(TypeId::$type, &a[0], &a[1]).is_gt()))
            })),
            ($ge, $crate::func::Body::Scalar(|_, a| {
                Ok(Datum::Bool($crate::types::compare(TypeId::$type, &a[0], &a[1]).is_ge()))
            })),
            ($cmp, $crate::func::Body::Scalar(|_, a| {
                let order = $crate::types::compare(TypeId::$type, &a[0], &a[1]);
                Ok(Datum::Int4(order as i32))
            })),
            $(
                ($larger, $crate::func::Body::Scalar(|_, a| {
                    let larger = $crate::types::compare(TypeId::$type, &a[0], &a[1]).is_gt();
                    Ok(a[usize::from(!larger)].clone())
                })),
                ($smaller, $crate::func::Body::Scalar(|_, a| {
                    let smaller = $crate::types::compare(TypeId::$type, &a[0], &a[1]).is_lt();
                    Ok(a[usize::from(!smaller)].clone())
                })),
            )?
        ]
    };
}

/// The six comparisons and the three-way comparison of two types, through a Rust comparison of
/// their values.
macro_rules! cross_comparisons {
    ($compare:expr, $eq:literal $ne:literal $lt:literal $le:literal $gt:literal $ge:literal
        $cmp:literal) => {
        &[
            (
                $eq,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Bool($compare(&a[0], &a[1]).is_eq()))),
            ),
            (
                $ne,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Bool($compare(&a[0], &a[1]).is_ne()))),
            ),
            (
                $lt,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Bool($compare(&a[0], &a[1]).is_lt()))),
            ),
            (
                $le,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Bool($compare(&a[0], &a[1]).is_le()))),
            ),
            (
                $gt,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Bool($compare(&a[0], &a[1]).is_gt()))),
            ),
            (
                $ge,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Bool($compare(&a[0], &a[1]).is_ge()))),
            ),
            (
                $cmp,
                $crate::func::Body::Scalar(|_, a| Ok(Datum::Int4($compare(&a[0], &a[1]) as i32))),
            ),
        ]
    };
}

pub(super) use comparisons;
pub(super) use cross_comparisons;
pub(super) use scalars;
