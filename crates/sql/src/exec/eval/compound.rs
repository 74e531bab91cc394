//! The rarer expressions: CASE, arrays, rows, comparisons of rows and lists.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::bind::element_of;
use crate::bind::tree::{
    ArrayArg, ArrayExpr, ArrayOp, Case, CollationKey, Comparison, Distinct, Expr, FieldSelect,
    MinMax, RowCompare, Subscript, SubscriptStep, ViaText,
};
use crate::error::{Result, sql_error, too_deep};
use crate::func;
use crate::types::array::{Dimension, MAX_DIMENSIONS, too_many_dimensions};
use crate::types::chars::NAME_MAX;
use crate::types::keycode::KeyColumn;
use crate::types::{Array, Datum, Record, TypeId, TypeMod, compare_alike, compare_under};

use super::{Cx, eval as value_of, eval_bool, invoke, invoke_pair, list, narrow};

pub(super) fn eval(expr: &Expr, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    match expr {
        Expr::Case(case) => eval_case(case, row, cx),
        Expr::Coalesce(list) => {
            for arg in &list.args {
                let value = value_of(arg, row, cx)?;
                if !value.is_null() {
                    return Ok(value);
                }
            }
            Ok(Datum::Null)
        }
        Expr::MinMax(minmax) => eval_minmax(minmax, row, cx),
        Expr::Distinct(distinct) => eval_distinct(distinct, row, cx),
        Expr::NullIf(null_if) => {
            let left = value_of(&null_if.equal.args[0], row, cx)?;
            let right = value_of(&null_if.equal.args[1], row, cx)?;
            match invoke_pair(&null_if.equal, &left, &right, cx)? {
                Datum::Bool(true) => Ok(Datum::Null),
                _ => Ok(left),
            }
        }
        Expr::ArrayOp(op) => eval_array_op(op, row, cx),
        Expr::Array(array) => eval_array(array, row, cx),
        Expr::Row(list) => {
            let fields = list.args.iter().map(|a| Ok((a.type_id(), value_of(a, row, cx)?)));
            let fields = fields.collect::<Result<Vec<_>>>()?;
            let record = Record::new(list.ty.id, fields);
            if record.is_too_deep() {
                return Err(too_deep());
            }
            Ok(Datum::Record(Arc::new(record)))
        }
        Expr::RowCompare(comparison) => eval_row_compare(comparison, row, cx),
        Expr::Subscript(subscript) => eval_subscript(subscript, row, cx),
        Expr::Field(select) => eval_field(select, row, cx),
        Expr::Collate(collate) => value_of(&collate.arg, row, cx),
        Expr::SortKey(key) => Ok(sort_key(key, value_of(&key.arg, row, cx)?)),
        Expr::Narrow(narrow) => {
            let value = value_of(&narrow.arg, row, cx)?;
            Ok(narrow::value(value, narrow.ty.id, narrow.to, cx))
        }
        Expr::ViaText(cast) => eval_via_text(cast, row, cx),
        Expr::ArrayCast(cast) => {
            let Datum::Array(array) = value_of(&cast.arg, row, cx)? else { return Ok(Datum::Null) };
            let mut elements = Vec::with_capacity(array.elements.len());
            for element in &array.elements {
                let outer = std::mem::replace(&mut cx.state.element, element.clone());
                let cast_value = value_of(&cast.cast, row, cx);
                cx.state.element = outer;
                elements.push(cast_value?);
            }
            let (element_type, dims) = (cast.element_type, array.dims.clone());
            Array { element_type, dims, elements }.checked().map(Datum::from)
        }
        other => Err(sql_error!(INTERNAL_ERROR, "cannot evaluate {other:?}")),
    }
}

fn eval_case(case: &Case, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let Some(subject) = &case.arg else { return eval_branches(case, row, cx) };
    let subject = value_of(subject, row, cx)?;
    let outer = std::mem::replace(&mut cx.state.element, subject);
    let result = eval_branches(case, row, cx);
    cx.state.element = outer;
    result
}

fn eval_branches(case: &Case, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    for (when, then) in &case.whens {
        if eval_bool(when, row, cx)? {
            return value_of(then, row, cx);
        }
    }
    case.default.as_ref().map_or(Ok(Datum::Null), |d| value_of(d, row, cx))
}

fn eval_minmax(minmax: &MinMax, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let wanted = if minmax.greatest { Ordering::Less } else { Ordering::Greater };
    let mut best = Datum::Null;
    for arg in &minmax.args {
        let value = value_of(arg, row, cx)?;
        if value.is_null() {
            continue;
        }
        if !best.is_null() {
            let order = match minmax.collation.rules() {
                None => compare_alike(minmax.ty.id, &best, &value)?,
                Some(rules) => compare_under(rules, minmax.ty.id, &best, &value),
            };
            if order != wanted {
                continue;
            }
        }
        best = value;
    }
    Ok(best)
}

fn eval_distinct(distinct: &Distinct, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let left = value_of(&distinct.equal.args[0], row, cx)?;
    let right = value_of(&distinct.equal.args[1], row, cx)?;
    let differ = match (left.is_null(), right.is_null()) {
        (true, true) => false,
        (true, false) | (false, true) => true,
        _ => !matches!(invoke_pair(&distinct.equal, &left, &right, cx)?, Datum::Bool(true)),
    };
    Ok(Datum::Bool(differ != distinct.negated))
}

/// ANY is true for one true comparison, ALL false for one false; nulls leave it open.
fn eval_array_op(op: &ArrayOp, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    if let Some(hashed) = &op.hashed
        && let Some(answer) = list::eval(op, hashed, row, cx)?
    {
        return Ok(answer);
    }
    let left = value_of(&op.left, row, cx)?;
    let mut open = false;
    let mut decide = |right: &Datum, right_type: TypeId, cx: &mut Cx<'_>| -> Result<bool> {
        let outcome = if op.func.strict && (left.is_null() || right.is_null()) {
            Datum::Null
        } else {
            let types = [op.left.type_id(), right_type];
            invoke(op.func, &[left.clone(), right.clone()], &types, TypeId::BOOL, cx)?
        };
        match outcome {
            Datum::Bool(holds) => Ok(holds != op.all),
            _ => {
                open = true;
                Ok(false)
            }
        }
    };
    let mut decided = false;
    match &op.right {
        ArrayArg::List(list) => {
            for arg in list {
                let right = value_of(arg, row, cx)?;
                if decide(&right, arg.type_id(), cx)? {
                    decided = true;
                    break;
                }
            }
        }
        ArrayArg::Array(array) => {
            let Datum::Array(array) = value_of(array, row, cx)? else { return Ok(Datum::Null) };
            for right in &array.elements {
                if decide(right, array.element_type, cx)? {
                    decided = true;
                    break;
                }
            }
        }
    }
    Ok(match (decided, open) {
        (true, _) => Datum::Bool(!op.all),
        (false, true) => Datum::Null,
        (false, false) => Datum::Bool(op.all),
    })
}

fn eval_array(array: &ArrayExpr, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let values = array.elements.iter().map(|e| value_of(e, row, cx)).collect::<Result<Vec<_>>>()?;
    let made = match array.nested {
        false => Array::from_elements(array.element_type, values),
        true => nested_array(array.element_type, &values)?,
    };
    made.checked().map(Datum::from)
}

/// An array whose elements are arrays of one shape; nulls and empty ones only together.
fn nested_array(element_type: TypeId, values: &[Datum]) -> Result<Array> {
    let mut inner: Option<&[Dimension]> = None;
    let mut elements = Vec::new();
    for value in values {
        let dims = match value {
            Datum::Array(array) => {
                elements.extend_from_slice(&array.elements);
                &array.dims[..]
            }
            _ => &[],
        };
        if inner.is_some_and(|first| first != dims) {
            return Err(mismatched_dimensions());
        }
        inner = Some(dims);
    }
    let Some(inner) = inner.filter(|first| !first.is_empty()) else {
        return Ok(Array::empty(element_type));
    };
    if inner.len() >= MAX_DIMENSIONS {
        return Err(too_many_dimensions(inner.len() + 1));
    }
    let len = i32::try_from(values.len()).expect("expressions are far smaller than 2^31");
    let mut dims = vec![Dimension { len, lower: 1 }];
    dims.extend_from_slice(inner);
    Ok(Array { element_type, dims, elements })
}

fn mismatched_dimensions() -> crate::error::SqlError {
    sql_error!(
        ARRAY_SUBSCRIPT_ERROR,
        "multidimensional arrays must have array expressions with matching dimensions"
    )
}

/// Columns decide from the most significant on; equal or null ones as SQL says.
fn eval_row_compare(comparison: &RowCompare, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let equality = matches!(comparison.op, Comparison::Eq | Comparison::Ne);
    let negated = comparison.op == Comparison::Ne;
    let mut open = false;
    for (equal, strict) in &comparison.columns {
        let left = value_of(&equal.args[0], row, cx)?;
        let right = value_of(&equal.args[1], row, cx)?;
        match invoke_pair(equal, &left, &right, cx)? {
            Datum::Bool(true) => {}
            Datum::Bool(false) if equality => return Ok(Datum::Bool(negated)),
            Datum::Bool(false) => {
                let strict =
                    strict.as_ref().expect("an ordering comparison has its strict operator");
                return invoke_pair(strict, &left, &right, cx);
            }
            _ if equality => open = true,
            _ => return Ok(Datum::Null),
        }
    }
    if open {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bool(matches!(comparison.op, Comparison::Eq | Comparison::Le | Comparison::Ge)))
}

fn eval_subscript(subscript: &Subscript, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    if let Some(value) = &subscript.assigned {
        return assign(subscript, value, row, cx);
    }
    let array = match value_of(&subscript.arg, row, cx)? {
        Datum::Array(array) => array,
        Datum::Text(name) => return name_byte(&name, &subscript.steps, row, cx),
        value @ Datum::Jsonb(_) => {
            let Some(path) = json_path(subscript, row, cx)? else { return Ok(Datum::Null) };
            return func::json_part(&value, &path);
        }
        _ => return Ok(Datum::Null),
    };
    let Some(bounds) = subscript_bounds(subscript, row, cx)? else { return Ok(Datum::Null) };
    if is_slice(subscript) {
        return Ok(Datum::Array(Arc::new(array.slice(&bounds))));
    }
    let indexes: Vec<i32> = bounds.iter().filter_map(|(_, upper)| *upper).collect();
    Ok(array.get(&indexes))
}

fn is_slice(subscript: &Subscript) -> bool {
    subscript.steps.iter().any(|step| matches!(step, SubscriptStep::Slice(..)))
}

/// Lower and upper bound of each dimension.
type Bounds = Vec<(Option<i32>, Option<i32>)>;

/// The bounds of each dimension, an index being both; `None`: one of them is null.
fn subscript_bounds(
    subscript: &Subscript,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Option<Bounds>> {
    let sliced = is_slice(subscript);
    let mut bounds = Vec::with_capacity(subscript.steps.len());
    for step in &subscript.steps {
        // In a slice a plain index n means 1:n.
        let (lower, upper) = match step {
            SubscriptStep::Index(index) => {
                let Some(index) = subscript_value(index, row, cx)? else { return Ok(None) };
                (Some(if sliced { 1 } else { index }), Some(index))
            }
            SubscriptStep::Slice(lower, upper) => {
                let mut bound = |e: &Option<Expr>| -> Result<Option<Option<i32>>> {
                    match e {
                        None => Ok(Some(None)),
                        Some(e) => Ok(subscript_value(e, row, cx)?.map(Some)),
                    }
                };
                let (Some(lower), Some(upper)) = (bound(lower)?, bound(upper)?) else {
                    return Ok(None);
                };
                (lower, upper)
            }
        };
        bounds.push((lower, upper));
    }
    Ok(Some(bounds))
}

/// The keys and places that lead to a part of `jsonb`; `None` if one is null.
fn json_path(subscript: &Subscript, row: &[Datum], cx: &mut Cx<'_>) -> Result<Option<Vec<Datum>>> {
    let mut path = Vec::with_capacity(subscript.steps.len());
    for step in &subscript.steps {
        let SubscriptStep::Index(index) = step else { unreachable!("jsonb has no slices") };
        match value_of(index, row, cx)? {
            Datum::Null => return Ok(None),
            step => path.push(step),
        }
    }
    Ok(Some(path))
}

/// An array, or `jsonb`, once a part of it is another one. A null array is as one without elements.
fn assign(subscript: &Subscript, value: &Expr, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let before = value_of(&subscript.arg, row, cx)?;
    if subscript.ty.id == TypeId::JSONB {
        let Some(path) = json_path(subscript, row, cx)? else {
            return Err(sql_error!(
                NULL_VALUE_NOT_ALLOWED,
                "jsonb subscript in assignment must not be null"
            ));
        };
        let value = value_of(value, row, cx)?;
        return func::json_with_part(&before, &path, &value);
    }
    let Some(bounds) = subscript_bounds(subscript, row, cx)? else {
        return Err(sql_error!(
            NULL_VALUE_NOT_ALLOWED,
            "array subscript in assignment must not be null"
        ));
    };
    let value = value_of(value, row, cx)?;
    let element = element_of(subscript.ty.id).expect("only arrays have parts");
    let array = match &before {
        Datum::Array(array) => Arc::clone(array),
        _ => Arc::new(Array::empty(element)),
    };
    if is_slice(subscript) {
        return match value {
            Datum::Array(source) => array.with_slice(&bounds, &source).map(Datum::from),
            _ => Ok(before),
        };
    }
    let indexes: Vec<i32> = bounds.iter().filter_map(|(_, upper)| *upper).collect();
    array.with_element(&indexes, value).map(Datum::from)
}

/// Bytes of a name with the zero at its end.
const NAME_BYTES: usize = NAME_MAX + 1;

/// A byte of a name, which is as if filled up with zeros.
fn name_byte(name: &str, steps: &[SubscriptStep], row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let [SubscriptStep::Index(index)] = steps else { return Ok(Datum::Null) };
    Ok(match subscript_value(index, row, cx)?.map(usize::try_from) {
        Some(Ok(at @ 0..NAME_BYTES)) => {
            Datum::Char(name.as_bytes().get(at).copied().unwrap_or_default())
        }
        _ => Datum::Null,
    })
}

fn subscript_value(expr: &Expr, row: &[Datum], cx: &mut Cx<'_>) -> Result<Option<i32>> {
    match value_of(expr, row, cx)? {
        Datum::Null => Ok(None),
        value => Ok(Some(value.as_int4())),
    }
}

fn eval_field(select: &FieldSelect, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    match value_of(&select.arg, row, cx)? {
        Datum::Record(record) => {
            let field = record.fields.get(usize::from(select.field));
            Ok(field.map_or(Datum::Null, |(_, value)| value.clone()))
        }
        _ => Ok(Datum::Null),
    }
}

/// A value's place in the order of a collation: the bytes that it would have in an index.
fn sort_key(key: &CollationKey, value: Datum) -> Datum {
    if value.is_null() {
        return Datum::Null;
    }
    let rules = key.collation.rules();
    let column = KeyColumn { rules, ..KeyColumn::ascending(key.arg.type_id()) };
    let mut bytes = Vec::new();
    column.encode(&value, &mut bytes);
    Datum::bytea(&bytes)
}

fn eval_via_text(cast: &ViaText, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let value = value_of(&cast.arg, row, cx)?;
    if value.is_null() {
        return Ok(Datum::Null);
    }
    let io = cx.host.io();
    let text = crate::types::output_string(cast.arg.type_id(), &value, &io)?;
    crate::types::input(cast.ty.id, TypeMod(cast.ty.modifier), &text, &io)
}
