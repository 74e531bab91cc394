//! Arrays: any number of dimensions up to six, each with its own lower bound, nulls allowed.

use super::datum::Datum;
use super::oid::TypeId;

/// PostgreSQL's limit on dimensions.
pub const MAX_DIMENSIONS: usize = 6;

/// Length and lower bound of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimension {
    pub len: i32,
    pub lower: i32,
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
        let dims = if elements.is_empty() {
            Vec::new()
        } else {
            let len = i32::try_from(elements.len()).expect("arrays are far smaller than 2^31");
            vec![Dimension { len, lower: 1 }]
        };
        Array { element_type, dims, elements }
    }
}
