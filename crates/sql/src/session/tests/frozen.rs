//! COPY FREEZE: that it does what it is for, which nothing else would show.

use super::{Bench, Recorder, Session, run};

/// Copies three rows into the emptied table `t`.
fn copy(s: &mut Session, options: &str) {
    run(s, "BEGIN; TRUNCATE t");
    let mut client = Recorder { copy_input: b"1\n2\n3\n".to_vec(), ..Recorder::default() };
    s.simple_query(&format!("COPY t FROM stdin {options}"), &mut client).unwrap();
    assert_eq!(client.out, "COPY 3\n");
    assert_eq!(run(s, "COMMIT"), "COMMIT\n");
}

/// Frozen rows have no writer: all see them, also who looks with a snapshot from before they were copied, and their pages are
/// known to be visible to all. Other rows are seen by later snapshots alone.
#[test]
fn a_frozen_copy_is_visible_to_all_at_once_and_another_is_not() {
    let mut bench = Bench::new();
    let mut earlier = Session::open(&bench.cluster, "postgres", "postgres").unwrap();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (a int) WITH (autovacuum_enabled = off)");
    for (options, all_visible, seen) in [("", "f", 0), ("WITH (FREEZE)", "t", 3)] {
        run(&mut earlier, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class");
        copy(s, options);
        let later = run(s, "SELECT count(*) FROM t");
        assert_eq!(run(s, "ANALYZE t"), "ANALYZE\n");
        let pages = run(
            s,
            "SELECT relpages, relallvisible = relpages AS all_visible FROM pg_class WHERE relname = 't'",
        );
        let before = run(&mut earlier, "SELECT count(*) FROM t");
        // A transaction that is open while a test fails would end the process, and nobody would see why.
        run(&mut earlier, "COMMIT");
        assert_eq!(later, "[count]\n3\nSELECT 1\n", "{options}");
        let expected = format!("[relpages|all_visible]\n1|{all_visible}\nSELECT 1\n");
        assert_eq!(pages, expected, "{options}");
        assert_eq!(before, format!("[count]\n{seen}\nSELECT 1\n"), "{options}");
    }
}
