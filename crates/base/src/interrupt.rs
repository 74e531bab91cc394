//! Reasons to stop that reach a running or waiting context: cancel, timeouts, shutdown.
//!
//! An interrupt is a flag on the context plus an unpark. Waits that may be given up (row locks, sleeps,
//! client input) call [`check`] each time they wake; latches and page I/O ignore interrupts.

use crate::park;
use std::sync::atomic::{AtomicU32, Ordering};

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
    /// `idle_in_transaction_session_timeout` passed (25P03).
    IdleInTransactionTimeout = 16,
}

const ALL: [Interrupt; 5] = [
    Interrupt::Terminate,
    Interrupt::Disconnect,
    Interrupt::Cancel,
    Interrupt::StatementTimeout,
    Interrupt::IdleInTransactionTimeout,
];

/// Pending interrupts of a context.
#[derive(Default)]
pub(crate) struct Pending(AtomicU32);

impl Pending {
    pub(crate) fn raise(&self, why: Interrupt) {
        // Release: pairs with the acquire in `check`; what the raiser wrote before is seen by the handler.
        self.0.fetch_or(why as u32, Ordering::Release);
    }

    pub(crate) fn clear(&self) {
        // Relaxed: only the context itself clears, between statements.
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The most urgent pending interrupt of the current context, left pending.
#[inline]
pub fn check() -> Result<(), Interrupt> {
    // Acquire: pairs with the release in `Pending::raise`.
    let bits = park::with_current(|c| c.interrupts.0.load(Ordering::Acquire));
    if bits == 0 { Ok(()) } else { Err(most_urgent(bits)) }
}

/// Forgets the current context's pending cancel and statement timeout; a statement begins or has ended.
pub fn clear_statement() {
    let keep = Interrupt::Terminate as u32 | Interrupt::Disconnect as u32;
    // Relaxed: a flag raised concurrently is either kept or belonged to the statement that ended.
    park::with_current(|c| c.interrupts.0.fetch_and(keep, Ordering::Relaxed));
}

#[cold]
fn most_urgent(bits: u32) -> Interrupt {
    ALL.into_iter().find(|i| bits & *i as u32 != 0).expect("only known bits are raised")
}
