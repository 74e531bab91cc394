//! Servers under test: Thalweg, PostgreSQL 15 and 18, the canned-reply ceiling; each on a directory of its own.

pub mod cpu;
mod descriptors;
mod memory;
mod peer;
mod postgres;
mod thalweg;

pub use descriptors::raise_open_files;
pub use memory::resident_kib;
pub use peer::{Patience, Peer, output};

use std::path::{Path, PathBuf};
use std::process::Command;

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
        Scratch::within(&std::env::temp_dir(), purpose)
    }

    /// Makes it in this directory, empty: one that is there is somebody else's, or what is left of a process that was killed.
    pub fn within(parent: &Path, purpose: &str) -> Result<Scratch, String> {
        let name = format!("thalweg-{purpose}-{}", std::process::id());
        let failed = |path: &Path, e| format!("{}: {e}", path.display());
        std::fs::create_dir_all(parent).map_err(|e| failed(parent, e))?;
        let mut path = parent.join(&name);
        let mut number = 1;
        while let Err(e) = std::fs::create_dir(&path) {
            if e.kind() != std::io::ErrorKind::AlreadyExists {
                return Err(failed(&path, e));
            }
            number += 1;
            path = parent.join(format!("{name}-{number}"));
        }
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

/// Where programs are.
pub struct Places {
    /// Release builds of Thalweg and of the server of canned replies.
    pub programs: PathBuf,
    /// PostgreSQL 15's server and client programs.
    pub pg15: PathBuf,
    /// What was fetched once.
    pub cache: PathBuf,
}

impl Places {
    /// The checkout's own release builds, Debian's PostgreSQL 15.
    pub fn of_checkout() -> Places {
        let root = crate::record::checkout();
        let pg15 = PathBuf::from("/usr/lib/postgresql/15/bin");
        Places { programs: root.join("target/release"), pg15, cache: root.join(".cache") }
    }

    /// PostgreSQL 18's programs, once they were fetched.
    pub fn pg18(&self) -> PathBuf {
        self.cache.join("pg18/package/native/bin")
    }
}

/// What a server is started with.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// Which: thalweg, pg15, pg18, canned, bare-sync (canned replies, each commit synced by itself).
    pub server: &'a str,
    /// Its name in tables, and its directory's under `work`; another for each at a time.
    pub name: &'a str,
    pub places: &'a Places,
    pub work: &'a Path,
    pub port: u16,
    /// Written `name=value`.
    pub settings: &'a [&'a str],
    /// How many of the machine's cores it may run on, the first ones; without, on all.
    pub cores: Option<usize>,
}

impl Start<'_> {
    /// Starts it on a fresh directory.
    pub fn run(&self) -> Result<Peer, String> {
        match self.server {
            "thalweg" => thalweg::start(self, "thalweg"),
            "thalweg-counting" => thalweg::start(self, "thalweg-counting"),
            "pg15" => postgres::start_15(self),
            "pg18" => postgres::start_18(self),
            "canned" => thalweg::start_canned(self, false),
            "bare-sync" => thalweg::start_canned(self, true),
            other => {
                let known = "thalweg, pg15, pg18, canned, bare-sync";
                Err(format!("no server is called '{other}'; there are {known}"))
            }
        }
    }

    /// A program that runs where this server may.
    fn program(&self, path: &Path) -> Command {
        match self.cores {
            None => Command::new(path),
            Some(cores) => {
                let mut command = Command::new("taskset");
                command.args(["-c", &format!("0-{}", cores - 1)]).arg(path);
                command
            }
        }
    }

    fn home(&self) -> PathBuf {
        self.work.join(self.name)
    }

    /// What the server says, for whoever looks for the reason of a failure.
    fn log(&self) -> Result<std::fs::File, String> {
        let path = self.log_path();
        std::fs::File::create(&path).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn log_path(&self) -> PathBuf {
        self.work.join(format!("{}.log", self.name))
    }
}

/// Starts the server called `name` (thalweg, pg15, pg18, canned, bare-sync) on a fresh directory under `work`, with
/// settings written `name=value`.
pub fn start(
    name: &str,
    places: &Places,
    work: &Path,
    port: u16,
    settings: &[&str],
) -> Result<Peer, String> {
    Start { server: name, name, places, work, port, settings, cores: None }.run()
}
