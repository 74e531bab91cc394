//! Object ids: a counter that is logged ahead of use, so that a crash never hands out an id twice.

use crate::error::{Error, Result};
use crate::wal::{Kind, Record, Wal, record_bound};
use base::Xid;
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, Ordering};
use std::sync::Arc;

/// The first id for users' objects, as in PostgreSQL; lower ones are written in the catalogs themselves.
pub const FIRST_NORMAL_OID: u32 = 16_384;

/// Ids that one record covers.
const AHEAD: u32 = 4096;

/// Hands out object ids.
pub struct Oids {
    wal: Arc<Wal>,
    next: AtomicU32,
    /// Ids below are covered by a record that lies before any record that uses them.
    limit: AtomicU32,
    logging: Latch<()>,
}

impl Oids {
    /// Ids below `next` may be in use.
    pub fn new(wal: &Arc<Wal>, next: u32) -> Oids {
        Oids {
            wal: Arc::clone(wal),
            next: AtomicU32::new(next),
            limit: AtomicU32::new(next),
            logging: Latch::new(Rank::Outer, ()),
        }
    }

    /// A new id. May wait for log space, once in a while; no latch may be held.
    pub fn allocate(&self) -> Result<u32> {
        // Relaxed: only distinctness matters here.
        let step = |oid: u32| oid.checked_add(1);
        let oid = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        let oid = oid.map_err(|_| Error::LimitExceeded("object ids are exhausted".into()))?;
        // Acquire: pairs with the release in `log_ahead`: the record that covers the id is inserted.
        while oid >= self.limit.load(Ordering::Acquire) {
            self.log_ahead()?;
        }
        Ok(oid)
    }

    fn log_ahead(&self) -> Result<()> {
        let _alone = self.logging.lock();
        let next = self.next.load(Ordering::Relaxed);
        // Acquire: as in `allocate`.
        if next < self.limit.load(Ordering::Acquire) {
            return Ok(());
        }
        let limit = next.saturating_add(AHEAD);
        // A checkpoint that still finds the old limit must not leave the record behind.
        let _hold = self.wal.hold_redo();
        let mut claim = self.wal.claim(record_bound(1, 0, 4))?;
        let bytes = limit.to_le_bytes();
        self.wal.insert(&mut claim, &Record::new(Kind::NEXT_OID, Xid::INVALID).data(&bytes));
        // Release: pairs with the acquire in `allocate`.
        self.limit.store(limit, Ordering::Release);
        Ok(())
    }

    /// No id from here on has been handed out. For checkpoints.
    pub fn limit(&self) -> u32 {
        // Acquire: pairs with the release in `log_ahead`.
        self.limit.load(Ordering::Acquire)
    }
}
