//! Arrays: any number of dimensions up to six, each with its own lower bound, nulls allowed.

mod text;

#[cfg(test)]
mod tests;

pub(crate) use text::{parse_array, parse_vector, write_array, write_vector};

use super::datum::Datum;
use super::oid::TypeId;
use crate::error::{Result, SqlError, sql_error};

/// PostgreSQL's limit on dimensions.
pub const MAX_DIMENSIONS: usize = 6;
/// PostgreSQL's limit on elements.
pub const MAX_ELEMENTS: usize = 134_217_727;

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
        Ok(array)
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
        let front = (i64::from(dim.lower) - first) as usize;
        self.elements.splice(0..0, std::iter::repeat_n(Datum::Null, front));
        self.elements.resize(len as usize, Datum::Null);
        dim.lower = first as i32;
        dim.len = len as i32;
        Ok(())
    }
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
