//! What a killed process leaves to the next: writes that the system has and the disk may not have yet.
//!
//! The next process reads them back as if they were there for good, and builds on that: pages that have a
//! record's change are not redone, double-write slots are used again, clients are shown what the log says. If
//! the power failed then, all of this would be founded on nothing. So everything is synced first.

use crate::error::{Error, Result};
use crate::recovery::control;
use crate::relfile::{RelFiles, sync_path};
use crate::txlog::ALL_LOGS;
use crate::wal::segment;
use base::disk::Disk;

/// Makes everything in the directory durable that recovery relies on. To be called before anything else reads.
pub(super) fn sync(disk: &dyn Disk, relfiles: &RelFiles) -> Result<()> {
    sync_path(disk, control::PATH)?;
    sync_directory(disk, segment::DIRECTORY)?;
    for log in ALL_LOGS.into_iter().filter(|log| log.is_durable()) {
        sync_directory(disk, log.directory())?;
    }
    relfiles.sync_inherited()?;
    disk.sync_dir("").map_err(|e| Error::io("sync", ".", e))
}

fn sync_directory(disk: &dyn Disk, directory: &str) -> Result<()> {
    // The logs' directories are made when they are first opened.
    if !disk.exists(directory).map_err(|e| Error::io("open", directory, e))? {
        return Ok(());
    }
    for name in disk.list(directory).map_err(|e| Error::io("list", directory, e))? {
        sync_path(disk, &format!("{directory}/{name}"))?;
    }
    disk.sync_dir(directory).map_err(|e| Error::io("sync", directory, e))
}
