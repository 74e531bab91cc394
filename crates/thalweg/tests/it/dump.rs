//! PostgreSQL 15's pg_dump and pg_restore: what is dumped here is there again once it is restored here.

use super::running::{Running, has_clients};

/// Everything that a table's rows are, in one number.
const FIGURES: &str = "select (select sum(aid::numeric * 7 + bid * 3 + abalance) from pgbench_accounts), \
     (select sum(bid + bbalance) from pgbench_branches), \
     (select sum(tid + bid + tbalance) from pgbench_tellers), \
     (select count(*) || ' ' || sum(tid + bid + aid + delta) || ' ' || max(mtime) from pgbench_history)";

const SHAPES: &str = "select string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' order by conname) \
     from pg_constraint";

fn psql(server: &Running, database: &str, arguments: &[&str]) -> String {
    let to = ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database];
    server.done("psql", &[&to, arguments].concat()).trim_end().to_owned()
}

#[test]
fn pgbench_tables_come_back_from_a_dump() {
    if !has_clients() {
        return;
    }
    let server = Running::start("dump-pgbench");
    server.done("pgbench", &["-i", "-q", "--foreign-keys"]);
    server.done("pgbench", &["-n", "-c", "2", "-t", "20"]);
    let home = server.data();
    let home = home.parent().unwrap().to_str().unwrap().to_owned();
    let (plain, custom) = (format!("{home}/plain.sql"), format!("{home}/custom.dump"));
    server.done("pg_dump", &["-f", &plain]);
    server.done("pg_dump", &["-Fc", "-f", &custom]);
    let all = [server.ask(FIGURES), server.ask(SHAPES)];
    server.ask("create database plain");
    psql(&server, "plain", &["-f", &plain]);
    server.ask("create database custom");
    server.done("pg_restore", &["-e", "-d", "custom", &custom]);
    for database in ["plain", "custom"] {
        let restored = [FIGURES, SHAPES].map(|query| psql(&server, database, &["-c", query]));
        assert_eq!(restored, all, "{database}");
    }
    // What was restored is dumped the same.
    let schema = |database: &str| {
        let text = server.done("pg_dump", &["-s", "-d", database]);
        let told = text.lines().filter(|line| !line.starts_with("\\"));
        told.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(schema("plain"), schema("postgres"));
    assert_eq!(schema("custom"), schema("postgres"));
}

#[test]
fn several_connections_dump_one_moment() {
    if !has_clients() {
        return;
    }
    let server = Running::start("dump-parallel");
    server.done("pgbench", &["-i", "-q", "-s", "2"]);
    let dump = server.data().parent().unwrap().join("dump").to_str().unwrap().to_owned();
    let mut load = server.beside("pgbench", &["-n", "-c", "4", "-T", "120"]);
    while server.ask("select count(*) > 100 from pgbench_history") != "t" {}
    server.done("pg_dump", &["-Fd", "-j", "3", "-f", &dump]);
    assert!(load.try_wait().unwrap().is_none(), "it went on meanwhile");
    load.kill().unwrap();
    load.wait().unwrap();
    server.ask("create database restored");
    server.done("pg_restore", &["-e", "-j", "3", "-d", "restored", &dump]);
    // Each transaction adds the same to all four.
    let sums = "select (select sum(abalance) from pgbench_accounts), (select sum(bbalance) from pgbench_branches), \
         (select sum(tbalance) from pgbench_tellers), (select sum(delta) from pgbench_history), \
         (select count(*) > 100 from pgbench_history)";
    let found = psql(&server, "restored", &["-c", sums]);
    let sums: Vec<&str> = found.split('|').collect();
    assert_eq!(sums, [sums[0], sums[0], sums[0], sums[0], "t"]);
}

#[test]
fn a_schema_of_every_kind_comes_back_from_a_dump() {
    if !has_clients() {
        return;
    }
    let server = Running::start("dump-kinds");
    server.ask(
        "create schema other; \
         create table zz (id serial primary key, name varchar(20) not null default 'n' unique, \
           amount numeric(8,2) check (amount > 0), at timestamptz default now()); \
         create table aa (id int generated always as identity (start 5 increment 3) primary key, \
           r int references zz on delete cascade, g int generated always as (r * 2) stored); \
         create index aa_r on aa (r desc nulls last) where r > 3; \
         create view above as select zz.name, aa.r from zz join aa on zz.id = aa.r; \
         create view aaa as select name from above; \
         create sequence other.counter start 5 increment 3; \
         create table other.counted (a int default nextval('other.counter')); \
         create type mood as enum ('so so', 'it''s', 'ok'); \
         alter type mood add value 'odd' before 'ok'; alter type mood rename value 'ok' to 'good'; \
         create type other.side as enum ('left', 'right'); comment on type mood is 'how it is'; \
         create table felt (m mood default 'odd', l mood[] default '{good,it''s}', \
           s other.side not null default 'left', check (m < 'good' or s = 'right')); \
         create index felt_m on felt (m) where m <> 'so so'; \
         create view mine as select m, 'left'::other.side as s from felt where m >= 'odd'; \
         create unlogged table loose (a int, b text collate \"de-x-icu\") with (fillfactor = 70); \
         comment on table zz is 'what''s sold'; comment on column zz.name is 'named'; \
         insert into zz (name, amount) values ('a', 1), (E'tab\\tand\\nline\\\\', null); \
         insert into aa (r) values (1), (2); \
         insert into felt default values; insert into felt values ('it''s', null, 'right'); \
         insert into other.counted default values; insert into loose values (1, null), (2, '\\N')",
    );
    let dump = |database: &str| {
        let text = server.done("pg_dump", &["-d", database]);
        let told = text.lines().filter(|line| !line.starts_with("\\restrict"));
        told.filter(|line| !line.starts_with("\\unrestrict")).collect::<Vec<_>>().join("\n")
    };
    let first = dump("postgres");
    let file = server.data().parent().unwrap().join("dump.sql");
    std::fs::write(&file, &first).unwrap();
    server.ask("create database copy");
    psql(&server, "copy", &["-f", file.to_str().unwrap()]);
    assert_eq!(dump("copy"), first);
    for (insert, value) in [
        ("insert into zz (name) values ('c') returning id", "3"),
        ("insert into aa (r) values (3) returning id", "11"),
        ("insert into other.counted default values returning a", "8"),
        ("insert into felt (m) values ('it''s') returning *", "it's|{good,it's}|left"),
    ] {
        assert_eq!(psql(&server, "copy", &["-c", insert]), value);
    }
}

#[test]
fn roles_owners_and_privileges_come_back_from_dumps() {
    if !has_clients() {
        return;
    }
    let server = Running::start("dump-roles");
    server.ask(
        "create role ann login createdb; create role bob valid until '2040-01-01' connection limit 3; \
         create role team; grant team to ann with admin option; grant team to bob; \
         alter role ann set work_mem = '1MB'; comment on role team is 'all of them'; \
         create schema work authorization ann; grant usage on schema work to team; \
         create table work.t (a int primary key, b text); alter table work.t owner to ann; \
         create sequence work.s; create view work.v as select a from work.t; \
         alter view work.v owner to bob; create type work.e as enum ('x'); \
         alter type work.e owner to bob; revoke usage on type work.e from public; \
         grant select, insert on work.t to team with grant option; grant update (b) on work.t to bob; \
         set role ann; grant select on work.t to public; reset role; \
         grant usage on sequence work.s to bob; grant execute on function pg_reload_conf() to ann; \
         revoke create on database postgres from public; \
         alter default privileges for role ann in schema work grant select on tables to team; \
         alter default privileges for role ann revoke usage on types from public; \
         create table work.u (a serial)",
    );
    let lines = |text: String| {
        let told = text.lines().filter(|line| !line.starts_with("\\restrict"));
        told.filter(|line| !line.starts_with("\\unrestrict")).collect::<Vec<_>>().join("\n")
    };
    let first = lines(server.done("pg_dump", &["-d", "postgres"]));
    for said in [
        "ALTER TABLE work.t OWNER TO ann;",
        "GRANT SELECT,INSERT ON TABLE work.t TO team WITH GRANT OPTION;",
        "GRANT SELECT ON TABLE work.t TO PUBLIC;",
        "GRANT UPDATE(b) ON TABLE work.t TO bob;",
        "REVOKE ALL ON TYPE work.e FROM PUBLIC;",
        "ALTER DEFAULT PRIVILEGES FOR ROLE ann IN SCHEMA work GRANT SELECT ON TABLES  TO team;",
    ] {
        assert!(first.contains(said), "{said} in {first}");
    }
    let file = server.data().parent().unwrap().join("dump.sql");
    std::fs::write(&file, &first).unwrap();
    server.ask("create database copy");
    psql(&server, "copy", &["-f", file.to_str().unwrap()]);
    assert_eq!(lines(server.done("pg_dump", &["-d", "copy"])), first);
    // What pg_dumpall says of roles makes the same in another directory.
    let roles = lines(server.done("pg_dumpall", &["--roles-only"]));
    let other = Running::start("dump-roles-other");
    let file = other.data().parent().unwrap().join("roles.sql");
    let statements: Vec<&str> = roles.lines().filter(|line| !line.contains("ROLE me")).collect();
    std::fs::write(&file, statements.join("\n")).unwrap();
    psql(&other, "postgres", &["-f", file.to_str().unwrap()]);
    assert_eq!(lines(other.done("pg_dumpall", &["--roles-only"])), roles);
}

#[test]
fn who_owns_a_database_dumps_and_restores_it() {
    if !has_clients() {
        return;
    }
    let server = Running::start("dump-owner");
    server.ask("create role ann login createdb");
    server.ask("create database hers owner ann");
    server.ask("create database copy owner ann");
    let by_ann = |database: &str, arguments: &[&str]| {
        psql(&server, database, &[&["-U", "ann"], arguments].concat())
    };
    by_ann(
        "hers",
        &[
            "-c",
            "create schema work; create table work.t (a serial primary key, b text); \
             create view work.v as select a from work.t; create type work.e as enum ('x', 'y'); \
             create index on work.t (b); grant select on work.v to public; \
             insert into work.t (b) values ('one'), ('two')",
        ],
    );
    let dump = |database: &str| {
        let text = server.done("pg_dump", &["-U", "ann", "-d", database]);
        let told = text.lines().filter(|line| !line.starts_with("\\restrict"));
        told.filter(|line| !line.starts_with("\\unrestrict")).collect::<Vec<_>>().join("\n")
    };
    let first = dump("hers");
    assert!(first.contains("GRANT SELECT ON TABLE work.v TO PUBLIC;"), "{first}");
    let file = server.data().parent().unwrap().join("dump.sql");
    std::fs::write(&file, &first).unwrap();
    by_ann("copy", &["-f", file.to_str().unwrap()]);
    assert_eq!(dump("copy"), first);
    assert_eq!(by_ann("copy", &["-c", "select count(*), max(b) from work.t"]), "2|two");
}

#[test]
fn materialized_views_come_back_from_dumps() {
    if !has_clients() {
        return;
    }
    let server = Running::start("dump-matviews");
    // By name, and by age once views are in between, each would be refreshed before what it is made of.
    server.ask(
        "create role ann; create schema other; \
         create table t (id int primary key, g text); insert into t values (1, 'a'), (2, 'a'), (3, 'b'); \
         create materialized view zz as select g, count(*) from t group by g; \
         create view between as select g from zz; \
         create materialized view aa (name, twice) with (fillfactor = 70) as select g, g || g from between order by g; \
         create materialized view other.none as select * from t with no data; \
         create unique index aa_name on aa (name); create index zz_count on zz (count desc); \
         create materialized view other.ranked as select row_number() over (order by name) as n, name from aa; \
         alter materialized view aa rename column twice to doubled; \
         alter materialized view aa alter name set statistics 7; \
         create view last (a, b) as select doubled, 1 from aa; \
         create view keyed as select id, g, count(*) from t group by id; \
         create materialized view by_key as select id, g from t group by id; \
         create view past as select by_key.g from by_key join keyed using (id); \
         comment on materialized view aa is 'some'; comment on column aa.name is 'what''s named'; \
         grant select on zz to ann; grant select on t to ann; grant create on schema other to ann; \
         alter materialized view other.none owner to ann",
    );
    let dump = |database: &str| {
        let text = server.done("pg_dump", &["-d", database]);
        let told = text.lines().filter(|line| !line.starts_with("\\restrict"));
        told.filter(|line| !line.starts_with("\\unrestrict")).collect::<Vec<_>>().join("\n")
    };
    let first = dump("postgres");
    let refreshed = first.lines().filter(|line| line.starts_with("REFRESH")).collect::<Vec<_>>();
    let wanted = ["public.zz", "public.aa", "other.ranked", "public.by_key"];
    assert_eq!(refreshed, wanted.map(|view| format!("REFRESH MATERIALIZED VIEW {view};")));
    let file = server.data().parent().unwrap().join("dump.sql");
    std::fs::write(&file, &first).unwrap();
    let custom = server.data().parent().unwrap().join("dump.custom").to_str().unwrap().to_owned();
    server.done("pg_dump", &["-Fc", "-f", &custom]);
    server.ask("create database copy");
    psql(&server, "copy", &["-f", file.to_str().unwrap()]);
    server.ask("create database restored");
    server.done("pg_restore", &["-e", "-j", "2", "-d", "restored", &custom]);
    for database in ["copy", "restored"] {
        assert_eq!(dump(database), first, "{database}");
        for (query, rows) in [
            ("select * from aa order by name", "a|aa\nb|bb"),
            ("select * from last order by a", "aa|1\nbb|1"),
            ("select * from other.ranked order by n", "1|a\n2|b"),
            ("select * from zz order by g", "a|2\nb|1"),
            ("select * from past order by g", "a\na\nb"),
            (
                "select matviewname, matviewowner, ispopulated from pg_matviews order by 1",
                "aa|me|t\nby_key|me|t\nnone|ann|f\nranked|me|t\nzz|me|t",
            ),
        ] {
            assert_eq!(psql(&server, database, &["-c", query]), rows, "{database}: {query}");
        }
    }
}
