//! Roles and privileges: what others' changes mean to a session that works, and that nothing is open by itself.

use super::super::Session;
use super::{Bench, run};

/// A session of a role.
fn of(bench: &Bench, role: &str) -> Session {
    Session::open(&bench.cluster, "postgres", role).unwrap()
}

const MADE: &str = "CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; GRANT ALL ON SCHEMA public TO ann; \
                    CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 1), (2, 2)";

const REFUSED: &str = "42501: permission denied for table t\n";

#[test]
fn who_is_given_something_has_it_at_once_and_loses_it_at_once() {
    let mut bench = Bench::new();
    bench.run(MADE);
    let mut bob = of(&bench, "bob");
    // The short way, the long way, and a change, each as a text that is planned once.
    let texts =
        ["SELECT b FROM t WHERE a = 1", "SELECT count(*) FROM t", "UPDATE t SET b = 1 WHERE a = 1"];
    for _ in 0..3 {
        for text in texts {
            assert_eq!(run(&mut bob, text), REFUSED);
        }
        bench.run("GRANT SELECT, UPDATE ON t TO bob");
        assert_eq!(run(&mut bob, texts[0]), "[b]\n1\nSELECT 1\n");
        assert_eq!(run(&mut bob, texts[1]), "[count]\n2\nSELECT 1\n");
        assert_eq!(run(&mut bob, texts[2]), "UPDATE 1\n");
        bench.run("REVOKE SELECT, UPDATE ON t FROM bob");
    }
    for text in texts {
        assert_eq!(run(&mut bob, text), REFUSED);
    }
}

#[test]
fn memberships_and_attributes_count_from_their_commit_on() {
    let mut bench = Bench::new();
    bench.run(MADE);
    bench.run("GRANT SELECT ON t TO ann");
    let mut bob = of(&bench, "bob");
    let text = "SELECT b FROM t WHERE a = 1";
    let found = "[b]\n1\nSELECT 1\n";
    assert_eq!(run(&mut bob, text), REFUSED);
    bench.run("BEGIN; GRANT ann TO bob");
    assert_eq!(run(&mut bob, text), REFUSED);
    bench.run("COMMIT");
    assert_eq!(run(&mut bob, text), found);
    bench.run("ALTER ROLE bob NOINHERIT");
    assert_eq!(run(&mut bob, text), REFUSED);
    assert_eq!(run(&mut bob, "SET ROLE ann"), "SET\n");
    assert_eq!(run(&mut bob, text), found);
    assert_eq!(run(&mut bob, "RESET ROLE"), "RESET\n");
    bench.run("REVOKE ann FROM bob; ALTER ROLE bob SUPERUSER");
    assert_eq!(run(&mut bob, text), found);
    bench.run("ALTER ROLE bob NOSUPERUSER");
    assert_eq!(run(&mut bob, text), REFUSED);
}

#[test]
fn what_is_not_committed_is_nobody_elses() {
    let mut bench = Bench::new();
    bench.run(MADE);
    let mut bob = of(&bench, "bob");
    let text = "SELECT b FROM t WHERE a = 1";
    // Plans that were allowed within are for nobody else, and not for later.
    let within = bench
        .run(&format!("BEGIN; GRANT SELECT ON t TO bob; SET LOCAL ROLE bob; {text}; SAVEPOINT s"));
    assert!(within.contains("[b]\n1\n"), "{within}");
    assert_eq!(run(&mut bob, text), REFUSED);
    bench.run("ROLLBACK");
    assert_eq!(run(&mut bob, text), REFUSED);
    assert_eq!(
        bench.run(&format!("BEGIN; SET LOCAL ROLE bob; {text}")),
        format!("BEGIN\nSET\n{REFUSED}")
    );
    bench.run("ROLLBACK");
    // Back to a savepoint, what was given since is gone.
    let within = bench.run(&format!(
        "BEGIN; SAVEPOINT s; GRANT SELECT ON t TO bob; ROLLBACK TO s; SET LOCAL ROLE bob; {text}"
    ));
    assert!(within.ends_with(REFUSED), "{within}");
    bench.run("ROLLBACK");
}

#[test]
fn one_sessions_plan_is_not_anothers_permission() {
    let mut bench = Bench::new();
    bench.run(MADE);
    bench.run("GRANT SELECT ON t TO ann");
    let (mut ann, mut bob) = (of(&bench, "ann"), of(&bench, "bob"));
    let text = "SELECT b FROM t WHERE a = 2";
    for _ in 0..3 {
        assert_eq!(run(&mut ann, text), "[b]\n2\nSELECT 1\n");
        assert_eq!(run(&mut bob, text), REFUSED);
        assert_eq!(bench.run(text), "[b]\n2\nSELECT 1\n");
    }
    // A prepared statement is its session's, whoever works there.
    bench.run(&format!("PREPARE q AS {text}"));
    assert_eq!(bench.run("EXECUTE q"), "[b]\n2\nSELECT 1\n");
    bench.run("SET ROLE bob");
    assert_eq!(bench.run("EXECUTE q"), REFUSED);
    bench.run("RESET ROLE");
    assert_eq!(bench.run("EXECUTE q"), "[b]\n2\nSELECT 1\n");
}

/// What needs some right, of everything that there is.
const REFUSED_ALL: &[&str] = &[
    "SELECT * FROM t",
    "TABLE t",
    "SELECT 1 FROM t",
    "SELECT * FROM v",
    "SELECT * FROM s.u",
    "WITH x AS (SELECT * FROM t) SELECT 1",
    "SELECT (SELECT a FROM t LIMIT 1)",
    "SELECT 1 WHERE EXISTS (SELECT FROM t)",
    "SELECT 1 UNION SELECT a FROM t",
    "SELECT * FROM generate_series(1, 2) g, LATERAL (SELECT a FROM t WHERE a = g) x",
    "WITH RECURSIVE r AS (SELECT a FROM t UNION ALL SELECT a FROM r) SELECT 1",
    "INSERT INTO t VALUES (3)",
    "INSERT INTO t SELECT 3",
    "UPDATE t SET b = 1",
    "DELETE FROM t",
    "WITH x AS (INSERT INTO t VALUES (3) RETURNING a) SELECT 1",
    "TRUNCATE t",
    "COPY t TO STDOUT",
    "COPY t FROM STDIN",
    "COPY (SELECT * FROM t) TO STDOUT",
    "EXPLAIN SELECT * FROM t",
    "EXPLAIN ANALYZE SELECT * FROM t",
    "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM t",
    "CREATE TEMP TABLE x AS SELECT * FROM t",
    "CREATE TABLE x (a int)",
    "CREATE TABLE x AS SELECT 1",
    "SELECT 1 INTO x",
    "CREATE TEMP TABLE x (a int)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE SEQUENCE x",
    "CREATE TYPE x AS ENUM ('a')",
    "CREATE COLLATION x FROM \"C\"",
    "CREATE SCHEMA x",
    "CREATE INDEX ON t (b)",
    "CREATE INDEX CONCURRENTLY ON t (b)",
    "REINDEX TABLE t",
    "REINDEX INDEX i",
    "REINDEX SCHEMA public",
    "REINDEX DATABASE postgres",
    "REINDEX TABLE CONCURRENTLY t",
    "DROP TABLE t",
    "DROP VIEW v",
    "DROP INDEX i",
    "DROP INDEX CONCURRENTLY i",
    "DROP SEQUENCE q",
    "DROP TYPE e",
    "DROP COLLATION c",
    "DROP SCHEMA s",
    "DROP DATABASE other",
    "DROP ROLE ann",
    "ALTER TABLE t ADD c int",
    "ALTER TABLE t RENAME TO x",
    "ALTER TABLE t RENAME a TO x",
    "ALTER TABLE t OWNER TO bob",
    "ALTER VIEW v RENAME TO x",
    "ALTER SEQUENCE q RESTART",
    "ALTER SEQUENCE q OWNER TO bob",
    "ALTER INDEX i RENAME TO x",
    "ALTER TYPE e ADD VALUE 'y'",
    "ALTER TYPE e RENAME TO x",
    "ALTER TYPE e OWNER TO bob",
    "ALTER TYPE e SET SCHEMA s",
    "ALTER COLLATION c RENAME TO x",
    "ALTER COLLATION c OWNER TO bob",
    "ALTER COLLATION c REFRESH VERSION",
    "ALTER SCHEMA s RENAME TO x",
    "ALTER SCHEMA s OWNER TO bob",
    "ALTER DATABASE other RENAME TO x",
    "ALTER DATABASE other OWNER TO bob",
    "ALTER DATABASE other SET work_mem = '1MB'",
    "ALTER DATABASE other CONNECTION LIMIT 1",
    "ALTER ROLE ann LOGIN",
    "ALTER ROLE ann SET work_mem = '1MB'",
    "ALTER ROLE ann PASSWORD NULL",
    "ALTER ROLE bob CREATEDB",
    "ALTER ROLE bob SUPERUSER",
    "ALTER ROLE ALL SET work_mem = '1MB'",
    "CREATE ROLE x",
    "CREATE USER x",
    "CREATE DATABASE x",
    "CREATE EXTENSION amcheck",
    "COMMENT ON TABLE t IS 'x'",
    "COMMENT ON COLUMN t.a IS 'x'",
    "COMMENT ON SCHEMA s IS 'x'",
    "COMMENT ON TYPE e IS 'x'",
    "COMMENT ON COLLATION c IS 'x'",
    "COMMENT ON DATABASE other IS 'x'",
    "COMMENT ON ROLE ann IS 'x'",
    "COMMENT ON CONSTRAINT t_pkey ON t IS 'x'",
    "GRANT SELECT ON t TO bob",
    "REVOKE ALL ON t FROM ann",
    "GRANT USAGE ON SCHEMA s TO bob",
    "GRANT CREATE ON DATABASE other TO bob",
    "GRANT ann TO bob",
    "GRANT postgres TO bob",
    "REVOKE ann FROM bob",
    "SET ROLE ann",
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "SELECT set_config('role', 'postgres', false)",
    "ALTER DEFAULT PRIVILEGES FOR ROLE ann GRANT ALL ON TABLES TO bob",
    "DROP OWNED BY ann",
    "REASSIGN OWNED BY ann TO bob",
    "CHECKPOINT",
    "SELECT nextval('q')",
    "SELECT setval('q', 1)",
    "SELECT * FROM q",
    "SELECT rolpassword FROM pg_authid",
    "SELECT * FROM pg_shadow",
    "SELECT * FROM pg_statistic",
    "SELECT pg_reload_conf()",
    "SELECT pg_switch_wal()",
    "SELECT pg_stat_reset()",
    "SELECT bt_index_check('i'::regclass)",
    "SELECT * FROM pg_buffercache",
    "SELECT pg_prewarm('t')",
    "SELECT autoprewarm_dump_now()",
    "SELECT * FROM pg_ls_waldir()",
    "SET log_min_duration_statement = 1",
    "SELECT set_config('log_min_duration_statement', '1', false)",
    "SELECT pg_database_size('postgres') FROM t",
];

#[test]
fn a_role_without_rights_can_do_nothing() {
    let mut bench = Bench::new();
    bench.run(MADE);
    bench.run(
        "CREATE SCHEMA s; CREATE TABLE s.u (a int PRIMARY KEY); CREATE VIEW v AS SELECT * FROM t; \
         CREATE SEQUENCE q; CREATE TYPE e AS ENUM ('x'); CREATE INDEX i ON t (b); \
         CREATE COLLATION c FROM \"C\"; REVOKE ALL ON DATABASE postgres FROM PUBLIC; \
         GRANT CONNECT ON DATABASE postgres TO bob",
    );
    bench.run("CREATE DATABASE other");
    bench.run("REVOKE ALL ON DATABASE other FROM PUBLIC");
    let mut bob = of(&bench, "bob");
    for sql in REFUSED_ALL {
        let said = run(&mut bob, sql);
        // After a row description, where it is a function that refuses.
        let refused = said.lines().any(|line| line.starts_with("42501: "));
        assert!(refused, "{sql}: {said}");
    }
    assert!(run(&mut bob, "BEGIN; LOCK TABLE t").contains("42501"));
    run(&mut bob, "ROLLBACK");
    let said = run(&mut bob, "VACUUM t");
    assert!(
        said.contains("WARNING: skipping \"t\" --- only table or database owner can vacuum it")
    );
    // What everybody may.
    for sql in [
        "SELECT 1",
        "SELECT count(*) > 0 FROM pg_class",
        "SELECT now() IS NULL",
        "SET work_mem = '1MB'",
    ] {
        let said = run(&mut bob, sql);
        assert!(!said.contains("42501"), "{sql}: {said}");
    }
    assert_eq!(bench.run("SELECT * FROM t ORDER BY a"), "[a|b]\n1|1\n2|2\nSELECT 2\n");
}

#[test]
fn who_may_connect() {
    let mut bench = Bench::new();
    bench.run("CREATE ROLE ann; CREATE ROLE bob LOGIN CONNECTION LIMIT 1");
    bench.run("CREATE DATABASE other");
    let open = |bench: &Bench, database: &str, role: &str| match Session::open(
        &bench.cluster,
        database,
        role,
    ) {
        Ok(_) => "let in".to_owned(),
        Err(error) => super::shown(&error),
    };
    assert_eq!(open(&bench, "postgres", "ann"), "28000: role \"ann\" is not permitted to log in\n");
    assert_eq!(open(&bench, "postgres", "nobody"), "28000: role \"nobody\" does not exist\n");
    assert_eq!(open(&bench, "other", "bob"), "let in");
    bench.run("REVOKE CONNECT ON DATABASE other FROM PUBLIC");
    assert_eq!(
        open(&bench, "other", "bob"),
        "42501: permission denied for database \"other\"\nDETAIL: User does not have CONNECT privilege.\n"
    );
    assert_eq!(open(&bench, "other", "postgres"), "let in");
    let _one = of(&bench, "bob");
    assert_eq!(open(&bench, "postgres", "bob"), "53300: too many connections for role \"bob\"\n");
}

#[test]
fn a_role_begins_with_its_settings() {
    let mut bench = Bench::new();
    bench.run(
        "CREATE ROLE ann LOGIN; CREATE ROLE team; GRANT team TO ann; \
         ALTER ROLE ann SET work_mem = '2MB'; ALTER ROLE ann SET role = team; \
         ALTER DATABASE postgres SET work_mem = '1MB'; ALTER DATABASE postgres SET search_path = x; \
         ALTER ROLE ann IN DATABASE postgres SET statement_timeout = 7",
    );
    let mut ann = of(&bench, "ann");
    let shown = "SELECT current_setting('work_mem'), current_setting('search_path'), \
                 current_setting('statement_timeout'), current_user, session_user";
    let told = "2MB|x|7ms|team|ann\nSELECT 1\n";
    assert!(run(&mut ann, shown).ends_with(told), "{}", run(&mut ann, shown));
    // RESET goes back to these.
    run(&mut ann, "SET work_mem = '5MB'; RESET ALL; SET ROLE ann; RESET ROLE");
    assert!(run(&mut ann, shown).ends_with(told), "{}", run(&mut ann, shown));
}

#[test]
fn the_client_is_told_who_works() {
    let mut bench = Bench::new();
    bench.run("CREATE ROLE ann");
    bench.session.rest();
    bench.run("SET ROLE ann");
    assert_eq!(bench.session.rest(), [("is_superuser", "off".to_owned())]);
    bench.run("RESET ROLE");
    assert_eq!(bench.session.rest(), [("is_superuser", "on".to_owned())]);
    bench.run("SET SESSION AUTHORIZATION ann");
    let told = bench.session.rest();
    assert_eq!(
        told,
        [("is_superuser", "off".to_owned()), ("session_authorization", "ann".to_owned())]
    );
    bench.run("BEGIN; SET SESSION AUTHORIZATION DEFAULT; ROLLBACK");
    assert_eq!(bench.session.rest(), []);
}

#[test]
fn roles_of_other_databases_are_kept() {
    let mut bench = Bench::new();
    bench.run("CREATE ROLE ann");
    bench.run("CREATE DATABASE other");
    let made = super::databases::on(
        &bench.cluster,
        "other",
        "CREATE TABLE t (a int); ALTER TABLE t OWNER TO ann",
    );
    assert_eq!(made, "CREATE TABLE\nALTER TABLE\n");
    assert_eq!(
        bench.run("DROP ROLE ann"),
        "2BP01: role \"ann\" cannot be dropped because some objects depend on it\n\
         DETAIL: 1 object in database other\n"
    );
    super::databases::on(&bench.cluster, "other", "DROP TABLE t");
    assert_eq!(bench.run("DROP ROLE ann"), "DROP ROLE\n");
}

/// Both change what `pg_class` says of the table, and neither is lost.
#[test]
fn granting_and_counting_wait_for_each_other() {
    let analyzed = ("ANALYZE t", "ANALYZE\n");
    let given = ("GRANT SELECT, UPDATE (b) ON t TO bob", "GRANT\n");
    let taken = ("REVOKE INSERT ON t FROM ann", "REVOKE\n");
    for end in ["COMMIT", "ROLLBACK"] {
        second_waits(given, analyzed, end);
        second_waits(analyzed, given, end);
        second_waits(given, ("VACUUM ANALYZE t", "VACUUM\n"), end);
        second_waits(("CREATE INDEX u ON t (b)", "CREATE INDEX\n"), given, end);
        second_waits(given, taken, end);
        second_waits(analyzed, ("DROP OWNED BY ann", "DROP OWNED\n"), end);
    }
}

#[test]
fn what_is_taken_is_taken_of_columns_that_were_given_meanwhile() {
    let mut bench = Bench::new();
    bench.run(MADE);
    bench.run("GRANT INSERT ON t TO bob");
    let (given, taken) =
        (("GRANT SELECT (b) ON t TO bob", "GRANT\n"), ("REVOKE ALL ON t FROM bob", "REVOKE\n"));
    wait_for(&mut bench, given, taken, "COMMIT");
    let left = "SELECT has_column_privilege('bob', 't', 'b', 'SELECT')";
    assert_eq!(bench.run(left), "[has_column_privilege]\nf\nSELECT 1\n");
}

/// Runs one in a transaction, the other meanwhile, and looks at what has come of both.
fn second_waits(first: (&str, &str), second: (&str, &str), end: &str) {
    let mut bench = Bench::new();
    bench.run(MADE);
    bench.run("GRANT INSERT ON t TO ann");
    wait_for(&mut bench, first, second, end);
    let happened =
        |what: &str| second.0.contains(what) || (end == "COMMIT" && first.0.contains(what));
    let seen = bench.run(
        "SELECT has_table_privilege('bob', 't', 'SELECT'), has_column_privilege('bob', 't', 'b', 'UPDATE'), \
         has_table_privilege('ann', 't', 'INSERT'), reltuples = 2, \
         (SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass) FROM pg_class WHERE relname = 't'",
    );
    let letter = |is_so: bool| if is_so { 't' } else { 'f' };
    let taken = happened("REVOKE") || happened("DROP OWNED");
    let (given, taken) = (letter(happened("GRANT")), letter(!taken));
    let counted = letter(happened("ANALYZE") || happened("INDEX"));
    let indexes = 1 + usize::from(happened("INDEX"));
    let row = format!("\n{given}|{given}|{taken}|{counted}|{indexes}\n");
    assert!(seen.contains(&row), "{} after {}, {end}: {seen}, not {row}", second.0, first.0);
}

/// Runs one in a transaction, and the other meanwhile, which waits for the end of that.
fn wait_for(bench: &mut Bench, first: (&str, &str), second: (&str, &str), end: &str) {
    let (mut other, mut watcher) = (bench.another(), bench.another());
    bench.run("BEGIN");
    assert_eq!(bench.run(first.0), first.1);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&mut other, second.0));
        super::vacuum::wait_until(
            &mut watcher,
            "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')",
        );
        assert_eq!(bench.run(end), format!("{end}\n"));
        assert_eq!(waiting.join().unwrap(), second.1, "{} after {}", second.0, first.0);
    });
}
