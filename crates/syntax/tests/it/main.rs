//! The crate's integration tests, one binary.

mod golden;
mod sexp;
