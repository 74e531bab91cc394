//! Transactions: see `README.md` in this folder.

mod actions;
mod combo;
mod commit;
pub(crate) mod describe;
mod exported;
mod horizon;
mod level;
mod manager;
mod record;
mod redo;
mod session;
mod snapshot;
pub mod tuple;
pub mod visibility;

pub use actions::When;
pub use commit::CommitInfo;
pub use exported::Import;
pub use horizon::Bounds;
pub use level::SubLevel;
pub use manager::{FileRemover, TxnCheckpoint, TxnManager};
pub use record::CommitData;
pub use redo::{Ended, TxnRedo};
pub use session::{Isolation, Txn, TxnState};
pub use snapshot::{Hold, Snapshot, SnapshotXids};
pub use tuple::{FLAGS_OFFSET, Flags, TUPLE_HEADER_BYTES, TupleHeader};
pub use visibility::{Fate, Liveness, Lockers, Standing, Visibility};

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
