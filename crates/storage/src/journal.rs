//! The log as one critical section on one relation sees it: a claim, or nothing for relations that are not
//! logged. It spares the rooms that change pages the distinction.

use crate::buffer::{Relation, TornPages};
use crate::error::Result;
use crate::wal::record::{BLOCK_HEADER_BYTES, MAX_IMAGE_BYTES};
use crate::wal::{Claim, Record, Wal};
use base::LsnRange;

/// An open claim; see the module.
pub(crate) struct Journal<'w>(Option<(&'w Wal, Claim<'w>)>);

impl<'w> Journal<'w> {
    /// Claims `bytes` ([`record_bound`](crate::wal::record_bound)) for records that change at most `pages`
    /// pages of `rel`. To be called before the first latch; may park, fails when the disk is full.
    #[inline]
    pub fn open(wal: &'w Wal, rel: &Relation, pages: usize, bytes: usize) -> Result<Journal<'w>> {
        if !rel.id().is_logged() {
            return Ok(Journal(None));
        }
        let images = match rel.owner().torn_pages() {
            TornPages::FullPageWrites => pages * (BLOCK_HEADER_BYTES + MAX_IMAGE_BYTES),
            TornPages::DoubleWrite | TornPages::Off => 0,
        };
        Ok(Journal(Some((wal, wal.claim(bytes + images)?))))
    }

    /// Inserts the record that `record` builds, if the relation is logged, and tells where it lies: its end
    /// is the LSN of every page it names.
    #[inline]
    pub fn insert<'a>(&mut self, record: impl FnOnce() -> Record<'a>) -> Option<LsnRange> {
        let (wal, claim) = self.0.as_mut()?;
        Some(wal.insert(claim, &record()))
    }
}
