//! Simple and extended queries, pipelining, errors until Sync.

use std::time::{Duration, Instant};

use wire::Format;
use wire::frontend::{Execute, Requests, Target};

use crate::House;
use crate::client::{Client, extended};

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
fn what_has_rows_has_none_the_second_time_and_all_else_runs_once() {
    let house = House::new();
    let mut me = house.client();
    me.query("prepare p as select a from t");
    let mut twice = |query: &str| {
        me.request(|r| {
            r.query("begin; declare c cursor for select 1");
            extended(r, query, &[], 0);
            r.execute(Execute { portal: "", rows_max: 0 });
            r.sync();
            r.query("rollback");
        });
        assert!(me.until_ready().ends_with("Z T"));
        let told = me.until_ready();
        assert!(me.until_ready().ends_with("Z I"));
        told
    };
    for (query, columns, first, second) in [
        ("select 1 as a", "a", "D 1\nC SELECT 1", "SELECT 0"),
        ("insert into t values (1) returning a", "a", "D 1\nC INSERT 0 1", "INSERT 0 0"),
        ("delete from t returning a", "a", "C DELETE 0", "DELETE 0"),
        ("show work_mem", "work_mem", "D 4MB\nC SHOW", "SHOW"),
        ("execute p", "a", "C SELECT 0", "SELECT 0"),
        ("fetch 1 from c", "?column?", "D 1\nC FETCH 1", "FETCH 0"),
    ] {
        let told = twice(query);
        assert_eq!(told, format!("1\n2\nT {columns}\n{first}\nC {second}\nZ T"), "{query}");
    }
    for (query, tag) in [
        ("insert into t values (1)", "INSERT 0 1"),
        ("set work_mem = '1MB'", "SET"),
        ("create table u (a int)", "CREATE TABLE"),
        ("savepoint s", "SAVEPOINT"),
    ] {
        let told = twice(query);
        let refused = "ERROR 55000 portal \"\" cannot be run\nZ E";
        assert_eq!(told, format!("1\n2\nn\nC {tag}\n{refused}"), "{query}");
    }
}

#[test]
fn result_formats_are_for_all_columns_alike_or_for_each() {
    let house = House::new();
    let mut me = house.client();
    let mut ask = |query: &str, formats: &[Format]| {
        me.request(|r| {
            r.parse("", query, &[]);
            r.bind("", "", &[], &[], formats);
            r.execute(Execute { portal: "", rows_max: 0 });
            r.sync();
        });
        me.until_ready()
    };
    let three = "select 'a', 'b', 'c'";
    for fitting in [0, 1, 3] {
        let told = ask(three, &vec![Format::Binary; fitting]);
        assert_eq!(told, "1\n2\nD a,b,c\nC SELECT 1\nZ I", "{fitting}");
    }
    for (query, columns) in [(three, 3), ("show work_mem", 1)] {
        for wrong in [2, 4] {
            let told = ask(query, &vec![Format::Binary; wrong]);
            let message =
                format!("bind message has {wrong} result formats but query has {columns} columns");
            assert_eq!(told, format!("1\nERROR 08P01 {message}\nZ I"));
        }
    }
    // What has no columns at all takes any number.
    let told = ask("insert into t values (1)", &[Format::Binary; 2]);
    assert_eq!(told, "1\n2\nC INSERT 0 1\nZ I");
}

#[test]
fn a_sync_ends_the_ignoring_whatever_it_holds() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| extended(r, "select nothing", &[], 0));
    me.send(b"S\0\0\0\x05x");
    let told = me.until_ready();
    assert!(told.starts_with("ERROR 42703") && told.contains("\nERROR 08P01"), "{told}");
    assert_eq!(me.query("select 5"), "T ?column?\nD 5\nC SELECT 1\nZ I");
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
fn the_unnamed_statement_lasts_until_the_next_one_or_a_query() {
    let house = House::new();
    let mut me = house.client();
    let none = "ERROR 26000 unnamed prepared statement does not exist\nZ I";
    let mut bound_after = |between: &dyn Fn(&mut Requests)| {
        me.request(|r| {
            r.parse("", "select 1", &[]);
            r.sync();
            between(r);
            r.bind("", "", &[], &[], &[]);
            r.sync();
        });
        assert_eq!(me.until_ready(), "1\nZ I");
        me.until_ready();
        me.until_ready()
    };
    let parse = |r: &mut Requests, name: &str, text: &str| {
        r.parse(name, text, &[]);
        r.sync();
    };
    assert_eq!(bound_after(&|r| r.query("select 2")), none);
    assert_eq!(bound_after(&|r| r.query(";")), none);
    assert_eq!(bound_after(&|r| parse(r, "", "nonsense")), none);
    assert_eq!(bound_after(&|r| parse(r, "named", "nonsense")), "2\nZ I");
    assert_eq!(bound_after(&|r| parse(r, "named", "select 2")), "2\nZ I");
    me.request(|r| {
        r.query("begin");
        extended(r, "select generate_series(1, 3)", &[], 1);
        r.query("select 2");
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
        r.query("rollback");
    });
    assert!(me.until_ready().ends_with("Z T"));
    assert!(me.until_ready().ends_with("C SELECT 1\nZ T"));
    assert_eq!(me.until_ready(), "ERROR 34000 portal \"\" does not exist\nZ E");
}

#[test]
fn in_a_failed_transaction_only_what_has_no_columns_is_described() {
    let house = House::new();
    let mut me = house.client();
    me.query("begin; declare c cursor with hold for select 1; commit");
    me.request(|r| {
        r.parse("columns", "select $1::int", &[]);
        r.parse("none", "rollback", &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n1\nZ I");
    assert!(me.query("begin; select 1/0").ends_with("Z E"));
    let refused = "ERROR 25P02 current transaction is aborted, commands ignored until end of \
                   transaction block\nZ E";
    for target in [Target::Statement("columns"), Target::Portal("c")] {
        me.request(|r| {
            r.describe(target);
            r.sync();
        });
        assert_eq!(me.until_ready(), refused, "{target:?}");
    }
    me.request(|r| {
        r.describe(Target::Statement("none"));
        r.bind("", "none", &[], &[], &[]);
        r.describe(Target::Portal(""));
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
    });
    assert_eq!(me.until_ready(), "t 0\nn\n2\nn\nC ROLLBACK\nZ I");
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

impl House {
    /// A client, and a table with a row whose value is a megabyte.
    fn with_large_value(&self) -> Client {
        let mut client = self.client();
        client.query("create table large (id int primary key, value text)");
        let made = client.query("insert into large values (1, repeat('7', 1000000))");
        assert_eq!(made, "C INSERT 0 1\nZ I");
        client
    }
}

/// How long the line is that tells of its row.
const LARGE_LINE: usize = "D ".len() + 1_000_000;

#[test]
fn a_pipeline_is_told_much_before_it_asks() {
    const ROWS: usize = 64;
    let house = House::new();
    let mut me = house.with_large_value();
    me.request(|r| {
        r.parse("s", "select value from large where id = 1", &[]);
        for _ in 0..ROWS {
            r.bind("", "s", &[], &[], &[]);
            r.execute(Execute { portal: "", rows_max: 0 });
        }
    });
    assert_eq!(me.next().unwrap(), "1");
    for _ in 0..ROWS {
        assert_eq!(me.next().unwrap(), "2");
        assert_eq!(me.next().unwrap().len(), LARGE_LINE);
        assert_eq!(me.next().unwrap(), "C SELECT 1");
    }
    me.request(|r| r.sync());
    assert_eq!(me.until_ready(), "Z I");
}

#[test]
fn a_string_of_statements_is_told_much_before_its_end() {
    const ROWS: usize = 16;
    let house = House::new();
    let mut me = house.with_large_value();
    let reads = "select value from large where id = 1; ".repeat(ROWS);
    me.request(|r| r.query(&format!("{reads}select pg_sleep(600)")));
    for _ in 0..ROWS {
        assert_eq!(me.next().unwrap(), "T value");
        assert_eq!(me.next().unwrap().len(), LARGE_LINE);
        assert_eq!(me.next().unwrap(), "C SELECT 1");
    }
    house.cancel(&me);
    let told = me.until_ready();
    let expected = "ERROR 57014 canceling statement due to user request\nZ I";
    assert!(told.ends_with(expected), "{told}");
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

#[test]
fn portals_of_what_needs_no_transaction_end_with_sync() {
    let house = House::new();
    let mut me = house.client();
    for text in ["show work_mem", ""] {
        me.request(|r| {
            r.parse("s", text, &[]);
            r.sync();
        });
        assert_eq!(me.until_ready(), "1\nZ I");
        for _ in 0..2 {
            me.request(|r| {
                r.bind("p", "s", &[], &[], &[]);
                r.sync();
            });
            assert_eq!(me.until_ready(), "2\nZ I", "{text}");
        }
        me.request(|r| {
            r.close(Target::Statement("s"));
            r.sync();
        });
        assert_eq!(me.until_ready(), "3\nZ I");
    }
}

/// A statement that was prepared keeps the types of its parameters; who prepares the text anew finds those of now.
#[test]
fn who_prepares_anew_finds_the_types_of_now() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table changing (id int, name text); insert into changing values (1, 'one')");
    let text = "select name from changing where id = $1";
    let parse = |name: &'static str| {
        move |r: &mut Requests| {
            r.parse(name, text, &[]);
            r.describe(Target::Statement(name));
            r.sync();
        }
    };
    let run = |name: &'static str, value: &'static [u8]| {
        move |r: &mut Requests| {
            r.bind("", name, &[], &[Some(value)], &[]);
            r.execute(Execute { portal: "", rows_max: 0 });
            r.sync();
        }
    };
    me.request(parse("old"));
    assert_eq!(me.until_ready(), "1\nt 1\nT name\nZ I");
    me.query("alter table changing alter id type bigint");
    me.request(run("old", b"1"));
    assert_eq!(me.until_ready(), "2\nD one\nC SELECT 1\nZ I");
    let mut other = house.client();
    for client in [&mut me, &mut other] {
        client.request(parse("new"));
        assert_eq!(client.until_ready(), "1\nt 1\nT name\nZ I");
        client.request(run("new", b"3000000000"));
        assert_eq!(client.until_ready(), "2\nC SELECT 0\nZ I");
    }
    // And the one of before does not take over what the others found.
    me.query("create index on changing (id)");
    other.request(run("new", b"3000000000"));
    assert_eq!(other.until_ready(), "2\nC SELECT 0\nZ I");
    me.request(run("old", b"3000000000"));
    let told = me.until_ready();
    assert!(told.starts_with("ERROR 22003 "), "{told}");
}

#[test]
fn what_was_prepared_is_described_after_discard_plans() {
    let house = House::new();
    let mut me = house.client();
    me.query("prepare p as select 1 as one");
    me.query("discard plans");
    me.request(|r| {
        r.parse("", "execute p", &[]);
        r.bind("", "", &[], &[], &[]);
        r.describe(Target::Portal(""));
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n2\nT one\nD 1\nC SELECT 1\nZ I");
}

/// What can't be part of a transaction is committed before it is told: no later error of the pipeline takes it back.
#[test]
fn a_database_that_was_told_stays() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        extended(r, "create database told", &[], 0);
        extended(r, "select 1/0", &[], 0);
        r.sync();
    });
    let told = me.until_ready();
    assert!(told.starts_with("1\n2\nn\nC CREATE DATABASE\n"), "{told}");
    assert!(told.contains("ERROR 22012 "), "{told}");
    let found = "select count(*) from pg_database where datname = 'told'";
    assert_eq!(me.query(found), "T count\nD 1\nC SELECT 1\nZ I");
    me.request(|r| {
        r.parse("drop", "drop database told", &[]);
        r.bind("dropping", "drop", &[], &[], &[]);
        r.execute(Execute { portal: "dropping", rows_max: 0 });
        r.execute(Execute { portal: "dropping", rows_max: 0 });
        r.sync();
    });
    let told = me.until_ready();
    assert!(told.starts_with("1\n2\nC DROP DATABASE\nERROR 34000 "), "{told}");
    assert_eq!(me.query(found), "T count\nD 0\nC SELECT 1\nZ I");
}

/// A prepared statement is described as it would run now, or the describer is told that it can't run any more.
#[test]
fn a_statement_is_described_as_of_now() {
    let house = House::new();
    let mut me = house.client();
    me.query("create table described (a int)");
    let describe = |me: &mut Client| {
        me.request(|r| {
            r.describe(Target::Statement("s"));
            r.sync();
        });
        me.until_ready()
    };
    me.request(|r| {
        r.parse("s", "select * from described", &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\nZ I");
    assert_eq!(describe(&mut me), "t 0\nT a\nZ I");
    me.query("alter table described add b int");
    let told = describe(&mut me);
    assert!(told.starts_with("ERROR 0A000 "), "{told}");
    me.query("drop table described");
    let told = describe(&mut me);
    assert!(told.starts_with("ERROR 42P01 "), "{told}");
}
