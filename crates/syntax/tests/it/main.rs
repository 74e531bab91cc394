//! The crate's integration tests, one binary.

mod deparse;
mod depth;
mod golden;
mod lift;
mod sexp;
