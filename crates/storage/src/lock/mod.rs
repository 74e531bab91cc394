//! Locks: see `README.md` in this folder.

mod mode;

pub use mode::{ALL_MODES, LockMode, MODES, ModeSet, RowLock};
