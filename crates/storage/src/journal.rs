//! The log as one critical section on one relation sees it: a claim, or nothing for relations that are not
//! logged. It spares the rooms that change pages the distinction.

use crate::buffer::Relation;
use crate::error::Result;
use crate::wal::record::BLOCK_HEADER_BYTES;
use crate::wal::{Claim, MAX_IMAGE_BYTES, Record, Terms, Wal};
use base::LsnRange;

/// An open claim; see the module.
pub(crate) struct Journal<'w> {
    claimed: Option<(&'w Wal, Claim<'w>)>,
    /// As of the opening: a journal that has claimed no room for images logs none, whatever is set meanwhile.
    terms: Terms,
}

impl<'w> Journal<'w> {
    /// Claims `bytes` ([`record_bound`](crate::wal::record_bound)) for records that change at most `pages`
    /// pages of `rel`. To be called before the first latch; may park, fails when the disk is full.
    #[inline]
    pub fn open(wal: &'w Wal, rel: &Relation, pages: usize, bytes: usize) -> Result<Journal<'w>> {
        if !rel.id().is_logged() {
            return Ok(Journal { claimed: None, terms: Terms::NONE });
        }
        let terms = rel.owner().terms();
        let images = if terms.pays { pages * (BLOCK_HEADER_BYTES + MAX_IMAGE_BYTES) } else { 0 };
        Ok(Journal { claimed: Some((wal, wal.claim(bytes + images)?)), terms })
    }

    /// Inserts the record that `record` builds, if the relation is logged, and tells where it lies: its end
    /// is the LSN of every page it names.
    #[inline]
    pub fn insert<'a>(&mut self, record: impl FnOnce(Terms) -> Record<'a>) -> Option<LsnRange> {
        let (wal, claim) = self.claimed.as_mut()?;
        Some(wal.insert(claim, &record(self.terms)))
    }
}
