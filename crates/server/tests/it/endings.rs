//! How sessions end, as `pg_stat_database` tells it.

use std::time::{Duration, Instant};

use crate::House;
use crate::client::{Client, extended};

#[test]
fn ends_are_told_apart() {
    let house = House::new();
    let mut me = house.client();
    let figures = "from pg_stat_database where datname = 'postgres'";
    // One made the house's table.
    let told = me.query(&format!("select sessions - 1 {figures}"));
    let before: i64 = told.lines().find_map(|line| line.strip_prefix("D ")?.parse().ok()).unwrap();
    let counted = format!(
        "select sessions - {before}, sessions_abandoned, sessions_fatal, sessions_killed, numbackends {figures}"
    );
    let mut until = |expected: &str| {
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            let told = me.query(&counted);
            if told.contains(&format!("\nD {expected}\n")) {
                return;
            }
            assert!(Instant::now() < give_up, "{expected} was expected, not {told}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until("1,0,0,0,1");
    let mut orderly = house.client();
    until("2,0,0,0,2");
    orderly.request(|r| r.terminate());
    orderly.expect_end();
    until("2,0,0,0,1");
    drop(house.client());
    until("3,1,0,0,1");
    // An idle one, and one at work.
    for (statement, killed) in [("select 1", 1), ("select pg_sleep(600)", 2)] {
        let mut victim = house.client();
        victim.request(|r| r.query(statement));
        let mut killer = house.client();
        let sql = format!("select pg_terminate_backend({})", victim.process);
        assert!(killer.query(&sql).contains("\nD t\n"));
        while victim.next().is_some() {}
        killer.request(|r| r.terminate());
        killer.expect_end();
        until(&format!("{},1,0,{killed},1", 3 + 2 * killed));
    }
    let mut slow = house.client();
    slow.query("set idle_session_timeout = 10");
    while slow.next().is_some() {}
    until("8,1,1,2,1");
}

#[test]
fn who_says_no_more_still_hears_what_was_asked_before() {
    let house = House::new();
    for _ in 0..50 {
        let mut me = house.client();
        me.request(|r| r.query("insert into t values (1)"));
        assert_eq!(me.last_words(), ["C INSERT 0 1", "Z I"]);
    }
}

#[test]
fn who_says_no_more_within_copy_hears_what_was_asked_before() {
    let house = House::new();
    let lost = [
        "ERROR 08006 unexpected EOF on client connection with an open transaction",
        "FATAL 08P01 terminating connection because protocol synchronization was lost",
    ];
    for _ in 0..50 {
        let mut me = house.client();
        me.request(|r| {
            r.query("insert into t values (1)");
            r.query("copy t from stdin");
            r.copy_data(b"2\n");
        });
        assert_eq!(me.last_words(), ["C INSERT 0 1", "Z I", "G 1", lost[0], lost[1]]);
        let mut me = house.client();
        me.request(|r| {
            extended(r, "copy t from stdin", &[], 0);
            r.copy_data(b"3\n");
            r.copy_done();
            r.sync();
        });
        assert_eq!(me.last_words(), ["1", "2", "n", "G 1", "C COPY 1", "Z I"]);
    }
    let told = house.client().query("select count(*), sum(a) from t");
    assert_eq!(told, "T count,sum\nD 100,200\nC SELECT 1\nZ I");
}

#[test]
fn who_ends_itself_gets_no_answer() {
    let house = House::new();
    let mut me = house.client();
    let told = me.query("select pg_cancel_backend(pg_backend_pid())");
    let cancelled = "ERROR 57014 canceling statement due to user request\nZ I";
    assert!(told.ends_with(cancelled), "{told}");
    assert_eq!(me.query("select 5"), "T ?column?\nD 5\nC SELECT 1\nZ I");
    let told = me.query("select pg_terminate_backend(pg_backend_pid())");
    let ended = "FATAL 57P01 terminating connection due to administrator command";
    assert!(told.ends_with(ended), "{told}");
    me.expect_end();
}

/// What is left to be told has no room, and its client takes none of it.
#[test]
fn who_reads_nothing_can_be_ended() {
    let house = House::new();
    let mut killer = house.client();
    for statement in
        ["select repeat('x', 1000) from generate_series(1, 1000000)", "copy t to stdout"]
    {
        if statement.starts_with("copy") {
            killer.query("insert into t select generate_series(1, 1000000)");
        }
        let mut deaf = house.client();
        deaf.request(|r| r.query(statement));
        let pid = deaf.process;
        let state = format!("select wait_event from pg_stat_activity where pid = {pid}");
        wait_until(&mut killer, &state, "D ClientWrite");
        assert!(killer.query(&format!("select pg_terminate_backend({pid})")).contains("\nD t\n"));
        let there = format!("select count(*) from pg_stat_activity where pid = {pid}");
        wait_until(&mut killer, &there, "D 0");
    }
}

/// Asks until this is a line of the answer.
fn wait_until(client: &mut Client, sql: &str, expected: &str) {
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let told = client.query(sql);
        if told.lines().any(|line| line == expected) {
            return;
        }
        assert!(Instant::now() < give_up, "{sql}: {expected} was expected, not {told}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
