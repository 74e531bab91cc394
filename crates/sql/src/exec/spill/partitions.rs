//! Rows parted by a hash, each part to be worked on for itself later.

use std::sync::Arc;

use crate::error::Result;
use crate::types::Datum;

use super::file::SpillFile;
use super::spool::Spool;

/// Parts that rows are put into at a time: 2 to this power.
const BITS: u32 = 4;

/// The part of a hash, in rounds: rows that share one in a round spread over all in the next.
fn partition_of(hash: u64, round: u32) -> usize {
    // The finisher of SplitMix64: every bit of the hash counts in the upper ones.
    let mut mixed = hash.wrapping_add(u64::from(round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> (u64::BITS - BITS)) as usize
}

/// The parts of one round.
pub(in crate::exec) struct Partitions {
    file: Arc<SpillFile>,
    round: u32,
    spools: Vec<Option<Spool>>,
}

impl Partitions {
    pub fn new(file: &Arc<SpillFile>, round: u32) -> Partitions {
        let spools = (0..1 << BITS).map(|_| None).collect();
        Partitions { file: file.clone(), round, spools }
    }

    /// The round that rows of these parts go through next.
    pub fn next_round(&self) -> u32 {
        self.round + 1
    }

    /// Whether anything was put where rows with this hash go.
    pub fn has(&self, hash: u64) -> bool {
        self.spools[partition_of(hash, self.round)].is_some()
    }

    /// Puts a row, given in pieces, where its hash says.
    pub fn push(&mut self, hash: u64, pieces: &[&[Datum]]) -> Result<()> {
        let spool = &mut self.spools[partition_of(hash, self.round)];
        spool.get_or_insert_with(|| Spool::new(&self.file)).push(pieces)
    }

    /// Nothing will be put here any more: the buffers are given back.
    pub fn seal(&mut self) -> Result<()> {
        self.spools.iter_mut().flatten().try_for_each(Spool::seal)
    }

    /// The parts, by number; `None` where nothing was put.
    pub fn into_parts(mut self) -> Result<Vec<Option<Spool>>> {
        self.seal()?;
        Ok(self.spools)
    }
}
