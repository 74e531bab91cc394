//! Finding a log that was torn in a nasty way: a hole, and behind it an old record that is whole.
//!
//! The log ends at the hole. If a later run wrote a record of just the lost one's length there, the old
//! record would follow it without a seam, and must not be taken for part of the log.

use base::Lsn;
use base::disk::sim::SimDisk;
use std::sync::Arc;
use storage::recovery::ControlFile;
use storage::wal::{LogShape, Reader};

/// A whole record that the log does not lead to.
#[derive(Clone, Copy)]
pub struct Beyond {
    shape: LogShape,
    at: Lsn,
    /// Of the run that wrote it. Where a later run begins in the next segment, it may happen to begin one
    /// of its own records at the same place.
    epoch: u32,
}

/// Looks for one on a disk that a crash left; `whole` is the same moment's disk with nothing lost.
pub fn find(torn: &SimDisk, whole: &SimDisk) -> Option<Beyond> {
    let control = *ControlFile::open(torn).ok()?.content();
    let mut log = Reader::open(Arc::new(torn.clone()), control.shape, control.redo).ok()?;
    while log.read().ok()?.is_some() {}
    let mut lost = Reader::open(Arc::new(whole.clone()), control.shape, log.end().at).ok()?;
    let next = lost.read().ok()??.at.end;
    let beyond = Beyond { shape: control.shape, at: next, epoch: lost.end().epoch };
    beyond.is_there(torn).then_some(beyond)
}

impl Beyond {
    /// Whether the record is (still) there, whole.
    pub fn is_there(&self, disk: &SimDisk) -> bool {
        let Ok(mut log) = Reader::open(Arc::new(disk.clone()), self.shape, self.at) else {
            return false;
        };
        let starts_here = matches!(log.read(), Ok(Some(record)) if record.at.start == self.at);
        starts_here && log.end().epoch == self.epoch
    }
}
