//! Enums: who uses one beside its drop, stored expressions under other names, and what a restart finds.

use super::{Bench, run};

const TIMED_OUT: &str = "canceling statement due to lock timeout";

#[test]
fn a_type_is_not_dropped_while_a_column_of_it_is_made() {
    for make in [
        "CREATE TABLE u (f free)",
        "CREATE TABLE u AS SELECT 'x'::free AS f",
        "ALTER TABLE t ADD COLUMN f free[]",
    ] {
        let mut bench = Bench::new();
        bench.run(
            "CREATE TYPE free AS ENUM ('x'); CREATE TABLE t (a int); SET lock_timeout = '20ms'",
        );
        let mut other = bench.another();
        run(&mut other, "SET lock_timeout = '20ms'");
        run(&mut other, &format!("BEGIN; {make}"));
        assert!(bench.run("DROP TYPE free").contains(TIMED_OUT), "{make}");
        run(&mut other, "COMMIT");
        let told = bench.run("DROP TYPE free");
        assert!(
            told.contains("cannot drop type free because other objects depend on it"),
            "{told}"
        );

        bench.run("DROP TABLE IF EXISTS u, t; CREATE TABLE t (a int)");
        bench.run("BEGIN; DROP TYPE free");
        let told = run(&mut other, make);
        assert!(told.contains(TIMED_OUT) || make.contains("SELECT"), "{make}: {told}");
        bench.run("COMMIT");
        let told = run(&mut other, make);
        assert!(told.contains("type \"free") && told.contains("does not exist"), "{make}: {told}");
    }
}

#[test]
fn stored_expressions_outlive_names() {
    let mut bench = Bench::new();
    bench.run("CREATE TYPE side AS ENUM ('left', 'right')");
    bench.run(
        "CREATE TABLE t (a int, s side DEFAULT 'left', l side[] DEFAULT '{right,left}', \
           g boolean GENERATED ALWAYS AS (s = 'right') STORED, CHECK (s IN ('left', 'right') OR a > 5)); \
         CREATE INDEX t_right ON t (a) WHERE s = 'right'; CREATE INDEX ON t ((s = 'left'))",
    );
    bench.run("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2, 'right')");
    bench
        .run("ALTER TYPE side RENAME VALUE 'left' TO 'it''s port'; ALTER TYPE side RENAME TO ship");
    bench.run(
        "CREATE SCHEMA other; ALTER TYPE ship SET SCHEMA other; CREATE TYPE side AS ENUM ('left')",
    );
    let mut bench = bench.restarted();
    assert_eq!(
        bench.run("INSERT INTO t VALUES (3) RETURNING s, l, g"),
        "[s|l|g]\nit's port|{right,\"it's port\"}|f\nINSERT 0 1\n"
    );
    let told = bench.run("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY adnum");
    assert_eq!(
        told,
        "[pg_get_expr]\n'it''s port'::other.ship\n'{right,\"it''s port\"}'::other.ship[]\n\
         (s = 'right'::other.ship)\nSELECT 3\n"
    );
    bench.run("SET search_path = other; SET enable_seqscan = off");
    let told = bench.run("SELECT a FROM public.t WHERE s = 'right' AND a > 0");
    assert_eq!(told, "[a]\n2\nSELECT 1\n");
    bench.run("RESET search_path");
    bench.run("ALTER TYPE other.ship ADD VALUE 'stern'");
    let told = bench.run("INSERT INTO t VALUES (4, 'stern')");
    assert!(told.contains("violates check constraint"), "{told}");
    let told = bench.run("DROP TYPE other.ship");
    assert!(
        told.contains("cannot drop type other.ship because other objects depend on it"),
        "{told}"
    );
}

#[test]
fn a_label_is_there_once() {
    let mut bench = Bench::new();
    let told = bench.run("CREATE TYPE t AS ENUM ('a', 'b', 'a')");
    assert!(told.starts_with("23505: duplicate key value violates unique constraint"), "{told}");
}

#[test]
fn nobody_makes_the_schema_by_which_expressions_name_enums() {
    let mut bench = Bench::new();
    let told = bench.run("CREATE SCHEMA pg_oid");
    assert!(told.contains("unacceptable schema name \"pg_oid\""), "{told}");
    let told = bench.run("SELECT 'x'::pg_oid.\"1073741824\"");
    assert!(told.contains("does not exist"), "{told}");
    bench.run("CREATE TYPE side AS ENUM ('left')");
    let told = bench.run(r"SELECT E'\u0001'::side, E'\u00011'::side");
    assert!(told.contains("invalid input value for enum side"), "{told}");
    let told = bench.run(r"ALTER TYPE side ADD VALUE E'\u0001x'");
    assert!(told.contains("invalid enum label"), "{told}");
}

#[test]
fn labels_come_between_others_until_there_is_no_room() {
    let mut bench = Bench::new();
    bench.run("CREATE TYPE t AS ENUM ('a', 'z')");
    let mut added = 0;
    let told = loop {
        let told = bench.run(&format!("ALTER TYPE t ADD VALUE 'b{added:03}' BEFORE 'z'"));
        if told != "ALTER TYPE\n" {
            break told;
        }
        added += 1;
    };
    assert!(added >= 30 && told.contains("no room for another label"), "{added}: {told}");
    let told = bench.run("SELECT array_agg(l) = array_agg(l ORDER BY l::text), count(*) FROM unnest(enum_range(NULL::t)) l");
    assert_eq!(told, format!("[?column?|count]\nt|{}\nSELECT 1\n", added + 2));
    assert_eq!(
        bench.run("ALTER TYPE t ADD VALUE 'zz'; ALTER TYPE t ADD VALUE '_' BEFORE 'a'"),
        "ALTER TYPE\nALTER TYPE\n"
    );
}

#[test]
fn what_views_spell_keeps_its_name() {
    for (view, refused) in [
        ("SELECT '{ok,sad}'::mood[] AS l", true),
        ("SELECT E'o\\x6b'::mood AS m", true),
        ("SELECT 'sad'::mood AS m", false),
    ] {
        let mut bench = Bench::new();
        bench.run("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad', 'ok'); SET search_path = s, public");
        let told = bench.run(&format!("CREATE VIEW public.v AS {view}"));
        assert_eq!(told, "CREATE VIEW\n");
        let before = bench.run("SELECT * FROM public.v");
        let told = bench.run("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'");
        assert_eq!(told.contains("changing what a view is made of"), refused, "{view}: {told}");
        let told = bench.run("ALTER SCHEMA s RENAME TO r");
        assert!(told.contains("changing what a view is made of"), "{told}");
        assert_eq!(bench.run("SELECT * FROM public.v"), before);
    }
}

#[test]
fn names_of_array_types_come_to_an_end() {
    let mut bench = Bench::new();
    for count in 1..=63 {
        let last = if count < 63 { "a" } else { "" };
        bench.run(&format!("CREATE TABLE {}{last} (a int)", "_".repeat(count)));
    }
    let told = bench.run("CREATE TYPE a AS ENUM ()");
    assert!(told.contains("could not form array type name for type \"a\""), "{told}");
}
