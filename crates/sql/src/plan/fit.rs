//! Values of other types than a key's, as values of that type.

use crate::bind::tree::{ArrayCast, Const, Expr, Narrow, NarrowTo, Ty};
use crate::bind::{coerce, element_of};
use crate::types::{Datum, TypeId, array_of};

/// Do the two types have the same values in the same order?
pub(super) fn compatible(a: TypeId, b: TypeId) -> bool {
    let texts = [TypeId::TEXT, TypeId::VARCHAR, TypeId::NAME];
    let addresses = [TypeId::INET, TypeId::CIDR];
    a == b || [&texts[..], &addresses].iter().any(|kin| kin.contains(&a) && kin.contains(&b))
}

/// The value as one of the key's type, if that loses nothing, and it compares as that.
pub(super) fn fit(value: &Expr, ty: TypeId) -> Option<Expr> {
    let own = value.type_id();
    if compatible(own, ty) {
        return Some(value.clone());
    }
    if let Expr::Const(c) = value
        && let Some(value) = fit_constant(&c.value, ty)
    {
        return Some(Expr::Const(Const { value, ty: Ty::of(ty), loc: c.loc }));
    }
    let is_time = matches!(
        (own, ty),
        (TypeId::DATE, TypeId::TIMESTAMP | TypeId::TIMESTAMPTZ)
            | (TypeId::TIMESTAMP, TypeId::TIMESTAMPTZ)
    );
    let time = || is_time.then(|| narrow(value.clone(), ty, NarrowTo::Equal));
    widen(value, ty).or_else(time)
}

/// Integers of a narrower type, as the wider one.
pub(super) fn widen(value: &Expr, ty: TypeId) -> Option<Expr> {
    let wider = matches!(
        (value.type_id(), ty),
        (TypeId::INT2, TypeId::INT4 | TypeId::INT8) | (TypeId::INT4, TypeId::INT8)
    );
    wider.then(|| coerce::implicit_cast(value.clone(), ty)).flatten()
}

pub(super) fn fit_constant(value: &Datum, ty: TypeId) -> Option<Datum> {
    let n = match value {
        Datum::Int2(n) => i64::from(*n),
        Datum::Int4(n) => i64::from(*n),
        Datum::Int8(n) => *n,
        _ => return None,
    };
    Some(match ty {
        TypeId::INT2 => Datum::Int2(n.try_into().ok()?),
        TypeId::INT4 => Datum::Int4(n.try_into().ok()?),
        TypeId::INT8 => Datum::Int8(n),
        _ => return None,
    })
}

/// An array's elements as values of the key's type, null where that has no equal.
pub(super) fn fit_elements(array: &Expr, ty: TypeId) -> Option<Expr> {
    let element = element_of(array.type_id())?;
    if compatible(element, ty) {
        return Some(array.clone());
    }
    let element = Expr::Element(Ty::of(element));
    let cast = fit(&element, ty).or_else(|| equal_to(&element, ty))?;
    let (arg, array) = (array.clone(), Ty::of(array_of(ty)?));
    let cast = ArrayCast { arg, cast, element_type: ty, ty: array, explicit: false };
    Some(Expr::ArrayCast(Box::new(cast)))
}

/// A number of more bits than the key has.
pub(super) fn equal_to(value: &Expr, ty: TypeId) -> Option<Expr> {
    has_more_bits(value.type_id(), ty).then(|| narrow(value.clone(), ty, NarrowTo::Equal))
}

/// A value of the key's type before or behind which there is nothing that is asked for.
pub(super) fn about(value: &Expr, ty: TypeId, to: NarrowTo) -> Option<Expr> {
    let own = value.type_id();
    // What it is there and then, which clocks that are put forward or back have a say in.
    let is_time = matches!(
        (own, ty),
        (TypeId::TIMESTAMPTZ, TypeId::TIMESTAMP | TypeId::DATE) | (TypeId::TIMESTAMP, TypeId::DATE)
    );
    (is_time || has_more_bits(own, ty)).then(|| narrow(value.clone(), ty, to))
}

fn has_more_bits(own: TypeId, ty: TypeId) -> bool {
    matches!((own, ty), (TypeId::INT8, TypeId::INT4 | TypeId::INT2) | (TypeId::INT4, TypeId::INT2))
}

fn narrow(arg: Expr, ty: TypeId, to: NarrowTo) -> Expr {
    Expr::Narrow(Box::new(Narrow { arg, ty: Ty::of(ty), to }))
}
