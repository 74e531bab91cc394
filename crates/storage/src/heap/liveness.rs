//! What a unique index asks: is there a row behind this entry, or will there be?

use super::HeapRel;
use super::fetch::{Chain, hint};
use crate::btree;
use crate::error::Result;
use crate::txn::visibility::liveness;
use crate::txn::{Liveness, Txn};
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
}
