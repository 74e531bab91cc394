//! The binary's commands on real directories.
#![allow(clippy::unwrap_used, reason = "in a test every fault is a failure")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use server::Database;
use server::config::Config;

/// A directory that goes when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("thalweg-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    /// A database that was made and closed.
    fn database(&self) -> PathBuf {
        let data = self.0.join("data");
        Database::open(&data, "me", &Config::new()).unwrap().close().unwrap();
        data
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn thalweg(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thalweg")).args(arguments).output().unwrap()
}

fn check(data: &Path) -> (bool, String, String) {
    let output = thalweg(&["check", data.to_str().unwrap()]);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_sound_directory_is_found_sound() {
    let scratch = Scratch::new("sound");
    let (sound, told, complaints) = check(&scratch.database());
    assert!(sound, "{told}{complaints}");
    assert!(told.contains(" tables with "), "{told}");
    assert!(!told.starts_with("0 pages"), "{told}");
}

#[test]
fn an_index_built_over_versions_agrees_with_its_table() {
    let scratch = Scratch::new("versions");
    let data = scratch.0.join("data");
    let database = thalweg::Database::open(&data, "me", &Config::new()).unwrap();
    let mut old = database.connect("postgres", "me").unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    let rows =
        "create table t (k int, v int); insert into t select g, g from generate_series(1, 500) g";
    connection.query(rows).unwrap();
    old.query("begin isolation level repeatable read; select count(*) from t").unwrap();
    for statement in [
        "update t set k = k + 1000 where k % 3 = 0",
        "delete from t where k % 7 = 0",
        "begin; update t set k = 0; rollback",
        "create unique index on t (k)",
        "update t set v = v + 1 where k < 300",
        "create unique index on t (v, k)",
        "update t set k = k + 5000 where k % 5 = 0",
    ] {
        connection.query(statement).unwrap();
    }
    drop((old, connection));
    database.close().unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(sound, "{told}{complaints}");
}

#[test]
fn a_flipped_bit_is_found() {
    let scratch = Scratch::new("flipped");
    let data = scratch.database();
    let mut largest = (0, PathBuf::new());
    for entry in std::fs::read_dir(data.join("base")).unwrap() {
        let entry = entry.unwrap();
        largest = largest.max((entry.metadata().unwrap().len(), entry.path()));
    }
    let mut bytes = std::fs::read(&largest.1).unwrap();
    bytes[8192 - 100] ^= 4;
    std::fs::write(&largest.1, bytes).unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(!sound);
    let file = format!("base/{}", largest.1.file_name().unwrap().to_str().unwrap());
    assert!(told.contains("block 0") && told.contains(&file), "{told}{complaints}");
}

#[test]
fn what_is_no_database_is_refused() {
    let scratch = Scratch::new("none");
    let (sound, _, complaints) = check(&scratch.0);
    assert!(!sound);
    assert!(complaints.contains("there is no database in the directory"), "{complaints}");
}

#[test]
fn help_and_mistakes_are_answered() {
    let help = String::from_utf8(thalweg(&["--help"]).stdout).unwrap();
    assert!(help.contains("--socket-dir DIR") && help.contains("shared_buffers = 128MB"), "{help}");
    assert_eq!(thalweg(&["serve"]).status.code(), Some(2));
}

#[test]
fn an_embedded_database_keeps_what_it_was_told() {
    let scratch = Scratch::new("embedded");
    let data = scratch.0.join("data");
    let open = || thalweg::Database::open(&data, "me", &Config::new()).unwrap();
    let database = open();
    let mut connection = database.connect("postgres", "me").unwrap();
    let made = connection.query("create table t (a int primary key, b text)").unwrap();
    assert_eq!(made[0].tag, "CREATE TABLE");
    connection.query("insert into t values (1, 'x'), (2, null)").unwrap();
    let error = connection.query("insert into t values (1, 'again')").unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "23505");
    connection.query("begin; insert into t values (3, 'never')").unwrap();
    drop(connection);
    database.close().unwrap();

    let database = open();
    let mut connection = database.connect("postgres", "me").unwrap();
    let answers =
        connection.query("select a, b from t order by a; select count(*) from t").unwrap();
    assert_eq!(answers[0].columns, ["a", "b"]);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(answers[0].rows, [vec![text("1"), text("x")], vec![text("2"), None]]);
    assert_eq!(answers[1].rows, [[text("2")]]);
    let error = connection.query("copy t from stdin").unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "0A000");
    assert!(database.connect("nosuch", "me").is_err());
    drop(connection);
    database.close().unwrap();
}
