//! `a[1]`, `a[1:2]`, `j['key']`: parts of arrays, and of `jsonb`.

use syntax::ast::{self, Indirection};

use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::CastUse;
use crate::types::TypeId;

use super::coerce::can_coerce;
use super::tree::{Expr, Subscript, SubscriptStep, Ty};
use super::types::{display, element_of};
use super::{Binder, at};

impl Binder<'_, '_> {
    /// One step into a value of this type.
    pub(super) fn subscript(&mut self, step: &Indirection, of: TypeId) -> Result<SubscriptStep> {
        if of == TypeId::JSONB {
            return self.json_step(step);
        }
        let index = |b: &mut Self, expr: &ast::Expr| -> Result<Expr> {
            let expr = b.expr(expr)?;
            let loc = expr.loc();
            match b.coerce(expr, Ty::INT4, CastUse::Assignment, loc)? {
                Some(expr) => Ok(expr),
                None => Err(at(
                    sql_error!(DATATYPE_MISMATCH, "array subscript must have type integer"),
                    loc,
                )),
            }
        };
        Ok(match step {
            Indirection::Index(expr) => SubscriptStep::Index(index(self, expr)?),
            Indirection::Slice { lower, upper } => {
                let lower = lower.as_ref().map(|e| index(self, e)).transpose()?;
                let upper = upper.as_ref().map(|e| index(self, e)).transpose()?;
                SubscriptStep::Slice(lower, upper)
            }
            _ => unreachable!("the caller passes subscripts only"),
        })
    }

    /// A key or a place in an array.
    fn json_step(&mut self, step: &Indirection) -> Result<SubscriptStep> {
        let no_slices = || sql_error!(DATATYPE_MISMATCH, "jsonb subscript does not support slices");
        let index = match step {
            Indirection::Index(index) => index,
            Indirection::Slice { lower, upper } => {
                let Some(bound) = upper.as_ref().or(lower.as_ref()) else {
                    return Err(no_slices());
                };
                let loc = self.expr(bound)?.loc();
                return Err(at(no_slices(), loc));
            }
            _ => unreachable!("the caller passes subscripts only"),
        };
        let index = self.expr(index)?;
        let (ty, loc) = (index.type_id(), index.loc());
        let implicit = |to| can_coerce(ty, to, CastUse::Implicit);
        let wanted = match (implicit(TypeId::INT4), implicit(TypeId::TEXT)) {
            _ if ty == TypeId::UNKNOWN => Ty::TEXT,
            (true, false) => Ty::INT4,
            (false, true) => Ty::TEXT,
            (both, _) => {
                let hint = if both {
                    "jsonb subscript must be coercible to only one type, integer or text."
                } else {
                    "jsonb subscript must be coercible to either integer or text."
                };
                let ty = display(Ty::of(ty));
                let error = sql_error!(DATATYPE_MISMATCH, "subscript type {ty} is not supported");
                return Err(at(error.with_hint(hint), loc));
            }
        };
        let index = self.coerce(index, wanted, CastUse::Implicit, loc)?;
        Ok(SubscriptStep::Index(index.expect("an implicit conversion is there")))
    }
}

/// A part of a value; `42804` of what has none.
pub(super) fn subscripted(arg: Expr, steps: Vec<SubscriptStep>) -> Result<Expr> {
    let slice = steps.iter().any(|s| matches!(s, SubscriptStep::Slice(..)));
    if arg.type_id() == TypeId::NAME && matches!(steps[..], [SubscriptStep::Index(_)]) {
        // A name is an array of so many bytes, counted from 0: `typname[0]`, as psql and pg_dump ask.
        let ty = Ty::of(TypeId::CHAR);
        return Ok(Expr::Subscript(Box::new(Subscript { arg, steps, assigned: None, ty })));
    }
    if arg.type_id() == TypeId::NAME {
        bail!(FEATURE_NOT_SUPPORTED, "slices of fixed-length arrays not implemented");
    }
    let element = part_of(arg.type_id()).ok_or_else(|| at(no_parts(arg.ty()), arg.loc()))?;
    let ty = if slice { arg.ty() } else { Ty { id: element, modifier: arg.ty().modifier } };
    Ok(Expr::Subscript(Box::new(Subscript { arg, steps, assigned: None, ty })))
}

/// The type of the parts of a type's values.
pub(super) fn part_of(id: TypeId) -> Option<TypeId> {
    if id == TypeId::JSONB { Some(id) } else { element_of(id) }
}

pub(super) fn no_parts(ty: Ty) -> SqlError {
    sql_error!(
        DATATYPE_MISMATCH,
        "cannot subscript type {} because it does not support subscripting",
        display(Ty::of(ty.id))
    )
}
