//! Waiting for others: published so that the deadlock detector and `pg_locks` can see it, ended by a
//! signal, a timeout, an interrupt, or the discovery of a deadlock.

use super::LockManager;
use super::mode::LockMode;
use super::rows::RowQueue;
use super::slot::SessionId;
use super::tag::LockTag;
use crate::error::{Error, Result};
use crate::txlog::RowLock;
use base::clock::{self, Instant};
use base::park::{self, Context};
use base::sync::unmodelled::Ordering;
use base::wait_event;
use base::{Csn, Xid, interrupt, rank};
use std::sync::Arc;
use std::time::Duration;

/// How long a session is ready to wait for a lock.
#[derive(Clone, Copy, Debug)]
pub struct WaitLimits {
    /// `lock_timeout`; `None` is for ever.
    pub lock_timeout: Option<Duration>,
    /// `deadlock_timeout`: look for a deadlock after this.
    pub deadlock_timeout: Duration,
}

impl Default for WaitLimits {
    fn default() -> WaitLimits {
        WaitLimits { lock_timeout: None, deadlock_timeout: Duration::from_secs(1) }
    }
}

/// Whether to wait at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitPolicy {
    /// Until the lock is granted, within the limits.
    Block,
    /// `NOWAIT`, `SKIP LOCKED`, `pg_try_…`: fail with [`Error::LockNotAvailable`] instead.
    Never,
}

/// How often a wait without a signal looks whether it is over.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// What a session waits for.
#[derive(Clone)]
pub(super) enum WaitFor {
    /// A lock of the table.
    Lock(LockTag, LockMode),
    /// Those who hold a lock in a mode that conflicts with this one.
    Holders(LockTag, LockMode),
    /// Sessions of a database whose snapshots do not see all commits below.
    Snapshots(u32, Csn),
    /// A transaction's end.
    Xid(Xid),
    /// Its turn at a row.
    Row(Arc<RowQueue>, RowLock),
}

/// A session's current wait, and the number of all it has begun.
#[derive(Default)]
pub(super) struct Waiting {
    /// Number of the current wait, or of the last one.
    pub(super) number: u64,
    pub(super) what: Option<WaitFor>,
    pub(super) since: Instant,
    context: Option<Context>,
}

impl LockManager {
    /// Says that the session is about to wait; returns the wait's number, which a signal must name.
    pub(super) fn begin_wait(&self, me: SessionId, what: WaitFor) -> u64 {
        let line = &self.sessions.slot(me).wait;
        let mut waiting = line.waiting.lock().expect("no code panics under it");
        debug_assert!(waiting.what.is_none(), "a session waits for one thing at a time (L3)");
        waiting.number += 1;
        waiting.what = Some(what);
        waiting.since = clock::now();
        waiting.context = Some(park::current());
        // Relaxed: signals for this wait come through the mutex, after.
        line.signal.store(false, Ordering::Relaxed);
        waiting.number
    }

    pub(super) fn end_wait(&self, me: SessionId) {
        let mut waiting =
            self.sessions.slot(me).wait.waiting.lock().expect("no code panics under it");
        waiting.what = None;
        waiting.context = None;
    }

    /// Ends wait `number` of a session. A wait that is over is left alone.
    pub(super) fn signal(&self, session: SessionId, number: u64) {
        let line = &self.sessions.slot(session).wait;
        let waiting = line.waiting.lock().expect("no code panics under it");
        if waiting.number == number
            && let Some(context) = &waiting.context
        {
            // Release: pairs with the acquire in `wait`.
            line.signal.store(true, Ordering::Release);
            context.unpark();
        }
    }

    /// Waits for a signal. On an error the caller takes itself out of the queue it is in, and may find
    /// that it was served meanwhile.
    pub(super) fn wait(&self, me: SessionId, limits: &WaitLimits) -> Result<()> {
        self.wait_or(me, limits, None)
    }

    /// As [`LockManager::wait`], but also looks again and again whether what is waited for, which gives no
    /// signal, is over.
    pub(super) fn wait_or(
        &self,
        me: SessionId,
        limits: &WaitLimits,
        is_over: Option<&dyn Fn() -> bool>,
    ) -> Result<()> {
        rank::assert_none_held();
        let signal = &self.sessions.slot(me).wait.signal;
        let _waiting = self.waits_for(me).map(|tag| wait_event::during(tag.event()));
        let start = clock::now();
        let timeout = limits.lock_timeout.map(|wait| start.after(wait));
        let mut search = Some(start.after(limits.deadlock_timeout));
        loop {
            // Acquire: pairs with the release in `signal`.
            if signal.load(Ordering::Acquire) || is_over.is_some_and(|is_over| is_over()) {
                return Ok(());
            }
            interrupt::check()?;
            let now = clock::now();
            if timeout.is_some_and(|at| now >= at) {
                return Err(Error::LockTimeout);
            }
            if search.is_some_and(|at| now >= at) {
                search = None;
                if let Some(detail) = self.find_deadlock(me)? {
                    return Err(Error::Deadlock { detail });
                }
                // The search may have parked, and so consumed the token of a signal.
                continue;
            }
            let look = is_over.map(|_| now.after(LOOK_INTERVAL));
            let next = [timeout, search, look].into_iter().flatten().min();
            park::park_until(next);
        }
    }
}
