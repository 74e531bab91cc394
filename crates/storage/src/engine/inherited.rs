//! What a killed process leaves to the next: writes that the system has and the disk may not have yet.
//!
//! The next process reads them back as if they were there for good, and builds on that: pages that have a
//! record's change are not redone, double-write slots are used again, clients are shown what the log says. If
//! the power failed then, all of this would be founded on nothing. So control file, log and status logs are synced
//! first, and the relation files beside redo: what builds on them waits for that (`relfile/inherited.rs`).

use crate::error::{Error, Result, or_abort};
use crate::recovery::control;
use crate::relfile::inherited::{has_failed_sync, mark_failed_sync};
use crate::relfile::{RelFiles, sync_path};
use crate::txlog::ALL_LOGS;
use crate::wal::segment;
use base::disk::{Disk, Open};
use base::env::{Background, Env};
use std::sync::{Arc, Mutex};

/// Relation files being synced, by a context of its own.
pub(super) struct Syncing {
    worker: Option<Background>,
    outcome: Arc<Mutex<Result<()>>>,
}

/// Makes everything in the directory durable that recovery relies on, the relation files beside what the caller does
/// next. To be called before anything else reads.
pub(super) fn sync(env: &Env, relfiles: &Arc<RelFiles>) -> Result<Syncing> {
    let disk = &*env.disk;
    sync_logs(disk).inspect_err(|error| {
        if matches!(error, Error::Io(e) if e.what == "sync") {
            mark_failed_sync(disk);
        }
    })?;
    relfiles.expect_inherited();
    let outcome = Arc::new(Mutex::new(Ok(())));
    let (files, told) = (Arc::clone(relfiles), Arc::clone(&outcome));
    let worker = env.spawn("inherited files", move || {
        or_abort("syncing of inherited files", || {
            let done = files.sync_inherited();
            *told.lock().expect("no code panics under it") = done;
        });
    });
    Ok(Syncing { worker: Some(worker), outcome })
}

impl Syncing {
    /// Returns when everything is durable, or fails with what failed.
    pub fn finish(mut self) -> Result<()> {
        self.join();
        let mut outcome = self.outcome.lock().expect("no code panics under it");
        std::mem::replace(&mut *outcome, Ok(()))
    }

    fn join(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.join();
        }
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.join();
    }
}

/// Where a sync has failed before, what the system has cached of the logs may not be what the disk has: it is dropped.
fn sync_logs(disk: &dyn Disk) -> Result<()> {
    let distrusts = has_failed_sync(disk)?;
    if distrusts {
        base::log!("a sync has failed before: what is there is read from the disk anew");
    }
    sync_path(disk, control::PATH)?;
    sync_directory(disk, segment::DIRECTORY, distrusts)?;
    for log in ALL_LOGS.into_iter().filter(|log| log.is_durable()) {
        sync_directory(disk, log.directory(), distrusts)?;
    }
    disk.sync_dir("").map_err(|e| Error::io("sync", ".", e))
}

fn sync_directory(disk: &dyn Disk, directory: &str, distrusts: bool) -> Result<()> {
    // The logs' directories are made when they are first opened.
    if !disk.exists(directory).map_err(|e| Error::io("open", directory, e))? {
        return Ok(());
    }
    for name in disk.list(directory).map_err(|e| Error::io("list", directory, e))? {
        let path = format!("{directory}/{name}");
        let file = disk.open(&path, Open::Existing).map_err(|e| Error::io("open", &*path, e))?;
        file.sync().map_err(|e| Error::io("sync", &*path, e))?;
        if distrusts {
            file.drop_cached().map_err(|e| Error::io("read anew", path, e))?;
        }
    }
    disk.sync_dir(directory).map_err(|e| Error::io("sync", directory, e))
}
