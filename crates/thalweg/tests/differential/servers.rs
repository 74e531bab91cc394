//! The two servers under comparison, each on a directory and a unix socket of its own.

use base::Xid;
use server::Database;
use server::config::Config;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use storage::txlog::{ALL_LOGS, MultiXactId, TxLogStart};

const PG_BIN: &str = "/usr/lib/postgresql/15/bin";

/// Only part of a socket's name: nobody listens on TCP, and each socket lies in its server's own directory.
const PORT: &str = "5999";

/// A running server; ended and removed at drop.
pub struct Server {
    child: Child,
    home: PathBuf,
}

/// Whether the pools of the status logs are to be as small as they can be, and ids to begin beyond 32 bits
/// (`make test-tiny-logs`).
fn has_small_logs() -> bool {
    std::env::var_os("THALWEG_TEST_LOGS").is_some()
}

/// Makes a directory beforehand whose ids begin beyond 32 bits, if that is wanted.
fn begin_ids_high(data: &Path) {
    if !has_small_logs() {
        return;
    }
    let mut config = Config::new();
    let (next_xid, next_multixact) = (Xid((1 << 33) + 5), MultiXactId((1 << 32) - 3));
    config.begin_ids_at(TxLogStart { next_xid, next_multixact }, (1 << 32) - 3);
    Database::open(data, "postgres", &config).unwrap().close().unwrap();
}

fn new_home(name: &str) -> PathBuf {
    let home = std::env::temp_dir().join(format!("thalweg-diff-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).unwrap();
    home
}

/// User and group id of `postgres` when this process is root: PostgreSQL refuses to run as root.
fn ordinary_user() -> Option<(u32, u32)> {
    let id = |args: &[&str]| -> u32 {
        let out = Command::new("id").args(args).output().unwrap();
        String::from_utf8_lossy(&out.stdout).trim().parse().unwrap()
    };
    (id(&["-u"]) == 0).then(|| (id(&["-u", "postgres"]), id(&["-g", "postgres"])))
}

impl Server {
    /// A fresh PostgreSQL 15; `None` when it is not installed.
    pub fn postgres(name: &str) -> Option<Server> {
        Server::postgres_with(name, &[])
    }

    /// The same with settings, each `name=value`.
    pub fn postgres_with(name: &str, settings: &[&str]) -> Option<Server> {
        if !Path::new(PG_BIN).join("postgres").exists() {
            return None;
        }
        let home = new_home(name);
        let user = ordinary_user();
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&home, Some(uid), Some(gid)).unwrap();
        }
        let command = |program: &str| {
            let mut command = Command::new(Path::new(PG_BIN).join(program));
            if let Some((uid, gid)) = user {
                command.uid(uid).gid(gid);
            }
            command.current_dir(&home).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let data = home.join("data");
        let init = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N", "-D"];
        assert!(command("initdb").args(init).arg(&data).status().unwrap().success());
        let mut server = command("postgres");
        server.arg("-D").arg(&data).arg("-k").arg(&home);
        server.args(["-p", PORT, "-c", "listen_addresses=", "-c", "fsync=off"]);
        for setting in settings {
            server.args(["-c", setting]);
        }
        let child = server.spawn().unwrap();
        Some(Server { child, home }.answering())
    }

    /// A fresh Thalweg.
    pub fn thalweg(name: &str) -> Server {
        Server::thalweg_with(name, &[])
    }

    /// The same with settings, each `name=value`.
    pub fn thalweg_with(name: &str, settings: &[&str]) -> Server {
        let home = new_home(name);
        let log = std::fs::File::create(home.join("log")).unwrap();
        begin_ids_high(&home.join("data"));
        let mut server = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        server.arg("serve").arg("--data").arg(home.join("data")).arg("--socket-dir").arg(&home);
        server.args(["--set", "listen_addresses=", "--set"]).arg(format!("port={PORT}"));
        if let Some(pages) = std::env::var_os("THALWEG_TEST_BUFFERS") {
            server.arg("--set").arg(format!("shared_buffers={}", pages.display()));
        }
        for log in ALL_LOGS.iter().filter(|_| has_small_logs()) {
            server.arg("--set").arg(format!("{}=16", log.setting()));
        }
        for setting in settings {
            server.args(["--set", setting]);
        }
        server.args(["--superuser", "postgres", "--auth", "trust"]);
        let child = server.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        Server { child, home }.answering()
    }

    /// Where it listens.
    pub fn socket(&self) -> PathBuf {
        self.home.join(format!(".s.PGSQL.{PORT}"))
    }

    fn command(&self) -> Command {
        let mut psql = Command::new(Path::new(PG_BIN).join("psql"));
        psql.arg("-h").arg(&self.home).args(["-p", PORT]);
        psql.args(["-U", "postgres", "-d", "postgres", "-X", "-q"]);
        psql
    }

    fn answering(mut self) -> Server {
        let give_up = Instant::now() + Duration::from_secs(60);
        while !self.command().args(["-c", "select 1"]).output().unwrap().status.success() {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}, see {}", self.home.display());
            assert!(
                Instant::now() < give_up,
                "the server does not answer: {}",
                self.home.display()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        self
    }

    /// What psql prints for a script, standard output and errors in their order.
    pub fn psql(&self, script: &Path) -> String {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(r#"exec "$0" "$@" 2>&1"#).arg(Path::new(PG_BIN).join("psql"));
        shell.arg("-h").arg(&self.home).args(["-p", PORT]);
        shell.args(["-U", "postgres", "-d", "postgres", "-X", "-q", "-a"]);
        shell.args(["-v", "VERBOSITY=verbose", "-f"]).arg(script);
        String::from_utf8_lossy(&shell.output().unwrap().stdout).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        let give_up = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.home);
        }
    }
}
