//! Deadlock detection across everything that sessions wait for: table locks, transactions, turns at rows.
//!
//! A session that has waited for `deadlock_timeout` walks the graph of who waits for whom, from itself. If
//! it comes back to itself it gives up, and reports the circle. The graph moves while it is walked, so a
//! circle found is walked once more: if every session in it is still in the same wait (by its number) and
//! still blocked by the next, all those waits existed together at the moment between the two walks, and
//! that is a deadlock. Nobody else need be stopped for this.

use super::LockManager;
use super::mode::LockMode;
use super::reorder::CHANGES_MAX;
use super::slot::SessionId;
use super::tag::LockTag;
use super::wait::WaitFor;
use crate::error::Result;
use base::clock::Instant;
use base::{Tid, Xid};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many circles through one session are opened before it gives up.
const CIRCLES_MAX: u32 = 64;
/// How often a session looks again after a circle that came apart while it was looked at.
const SEARCHES_MAX: u32 = 16;

/// A session that waits, and for whom.
pub(super) struct Edge {
    pub(super) from: SessionId,
    /// Number of the wait.
    wait: u64,
    pub(super) to: SessionId,
}

/// A wait as others see it.
pub(super) struct Seen {
    wait: u64,
    pub(super) what: WaitFor,
    pub(super) since: Instant,
}

impl LockManager {
    /// The wait that a session is in. A copy: nothing else is locked while a slot's mutex is held.
    pub(super) fn seen(&self, session: SessionId) -> Option<Seen> {
        let waiting = self.sessions.slot(session).wait.waiting.lock();
        let waiting = waiting.expect("no code panics under it");
        let seen = |what| Seen { wait: waiting.number, what, since: waiting.since };
        waiting.what.clone().map(seen)
    }

    /// What a wait is for, as a lock and a mode.
    pub(super) fn describe_wait(&self, session: SessionId, what: &WaitFor) -> (LockTag, LockMode) {
        match what {
            WaitFor::Lock(tag, mode) | WaitFor::Holders(tag, mode) => (*tag, *mode),
            // As PostgreSQL waits for the transactions themselves.
            WaitFor::Snapshots(db, csn) => {
                let holder = self.holders_of_snapshots(session, *db, *csn).first().copied();
                let running = holder.and_then(|holder| self.sessions.slot(holder).running());
                (LockTag::Transaction(running.unwrap_or(Xid::INVALID)), LockMode::Share)
            }
            WaitFor::Xid(xid) => (LockTag::Transaction(*xid), LockMode::Share),
            WaitFor::Row(queue, strength) => match queue.blocker(session) {
                (Some(xid), _) => (LockTag::Transaction(xid), LockMode::Share),
                _ => {
                    // Without a key the queue has just ended, and so has the wait.
                    let key = queue.key();
                    let (rel, tid) = key.map_or((0, Tid::INVALID), |k| (k.rel.counter(), k.tid));
                    let db = self.sessions.slot(session).database();
                    (LockTag::Tuple { db, rel, tid }, strength.mode())
                }
            },
        }
    }

    /// The sessions that this wait waits for.
    fn blockers(&self, session: SessionId, what: &WaitFor) -> Result<Vec<SessionId>> {
        match what {
            WaitFor::Lock(tag, mode) => {
                let shard = self.table.shard(tag);
                let entry = shard.get(tag).filter(|entry| entry.has_request(session));
                Ok(entry.map_or(Vec::new(), |entry| entry.blockers(session, *mode)))
            }
            WaitFor::Holders(tag, _) => {
                let shard = self.table.shard(tag);
                Ok(shard.get(tag).map_or(Vec::new(), |entry| entry.watched_by(session)))
            }
            WaitFor::Snapshots(db, csn) => Ok(self.holders_of_snapshots(session, *db, *csn)),
            WaitFor::Xid(xid) => Ok(self.txlog.runner(*xid)?.map(SessionId).into_iter().collect()),
            WaitFor::Row(queue, _) => {
                let (holder, before) = queue.blocker(session);
                let runner = match holder {
                    Some(xid) => self.txlog.runner(xid)?.map(SessionId),
                    None => None,
                };
                Ok(runner.or(before).into_iter().collect())
            }
        }
    }

    /// Sessions that `session` waits for, now; empty if it does not wait. For `pg_blocking_pids`.
    pub fn blockers_of(&self, session: SessionId) -> Result<Vec<SessionId>> {
        match self.seen(session) {
            Some(seen) => self.blockers(session, &seen.what),
            None => Ok(Vec::new()),
        }
    }

    /// Looks for a circle of waits through `me`, and opens it if only the order of a queue closes it; else describes
    /// it, a line per session, as PostgreSQL does. Then the wait is over: no other session will see the circle, and
    /// take itself for a victim.
    pub(super) fn find_deadlock(&self, me: SessionId) -> Result<Option<String>> {
        let _one_at_a_time = self.detector.lock();
        for _ in 0..CIRCLES_MAX {
            let Some(path) = self.circle(me)? else { return Ok(None) };
            if !self.open_by_order(&path, CHANGES_MAX)? {
                break;
            }
        }
        // Requests may have been granted while they were out of their order.
        let Some(path) = self.circle(me)? else { return Ok(None) };
        let description = self.describe(&path)?;
        self.end_wait(me);
        Ok(Some(description))
    }

    /// A circle of waits through `me`, all of which there were at the same moment.
    pub(super) fn circle(&self, me: SessionId) -> Result<Option<Vec<Edge>>> {
        for _ in 0..SEARCHES_MAX {
            let mut path = Vec::new();
            if !self.search(me, &mut path)? {
                return Ok(None);
            }
            if self.stands(&path)? {
                return Ok(Some(path));
            }
            // One that came apart meanwhile says nothing of others.
        }
        Ok(None)
    }

    /// Whether all of a path's waits are still what they were.
    fn stands(&self, path: &[Edge]) -> Result<bool> {
        for edge in path {
            let seen = self.seen(edge.from).filter(|seen| seen.wait == edge.wait);
            let Some(seen) = seen else { return Ok(false) };
            if !self.blockers(edge.from, &seen.what)?.contains(&edge.to) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Walks the graph depth first from `goal`; the edges of a circle back to it are left in `path`.
    fn search(&self, goal: SessionId, path: &mut Vec<Edge>) -> Result<bool> {
        let mut visited = BTreeSet::from([goal]);
        let mut stack = vec![(goal, 0)];
        let mut branches: Vec<(u64, Vec<SessionId>)> = Vec::new();
        while let Some((session, next)) = stack.last_mut() {
            let (session, index) = (*session, *next);
            *next += 1;
            if branches.len() < stack.len() {
                let branch = match self.seen(session) {
                    Some(seen) => (seen.wait, self.blockers(session, &seen.what)?),
                    None => (0, Vec::new()),
                };
                branches.push(branch);
            }
            let (wait, blockers) = &branches[stack.len() - 1];
            let Some(&to) = blockers.get(index) else {
                stack.pop();
                branches.truncate(stack.len());
                path.truncate(stack.len().saturating_sub(1));
                continue;
            };
            path.truncate(stack.len() - 1);
            path.push(Edge { from: session, wait: *wait, to });
            if to == goal {
                return Ok(true);
            }
            if visited.insert(to) {
                stack.push((to, 0));
            }
        }
        Ok(false)
    }

    fn describe(&self, path: &[Edge]) -> Result<String> {
        let mut text = String::new();
        for edge in path {
            let slot = self.sessions.slot(edge.from);
            let Some(seen) = self.seen(edge.from) else {
                continue;
            };
            let (tag, mode) = self.describe_wait(edge.from, &seen.what);
            let pid = slot.pid();
            let by = self.sessions.slot(edge.to).pid();
            if !text.is_empty() {
                text.push('\n');
            }
            write!(text, "Process {pid} waits for {mode} on {tag}; blocked by process {by}.")
                .expect("writing to a string does not fail");
        }
        Ok(text)
    }
}
