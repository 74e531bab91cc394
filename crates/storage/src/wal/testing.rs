//! For tests: how the logs of a test are written.

use super::WalIo;
use std::cell::Cell;

thread_local! {
    static IO: Cell<WalIo> = const { Cell::new(WalIo::File) };
}

/// How this thread's tests have their logs written now.
pub(crate) fn io() -> WalIo {
    IO.get()
}

/// Goes on with written or with mapped logs, in turn.
pub(crate) fn take_turns(turn: u64) {
    IO.set(if turn.is_multiple_of(2) { WalIo::File } else { WalIo::Mmap });
}

/// Runs a test with a log that is written, and with one that is mapped.
pub(crate) fn under_each_io(test: impl Fn()) {
    for turn in 0..2 {
        take_turns(turn);
        test();
    }
    take_turns(0);
}
