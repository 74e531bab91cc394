//! Aggregates that keep all values: `array_agg`, `string_agg`.

use super::Aggregates;
use crate::error::{Result, bail};
use crate::exec::spill::values_bytes;
use crate::func::text::{MAX_BYTES, too_large};
use crate::func::{Accumulator, Context};
use crate::types::array::{Dimension, MAX_DIMENSIONS, too_many_bytes, too_many_dimensions};
use crate::types::{Array, Datum, TypeId, type_info};

pub(super) const AGGREGATES: Aggregates = &[
    ("array_agg(anynonarray)", |types| {
        let element_type = types.first().copied().unwrap_or(TypeId::TEXT);
        Box::new(Values { element_type, elements: Vec::new(), bytes: 0 })
    }),
    ("array_agg(anyarray)", |types| {
        let element_type = types
            .first()
            .and_then(|array| type_info(*array))
            .map_or(TypeId::TEXT, |info| info.element);
        Box::new(Arrays::of(element_type))
    }),
    ("string_agg(text,text)", |_| Box::new(Strings::default())),
    ("string_agg(bytea,bytea)", |_| Box::new(Bytes::default())),
];

/// All values, nulls included.
struct Values {
    element_type: TypeId,
    elements: Vec<Datum>,
    bytes: usize,
}

impl Accumulator for Values {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        self.bytes += values_bytes(&args[..1]);
        check_size(self.bytes)?;
        self.elements.push(args[0].clone());
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        if self.elements.is_empty() {
            return Ok(Datum::Null);
        }
        Ok(Array::from_elements(self.element_type, self.elements.clone()).into())
    }

    fn memory(&self) -> usize {
        self.bytes
    }
}

/// An array is a value, and no larger than a value can be.
fn check_size(bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES { Err(too_many_bytes()) } else { Ok(()) }
}

/// Arrays of one shape, stacked.
pub(crate) struct Arrays {
    element_type: TypeId,
    dims: Option<Vec<Dimension>>,
    count: i32,
    elements: Vec<Datum>,
    bytes: usize,
}

impl Arrays {
    pub(crate) fn of(element_type: TypeId) -> Arrays {
        Arrays { element_type, dims: None, count: 0, elements: Vec::new(), bytes: 0 }
    }

    /// Puts one more array on top of the others.
    pub(crate) fn push(&mut self, value: &Datum) -> Result<()> {
        if value.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays");
        }
        let array = value.as_array();
        match &self.dims {
            None if array.dims.is_empty() => {
                bail!(ARRAY_SUBSCRIPT_ERROR, "cannot accumulate empty arrays")
            }
            None if array.dims.len() >= MAX_DIMENSIONS => {
                return Err(too_many_dimensions(array.dims.len() + 1));
            }
            None => self.dims = Some(array.dims.clone()),
            Some(dims) if *dims == array.dims => {}
            Some(_) => {
                bail!(ARRAY_SUBSCRIPT_ERROR, "cannot accumulate arrays of different dimensionality")
            }
        }
        self.bytes += values_bytes(&array.elements);
        check_size(self.bytes)?;
        self.count += 1;
        self.elements.extend_from_slice(&array.elements);
        Ok(())
    }

    /// The array of all of them; `None` without any.
    pub(crate) fn stacked(&self) -> Option<Array> {
        let inner = self.dims.as_ref()?;
        let mut dims = vec![Dimension { len: self.count, lower: 1 }];
        dims.extend_from_slice(inner);
        let elements = self.elements.clone();
        Some(Array { element_type: self.element_type, dims, elements })
    }
}

impl Accumulator for Arrays {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        self.push(&args[0])
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.stacked().map_or(Datum::Null, Datum::from))
    }

    fn memory(&self) -> usize {
        self.bytes
    }
}

/// Texts with each one's own separator before it, but for the first.
#[derive(Default)]
struct Strings(Option<String>);

impl Accumulator for Strings {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let text = args[0].as_text();
        match &mut self.0 {
            None => self.0 = Some(text.to_string()),
            Some(all) => {
                let separator = if args[1].is_null() { "" } else { args[1].as_text() };
                if all.len() + separator.len() + text.len() > MAX_BYTES {
                    return Err(too_large());
                }
                all.push_str(separator);
                all.push_str(text);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.0.as_deref().map_or(Datum::Null, Datum::from))
    }

    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, String::capacity)
    }
}

#[derive(Default)]
struct Bytes(Option<Vec<u8>>);

impl Accumulator for Bytes {
    fn add(&mut self, _: &mut Context<'_>, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let bytes = args[0].as_bytea();
        match &mut self.0 {
            None => self.0 = Some(bytes.to_vec()),
            Some(all) => {
                let separator = if args[1].is_null() { &[] } else { args[1].as_bytea() };
                if all.len() + separator.len() + bytes.len() > MAX_BYTES {
                    return Err(too_large());
                }
                all.extend_from_slice(separator);
                all.extend_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Context<'_>) -> Result<Datum> {
        Ok(self.0.as_deref().map_or(Datum::Null, Datum::bytea))
    }

    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::capacity)
    }
}
