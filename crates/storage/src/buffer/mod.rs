//! The buffer cache: pages in memory, found without locks, written by a cleaner behind a double-write area.
//!
//! [`Pool`] owns the frames, [`Relation`] is what callers use. How frames are found, held, replaced and
//! written, and why readers without a latch are safe, is told in the README beside this file.

mod ahead;
mod cleaner;
mod dirty;
pub mod doublewrite;
mod fetch;
mod frame;
mod free;
mod guard;
mod io;
mod latch;
mod load;
mod memory;
mod passage;
mod pool;
mod protection;
mod relation;
pub mod replace;
mod ring;
mod slot;
mod sync;
mod tally;
mod totals;
#[cfg(feature = "page-trace")]
mod trace;
mod translation;
mod word;
mod write;
mod writeback;

pub use ahead::{COMBINE_MAX, Reach, ReadAhead};
pub use fetch::FrameHint;
pub use guard::{Cursor, CursorPage, Pin, ReadGuard, WriteGuard};
pub use io::{IoCounts, IoKey, Purpose};
#[cfg(feature = "lab-hash-pages")]
pub(crate) use memory::Pages;
pub use passage::Passage;
pub use pool::{Pool, Resident};
pub use relation::{Optimistic, Relation};
pub use replace::Policy;
pub use ring::Ring;
pub use tally::Figure;
pub use totals::Totals;
pub use write::CleanStep;

use crate::wal::Compression;
use std::time::Duration;

/// What protects pages against being written half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum TornPages {
    /// Copies in the double-write area, synced before pages are written in place.
    DoubleWrite = 0,
    /// Images in the log, with the first record after a page became dirty.
    FullPageWrites = 1,
    /// Nothing: for disks that write 8 KiB atomically.
    Off = 2,
}

/// Whether the frames lie in the system's large pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// In none.
    Off,
    /// In those that were set aside, if there are as many; else in what the system makes as it goes.
    Try,
    /// In those that were set aside, or there is no pool.
    On,
}

/// Sizes and choices of a pool.
#[derive(Clone, Debug)]
pub struct Config {
    /// Frames, `shared_buffers` in pages.
    pub frames: usize,
    /// `huge_pages`.
    pub huge_pages: HugePages,
    /// `torn_page_protection`, to begin with.
    pub torn_pages: TornPages,
    /// `wal_compression`, to begin with.
    pub compression: Compression,
    /// `buffer_replacement`.
    pub replacement: Policy,
    /// How far scans read ahead that are not told otherwise.
    pub reach: Reach,
    /// `bgwriter_flush_after`, to begin with: of so many unlogged pages written the system is had to start together; 0: of
    /// none.
    pub flush_after: u32,
    /// How long foreground work waits for a frame before it reports that there is none. What the disk takes for a batch of
    /// pages does not count.
    pub frame_wait: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            frames: 16384,
            huge_pages: HugePages::Try,
            torn_pages: TornPages::DoubleWrite,
            compression: Compression::Off,
            replacement: Policy::Probation,
            reach: Reach::default(),
            flush_after: 64,
            frame_wait: Duration::from_secs(10),
        }
    }
}

/// What a pool has done since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolStats {
    /// Frames in all.
    pub frames: usize,
    /// Free ones now, about.
    pub free: usize,
    /// Frames taken for a page.
    pub taken: u64,
    /// Pages read from files.
    pub loads: u64,
    /// Pages whose reads were started before anybody wanted them.
    pub ahead: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Times that foreground work found no frame free or clean.
    pub waits_for_frame: u64,
    /// Blocks added.
    pub extends: u64,
    /// Pages written, all by cleaning.
    pub written: u64,
    /// Batches they were written in.
    pub batches: u64,
    /// Batches that met a disk error; their pages stayed dirty.
    pub write_errors: u64,
}

#[cfg(test)]
#[cfg(loom)]
mod loom;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
