//! Transactions: see `README.md` in this folder.

pub mod tuple;

pub use tuple::{Flags, TupleHeader};
