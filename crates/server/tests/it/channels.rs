//! LISTEN and NOTIFY over the wire.

use std::time::Duration;

use crate::House;
use crate::client::Client;

/// Long enough for a message that is only on its way.
const SILENCE: Duration = Duration::from_millis(50);

/// A client that listens on these channels.
fn listener(house: &House, channels: &[&str]) -> Client {
    let mut client = house.client();
    for channel in channels {
        assert_eq!(client.query(&format!("listen {channel}")), "C LISTEN\nZ I");
    }
    client
}

#[test]
fn who_listens_is_told_when_idle_in_the_order_of_commits() {
    let house = House::new();
    let mut hears = listener(&house, &["a", "\"B c\""]);
    let mut deaf = listener(&house, &["other"]);
    let mut tells = house.client();
    let by = tells.process;
    assert_eq!(tells.query("notify a, 'one'"), "C NOTIFY\nZ I");
    assert_eq!(hears.next().unwrap(), format!("A {by} a one"));
    tells.query("notify \"B c\"; select pg_notify('a', 'ü')");
    assert_eq!(hears.next().unwrap(), format!("A {by} B c "));
    assert_eq!(hears.next().unwrap(), format!("A {by} a ü"));

    // What is told twice is told once; what is rolled back never.
    tells.query("begin; notify a, 'x'; notify a, 'y'; notify a, 'x'; savepoint s; notify a, 'z'");
    tells.query("rollback to s; notify a, 'z2'");
    assert!(hears.is_silent(SILENCE), "nothing is committed");
    tells.query("commit");
    for payload in ["x", "y", "z2"] {
        assert_eq!(hears.next().unwrap(), format!("A {by} a {payload}"));
    }
    tells.query("begin; notify a, 'never'");
    tells.query("rollback; notify a, 'after'");
    assert_eq!(hears.next().unwrap(), format!("A {by} a after"));

    // In a transaction it waits.
    hears.query("begin; select 1");
    tells.query("notify a, 'later'");
    assert!(hears.is_silent(SILENCE));
    let told = hears.query("commit");
    assert_eq!(told, format!("C COMMIT\nA {by} a later\nZ I"));
    assert!(deaf.is_silent(SILENCE));
}

#[test]
fn who_tells_a_channel_of_its_own_hears_it_before_it_may_go_on() {
    let house = House::new();
    let mut me = house.client();
    let by = me.process;
    assert_eq!(
        me.query("begin; notify a, 'first'; listen a; commit"),
        format!("C BEGIN\nC NOTIFY\nC LISTEN\nC COMMIT\nA {by} a first\nZ I")
    );
    assert_eq!(me.query("notify a"), format!("C NOTIFY\nA {by} a \nZ I"));
    assert_eq!(
        me.query("select pg_listening_channels()"),
        "T pg_listening_channels\nD a\nC SELECT 1\nZ I"
    );
    me.query("begin; listen b; listen c; savepoint s; listen d");
    me.query("rollback to s; unlisten b; commit");
    let listening = "select pg_listening_channels()";
    assert_eq!(me.query(listening), "T pg_listening_channels\nD a\nD c\nC SELECT 2\nZ I");
    me.query("begin; unlisten *; rollback");
    assert!(me.query(listening).contains("SELECT 2"));
    me.query("unlisten c");
    assert_eq!(me.query("notify c"), "C NOTIFY\nZ I");
    me.query("discard all");
    assert!(me.query(listening).contains("SELECT 0"));
    assert_eq!(me.query("notify a"), "C NOTIFY\nZ I");
    assert_eq!(me.query("unlisten *"), "C UNLISTEN\nZ I");
}

#[test]
fn other_databases_and_sessions_that_have_ended_hear_nothing() {
    let house = House::new();
    let mut me = house.client();
    me.query("create database other");
    let mut there = house.stranger();
    let told = there.try_start(&[("user", "me"), ("database", "other")]);
    assert!(told.ends_with("Z I"), "{told}");
    there.query("listen a");
    let gone = listener(&house, &["a"]);
    drop(gone);
    me.query("listen b");
    assert_eq!(me.query("notify a"), "C NOTIFY\nZ I");
    assert!(there.is_silent(SILENCE));
    there.query("notify b");
    assert!(me.is_silent(SILENCE));
    // Nothing of it is left.
    for _ in 0..100 {
        let used = me.query("select pg_notification_queue_usage()");
        if used.contains("D 0\n") {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("what nobody can take any more stays");
}

#[test]
fn what_is_no_channel_or_too_long_is_refused() {
    let house = House::new();
    let mut me = house.client();
    for (call, why) in [
        ("pg_notify('', 'x')", "channel name cannot be empty"),
        ("pg_notify(null, 'x')", "channel name cannot be empty"),
        ("pg_notify(repeat('c', 64), 'x')", "channel name too long"),
        ("pg_notify('c', repeat('x', 8000))", "payload string too long"),
    ] {
        let told = me.query(&format!("select {call}"));
        assert!(told.contains(&format!("ERROR 22023 {why}\n")), "{call}: {told}");
    }
    me.query("listen c");
    let told = me
        .query("begin read only; select pg_notify('c', repeat('x', 7999)); notify c, 'y'; commit");
    assert!(told.contains(&"x".repeat(7999)) && told.contains(" c y\n"), "{told}");
}

#[test]
fn many_are_told_by_many() {
    let house = House::new();
    let (tellers, each) = (4, 200);
    let mut listeners: Vec<Client> = (0..8).map(|_| listener(&house, &["a"])).collect();
    std::thread::scope(|scope| {
        for _ in 0..tellers {
            let mut client = house.client();
            scope.spawn(move || {
                for i in 0..each {
                    assert_eq!(client.query(&format!("notify a, '{i}'")), "C NOTIFY\nZ I");
                }
            });
        }
    });
    let mut heard: Vec<Vec<String>> = Vec::new();
    for client in &mut listeners {
        heard.push((0..tellers * each).map(|_| client.next().unwrap()).collect());
        assert!(client.is_silent(SILENCE));
    }
    assert!(heard.iter().all(|other| *other == heard[0]), "in one order to all");
}

/// One that takes nothing is not sent everything at once: what it is told waits, and comes.
#[test]
fn a_client_that_does_not_read_gets_it_all_in_the_end() {
    let house = House::new();
    let mut slow = listener(&house, &["a"]);
    let mut tells = house.client();
    let payload = "p".repeat(7000);
    let count = 300;
    for i in 0..count {
        tells.query(&format!("notify a, '{i} {payload}'"));
    }
    let told = tells.query("select pg_notification_queue_usage() > 0");
    assert!(told.contains("D t"), "some of it waits: {told}");
    for i in 0..count {
        let told = slow.next().unwrap();
        assert!(told.contains(&format!(" a {i} p")), "{i}: {}", &told[..20]);
    }
    assert_eq!(slow.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn what_is_left_over_of_a_failed_copy_keeps_nobody_from_hearing() {
    let house = House::new();
    let mut hears = listener(&house, &["a"]);
    hears.request(|r| r.query("copy t from stdin"));
    assert_eq!(hears.next().unwrap(), "G 1");
    hears.request(|r| r.copy_data(b"no number\n"));
    assert!(hears.until_ready().ends_with("\nZ I"));
    hears.request(|r| {
        r.copy_data(b"1\n");
        r.copy_done();
    });
    let mut tells = house.client();
    let by = tells.process;
    tells.query("notify a, 'news'");
    assert_eq!(hears.next().unwrap(), format!("A {by} a news"));
}
