//! Expressions: from syntax to typed trees.

use syntax::ast::{self, Indirection, LikeKind, Literal, Loc, Quantifier};

use crate::error::{Result, SqlError, bail, check_stack, sql_error};
use crate::func::{self, CastUse, Function, Operator, Order};
use crate::types::{Datum, TypeId, TypeInfo, type_info};

use super::func::no_sets_in;
use super::subscript::{no_parts, part_of, subscripted};
use super::tree::{
    ArgList, ArrayArg, ArrayExpr, ArrayOp, Case, Const, Distinct, Expr, IsBool, IsNull, MinMax,
    NullIf, Param, Ty,
};
use super::types::{display, element_of};
use super::{Binder, ExprKind, at, operator};

impl Binder<'_, '_> {
    /// Binds an expression.
    pub fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        check_stack()?;
        match expr {
            ast::Expr::Column(reference) => self.column_expr(reference),
            ast::Expr::Const(c) => constant(&c.value, c.loc),
            ast::Expr::Param(p) => self.param(p.number as usize, p.number, p.loc),
            ast::Expr::Lifted(lifted) => self.lifted(lifted),
            ast::Expr::Unary(unary) => {
                let arg = self.expr(&unary.arg)?;
                self.check_operator_schema(&unary.op)?;
                self.prefix_operator(&unary.op.symbol, arg, unary.op.loc)
            }
            ast::Expr::Binary(binary) => self.binary(binary),
            ast::Expr::Quantified(q) => self.quantified(q),
            ast::Expr::InList(list) => self.in_list(list),
            ast::Expr::Like(like) => self.like(like),
            ast::Expr::Between(between) => self.between(between),
            ast::Expr::IsDistinct(d) => self.is_distinct(d),
            ast::Expr::NullIf(n) => {
                let left = self.expr(&n.left)?;
                let right = self.expr(&n.right)?;
                let equal = self.operator_call("=", left, right, n.loc)?;
                // The value is the left one as it is compared.
                let ty = equal.args[0].ty();
                Ok(Expr::NullIf(Box::new(NullIf { equal, ty })))
            }
            ast::Expr::And(list) => self.bool_list(list, "AND").map(Expr::And),
            ast::Expr::Or(list) => self.bool_list(list, "OR").map(Expr::Or),
            ast::Expr::Not(not) => {
                let arg = self.expr(&not.arg)?;
                Ok(Expr::Not(Box::new(self.boolean(arg, "NOT")?)))
            }
            ast::Expr::IsNull(n) => {
                let arg = self.expr(&n.arg)?;
                let arg = super::coerce::resolve_unknown(self, arg)?;
                let row = arg.type_id() == TypeId::RECORD;
                Ok(Expr::IsNull(Box::new(IsNull { arg, negated: n.negated, row })))
            }
            ast::Expr::IsBool(n) => {
                let arg = self.expr(&n.arg)?;
                let words = match (n.value, n.negated) {
                    (Some(true), false) => "IS TRUE",
                    (Some(true), true) => "IS NOT TRUE",
                    (Some(false), false) => "IS FALSE",
                    (Some(false), true) => "IS NOT FALSE",
                    (None, false) => "IS UNKNOWN",
                    (None, true) => "IS NOT UNKNOWN",
                };
                let arg = self.boolean(arg, words)?;
                Ok(Expr::IsBool(Box::new(IsBool { arg, value: n.value, negated: n.negated })))
            }
            ast::Expr::Case(case) => self.case(case),
            ast::Expr::Coalesce(list) => {
                let (args, ty) = self.common_args(&list.args, "COALESCE")?;
                self.common_collation(&args)?;
                let coalesce = Expr::Coalesce(Box::new(ArgList { args, ty }));
                no_sets_in(&coalesce, "COALESCE")?;
                Ok(coalesce)
            }
            ast::Expr::Greatest(list) => self.min_max(list, true),
            ast::Expr::Least(list) => self.min_max(list, false),
            ast::Expr::Cast(cast) => self.cast(cast),
            ast::Expr::Collate(collate) => self.collate(collate),
            ast::Expr::Array(list) => self.array(list, None),
            ast::Expr::Row(row) => {
                let mut args = self.row_fields(&row.args)?;
                for arg in &mut args {
                    let field = std::mem::replace(arg, Expr::bool(true));
                    *arg = super::coerce::resolve_unknown(self, field)?;
                }
                Ok(Expr::Row(Box::new(ArgList { args, ty: Ty::of(TypeId::RECORD) })))
            }
            ast::Expr::Indirection(ind) => self.indirection(ind),
            ast::Expr::SubLink(link) => self.sublink(link),
            ast::Expr::Func(call) => self.call(call),
            ast::Expr::SqlValue(value) => Ok(super::naming::sql_value(value)),
            ast::Expr::Grouping(list) => self.grouping(list),
            ast::Expr::Star(star) => Err(at(
                sql_error!(SYNTAX_ERROR, "row expansion via \"*\" is not supported here"),
                star.loc,
            )),
            ast::Expr::Default(loc) => {
                Err(at(sql_error!(SYNTAX_ERROR, "DEFAULT is not allowed in this context"), *loc))
            }
            ast::Expr::CurrentOf(cursor) => self.current_of(cursor),
        }
    }

    fn column_expr(&mut self, reference: &ast::ColumnRef) -> Result<Expr> {
        let refused = match self.kind {
            ExprKind::Default => Some("cannot use column reference in DEFAULT expression"),
            ExprKind::PartitionBound => {
                Some("cannot use column reference in partition bound expression")
            }
            _ => None,
        };
        match refused {
            Some(message) => Err(at(
                SqlError::new(crate::error::SqlState::FEATURE_NOT_SUPPORTED, message),
                reference.loc,
            )),
            None => self.column(reference),
        }
    }

    fn param(&mut self, position: usize, number: u32, loc: Loc) -> Result<Expr> {
        let index = position.wrapping_sub(1);
        let id = self.params.get(index, number, loc)?;
        Ok(Expr::Param(Param { index: index as u16, ty: Ty::of(id), loc }))
    }

    /// A lifted constant is a parameter with the type that the literal would have had.
    fn lifted(&mut self, lifted: &ast::LiftedConst) -> Result<Expr> {
        let index = lifted.slot as usize;
        let own = constant(&lifted.literal, lifted.loc)?.type_id();
        if index >= self.params.types.len() {
            self.params.types.resize(index + 1, TypeId::INVALID);
        }
        if own != TypeId::UNKNOWN {
            self.params.types[index] = own;
        }
        Ok(Expr::Param(Param { index: index as u16, ty: Ty::of(own), loc: lifted.loc }))
    }

    pub(super) fn check_operator_schema(&self, op: &ast::Operator) -> Result<()> {
        match op.schema.last() {
            Some(schema) if &**schema != "pg_catalog" => Err(at(
                sql_error!(
                    UNDEFINED_FUNCTION,
                    "operator does not exist: {}.{}",
                    op.schema.join("."),
                    op.symbol
                ),
                op.loc,
            )),
            _ => Ok(()),
        }
    }

    fn binary(&mut self, binary: &ast::BinaryExpr) -> Result<Expr> {
        self.check_operator_schema(&binary.op)?;
        if let (ast::Expr::Row(left), ast::Expr::Row(right)) = (&binary.left, &binary.right) {
            return self.row_compare(&binary.op, &left.args, &right.args);
        }
        if let (ast::Expr::Row(row), ast::Expr::SubLink(link)) = (&binary.left, &binary.right)
            && matches!(link.kind, ast::SubLinkKind::Scalar)
        {
            return self.row_compare_link(&binary.op, &row.args, link);
        }
        let left = self.expr(&binary.left)?;
        let right = self.expr(&binary.right)?;
        self.operator(&binary.op.symbol, left, right, binary.op.loc)
    }

    fn quantified(&mut self, q: &ast::QuantifiedExpr) -> Result<Expr> {
        self.check_operator_schema(&q.op)?;
        let left = self.expr(&q.left)?;
        let mut array = self.expr(&q.array)?;
        if array.type_id() == TypeId::UNKNOWN {
            // The literal is an array of what the left side is.
            let element =
                if left.type_id() == TypeId::UNKNOWN { TypeId::TEXT } else { left.type_id() };
            if let Some(id) = self.catalog.array_of(element) {
                let loc = array.loc();
                array = self.coerce(array, Ty::of(id), CastUse::Implicit, loc)?.expect("a literal");
            }
        }
        let Some(element) = element_of(array.type_id()) else {
            return Err(at(
                sql_error!(WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side"),
                q.op.loc,
            ));
        };
        let op =
            operator::binary(&q.op.symbol, left.type_id(), element).map_err(|e| at(e, q.op.loc))?;
        if op.result != TypeId::BOOL {
            return Err(at(
                sql_error!(
                    WRONG_OBJECT_TYPE,
                    "op ANY/ALL (array) requires operator to yield boolean"
                ),
                q.op.loc,
            ));
        }
        let left_type = match left.type_id() {
            TypeId::UNKNOWN if op.left == TypeId::ANYENUM => element,
            own if super::types::is_polymorphic(op.left) => own,
            _ => op.left,
        };
        let loc = left.loc();
        let left = self
            .coerce(left, Ty::of(left_type), CastUse::Implicit, loc)?
            .unwrap_or_else(|| Expr::null(Ty::of(left_type)));
        let right_type = if super::types::is_polymorphic(op.right) { element } else { op.right };
        if right_type != element
            && let Some(id) = self.catalog.array_of(right_type)
            && let Some(cast) =
                self.coerce(array.clone(), Ty::of(id), CastUse::Implicit, q.op.loc)?
        {
            array = cast;
        }
        let (collation, order) = self.common_collation([&left, &array])?;
        Ok(Expr::ArrayOp(Box::new(ArrayOp {
            func: self.element_test(op.func, order, &left)?,
            symbol: q.op.symbol.clone(),
            left,
            right: ArrayArg::of(array),
            all: q.quantifier == Quantifier::All,
            collation,
            loc: q.op.loc,
            hashed: None,
        })))
    }

    fn in_list(&mut self, list: &ast::InListExpr) -> Result<Expr> {
        let symbol = if list.negated { "<>" } else { "=" };
        let op = ast::Operator { schema: Vec::new(), symbol: symbol.into(), loc: list.loc };
        if let ast::Expr::Row(row) = &list.arg {
            let mut parts = Vec::new();
            for item in &list.list {
                let ast::Expr::Row(other) = item else {
                    return Err(at(
                        sql_error!(
                            UNDEFINED_FUNCTION,
                            "operator does not exist: record {symbol} unknown"
                        ),
                        list.loc,
                    ));
                };
                parts.push(self.row_compare(&op, &row.args, &other.args)?);
            }
            if parts.len() == 1 {
                return Ok(parts.remove(0));
            }
            return Ok(if list.negated { Expr::And(parts) } else { Expr::Or(parts) });
        }
        let arg = self.expr(&list.arg)?;
        let mut members = Vec::with_capacity(list.list.len());
        for item in &list.list {
            members.push(self.expr(item)?);
        }
        // Members of one type make one comparison with a list; else each is compared by itself.
        let constant = members.len() > 1 && members.iter().all(super::walk::is_one_for_all);
        if constant {
            let mut all = vec![arg.clone()];
            all.extend(members.iter().cloned());
            if let Ok(ty) = self.common_type(&all, "IN") {
                let ty = if ty.id == TypeId::UNKNOWN { Ty::TEXT } else { Ty::of(ty.id) };
                if let Ok(found) = operator::binary(symbol, arg.type_id(), ty.id)
                    && let Some((left, right)) = operands(found, ty.id)
                {
                    let mut fitted = Vec::with_capacity(members.len());
                    let ty = Ty::of(right);
                    for member in members {
                        fitted.push(self.coerce_common(member, ty, "IN")?);
                    }
                    let loc = arg.loc();
                    let arg = self
                        .coerce(arg, Ty::of(left), CastUse::Implicit, loc)?
                        .expect("the operator was chosen for it");
                    let (collation, order) =
                        self.common_collation(std::iter::once(&arg).chain(&fitted))?;
                    return Ok(Expr::ArrayOp(Box::new(ArrayOp {
                        func: self.element_test(found.func, order, &arg)?,
                        symbol: symbol.into(),
                        left: arg,
                        right: ArrayArg::List(fitted),
                        all: list.negated,
                        collation,
                        loc: list.loc,
                        hashed: None,
                    })));
                }
            }
        }
        let mut parts = Vec::with_capacity(members.len());
        for member in members {
            parts.push(self.operator(symbol, arg.clone(), member, list.loc)?);
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        Ok(if list.negated { Expr::And(parts) } else { Expr::Or(parts) })
    }

    fn like(&mut self, like: &ast::LikeExpr) -> Result<Expr> {
        let arg = self.expr(&like.arg)?;
        let pattern = self.expr(&like.pattern)?;
        let escape = like.escape.as_ref().map(|e| self.expr(e)).transpose()?;
        let (symbol, pattern) = match like.kind {
            LikeKind::Like | LikeKind::ILike => {
                let pattern = match escape {
                    None => pattern,
                    Some(escape) => {
                        self.function("like_escape", vec![pattern, escape], like.loc)?
                    }
                };
                let symbol = match (like.kind, like.negated) {
                    (LikeKind::Like, false) => "~~",
                    (LikeKind::Like, true) => "!~~",
                    (_, false) => "~~*",
                    (_, true) => "!~~*",
                };
                (symbol, pattern)
            }
            LikeKind::SimilarTo => {
                let mut args = vec![pattern];
                args.extend(escape);
                let pattern = self.function("similar_to_escape", args, like.loc)?;
                (if like.negated { "!~" } else { "~" }, pattern)
            }
        };
        self.operator(symbol, arg, pattern, like.loc)
    }

    fn between(&mut self, between: &ast::BetweenExpr) -> Result<Expr> {
        let arg = self.expr(&between.arg)?;
        let low = self.expr(&between.low)?;
        let high = self.expr(&between.high)?;
        let (low, high) = ((&between.low, low), (&between.high, high));
        let one = |b: &mut Self, low: &(_, Expr), high: &(_, Expr)| -> Result<Expr> {
            let (below, above) = if between.negated { ("<", ">") } else { (">=", "<=") };
            let mut side = |symbol: &str, (written, bound): &(&ast::Expr, Expr)| {
                let arg = b.once_more(&between.arg, &arg)?;
                let bound = b.once_more(written, bound)?;
                b.operator(symbol, arg, bound, between.loc)
            };
            let (first, second) = (side(below, low)?, side(above, high)?);
            Ok(if between.negated {
                Expr::Or(vec![first, second])
            } else {
                Expr::And(vec![first, second])
            })
        };
        let straight = one(self, &low, &high)?;
        if !between.symmetric {
            return Ok(straight);
        }
        let swapped = one(self, &high, &low)?;
        Ok(if between.negated {
            Expr::And(vec![straight, swapped])
        } else {
            Expr::Or(vec![straight, swapped])
        })
    }

    /// What was bound already, for another use: a parameter has the type that its first use gave it.
    fn once_more(&mut self, written: &ast::Expr, bound: &Expr) -> Result<Expr> {
        match written {
            ast::Expr::Param(_) => self.expr(written),
            _ => Ok(bound.clone()),
        }
    }

    fn is_distinct(&mut self, d: &ast::IsDistinctExpr) -> Result<Expr> {
        if let (ast::Expr::Row(left), ast::Expr::Row(right)) = (&d.left, &d.right) {
            return self.rows_distinct(&left.args, &right.args, d);
        }
        let left = self.expr(&d.left)?;
        let right = self.expr(&d.right)?;
        for (side, other) in [(&left, &right), (&right, &left)] {
            if let Expr::Const(Const { value: Datum::Null, .. }) = side {
                return Ok(Expr::IsNull(Box::new(IsNull {
                    arg: other.clone(),
                    negated: !d.negated,
                    row: false,
                })));
            }
        }
        let equal = self.operator_call("=", left, right, d.loc)?;
        Ok(Expr::Distinct(Box::new(Distinct { equal, negated: d.negated })))
    }

    fn bool_list(&mut self, list: &ast::BoolExpr, words: &str) -> Result<Vec<Expr>> {
        let mut args = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            let arg = self.expr(arg)?;
            args.push(self.boolean(arg, words)?);
        }
        Ok(args)
    }

    fn common_args(&mut self, list: &[ast::Expr], words: &str) -> Result<(Vec<Expr>, Ty)> {
        let mut args = Vec::with_capacity(list.len());
        for arg in list {
            args.push(self.expr(arg)?);
        }
        let mut ty = self.common_type(&args, words)?;
        if ty.id == TypeId::UNKNOWN {
            ty = Ty::TEXT;
        }
        let mut fitted = Vec::with_capacity(args.len());
        for arg in args {
            fitted.push(self.coerce_common(arg, ty, words)?);
        }
        Ok((fitted, ty))
    }

    /// The function that an element is tested by.
    fn element_test(
        &mut self,
        func: &'static Function,
        order: Order,
        tested: &Expr,
    ) -> Result<&'static Function> {
        if func::compares_records(func) {
            self.check_order(tested)?;
        }
        Ok(func::under(func, order))
    }

    fn min_max(&mut self, list: &ast::ArgList, greatest: bool) -> Result<Expr> {
        let words = if greatest { "GREATEST" } else { "LEAST" };
        let (args, ty) = self.common_args(&list.args, words)?;
        self.check_sortable(&args[0])?;
        let (collation, order) = self.common_collation(&args)?;
        if let Order::Unclear = order {
            return Err(func::unclear_collation("string comparison"));
        }
        Ok(Expr::MinMax(Box::new(MinMax { args, greatest, collation, ty })))
    }

    fn case(&mut self, case: &ast::CaseExpr) -> Result<Expr> {
        let arg = match &case.arg {
            Some(arg) => {
                let arg = self.expr(arg)?;
                Some(super::coerce::resolve_unknown(self, arg)?)
            }
            None => None,
        };
        let mut conditions = Vec::with_capacity(case.whens.len());
        // PostgreSQL lets the default decide the type first.
        let default = case.default.as_ref().map(|d| self.expr(d)).transpose()?;
        let mut results = Vec::with_capacity(case.whens.len() + 1);
        for when in &case.whens {
            let condition = self.expr(&when.when)?;
            let condition = match &arg {
                Some(arg) => {
                    let subject = Expr::Element(arg.ty());
                    self.operator_hiding("=", subject, condition, (0, arg), when.loc)?
                }
                None => condition,
            };
            conditions.push(self.boolean(condition, "CASE/WHEN")?);
            results.push(self.expr(&when.then)?);
        }
        let mut all: Vec<Expr> = default.iter().cloned().collect();
        all.extend(results.iter().cloned());
        let mut ty = self.common_type(&all, "CASE")?;
        if ty.id == TypeId::UNKNOWN {
            ty = Ty::TEXT;
        }
        let mut whens = Vec::with_capacity(results.len());
        for (condition, result) in conditions.into_iter().zip(results) {
            whens.push((condition, self.coerce_common(result, ty, "CASE/WHEN")?));
        }
        let default = match default {
            Some(default) => Some(self.coerce_common(default, ty, "CASE/ELSE")?),
            None => None,
        };
        let case = Expr::Case(Box::new(Case { arg, whens, default, ty }));
        no_sets_in(&case, "CASE")?;
        self.check_explicit(&case)?;
        Ok(case)
    }

    fn cast(&mut self, cast: &ast::CastExpr) -> Result<Expr> {
        let ty = self.type_name(&cast.target)?;
        // ARRAY[…]::t[] types the elements before they are bound.
        let arg = match &cast.arg {
            ast::Expr::Array(list) if element_of(ty.id).is_some() => self.array(list, Some(ty))?,
            arg => self.expr(arg)?,
        };
        let own = arg.ty();
        if own.id == ty.id && ty.modifier < 0 && !matches!(arg, Expr::Const(_)) {
            // The same value, but it has no modifier any more.
            let bare = own.modifier < 0;
            return Ok(if bare { arg } else { super::coerce::relabel(arg, ty.id, true) });
        }
        match self.coerce(arg, ty, CastUse::Explicit, cast.loc)? {
            Some(expr) => Ok(expr),
            None => Err(at(
                sql_error!(
                    CANNOT_COERCE,
                    "cannot cast type {} to {}",
                    display(own),
                    display(Ty::of(ty.id))
                ),
                cast.loc,
            )),
        }
    }

    fn array(&mut self, list: &ast::ArgList, target: Option<Ty>) -> Result<Expr> {
        let nested = list.args.iter().any(|arg| matches!(arg, ast::Expr::Array(_)));
        let mut elements = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            elements.push(match arg {
                ast::Expr::Array(inner) => self.array(inner, target)?,
                arg => self.expr(arg)?,
            });
        }
        if let Some(target) = target {
            let element = element_of(target.id).expect("the caller looked");
            let is_array = |expr: &Expr| type_info(expr.type_id()).is_some_and(TypeInfo::is_array);
            let nested = nested || elements.iter().any(is_array);
            let to = if nested { target.id } else { element };
            let mut fitted = Vec::with_capacity(elements.len());
            for expr in elements {
                let (own, loc) = (expr.ty(), expr.loc());
                let ty = Ty { id: to, modifier: target.modifier };
                let Some(expr) = self.coerce(expr, ty, CastUse::Explicit, loc)? else {
                    return Err(at(
                        sql_error!(
                            CANNOT_COERCE,
                            "cannot cast type {} to {}",
                            display(own),
                            display(Ty::of(to))
                        ),
                        loc,
                    ));
                };
                fitted.push(expr);
            }
            let ty = Ty::of(target.id);
            return Ok(Expr::Array(Box::new(ArrayExpr {
                elements: fitted,
                element_type: element,
                nested,
                ty,
            })));
        }
        if elements.is_empty() {
            return Err(at(
                sql_error!(INDETERMINATE_DATATYPE, "cannot determine type of empty array")
                    .with_hint(
                        "Explicitly cast to the desired type, for example ARRAY[]::integer[].",
                    ),
                list.loc,
            ));
        }
        let mut ty = self.common_type(&elements, "ARRAY")?;
        if ty.id == TypeId::UNKNOWN {
            ty = Ty::TEXT;
        }
        let mut fitted = Vec::with_capacity(elements.len());
        for expr in elements {
            fitted.push(self.coerce_common(expr, ty, "ARRAY")?);
        }
        let already = element_of(ty.id);
        let (element_type, array, nested) = match already {
            Some(element) => (element, Some(ty.id), true),
            None => (ty.id, self.catalog.array_of(ty.id), false),
        };
        let Some(array) = array else {
            return Err(at(
                sql_error!(
                    UNDEFINED_OBJECT,
                    "could not find array type for data type {}",
                    display(ty)
                ),
                list.loc,
            ));
        };
        let ty = Ty { id: array, modifier: ty.modifier };
        Ok(Expr::Array(Box::new(ArrayExpr { elements: fitted, element_type, nested, ty })))
    }

    fn indirection(&mut self, ind: &ast::IndirectionExpr) -> Result<Expr> {
        let mut expr = self.expr(&ind.arg)?;
        let mut steps = ind.steps.iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                Indirection::Field(name) => expr = self.field_by_name(expr, name)?,
                Indirection::Star => {
                    bail!(SYNTAX_ERROR, "row expansion via \"*\" is not supported here")
                }
                first => {
                    let of = expr.type_id();
                    if part_of(of).is_none() && of != TypeId::NAME {
                        return Err(at(no_parts(expr.ty()), expr.loc()));
                    }
                    let mut subscripts = vec![self.subscript(first, of)?];
                    while let Some(next @ (Indirection::Index(_) | Indirection::Slice { .. })) =
                        steps.peek()
                    {
                        subscripts.push(self.subscript(next, of)?);
                        steps.next();
                    }
                    expr = subscripted(expr, subscripts)?;
                }
            }
        }
        Ok(expr)
    }

    fn grouping(&mut self, list: &ast::ArgList) -> Result<Expr> {
        // One bit of an integer for each.
        if list.args.len() > 31 {
            return Err(at(
                sql_error!(TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments"),
                list.loc,
            ));
        }
        let mut args = Vec::with_capacity(list.args.len());
        for arg in &list.args {
            args.push(self.expr(arg)?);
        }
        let level = self.aggregate_level("grouping operations", &args, list.loc)?;
        Ok(Expr::Grouping(Box::new(super::tree::Grouping { args, level, loc: list.loc })))
    }
}

/// A literal with the type that it has by itself.
pub(super) fn constant(value: &Literal, loc: Loc) -> Result<Expr> {
    let (value, ty) = match value {
        Literal::Null => (Datum::Null, Ty::UNKNOWN),
        Literal::Bool(b) => (Datum::Bool(*b), Ty::BOOL),
        Literal::Integer(n) => match i32::try_from(*n) {
            Ok(n) => (Datum::Int4(n), Ty::INT4),
            Err(_) => (Datum::Int8(*n), Ty::INT8),
        },
        Literal::Numeric(text) => match crate::types::Numeric::parse(text) {
            Ok(n) => (Datum::Numeric(n), Ty::of(TypeId::NUMERIC)),
            Err(_) => {
                let message = "value overflows numeric format";
                return Err(at(sql_error!(NUMERIC_VALUE_OUT_OF_RANGE, "{message}"), loc));
            }
        },
        Literal::String(text) => (Datum::text(&**text), Ty::UNKNOWN),
        Literal::Bits(_) => {
            return Err(at(SqlError::unsupported("type bit is not supported"), loc));
        }
    };
    Ok(Expr::Const(Const { value, ty, loc }))
}

/// The types that an operator takes on its sides where both are of this one: an enum's are its own. `None` for other operators of
/// any type.
fn operands(found: &Operator, of: TypeId) -> Option<(TypeId, TypeId)> {
    match (found.left, found.right) {
        (TypeId::ANYENUM, TypeId::ANYENUM) => Some((of, of)),
        (left, right) => (!super::types::is_polymorphic(right)).then_some((left, right)),
    }
}
