//! Arrays: any number of dimensions up to six, each with its own lower bound, nulls allowed.

mod text;

#[cfg(test)]
mod tests;

pub(crate) use text::{parse_array, parse_vector, write_array, write_vector};

use super::datum::Datum;
use super::oid::TypeId;
use super::row::{MAX_VALUE_BYTES, ValueKind};
use crate::error::{Result, SqlError, sql_error};

/// PostgreSQL's limit on dimensions.
pub const MAX_DIMENSIONS: usize = 6;
/// PostgreSQL's limit on elements.
pub const MAX_ELEMENTS: usize = 134_217_727;

/// Nulls that an array is filled with where one element is far from the others: each has its room in memory here.
const NULLS_MAX: usize = 1 << 24;

/// Length and lower bound of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimension {
    pub len: i32,
    pub lower: i32,
}

impl Dimension {
    /// The highest subscript.
    pub fn upper(self) -> i32 {
        self.lower + (self.len - 1)
    }

    /// The highest subscript is less than the highest that there is.
    pub fn check(self) -> Result<()> {
        match self.lower.checked_add(self.len) {
            Some(_) => Ok(()),
            None => Err(sql_error!(
                PROGRAM_LIMIT_EXCEEDED,
                "array lower bound is too large: {}",
                self.lower
            )),
        }
    }
}

/// An array value: its elements in row-major order.
///
/// `elements.len()` is the product of the dimensions' lengths; an empty array has no dimensions.
#[derive(Clone, Debug)]
pub struct Array {
    pub element_type: TypeId,
    pub dims: Vec<Dimension>,
    pub elements: Vec<Datum>,
}

impl Array {
    /// An array without elements.
    pub fn empty(element_type: TypeId) -> Array {
        Array { element_type, dims: Vec::new(), elements: Vec::new() }
    }

    /// A one-dimensional array with lower bound 1.
    pub fn from_elements(element_type: TypeId, elements: Vec<Datum>) -> Array {
        Array::with_lower(element_type, 1, elements)
    }

    /// A one-dimensional array; without elements it has no dimension.
    pub fn with_lower(element_type: TypeId, lower: i32, elements: Vec<Datum>) -> Array {
        let dims = if elements.is_empty() {
            Vec::new()
        } else {
            let len = i32::try_from(elements.len()).expect("arrays are far smaller than 2^31");
            vec![Dimension { len, lower }]
        };
        Array { element_type, dims, elements }
    }

    /// The array, if it is no larger than a value can be.
    ///
    /// # Errors
    /// `54000`, where PostgreSQL's array of these elements would be too large.
    pub fn checked(self) -> Result<Array> {
        let bytes = match self.fixed_bytes() {
            Some(bytes) => bytes,
            None => sum_up_to_limit(self.elements.iter().map(element_bytes)),
        };
        if bytes > MAX_VALUE_BYTES { Err(too_many_bytes()) } else { Ok(self) }
    }

    /// Bytes of elements that have one width, nulls among them unless these might be what is too much; `None` of others.
    pub(super) fn fixed_bytes(&self) -> Option<usize> {
        let Some(kind) = self.elements.iter().find_map(ValueKind::of_datum) else { return Some(0) };
        let width = kind.fixed_width()? as usize;
        let all = width * self.elements.len();
        if all <= MAX_VALUE_BYTES / 2 {
            return Some(all);
        }
        Some(width * self.elements.iter().filter(|element| !element.is_null()).count())
    }

    /// The element at these subscripts, null when any lies outside or their number is wrong.
    pub fn get(&self, subscripts: &[i32]) -> Datum {
        if subscripts.len() != self.dims.len() || self.dims.is_empty() {
            return Datum::Null;
        }
        let mut index = 0usize;
        for (&subscript, dim) in subscripts.iter().zip(&self.dims) {
            if subscript < dim.lower || subscript > dim.upper() {
                return Datum::Null;
            }
            index = index * dim.len as usize + (subscript - dim.lower) as usize;
        }
        self.elements[index].clone()
    }

    /// The slice between bounds per dimension, missing bounds reaching to the array's own; its
    /// lower bounds are 1. Empty where the bounds miss the array.
    pub fn slice(&self, bounds: &[(Option<i32>, Option<i32>)]) -> Array {
        let empty = Array::empty(self.element_type);
        if bounds.len() > self.dims.len() || self.dims.is_empty() {
            return empty;
        }
        let mut ranges = Vec::with_capacity(self.dims.len());
        for (i, dim) in self.dims.iter().enumerate() {
            let (from, to) = bounds.get(i).copied().unwrap_or((None, None));
            let from = from.unwrap_or(dim.lower).max(dim.lower);
            let to = to.unwrap_or(dim.upper()).min(dim.upper());
            if from > to {
                return empty;
            }
            ranges.push((from - dim.lower) as usize..=(to - dim.lower) as usize);
        }
        let mut elements = Vec::new();
        self.copy_ranges(&ranges, 0, &mut elements);
        let dims = ranges
            .iter()
            .map(|range| Dimension { len: (range.end() - range.start() + 1) as i32, lower: 1 })
            .collect();
        Array { element_type: self.element_type, dims, elements }
    }

    fn copy_ranges(
        &self,
        ranges: &[std::ops::RangeInclusive<usize>],
        base: usize,
        out: &mut Vec<Datum>,
    ) {
        let depth = self.dims.len() - ranges.len();
        let Some((range, rest)) = ranges.split_first() else { return };
        let base = base * self.dims[depth].len as usize;
        if rest.is_empty() {
            out.extend_from_slice(&self.elements[base + range.start()..=base + range.end()]);
        } else {
            range.clone().for_each(|i| self.copy_ranges(rest, base + i, out));
        }
    }

    /// Replaces or adds one element; only one-dimensional arrays grow, filling with nulls.
    pub fn with_element(&self, subscripts: &[i32], value: Datum) -> Result<Array> {
        if self.dims.is_empty() {
            if subscripts.len() > MAX_DIMENSIONS {
                return Err(too_many_dimensions(subscripts.len()));
            }
            let dims: Vec<_> =
                subscripts.iter().map(|&lower| Dimension { len: 1, lower }).collect();
            dims.iter().try_for_each(|dim| dim.check())?;
            return Ok(Array { element_type: self.element_type, dims, elements: vec![value] });
        }
        if subscripts.len() != self.dims.len() {
            return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
        }
        let mut array = self.clone();
        if let &[subscript] = subscripts {
            array.grow_to(subscript)?;
        }
        let mut index = 0usize;
        for (&subscript, dim) in subscripts.iter().zip(&array.dims) {
            if subscript < dim.lower || subscript > dim.upper() {
                return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "array subscript out of range"));
            }
            index = index * dim.len as usize + (subscript - dim.lower) as usize;
        }
        array.elements[index] = value;
        array.checked()
    }

    /// Puts a source's first elements into the slice between bounds per dimension, missing bounds reaching to the
    /// array's own; only one-dimensional arrays grow, and one without elements becomes as large as the slice.
    ///
    /// # Errors
    /// `2202E` for a slice outside of the array and a source that is too small.
    pub fn with_slice(
        &self,
        bounds: &[(Option<i32>, Option<i32>)],
        source: &Array,
    ) -> Result<Array> {
        if self.dims.is_empty() {
            return self.of_slice(bounds, source);
        }
        if bounds.len() > self.dims.len() {
            return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"));
        }
        let mut array = self.clone();
        let mut ranges = Vec::with_capacity(array.dims.len());
        for (i, dim) in self.dims.iter().enumerate() {
            let (from, to) = bounds.get(i).copied().unwrap_or((None, None));
            let (from, to) = (from.unwrap_or(dim.lower), to.unwrap_or(dim.upper()));
            if from > to {
                return Err(sql_error!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "upper bound cannot be less than lower bound"
                ));
            }
            if self.dims.len() == 1 {
                array.grow_to(from)?;
                array.grow_to(to)?;
            } else if from < dim.lower || to > dim.upper() {
                return Err(sql_error!(ARRAY_SUBSCRIPT_ERROR, "array subscript out of range"));
            }
            let lower = array.dims[i].lower;
            ranges.push((from - lower) as usize..=(to - lower) as usize);
        }
        let wanted: usize = ranges.iter().map(|range| range.end() - range.start() + 1).product();
        let mut elements = source.elements.iter();
        if elements.len() < wanted {
            return Err(too_small());
        }
        let dims = array.dims.clone();
        put_ranges(&mut array.elements, &dims, &ranges, 0, &mut elements);
        array.checked()
    }

    /// The slice itself, of an array that had no elements.
    fn of_slice(&self, bounds: &[(Option<i32>, Option<i32>)], source: &Array) -> Result<Array> {
        if bounds.len() > MAX_DIMENSIONS {
            return Err(too_many_dimensions(bounds.len()));
        }
        let (mut dims, mut wanted) = (Vec::with_capacity(bounds.len()), 1_i64);
        for (from, to) in bounds {
            let (Some(from), Some(to)) = (*from, *to) else {
                return Err(sql_error!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "array slice subscript must provide both boundaries"
                )
                .with_detail(
                    "When assigning to a slice of an empty array value, slice boundaries must be fully specified.",
                ));
            };
            let len = i64::from(to) - i64::from(from) + 1;
            wanted = wanted.saturating_mul(len);
            // PostgreSQL's words for a slice that ends before it begins, too.
            if len < 0 || wanted > MAX_ELEMENTS as i64 || len > MAX_ELEMENTS as i64 {
                return Err(too_many_elements());
            }
            dims.push(Dimension { len: len as i32, lower: from });
        }
        if source.elements.len() < wanted as usize {
            return Err(too_small());
        }
        if wanted == 0 {
            return Ok(Array::empty(self.element_type));
        }
        dims.iter().try_for_each(|dim| dim.check())?;
        let elements = source.elements[..wanted as usize].to_vec();
        Ok(Array { element_type: self.element_type, dims, elements })
    }

    /// Extends a one-dimensional array with nulls until it covers a subscript.
    fn grow_to(&mut self, subscript: i32) -> Result<()> {
        let dim = &mut self.dims[0];
        let first = i64::from(dim.lower.min(subscript));
        let last = i64::from(dim.upper().max(subscript));
        let len = last - first + 1;
        if len > MAX_ELEMENTS as i64 {
            return Err(too_many_elements());
        }
        Dimension { lower: first as i32, len: len as i32 }.check()?;
        if len as usize - self.elements.len() > NULLS_MAX {
            return Err(SqlError::unsupported(format!(
                "filling an array with more than {NULLS_MAX} nulls is not supported"
            )));
        }
        let front = (i64::from(dim.lower) - first) as usize;
        self.elements.splice(0..0, std::iter::repeat_n(Datum::Null, front));
        self.elements.resize(len as usize, Datum::Null);
        dim.lower = first as i32;
        dim.len = len as i32;
        Ok(())
    }
}

/// Takes the elements of ranges, one of each dimension left, from `source`.
fn put_ranges(
    elements: &mut [Datum],
    dims: &[Dimension],
    ranges: &[std::ops::RangeInclusive<usize>],
    base: usize,
    source: &mut std::slice::Iter<'_, Datum>,
) {
    let (Some((dim, dims)), Some((range, rest))) = (dims.split_first(), ranges.split_first())
    else {
        elements[base] = source.next().expect("they were counted").clone();
        return;
    };
    for i in range.clone() {
        put_ranges(elements, dims, rest, base * dim.len as usize + i, source);
    }
}

/// The sum, or of as many as are more than a value can have: of rows within rows, which may share their parts, counting all of
/// them could take for ever.
pub(super) fn sum_up_to_limit(parts: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0;
    for part in parts {
        sum += part;
        if sum > MAX_VALUE_BYTES {
            break;
        }
    }
    sum
}

/// Bytes of an element in PostgreSQL's arrays.
pub fn element_bytes(element: &Datum) -> usize {
    let with_length = |len: usize| (4 + len).next_multiple_of(4);
    match element {
        Datum::Text(text) => with_length(text.len()),
        Datum::Bytea(bytes) => with_length(bytes.len()),
        Datum::Jsonb(text) => with_length(text.len()),
        Datum::Numeric(number) => with_length(2 + 2 * number.parts().digits.len()),
        Datum::Record(record) => {
            24 + sum_up_to_limit(record.fields.iter().map(|(_, field)| element_bytes(field)))
        }
        Datum::Array(array) => 24 + sum_up_to_limit(array.elements.iter().map(element_bytes)),
        fixed => ValueKind::of_datum(fixed).and_then(ValueKind::fixed_width).unwrap_or(0) as usize,
    }
}

#[cold]
fn too_small() -> SqlError {
    sql_error!(ARRAY_SUBSCRIPT_ERROR, "source array too small")
}

/// `54000` for more than six dimensions.
#[cold]
pub fn too_many_dimensions(wanted: usize) -> SqlError {
    sql_error!(
        PROGRAM_LIMIT_EXCEEDED,
        "number of array dimensions ({wanted}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
    )
}

/// `54000` for more elements than an array may have.
#[cold]
pub fn too_many_elements() -> SqlError {
    sql_error!(PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed ({MAX_ELEMENTS})")
}

/// `54000` for an array of more bytes than a value may have.
#[cold]
pub fn too_many_bytes() -> SqlError {
    sql_error!(PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed ({MAX_VALUE_BYTES})")
}
