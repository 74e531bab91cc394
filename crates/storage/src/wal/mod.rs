//! The write-ahead log.

pub mod kind;

pub use kind::{Kind, Room};
