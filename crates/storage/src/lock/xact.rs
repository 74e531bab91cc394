//! Waiting for a transaction to end, without an entry in any table.
//!
//! The window says in which session a transaction runs; who waits for it leaves its name in that session's
//! slot. The running transaction pays one look at a flag when it ends, and nothing when it begins.
//!
//! *No wake-up is lost:* the waiter leaves its name and raises the flag, then looks at the window again;
//! the ending transaction stores its fate, then looks at the flag. Both have a sequentially consistent
//! fence in between, so one of them sees the other.

use super::LockManager;
use super::slot::{Dependent, SessionId};
use super::wait::{WaitFor, WaitLimits};
use crate::error::Result;
use base::Xid;
use base::sync::unmodelled::{Ordering, fence};

impl LockManager {
    /// Parks until `xid`, not one of this session's own, has ended. For a subtransaction: until it has
    /// rolled back or its top-level transaction has ended.
    pub fn wait_for_xid(&self, me: SessionId, xid: Xid, limits: &WaitLimits) -> Result<()> {
        while let Some(runner) = self.txlog.runner(xid)? {
            let runner = SessionId(runner);
            assert!(runner != me, "transaction {xid} waits for itself");
            let wait = self.begin_wait(me, WaitFor::Xid(xid));
            self.depend(runner, Dependent { session: me, wait, xid });
            // After the name was left (L6).
            let still = self.txlog.runner(xid);
            let result = match &still {
                Ok(Some(now)) if *now == runner.0 => self.wait(me, limits),
                _ => Ok(()),
            };
            self.end_wait(me);
            if result.is_err() || !matches!(still, Ok(Some(_))) {
                self.forget_dependent(runner, me);
            }
            result?;
            still?;
        }
        Ok(())
    }

    /// Leaves a name in the runner's slot.
    pub(super) fn depend(&self, runner: SessionId, dependent: Dependent) {
        let line = &self.sessions.slot(runner).wait;
        line.dependents.lock().expect("no code panics under it").push(dependent);
        line.has_dependents.store(true, Ordering::Relaxed);
        // Pairs with the fence in `wake_dependents`.
        fence(Ordering::SeqCst);
    }

    /// Whether some session waits for a transaction of this one's, for all that it knows.
    #[inline]
    pub fn has_dependents(&self, me: SessionId) -> bool {
        // Relaxed: a hint, for who wants to hurry.
        self.sessions.slot(me).wait.has_dependents.load(Ordering::Relaxed)
    }

    fn forget_dependent(&self, runner: SessionId, me: SessionId) {
        let line = &self.sessions.slot(runner).wait;
        line.dependents.lock().expect("no code panics under it").retain(|d| d.session != me);
    }

    /// Wakes who waits for transactions of this session that have ended: those that `ended` accepts.
    /// Their fates are stored.
    #[inline]
    pub fn wake_dependents(&self, me: SessionId, ended: impl Fn(Xid) -> bool) {
        // Pairs with the fence in `depend`.
        fence(Ordering::SeqCst);
        if self.sessions.slot(me).wait.has_dependents.load(Ordering::Relaxed) {
            self.wake_dependents_slow(me, &ended);
        }
    }

    #[cold]
    fn wake_dependents_slow(&self, me: SessionId, ended: &dyn Fn(Xid) -> bool) {
        let line = &self.sessions.slot(me).wait;
        let mut woken = Vec::new();
        {
            let mut dependents = line.dependents.lock().expect("no code panics under it");
            dependents.retain(|d| {
                let wake = ended(d.xid);
                if wake {
                    woken.push(*d);
                }
                !wake
            });
            line.has_dependents.store(!dependents.is_empty(), Ordering::Relaxed);
        }
        woken.iter().for_each(|d| self.signal(d.session, d.wait));
    }
}
