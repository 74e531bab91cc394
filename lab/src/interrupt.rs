//! Ctrl-C: the first one ends the run in order, with everything kept; the lab asks wherever it waits.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Relaxed is enough: nothing else is handed over with it.
static ASKED: AtomicBool = AtomicBool::new(false);

/// What a step says that was ended by it.
pub const SAID: &str = "interrupted";

extern "C" fn note(_: libc::c_int) {
    ASKED.store(true, Relaxed);
}

/// Catches the signals that ask a program to end.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler does nothing but store to an atomic, which is allowed in a handler.
        unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
    }
}

/// Whether somebody asked to end.
pub fn asked() -> bool {
    ASKED.load(Relaxed)
}

/// An error if somebody did.
pub fn check() -> Result<(), String> {
    if asked() { Err(SAID.to_owned()) } else { Ok(()) }
}
