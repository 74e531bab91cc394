//! The crate's integration tests, one binary.

mod deparse;
mod depth;
mod fuzz;
mod golden;
mod lift;
mod sexp;
