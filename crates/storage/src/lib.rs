//! The storage core: WAL, buffer cache, transaction logs, heap, indexes, recovery.
//!
//! The rooms and the contracts between them are described in `README.md` beside `Cargo.toml`.

pub mod buffer;
pub mod engine;
pub mod error;
pub mod lock;
pub mod page;
pub mod recovery;
pub mod relfile;
pub mod txlog;
pub mod txn;
pub mod wal;

pub use engine::{Engine, EngineConfig};
pub use error::{Error, Result};
