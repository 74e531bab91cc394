//! What a panic costs: one statement where that is safe, the process where it is not.
//!
//! Unwinding runs destructors, and a destructor that releases a page latch in the middle of a change
//! would show that change to everybody. So a stack unwinds only if the panic began in code that
//! changes no shared memory itself: the SQL layer, the parser, and the server's handling of
//! messages, on a fiber. None of these calls others, or is called, under a page latch: storage calls back
//! only with nothing latched ([`storage::btree::Judge`]) or where a panic ends the process (what is to be
//! done at commit and rollback); the catalog caches' own latches are held for a look into a map. Builds that
//! count latches check it. Anything else ends the process with its message, and recovery answers.

use std::panic::PanicHookInfo;

/// Where a panic may cost only the statement.
const HARMLESS: [&str; 3] = ["crates/sql/src/", "crates/syntax/src/", "crates/server/src/"];

/// Installs the hook. To be called once, by the binary: tests want their panics as they are.
pub fn install_hook() {
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        shown(info);
        if !is_harmless(info) {
            base::log!("a broken invariant ends the server; recovery follows its next start");
            std::process::abort();
        }
    }));
}

fn is_harmless(info: &PanicHookInfo<'_>) -> bool {
    let file = info.location().map_or("", |location| location.file());
    base::park::on_fiber()
        && !base::rank::any_held()
        && HARMLESS.iter().any(|place| file.contains(place))
}
