//! Conversions: which there are, when they happen by themselves, and what they become.

use syntax::ast::Loc;

use crate::error::{Result, SqlError, sql_error};
use crate::func::{self, CastMethod, CastUse, Function};
use crate::types::row::ValueKind;
use crate::types::{Collation, Datum, TypeId, is_oid_alias};

use super::tree::{ArrayCast, Call, Const, Expr, Param, Relabel, Shape, Ty, ViaText};
use super::types::{category, display, element_of, is_polymorphic, is_preferred};
use super::{Binder, at, volatility};

/// How strongly a conversion is asked for.
pub use crate::func::CastUse as CastContext;

/// How a value of one type becomes one of another.
#[derive(Clone, Copy)]
enum Path {
    /// No work: the same datum.
    Relabel,
    Function(&'static Function),
    /// Element by element.
    Array,
    ViaText,
}

fn find_path(from: TypeId, to: TypeId, context: CastUse) -> Option<Path> {
    if from == to {
        return Some(Path::Relabel);
    }
    if let Some(cast) = func::cast(from, to) {
        return (cast.allowed <= context).then_some(match cast.method {
            CastMethod::Function(f) => Path::Function(f),
            // The same bytes in PostgreSQL, but another variant of ours: integers as OIDs.
            CastMethod::Binary if ValueKind::of_type(from) != ValueKind::of_type(to) => {
                Path::ViaText
            }
            CastMethod::Binary => Path::Relabel,
            CastMethod::InOut => Path::ViaText,
        });
    }
    if let (Some(a), Some(b)) = (element_of(from), element_of(to))
        && !matches!(to, TypeId::INT2VECTOR | TypeId::OIDVECTOR)
    {
        return find_path(a, b, context).map(|path| match path {
            Path::Relabel => Path::Relabel,
            _ => Path::Array,
        });
    }
    // Everything goes to text on assignment, and comes from text when asked.
    if context >= CastUse::Assignment && category(to) == b'S' {
        return Some(Path::ViaText);
    }
    if context >= CastUse::Explicit && category(from) == b'S' {
        return Some(Path::ViaText);
    }
    None
}

/// Can each of these be converted to its counterpart?
pub(super) fn can_coerce(from: TypeId, to: TypeId, context: CastUse) -> bool {
    from == to
        || to == TypeId::ANY
        || from == TypeId::UNKNOWN
        || (is_polymorphic(to) && fits_polymorphic(from, to))
        || (to == TypeId::RECORD && from == TypeId::RECORD)
        || find_path(from, to, context).is_some()
}

fn fits_polymorphic(from: TypeId, to: TypeId) -> bool {
    match to {
        TypeId::ANYARRAY | TypeId::ANYCOMPATIBLEARRAY => element_of(from).is_some(),
        TypeId::ANYNONARRAY | TypeId::ANYCOMPATIBLENONARRAY => element_of(from).is_none(),
        TypeId::ANYENUM => from.is_enum(),
        _ => true,
    }
}

/// Is the conversion free, the same bytes under another name?
pub fn is_binary_coercible(from: TypeId, to: TypeId) -> bool {
    if from == to || to == TypeId::ANY || to == TypeId::ANYELEMENT || to == TypeId::ANYCOMPATIBLE {
        return true;
    }
    if matches!(to, TypeId::ANYARRAY | TypeId::ANYCOMPATIBLEARRAY) {
        return element_of(from).is_some();
    }
    if to == TypeId::ANYENUM {
        return from.is_enum();
    }
    func::cast(from, to).is_some_and(|cast| {
        matches!(cast.method, CastMethod::Binary) && cast.allowed == CastUse::Implicit
    })
}

impl Binder<'_, '_> {
    /// Converts to `ty` if `context` allows it, modifier included; `None` if it does not.
    pub fn coerce(
        &mut self,
        expr: Expr,
        ty: Ty,
        context: CastUse,
        loc: Loc,
    ) -> Result<Option<Expr>> {
        let explicit = context == CastUse::Explicit;
        let Some(expr) = self.coerce_type(expr, ty, context, explicit, loc)? else {
            return Ok(None);
        };
        apply_modifier(expr, ty, explicit, loc).map(Some)
    }

    fn coerce_type(
        &mut self,
        expr: Expr,
        ty: Ty,
        context: CastUse,
        explicit: bool,
        loc: Loc,
    ) -> Result<Option<Expr>> {
        let from = expr.type_id();
        let to = ty.id;
        if from == to || to == TypeId::ANY || is_polymorphic(to) {
            return Ok(Some(expr));
        }
        match expr {
            Expr::Const(c) if from == TypeId::UNKNOWN => {
                return self.literal(c, ty).map(Some);
            }
            Expr::Param(p) if from == TypeId::UNKNOWN => {
                self.params.resolve(&p, to)?;
                // A constant that was lifted is read without a modifier, and an interval's says how to read it.
                self.momentary |= to == TypeId::INTERVAL && ty.modifier >= 0;
                return Ok(Some(Expr::Param(Param { ty: Ty::of(to), ..p })));
            }
            // NULL needs no work whatever its type.
            Expr::Const(Const { value: Datum::Null, loc, .. })
                if func::cast(from, to).is_some() =>
            {
                return Ok(Some(Expr::Const(Const { value: Datum::Null, ty: Ty::of(to), loc })));
            }
            _ => {}
        }
        if from == TypeId::UNKNOWN {
            return Ok(Some(via_text(expr, to, explicit, loc)));
        }
        let path = find_path(from, to, context);
        if let (Some(Path::ViaText), Expr::Const(c)) = (path, &expr)
            && let Datum::Int4(n) = c.value
        {
            let value = self.catalog.text_in(to, -1, &n.to_string()).map_err(|e| at(e, c.loc))?;
            return Ok(Some(Expr::Const(Const { value, ty: Ty::of(to), loc: c.loc })));
        }
        let shape = if explicit { Shape::ExplicitCast } else { Shape::ImplicitCast };
        Ok(path.map(|path| match path {
            Path::Relabel => relabel(expr, to, explicit),
            Path::ViaText => via_text(expr, to, explicit, loc),
            Path::Function(func) => cast_call(func, expr, Ty::of(to), ty.modifier, shape, loc),
            Path::Array => {
                let element = element_of(to).expect("array path leads to an array");
                let source = element_of(from).expect("array path starts at an array");
                let cast = match find_path(source, element, context) {
                    Some(Path::Function(func)) => cast_call(
                        func,
                        Expr::Element(Ty::of(source)),
                        Ty::of(element),
                        ty.modifier,
                        shape,
                        loc,
                    ),
                    _ => via_text(Expr::Element(Ty::of(source)), element, explicit, loc),
                };
                Expr::ArrayCast(Box::new(ArrayCast {
                    arg: expr,
                    cast,
                    element_type: element,
                    ty: Ty::of(to),
                    explicit,
                }))
            }
        }))
    }

    /// A literal of unknown type, read as a `ty`.
    fn literal(&mut self, c: Const, ty: Ty) -> Result<Expr> {
        let id = ty.id;
        let value = match &c.value {
            Datum::Null => Datum::Null,
            Datum::Text(text) => {
                // Only an interval's modifier changes how the text is read; for the rest the value
                // is read whole and fitted afterwards.
                let modifier = if id == TypeId::INTERVAL { ty.modifier } else { -1 };
                self.momentary |= volatility::reads_by_settings(id, text);
                self.catalog.note_type(id);
                let value = self.catalog.text_in(id, modifier, text).map_err(|e| at(e, c.loc))?;
                if volatility::reads_by_settings(id, text) || is_oid_alias(id) {
                    self.catalog.note_literal(id, &value, c.loc)?;
                }
                value
            }
            other => other.clone(),
        };
        Ok(Expr::Const(Const { value, ty: Ty::of(id), loc: c.loc }))
    }

    /// Converts for a clause that wants a boolean.
    pub(super) fn boolean(&mut self, expr: Expr, clause: &str) -> Result<Expr> {
        let (ty, loc) = (expr.ty(), expr.loc());
        if matches!(ty.id, TypeId::BOOL | TypeId::UNKNOWN) {
            not_a_set(&expr, clause)?;
        }
        match self.coerce(expr, Ty::BOOL, CastUse::Assignment, loc)? {
            Some(expr) if ty.id == TypeId::BOOL || ty.id == TypeId::UNKNOWN => Ok(expr),
            _ => Err(at(
                sql_error!(
                    DATATYPE_MISMATCH,
                    "argument of {clause} must be type boolean, not type {}",
                    display(ty)
                ),
                loc,
            )),
        }
    }

    /// Converts for a clause that wants one certain type.
    pub(super) fn coerce_to_specific(&mut self, expr: Expr, ty: Ty, clause: &str) -> Result<Expr> {
        let (own, loc) = (expr.ty(), expr.loc());
        match self.coerce(expr, ty, CastUse::Assignment, loc)? {
            Some(expr) => {
                not_a_set(&expr, clause)?;
                Ok(expr)
            }
            None => Err(at(
                sql_error!(
                    DATATYPE_MISMATCH,
                    "argument of {clause} must be type {}, not type {}",
                    display(ty),
                    display(own)
                ),
                loc,
            )),
        }
    }

    /// The type that UNION, CASE, VALUES and their kin resolve to.
    pub(super) fn common_type(&mut self, exprs: &[Expr], words: &str) -> Result<Ty> {
        let known: Vec<&Expr> = exprs.iter().filter(|e| e.type_id() != TypeId::UNKNOWN).collect();
        let Some(first) = known.first() else { return Ok(Ty::UNKNOWN) };
        let mut best = first.type_id();
        for expr in &known[1..] {
            let id = expr.type_id();
            if id == best {
                continue;
            }
            if category(id) != category(best) {
                return Err(mismatch(words, best, expr));
            }
            let better = !is_preferred(best)
                && can_coerce(best, id, CastUse::Implicit)
                && !can_coerce(id, best, CastUse::Implicit);
            if better {
                best = id;
            }
        }
        let modifier = first.ty().modifier;
        let same = exprs.iter().all(|e| e.ty() == Ty { id: best, modifier });
        Ok(Ty { id: best, modifier: if same { modifier } else { -1 } })
    }

    /// Converts to a type that [`Binder::common_type`] chose.
    pub(super) fn coerce_common(&mut self, expr: Expr, ty: Ty, words: &str) -> Result<Expr> {
        to_common(self, expr, ty, words)
    }

    /// Converts for storing in a column.
    pub(super) fn coerce_to_column(
        &mut self,
        expr: Expr,
        ty: Ty,
        column: &str,
        loc: Loc,
    ) -> Result<Expr> {
        let own = expr.ty();
        let place = if expr.loc().offset().is_some() { expr.loc() } else { loc };
        match self.coerce(expr, ty, CastUse::Assignment, place)? {
            Some(expr) => Ok(expr),
            None => Err(at(
                sql_error!(
                    DATATYPE_MISMATCH,
                    "column \"{column}\" is of type {} but expression is of type {}",
                    display(ty),
                    display(own)
                )
                .with_hint("You will need to rewrite or cast the expression."),
                place,
            )),
        }
    }
}

fn not_a_set(expr: &Expr, clause: &str) -> Result<()> {
    if super::func::returns_set(expr) {
        return Err(at(
            sql_error!(DATATYPE_MISMATCH, "argument of {clause} must not return a set"),
            expr.loc(),
        ));
    }
    Ok(())
}

fn mismatch(words: &str, best: TypeId, expr: &Expr) -> SqlError {
    at(
        sql_error!(
            DATATYPE_MISMATCH,
            "{words} types {} and {} cannot be matched",
            display(Ty::of(best)),
            display(expr.ty())
        ),
        expr.loc(),
    )
}

pub(super) fn to_common(b: &mut Binder<'_, '_>, expr: Expr, ty: Ty, words: &str) -> Result<Expr> {
    if ty.id == TypeId::UNKNOWN {
        return Ok(expr);
    }
    let (own, loc) = (expr.ty(), expr.loc());
    match b.coerce(expr, ty, CastUse::Implicit, loc)? {
        Some(expr) => Ok(expr),
        None => Err(at(
            sql_error!(
                CANNOT_COERCE,
                "{words} could not convert type {} to {}",
                display(own),
                display(Ty::of(ty.id))
            ),
            loc,
        )),
    }
}

/// What is still of unknown type becomes text.
pub(super) fn resolve_unknown(b: &mut Binder<'_, '_>, expr: Expr) -> Result<Expr> {
    if expr.type_id() != TypeId::UNKNOWN {
        return Ok(expr);
    }
    let loc = expr.loc();
    Ok(b.coerce(expr, Ty::TEXT, CastUse::Implicit, loc)?.expect("unknown becomes text"))
}

pub(super) fn relabel(arg: Expr, to: TypeId, explicit: bool) -> Expr {
    match arg {
        Expr::Const(c) => Expr::Const(Const { ty: Ty::of(to), ..c }),
        arg => Expr::Relabel(Box::new(Relabel { arg, ty: Ty::of(to), explicit })),
    }
}

/// The value as another type that it goes to by itself.
pub fn implicit_cast(expr: Expr, to: TypeId) -> Option<Expr> {
    let loc = expr.loc();
    find_path(expr.type_id(), to, CastUse::Implicit).and_then(|path| match path {
        Path::Relabel => Some(relabel(expr, to, false)),
        Path::Function(func) => {
            Some(cast_call(func, expr, Ty::of(to), -1, Shape::ImplicitCast, loc))
        }
        Path::Array | Path::ViaText => None,
    })
}

fn via_text(arg: Expr, to: TypeId, explicit: bool, loc: Loc) -> Expr {
    Expr::ViaText(Box::new(ViaText { arg, ty: Ty::of(to), explicit, loc }))
}

/// A cast function takes the value, and if it wants to the modifier and whether it was written.
fn cast_call(
    func: &'static Function,
    arg: Expr,
    ty: Ty,
    modifier: i32,
    shape: Shape,
    loc: Loc,
) -> Expr {
    let explicit = shape == Shape::ExplicitCast;
    let mut args = vec![arg];
    if func.args.len() > 1 {
        args.push(Expr::constant(Datum::Int4(modifier), Ty::INT4));
    }
    if func.args.len() > 2 {
        args.push(Expr::bool(explicit));
    }
    let collation = Collation::NONE;
    Expr::Call(Box::new(Call { func, args, ty, collation, variadic: false, shape, loc }))
}

/// Makes the value fit its type's modifier.
pub(super) fn apply_modifier(expr: Expr, ty: Ty, explicit: bool, loc: Loc) -> Result<Expr> {
    if ty.modifier < 0 || expr.ty().modifier == ty.modifier {
        return Ok(expr);
    }
    let base = element_of(ty.id).unwrap_or(ty.id);
    let Some(CastMethod::Function(func)) = func::cast(base, base).map(|cast| cast.method) else {
        return Ok(expr);
    };
    let shape = if explicit { Shape::ExplicitCast } else { Shape::ImplicitCast };
    if base == ty.id {
        return Ok(cast_call(func, expr, ty, ty.modifier, shape, loc));
    }
    let element = Ty { id: base, modifier: ty.modifier };
    let cast = cast_call(func, Expr::Element(Ty::of(base)), element, ty.modifier, shape, loc);
    Ok(Expr::ArrayCast(Box::new(ArrayCast { arg: expr, cast, element_type: base, ty, explicit })))
}
