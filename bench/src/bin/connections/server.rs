//! The server under test: its process, its memory.

use crate::client::Client;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A started server on a directory of its own; both go when this is dropped.
pub struct Server {
    child: Child,
    home: PathBuf,
    /// Its unix socket.
    pub socket: PathBuf,
}

impl Server {
    /// Starts the release build and waits until it answers.
    pub fn start(program: &Path, max_connections: usize) -> Result<Server, String> {
        let home = std::env::temp_dir().join(format!("thalweg-crowd-{}", std::process::id()));
        std::fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
        let log = std::fs::File::create(home.join("log")).map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        command.arg("serve").arg("--data").arg(home.join("data"));
        command.args(["--listen", "127.0.0.1:54329"]).arg("--socket-dir").arg(&home);
        command.args(["--superuser", "postgres", "--auth", "trust"]);
        command.args(["--set", &format!("max_connections={max_connections}")]);
        command.args(["--set", "shared_buffers=256MB"]);
        command.stdout(Stdio::null()).stderr(log);
        let child =
            command.spawn().map_err(|e| format!("{command:?}: {e}; build with --release"))?;
        let socket = home.join(".s.PGSQL.54329");
        let mut server = Server { child, home, socket };
        let give_up = Instant::now() + Duration::from_secs(60);
        while Client::connect(&server.socket).is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                let log = std::fs::read_to_string(server.home.join("log")).unwrap_or_default();
                return Err(format!("the server ended with {status}: {log}"));
            }
            if Instant::now() > give_up {
                return Err("the server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Resident memory, KiB.
    pub fn resident_kib(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
        let line = text.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        let number = line.and_then(|l| l.trim().strip_suffix("kB")).map(str::trim);
        number.and_then(|n| n.parse().ok()).ok_or_else(|| format!("{path} has no VmRSS"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let give_up = Instant::now() + Duration::from_secs(20);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > give_up {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = std::fs::remove_dir_all(&self.home);
    }
}
