//! The crate's integration tests, one binary.

mod depth;
mod golden;
mod lift;
mod sexp;
