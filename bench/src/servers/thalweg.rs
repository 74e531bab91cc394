//! Thalweg's release build, and the canned-reply ceiling.

use super::Start;
use super::peer::Peer;
use std::process::{Command, Stdio};

/// Starts Thalweg, or a build of it of another name, on a fresh directory.
pub fn start(start: &Start, program: &str) -> Result<Peer, String> {
    let path = start.places.programs.join(program);
    if !path.exists() {
        return Err(format!("{} is not there; is it built?", path.display()));
    }
    let (home, port) = (start.home(), start.port);
    let mut server = own_session(start, program);
    server.arg("serve").arg("--data").arg(home.join("data"));
    server.args(["--listen", &format!("127.0.0.1:{port}")]).arg("--socket-dir").arg(&home);
    server.args(["--superuser", "postgres", "--auth", "trust"]);
    for setting in start.settings {
        server.args(["--set", setting]);
    }
    spawn(start, server, false)
}

/// Starts the server of canned replies, which has each commit synced if `synced`.
pub fn start_canned(start: &Start, synced: bool) -> Result<Peer, String> {
    let (home, port) = (start.home(), start.port);
    let mut server = own_session(start, "canned");
    server.args(["--listen", &format!("127.0.0.1:{port}")]).arg("--socket-dir").arg(&home);
    if synced {
        server.arg("--sync").arg(home.join("synced"));
    }
    spawn(start, server, true)
}

/// A command in a session of its own, as a service has one and each of PostgreSQL's backends makes one: Linux
/// shares the processor out between sessions (`sched_autogroup`), and a server in pgbench's would be at
/// another rank than its peers.
fn own_session(start: &Start, program: &str) -> Command {
    let program = start.program(&start.places.programs.join(program));
    let mut command = Command::new("setsid");
    command.arg(program.get_program()).args(program.get_args());
    command
}

fn spawn(start: &Start, mut server: Command, canned: bool) -> Result<Peer, String> {
    std::fs::create_dir_all(start.home()).map_err(|e| e.to_string())?;
    server.stdout(Stdio::null()).stderr(start.log()?);
    Peer::start(start, server, canned)
}
