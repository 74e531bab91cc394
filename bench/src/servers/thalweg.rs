//! Thalweg's release build, and the canned-reply ceiling.

use super::peer::Peer;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts `target/release/thalweg` on a fresh directory.
pub fn start(root: &Path, work: &Path, port: u16, settings: &[&str]) -> Result<Peer, String> {
    let home = work.join("thalweg");
    std::fs::create_dir_all(&home).map_err(|e| e.to_string())?;
    let log = std::fs::File::create(work.join("thalweg.log")).map_err(|e| e.to_string())?;
    let mut server = own_session(&root.join("target/release/thalweg"));
    server.arg("serve").arg("--data").arg(home.join("data"));
    server.args(["--listen", &format!("127.0.0.1:{port}")]).arg("--socket-dir").arg(&home);
    server.args(["--superuser", "postgres", "--auth", "trust"]);
    for setting in settings {
        server.args(["--set", setting]);
    }
    spawn(server, log, "thalweg", &home, port, false)
}

/// Starts `target/release/canned`.
pub fn start_canned(root: &Path, work: &Path, port: u16) -> Result<Peer, String> {
    let home = work.join("canned");
    std::fs::create_dir_all(&home).map_err(|e| e.to_string())?;
    let log = std::fs::File::create(work.join("canned.log")).map_err(|e| e.to_string())?;
    let mut server = own_session(&root.join("target/release/canned"));
    server.args(["--listen", &format!("127.0.0.1:{port}")]).arg("--socket-dir").arg(&home);
    spawn(server, log, "canned", &home, port, true)
}

/// A command in a session of its own, as a service has one and each of PostgreSQL's backends makes one: Linux
/// shares the processor out between sessions (`sched_autogroup`), and a server in pgbench's would be at
/// another rank than its peers.
fn own_session(program: &Path) -> Command {
    let mut command = Command::new("setsid");
    command.arg(program);
    command
}

fn spawn(
    mut server: Command,
    log: std::fs::File,
    name: &str,
    home: &Path,
    port: u16,
    canned: bool,
) -> Result<Peer, String> {
    server.stdout(Stdio::null()).stderr(log);
    Peer::start(name, server, home, port, canned)
}
