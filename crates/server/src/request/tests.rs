use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::backend::Message;
use wire::frame::{self, Split};
use wire::frontend::Requests;
use wire::startup;

use crate::config::Config;
use crate::{Database, Server};

/// A query that panics, in tests only: nothing that SQL offers may.
const PANIC: &str = "panic";

/// One after which the session can't even be rolled back as after an error.
const PANIC_TWICE: &str = "panic, and panic again";

pub(super) fn panic_if_asked(query: &str) {
    assert!(![PANIC, PANIC_TWICE].contains(&query), "{query}");
}

pub(super) fn panic_again_if_asked(said: Option<&str>) {
    assert_ne!(said, Some(PANIC_TWICE), "asked to");
}

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

/// A server in a directory of its own.
struct House {
    server: Server,
    database: Arc<Database>,
    dir: PathBuf,
}

impl House {
    fn new(name: &str) -> House {
        let dir = std::env::temp_dir().join(format!("thalweg-{name}-{}", std::process::id()));
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
        House { server, database, dir }
    }

    fn end(self) {
        self.server.shutdown();
        self.database.close().unwrap();
        std::fs::remove_dir_all(&self.dir).unwrap();
    }
}

#[test]
fn a_panic_costs_a_statement_and_its_transaction() {
    let house = House::new("panic");
    let (mut me, mut other) = (connect(&house.dir), connect(&house.dir));
    assert_eq!(ask(&mut other, "create table t (a int)"), ["CREATE TABLE"]);
    assert_eq!(ask(&mut me, "begin; insert into t values (1)"), ["BEGIN", "INSERT 0 1"]);
    assert_eq!(ask(&mut me, PANIC), ["XX000"]);
    assert_eq!(ask(&mut me, "select 1"), ["25P02"], "its transaction has failed");
    assert_eq!(ask(&mut me, "rollback"), ["ROLLBACK"]);
    assert_eq!(ask(&mut me, "select count(*) from t"), ["SELECT 1"], "the session goes on");
    // Were its transaction still open, this would wait for its lock.
    assert_eq!(ask(&mut other, "truncate t"), ["TRUNCATE TABLE"]);
    assert_eq!(ask(&mut connect(&house.dir), "select * from t"), ["SELECT 0"]);
    house.end();
}

/// Nobody knows what state such a session is in: its end does no more than roll back.
#[test]
fn a_session_that_cannot_be_recovered_leaves_its_temporary_tables_to_others() {
    let house = House::new("abandoned");
    let (mut me, mut other) = (connect(&house.dir), connect(&house.dir));
    assert_eq!(ask(&mut me, "create temp table mine (a int)"), ["CREATE TABLE"]);
    assert_eq!(ask(&mut me, "begin; create table t (a int)"), ["BEGIN", "CREATE TABLE"]);
    assert_eq!(ask(&mut me, PANIC_TWICE), ["XX000"]);
    assert_eq!(me.read(&mut [0]).unwrap(), 0, "the session has ended");
    assert_eq!(ask(&mut other, "select from t"), ["42P01"]);
    let left = "select from pg_class where relname = 'mine'";
    assert_eq!(ask(&mut other, left), ["SELECT 1"]);
    let mut next = connect(&house.dir);
    assert_eq!(ask(&mut next, "create temp table its (a int)"), ["CREATE TABLE"]);
    assert_eq!(ask(&mut other, left), ["SELECT 0"]);
    house.end();
}
