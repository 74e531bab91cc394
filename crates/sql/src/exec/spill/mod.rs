//! Rows that do not fit `work_mem`: temporary files and what is built on them.
//!
//! An operator that must keep rows counts their bytes ([`row_bytes`]) and, past its limit, puts them into a
//! temporary file. Three things do that for all of them: [`RowStore`] keeps rows in their order, [`Sorter`]
//! gives them back sorted, [`Partitions`] parts them by a hash. All three are made of [`Spool`]s, streams of
//! rows in one [`file::SpillFile`]. [`KeySorter`] does for an index's entries, which are bytes, what
//! [`Sorter`] does for rows.
//!
//! A temporary file has no name by the time anything is written to it: it is removed as soon as it is open,
//! and goes with its last user, however the query (or the process) ends. Only a crash between the two calls
//! leaves an empty file, which the next start sweeps away ([`TempFiles::open`]).
//!
//! What can't be spilled (the states of aggregates, the hash table of a recursive union) is held against
//! [`HELD_BYTES_MAX`] and refused beyond it.
//!
//! The choices are argued in `docs/decisions/spilling.md`.

mod file;
mod keys;
mod partitions;
mod rows;
mod size;
mod sorter;
mod space;
mod spool;

#[cfg(test)]
mod tests;

pub(super) use file::SpillFile;
pub use keys::{Helpers, KeySorter, SortedKeys};
pub(super) use partitions::Partitions;
pub use rows::{RowReader, RowStore};
pub use size::values_bytes;
pub(super) use size::{check_held, row_bytes};
pub(super) use sorter::{Sorted, Sorter};
pub use space::{TempCounts, TempFiles, TempSpace};
pub(super) use spool::{Drain, Spool};

/// The most that one node may keep of what can't be put into a file. As with PostgreSQL's values, 1 GB.
const HELD_BYTES_MAX: usize = 1 << 30;

/// What an operator did with its memory, for EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A sort in memory; of the first rows only, where those were few.
    Sort { top: bool },
    /// A sort that went through a temporary file of so many bytes.
    ExternalMerge { disk_bytes: u64 },
    /// A hash table: how often the input was parted, the most memory, bytes of temporary files.
    Hash { batches: u64, buckets: u64, peak_bytes: u64, disk_bytes: u64 },
    /// Pages of a table that a bitmap scan visited: by rows, and, where it kept no rows, as a whole.
    Pages { exact: u64, lossy: u64 },
}
