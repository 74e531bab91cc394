use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use wire::backend::Message;
use wire::frame::{self, Split};
use wire::frontend::Requests;
use wire::startup;

use crate::config::Config;
use crate::{Database, Server};

/// A query that panics, in tests only: nothing that SQL offers may.
pub(super) const PANIC: &str = "panic";

/// Sends a query and returns the tags and errors of the answer.
fn ask(stream: &mut UnixStream, query: &str) -> Vec<String> {
    let mut requests = Requests::new();
    requests.query(query);
    stream.write_all(requests.as_bytes()).unwrap();
    answer(stream)
}

fn answer(stream: &mut UnixStream) -> Vec<String> {
    let (mut input, mut told) = (Vec::new(), Vec::new());
    loop {
        while let Split::Frame(frame) = frame::split_reply(&input).unwrap() {
            match Message::decode(frame).unwrap() {
                Message::ReadyForQuery(_) => return told,
                Message::CommandComplete(tag) => told.push(tag.to_owned()),
                Message::ErrorResponse(fields) => told.push(fields.sqlstate().to_owned()),
                _ => {}
            }
            let size = frame.size();
            input.drain(..size);
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).unwrap() {
            0 => return told,
            count => input.extend_from_slice(&piece[..count]),
        }
    }
}

fn connect(dir: &Path) -> UnixStream {
    let mut stream = UnixStream::connect(dir.join(".s.PGSQL.5432")).unwrap();
    let mut packet = Vec::new();
    let parameters = [("user", "me"), ("database", "postgres")];
    startup::put_session(&mut packet, startup::PROTOCOL_3_0, parameters);
    stream.write_all(&packet).unwrap();
    assert!(answer(&mut stream).is_empty());
    stream
}

#[test]
fn a_panic_costs_a_statement_and_its_transaction() {
    let dir = std::env::temp_dir().join(format!("thalweg-panic-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut config = Config::new();
    for (name, value) in [
        ("listen_addresses", ""),
        ("unix_socket_directories", dir.to_str().unwrap()),
        ("authentication", "trust"),
        ("shared_buffers", "8MB"),
    ] {
        config.set(name, value).unwrap();
    }
    let data = dir.join("data");
    let database = Arc::new(Database::open(&data, "me", &config).unwrap());
    let server = Server::start(Arc::clone(&database), config.options(data).unwrap()).unwrap();
    let (mut me, mut other) = (connect(&dir), connect(&dir));
    assert_eq!(ask(&mut other, "create table t (a int)"), ["CREATE TABLE"]);
    assert_eq!(ask(&mut me, "begin; insert into t values (1)"), ["BEGIN", "INSERT 0 1"]);
    assert_eq!(ask(&mut me, PANIC), ["XX000"]);
    assert_eq!(ask(&mut me, "select 1"), ["25P02"], "its transaction has failed");
    assert_eq!(ask(&mut me, "rollback"), ["ROLLBACK"]);
    assert_eq!(ask(&mut me, "select count(*) from t"), ["SELECT 1"], "the session goes on");
    // Were its transaction still open, this would wait for its lock.
    assert_eq!(ask(&mut other, "truncate t"), ["TRUNCATE TABLE"]);
    assert_eq!(ask(&mut connect(&dir), "select * from t"), ["SELECT 0"]);
    server.shutdown();
    database.close().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
