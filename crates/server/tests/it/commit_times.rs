//! `track_commit_timestamp` over restarts: times that were told are the same after a stop and after a crash, and go
//! with the setting.

use std::path::Path;
use std::sync::Arc;

use server::Database;

use crate::client::Client;
use crate::gated::copy;
use crate::{House, options, small};

/// A server on this directory, with times kept or not.
fn serve(data: &Path, tracks: bool) -> House {
    let mut config = small();
    config.set("track_commit_timestamp", if tracks { "on" } else { "off" }).unwrap();
    let database = Arc::new(Database::open(data, "me", &config).unwrap());
    let mut options = options();
    options.data = data.to_owned();
    House::over(database, options)
}

fn run(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        let told = client.query(statement);
        assert!(!told.contains("ERROR"), "{statement}: {told}");
    }
}

fn files(data: &Path) -> usize {
    std::fs::read_dir(data.join("txlog/commit_ts")).unwrap().count()
}

const TIMES: &str = "select id, pg_xact_commit_timestamp(xmin) from t order by id";
const LAST: &str = "select timestamp = (select pg_xact_commit_timestamp(xmin) from t where id = 4), \
                    xid::text::bigint = (select v from t where id = 4) from pg_last_committed_xact()";

#[test]
fn times_survive_stops_and_crashes_and_go_with_the_setting() {
    let home = options().socket_dir.unwrap();
    let (data, image) = (home.join("data"), home.join("image"));
    let house = serve(&data, true);
    let mut client = house.client();
    assert!(client.query("show track_commit_timestamp").contains("\nD on\n"));
    assert!(client.query("set track_commit_timestamp = off").contains("55P02"));
    run(
        &mut client,
        &[
            "create table t (id int primary key, v bigint)",
            "insert into t values (1, 0)",
            "begin; insert into t values (2, 0); savepoint a; insert into t values (3, 0); release a; savepoint b; \
             insert into t values (4, txid_current() % 4294967296); commit",
        ],
    );
    let told = client.query(TIMES);
    let times: Vec<&str> = told.lines().filter_map(|l| l.strip_prefix("D ")).collect();
    let time = |row: usize| times[row].split_once(',').unwrap().1;
    assert_eq!((times.len(), time(1), time(1)), (4, time(2), time(3)), "{told}");
    assert!(time(0) < time(1) && time(0) != "null", "{told}");
    assert!(client.query(LAST).contains("\nD t,t\n"), "{}", client.query(LAST));
    let recent = "select bool_and(pg_xact_commit_timestamp(xmin) between now() - interval '1 hour' and now()) from t";
    assert!(client.query(recent).contains("\nD t\n"));

    // The machine stops: what is in files now is what there is.
    copy(&data, &image);
    drop(client);
    house.stop();
    for data in [&image, &data] {
        let again = serve(data, true);
        assert_eq!(again.client().query(TIMES), told, "{}", data.display());
        again.stop();
    }

    let off = serve(&data, false);
    let mut client = off.client();
    assert_eq!(
        client.query("select pg_xact_commit_timestamp(xmin) from t"),
        "T pg_xact_commit_timestamp\nERROR 55000 could not get commit timestamp data\nZ I"
    );
    assert_eq!(files(&data), 0, "the files go with the setting");
    run(&mut client, &["insert into t values (5, 0)"]);
    drop(client);
    off.stop();

    let on = serve(&data, true);
    let mut client = on.client();
    assert!(client.query("select xid from pg_last_committed_xact()").contains("\nD null\n"));
    run(&mut client, &["insert into t values (6, 0)"]);
    let kept = client.query("select id from t where pg_xact_commit_timestamp(xmin) is not null");
    assert_eq!(kept, "T id\nD 6\nC SELECT 1\nZ I");
    drop(client);
    on.stop();
    std::fs::remove_dir_all(home).unwrap();
}
