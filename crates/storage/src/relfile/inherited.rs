//! What an earlier process wrote to relation files and did not live to sync.
//!
//! Redo reads it as if it were there for good. So before anything builds on that, it is made durable: before the first
//! page is written (a batch of copies takes the place of older ones, which may be all that mends a page of those
//! that the disk does not have yet), before the double-write area is removed, and before the control file says more than
//! it did. Until then the log answers for everything, as it did for the earlier process. Redo itself need not wait.
//!
//! Where a sync had failed that is not enough. Linux tells of a failed write once, takes the page for clean and keeps its
//! new content cached: the next process's syncs find nothing amiss, redo finds the page's LSN new enough, and some time
//! after the log is gone the system drops the page, and the disk's old block comes back. So whoever meets a failed sync
//! leaves a mark, and a start that finds it has the system's cache of the files dropped before it reads any of them.

use super::{BASE_DIR, RelFiles, parse_name};
use crate::error::{Error, Result, fatal};
use base::disk::{Disk, File, Open};
use base::lot;
use base::sync::unmodelled::{AtomicU8, Ordering};
use std::io::ErrorKind;

/// The mark of a failed sync, in the data directory.
pub(crate) const SYNC_FAILED: &str = "sync_failed";

const DURABLE: u8 = 0;
const SYNCING: u8 = 1;
const FAILED: u8 = 2;

/// Whether it is durable yet.
pub(super) struct Inherited(AtomicU8);

impl Default for Inherited {
    fn default() -> Inherited {
        Inherited(AtomicU8::new(DURABLE))
    }
}

impl Inherited {
    fn is_under_way(&self) -> bool {
        // Acquire: pairs with the release in `set`.
        self.0.load(Ordering::Acquire) == SYNCING
    }

    fn set(&self, state: u8) {
        // Release: what the sync covers comes before.
        self.0.store(state, Ordering::Release);
        lot::unpark_all(self.key());
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl RelFiles {
    /// Says that there may be such writes: [`RelFiles::sync_inherited`] follows, in whatever context.
    pub fn expect_inherited(&self) {
        self.inherited.set(SYNCING);
    }

    /// Makes durable what an earlier process wrote to logged relations; whether it synced that is not known. Files that
    /// are removed meanwhile need no sync. A failure is final.
    pub fn sync_inherited(&self) -> Result<()> {
        let done = self.sync_all_names().inspect_err(|_| self.mark_failed_sync());
        self.inherited.set(if done.is_ok() { DURABLE } else { FAILED });
        done
    }

    /// Parks until it is durable. No latch may be held. An error if it can't be: nothing may be written then.
    pub fn await_inherited(&self) -> Result<()> {
        while self.inherited.is_under_way() {
            let waiting = || self.inherited.is_under_way();
            lot::park_on(self.inherited.key(), lot::EXCLUSIVE, waiting, None);
        }
        // Relaxed: it was read above.
        if self.inherited.0.load(Ordering::Relaxed) == FAILED {
            let why = "what an earlier process wrote could not be made durable";
            return Err(Error::Refused(why.into()));
        }
        Ok(())
    }

    /// Whether it is not durable yet: nothing is written meanwhile, however long that takes.
    pub fn awaits_inherited(&self) -> bool {
        self.inherited.is_under_way()
    }

    fn sync_all_names(&self) -> Result<()> {
        self.each_logged(|path, file| file.sync().map_err(|e| Error::io("sync", path, e)))?;
        self.disk.sync_dir(BASE_DIR).map_err(|e| Error::io("sync", BASE_DIR, e))
    }

    /// Every file of a logged relation, opened by the way of the system's cache; not those that are removed meanwhile.
    fn each_logged(&self, act: impl Fn(&str, &dyn File) -> Result<()>) -> Result<()> {
        let names = self.disk.list(BASE_DIR).map_err(|e| Error::io("list", BASE_DIR, e))?;
        for name in names {
            if parse_name(&name).is_some_and(|(rel, _)| rel.is_logged()) {
                let path = format!("{BASE_DIR}/{name}");
                match self.disk.open(&path, Open::Existing) {
                    Ok(file) => act(&path, &*file)?,
                    Err(gone) if gone.kind() == ErrorKind::NotFound => {}
                    Err(e) => return Err(Error::io("open", path, e)),
                }
            }
        }
        Ok(())
    }

    /// See [`mark_failed_sync`].
    pub(super) fn mark_failed_sync(&self) {
        mark_failed_sync(&*self.disk);
    }

    /// Leaves the mark if it is a sync that has failed, for who ends with that error.
    pub fn note_failed_sync(&self, error: &Error) {
        if matches!(error, Error::Io(e) if e.what == "sync") {
            self.mark_failed_sync();
        }
    }

    /// A sync that failed can't be repeated, as what the system dropped is not known: ends the process if it is that.
    pub fn or_fatal(&self, error: Error) -> Error {
        match &error {
            Error::Io(e) if e.what == "sync" => {
                self.mark_failed_sync();
                fatal(&error.to_string())
            }
            _ => error,
        }
    }

    /// Where an earlier process has left the mark: has the system read logged relations from the device again. What it still
    /// takes for unwritten is written first. To be called before anything of them is read.
    pub fn distrust_cache(&self) -> Result<()> {
        if !has_failed_sync(&*self.disk)? {
            return Ok(());
        }
        self.each_logged(|path, file| {
            file.sync().map_err(|e| Error::io("sync", path, e))?;
            file.drop_cached().map_err(|e| Error::io("read anew", path, e))
        })
    }

    /// Takes the mark away. Redo has read what the disk has, and the redo point waits for what it changed.
    pub fn trust_cache(&self) -> Result<()> {
        if has_failed_sync(&*self.disk)? {
            self.disk.remove(SYNC_FAILED).map_err(|e| Error::io("remove", SYNC_FAILED, e))?;
            self.disk.sync_dir("").map_err(|e| Error::io("sync", ".", e))?;
        }
        Ok(())
    }
}

/// Leaves the mark of a failed sync, as well as the disk lets it. Of the process nothing is left thereafter.
pub(crate) fn mark_failed_sync(disk: &dyn Disk) {
    let left = disk.open(SYNC_FAILED, Open::Create).and_then(|mark| {
        mark.sync()?;
        disk.sync_dir("")
    });
    if let Err(fault) = left {
        base::log!("the failed sync could not be noted in \"{SYNC_FAILED}\": {fault}");
    }
}

/// Has an earlier process left the mark?
pub(crate) fn has_failed_sync(disk: &dyn Disk) -> Result<bool> {
    disk.exists(SYNC_FAILED).map_err(|e| Error::io("open", SYNC_FAILED, e))
}
