//! What widely used drivers send and rely on, each found by the driver that is named.

use wire::Format;
use wire::frontend::{Execute, Requests, Target};

use crate::House;
use crate::client::extended;

/// Runs a statement by way of the extended protocol, with binary results.
fn binary(requests: &mut Requests, query: &str) {
    requests.parse("", query, &[]);
    requests.bind("", "", &[], &[], &[Format::Binary]);
    requests.execute(Execute { portal: "", rows_max: 0 });
    requests.sync();
}

/// asyncpg quotes the encoding and spells it its own way.
#[test]
fn encodings_have_many_spellings() {
    let house = House::new();
    for spelling in ["'utf-8'", "UTF8", "utf_8", "Unicode"] {
        let parameters = [("user", "me"), ("database", "postgres"), ("client_encoding", spelling)];
        let told = house.stranger().try_start(&parameters);
        assert!(told.contains("S client_encoding=UTF8") && told.ends_with("Z I"), "{told}");
    }
    let parameters = [("user", "me"), ("database", "postgres"), ("client_encoding", "latin-99")];
    let told = house.stranger().try_start(&parameters);
    assert!(told.starts_with("FATAL 22023 invalid value for parameter"), "{told}");
}

/// psycopg's cursors of the server and Rails' explain bind parameters in what is within another statement.
#[test]
fn parameters_may_be_within_another_statement() {
    let house = House::new();
    let mut me = house.client();
    me.query("insert into t select i from generate_series(1, 5) i; begin");
    let mut run = |query: &str, parameters: &[Option<&[u8]>]| {
        me.request(|r| {
            r.parse("", query, &[]);
            r.describe(Target::Statement(""));
            extended(r, query, parameters, 0);
            r.sync();
        });
        let told = me.until_ready();
        let told = told.strip_suffix("\nZ T").unwrap_or(&told);
        told.replace("1\nt ", "").replace("\nn\n1\n2\nn\n", " ")
    };
    let told = run("explain (costs off) select * from t where a = $1", &[Some(b"3")]);
    assert!(told.ends_with("D Seq Scan on t\nD   Filter: (a = 3)\nC EXPLAIN"), "{told}");
    let declare = "declare c cursor for select a from t where a > $1 and a <> $2 order by a";
    assert_eq!(run(declare, &[Some(b"1"), Some(b"3")]), "2 C DECLARE CURSOR");
    let told = run("fetch 2 from c", &[]);
    assert!(told.ends_with("D 2\nD 4\nC FETCH 2"), "{told}");
    let create = "create table s as select a, $1 as b from t where a > $2";
    assert_eq!(run(create, &[Some(b"x"), Some(b"3")]), "2 C SELECT 2");
    let into = "select a, $1::numeric as n into u from t where a = $2";
    assert_eq!(run(into, &[Some(b"1.5"), Some(b"3")]), "2 C SELECT 1");
    let told = run("select s.*, n from s, u order by s.a", &[]);
    assert!(told.ends_with("D 4,x,1.5\nD 5,x,1.5\nC SELECT 2"), "{told}");
}

/// pgx takes rows of a declared cursor as binary.
#[test]
fn statements_that_are_not_planned_give_rows_as_asked() {
    let house = House::new();
    let mut me = house.client();
    me.query("begin; declare c cursor for select i from generate_series(1, 3) i");
    me.query("prepare p as select 7");
    for (query, tag) in [("fetch 1 from c", "FETCH 1"), ("execute p", "SELECT 1")] {
        me.request(|r| binary(r, query));
        let row = if tag == "FETCH 1" { "\0\0\0\u{1}" } else { "\0\0\0\u{7}" };
        assert_eq!(me.until_ready(), format!("1\n2\nD {row}\nC {tag}\nZ T"));
    }
    assert_eq!(me.query("fetch 1 from c"), "T i\nD 2\nC FETCH 1\nZ T");
}

/// pgjdbc and asyncpg prepare anew when the routine says that this helps.
#[test]
fn a_plan_whose_result_has_changed_names_the_routine() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.parse("star", "select * from t", &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\nZ I");
    house.client().query("alter table t add column b int");
    me.request(|r| {
        r.bind("", "star", &[], &[], &[]);
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
    });
    let told = me.until_ready();
    assert_eq!(told.lines().last().unwrap(), "Z I", "the session goes on after {told}");
    let expected = "ERROR 0A000 cached plan must not change result type [RevalidateCachedQuery]";
    assert!(told.contains(expected), "{told}");
}

/// pgx's CopyFrom and asyncpg's copy_records_to_table are binary.
#[test]
fn rows_are_copied_in_binary_both_ways() {
    let house = House::new();
    let mut me = house.client();
    let header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let rows = b"\0\x01\0\0\0\x04\0\0\0\x07\0\x01\xff\xff\xff\xff";
    me.request(|r| {
        r.query("copy t from stdin (format binary)");
        r.copy_data(&header[..5]);
        r.copy_data(&[&header[5..], &rows[..9]].concat());
        r.copy_data(&[&rows[9..], b"\xff\xff"].concat());
        r.copy_done();
    });
    assert_eq!(me.until_ready(), "G 1\nC COPY 2\nZ I");
    assert_eq!(me.query("select a from t order by a"), "T a\nD 7\nD null\nC SELECT 2\nZ I");
    let told = me.query("copy (select a from t order by a) to stdout (format binary)");
    let shown = |bytes: &[u8]| format!("d {}", String::from_utf8_lossy(bytes).trim_end());
    let first = shown(&[&header[..], &rows[..10]].concat());
    let expected =
        ["H 1", &first, &shown(&rows[10..]), &shown(b"\xff\xff"), "c", "C COPY 2", "Z I"];
    assert_eq!(told, expected.join("\n"));
    me.request(|r| {
        r.query("copy t from stdin binary");
        r.copy_data(&[&header[..], b"\0\x01\0\0\0\x02\0\x07\xff\xff"].concat());
        r.copy_done();
    });
    let told = me.until_ready();
    assert!(told.starts_with("G 1\nERROR 08P01 insufficient data left in message"), "{told}");
}

/// node-postgres has no cancelling of its own; its users do it by SQL.
#[test]
fn sessions_are_cancelled_and_ended_by_sql() {
    let house = House::new();
    let (mut me, mut other) = (house.client(), house.client());
    let process = other.process;
    let signal = |function: &str| format!("select {function}({process})");
    other.request(|r| r.query("select pg_sleep(600)"));
    let other = std::thread::spawn(move || (other.until_ready(), other));
    // A request that comes before there is something to cancel does nothing.
    while !other.is_finished() {
        let told = me.query(&signal("pg_cancel_backend"));
        assert_eq!(told, "T pg_cancel_backend\nD t\nC SELECT 1\nZ I");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (told, mut other) = other.join().unwrap();
    let canceled = "ERROR 57014 canceling statement due to user request\nZ I";
    assert_eq!(told, format!("T pg_sleep\n{canceled}"));
    let told = me.query(&format!("select pg_terminate_backend({process}, 60000)"));
    assert_eq!(told, "T pg_terminate_backend\nD t\nC SELECT 1\nZ I");
    let goodbye = "FATAL 57P01 terminating connection due to administrator command";
    assert_eq!(other.next().unwrap(), goodbye);
    other.expect_end();
    assert_eq!(
        me.query(&signal("pg_terminate_backend")),
        format!(
            "T pg_terminate_backend\nD f\n\
             WARNING 01000 PID {process} is not a PostgreSQL server process\nC SELECT 1\nZ I"
        )
    );
}

/// psycopg shows notices; PostgreSQL's name no schema here.
#[test]
fn what_is_not_there_to_drop_is_named_without_its_schema() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        extended(r, "drop table if exists public.nosuch", &[], 0);
        r.sync();
    });
    assert_eq!(
        me.until_ready(),
        "1\n2\nn\nNOTICE 00000 table \"nosuch\" does not exist, skipping\nC DROP TABLE\nZ I"
    );
}

/// Drivers look a type up by the number that they are told, and send and take labels as they are, in binary form, too.
#[test]
fn enums_are_labels_in_both_forms() {
    let house = House::new();
    let mut me = house.client();
    me.query("create type mood as enum ('sad', 'ok'); create table felt (m mood, l mood[])");
    me.request(|r| {
        r.parse("put", "insert into felt values ($1, $2)", &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\nZ I");
    let told = me.query("select oid from pg_type where typname = 'mood' and typtype = 'e'");
    let one: u32 =
        told.lines().nth(1).and_then(|row| row.strip_prefix("D ")?.parse().ok()).unwrap();
    // One dimension, no nulls, the element's type; one element from 1 on.
    let list = [0, 0, 0, 1, 0, 0, 0, 0]
        .into_iter()
        .chain(one.to_be_bytes())
        .chain([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2])
        .chain(*b"ok")
        .collect::<Vec<u8>>();
    me.request(|r| {
        let formats = [Format::Binary];
        r.bind("", "put", &formats, &[Some(b"sad"), Some(&list)], &[]);
        r.execute(Execute { portal: "", rows_max: 0 });
        r.sync();
    });
    assert_eq!(me.until_ready(), "2\nC INSERT 0 1\nZ I");
    assert_eq!(me.query("select * from felt"), "T m,l\nD sad,{ok}\nC SELECT 1\nZ I");
    me.request(|r| binary(r, "select m, l = array['ok']::mood[] from felt"));
    assert_eq!(me.until_ready(), "1\n2\nD sad,\u{1}\nC SELECT 1\nZ I");
    me.request(|r| {
        r.bind("", "put", &[Format::Binary], &[Some(b"mad"), None], &[]);
        r.sync();
    });
    let told = me.until_ready();
    assert!(told.contains("ERROR 22P02 invalid input value for enum mood: \"mad\""), "{told}");
}
