//! A passage through relations that reads much and once, vacuum's above all: one ring for all that it comes to, pages
//! on their way before it asks for them, and no credit for any of them.

use super::ahead::{Reach, ReadAhead};
use super::guard::{ReadGuard, WriteGuard};
use super::io::Purpose;
use super::pool::Pool;
use super::relation::Relation;
use super::ring::Ring;
use crate::error::Result;
use base::{BlockNo, Fork};
use std::ops::Range;

/// Pages that it goes round in beside what is read ahead, as in PostgreSQL; in a small pool an eighth.
const RING_PAGES: usize = 32;

/// The ring of a passage, and how far it reads ahead.
pub struct Passage {
    /// Where pages that it loads go round.
    pub ring: Ring,
    reach: Reach,
}

impl Passage {
    /// Through relations of `pool`.
    pub fn new(pool: &Pool, reach: Reach, purpose: Purpose) -> Passage {
        let frames = pool.frame_count();
        let ring = Ring::new(RING_PAGES.min(frames / 8), purpose);
        Passage { ring: ring.with_ahead(reach.most(frames) as usize), reach }
    }

    /// Vacuum's through one relation, reading as far ahead as the pool does.
    pub fn for_vacuum(rel: &Relation) -> Passage {
        Passage::new(rel.owner(), rel.owner().reach(), Purpose::Vacuum)
    }

    /// What reads ahead in one of the relations.
    pub fn ahead(&self, rel: &Relation) -> ReadAhead {
        ReadAhead::new(rel, self.reach)
    }

    /// As [`ReadAhead::look`], into the ring, before the page at place `places.start` is read or written.
    pub fn look(
        &mut self,
        ahead: &mut ReadAhead,
        rel: &Relation,
        places: Range<u32>,
        block_of: impl FnMut(u32) -> Option<BlockNo>,
    ) {
        let started = ahead.look(rel, Fork::Main, places, Some(&mut self.ring), block_of);
        self.ring.expect(started);
    }

    /// A page of the main fork, latched shared.
    pub fn read<'r>(&mut self, rel: &'r Relation, block: BlockNo) -> Result<ReadGuard<'r>> {
        rel.read_in(&mut self.ring, Fork::Main, block)
    }

    /// A page of the main fork, latched alone.
    pub fn write<'r>(&mut self, rel: &'r Relation, block: BlockNo) -> Result<WriteGuard<'r>> {
        rel.write_in(&mut self.ring, Fork::Main, block)
    }
}
