//! The server over real sockets, driven by a client that is written on `wire` alone.
#![allow(clippy::unwrap_used, reason = "in a test every fault is a failure")]

mod client;
mod copy;
mod faults;
mod protocol;
mod sessions;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use server::{Authentication, Instance, Options, Server};

use client::Client;

/// A server in a directory of its own.
struct House {
    server: Option<Server>,
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
        max_connections: 3000,
        authentication: Authentication::Trust,
        authentication_timeout: Duration::from_secs(60),
        session_settings: Vec::new(),
    }
}

impl House {
    fn new() -> House {
        House::with(options())
    }

    fn with(options: Options) -> House {
        let dir = options.socket_dir.clone().unwrap();
        let server = Server::start(Instance::open(), options).unwrap();
        House { server: Some(server), dir }
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

    fn shutdown(&mut self) {
        self.server.take().unwrap().shutdown();
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown();
        }
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}
