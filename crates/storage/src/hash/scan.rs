//! All rows of a key, and marking entries whose rows are dead.
//!
//! The TIDs of a hash are copied at once, from one state of the bucket (X1): whatever splits or is squeezed
//! meanwhile, each entry is met exactly once, and nothing is held between two rows.

use super::page::*;
use super::{HashIndex, key_hash};
use crate::error::Result;
use base::{BlockNo, Fork, Tid};

/// Where an entry was.
struct Sighting {
    block: BlockNo,
    /// Of the page: as long as it stays, the entry is where it was.
    changes: u32,
    at: usize,
    tid: Tid,
}

impl HashIndex {
    /// The rows whose key may be `key`, into `tids`, which is emptied first. Whoever fetches them compares:
    /// another key may have the same hash.
    #[inline]
    pub fn lookup(&self, key: &[u8], tids: &mut Vec<Tid>) -> Result<()> {
        self.lookup_hash(key_hash(key), tids)
    }

    /// Marks the entries of `key` whose rows `is_gone` says that no transaction can see any more, durably.
    /// Later look-ups skip them, and the space goes to whoever needs some on the page. Hints: they may not be
    /// set.
    pub fn mark_dead(
        &self,
        key: &[u8],
        is_gone: &mut dyn FnMut(Tid) -> Result<bool>,
    ) -> Result<()> {
        let hash = key_hash(key);
        let mut seen = Vec::new();
        self.lookup_latched(hash, &mut |node, block| {
            let count = node.count();
            let from = node.first_of(hash);
            for at in (from..count).take_while(|at| node.hash(*at) == hash) {
                if !node.slot(at).is_dead() {
                    let tid = node.slot(at).tid();
                    seen.push(Sighting { block, changes: node.changes(), at, tid });
                }
            }
        })?;
        for sighting in seen {
            if is_gone(sighting.tid)? {
                self.mark(&sighting)?;
            }
        }
        Ok(())
    }

    /// Marks an entry, if its page has not changed: since the caller looked, the row's place may have come to
    /// belong to another row, but not while the entry stood there.
    fn mark(&self, sighting: &Sighting) -> Result<()> {
        let page = self.rel.read(Fork::Main, sighting.block)?;
        let node = Node(page.view());
        let is_chain = node.is(role::BUCKET) || node.is(role::OVERFLOW);
        if is_chain && node.changes() == sighting.changes {
            let slot = ENTRIES + sighting.at * ENTRY_BYTES + 8;
            page.hint_or(slot + 6, (DEAD >> 48) as u16);
        }
        Ok(())
    }
}
