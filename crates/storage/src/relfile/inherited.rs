//! What an earlier process wrote to relation files and did not live to sync.
//!
//! Redo reads it as if it were there for good. So before anything builds on that, it is made durable: before the first
//! page is written (a batch of copies takes the place of older ones, which may be all that mends a page of those
//! that the disk does not have yet), before the double-write area is removed, and before the control file says more than
//! it did. Until then the log answers for everything, as it did for the earlier process. Redo itself need not wait.

use super::{BASE_DIR, RelFiles, parse_name};
use crate::error::{Error, Result};
use base::disk::Open;
use base::lot;
use base::sync::unmodelled::{AtomicU8, Ordering};
use std::io::ErrorKind;

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
        let done = self.sync_all_names();
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
        let names = self.disk.list(BASE_DIR).map_err(|e| Error::io("list", BASE_DIR, e))?;
        for name in names {
            if parse_name(&name).is_some_and(|(rel, _)| rel.is_logged()) {
                self.sync_name(&format!("{BASE_DIR}/{name}"))?;
            }
        }
        self.disk.sync_dir(BASE_DIR).map_err(|e| Error::io("sync", BASE_DIR, e))
    }

    fn sync_name(&self, path: &str) -> Result<()> {
        match self.disk.open(path, Open::Existing) {
            Ok(file) => file.sync().map_err(|e| Error::io("sync", path, e)),
            Err(gone) if gone.kind() == ErrorKind::NotFound => Ok(()),
            Err(e) => Err(Error::io("open", path, e)),
        }
    }
}
