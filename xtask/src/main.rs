//! Repository chores. `cargo run -p xtask -- tidy` reads the tree and fails on what STYLE.md forbids.

mod tidy;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(root),
        _ => {
            eprintln!("usage: xtask tidy");
            ExitCode::from(2)
        }
    }
}
