//! `jsonb`: JSON values by what they mean, not by how they were written.
//!
//! A value is kept as its canonical text: what PostgreSQL's output function writes, with the keys of objects in
//! PostgreSQL's order (the shorter first, then by their bytes) and none twice. [`Json`] is that text taken apart, which
//! functions work on; [`order`] gives it a code whose bytes are in the values' order.

pub mod order;
mod read;

#[cfg(test)]
mod tests;

pub use order::{compare, write_code};
pub(crate) use read::{MAX_ELEMENTS, MAX_PAIRS, too_many_elements, too_many_pairs};
pub use read::{parse, read, take_apart};

use std::sync::Arc;

use super::row::MAX_VALUE_BYTES;
use super::{Numeric, json};
use crate::error::{Result, SqlError, sql_error, too_deep};
use crate::steps::Steps;

/// Values may lie in each other this deep: whatever looks into them recurses.
pub const DEPTH_MAX: usize = 500;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Numeric),
    String(Arc<str>),
    Array(Vec<Json>),
    /// In the order of [`key_order`], no key twice.
    Object(Vec<(Arc<str>, Json)>),
}

/// How the keys of an object are ordered: by length, then by bytes.
pub fn key_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Json {
    /// An object of these pairs; of pairs with one key the last one stays.
    pub fn object(mut pairs: Vec<(Arc<str>, Json)>) -> Json {
        pairs.sort_by(|(a, _), (b, _)| key_order(a, b));
        let mut kept: Vec<(Arc<str>, Json)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match kept.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => kept.push(pair),
            }
        }
        Json::Object(kept)
    }

    pub fn string(text: &str) -> Json {
        Json::String(text.into())
    }

    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// The value of a key, where this is an object that has it.
    pub fn field(&self, key: &str) -> Option<&Json> {
        let Json::Object(pairs) = self else { return None };
        let at = pairs.binary_search_by(|(own, _)| key_order(own, key)).ok()?;
        Some(&pairs[at].1)
    }

    /// Appends the canonical text.
    ///
    /// # Errors
    /// `54000` once that is longer than any value may be.
    pub fn write(&self, out: &mut String, steps: &mut Steps) -> Result<()> {
        if out.len() > MAX_VALUE_BYTES {
            return Err(too_large(out.len()));
        }
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => out.push_str(&number.to_string()),
            Json::String(text) => write_string(text, out),
            Json::Array(elements) => {
                out.push('[');
                for (i, element) in elements.iter().enumerate() {
                    steps.next()?;
                    out.push_str(if i > 0 { ", " } else { "" });
                    element.write(out, steps)?;
                }
                out.push(']');
            }
            Json::Object(pairs) => {
                out.push('{');
                for (i, (key, value)) in pairs.iter().enumerate() {
                    steps.next()?;
                    out.push_str(if i > 0 { ", " } else { "" });
                    write_string(key, out);
                    out.push_str(": ");
                    value.write(out, steps)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }

    /// The canonical text.
    pub fn to_text(&self) -> Result<String> {
        let mut text = String::new();
        self.write(&mut text, &mut Steps::default())?;
        Ok(text)
    }

    /// The canonical text as it is kept.
    ///
    /// # Errors
    /// `54001` where values lie too deep in each other, `54000` for too many entries or bytes.
    pub fn to_stored(&self) -> Result<Arc<str>> {
        self.check_shape(0)?;
        let text = self.to_text()?;
        if text.len() > MAX_VALUE_BYTES {
            return Err(too_large(text.len()));
        }
        Ok(text.into())
    }

    /// Whether it can be read again as a part of what lies in so many others.
    pub(crate) fn check_shape(&self, above: usize) -> Result<()> {
        match self {
            Json::Array(_) | Json::Object(_) if above == DEPTH_MAX => Err(too_deep()),
            Json::Array(elements) if elements.len() > MAX_ELEMENTS => Err(too_many_elements()),
            Json::Object(pairs) if pairs.len() > MAX_PAIRS => Err(too_many_pairs()),
            Json::Array(elements) => elements.iter().try_for_each(|e| e.check_shape(above + 1)),
            Json::Object(pairs) => pairs.iter().try_for_each(|(_, v)| v.check_shape(above + 1)),
            _ => Ok(()),
        }
    }
}

#[cold]
fn too_large(bytes: usize) -> SqlError {
    sql_error!(
        PROGRAM_LIMIT_EXCEEDED,
        "value is too large: {bytes} bytes, the maximum is {MAX_VALUE_BYTES}"
    )
}

/// Where an element lies that is counted from the end if negative; `None` outside.
pub fn position(len: usize, index: i64) -> Option<usize> {
    let at = if index < 0 { index + len as i64 } else { index };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// Appends a string in quotes, with what must be escaped in it.
pub fn write_string(text: &str, out: &mut String) {
    json::quoted(text, |piece| out.push_str(piece));
}
