//! The short way of statements about one row against the long way: the same results and errors.

use super::super::Session;
use super::{Bench, Recorder, run, shown};
use crate::session::{Client, Formats};

const TABLES: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b int, c bigint NOT NULL DEFAULT 7, d text, e date);
    CREATE TABLE u (a int, b int, v int CHECK (v < 50), w text NOT NULL, PRIMARY KEY (a, b));
    CREATE UNIQUE INDEX u_v ON u (v);
    CREATE TABLE s (id serial PRIMARY KEY, x smallint, y text DEFAULT 'y', z timestamptz DEFAULT now());
    CREATE INDEX s_y ON s (lower(y));
    CREATE TABLE h (k int, f char(20));
    CREATE TABLE q (a int PRIMARY KEY, b int, c text);
    CREATE INDEX q_hash ON q USING hash (a);
    INSERT INTO t VALUES (3, NULL, 1, NULL, NULL), (4, 1, 2, repeat('long', 20), '2020-02-29');
    ALTER TABLE t ADD COLUMN g int DEFAULT 5";

/// Statements, and how many parameters each has: key first, then a value.
const STATEMENTS: &[(&str, usize)] = &[
    ("INSERT INTO t (a, b, d) VALUES ($1, $2, 'x')", 2),
    ("INSERT INTO t (a, b, c) VALUES ($1, $2, NULL)", 2),
    ("INSERT INTO t (a, b, d) VALUES ($1, $2, 'y') RETURNING *, a + 1", 2),
    ("UPDATE t SET b = b + $2 WHERE a = $1", 2),
    ("UPDATE t SET c = c * $2, b = a WHERE a = $1", 2),
    ("UPDATE t SET b = $2, d = coalesce(d, '') || 'z' WHERE a = $1", 2),
    ("UPDATE t SET b = NULL, g = $2 WHERE a = $1", 2),
    ("UPDATE t SET c = b WHERE a = $1", 1),
    ("UPDATE t SET b = 2147483600 + $2 WHERE a = $1", 2),
    ("UPDATE t SET b = b + 1 WHERE a = $1 AND c > $2", 2),
    ("UPDATE t SET a = a + $2 WHERE a = $1", 2),
    ("UPDATE t SET b = 10 / ($2 - 5) WHERE a = $1 RETURNING t.*, ctid IS NULL", 2),
    ("DELETE FROM t WHERE a = $1", 1),
    ("DELETE FROM t WHERE a = $1 AND b IS NULL RETURNING a, d", 1),
    ("INSERT INTO u VALUES ($1, 1, $2, 'w')", 2),
    ("INSERT INTO u VALUES ($1, $2, 50, 'w')", 2),
    ("INSERT INTO u VALUES ($1, 2, 1, NULL)", 1),
    ("UPDATE u SET v = v + $2 WHERE a = $1 AND b = 1", 2),
    ("UPDATE u SET w = NULL WHERE a = $1 AND b = 1", 1),
    ("UPDATE u SET v = $2 WHERE b = 1 AND a = $1 RETURNING v", 2),
    ("DELETE FROM u WHERE a = $1 AND b = 1", 1),
    ("INSERT INTO s (x) VALUES ($1) RETURNING id, x, y", 1),
    ("INSERT INTO s (y, x) VALUES ('Q', $1::int + $2::int)", 2),
    ("UPDATE s SET y = 'r' || x WHERE id = $1", 1),
    ("UPDATE s SET x = x + 30000 WHERE id = $1", 1),
    ("INSERT INTO h VALUES ($1, 'h')", 1),
    ("INSERT INTO q VALUES ($1, $2, 'q')", 2),
    ("UPDATE q SET b = b + $2 WHERE a = $1", 2),
    ("UPDATE q SET a = a + $2, c = c || '.' WHERE a = $1 RETURNING *", 2),
    ("DELETE FROM q WHERE a = $1 AND b > $2 RETURNING b", 2),
    ("SELECT b, c FROM q WHERE a = $1", 1),
];

const CONTENTS: &[&str] = &[
    "SELECT * FROM t ORDER BY a",
    "SELECT * FROM u ORDER BY a, b",
    "SELECT id, x, y FROM s ORDER BY id",
    "SELECT a FROM t WHERE a = 3",
    "SELECT v FROM u WHERE v = 4",
    "SELECT id FROM s WHERE lower(y) = 'q' ORDER BY id",
    "SELECT k, f FROM h ORDER BY k",
    "SELECT * FROM q ORDER BY a",
    "SELECT c FROM q WHERE a = 3",
];

fn execute(session: &mut Session, name: &str, params: &[Option<&[u8]>]) -> String {
    let mut client = Recorder::default();
    let formats = Formats::default();
    let result = session.bind("", name, params, &formats, Formats::default()).and_then(|()| {
        let client: &mut dyn Client = &mut client;
        session.execute("", 0, client)
    });
    let result = match result {
        Ok(()) => session.sync(),
        Err(error) => {
            session.fail(&error);
            Err(error)
        }
    };
    if let Err(error) = result {
        client.out.push_str(&shown(&error));
    }
    client.out
}

#[test]
fn the_short_way_answers_as_the_long_way_does() {
    let (mut short, mut long) = (Bench::new(), Bench::new());
    long.session.detours = true;
    for bench in [&mut short, &mut long] {
        bench.run(TABLES);
        for change in ["UPDATE q SET b = 0 WHERE a = 1", "DELETE FROM q WHERE a = 1"] {
            let plan = bench.run(&format!("EXPLAIN {change}"));
            assert!(plan.contains("Index Scan using q_hash on q"), "{plan}");
        }
        for (i, (text, _)) in STATEMENTS.iter().enumerate() {
            bench.session.parse(&i.to_string(), text, &[]).unwrap();
            let is_short = bench.session.statements[&*i.to_string()].planned.as_ref();
            let is_short = is_short.is_some_and(|planned| planned.point.is_some());
            assert_eq!(is_short, !bench.session.detours, "{text}");
            bench.session.sync().unwrap();
        }
    }
    let mut random = 12_345_u64;
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..1500 {
        if round % 100 == 50 {
            let command = ["BEGIN", "COMMIT", "BEGIN", "ROLLBACK"][round / 100 % 4];
            assert_eq!(short.run(command), long.run(command));
        }
        let which = next(STATEMENTS.len() as u64) as usize;
        let (text, count) = STATEMENTS[which];
        let (key, value) = (next(12).to_string(), next(12).to_string());
        let key = if next(40) == 0 { None } else { Some(key.as_bytes()) };
        let value = if next(20) == 0 { None } else { Some(value.as_bytes()) };
        let params = &[key, value][..count];
        let answers = [&mut short, &mut long]
            .map(|bench| execute(&mut bench.session, &which.to_string(), params));
        assert_eq!(answers[0], answers[1], "{text} with {params:?} in round {round}");
        if round % 25 == 0 && round % 200 < 50 {
            for query in CONTENTS {
                assert_eq!(short.run(query), long.run(query), "{query} after round {round}");
            }
        }
    }
    for query in CONTENTS {
        assert_eq!(short.run(query), long.run(query), "{query}");
    }
}

#[test]
fn concurrent_updates_are_followed_and_none_is_lost() {
    const SESSIONS: usize = 4;
    const UPDATES: usize = 100;
    for index in ["", "CREATE INDEX t_hash ON t USING hash (a)"] {
        let mut bench = Bench::new();
        bench.run("CREATE TABLE t (a int PRIMARY KEY, b int, c int)");
        bench.run(index);
        bench.run("INSERT INTO t VALUES (1, 0, 0)");
        update_at_once(&bench, SESSIONS, UPDATES);
        assert_eq!(bench.run("SELECT b, c FROM t"), "[b|c]\n400|399\nSELECT 1\n");
    }
}

/// Some sessions add to one row, all at once.
fn update_at_once(bench: &Bench, sessions: usize, updates: usize) {
    std::thread::scope(|scope| {
        for _ in 0..sessions {
            let cluster = &bench.cluster;
            scope.spawn(move || {
                let mut session = Session::open(cluster, "postgres", "postgres").unwrap();
                for _ in 0..updates {
                    let sql = "UPDATE t SET b = b + 1, c = b WHERE a = 1 AND b >= 0";
                    assert_eq!(run(&mut session, sql), "UPDATE 1\n");
                }
            });
        }
    });
}

#[test]
fn repeatable_read_refuses_what_was_changed_meanwhile() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 0), (2, 0)");
    let mut other = bench.another();
    for (change, verb) in
        [("UPDATE t SET b = 5 WHERE a = 1", "update"), ("DELETE FROM t WHERE a = 2", "delete")]
    {
        for mine in ["UPDATE t SET b = b + 1", "DELETE FROM t"] {
            let key = if verb == "update" { 1 } else { 2 };
            bench.run("DELETE FROM t; INSERT INTO t VALUES (1, 0), (2, 0)");
            bench.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM t");
            run(&mut other, change);
            assert_eq!(
                bench.run(&format!("{mine} WHERE a = {key}")),
                format!("40001: could not serialize access due to concurrent {verb}\n")
            );
            bench.run("ROLLBACK");
        }
    }
}
