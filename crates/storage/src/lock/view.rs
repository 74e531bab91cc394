//! The locks as `pg_locks` shows them: a picture taken piece by piece, without stopping anybody.

use super::LockManager;
use super::mode::LockMode;
use super::slot::{NONE, SessionId};
use super::tag::LockTag;
use base::Xid;
use base::clock::Instant;
use base::sync::unmodelled::Ordering;

/// A lock that a session holds or waits for.
#[derive(Clone, Copy, Debug)]
pub struct LockView {
    /// What it is on.
    pub tag: LockTag,
    /// How strongly.
    pub mode: LockMode,
    /// Held, or waited for.
    pub granted: bool,
    /// Whether it is noted in the session's slot only.
    pub fast_path: bool,
    /// The session.
    pub session: SessionId,
    /// Its process id.
    pub pid: i32,
    /// Since when it waits.
    pub waits_since: Option<Instant>,
}

impl LockManager {
    /// Whether a session waits for a lock on `tag` that another holds.
    pub fn is_waited_for(&self, tag: &LockTag) -> bool {
        self.table.shard(tag).get(tag).is_some_and(|entry| !entry.queue.is_empty())
    }

    /// What a session waits for, if it waits for a lock.
    pub fn waits_for(&self, session: SessionId) -> Option<LockTag> {
        self.seen(session).map(|seen| self.describe_wait(session, &seen.what).0)
    }

    /// Every lock there is.
    pub fn view(&self) -> Vec<LockView> {
        let mut all = Vec::new();
        let view = |tag, mode, session: SessionId| LockView {
            tag,
            mode,
            granted: true,
            fast_path: false,
            session,
            pid: self.sessions.slot(session).pid(),
            waits_since: None,
        };
        for (session, slot) in self.sessions.live() {
            for (rel, modes) in slot.fast.list() {
                let tag = LockTag::Relation { db: slot.database(), rel };
                all.extend(
                    modes.iter().map(|m| LockView { fast_path: true, ..view(tag, m, session) }),
                );
            }
            let xid = slot.txn.xid.load(Ordering::Relaxed);
            if xid != NONE {
                all.push(view(LockTag::Transaction(Xid(xid)), LockMode::Exclusive, session));
            }
            let Some(seen) = self.seen(session) else {
                continue;
            };
            let (tag, mode) = self.describe_wait(session, &seen.what);
            let since = Some(seen.since);
            all.push(LockView { granted: false, waits_since: since, ..view(tag, mode, session) });
        }
        for shard in self.table.shards() {
            for (tag, entry) in shard.iter() {
                for holder in &entry.holders {
                    all.extend(holder.modes.iter().map(|m| view(*tag, m, holder.session)));
                }
            }
        }
        all.sort_by_key(|l| (l.session, l.tag, l.mode));
        all
    }
}
