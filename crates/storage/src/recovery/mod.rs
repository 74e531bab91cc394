//! What brings a data directory back: the control file, redo, checkpoints. See `README.md` in this folder.

pub mod checkpoint;
pub mod control;
mod ctx;
mod describe;
pub mod files;
mod handles;
pub mod imaged;
mod lanes;
pub mod redo;
mod restart;

pub use control::{Control, ControlFile, Counters};
pub use ctx::RedoCtx;
pub use describe::{describe, describe_block, fork_name};
pub(crate) use files::garbled;
pub use lanes::Prefetched;
