//! The server over real sockets, driven by a client that is written on `wire` alone.
#![allow(clippy::unwrap_used, reason = "in a test every fault is a failure")]

mod activity;
mod affinity;
mod channels;
mod charsets;
mod client;
mod commit_times;
mod copy;
mod databases;
mod direct_io;
mod directory;
mod disks;
mod drivers;
mod encrypted;
mod endings;
mod faults;
mod gated;
mod log;
mod moody;
mod nesting;
mod passwords;
mod protocol;
mod reported;
mod sessions;
mod spilling;
mod stacks;
mod status_logs;
mod timers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::Xid;
use server::config::Config;
use storage::txlog::{ALL_LOGS, MultiXactId, TxLogStart};

use server::{Authentication, Database, Options, Rules, Server};

use client::Client;

/// A server in a directory of its own.
struct House {
    server: Option<Server>,
    database: Arc<Database>,
    dir: PathBuf,
}

fn options() -> Options {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("thalweg-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    Options {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        socket_dir: Some(dir.clone()),
        port: 5432,
        data: dir.join("data"),
        workers: 2,
        busy_poll: Duration::from_micros(100),
        core_affinity: true,
        connection_affinity: true,
        max_connections: 3000,
        reserved_connections: 0,
        rules: Rules::of(Authentication::Trust),
        encryption: None,
        authentication_timeout: Duration::from_secs(60),
        session_settings: Vec::new(),
    }
}

/// `THALWEG_TEST_BUFFERS` has the last word on how many pages the cache has (`make test-tiny-cache`).
fn set_buffers(config: &mut Config) {
    if let Ok(pages) = std::env::var("THALWEG_TEST_BUFFERS") {
        config.set("shared_buffers", &pages).unwrap();
    }
}

/// `THALWEG_TEST_LOGS` makes every pool of the status logs as small as it can be (`make test-tiny-logs`).
fn set_logs(config: &mut Config) {
    if has_small_logs() {
        ALL_LOGS.iter().for_each(|log| config.set(log.setting(), "16").unwrap());
    }
}

fn has_small_logs() -> bool {
    std::env::var_os("THALWEG_TEST_LOGS").is_some()
}

/// A small database in this directory.
fn open(data: &Path, superuser: &str) -> Arc<Database> {
    Arc::new(Database::open(data, superuser, &small()).unwrap())
}

/// Its sizes: everything small, the status logs' pools of one bank or an odd number of them, and ids beyond 32
/// bits.
fn small() -> Config {
    let mut config = Config::new();
    for (name, value) in [
        ("shared_buffers", "8MB"),
        ("wal_buffers", "1MB"),
        ("wal_segment_size", "1MB"),
        ("transaction_buffers", "16"),
        ("subtransaction_buffers", "48"),
        ("multixact_offset_buffers", "16"),
        ("multixact_member_buffers", "80"),
    ] {
        config.set(name, value).unwrap();
    }
    set_buffers(&mut config);
    set_logs(&mut config);
    let (next_xid, next_multixact) = (Xid((1 << 33) + 5), MultiXactId((1 << 32) - 3));
    config.begin_ids_at(TxLogStart { next_xid, next_multixact }, (1 << 32) - 3);
    config
}

impl House {
    fn new() -> House {
        House::with(options())
    }

    fn with(options: Options) -> House {
        House::of("me", options)
    }

    /// A server over a new database that belongs to `superuser`.
    fn of(superuser: &str, options: Options) -> House {
        let dir = options.socket_dir.clone().unwrap();
        let database = open(&dir.join("data"), superuser);
        let house = House::over(database, options);
        // Two tables that the tests write to.
        let mut client = house.stranger();
        client.start(superuser);
        let made = client.query("create table t (a int); create table words (word text)");
        assert_eq!(made, "C CREATE TABLE\nC CREATE TABLE\nZ I");
        client.request(|r| r.terminate());
        client.expect_end();
        house
    }

    /// A server over a database that is there.
    fn over(database: Arc<Database>, options: Options) -> House {
        let dir = options.socket_dir.clone().unwrap();
        let server = Server::start(Arc::clone(&database), options).unwrap();
        House { server: Some(server), database, dir }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn socket(&self) -> PathBuf {
        self.dir.join(".s.PGSQL.5432")
    }

    /// A session of the user `me`.
    fn client(&self) -> Client {
        let mut client = self.stranger();
        client.start("me");
        client
    }

    /// A connection that has said nothing yet.
    fn stranger(&self) -> Client {
        Client::unix(&self.socket())
    }

    /// Ends the server and leaves the database's directory, which is somewhere else, as it is.
    fn stop(self) {
        drop(self);
    }

    fn shutdown(&mut self) {
        self.server.take().unwrap().shutdown();
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown();
        }
        self.database.close().unwrap();
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}
