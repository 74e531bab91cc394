//! Reasons to stop that reach a running or waiting context: cancel, timeouts, shutdown.
//!
//! An interrupt is a flag on the context plus an unpark. Waits that may be given up (row locks, sleeps,
//! client input) call [`check`] each time they wake; latches and page I/O ignore interrupts, but for the wait for a free
//! frame, which calls it every now and then.
//!
//! A context may have a [deadline](set_deadline), which it raises itself: when a park ends behind it, or when
//! it looks at the clock in a long loop ([`park::checkpoint`]). No timer is set for it anywhere.

use crate::clock::Instant;
use crate::park;
use crate::sync::unmodelled::{AtomicU32, AtomicU64, Ordering};

/// Why a statement or session is to stop, by falling urgency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Interrupt {
    /// The server shuts down or an administrator ended the session (57P01).
    Terminate = 1,
    /// The client is gone (08006).
    Disconnect = 2,
    /// A cancel request came (57014).
    Cancel = 4,
    /// `statement_timeout` passed (57014).
    StatementTimeout = 8,
}

const ALL: [Interrupt; 4] =
    [Interrupt::Terminate, Interrupt::Disconnect, Interrupt::Cancel, Interrupt::StatementTimeout];

/// Pending interrupts of a context.
#[derive(Default)]
pub(crate) struct Pending {
    raised: AtomicU32,
    /// When the context raises [`Interrupt::StatementTimeout`]; 0 is never. Only the context itself looks at
    /// it, hence relaxed everywhere.
    deadline: AtomicU64,
}

impl Pending {
    pub(crate) fn raise(&self, why: Interrupt) {
        // Release: pairs with the acquire in `check`; what the raiser wrote before is seen by the handler.
        self.raised.fetch_or(why as u32, Ordering::Release);
    }

    pub(crate) fn clear(&self) {
        // Relaxed: only the context itself clears, between statements.
        self.raised.store(0, Ordering::Relaxed);
        self.deadline.store(0, Ordering::Relaxed);
    }

    /// When the context's own deadline is.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let at = self.deadline.load(Ordering::Relaxed);
        (at != 0).then_some(Instant(at))
    }

    /// Raises the statement timeout if it is due, once.
    pub(crate) fn pass_deadline(&self, now: Instant) {
        if self.deadline().is_some_and(|at| at <= now) {
            self.deadline.store(0, Ordering::Relaxed);
            self.raise(Interrupt::StatementTimeout);
        }
    }
}

/// The most urgent pending interrupt of the current context, left pending.
#[inline]
pub fn check() -> Result<(), Interrupt> {
    // Acquire: pairs with the release in `Pending::raise`.
    let bits = park::with_current(|c| c.interrupts.raised.load(Ordering::Acquire));
    if bits == 0 { Ok(()) } else { Err(most_urgent(bits)) }
}

/// Has [`Interrupt::StatementTimeout`] raised on the current context at `at`, or not at all.
pub fn set_deadline(at: Option<Instant>) {
    let at = at.map_or(0, |at| at.0.max(1));
    park::with_current(|c| c.interrupts.deadline.store(at, Ordering::Relaxed));
}

/// Whether the current context has a deadline that has not passed.
pub fn has_deadline() -> bool {
    park::with_current(|c| c.interrupts.deadline().is_some())
}

/// Forgets the current context's pending cancel and statement timeout, and its deadline; a statement begins
/// or has ended.
pub fn clear_statement() {
    let keep = Interrupt::Terminate as u32 | Interrupt::Disconnect as u32;
    park::with_current(|c| {
        // Relaxed: a flag raised concurrently is either kept or belonged to the statement that ended.
        c.interrupts.raised.fetch_and(keep, Ordering::Relaxed);
        c.interrupts.deadline.store(0, Ordering::Relaxed);
    });
}

#[cold]
fn most_urgent(bits: u32) -> Interrupt {
    ALL.into_iter().find(|i| bits & *i as u32 != 0).expect("only known bits are raised")
}
