//! Large values beside their rows: read when asked for, left where they are, gone when their rows are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::{Fork, Tid};
use storage::heap::{Freeze, Outcome};
use storage::txn::Isolation;

use super::{Bench, run};
use crate::catalog::TableDef;
use crate::session::Session;
use crate::toast;

/// A text of so many digests, which does not compress.
fn digests(seed: &str, count: u32) -> String {
    format!("(SELECT string_agg(md5({seed} || ' ' || i), '') FROM generate_series(1, {count}) i)")
}

fn table(s: &Session) -> Arc<TableDef> {
    let backend = &s.backend;
    backend.txn.begin(Isolation::ReadCommitted);
    let (catalog, txn) = (&backend.catalog, &backend.txn);
    let public = catalog.schema(txn, "public").unwrap().unwrap();
    let table = catalog.relation_oid(txn, public, "t").unwrap().unwrap();
    let table = catalog.table(txn, table).unwrap().unwrap();
    backend.instance.store.heap(&table).unwrap();
    backend.txn.abort();
    table
}

fn faults(s: &Session) -> Vec<String> {
    let mut faults = Vec::new();
    toast::check(&s.backend.instance.store, &table(s), &mut faults).unwrap();
    faults
}

/// A figure about the pieces.
fn of_pieces(s: &mut Session, figure: &str) -> u64 {
    let sql =
        format!("SELECT pg_stat_get_{figure}(reltoastrelid) FROM pg_class WHERE relname = 't'");
    let out = run(s, &sql);
    out.lines().nth(1).and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("{out}"))
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (id int PRIMARY KEY, n int, body text)");
    let made = bench.run(&format!(
        "INSERT INTO t SELECT g, 0, {} FROM generate_series(1, 20) g",
        digests("g", 400)
    ));
    assert_eq!(made, "INSERT 0 20\n");
    bench
}

#[test]
fn what_is_not_asked_for_is_not_read_and_what_is_left_alone_stays() {
    let mut bench = bench();
    let s = &mut bench.session;
    // 12,800 bytes each: seven pieces and their list.
    assert_eq!(of_pieces(s, "tuples_inserted"), 20 * 8);
    let before = of_pieces(s, "blocks_hit");
    assert!(run(s, "SELECT count(*), sum(n), max(id) FROM t WHERE n >= 0").contains("20|0|20"));
    assert!(run(s, "UPDATE t SET n = n + 1").ends_with("UPDATE 20\n"));
    assert!(run(s, "UPDATE t SET n = n + 1 WHERE id = 7").ends_with("UPDATE 1\n"));
    assert!(run(s, "SELECT id, n FROM t WHERE id = 7").contains("7|2"));
    assert_eq!(of_pieces(s, "blocks_hit"), before);
    assert!(run(s, "SELECT sum(length(body)) FROM t").contains("256000"));
    assert!(of_pieces(s, "blocks_hit") >= before + 20);
    assert_eq!(of_pieces(s, "tuples_inserted"), 20 * 8);
    assert_eq!(of_pieces(s, "tuples_deleted"), 0);
    assert_eq!(faults(s), [""; 0]);
}

#[test]
fn what_rows_leave_behind_goes_with_vacuum() {
    let mut bench = bench();
    let s = &mut bench.session;
    for round in 0..3 {
        let body = digests(&format!("'{round}' || id"), 300);
        assert!(run(s, &format!("UPDATE t SET body = {body}")).ends_with("UPDATE 20\n"));
        run(s, &format!("BEGIN; UPDATE t SET body = {body}; ROLLBACK"));
        run(s, "BEGIN; SAVEPOINT a; DELETE FROM t; ROLLBACK TO a; COMMIT");
        assert!(run(s, "DELETE FROM t WHERE id = 20").ends_with("DELETE 1\n"));
        let again = format!(
            "INSERT INTO t VALUES (20, 0, {0}), (1, 0, {0}) ON CONFLICT (id) DO UPDATE SET body = excluded.body",
            digests("'again'", 300)
        );
        assert!(run(s, &again).ends_with("INSERT 0 2\n"));
        assert_eq!(faults(s), [""; 0]);
    }
    assert_eq!(run(s, "VACUUM t"), "VACUUM\n");
    // 9,600 bytes each: five pieces and their list.
    assert_eq!(of_pieces(s, "live_tuples"), 20 * 6);
    assert_eq!(of_pieces(s, "dead_tuples"), 0);
    let pages = table(s).toast_rows().unwrap().relation().blocks(Fork::Main).unwrap();
    for _ in 0..5 {
        let body = digests("'more' || id", 300);
        assert!(run(s, &format!("UPDATE t SET body = {body}")).ends_with("UPDATE 20\n"));
        run(s, "VACUUM t");
    }
    let then = table(s).toast_rows().unwrap().relation().blocks(Fork::Main).unwrap();
    assert!(then <= pages + 40, "{pages} pages, then {then}");
    assert!(run(s, "DELETE FROM t").ends_with("DELETE 20\n"));
    run(s, "VACUUM t");
    // Without rows each piece that is there would be one that nobody leads to.
    assert_eq!(faults(s), [""; 0]);
}

/// While it is being filled there is no table yet that it belongs to, for all that background vacuum can see.
#[test]
fn large_values_that_came_with_their_table_are_vacuumed_later() {
    let mut bench = Bench::new();
    bench.cluster.start_vacuum(|complaint| panic!("{complaint}"));
    let s = &mut bench.session;
    run(s, "BEGIN; CREATE TABLE t (id int, body text)");
    let body = digests("g", 400);
    run(s, &format!("INSERT INTO t SELECT g, {body} FROM generate_series(1, 200) g"));
    // It has time to be told, and to look.
    std::thread::sleep(Duration::from_millis(200));
    run(s, "COMMIT; DELETE FROM t");
    let give_up = Instant::now() + Duration::from_secs(60);
    while of_pieces(s, "autovacuum_count") == 0 {
        assert!(Instant::now() < give_up, "nobody vacuums the large values");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Who comes too late with a new value stores it again for the newest version; the first one is nobody's, and goes.
#[test]
fn updates_that_meet_leave_nothing_behind() {
    let mut bench = bench();
    let mut others: Vec<Session> = (0..3).map(|_| bench.another()).collect();
    std::thread::scope(|scope| {
        for (i, other) in others.iter_mut().enumerate() {
            scope.spawn(move || {
                for round in 0..20 {
                    let body = digests(&format!("'{i} {round}'"), 200);
                    let told =
                        run(other, &format!("UPDATE t SET body = {body}, n = n + 1 WHERE id = 3"));
                    assert!(told.ends_with("UPDATE 1\n"), "{told}");
                }
            });
        }
    });
    let s = &mut bench.session;
    assert!(run(s, "SELECT n, length(body) FROM t WHERE id = 3").contains("60|6400"));
    assert_eq!(faults(s), [""; 0]);
}

#[test]
fn a_snapshot_reads_what_has_been_replaced_since() {
    let mut bench = bench();
    let mut reader = bench.another();
    let sum = "SELECT md5(string_agg(body, '' ORDER BY id)) FROM t";
    let before = run(&mut reader, &format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {sum}"));
    let s = &mut bench.session;
    run(s, &format!("UPDATE t SET body = {}", digests("'new'", 500)));
    run(s, "DELETE FROM t WHERE id > 10");
    run(s, "VACUUM t");
    assert!(run(&mut reader, sum).contains(before.lines().nth(2).unwrap()), "{before}");
    run(&mut reader, "COMMIT");
    assert!(!run(&mut reader, sum).contains(before.lines().nth(2).unwrap()));
}

#[test]
fn pieces_that_are_missing_or_nobodys_are_found() {
    let mut bench = bench();
    let s = &mut bench.session;
    let table = table(s);
    let pieces = table.toast_rows().unwrap();
    let txn = &s.backend.txn;
    txn.begin(Isolation::ReadCommitted);
    let gone = Tid { block: base::BlockNo(0), offset: 1 };
    assert!(matches!(pieces.delete(txn, gone, None).unwrap(), Outcome::Done { .. }));
    let mut places = Vec::new();
    pieces.multi_insert(txn, &[b"nobody's"], Freeze::No, None, &mut places).unwrap();
    txn.commit().unwrap();
    run(s, "SELECT 1");
    s.backend.txn.manager().wal().flush(s.backend.txn.manager().wal().position());
    let found = faults(s);
    let orphan = format!("no row leads to piece {} of a large value", places[0]);
    assert_eq!(found, [orphan]);
    // Once vacuum has taken it, the row is found to lack it, and says so; others are read.
    run(s, "VACUUM t");
    let found = faults(s);
    assert!(found[0].contains("can't be read: there is no piece (0,1)"), "{found:?}");
    assert!(run(s, "SELECT body FROM t WHERE id = 1").contains("XX001: a large value of table"));
    assert!(run(s, "SELECT length(body) FROM t WHERE id = 2").contains("12800"));
    assert!(run(s, "SELECT n FROM t WHERE id = 1").contains("\n0\n"));
}

#[test]
fn pages_of_large_values_are_told_beside_those_of_rows() {
    let mut bench = Bench::with_room();
    bench.run("CREATE TABLE t (k int PRIMARY KEY, v text); CREATE TABLE small (k int)");
    let value = digests("g", 400);
    bench.run(&format!("INSERT INTO t SELECT g, {value} FROM generate_series(1, 10) g"));
    bench.run("SELECT sum(length(v)) FROM t");
    let told = "SELECT toast_blks_read + toast_blks_hit > 0, tidx_blks_read, tidx_blks_hit
        FROM pg_statio_user_tables ORDER BY relname";
    let expected =
        "[?column?|tidx_blks_read|tidx_blks_hit]\n<null>|<null>|<null>\nt|0|0\nSELECT 2\n";
    assert_eq!(bench.run(told), expected);
    let mut bench = bench.restarted();
    bench.run("SELECT sum(length(v)) FROM t");
    let read = "SELECT toast_blks_read > 0 FROM pg_statio_user_tables WHERE relname = 't'";
    assert_eq!(bench.run(read), "[?column?]\nt\nSELECT 1\n");
}
