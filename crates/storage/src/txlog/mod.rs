//! The status logs: what became of every transaction. See `README.md` in this folder.

pub mod slru;
