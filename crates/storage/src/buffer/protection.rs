//! What protects pages against being written half, and changing that while the pool is at work.
//!
//! How a page is protected is decided page by page, at its copy: if the log has its image since it became dirty,
//! that is enough, else the copy goes to the double-write area, if there is one. The setting only says who pays
//! images (records whose journal was opened under `full_page_writes`) and whether there is an area. So it
//! can change at any time:
//!
//! * *doublewrite* to *full_page_writes*: dirty pages owe their images still. The next record that has claimed room
//!   for one pays; until then they are guarded by the area.
//! * *full_page_writes* to *doublewrite*: pages whose images are in the log need nothing until they are clean.
//! * to *off*: writes without protection must not meet copies in the area, which would be put in a torn page's place
//!   with everything since missing. What is written in place is synced, so nothing needs its copy any more; then the
//!   area is removed; both between two batches.
//! * from *off*: what was written without protection is synced first, then there is an area again. Its batches are
//!   numbered on, because the sync that areas wait for is known by number.

use super::doublewrite::{self, Area};
use super::pool::Pool;
use super::{Config, TornPages};
use crate::error::{Error, Result, fatal};
use crate::wal::{Compression, Terms};
use base::sync::unmodelled::{AtomicU8, Ordering};

/// The settings as they are now; read when log space is claimed.
pub(super) struct Protection {
    torn_pages: AtomicU8,
    compression: AtomicU8,
}

impl Protection {
    pub fn new(config: &Config) -> Protection {
        Protection {
            torn_pages: AtomicU8::new(config.torn_pages as u8),
            compression: AtomicU8::new(config.compression as u8),
        }
    }
}

impl Pool {
    /// What protects pages against being written half.
    #[inline]
    pub fn torn_pages(&self) -> TornPages {
        // Relaxed: nothing is right only under one of them, see the module.
        match self.protection.torn_pages.load(Ordering::Relaxed) {
            code if code == TornPages::DoubleWrite as u8 => TornPages::DoubleWrite,
            code if code == TornPages::FullPageWrites as u8 => TornPages::FullPageWrites,
            _ => TornPages::Off,
        }
    }

    /// What log records do about images from now on.
    #[inline]
    pub fn terms(&self) -> Terms {
        // Relaxed: each image says how it is packed.
        let code = self.protection.compression.load(Ordering::Relaxed);
        Terms {
            pays: self.torn_pages() == TornPages::FullPageWrites,
            compression: Compression::from_code(code).expect("only codes are stored"),
        }
    }

    /// Chooses how images in the log are packed.
    pub fn set_compression(&self, how: Compression) {
        self.protection.compression.store(how as u8, Ordering::Relaxed);
    }

    /// Chooses another protection; waits for the batch that is being written. After an error it is as before.
    pub fn set_torn_pages(&self, to: TornPages) -> Result<()> {
        let mut writer = self.writer.lock();
        match (to, &writer.area) {
            (TornPages::Off, Some(area)) => {
                if !writer.carried.is_empty() {
                    let why = "a page could not be written, and its copy is still needed";
                    return Err(Error::Refused(why.into()));
                }
                let last = area.sequence();
                self.places.sync(self);
                match doublewrite::remove(&*writer.disk) {
                    Err(Error::Io(e)) if e.what == "sync" => fatal(&Error::Io(e).to_string()),
                    done => done?,
                }
                (writer.area, writer.last_batch) = (None, last);
            }
            (TornPages::DoubleWrite | TornPages::FullPageWrites, None) => {
                self.places.sync(self);
                writer.area = Some(Area::open(&*writer.disk, writer.last_batch)?);
            }
            _ => {}
        }
        self.protection.torn_pages.store(to as u8, Ordering::Relaxed);
        Ok(())
    }
}
