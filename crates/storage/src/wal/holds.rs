//! Redo holds: log positions that the redo point must not pass while somebody is at work.
//!
//! A record may announce a deed that no dirty page stands for: a file is about to be made, or removed. If
//! the redo point passed the record before the deed is done, a crash would lose the deed. The doer holds a
//! position taken *before* its record is inserted; the checkpointer reads the log's position first and the
//! holds after. A record before the checkpointer's position was reserved before that was read, its hold was
//! entered earlier still, so the checkpointer finds the hold, or the deed is done.

//!
//! Where pages leave the cache unwritten because their file goes, or is cut, redo may begin before all of their records or
//! behind them, but not in between: on the file as it was the later ones can't be done alone. Such a hold ends at a position.

use base::Lsn;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The positions held.
#[derive(Default)]
pub(super) struct Holds(Arc<Mutex<Held>>);

#[derive(Default)]
struct Held {
    next: u64,
    /// Where redo must not begin: behind the first position, up to the second.
    positions: BTreeMap<u64, (Lsn, Lsn)>,
}

/// Keeps the redo point from passing a position; ends when dropped.
#[must_use]
pub struct RedoHold {
    held: Arc<Mutex<Held>>,
    number: u64,
}

impl Holds {
    /// Holds what `position` answers, and all that comes.
    pub fn hold(&self, position: impl FnOnce() -> Lsn) -> RedoHold {
        self.enter(|| (position(), Lsn::MAX))
    }

    /// Holds what is behind `from`, up to `to`.
    pub fn hold_between(&self, from: Lsn, to: Lsn) -> RedoHold {
        self.enter(|| (from, to))
    }

    fn enter(&self, held_there: impl FnOnce() -> (Lsn, Lsn)) -> RedoHold {
        let mut held = self.0.lock().expect("no code panics under it");
        let number = held.next;
        held.next += 1;
        held.positions.insert(number, held_there());
        RedoHold { held: Arc::clone(&self.0), number }
    }

    /// The last position, up to `wanted`, at which redo may begin.
    pub fn allow(&self, mut wanted: Lsn) -> Lsn {
        let held = self.0.lock().expect("no code panics under it");
        while let Some((from, _)) =
            held.positions.values().find(|(from, to)| *from < wanted && wanted <= *to)
        {
            wanted = *from;
        }
        wanted
    }
}

impl Drop for RedoHold {
    fn drop(&mut self) {
        let mut held = self.held.lock().expect("no code panics under it");
        held.positions.remove(&self.number);
    }
}
