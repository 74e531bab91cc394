//! The storage core: WAL, buffer cache, transaction logs, heap, indexes, recovery.
//!
//! The rooms and the contracts between them are described in `README.md` beside `Cargo.toml`.

pub mod btree;
pub mod buffer;
pub mod check;
mod complaint;
pub mod engine;
pub mod error;
pub mod hash;
pub mod heap;
pub mod index;
mod journal;
pub mod lock;
pub mod page;
pub mod recovery;
pub mod relfile;
#[cfg(test)]
mod rig;
pub mod sequence;
pub mod txlog;
pub mod txn;
pub mod vacuum;
pub mod wal;

pub use engine::{Engine, EngineConfig};
pub use error::{Error, Result};
