//! A relation's bytes to another relation: how a database is copied, whatever its tables and indexes are.
//!
//! Pages are copied as they stand, versions with their transactions and indexes with the addresses in them:
//! all databases share one transaction status, so a version means the same wherever it lies. Each page goes
//! to the log whole. The free-space map stays behind, it is a hint.

use super::Engine;
use crate::buffer::{Purpose, ReadAhead, Relation, Ring};
use crate::error::Result;
use crate::page::PageBytes;
use crate::sequence;
use crate::wal::{Kind, MAX_IMAGE_BYTES, PageImage, record_bound};
use base::rank::Rank;
use base::{BlockNo, Fork, Xid, sim};

/// Pages of the cache that reading may use.
const RING_PAGES: usize = 32;

impl Engine {
    /// Copies all pages of `from` to `to`, which is empty and of the same rank. Nobody may change either
    /// meanwhile: the caller keeps sessions and vacuum away.
    pub fn copy_relation(&self, from: &Relation, to: &Relation) -> Result<()> {
        assert_eq!(from.rank(), to.rank(), "a copy is of the same kind");
        let _window = sim::window("relation-copy");
        let mut bytes = PageBytes::new();
        let mut filled = Ring::for_bulk_write(to.owner());
        for fork in [Fork::Main, Fork::Visibility] {
            let blocks = from.blocks(fork)?;
            let mut ahead = ReadAhead::new(from, from.owner().reach());
            let mut ring = Ring::new(RING_PAGES, Purpose::BulkRead).with_ahead(ahead.ring_pages());
            for block in (0..blocks).map(BlockNo) {
                let places = block.0..blocks;
                let at = |place| Some(BlockNo(place));
                let started = ahead.look(from, fork, places, Some(&mut ring), at);
                ring.expect(started);
                from.read_in(&mut ring, fork, block)?.to_bytes(&mut bytes);
                self.append(to, &mut filled, (fork, block), &mut bytes)?;
                base::interrupt::check()?;
                base::park::checkpoint();
            }
        }
        Ok(())
    }

    /// Makes a page with these bytes the next of the fork.
    fn append(
        &self,
        to: &Relation,
        ring: &mut Ring,
        (fork, block): (Fork, BlockNo),
        bytes: &mut PageBytes,
    ) -> Result<()> {
        assert_eq!(to.extend_in(ring, fork)?.block(), block, "nobody else extends the copy");
        if bytes.0.iter().all(|byte| *byte == 0) {
            // Files grow ahead of what is put into them. The copy's page is zero as it is.
            return Ok(());
        }
        let claim = match to.id().is_logged() {
            true => Some(self.wal.claim(record_bound(1, 1, MAX_IMAGE_BYTES))?),
            false => None,
        };
        let mut page = to.write_in(ring, fork, block)?;
        page.mark_dirty();
        page.from_bytes(bytes);
        if to.rank() == Rank::SequencePage {
            sequence::cover_nothing(&mut page);
            page.to_bytes(bytes);
        }
        let Some(mut claim) = claim else { return Ok(()) };
        let sound = !page.is_new() && page.header_is_sound();
        let hole = if sound { page.lower()..page.upper() } else { 0..0 };
        let record =
            to.owner().terms().record(Kind::PAGE_IMAGE, Xid::INVALID).info(to.rank() as u8);
        let image = PageImage::new(&bytes.0, hole);
        let at = self.wal.insert(&mut claim, &record.image_block(page.page_id(), image));
        page.set_lsn(at.end);
        Ok(())
    }
}
