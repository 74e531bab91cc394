//! Redo holds: log positions that the redo point must not pass while somebody is at work.
//!
//! A record may announce a deed that no dirty page stands for: a file is about to be made, or removed. If
//! the redo point passed the record before the deed is done, a crash would lose the deed. The doer holds a
//! position taken *before* its record is inserted; the checkpointer reads the log's position first and the
//! holds after. A record before the checkpointer's position was reserved before that was read, its hold was
//! entered earlier still, so the checkpointer finds the hold, or the deed is done.

use base::Lsn;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The positions held.
#[derive(Default)]
pub(super) struct Holds(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    next: u64,
    positions: BTreeMap<u64, Lsn>,
}

/// Keeps the redo point from passing a position; ends when dropped.
#[must_use]
pub struct RedoHold {
    held: Arc<Mutex<Held>>,
    number: u64,
}

impl Holds {
    /// Holds what `position` answers.
    pub fn hold(&self, position: impl FnOnce() -> Lsn) -> RedoHold {
        let mut held = self.0.lock().expect("no code panics under it");
        let number = held.next;
        held.next += 1;
        held.positions.insert(number, position());
        RedoHold { held: Arc::clone(&self.0), number }
    }

    /// The lowest position held.
    pub fn lowest(&self) -> Option<Lsn> {
        self.0.lock().expect("no code panics under it").positions.values().min().copied()
    }
}

impl Drop for RedoHold {
    fn drop(&mut self) {
        let mut held = self.held.lock().expect("no code panics under it");
        held.positions.remove(&self.number);
    }
}
