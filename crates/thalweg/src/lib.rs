//! The Thalweg binary and the embedding API.

mod check;

pub use check::{Checked, check};
