//! Simple and extended queries, pipelining, errors until Sync.

use std::time::{Duration, Instant};

use wire::frontend::{Execute, Target};

use crate::House;
use crate::client::extended;

#[test]
fn simple_queries_are_answered() {
    let house = House::new();
    let mut me = house.client();
    assert_eq!(me.query("select 42"), "T ?column?\nD 42\nC SELECT 1\nZ I");
    assert_eq!(
        me.query("begin; select 1; select 2"),
        "C BEGIN\nT ?column?\nD 1\nC SELECT 1\nT ?column?\nD 2\nC SELECT 1\nZ T"
    );
    assert_eq!(me.query("select 1/0"), "T ?column?\nERROR 22012 division by zero\nZ E");
    assert_eq!(
        me.query("select 1"),
        "ERROR 25P02 current transaction is aborted, commands ignored until end of \
         transaction block\nZ E"
    );
    assert_eq!(me.query("rollback"), "C ROLLBACK\nZ I");
    assert_eq!(me.query(" ; "), "I\nZ I");
    assert_eq!(
        me.query("rollback"),
        "WARNING 25P01 there is no transaction in progress\nC ROLLBACK\nZ I"
    );
    assert_eq!(me.query("set application_name = 'x'"), "C SET\nS application_name=x\nZ I");
    me.request(|r| r.terminate());
    me.expect_end();
}

#[test]
fn extended_queries_are_answered() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        extended(r, "select $1", &[Some(b"7")], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n2\nT ?column?\nD 7\nC SELECT 1\nZ I");
    me.request(|r| {
        r.parse("s", "insert into t values (1)", &[]);
        r.describe(Target::Statement("s"));
        r.bind("p", "s", &[], &[], &[]);
        r.describe(Target::Portal("p"));
        r.execute(Execute { portal: "p", rows_max: 0 });
        r.close(Target::Portal("p"));
        r.close(Target::Statement("s"));
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\nt 0\nn\n2\nn\nC INSERT 0 1\n3\n3\nZ I");
}

#[test]
fn a_portal_is_executed_in_pieces() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        extended(r, "select generate_series(1, 3)", &[], 2);
        r.execute(Execute { portal: "", rows_max: 2 });
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n2\nT generate_series\nD 1\nD 2\ns\nD 3\nC SELECT 1\nZ I");
}

#[test]
fn after_an_error_everything_up_to_sync_is_ignored() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        extended(r, "select 1/0", &[], 0);
        extended(r, "select 1", &[], 0);
        r.query("select 2");
        r.sync();
        extended(r, "select 3", &[], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n2\nT ?column?\nERROR 22012 division by zero\nZ I");
    assert_eq!(me.until_ready(), "1\n2\nT ?column?\nD 3\nC SELECT 1\nZ I");
    me.request(|r| {
        r.bind("", "nosuch", &[], &[], &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "ERROR 26000 prepared statement \"nosuch\" does not exist\nZ I");
}

#[test]
fn flush_sends_what_is_there_and_sync_the_rest() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.parse("", "select 1", &[]);
        r.flush();
    });
    assert_eq!(me.next().unwrap(), "1");
    me.request(|r| {
        r.bind("", "", &[], &[], &[]);
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
    });
    assert_eq!(me.until_ready(), "2\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn pipelined_queries_are_answered_in_order() {
    let house = House::new();
    let mut me = house.client();
    const QUERIES: usize = 3000;
    me.request(|r| {
        for number in 0..QUERIES {
            match number % 3 {
                0 => r.query(&format!("select {number}")),
                1 => {
                    extended(r, &format!("select {number}"), &[], 0);
                    r.sync();
                }
                // Each commits, so its reply waits for the log, and those behind it too.
                _ => r.query(&format!("insert into t values ({number}); select {number}")),
            }
        }
    });
    for number in 0..QUERIES {
        let told = me.until_ready();
        assert!(told.contains(&format!("D {number}\n")), "{number}: {told}");
    }
}

#[test]
fn a_slow_query_does_not_hold_back_the_replies_before_it() {
    let house = House::new();
    let mut me = house.client();
    let begun = Instant::now();
    me.request(|r| {
        r.query("select 1");
        r.query("select pg_sleep(0.2)");
        r.query("select 2");
        r.query("select pg_sleep(0.4)");
    });
    assert!(me.until_ready().contains("D 1"));
    assert!(begun.elapsed() < Duration::from_millis(190));
    assert!(me.until_ready().contains("D "));
    assert!(me.until_ready().contains("D 2"));
    assert!(begun.elapsed() < Duration::from_millis(550));
    assert!(me.until_ready().contains("D "));
    assert!(begun.elapsed() >= Duration::from_millis(600));
}

#[test]
fn messages_may_come_byte_by_byte() {
    let house = House::new();
    let mut me = house.client();
    let mut requests = wire::frontend::Requests::new();
    extended(&mut requests, "select $1", &[Some(b"bytes")], 0);
    requests.sync();
    for byte in requests.as_bytes().to_vec() {
        me.send(&[byte]);
        std::thread::sleep(Duration::from_micros(200));
    }
    assert_eq!(me.until_ready(), "1\n2\nT ?column?\nD bytes\nC SELECT 1\nZ I");
}

#[test]
fn a_message_larger_than_any_buffer_is_taken() {
    let house = House::new();
    let mut me = house.client();
    let large = "7".repeat(3 << 20);
    me.request(|r| {
        extended(r, "select $1", &[Some(large.as_bytes())], 0);
        r.sync();
    });
    let told = me.until_ready();
    assert!(told.contains(&large));
    assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

/// One read, once there is something to read, brings everything: were the replies to each message written by
/// themselves, who reads on another core would see a part of them in some round.
#[test]
fn the_replies_to_a_batch_leave_in_one_write() {
    const STATEMENTS: usize = 20;
    let house = House::new();
    let mut me = house.client();
    // The second tells of a commit, so its replies wait for the log.
    let batches = [
        ("select $1::int", "1\n2\nD 7\nC SELECT 1"),
        ("insert into t values ($1)", "1\n2\nC INSERT 0 1"),
    ];
    for (statement, told) in batches {
        let whole = format!("{}\nZ I", [told; STATEMENTS].join("\n"));
        for round in 0..100 {
            me.request(|r| {
                for _ in 0..STATEMENTS {
                    r.parse("", statement, &[]);
                    r.bind("", "", &[], &[Some(b"7")], &[]);
                    r.execute(Execute { portal: "", rows_max: 0 });
                }
                r.sync();
            });
            assert_eq!(me.one_read().join("\n"), whole, "{statement}, round {round}");
        }
    }
}
