//! Circles of waits that nothing but the order of a queue closes, opened by letting one request go before another.
//!
//! Where a circle has an edge from a request to one that merely came before it (not to a holder), the two may change
//! places: nobody who comes first has a right to that worth a transaction. The change stands if no circle is left
//! through the session that looks and through those that were overtaken; else it is taken back, and the next edge is
//! tried. PostgreSQL sorts the whole queue anew by all such edges at once; here a change that closes another circle has
//! that one opened in the same way, a few deep.

use super::LockManager;
use super::deadlock::Edge;
use super::mode::LockMode;
use super::slot::SessionId;
use super::table::Entry;
use super::tag::LockTag;
use super::wait::WaitFor;
use crate::error::Result;

/// How many changes may stand on each other.
pub(super) const CHANGES_MAX: u32 = 4;

impl LockManager {
    /// Opens a circle, if the order of queues alone closes it; false if a session must give up. For whoever holds the
    /// detector's latch.
    pub(super) fn open_by_order(&self, circle: &[Edge], changes_left: u32) -> Result<bool> {
        if changes_left == 0 {
            return Ok(false);
        }
        // From the far end, as PostgreSQL: who is let go first is the same then.
        for edge in circle.iter().rev() {
            let Some(seen) = self.seen(edge.from) else { continue };
            let WaitFor::Lock(tag, mode) = seen.what else { continue };
            let overtaken = self.with_queue(&tag, |entry| entry.overtake(edge.from, mode, edge.to));
            let Some(overtaken) = overtaken.flatten() else { continue };
            if self.is_open(edge.from, &overtaken, changes_left - 1)? {
                self.serve_queue(&tag);
                return Ok(true);
            }
            self.with_queue(&tag, |entry| entry.put_behind(edge.from, &overtaken));
        }
        Ok(false)
    }

    /// Whether no circle goes through these sessions any more, or all that do can be opened.
    fn is_open(
        &self,
        mover: SessionId,
        overtaken: &[SessionId],
        changes_left: u32,
    ) -> Result<bool> {
        for session in std::iter::once(&mover).chain(overtaken) {
            if let Some(circle) = self.circle(*session)?
                && !self.open_by_order(&circle, changes_left)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn with_queue<T>(&self, tag: &LockTag, change: impl FnOnce(&mut Entry) -> T) -> Option<T> {
        self.table.shard(tag).get_mut(tag).map(change)
    }

    /// Grants what can be granted in the new order.
    fn serve_queue(&self, tag: &LockTag) {
        let served = self.with_queue(tag, Entry::serve).unwrap_or_default();
        served.iter().for_each(|r| self.signal(r.session, r.wait));
    }
}

impl Entry {
    fn place_of(&self, session: SessionId) -> Option<usize> {
        self.queue.iter().position(|r| r.session == session)
    }

    /// Moves a request for `mode` to right before one that came earlier and holds nothing it conflicts with. Who was
    /// overtaken; `None` if that can't be.
    fn overtake(
        &mut self,
        mover: SessionId,
        mode: LockMode,
        earlier: SessionId,
    ) -> Option<Vec<SessionId>> {
        if self.blocking_holders(mover, mode).contains(&earlier) {
            return None;
        }
        let (from, to) = (self.place_of(mover)?, self.place_of(earlier)?);
        if from <= to {
            return None;
        }
        let request = self.queue.remove(from)?;
        self.queue.insert(to, request);
        Some(self.queue.range(to + 1..=from).map(|r| r.session).collect())
    }

    /// Moves a request back to behind those that it overtook, as far as they are there.
    fn put_behind(&mut self, mover: SessionId, overtaken: &[SessionId]) {
        let last = overtaken.iter().filter_map(|session| self.place_of(*session)).max();
        let Some((from, last)) = self.place_of(mover).zip(last) else { return };
        if from < last {
            let request = self.queue.remove(from).expect("it was found there");
            self.queue.insert(last, request);
        }
    }
}
