//! The same answers to random queries: outer joins, conditions that are constant, and values of several types that are
//! equal without being the same. What a query says comes from one seed ([`grammar`]); rows are made alike where it is
//! left open which of equal values is shown, and sorted.
//!
//! `THALWEG_QUERIES_SEED` and `THALWEG_QUERIES` choose other queries, and how many.

mod grammar;

use std::fmt::Write;

use grammar::Grammar;

use super::segments;
use super::servers::Server;

const SEED: u64 = 15;
const QUERIES: u64 = 400;

/// Small tables with nulls, and with values that are equal across types. `t0` and its kin have the same columns, and
/// different indexes; `b0` has so many rows that they are looked for one by one.
const TABLES: &str = "\
set timezone = 'America/New_York'; set jit = off; set extra_float_digits = 1;
create table t0 (i int, k bigint, n numeric, r real, f double precision, t text, c char(4), v varchar(5), m name, d date, s timestamp, z timestamptz);
insert into t0 values (1, 1, 1.00, 1, 1, 'a', 'a', 'a', 'a', '2024-01-01', '2024-01-01', '2024-01-01');
insert into t0 values (2, 3, 2.50, 0.5, 2.5, 'b', 'a', 'b ', 'b', '2024-01-02', '2024-01-02 12:00', '2024-01-02');
insert into t0 values (3, 2, 0, '-0', 0, '', '', ' ', 'a', '2024-03-10', '2024-03-10', '2024-03-10 05:00+00');
insert into t0 values (null, null, 'nan', 'nan', 'nan', 'a ', 'b', null, null, 'infinity', 'infinity', null);
insert into t0 values (2, null, null, 0.1, 0.1, null, null, 'a   ', 'c', null, null, 'infinity');
insert into t0 values (0, 0, 0.50, 2, '-0', 'B', 'B', 'B', '', '2024-01-01', '2024-01-01 05:00', '2024-01-01 05:00+00');
create table t1 as select k::int i, i::bigint k, n, f::real r, r::double precision f, v::text t, t::char(4) c, m::varchar(5) v, t::name m, s::date d, z::timestamp s, s::timestamptz z from t0;
create table t2 as select * from t0 where i is null or i > 1 union all select * from t0 where i = 1;
create table t3 as select * from t1 where false;
alter table t0 add id serial primary key; alter table t1 add id serial primary key; alter table t2 add id serial; alter table t3 add id serial;
create index on t0 (i); create index on t0 (c); create index on t0 (n); create index on t1 (v); create index on t1 (f, k); create index on t2 (k); create index on t2 (t);
create view w0 as select a.*, b.i bi, b.c bc from t0 a left join t1 b on a.i = b.k;
create table b0 as select g i, g::bigint k, g::numeric n, (g % 40)::real r, g::double precision f, g::text t, g::char(4) c, g::varchar(5) v, g::text::name m, '2024-01-01'::date + g d, '2024-01-01'::timestamp + g * interval '1 hour' s, '2024-01-01'::timestamptz + g * interval '1 hour' z from generate_series(1, 300) g;
alter table b0 add id serial primary key; create unique index on b0 (i); create index on b0 (t); create index on b0 (d);
analyze t0, t1, t2, b0;
";

const SETTINGS: [&str; 8] = [
    "set enable_hashjoin = off;",
    "set enable_nestloop = off;",
    "set enable_seqscan = off;",
    "set enable_material = off;",
    "set enable_indexscan = off;",
    "set enable_bitmapscan = off;",
    "set work_mem = '64kB';",
    "set enable_hashagg = off;",
];

#[test]
fn random_queries_find_what_postgresql_15_finds() {
    let Some(postgres) = Server::postgres("random-postgres") else {
        let required = std::env::var_os("THALWEG_REQUIRE_PG").is_some();
        assert!(!required, "PostgreSQL 15 is not installed (Debian: postgresql-15)");
        eprintln!("NOT COMPARED: PostgreSQL 15 is not installed");
        return;
    };
    let thalweg = Server::thalweg("random-thalweg");
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let (seed, queries) =
        (number("THALWEG_QUERIES_SEED", SEED), number("THALWEG_QUERIES", QUERIES));
    println!("THALWEG_QUERIES_SEED={seed}");
    let script = script(seed, queries);
    let path = std::env::temp_dir().join(format!("thalweg-queries-{}.sql", std::process::id()));
    std::fs::write(&path, &script).unwrap();
    let expected = segments::split(&script, &postgres.psql(&path));
    let actual = segments::split(&script, &thalweg.psql(&path));
    std::fs::remove_file(&path).unwrap();
    let lines: Vec<&str> = script.lines().collect();
    assert!(expected.len() as u64 >= queries, "PostgreSQL has answered {} only", expected.len());
    let (mut complaints, mut refused) = (Vec::new(), 0);
    for (line, expected) in &expected {
        refused += u64::from(expected.contains("ERROR:"));
        let actual = actual.get(line).map_or("(nothing: it ended early)", String::as_str);
        if expected != actual {
            let place = format!("seed {seed}, line {line}: {}", lines[line - 1]);
            complaints.push(segments::difference(&place, expected, actual));
        }
    }
    println!("{} statements compared, {refused} of them refused", expected.len());
    let (count, shown) = (complaints.len(), complaints.len().min(20));
    assert!(count == 0, "{count} differ:\n{}", complaints[..shown].join("\n"));
    assert!(refused * 10 <= queries, "too few queries have an answer");
}

fn script(seed: u64, queries: u64) -> String {
    let mut script = TABLES.to_owned();
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..queries {
        let setting = SETTINGS.get(random.usize(..SETTINGS.len() * 2));
        if let Some(setting) = setting {
            writeln!(script, "{setting}").unwrap();
        }
        writeln!(script, "{}", Grammar::new(&mut random).statement()).unwrap();
        if setting.is_some() {
            script.push_str("reset all; set timezone = 'America/New_York'; set jit = off;\n");
        }
    }
    script
}
