//! What a panic costs: one statement where that is safe, the process where it is not.
//!
//! Unwinding runs destructors, and a destructor that releases a page latch in the middle of a change
//! would show that change to everybody. So a stack unwinds only if the panic began in code that
//! changes no shared memory itself: the SQL layer, the parser, and the server's handling of
//! messages, on a fiber. None of these calls others, or is called, under a page latch: storage calls back
//! only with nothing latched ([`storage::btree::Judge`]) or where a panic ends the process (what is to be
//! done at commit and rollback); the catalog caches' own latches are held for a look into a map. Builds that
//! count latches check it. Anything else ends the process with its message, and recovery answers.

use std::backtrace::Backtrace;
use std::panic::PanicHookInfo;

/// Where a panic may cost only the statement. One that began in the standard library or in a dependency counts for the
/// nearest caller that is ours.
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
    base::park::on_fiber() && !base::rank::any_held() && began_harmlessly(file)
}

fn began_harmlessly(file: &str) -> bool {
    match is_ours(file) {
        true => among_harmless(file),
        false => nearest_of_ours(&format!("{:#}", Backtrace::force_capture()))
            .is_some_and(|file| among_harmless(&file)),
    }
}

fn is_ours(file: &str) -> bool {
    ["base", "storage", "syntax", "sql", "wire", "server", "thalweg"]
        .iter()
        .any(|name| file.contains(&format!("crates/{name}/src/")))
}

fn among_harmless(file: &str) -> bool {
    HARMLESS.iter().any(|place| file.contains(place))
}

/// The file of the nearest caller that is ours, functions that were inlined among them: release builds know lines. The
/// hook itself stands before it. In the long form of the backtrace: the short one tells files from the working directory on.
fn nearest_of_ours(backtrace: &str) -> Option<String> {
    let files = backtrace.lines().filter_map(|line| line.trim_start().strip_prefix("at "));
    let mut ours = files.filter(|file| is_ours(file) && !file.contains("server/src/panics.rs"));
    ours.next().map(str::to_owned)
}

#[cfg(test)]
mod tests;
