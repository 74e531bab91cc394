//! What ends a statement or a session early: its own time limits, and requests to cancel it, wherever it is.

use std::time::{Duration, Instant};

use wire::frontend::{Execute, Requests};
use wire::startup;

use crate::House;
use crate::client::{Client, extended};

const ONE: &str = "T ?column?\nD 1\nC SELECT 1\nZ I";
const TIMED_OUT: &str = "ERROR 57014 canceling statement due to statement timeout";
const CANCELED: &str = "ERROR 57014 canceling statement due to user request";
const ENDLESS: &str =
    "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b";

/// Waits for something to become true.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl House {
    /// How many sessions wait for a lock.
    pub fn waiting(&self) -> usize {
        let locks = self.database.engine().txns().locks().view();
        locks.iter().filter(|lock| !lock.granted).count()
    }

    /// Waits until this client's session is the only one.
    pub fn until_alone(&self, with: &mut Client) {
        let sessions = "select count(*), min(numbackends) from pg_stat_activity, pg_stat_database d \
                        where backend_type = 'client backend' and d.datname = current_database()";
        until("the other sessions are gone", || with.query(sessions).contains("\nD 1,1\n"));
    }

    /// Sends a cancel request, and waits until it has been taken.
    pub fn cancel(&self, who: &Client) {
        let mut packet = Vec::new();
        startup::put_cancel(&mut packet, who.process, who.key);
        let mut stranger = self.stranger();
        stranger.send(&packet);
        stranger.expect_end();
    }

    /// A session that holds the only row of `t`.
    fn holder(&self) -> Client {
        let mut holder = self.client();
        holder.query("insert into t values (1)");
        assert!(holder.query("begin; update t set a = 2").ends_with("Z T"));
        holder
    }
}

#[test]
fn a_statement_ends_when_its_time_is_up_whatever_it_does() {
    let house = House::new();
    let mut holder = house.holder();
    let mut me = house.client();
    assert_eq!(me.query("set statement_timeout = '20ms'"), "C SET\nZ I");
    for query in [
        "select pg_sleep(600)",
        ENDLESS,
        "update t set a = 3",
        "truncate t",
        "select 1 from t for update",
        // The limit is each statement's own.
        "set statement_timeout = '1ms'; select pg_sleep(600)",
    ] {
        let told = me.query(query);
        assert!(told.ends_with(&format!("{TIMED_OUT}\nZ I")), "{query}: {told}");
        assert_eq!(me.query("set statement_timeout = 0"), "C SET\nZ I");
        assert_eq!(me.query("select 1"), ONE);
        assert_eq!(me.query("set statement_timeout = '20ms'"), "C SET\nZ I");
    }
    let unlimited = "set statement_timeout = 0; select 1 from pg_sleep(0.1)";
    assert_eq!(me.query(unlimited), format!("C SET\n{ONE}"));
    assert_eq!(me.query("set statement_timeout = '20ms'"), "C SET\nZ I");
    me.request(|r| r.query("copy t from stdin"));
    assert_eq!(me.until_ready(), format!("G 1\n{TIMED_OUT}\nZ I"));
    me.request(|r| {
        extended(r, ENDLESS, &[], 0);
        r.sync();
        extended(r, "select 1", &[], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), format!("1\n2\nT count\n{TIMED_OUT}\nZ I"));
    assert_eq!(me.until_ready(), "1\n2\nT ?column?\nD 1\nC SELECT 1\nZ I");
    assert_eq!(me.query("begin; select 1"), "C BEGIN\nT ?column?\nD 1\nC SELECT 1\nZ T");
    assert_eq!(me.query("select pg_sleep(600)"), format!("T pg_sleep\n{TIMED_OUT}\nZ E"));
    assert_eq!(me.query("rollback; set statement_timeout = 0"), "C ROLLBACK\nC SET\nZ I");
    assert_eq!(me.query("select 1 from pg_sleep(0.1)"), ONE);
    assert_eq!(holder.query("commit"), "C COMMIT\nZ I");
}

#[test]
fn the_limit_is_the_statements_not_the_sessions() {
    let house = House::new();
    let mut me = house.client();
    me.query("set statement_timeout = '2s'");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        assert_eq!(me.query("select 1 from pg_sleep(0.01)"), ONE);
        assert_eq!(me.query("select 1"), ONE);
    }
    // A slow client: the time limits the server's work, not the taking of what is done.
    me.request(|r| r.query("select repeat('x', 4000000); select 1"));
    std::thread::sleep(Duration::from_millis(2500));
    assert!(me.until_ready().ends_with(ONE));
}

#[test]
fn a_lock_is_waited_for_no_longer_than_allowed() {
    let house = House::new();
    let mut holder = house.holder();
    let mut me = house.client();
    assert_eq!(me.query("set lock_timeout = '10ms'"), "C SET\nZ I");
    for query in ["update t set a = 3", "truncate t", "select 1 from t for update"] {
        let told = me.query(query);
        let expected = "ERROR 55P03 canceling statement due to lock timeout\nZ I";
        assert!(told.ends_with(expected), "{query}: {told}");
    }
    assert_eq!(me.query("select 1 from pg_sleep(0.05)"), ONE);
    // SET LOCAL counts within its transaction only.
    me.query("set lock_timeout = 0");
    let told = me.query("begin; set local lock_timeout = '1ms'; truncate t");
    assert!(told.contains("55P03"), "{told}");
    me.query("rollback");
    me.request(|r| r.query("update t set a = 4"));
    until("a session waits", || house.waiting() == 1);
    assert_eq!(holder.query("commit"), "C COMMIT\nZ I");
    assert_eq!(me.until_ready(), "C UPDATE 1\nZ I");
}

#[test]
fn a_session_may_not_idle_in_a_transaction_for_ever() {
    let house = House::new();
    let mut me = house.client();
    me.query("insert into t values (1)");
    assert_eq!(me.query("set idle_in_transaction_session_timeout = '30ms'"), "C SET\nZ I");
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(me.query("select 1"), ONE, "outside a transaction it may");
    assert!(me.query("begin; update t set a = 2").ends_with("Z T"));
    assert_eq!(
        me.next().unwrap(),
        "FATAL 25P03 terminating connection due to idle-in-transaction timeout"
    );
    me.expect_end();
    // What it held is free, what it did undone.
    assert_eq!(house.client().query("update t set a = a"), "C UPDATE 1\nZ I");
    assert!(house.client().query("select a from t").contains("D 1"));
    let mut me = house.client();
    me.query("set idle_in_transaction_session_timeout = '30ms'");
    assert!(me.query("begin; select 1/0").ends_with("Z E"));
    assert!(me.next().unwrap().starts_with("FATAL 25P03"), "a failed one, too");
}

#[test]
fn a_session_may_not_idle_for_ever() {
    let house = House::new();
    let mut me = house.client();
    me.query("set idle_session_timeout = '2s'");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(2500) {
        assert_eq!(me.query("select 1"), ONE, "one that works does not idle");
    }
    assert!(me.query("begin").ends_with("Z T"));
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(me.query("commit"), "C COMMIT\nZ I", "in a transaction the other limit counts");
    assert_eq!(
        me.next().unwrap(),
        "FATAL 57P05 terminating connection due to idle-session timeout"
    );
    me.expect_end();
}

#[test]
fn a_request_to_cancel_reaches_a_statement_that_waits_for_a_lock() {
    let house = House::new();
    let mut holder = house.holder();
    let mut me = house.client();
    for query in ["update t set a = 3", "truncate t", "select 1 from t for update"] {
        me.request(|r| r.query(query));
        until("a session waits", || house.waiting() == 1);
        house.cancel(&me);
        let told = me.until_ready();
        assert!(told.ends_with(&format!("{CANCELED}\nZ I")), "{query}: {told}");
        assert_eq!(house.waiting(), 0);
    }
    assert_eq!(holder.query("commit"), "C COMMIT\nZ I");
    assert_eq!(me.query("update t set a = 4"), "C UPDATE 1\nZ I");
}

#[test]
fn a_request_cancels_one_statement_and_none_behind_it() {
    let house = House::new();
    let (mut me, mut watcher) = (house.client(), house.client());
    me.request(|r| {
        r.parse("sleep", "select pg_sleep($1)", &[]);
        r.parse("undo", "rollback", &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n1\nZ I");
    let run = |r: &mut Requests, statement: &str, parameters: &[Option<&[u8]>]| {
        r.bind("", statement, &[], parameters, &[]);
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
    };
    for by_query in [false, true] {
        assert_eq!(me.query("begin"), "C BEGIN\nZ T");
        me.request(|r| {
            match by_query {
                true => r.query("select pg_sleep(60)"),
                false => run(r, "sleep", &[Some(b"60")]),
            }
            run(r, "undo", &[]);
            run(r, "sleep", &[Some(b"0")]);
        });
        let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep'";
        until("the session sleeps", || watcher.query(asleep).contains("\nD 1\n"));
        house.cancel(&me);
        assert!(me.until_ready().ends_with(&format!("{CANCELED}\nZ E")));
        assert_eq!(me.until_ready(), "2\nC ROLLBACK\nZ I", "{by_query}");
        assert_eq!(me.until_ready(), "2\nD \nC SELECT 1\nZ I", "{by_query}");
    }
}

#[test]
fn a_request_to_cancel_reaches_a_copy_that_is_stuck() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.query("copy t from stdin");
        r.copy_data(b"1\n");
    });
    assert_eq!(me.next().unwrap(), "G 1");
    house.cancel(&me);
    assert_eq!(me.until_ready(), format!("{CANCELED}\nZ I"));
    assert_eq!(me.query("select 1 from t"), "T ?column?\nC SELECT 0\nZ I");
    // Nobody takes what this one sends.
    me.request(|r| r.query("copy (select generate_series(1, 100000000)) to stdout"));
    assert_eq!(me.next().unwrap(), "H 1");
    std::thread::sleep(Duration::from_millis(50));
    house.cancel(&me);
    let told = me.until_ready();
    assert!(told.ends_with(&format!("{CANCELED}\nZ I")));
    assert_eq!(me.query("select 1"), ONE);
}

#[test]
fn a_commit_is_told_or_canceled_and_never_both() {
    let house = House::new();
    let mut me = house.client();
    let mut told_of = 0;
    for _ in 0..200 {
        me.request(|r| r.query("insert into t values (1)"));
        house.cancel(&me);
        let told = me.until_ready();
        told_of += match &*told {
            "C INSERT 0 1\nZ I" => 1,
            told => {
                assert_eq!(told, format!("{CANCELED}\nZ I"));
                0
            }
        };
    }
    let counted = me.query("select count(*) from t");
    assert_eq!(counted, format!("T count\nD {told_of}\nC SELECT 1\nZ I"));
}

/// What works on a large value looks around, so that a cancel or a time limit ends it, and others have their turn.
#[test]
fn work_on_large_values_can_be_ended() {
    let house = House::new();
    let mut me = house.client();
    me.query("set statement_timeout = '50ms'");
    let values = [
        "factorial(32000)",
        "md5(repeat('a', 300000000))",
        "array_length(string_to_array(repeat('a,', 5000000), ','), 1)",
        "array_length(('{' || repeat('1,', 5000000) || '1}')::int[], 1)",
        "length(array_fill(1, array[5000000])::text)",
        "length(replace(repeat('ab', 20000000), 'a', 'xy'))",
        "length(upper(repeat('ab', 30000000)))",
        "length(encode(repeat('a', 50000000)::bytea, 'base64'))",
        "length(lpad('x', 100000000, 'ab'))",
        "('[' || repeat('1,', 20000000) || '1]')::json is null",
    ];
    for value in values {
        let told = me.query(&format!("select {value}"));
        assert!(told.contains("ERROR 57014 "), "{value}: {}", &told[..told.len().min(200)]);
    }
}
