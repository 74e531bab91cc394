//! Dates and times: arithmetic, comparisons across types, parts, construction, zones.

mod arithmetic;
mod compare;
mod convert;
mod make;
mod part;
mod trunc;

use super::bodies::Bodies;

pub(crate) use compare::compared_as;

pub(super) const ROOMS: &[&[Bodies]] =
    &[arithmetic::ROOMS, compare::ROOMS, convert::ROOMS, make::ROOMS, part::ROOMS, trunc::ROOMS];
