//! A real server in a process of its own, and PostgreSQL's client programs before it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::{Scratch, small};

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// Part of the socket's name: each server has a directory of its own for it.
const PORT: &str = "5432";

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Running {
    child: Child,
    scratch: Scratch,
}

/// Whether psql and its kin are here; otherwise it is told, and only allowed where nobody asked for them.
pub fn has_clients() -> bool {
    let has = Path::new(PROGRAMS).join("psql").exists();
    let required = std::env::var_os("THALWEG_REQUIRE_PG").is_some();
    assert!(has || !required, "PostgreSQL 15's programs are not installed (postgresql-15)");
    if !has {
        eprintln!("NOT RUN: PostgreSQL 15's programs are not installed");
    }
    has
}

pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Running {
    pub fn start(name: &str) -> Running {
        Running::start_with(name, &["--auth", "trust", "--set", "listen_addresses="])
    }

    /// Whoever it lets in is for the arguments to say.
    pub fn start_with(name: &str, arguments: &[&str]) -> Running {
        let scratch = Scratch::new(name);
        let child = launch(&scratch, arguments);
        let running = Running { child, scratch };
        running.wait_for_answers();
        running
    }

    /// Starts once more on what is there.
    pub fn start_again(&mut self) {
        self.child = launch(&self.scratch, &["--auth", "trust", "--set", "listen_addresses="]);
        self.wait_for_answers();
    }

    fn wait_for_answers(&self) {
        until("the server greets", || self.greeting().lines().count() >= 3);
    }

    pub fn data(&self) -> PathBuf {
        self.scratch.0.join("data")
    }

    /// Sockets that it has open, those that it listens on among them.
    pub fn sockets(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().flatten();
        let target = open.filter_map(|file| std::fs::read_link(file.path()).ok());
        target.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    pub fn socket(&self) -> PathBuf {
        self.scratch.0.join(format!(".s.PGSQL.{PORT}"))
    }

    /// What it has written to its standard output.
    pub fn greeting(&self) -> String {
        std::fs::read_to_string(self.scratch.0.join("out")).unwrap()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.0.join("log")).unwrap()
    }

    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for its end; whether that was an orderly one.
    pub fn ends(&mut self) -> bool {
        let mut ended = None;
        until("the server ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap().success()
    }

    /// One of PostgreSQL's programs, told where the server is.
    fn command(&self, name: &str, arguments: &[&str]) -> Command {
        let mut program = Command::new(Path::new(PROGRAMS).join(name));
        program.env("PGHOST", &self.scratch.0).env("PGPORT", PORT).env("PGUSER", "me");
        program.env("PGDATABASE", "postgres").args(arguments).stdin(Stdio::null());
        program
    }

    /// What one of them did.
    pub fn program(&self, name: &str, arguments: &[&str]) -> Output {
        self.command(name, arguments).output().unwrap()
    }

    /// One of them, running; what it says is lost.
    pub fn beside(&self, name: &str, arguments: &[&str]) -> Child {
        let mut program = self.command(name, arguments);
        program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// What a program prints that succeeds.
    pub fn done(&self, name: &str, arguments: &[&str]) -> String {
        let output = self.program(name, arguments);
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} {arguments:?}: {complaints}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Rows of a query in the default database, fields parted by bars.
    pub fn ask(&self, query: &str) -> String {
        self.done("psql", &["-XqAtc", query]).trim_end().to_owned()
    }
}

fn launch(scratch: &Scratch, arguments: &[&str]) -> Child {
    let file = |name: &str| std::fs::File::create(scratch.0.join(name)).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    server.arg("serve").arg("--data").arg(scratch.0.join("data"));
    server.arg("--socket-dir").arg(&scratch.0).args(["--superuser", "me"]);
    server.args(["--set", "port=5432"]).args(arguments);
    for (name, value) in small() {
        server.arg("--set").arg(format!("{name}={value}"));
    }
    server.stdout(file("out")).stderr(file("log")).spawn().unwrap()
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
