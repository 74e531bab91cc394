//! The log's files as memory: `wal_io`.
//!
//! Segments are mapped by the maker, ahead of need, between their making and their announcement, and unmapped by it
//! when they are finished; in between inserters copy records to their place in the file, and whoever flushes makes the
//! complete range durable. See the README for what that changes.

use super::segment::{self, Epoch, HEADER_BYTES, LogShape};
use crate::error::{Error, Result};
use base::Lsn;
use base::disk::map::{MapKind, Mapping, Place, Window};
use base::disk::{Disk, File};
use std::io;
use std::sync::Arc;

/// How records come into the log's files, `wal_io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WalIo {
    /// Copied to a ring and written from there.
    #[default]
    File,
    /// Copied to the mapped files.
    Mmap,
    /// Copied to mapped persistent memory.
    Pmem,
    /// As on persistent memory, on a memory file system: to try it and to measure it. Nothing is durable.
    PmemEmulated,
}

impl WalIo {
    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            WalIo::File => "file",
            WalIo::Mmap => "mmap",
            WalIo::Pmem => "pmem",
            WalIo::PmemEmulated => "pmem_emulated",
        }
    }

    /// What is behind the mappings; `None`: nothing is mapped.
    fn kind(self) -> Option<MapKind> {
        match self {
            WalIo::File => None,
            WalIo::Mmap => Some(MapKind::Cached),
            WalIo::Pmem => Some(MapKind::Persistent),
            WalIo::PmemEmulated => Some(MapKind::PersistentEmulated),
        }
    }

    /// Why it can't be had, in a sentence.
    fn refusal(self, why: &io::Error) -> Error {
        let what = match self {
            WalIo::File => unreachable!("files are not mapped"),
            WalIo::Mmap => "needs a file system that maps files",
            WalIo::Pmem => "needs persistent memory, mapped directly by its file system",
            WalIo::PmemEmulated => "is an emulation, for a log on a memory file system only",
        };
        let name = self.name();
        Error::Refused(format!("wal_io = {name} {what}: the log's directory does not do: {why}"))
    }
}

/// Where segments are mapped.
pub(super) struct Segments {
    io: WalIo,
    kind: MapKind,
    window: Arc<Window>,
}

impl Segments {
    /// Room for the segments of a log that is at most `capacity` bytes ahead of what is durable; `None` where nothing is
    /// mapped.
    pub fn reserve(io: WalIo, epoch: &Epoch, capacity: usize) -> Result<Option<Segments>> {
        let Some(kind) = io.kind() else { return Ok(None) };
        let slots = slots(epoch.segment_bytes, capacity as u64);
        let bytes = (slots * epoch.segment_bytes) as usize;
        let window = Window::reserve(bytes).map_err(|e| Error::io("reserve", "wal", e))?;
        Ok(Some(Segments { io, kind, window }))
    }

    /// The window; a byte of log lies at its position modulo the window's size.
    pub fn window(&self) -> &Arc<Window> {
        &self.window
    }

    /// How many segments there is room for.
    pub fn slots(&self, epoch: &Epoch) -> u64 {
        self.window.bytes() as u64 / epoch.segment_bytes
    }

    /// Maps the log bytes of a segment.
    pub fn map(&self, file: &dyn File, epoch: &Epoch, number: u64) -> Result<Arc<dyn Mapping>> {
        let name = segment::path(epoch.timeline, number);
        let at = epoch.start_of(number).0 & (self.window.bytes() as u64 - 1);
        let place = Place {
            window: &self.window,
            at: at as usize,
            offset: HEADER_BYTES,
            bytes: epoch.segment_bytes as usize,
            name: &name,
        };
        map(file, &place, self.io, self.kind).map(Arc::from)
    }
}

fn map(file: &dyn File, place: &Place<'_>, io: WalIo, kind: MapKind) -> Result<Box<dyn Mapping>> {
    file.map(place, kind).map_err(|e| match e.kind() {
        io::ErrorKind::Unsupported => io.refusal(&e),
        _ => Error::io("map", place.name, e),
    })
}

/// Slots for all segments that may be announced and not finished. Claims reach up to one `capacity` beyond what the
/// flusher has released, which may be one beyond what is finished; waiting claims have the maker look one more ahead
/// ([`super::maker`]).
fn slots(segment_bytes: u64, capacity: u64) -> u64 {
    (3 * capacity / segment_bytes + 8).next_power_of_two()
}

/// Refuses what can't be done with the files of the log from `redo` on, before anything has changed.
pub fn check_io(disk: &dyn Disk, shape: &LogShape, redo: Lsn, io: WalIo) -> Result<()> {
    let Some(kind) = io.kind() else { return Ok(()) };
    let number = redo.0 / shape.segment_bytes;
    // Where it is missing, reading the log says so.
    let Some((file, _)) = segment::open(disk, shape, number)? else { return Ok(()) };
    let bytes = HEADER_BYTES as usize;
    let window = Window::reserve(bytes).map_err(|e| Error::io("reserve", "wal", e))?;
    let name = segment::path(shape.timeline, number);
    map(&*file, &Place { window: &window, at: 0, offset: 0, bytes, name: &name }, io, kind)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_room_for_every_segment_that_may_be_announced() {
        for segment in [64 << 10, 1 << 20, 16 << 20] {
            for capacity in [1 << 20, 16 << 20, 2 << 30] {
                let announced = 2 * capacity / segment + 1 + 2 + 1 + capacity / segment + 1;
                let slots = slots(segment, capacity);
                assert!(slots > announced && slots * segment >= 2 * capacity);
            }
        }
    }
}
