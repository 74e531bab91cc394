//! Servers under test: Thalweg, PostgreSQL 15 and 18, the canned-reply ceiling; each on a directory of its own.

pub mod cpu;
mod memory;
mod peer;
mod postgres;
mod thalweg;

pub use memory::resident_kib;
pub use peer::{Peer, output};

use std::path::{Path, PathBuf};

/// Room for the clients, a cache that holds the data, checkpoints out of the way of short runs.
pub const ROOMY: &[&str] = &[
    "max_connections=400",
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "checkpoint_timeout=15min",
];

/// A directory for servers' directories; goes with everything in it when this is dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it, empty.
    pub fn new(purpose: &str) -> Result<Scratch, String> {
        let path = std::env::temp_dir().join(format!("thalweg-{purpose}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts the server called `name` (thalweg, pg15, pg18, canned) on a fresh directory under `work`, with
/// settings written `name=value`. `root` is the checkout, with release builds.
pub fn start(
    name: &str,
    root: &Path,
    work: &Path,
    port: u16,
    settings: &[&str],
) -> Result<Peer, String> {
    match name {
        "thalweg" => thalweg::start(root, work, port, settings),
        "pg15" => postgres::start_15(work, port, settings),
        "pg18" => postgres::start_18(root, work, port, settings),
        "canned" => thalweg::start_canned(root, work, port),
        other => {
            Err(format!("no server is called '{other}'; there are thalweg, pg15, pg18, canned"))
        }
    }
}
