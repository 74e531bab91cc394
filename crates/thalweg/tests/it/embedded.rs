//! The embedding API's prepared statements.

use super::{Scratch, config};
use thalweg::Database;

#[test]
fn prepared_statements_run_with_values_and_keep_what_they_told() {
    let scratch = Scratch::new("embedded-prepared");
    let data = scratch.0.join("data");
    let database = Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection.query("create table t (a int primary key, b text)").unwrap();
    connection.prepare("put", "insert into t values ($1, $2)").unwrap();
    connection.prepare("find", "select b from t where a = $1").unwrap();
    assert_eq!(connection.execute("put", &[Some("1"), Some("one")]).unwrap().tag, "INSERT 0 1");
    assert_eq!(connection.execute("put", &[Some("2"), None]).unwrap().tag, "INSERT 0 1");
    let found = connection.execute("find", &[Some("1")]).unwrap();
    assert_eq!(
        (&found.columns[..], &found.rows[..]),
        (&["b".to_owned()][..], &[vec![Some("one".to_owned())]][..])
    );
    assert_eq!(connection.execute("find", &[Some("2")]).unwrap().rows, [[None]]);
    assert_eq!(connection.execute("find", &[Some("3")]).unwrap().rows.len(), 0);

    // An error fails its own transaction, and an explicit one until it ends.
    let state = |error: sql::error::SqlError| error.sqlstate().as_str().to_owned();
    assert_eq!(state(connection.execute("put", &[Some("1"), None]).unwrap_err()), "23505");
    assert_eq!(state(connection.execute("find", &[Some("x")]).unwrap_err()), "22P02");
    assert_eq!(state(connection.execute("none", &[]).unwrap_err()), "26000");
    assert_eq!(state(connection.prepare("find", "select 1").unwrap_err()), "42P05");
    connection.query("begin").unwrap();
    connection.execute("put", &[Some("3"), None]).unwrap();
    connection.execute("put", &[Some("3"), None]).unwrap_err();
    assert_eq!(state(connection.execute("find", &[Some("1")]).unwrap_err()), "25P02");
    connection.query("rollback").unwrap();
    assert_eq!(connection.execute("find", &[Some("3")]).unwrap().rows.len(), 0);
    drop(connection);
    database.close().unwrap();

    let database = Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    let count = connection.query("select count(*) from t").unwrap();
    assert_eq!(count[0].rows, [[Some("2".to_owned())]]);
    drop(connection);
    database.close().unwrap();
}

#[test]
fn a_time_limit_ends_with_its_statement() {
    let scratch = Scratch::new("embedded-timeout");
    let database = Database::open(scratch.0.join("data"), "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection.query("set statement_timeout = '20ms'").unwrap();
    connection.prepare("one", "select 1").unwrap();
    let mut other = database.connect("postgres", "me").unwrap();
    other.query("select pg_sleep(0.05)").unwrap();
    connection.execute("one", &[]).unwrap();
    other.query("select pg_sleep(0.05)").unwrap();
    let error = connection.query("select pg_sleep(60)").unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "57014");
    other.query("select pg_sleep(0.05)").unwrap();
}

#[test]
fn a_database_that_is_dropped_is_closed() {
    let scratch = Scratch::new("embedded-dropped");
    let data = scratch.0.join("data");
    let database = Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection.query("create table t as select generate_series(1, 10000) a").unwrap();
    drop(connection);
    drop(database);
    let database = server::Database::open(&data, "me", &config()).unwrap();
    assert!(database.engine().recovery().is_none(), "nothing was left to recover");
    database.close().unwrap();
}

#[test]
fn connections_tell_each_other_something() {
    let scratch = Scratch::new("embedded-channels");
    let database = Database::open(scratch.0.join("data"), "me", &config()).unwrap();
    let mut hears = database.connect("postgres", "me").unwrap();
    let mut tells = database.connect("postgres", "me").unwrap();
    hears.query("listen news").unwrap();
    assert_eq!(hears.notifications(), []);
    tells.query("create table t (a int); notify news, 'made'; notify other").unwrap();
    hears.query("begin").unwrap();
    assert_eq!(hears.notifications(), []);
    hears.query("commit").unwrap();
    let [told] = &hears.notifications()[..] else { panic!("one was told") };
    assert_eq!((&*told.channel, &*told.payload), ("news", "made"));
    assert_eq!(hears.notifications(), []);
    drop((hears, tells));
    database.close().unwrap();
}

#[test]
fn texts_are_utf8_whatever_is_set() {
    let scratch = Scratch::new("embedded-encoding");
    let data = scratch.0.join("data");
    let database = Database::open(&data, "me", &config()).unwrap();
    let mut connection = database.connect("postgres", "me").unwrap();
    connection.query("create table t (a text)").unwrap();
    connection.query("alter database postgres set client_encoding = 'LATIN1'").unwrap();
    drop(connection);

    let mut connection = database.connect("postgres", "me").unwrap();
    let refused = "client_encoding LATIN1 is not supported in an embedded database";
    for set in [
        "set client_encoding = 'LATIN1'",
        "set names 'latin1'",
        "select set_config('client_encoding', 'latin1', false), 'ä'",
    ] {
        let error = connection.query(set).unwrap_err();
        assert_eq!((error.sqlstate().as_str(), error.message()), ("0A000", refused), "{set}");
    }
    for set in ["reset client_encoding", "set client_encoding = 'unicode'", "discard all"] {
        connection.query(set).unwrap();
    }
    connection.prepare("put", "insert into t values ($1)").unwrap();
    connection.execute("put", &[Some("ä€")]).unwrap();
    let found = connection.query("select a, octet_length(a) from t").unwrap();
    assert_eq!(found[0].rows, [[Some("ä€".to_owned()), Some("5".to_owned())]]);
    drop(connection);
    database.close().unwrap();
}
