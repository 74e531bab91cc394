//! What a unique index asks: is there a row behind this entry, or will there be?

use super::HeapRel;
use super::fetch::{Chain, hint};
use crate::btree;
use crate::error::Result;
use crate::page::LineFlags;
use crate::txn::visibility::{self, liveness};
use crate::txn::{Fate, Liveness, Txn};
use base::{Fork, Tid};

impl HeapRel {
    /// Judges the row behind an index entry as of now, whatever snapshots say. Waits for nobody.
    pub fn liveness(&self, txn: &Txn, tid: Tid) -> Result<btree::Liveness> {
        let page = self.rel.read(Fork::Main, tid.block)?;
        let mut chain = Chain::new(page.view(), tid.offset);
        while let Some((offset, item, header)) = chain.next() {
            let (state, hints) = liveness(txn, &header)?;
            hint(&page, item, hints);
            match state {
                Liveness::Dead => {}
                Liveness::Live => {
                    let tid = Tid { block: tid.block, offset };
                    return Ok(btree::Liveness::Live { tid, by: header.xmin });
                }
                Liveness::Inserting(xid) | Liveness::Deleting(xid) => {
                    return Ok(btree::Liveness::InProgress { xid });
                }
            }
        }
        Ok(btree::Liveness::Dead)
    }

    /// Whether the row behind an index entry is gone for every transaction there is or will be, durably: then
    /// a scan may mark the entry ([`Scan::found_dead`](btree::Scan::found_dead)).
    pub fn is_gone(&self, tid: Tid) -> Result<bool> {
        let page = self.rel.read(Fork::Main, tid.block)?;
        if page.try_line(tid.offset).is_some_and(|line| line.flags() == LineFlags::Dead) {
            return Ok(true);
        }
        let (horizon, durable) = (self.txns.horizon(), self.wal.durable_and_published());
        let mut chain = Chain::new(page.view(), tid.offset);
        let mut gone = false;
        while let Some((_, item, header)) = chain.next() {
            let (fate, hints) = visibility::fate(self.txns.txlog(), horizon, durable, &header)?;
            hint(&page, item, hints);
            gone = fate == Fate::Dead;
            if !gone {
                return Ok(false);
            }
        }
        Ok(gone)
    }
}
