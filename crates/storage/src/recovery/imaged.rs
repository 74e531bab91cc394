//! Which torn pages the log makes anew.
//!
//! Under `full_page_writes` a page goes to its place without a copy in the double-write area, because the log
//! has its image. The area may still hold a copy from an earlier batch: whole, but older than the redo point
//! allows. A torn page must not be repaired with that. It stays torn, redo leaves it alone until it comes to
//! the image, and nothing before that is missed. Where the log has an image, the copy is never needed.

use crate::error::Result;
use crate::wal::{LogShape, Reader};
use base::disk::Disk;
use base::{Lsn, PageId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Looks into the log when the first torn page is met.
pub struct ImagedPages {
    disk: Arc<dyn Disk>,
    shape: LogShape,
    redo: Lsn,
    found: Option<BTreeSet<PageId>>,
}

impl ImagedPages {
    /// Of the log from `redo` on.
    pub fn new(disk: Arc<dyn Disk>, shape: LogShape, redo: Lsn) -> ImagedPages {
        ImagedPages { disk, shape, redo, found: None }
    }

    /// Whether redo will write the page anew, whatever is in its place.
    pub fn has(&mut self, page: PageId) -> Result<bool> {
        if self.found.is_none() {
            self.found = Some(self.read()?);
        }
        Ok(self.found.as_ref().is_some_and(|found| found.contains(&page)))
    }

    fn read(&self) -> Result<BTreeSet<PageId>> {
        let mut found = BTreeSet::new();
        let mut reader = Reader::open(Arc::clone(&self.disk), self.shape, self.redo)?;
        while let Some(record) = reader.read()? {
            for block in record.blocks() {
                if block.will_init || block.has_image() {
                    found.insert(block.page);
                }
            }
        }
        Ok(found)
    }
}
