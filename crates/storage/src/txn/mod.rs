//! Transactions: see `README.md` in this folder.

pub mod tuple;

pub use tuple::{FLAGS_OFFSET, Flags, TUPLE_HEADER_BYTES, TupleHeader};
