//! Arrays: shape, search, building, set-like operators.

use std::cmp::Ordering;
use std::sync::Arc;

use super::bodies::{Bodies, scalars};
use super::text::{MAX_BYTES, check_length};
use super::{Body, Context, Rows};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::steps::Steps;
use crate::types::array::{
    Dimension, MAX_DIMENSIONS, MAX_ELEMENTS, element_bytes, too_many_bytes, too_many_elements,
};
use crate::types::numeric::int_out_of_range;
use crate::types::{
    Array, Datum, Record, Rules, Text, TypeId, compare, compare_alike, compare_under, equals,
    output_string, type_info,
};

pub(super) const ROOMS: &[Bodies] = &[SHAPE, COMPARE, SETS, BUILDING, SEARCH, TEXTS, ROWS];

/// The element type of an array type that an argument is known to have.
fn element_type(array_type: TypeId) -> TypeId {
    type_info(array_type).map_or(TypeId::INVALID, |info| info.element)
}

fn dimension(args: &[Datum]) -> Option<Dimension> {
    let n = usize::try_from(args[1].as_int4()).ok()?.checked_sub(1)?;
    args[0].as_array().dims.get(n).copied()
}

const SHAPE: Bodies = scalars! {
    "array_ndims" => |_, a| {
        let n = a[0].as_array().dims.len() as i32;
        Ok((n > 0).then_some(n).into())
    };
    "array_dims" => |_, a| {
        let dims = &a[0].as_array().dims;
        let text: String =
            dims.iter().map(|dim| format!("[{}:{}]", dim.lower, dim.upper())).collect();
        Ok((!text.is_empty()).then_some(text).into())
    };
    "array_lower" => |_, a| Ok(dimension(a).map(|dim| dim.lower).into());
    "array_upper" => |_, a| Ok(dimension(a).map(Dimension::upper).into());
    "array_length" => |_, a| Ok(dimension(a).map(|dim| dim.len).into());
    "array_cardinality" => |_, a| Ok(Datum::Int4(a[0].as_array().elements.len() as i32));
};

const COMPARE: Bodies = scalars! {
    "array_eq" => |_, a| are_equal(a).map(Datum::Bool);
    "array_ne" => |_, a| Ok(Datum::Bool(!are_equal(a)?));
    "array_lt" => |_, a| Ok(Datum::Bool(order(a)?.is_lt()));
    "array_le" => |_, a| Ok(Datum::Bool(order(a)?.is_le()));
    "array_gt" => |_, a| Ok(Datum::Bool(order(a)?.is_gt()));
    "array_ge" => |_, a| Ok(Datum::Bool(order(a)?.is_ge()));
    "btarraycmp" => |_, a| Ok(Datum::Int4(order(a)? as i32));
    "array_larger" => |_, a| Ok(a[usize::from(!order(a)?.is_gt())].clone());
    "array_smaller" => |_, a| Ok(a[usize::from(!order(a)?.is_lt())].clone());
};

fn order(args: &[Datum]) -> Result<Ordering> {
    compare_alike(TypeId::INT4_ARRAY, &args[0], &args[1])
}

/// Elements are compared where the shapes are the same.
fn are_equal(args: &[Datum]) -> Result<bool> {
    Ok(args[0].as_array().dims == args[1].as_array().dims && order(args)?.is_eq())
}

/// Whether every element of `small` occurs in `large`; nulls occur nowhere.
fn contains(large: &Array, small: &Array) -> Result<bool> {
    for wanted in &small.elements {
        super::checkpoint()?;
        if wanted.is_null() || !large.elements.iter().any(|e| same(large.element_type, e, wanted)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Equality of elements that are not null.
fn same(element_type: TypeId, a: &Datum, b: &Datum) -> bool {
    !a.is_null() && !b.is_null() && equals(element_type, a, b)
}

const SETS: Bodies = scalars! {
    "arraycontains" => |_, a| contains(a[0].as_array(), a[1].as_array()).map(Datum::Bool);
    "arraycontained" => |_, a| contains(a[1].as_array(), a[0].as_array()).map(Datum::Bool);
    "arrayoverlap" => |_, a| {
        let (x, y) = (a[0].as_array(), a[1].as_array());
        for wanted in &x.elements {
            super::checkpoint()?;
            if y.elements.iter().any(|e| same(x.element_type, e, wanted)) {
                return Ok(Datum::Bool(true));
            }
        }
        Ok(Datum::Bool(false))
    };
};

/// One dimension or none, or `22000` with this message.
fn one_dimension(array: &Array, message: &str) -> Result<()> {
    if array.dims.len() > 1 {
        return Err(SqlError::new(crate::error::SqlState::DATA_EXCEPTION, message));
    }
    Ok(())
}

const ONE_DIMENSION: &str = "argument must be empty or one-dimensional array";

/// The array argument, or an empty array for null.
fn array_or_empty(cx: &Context<'_>, args: &[Datum], i: usize) -> Array {
    match &args[i] {
        Datum::Null => Array::empty(element_type(cx.result_type)),
        value => (**value.as_array()).clone(),
    }
}

fn append(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let mut array = array_or_empty(cx, args, 0);
    one_dimension(&array, ONE_DIMENSION)?;
    let next = match array.dims.first() {
        None => 1,
        Some(dim) => dim.upper().checked_add(1).ok_or_else(|| int_out_of_range("integer"))?,
    };
    array = array.with_element(&[next], args[1].clone())?;
    Ok(array.into())
}

fn prepend(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let mut array = array_or_empty(cx, args, 1);
    one_dimension(&array, ONE_DIMENSION)?;
    let lower = array.dims.first().map_or(1, |dim| dim.lower);
    if lower == i32::MIN {
        return Err(int_out_of_range("integer"));
    }
    if array.elements.len() == MAX_ELEMENTS {
        return Err(too_many_elements());
    }
    array.elements.insert(0, args[0].clone());
    let array = Array::with_lower(array.element_type, lower, array.elements);
    array.dims[0].check()?;
    array.checked().map(Datum::from)
}

#[cold]
fn incompatible(detail: &str) -> SqlError {
    sql_error!(ARRAY_SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays").with_detail(detail)
}

fn concatenate(args: &[Datum]) -> Result<Datum> {
    let (x, y) = match (&args[0], &args[1]) {
        (Datum::Null, other) | (other, Datum::Null) => return Ok(other.clone()),
        (x, y) => (x.as_array(), y.as_array()),
    };
    if x.dims.is_empty() {
        return Ok(args[1].clone());
    }
    if y.dims.is_empty() {
        return Ok(args[0].clone());
    }
    let mismatch = "Arrays with differing element dimensions are not compatible for concatenation.";
    let (nx, ny) = (x.dims.len(), y.dims.len());
    let same_lens = |a: &[Dimension], b: &[Dimension]| {
        a.iter().zip(b).all(|(a, b)| a.len == b.len && a.lower == b.lower)
    };
    let shape = "Arrays with differing dimensions are not compatible for concatenation.";
    let dims = if nx == ny {
        if !same_lens(&x.dims[1..], &y.dims[1..]) {
            return Err(incompatible(mismatch));
        }
        let mut dims = x.dims.clone();
        dims[0].len += y.dims[0].len;
        dims
    } else if nx + 1 == ny {
        if !same_lens(&x.dims, &y.dims[1..]) {
            return Err(incompatible(shape));
        }
        let mut dims = y.dims.clone();
        dims[0].len += 1;
        dims
    } else if nx == ny + 1 {
        if !same_lens(&x.dims[1..], &y.dims) {
            return Err(incompatible(shape));
        }
        let mut dims = x.dims.clone();
        dims[0].len += 1;
        dims
    } else {
        return Err(incompatible(&format!(
            "Arrays of {nx} and {ny} dimensions are not compatible for concatenation."
        )));
    };
    if x.elements.len() + y.elements.len() > MAX_ELEMENTS {
        return Err(too_many_elements());
    }
    dims.iter().try_for_each(|dim| dim.check())?;
    let mut elements = x.elements.clone();
    elements.extend_from_slice(&y.elements);
    Array { element_type: x.element_type, dims, elements }.checked().map(Datum::from)
}

/// `array_fill(value, lengths [, lower bounds])`.
fn fill(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    let numbers = |value: &Datum| -> Result<Vec<i32>> {
        if value.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "dimension array or low bound array cannot be null");
        }
        let array = value.as_array();
        if array.dims.len() > 1 {
            return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
                .with_detail("Dimension array must be one dimensional."));
        }
        if array.elements.iter().any(Datum::is_null) {
            bail!(NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null");
        }
        Ok(array.elements.iter().map(Datum::as_int4).collect())
    };
    let lens = numbers(&args[1])?;
    let lowers = args.get(2).map_or(Ok(vec![1; lens.len()]), numbers)?;
    if lens.len() != lowers.len() {
        return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
            .with_detail("Low bound array has different size than dimensions array."));
    }
    if lens.len() > MAX_DIMENSIONS {
        return Err(crate::types::array::too_many_dimensions(lens.len()));
    }
    let element_type = element_type(cx.result_type);
    let mut count = 1usize;
    for &len in &lens {
        let len = usize::try_from(len).map_err(|_| too_many_elements())?;
        count = count.saturating_mul(len);
    }
    if count > MAX_ELEMENTS {
        return Err(too_many_elements());
    }
    if lens.is_empty() || count == 0 {
        return Ok(Array::empty(element_type).into());
    }
    let dims: Vec<_> =
        lens.into_iter().zip(lowers).map(|(len, lower)| Dimension { len, lower }).collect();
    dims.iter().try_for_each(|dim| dim.check())?;
    if count.saturating_mul(element_bytes(&args[0])) > MAX_BYTES {
        return Err(too_many_bytes());
    }
    Ok(Array { element_type, dims, elements: vec![args[0].clone(); count] }.into())
}

const BUILDING: Bodies = scalars! {
    "array_append" => |cx, a| append(cx, a);
    "array_prepend" => |cx, a| prepend(cx, a);
    "array_cat" => |_, a| concatenate(a);
    "array_fill" => |cx, a| fill(cx, a);
    "array_fill_with_lower_bounds" => |cx, a| fill(cx, a);
    "array_remove" => |_, a| remove(a);
    "array_replace" => |_, a| replace(a);
    "trim_array" => |_, a| trim(a);
};

/// Whether elements are "not distinct".
fn matches(element_type: TypeId, a: &Datum, b: &Datum) -> bool {
    match (a.is_null(), b.is_null()) {
        (true, true) => true,
        (false, false) => equals(element_type, a, b),
        _ => false,
    }
}

fn remove(args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = args[0].as_array();
    if array.dims.len() > 1 {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "removing elements from multidimensional arrays is not supported"
        );
    }
    let keep = |e: &&Datum| !matches(array.element_type, e, &args[1]);
    let elements: Vec<Datum> = array.elements.iter().filter(keep).cloned().collect();
    let lower = array.dims.first().map_or(1, |dim| dim.lower);
    Ok(Array::with_lower(array.element_type, lower, elements).into())
}

fn replace(args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let mut array = (**args[0].as_array()).clone();
    for element in &mut array.elements {
        if matches(array.element_type, element, &args[1]) {
            *element = args[2].clone();
        }
    }
    array.checked().map(Datum::from)
}

/// Drops the last elements of the first dimension.
fn trim(args: &[Datum]) -> Result<Datum> {
    let (array, n) = (args[0].as_array(), args[1].as_int4());
    let len = array.dims.first().map_or(0, |dim| dim.len);
    if n < 0 || n > len {
        bail!(ARRAY_ELEMENT_ERROR, "number of elements to trim must be between 0 and {len}");
    }
    if array.dims.is_empty() {
        return Ok(args[0].clone());
    }
    if n == len {
        return Ok(Array::empty(array.element_type).into());
    }
    let bounds = [(None, Some(array.dims[0].upper() - n))];
    Ok(array.slice(&bounds).into())
}

#[cold]
fn search_unsupported() -> SqlError {
    SqlError::unsupported("searching for elements in multidimensional arrays is not supported")
}

fn position(args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let array = args[0].as_array();
    if array.dims.len() > 1 {
        return Err(search_unsupported());
    }
    let Some(dim) = array.dims.first() else { return Ok(Datum::Null) };
    let from = match args.get(2) {
        None => dim.lower,
        Some(Datum::Null) => {
            bail!(NULL_VALUE_NOT_ALLOWED, "initial position must not be null")
        }
        Some(start) => start.as_int4(),
    };
    let skip = usize::try_from(i64::from(from) - i64::from(dim.lower)).unwrap_or(0);
    let found = array
        .elements
        .iter()
        .skip(skip)
        .position(|element| matches(array.element_type, element, &args[1]));
    Ok(found.map(|at| dim.lower + (at + skip) as i32).into())
}

const SEARCH: Bodies = scalars! {
    "array_position" => |_, a| position(a);
    "array_position_start" => |_, a| position(a);
    "array_positions" => |_, a| {
        if a[0].is_null() {
            return Ok(Datum::Null);
        }
        let array = a[0].as_array();
        if array.dims.len() > 1 {
            return Err(search_unsupported());
        }
        let lower = array.dims.first().map_or(1, |dim| dim.lower);
        let found = array
            .elements
            .iter()
            .zip(lower..)
            .filter(|(element, _)| matches(array.element_type, element, &a[1]))
            .map(|(_, at)| Datum::Int4(at))
            .collect();
        Ok(Array::from_elements(TypeId::INT4, found).into())
    };
    "width_bucket_array" => |_, a| {
        width_bucket(None, a)
    };
};

/// How many of ascending thresholds are not above a value.
pub(super) fn width_bucket(rules: Option<&Rules>, args: &[Datum]) -> Result<Datum> {
    let (operand, thresholds) = (&args[0], args[1].as_array());
    if thresholds.dims.len() > 1 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "thresholds must be one-dimensional array");
    }
    if thresholds.elements.iter().any(Datum::is_null) {
        bail!(NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs");
    }
    let element = thresholds.element_type;
    let below = thresholds.elements.partition_point(|t| match rules {
        None => compare(element, t, operand).is_le(),
        Some(rules) => compare_under(rules, element, t, operand).is_le(),
    });
    Ok(Datum::Int4(below as i32))
}

/// The pieces of a text between delimiters, one after the other; without a delimiter its characters.
struct Pieces {
    text: Text,
    /// `None` where characters are the pieces.
    delimiter: Option<Text>,
    /// What stands for null.
    null: Option<Text>,
    /// Where the next piece begins; `None` behind the last.
    at: Option<usize>,
    steps: Steps,
}

impl Pieces {
    /// Of a text that is not null, a delimiter, and what stands for null where there is a third argument.
    fn new(args: &[Datum]) -> Pieces {
        let text_at =
            |i: usize| args.get(i).filter(|arg| !arg.is_null()).map(Datum::as_text).cloned();
        let text = args[0].as_text().clone();
        let at = (!text.is_empty()).then_some(0);
        Pieces { text, delimiter: text_at(1), null: text_at(2), at, steps: Steps::default() }
    }

    /// The piece that begins there, and where the next one does.
    fn piece(&self, at: usize) -> (&str, Option<usize>) {
        let rest = &self.text[at..];
        let (len, skipped) = match self.delimiter.as_deref() {
            None => (rest.chars().next().map_or(0, char::len_utf8), 0),
            Some("") => (rest.len(), 0),
            Some(delimiter) => match rest.find(delimiter) {
                Some(len) => (len, delimiter.len()),
                None => (rest.len(), 0),
            },
        };
        // Behind a delimiter there is a piece, if an empty one.
        let is_last = len == rest.len();
        (&rest[..len], (!is_last).then_some(at + len + skipped))
    }
}

impl Iterator for Pieces {
    type Item = Result<Datum>;

    fn next(&mut self) -> Option<Result<Datum>> {
        let at = self.at?;
        if let Err(error) = self.steps.next() {
            return Some(Err(error));
        }
        let (piece, next) = self.piece(at);
        let is_null = self.null.as_deref() == Some(piece);
        let value = if is_null { Datum::Null } else { Datum::text(piece) };
        self.at = next;
        Some(Ok(value))
    }
}

fn text_to_array(args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let mut elements = Vec::new();
    for piece in Pieces::new(args) {
        if elements.len() == MAX_ELEMENTS {
            return Err(too_many_elements());
        }
        elements.push(piece?);
    }
    Array::from_elements(TypeId::TEXT, elements).checked().map(Datum::from)
}

fn array_to_text(cx: &Context<'_>, args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Datum::Null);
    }
    let (array, separator) = (args[0].as_array(), args[1].as_text());
    let null = args.get(2).filter(|null| !null.is_null()).map(Datum::as_text);
    let mut out = String::new();
    let mut first = true;
    let mut steps = Steps::default();
    for element in &array.elements {
        steps.next()?;
        let text = match (element, null) {
            (Datum::Null, None) => continue,
            (Datum::Null, Some(null)) => null.to_string(),
            (value, _) => output_string(array.element_type, value, &cx.io())?,
        };
        if !first {
            out.push_str(separator);
        }
        first = false;
        out.push_str(&text);
        check_length(out.len())?;
    }
    Ok(out.into())
}

const TEXTS: Bodies = scalars! {
    "text_to_array" => |_, a| text_to_array(a);
    "text_to_array_null" => |_, a| text_to_array(a);
    "array_to_text" => |cx, a| array_to_text(cx, a);
    "array_to_text_null" => |cx, a| array_to_text(cx, a);
};

fn subscripts(args: &[Datum]) -> Result<Rows> {
    let Some(dim) = dimension(args) else { return Ok(Box::new(std::iter::empty())) };
    let numbers = dim.lower..=dim.upper();
    if args.get(2).is_some_and(Datum::as_bool) {
        Ok(Box::new(numbers.rev().map(|i| Ok(Datum::Int4(i)))))
    } else {
        Ok(Box::new(numbers.map(|i| Ok(Datum::Int4(i)))))
    }
}

const ROWS: Bodies = &[
    (
        "array_unnest",
        Body::Set(|_, a| {
            let array = a[0].as_array().clone();
            Ok(Box::new((0..array.elements.len()).map(move |i| Ok(array.elements[i].clone()))))
        }),
    ),
    ("generate_subscripts", Body::Set(|_, a| subscripts(a))),
    ("generate_subscripts_nodir", Body::Set(|_, a| subscripts(a))),
    ("_pg_expandarray", Body::Set(|_, a| Ok(numbered(a[0].as_array().clone())))),
    ("text_to_table", Body::Set(|_, a| text_to_table(a))),
    ("text_to_table_null", Body::Set(|_, a| text_to_table(a))),
];

/// The elements, each with its number in the first dimension from 1 on: `information_schema` goes through keys so.
fn numbered(array: Arc<Array>) -> Rows {
    let element_type = array.element_type;
    let inner = array.dims.len() > 1;
    let count = array.dims.first().map_or(0, |dim| dim.len);
    Box::new((0..count).map(move |i| {
        // An element of several dimensions is not told by one subscript.
        let element = if inner { Datum::Null } else { array.elements[i as usize].clone() };
        let fields = vec![(element_type, element), (TypeId::INT4, Datum::Int4(i + 1))];
        Ok(Datum::Record(Arc::new(Record::new(TypeId::RECORD, fields))))
    }))
}

fn text_to_table(args: &[Datum]) -> Result<Rows> {
    if args[0].is_null() {
        return Ok(Box::new(std::iter::empty()));
    }
    Ok(Box::new(Pieces::new(args)))
}
