//! Ctrl-C: the first one ends the run in order, with everything kept; the lab asks wherever it waits. Another one ends the
//! servers at once.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How often. Relaxed is enough: nothing else is handed over with it.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// What a step says that was ended by it.
pub const SAID: &str = "interrupted";

extern "C" fn note(_: libc::c_int) {
    ASKED.fetch_add(1, Relaxed);
}

/// Catches the signals that ask a program to end. Whoever started it so that it outlives the terminal (`nohup`) has SIGHUP
/// ignored, and it stays so.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: the handler does nothing but add to an atomic, which is allowed in a handler.
        let before = unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
        if signal == libc::SIGHUP && before == libc::SIG_IGN {
            // SAFETY: nothing of ours is called any more.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
    }
}

/// Whether somebody asked to end.
pub fn asked() -> bool {
    ASKED.load(Relaxed) > 0
}

/// Whether somebody asked more than once, and does not want to wait for servers.
pub fn asked_again() -> bool {
    ASKED.load(Relaxed) > 1
}

/// An error if somebody did.
pub fn check() -> Result<(), String> {
    if asked() { Err(SAID.to_owned()) } else { Ok(()) }
}
