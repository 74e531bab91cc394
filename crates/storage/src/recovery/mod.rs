//! What brings a data directory back: the control file, redo, checkpoints.

pub mod control;
mod ctx;

pub use control::{Control, ControlFile, Counters};
pub use ctx::RedoCtx;
