//! Window functions and WINDOW clauses.

use syntax::ast::{self, FrameBound, FrameExclude, FrameUnits, FuncCall, Over, WindowSpec};

use crate::error::{Result, SqlError, sql_error};
use crate::func::CastUse;
use crate::types::TypeId;

use super::func::{no_function, resolve_window_aggregate, resolve_window_function};
use super::query::{Bound, Frame, Window};
use super::select::must_have_no_columns;
use super::tree::{Expr, SortExpr, Ty, WindowCall, WindowFunc};
use super::types::display;
use super::{Binder, ExprKind, at, coerce, walk};

impl Binder<'_, '_> {
    /// Named windows of the WINDOW clause.
    pub(super) fn window_names(&mut self, specs: &[WindowSpec]) -> Result<()> {
        for spec in specs {
            let window = self.window(spec)?;
            let name = window.name.clone();
            if self.scope().windows.iter().any(|w| w.name == name) {
                let name = name.unwrap_or_default();
                return Err(at(
                    sql_error!(WINDOWING_ERROR, "window \"{name}\" is already defined"),
                    spec.loc,
                ));
            }
            self.scope().windows.push(window);
        }
        Ok(())
    }

    fn window(&mut self, spec: &WindowSpec) -> Result<Window> {
        let base = match &spec.base {
            Some(name) => Some(self.named_window(name, spec.loc)?),
            None => None,
        };
        let mut partition_by = Vec::new();
        for expr in &spec.partition_by {
            let expr = self.with_kind(ExprKind::WindowPartition, |b| b.expr(expr))?;
            let expr = coerce::resolve_unknown(self, expr)?;
            self.check_hashable(&expr)?;
            partition_by.push(expr);
        }
        let mut order_by = Vec::new();
        for item in &spec.order_by {
            let expr = self.with_kind(ExprKind::WindowOrder, |b| b.expr(&item.expr))?;
            let expr = coerce::resolve_unknown(self, expr)?;
            self.check_sortable(&expr)?;
            let (desc, nulls_first) = self.sort_direction(item)?;
            order_by.push(SortExpr::new(expr, desc, nulls_first));
        }
        if let Some(base) = base {
            let name = spec.base.as_deref().unwrap_or("");
            if !partition_by.is_empty() {
                return Err(at(
                    sql_error!(
                        WINDOWING_ERROR,
                        "cannot override PARTITION BY clause of window \"{name}\""
                    ),
                    spec.loc,
                ));
            }
            if !order_by.is_empty() && !base.order_by.is_empty() {
                return Err(at(
                    sql_error!(
                        WINDOWING_ERROR,
                        "cannot override ORDER BY clause of window \"{name}\""
                    ),
                    spec.loc,
                ));
            }
            if base.frame.written {
                return Err(at(
                    sql_error!(
                        WINDOWING_ERROR,
                        "cannot copy window \"{name}\" because it has a frame clause"
                    ),
                    spec.loc,
                ));
            }
            partition_by = base.partition_by;
            if order_by.is_empty() {
                order_by = base.order_by;
            }
        }
        let frame = self.frame(spec, &order_by)?;
        Ok(Window { name: spec.name.clone(), partition_by, order_by, frame })
    }

    fn named_window(&mut self, name: &str, loc: ast::Loc) -> Result<Window> {
        let found = self.scope().windows.iter().find(|w| w.name.as_deref() == Some(name));
        match found {
            Some(window) => Ok(window.clone()),
            None => Err(at(sql_error!(UNDEFINED_OBJECT, "window \"{name}\" does not exist"), loc)),
        }
    }

    fn frame(&mut self, spec: &WindowSpec, order_by: &[SortExpr]) -> Result<Frame> {
        let Some(frame) = &spec.frame else {
            return Ok(Frame {
                units: FrameUnits::Range,
                start: Bound::UnboundedPreceding,
                end: Bound::CurrentRow,
                exclude: FrameExclude::NoOthers,
                written: false,
            });
        };
        let offset = |bound: &FrameBound| {
            matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_))
        };
        let refuse = |message: &str| {
            Err(at(SqlError::new(crate::error::SqlState::WINDOWING_ERROR, message), spec.loc))
        };
        match (&frame.start, &frame.end) {
            (FrameBound::UnboundedFollowing, _) => {
                return refuse("frame start cannot be UNBOUNDED FOLLOWING");
            }
            (_, FrameBound::UnboundedPreceding) => {
                return refuse("frame end cannot be UNBOUNDED PRECEDING");
            }
            (FrameBound::CurrentRow, FrameBound::Preceding(_)) => {
                return refuse("frame starting from current row cannot have preceding rows");
            }
            (FrameBound::Following(_), FrameBound::Preceding(_) | FrameBound::CurrentRow) => {
                return refuse("frame starting from following row cannot have preceding rows");
            }
            _ => {}
        }
        let has_offset = offset(&frame.start) || offset(&frame.end);
        if frame.units == FrameUnits::Range && has_offset && order_by.len() != 1 {
            return refuse(
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            );
        }
        if frame.units == FrameUnits::Groups && order_by.is_empty() {
            return refuse("GROUPS mode requires an ORDER BY clause");
        }
        Ok(Frame {
            units: frame.units,
            start: self.bound(&frame.start, frame.units, order_by)?,
            end: self.bound(&frame.end, frame.units, order_by)?,
            exclude: frame.exclude,
            written: true,
        })
    }

    fn bound(
        &mut self,
        bound: &FrameBound,
        units: FrameUnits,
        order_by: &[SortExpr],
    ) -> Result<Bound> {
        let offset = |b: &mut Self, expr: &ast::Expr| -> Result<Expr> {
            let expr = b.with_kind(ExprKind::WindowFrame, |b| b.expr(expr))?;
            let (expr, clause) = match units {
                FrameUnits::Range => (b.range_offset(expr, order_by[0].expr.ty())?, "RANGE"),
                FrameUnits::Rows => (b.coerce_to_specific(expr, Ty::INT8, "ROWS")?, "ROWS"),
                FrameUnits::Groups => (b.coerce_to_specific(expr, Ty::INT8, "GROUPS")?, "GROUPS"),
            };
            must_have_no_columns(&expr, clause)?;
            Ok(expr)
        };
        Ok(match bound {
            FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            FrameBound::CurrentRow => Bound::CurrentRow,
            FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
            FrameBound::Preceding(expr) => Bound::Preceding(offset(self, expr)?),
            FrameBound::Following(expr) => Bound::Following(offset(self, expr)?),
        })
    }

    /// An offset of RANGE, in the type by which keys of a type are moved.
    fn range_offset(&mut self, expr: Expr, key: Ty) -> Result<Expr> {
        let unsupported = format!(
            "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {}",
            display(Ty::of(key.id))
        );
        let (own, loc) = (expr.ty(), expr.loc());
        let Some(wanted) = offset_type(key.id) else {
            return Err(at(sql_error!(FEATURE_NOT_SUPPORTED, "{unsupported}"), loc));
        };
        match self.coerce(expr, Ty::of(wanted), CastUse::Implicit, loc)? {
            Some(expr) => Ok(expr),
            None => {
                let error = sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "{unsupported} and offset type {}",
                    display(Ty::of(own.id))
                );
                let hint = "Cast the offset value to an appropriate type.";
                Err(at(error.with_hint(hint), loc))
            }
        }
    }

    /// `f(…) OVER …`.
    pub(super) fn window_call(&mut self, call: &FuncCall) -> Result<Expr> {
        if !self.kind.allows_windows() {
            return Err(at(
                sql_error!(
                    WINDOWING_ERROR,
                    "window functions are not allowed in {}",
                    self.kind.words()
                ),
                call.loc,
            ));
        }
        if call.distinct {
            return Err(at(
                SqlError::unsupported("DISTINCT is not implemented for window functions"),
                call.loc,
            ));
        }
        if !call.order_by.is_empty() {
            return Err(at(
                SqlError::unsupported("aggregate ORDER BY is not implemented for window functions"),
                call.loc,
            ));
        }
        let name = call.name.last();
        let mut args = self.call_args(call)?;
        if args.iter().any(|arg| walk::any(arg, &mut |e| matches!(e, Expr::Window(_)))) {
            return Err(at(
                sql_error!(WINDOWING_ERROR, "window function calls cannot be nested"),
                call.loc,
            ));
        }
        let types: Vec<TypeId> = args.iter().map(Expr::type_id).collect();
        let (func, declared, result) = if let Some((mut agg, mut declared)) =
            resolve_window_aggregate(name, &types, call.star)
        {
            args = self.json_aggregate(&mut agg, &mut declared, args)?;
            (WindowFunc::Aggregate(agg), declared, agg.result)
        } else if let Some((func, declared)) = resolve_window_function(name, &types) {
            if !matches!(func.body, crate::func::Body::Window) {
                return Err(at(
                    sql_error!(
                        WRONG_OBJECT_TYPE,
                        "OVER specified, but {name} is not a window function nor an aggregate function"
                    ),
                    call.loc,
                ));
            }
            (WindowFunc::Function(func), declared, func.result)
        } else {
            return Err(no_function(name, &types, call.loc));
        };
        let (args, id) = self.fit_arguments(&declared, result, args, name, call.loc)?;
        let (_, order) = self.common_collation(&args)?;
        let func = match func {
            WindowFunc::Aggregate(agg) => {
                WindowFunc::Aggregate(crate::func::aggregate_under(agg, order)?)
            }
            func => func,
        };
        let filter = self.window_filter(call, &func)?;
        let window = match call.over.as_ref().expect("the caller saw OVER") {
            Over::Named(name, loc) => {
                let found =
                    self.scope().windows.iter().position(|w| w.name.as_deref() == Some(&**name));
                match found {
                    Some(index) => index,
                    None => {
                        return Err(at(
                            sql_error!(UNDEFINED_OBJECT, "window \"{name}\" does not exist"),
                            *loc,
                        ));
                    }
                }
            }
            Over::Spec(spec) => {
                let window = self.window(spec)?;
                self.add_window(window)
            }
        };
        self.scope().has_windows = true;
        Ok(Expr::Window(Box::new(WindowCall {
            func,
            args,
            star: call.star,
            filter,
            window: window as u16,
            ty: Ty::of(id),
            loc: call.loc,
        })))
    }

    /// FILTER, which only aggregates may have.
    fn window_filter(&mut self, call: &FuncCall, func: &WindowFunc) -> Result<Option<Expr>> {
        let Some(filter) = &call.filter else { return Ok(None) };
        let filter = self.with_kind(ExprKind::Filter, |b| b.condition(filter, "FILTER"))?;
        match func {
            WindowFunc::Aggregate(_) => Ok(Some(filter)),
            WindowFunc::Function(_) => Err(at(
                sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "FILTER is not implemented for non-aggregate window functions"
                ),
                call.loc,
            )),
        }
    }

    /// Equal windows are computed together.
    fn add_window(&mut self, window: Window) -> usize {
        let same = |w: &Window| {
            let keys = |list: &[SortExpr], other: &[SortExpr]| {
                list.len() == other.len()
                    && list.iter().zip(other).all(|(a, b)| {
                        a.desc == b.desc
                            && a.nulls_first == b.nulls_first
                            && walk::same(&a.expr, &b.expr)
                    })
            };
            w.partition_by.len() == window.partition_by.len()
                && w.partition_by.iter().zip(&window.partition_by).all(|(a, b)| walk::same(a, b))
                && keys(&w.order_by, &window.order_by)
                && !w.frame.written
                && !window.frame.written
        };
        let windows = &mut self.scope().windows;
        if let Some(found) = windows.iter().position(same) {
            return found;
        }
        windows.push(window);
        windows.len() - 1
    }
}

/// The type of offsets by which RANGE moves keys of a type, as PostgreSQL's `in_range` functions have it.
fn offset_type(key: TypeId) -> Option<TypeId> {
    Some(match key {
        TypeId::INT2 | TypeId::INT4 | TypeId::INT8 => TypeId::INT8,
        TypeId::FLOAT4 | TypeId::FLOAT8 => TypeId::FLOAT8,
        TypeId::NUMERIC => TypeId::NUMERIC,
        TypeId::DATE
        | TypeId::TIME
        | TypeId::TIMETZ
        | TypeId::TIMESTAMP
        | TypeId::TIMESTAMPTZ
        | TypeId::INTERVAL => TypeId::INTERVAL,
        _ => return None,
    })
}
