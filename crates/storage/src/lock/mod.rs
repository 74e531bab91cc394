//! Locks: what protects data for a transaction. See `README.md` in this folder.

mod deadlock;
mod duties;
mod fast;
mod held;
mod holders;
mod mode;
mod reorder;
mod rows;
mod slot;
mod snapshots;
mod table;
mod tag;
mod view;
mod wait;
mod xact;

pub use crate::txlog::RowLock;
pub use duties::Duty;
pub use fast::FAST_SLOTS;
pub use held::{LockScope, Locks};
pub use holders::Told;
pub use mode::{ALL_MODES, LockMode, MODES, ModeSet};
pub use rows::{RowKey, RowTurn};
pub(crate) use slot::NONE;
pub use slot::{SESSIONS_MAX, SessionId, Sessions, Slot};
pub use tag::LockTag;
pub use view::LockView;
pub use wait::{WaitLimits, WaitPolicy};

use crate::txlog::TxLog;
use base::latch::Latch;
use base::rank::Rank;
use std::sync::Arc;

/// The shared side of locking: all sessions, the lock table, the queues at rows.
pub struct LockManager {
    sessions: Sessions,
    table: table::LockTable,
    strong: fast::StrongCounters,
    rows: rows::Rows,
    /// Held while one session looks for a deadlock.
    detector: Latch<()>,
    txlog: Arc<TxLog>,
}

impl LockManager {
    /// No sessions, no locks.
    pub fn new(txlog: Arc<TxLog>) -> LockManager {
        LockManager {
            sessions: Sessions::default(),
            table: table::LockTable::default(),
            strong: fast::StrongCounters::default(),
            rows: rows::Rows::default(),
            detector: Latch::new(Rank::Outer, ()),
            txlog,
        }
    }

    /// All sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }
}

#[cfg(test)]
mod tests;
