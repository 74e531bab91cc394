//! Function calls: scalar functions, aggregates, and casts written as functions.

use syntax::ast::{self, FuncCall, Loc, QualifiedName};

use crate::error::{Result, SqlError, bail, sql_error};
use crate::func::{self, Aggregate, CastUse, Function};
use crate::types::{Collation, Datum, TypeId};

use super::operator::{Choice, choose};
use super::scope::Scope;
use super::select::find_aggregate;
use super::tree::{AggCall, ArrayExpr, Call, Const, Expr, Shape, SortExpr, Ty};
use super::types::{display, display_list, element_of, is_polymorphic};
use super::{Binder, ExprKind, at, coerce, walk};

/// Does evaluating the expression yield any number of values? Only the outermost call counts where
/// sets may not nest.
pub fn returns_set(expr: &Expr) -> bool {
    walk::any(expr, &mut |e| matches!(e, Expr::Call(call) if call.func.returns_set))
}

/// `0A000` where sets are made below an expression that need not evaluate all of its arguments. Of several the last one
/// is pointed at.
pub(super) fn no_sets_in(expr: &Expr, words: &str) -> Result<()> {
    let mut last = None;
    last_set(expr, &mut last);
    let Some(loc) = last else { return Ok(()) };
    let error =
        sql_error!(FEATURE_NOT_SUPPORTED, "set-returning functions are not allowed in {words}")
            .with_hint(
                "You might be able to move the set-returning function into a LATERAL FROM item.",
            );
    Err(at(error, loc))
}

fn last_set(expr: &Expr, last: &mut Option<Loc>) {
    walk::each_child(expr, &mut |child| last_set(child, last));
    if let Expr::Call(call) = expr
        && call.func.returns_set
    {
        *last = Some(call.loc);
    }
}

/// What a name and argument types resolve to.
enum Target {
    Function(Candidate<Function>),
    Aggregate(Candidate<Aggregate>),
}

/// No candidate is better than all others.
pub(super) struct Unclear;

pub(super) struct Candidate<T: 'static> {
    pub func: &'static T,
    /// Declared types, one per actual argument (variadic ones spread out).
    pub args: Vec<TypeId>,
    /// Trailing arguments were gathered from a variadic parameter.
    pub spread: Option<usize>,
}

impl Binder<'_, '_> {
    pub(super) fn call(&mut self, call: &FuncCall) -> Result<Expr> {
        if call.over.is_some() {
            return self.window_call(call);
        }
        let at_home = self.is_at_home(&call.name, call.loc)?;
        if call.args.iter().any(|arg| arg.name.is_some()) {
            return self.named_call(call, at_home);
        }
        let args = self.call_args(call)?;
        let types: Vec<TypeId> = args.iter().map(Expr::type_id).collect();
        let name = call.name.last();
        let found = if at_home { self.resolve(name, &types, call)? } else { None };
        match found {
            Some(Target::Aggregate(candidate)) => self.aggregate(call, candidate, args),
            Some(Target::Function(candidate)) => {
                self.check_plain(call)?;
                self.scalar(call, candidate, args)
            }
            None => self.cast_function(call, args),
        }
    }

    /// Whether the schema that a call names, or names not, is one that has the function of that name, if any has.
    fn is_at_home(&mut self, name: &QualifiedName, loc: Loc) -> Result<bool> {
        let own = name.last();
        match name.schema() {
            None | Some("pg_catalog") => Ok(!func::is_of_information_schema(own)),
            Some("information_schema") => Ok(func::is_of_information_schema(own)),
            // Extensions are wherever they are wanted.
            Some(schema) if self.catalog.lookup.has_schema(schema)? => {
                Ok(func::is_of_extension(own))
            }
            Some(schema) => {
                Err(at(sql_error!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist"), loc))
            }
        }
    }

    /// A call of a built-in function that the binder itself makes.
    pub(super) fn function(&mut self, name: &str, args: Vec<Expr>, loc: Loc) -> Result<Expr> {
        let types: Vec<TypeId> = args.iter().map(Expr::type_id).collect();
        match resolve_function(name, &types, false) {
            Ok(Some(candidate)) => {
                let declared = candidate.args.clone();
                let func = candidate.func;
                let (args, id) = self.fit_arguments(&declared, func.result, args, name, loc)?;
                let mut call = Call {
                    func,
                    args,
                    ty: Ty::of(id),
                    collation: Collation::NONE,
                    variadic: false,
                    shape: Shape::Function,
                    loc,
                };
                self.collate_call(&mut call)?;
                Ok(Expr::Call(Box::new(call)))
            }
            _ => Err(no_function(name, &types, loc)),
        }
    }

    pub(super) fn call_args(&mut self, call: &FuncCall) -> Result<Vec<Expr>> {
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            if arg.name.is_some() {
                return Err(at(
                    SqlError::unsupported("named arguments of a window function are not supported"),
                    arg.loc,
                ));
            }
            args.push(self.argument(&arg.value)?);
        }
        Ok(args)
    }

    /// One argument of a call.
    pub(super) fn argument(&mut self, value: &ast::Expr) -> Result<Expr> {
        match value {
            ast::Expr::Star(star) if !star.path.is_empty() => self.starred_row(star),
            value => self.expr(value),
        }
    }

    /// Decorations that only aggregates may have.
    pub(super) fn check_plain(&self, call: &FuncCall) -> Result<()> {
        let name = call.name.last();
        let refuse = |what: &str| -> Result<()> {
            Err(at(
                sql_error!(
                    WRONG_OBJECT_TYPE,
                    "{what} specified, but {name} is not an aggregate function"
                ),
                call.loc,
            ))
        };
        if call.star {
            return Err(at(
                sql_error!(
                    WRONG_OBJECT_TYPE,
                    "{name}(*) specified, but {name} is not an aggregate function"
                ),
                call.loc,
            ));
        }
        if call.distinct {
            return refuse("DISTINCT");
        }
        if call.within_group {
            return refuse("WITHIN GROUP");
        }
        if !call.order_by.is_empty() {
            return refuse("ORDER BY");
        }
        if call.filter.is_some() {
            return refuse("FILTER");
        }
        Ok(())
    }

    pub(super) fn scalar(
        &mut self,
        call: &FuncCall,
        candidate: Candidate<Function>,
        args: Vec<Expr>,
    ) -> Result<Expr> {
        let func = candidate.func;
        if let ("pg_collation_for", [arg]) = (func.name, &args[..]) {
            return self.collation_for(arg);
        }
        if matches!(func.body, crate::func::Body::Window) {
            return Err(at(
                sql_error!(
                    WRONG_OBJECT_TYPE,
                    "window function {} requires an OVER clause",
                    func.name
                ),
                call.loc,
            ));
        }
        if func.returns_set {
            if !self.kind.allows_sets() {
                return Err(at(
                    sql_error!(
                        FEATURE_NOT_SUPPORTED,
                        "set-returning functions are not allowed in {}",
                        self.kind.words()
                    ),
                    call.loc,
                ));
            }
            if self.kind != ExprKind::FromFunction {
                self.scope().has_srf = true;
            }
        }
        let given = args.len();
        let (mut args, id) =
            self.fit_arguments(&candidate.args, func.result, args, func.name, call.loc)?;
        // Arguments left out take their defaults.
        let missing = func.args.len().saturating_sub(given);
        if missing > 0 && candidate.spread.is_none() {
            let first = func.defaults.len() - missing;
            for (at, id) in (first..).zip(&func.args[given..]) {
                let literal = default_value(func, at);
                let arg = self.coerce(literal, Ty::of(*id), CastUse::Implicit, call.loc)?;
                args.push(arg.expect("a default is a literal"));
            }
        }
        if super::json::makes_json(func.name) {
            args = args.into_iter().map(|arg| self.named_rows(arg)).collect::<Result<_>>()?;
        }
        let mut variadic = call.variadic;
        // VARIADIC "any" keeps its arguments apart: each has its own type.
        if let Some(from) = candidate.spread.filter(|from| func.args[*from] != TypeId::ANY) {
            let rest = args.split_off(from);
            args.push(self.gather(rest, func.args[from])?);
            variadic = false;
        }
        let shape = if call.sql_syntax { Shape::SqlSyntax } else { Shape::Function };
        let (ty, collation, loc) = (Ty::of(id), Collation::NONE, call.loc);
        let mut call = Call { func, args, ty, collation, variadic, shape, loc };
        self.collate_call(&mut call)?;
        Ok(Expr::Call(Box::new(call)))
    }

    /// The arguments of a variadic parameter as one array.
    fn gather(&mut self, elements: Vec<Expr>, declared: TypeId) -> Result<Expr> {
        let element_type = match element_of(declared) {
            Some(element) => element,
            None => elements[0].type_id(),
        };
        let Some(array) = self.catalog.array_of(element_type) else {
            bail!(
                UNDEFINED_OBJECT,
                "could not find array type for data type {}",
                display(Ty::of(element_type))
            );
        };
        let ty = Ty::of(array);
        Ok(Expr::Array(Box::new(ArrayExpr { elements, element_type, nested: false, ty })))
    }

    /// Converts arguments to the declared types and finds a polymorphic call's actual result type.
    pub(super) fn fit_arguments(
        &mut self,
        declared: &[TypeId],
        result: TypeId,
        args: Vec<Expr>,
        name: &str,
        loc: Loc,
    ) -> Result<(Vec<Expr>, TypeId)> {
        let mut args = args;
        let concrete = self.polymorphic(declared, &mut args, name, loc)?;
        let mut fitted = Vec::with_capacity(args.len());
        for (arg, declared) in args.into_iter().zip(declared) {
            let to = match concrete.resolve(*declared, self) {
                Some(id) => id,
                None => arg.type_id(),
            };
            let (own, place) = (arg.ty(), arg.loc());
            let arg = if *declared == TypeId::ANY {
                coerce::resolve_unknown(self, arg)?
            } else if to == own.id {
                arg
            } else {
                match self.coerce(arg, Ty::of(to), CastUse::Implicit, place)? {
                    Some(arg) => arg,
                    None => {
                        return Err(at(
                            sql_error!(
                                CANNOT_COERCE,
                                "cannot cast type {} to {}",
                                display(own),
                                display(Ty::of(to))
                            ),
                            loc,
                        ));
                    }
                }
            };
            fitted.push(arg);
        }
        let result = if is_polymorphic(result) {
            match concrete.resolve(result, self) {
                Some(id) => id,
                None => {
                    return Err(at(
                        sql_error!(
                            DATATYPE_MISMATCH,
                            "could not determine polymorphic type because input has type unknown"
                        ),
                        loc,
                    ));
                }
            }
        } else {
            result
        };
        Ok((fitted, result))
    }

    /// What `anyelement` and `anycompatible` stand for in this call.
    fn polymorphic(
        &mut self,
        declared: &[TypeId],
        args: &mut [Expr],
        name: &str,
        loc: Loc,
    ) -> Result<Concrete> {
        let mut concrete = Concrete::default();
        let mut compatible: Vec<Expr> = Vec::new();
        for (id, arg) in declared.iter().zip(args.iter()) {
            let own = arg.type_id();
            if own == TypeId::UNKNOWN {
                continue;
            }
            match *id {
                TypeId::ANYENUM if !own.is_enum() => bail!(
                    DATATYPE_MISMATCH,
                    "type matched to anyenum is not an enum type: {}",
                    display(Ty::of(own))
                ),
                TypeId::ANYELEMENT | TypeId::ANYNONARRAY | TypeId::ANYENUM => {
                    concrete.element.get_or_insert(own);
                }
                TypeId::ANYARRAY => {
                    if let Some(element) = element_of(own) {
                        concrete.element.get_or_insert(element);
                        concrete.array.get_or_insert(own);
                    }
                }
                TypeId::ANYCOMPATIBLE | TypeId::ANYCOMPATIBLENONARRAY => {
                    compatible.push(arg.clone());
                }
                TypeId::ANYCOMPATIBLEARRAY => {
                    if let Some(element) = element_of(own) {
                        compatible.push(Expr::null(Ty::of(element)));
                    }
                }
                _ => {}
            }
        }
        if !compatible.is_empty() {
            let ty = self.common_type(&compatible, name).map_err(|e| at(e, loc))?;
            concrete.compatible = Some(ty.id);
        }
        let wants = |set: &[TypeId]| declared.iter().any(|id| set.contains(id));
        if concrete.element.is_none()
            && wants(&[TypeId::ANYELEMENT, TypeId::ANYNONARRAY, TypeId::ANYARRAY, TypeId::ANYENUM])
        {
            if declared.iter().any(|id| matches!(*id, TypeId::ANYARRAY | TypeId::ANYENUM)) {
                return Err(at(
                    sql_error!(
                        DATATYPE_MISMATCH,
                        "could not determine polymorphic type because input has type unknown"
                    ),
                    loc,
                ));
            }
            concrete.element = Some(TypeId::TEXT);
        }
        if concrete.compatible.is_none()
            && wants(&[
                TypeId::ANYCOMPATIBLE,
                TypeId::ANYCOMPATIBLENONARRAY,
                TypeId::ANYCOMPATIBLEARRAY,
            ])
        {
            concrete.compatible = Some(TypeId::TEXT);
        }
        Ok(concrete)
    }

    fn aggregate(
        &mut self,
        call: &FuncCall,
        mut candidate: Candidate<Aggregate>,
        args: Vec<Expr>,
    ) -> Result<Expr> {
        if call.within_group {
            return Err(at(SqlError::unsupported("WITHIN GROUP is not supported yet"), call.loc));
        }
        let args = self.json_aggregate(&mut candidate.func, &mut candidate.args, args)?;
        let agg = candidate.func;
        let (args, id) =
            self.fit_arguments(&candidate.args, agg.result, args, agg.name, call.loc)?;
        let mut order_by = Vec::with_capacity(call.order_by.len());
        for item in &call.order_by {
            let expr = self.expr(&item.expr)?;
            let expr = coerce::resolve_unknown(self, expr)?;
            let (desc, nulls_first) = self.sort_direction(item)?;
            self.check_sortable(&expr)?;
            order_by.push(SortExpr::new(expr, desc, nulls_first));
        }
        let filter = match &call.filter {
            Some(filter) => {
                Some(self.with_kind(ExprKind::Filter, |b| b.condition(filter, "FILTER"))?)
            }
            None => None,
        };
        if call.distinct {
            for arg in &args {
                self.check_hashable(arg)?;
                let loose = super::collate::of(arg).loose().is_some();
                if loose && !matches!(agg.name, "count" | "min" | "max") {
                    return Err(at(super::setop::loose_rows("aggregates with DISTINCT"), call.loc));
                }
            }
            if order_by.iter().any(|key| !args.iter().any(|a| walk::same(a, &key.expr))) {
                return Err(at(
                    sql_error!(
                        INVALID_COLUMN_REFERENCE,
                        "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
                    ),
                    call.loc,
                ));
            }
        }
        let parts = args.iter().chain(order_by.iter().map(|key| &key.expr)).chain(&filter);
        let level = self.aggregate_level("aggregate functions", parts, call.loc)?;
        let (_, order) = self.common_collation(&args)?;
        let agg = func::aggregate_under(agg, order)?;
        Ok(Expr::Aggregate(Box::new(AggCall {
            agg,
            args,
            star: call.star,
            distinct: call.distinct,
            order_by,
            filter,
            ty: Ty::of(id),
            level,
            loc: call.loc,
        })))
    }

    /// An aggregate, or GROUPING, belongs to the innermost query whose columns its parts use.
    pub(super) fn aggregate_level<'e>(
        &mut self,
        what: &str,
        parts: impl IntoIterator<Item = &'e Expr>,
        loc: Loc,
    ) -> Result<u16> {
        let mut level: Option<u16> = None;
        for part in parts {
            walk::each_var(part, 0, &mut |var, depth| {
                if let Some(own) = var.level.checked_sub(depth) {
                    level = Some(level.map_or(own, |l| l.min(own)));
                }
            });
            if let (Some(nested), 0) = (find_aggregate(part), level.unwrap_or(0)) {
                return Err(at(
                    sql_error!(GROUPING_ERROR, "aggregate function calls cannot be nested"),
                    nested,
                ));
            }
            if walk::any(part, &mut |e| matches!(e, Expr::Window(_))) {
                return Err(at(
                    sql_error!(
                        GROUPING_ERROR,
                        "aggregate function calls cannot contain window function calls"
                    ),
                    loc,
                ));
            }
        }
        let level = level.unwrap_or(0);
        let kind = self.kind_at(level);
        if !kind.allows_aggregates() {
            let words = match kind {
                ExprKind::None if level > 0 => "FROM clause of their own query level",
                kind => kind.words(),
            };
            return Err(at(sql_error!(GROUPING_ERROR, "{what} are not allowed in {words}"), loc));
        }
        let depth = self.scopes.len().saturating_sub(1 + usize::from(level));
        if let Some(scope) = self.scopes.get_mut(depth) {
            mark_aggregate(scope);
        }
        Ok(level)
    }

    /// `type(value)` is a cast where no function of that name fits.
    fn cast_function(&mut self, call: &FuncCall, mut args: Vec<Expr>) -> Result<Expr> {
        let name = call.name.last();
        if args.len() == 1
            && !call.star
            && !call.distinct
            && let Some(id) = self.catalog.type_by_name(call.name.schema(), name, call.loc)?
        {
            let arg = args.pop().expect("just counted");
            let own = arg.type_id();
            if let Some(expr) = self.coerce(arg, Ty::of(id), CastUse::Explicit, call.loc)? {
                return Ok(expr);
            }
            return Err(no_function(name, &[own], call.loc));
        }
        let types: Vec<TypeId> = args.iter().map(Expr::type_id).collect();
        let shown = call.name.parts.join(".");
        if call.star {
            return Err(no_function(&shown, &[], call.loc));
        }
        Err(no_function(&shown, &types, call.loc))
    }

    fn resolve(&mut self, name: &str, types: &[TypeId], call: &FuncCall) -> Result<Option<Target>> {
        let ambiguous = |loc| not_unique(name, &display_list(types), loc);
        match resolve_aggregate(name, types, call.star) {
            Ok(Some(candidate)) => return Ok(Some(Target::Aggregate(candidate))),
            Ok(None) => {}
            Err(Unclear) => return Err(ambiguous(call.loc)),
        }
        // `text('x')` and its kin are casts unless a function fits exactly.
        if let [only] = types
            && let Some(id) = crate::types::type_by_name(name).map(|info| info.id)
        {
            let exact = func::functions(name).any(|f| f.args == [*only]);
            if !exact && (*only == TypeId::UNKNOWN || func::cast(*only, id).is_some()) {
                return Ok(None);
            }
        }
        match resolve_function(name, types, call.variadic) {
            Ok(found) => Ok(found.map(Target::Function)),
            Err(Unclear) => Err(ambiguous(call.loc)),
        }
    }
}

/// What polymorphic types stand for in one call.
#[derive(Default)]
struct Concrete {
    element: Option<TypeId>,
    array: Option<TypeId>,
    compatible: Option<TypeId>,
}

impl Concrete {
    fn resolve(&self, declared: TypeId, b: &Binder<'_, '_>) -> Option<TypeId> {
        match declared {
            TypeId::ANYELEMENT | TypeId::ANYNONARRAY | TypeId::ANYENUM => self.element,
            TypeId::ANYARRAY => {
                self.array.or_else(|| self.element.and_then(|e| b.catalog.array_of(e)))
            }
            TypeId::ANYCOMPATIBLE | TypeId::ANYCOMPATIBLENONARRAY => self.compatible,
            TypeId::ANYCOMPATIBLEARRAY => self.compatible.and_then(|e| b.catalog.array_of(e)),
            other => Some(other),
        }
    }
}

fn mark_aggregate(scope: &mut Scope) {
    scope.has_aggregates = true;
}

pub(super) fn no_function(name: &str, types: &[TypeId], loc: Loc) -> SqlError {
    undefined(name, &display_list(types), loc)
}

/// No function fits these arguments, which are as the message has them.
pub(super) fn undefined(name: &str, args: &str, loc: Loc) -> SqlError {
    at(
        sql_error!(UNDEFINED_FUNCTION, "function {name}({args}) does not exist").with_hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        ),
        loc,
    )
}

/// Several fit equally well.
pub(super) fn not_unique(name: &str, args: &str, loc: Loc) -> SqlError {
    at(
        sql_error!(AMBIGUOUS_FUNCTION, "function {name}({args}) is not unique").with_hint(
            "Could not choose a best candidate function. You might need to add explicit type casts.",
        ),
        loc,
    )
}

/// What an argument that was left out is; `at` counts those that may be.
pub(super) fn default_value(func: &Function, at: usize) -> Expr {
    let text = func.defaults[at];
    // A text is written as a literal with its type.
    let text =
        text.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).map_or(text, |(own, _)| own);
    let value = if text == "NULL" { Datum::Null } else { Datum::text(text) };
    Expr::Const(Const { value, ty: Ty::UNKNOWN, loc: Loc::NONE })
}

/// How a declared argument list matches a call of `given` arguments.
fn spread(
    declared: &[TypeId],
    variadic: bool,
    defaults: usize,
    given: usize,
    as_array: bool,
) -> Option<(Vec<TypeId>, Option<usize>)> {
    if variadic && !as_array {
        let fixed = declared.len() - 1;
        if given < declared.len() {
            return None;
        }
        let last = declared[fixed];
        let element = match last {
            TypeId::ANY => TypeId::ANY,
            TypeId::ANYARRAY => TypeId::ANYELEMENT,
            TypeId::ANYCOMPATIBLEARRAY => TypeId::ANYCOMPATIBLE,
            array => element_of(array)?,
        };
        let mut args = declared[..fixed].to_vec();
        args.resize(given, element);
        return Some((args, Some(fixed)));
    }
    let enough = given <= declared.len() && given + defaults >= declared.len();
    enough.then(|| (declared[..given].to_vec(), None))
}

fn resolve_function(
    name: &str,
    types: &[TypeId],
    as_array: bool,
) -> std::result::Result<Option<Candidate<Function>>, Unclear> {
    let mut candidates: Vec<Candidate<Function>> = Vec::new();
    for func in func::functions(name) {
        let fit = spread(func.args, func.variadic, func.defaults.len(), types.len(), as_array);
        if let Some((args, spread)) = fit {
            candidates.push(Candidate { func, args, spread });
        }
    }
    pick(candidates, types)
}

pub(super) fn resolve_window_function(
    name: &str,
    types: &[TypeId],
) -> Option<(&'static Function, Vec<TypeId>)> {
    let found = resolve_function(name, types, false).ok().flatten()?;
    Some((found.func, found.args))
}

pub(super) fn resolve_window_aggregate(
    name: &str,
    types: &[TypeId],
    star: bool,
) -> Option<(&'static Aggregate, Vec<TypeId>)> {
    let found = resolve_aggregate(name, types, star).ok().flatten()?;
    Some((found.func, found.args))
}

fn resolve_aggregate(
    name: &str,
    types: &[TypeId],
    star: bool,
) -> std::result::Result<Option<Candidate<Aggregate>>, Unclear> {
    let mut candidates = Vec::new();
    for agg in func::aggregates(name) {
        if star != (agg.args.is_empty()) {
            continue;
        }
        if let Some((args, spread)) = spread(agg.args, agg.variadic, 0, types.len(), false) {
            candidates.push(Candidate { func: agg, args, spread });
        }
    }
    pick(candidates, types)
}

pub(super) fn pick<T>(
    mut candidates: Vec<Candidate<T>>,
    types: &[TypeId],
) -> std::result::Result<Option<Candidate<T>>, Unclear> {
    // An exact match wins over everything, a fixed one over a variadic one.
    if let Some(i) = candidates.iter().position(|c| c.args == types && c.spread.is_none()) {
        return Ok(Some(candidates.swap_remove(i)));
    }
    if let Some(i) = candidates.iter().position(|c| c.args == types) {
        return Ok(Some(candidates.swap_remove(i)));
    }
    let signatures: Vec<Vec<TypeId>> = candidates.iter().map(|c| c.args.clone()).collect();
    match choose(&signatures, types) {
        Choice::One(i) => Ok(Some(candidates.swap_remove(i))),
        Choice::None => Ok(None),
        Choice::Ambiguous => Err(Unclear),
    }
}
