//! What VACUUM and ANALYZE tell, to the client and to the log, and the storage parameters that they heed.

use std::time::{Duration, Instant};

use super::vacuum::{figure, number, start, wait_until};
use super::{Bench, run};
use crate::settings::{self, Value};

/// The text with every number shown as `#`.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' | '.' if shown.ends_with('#') => {}
            '0'..='9' => shown.push('#'),
            other => shown.push(other),
        }
    }
    shown
}

/// What stands before `unit` in the line that begins with `line`.
fn told(text: &str, line: &str, unit: &str) -> f64 {
    let found = text.lines().find(|found| found.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("no line {line}: {text}"));
    let before = found.split(unit).next().unwrap();
    before.rsplit([' ', ':', '(']).find_map(|word| word.parse().ok()).unwrap()
}

/// The lines between the one that begins with `from` and the one that begins with `to`.
fn between<'t>(text: &'t str, from: &str, to: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from));
    lines.take_while(|line| !line.starts_with(to)).collect()
}

/// Only what is durably dead is removed.
fn vacuum(bench: &mut Bench, sql: &str) -> String {
    bench.cluster.engine().wal().flush(bench.session.must_be_durable());
    bench.run(sql)
}

const FILL: &str = "CREATE TABLE t (a int PRIMARY KEY, b text) WITH (autovacuum_enabled = off); \
                    INSERT INTO t SELECT i, repeat('x', 400) FROM generate_series(1, 1000) i";

#[test]
fn a_vacuum_tells_what_it_did_and_what_it_cost() {
    let mut bench = Bench::with_room();
    bench.run(FILL);
    bench.run("DELETE FROM t WHERE a > 500");
    let text = vacuum(&mut bench, "VACUUM (VERBOSE, TRUNCATE off) t");
    let did = between(&text, "INFO: finished", "avg");
    assert_eq!(
        did,
        [
            "INFO: finished vacuuming \"postgres.public.t\": index scans: 1",
            "pages: 0 removed, 56 remain, 56 scanned (100.00% of total)",
            "tuples: 500 removed, 500 remain, 0 are dead but not yet removable",
            "index scan needed: 29 pages from table (51.79% of total) had 500 dead item \
             identifiers removed",
            "index \"t_pkey\": pages: 4 in total, 0 newly deleted, 0 currently deleted, 0 reusable",
        ]
    );
    assert!(text.starts_with("INFO: vacuuming \"postgres.public.t\"\n"), "{text}");
    let costs = between(&without_numbers(&text), "avg", "VACUUM").join("\n");
    // The large values are next, as in PostgreSQL.
    let (costs, toast) = costs.split_once("\nINFO: vacuuming ").expect("a text may be long");
    assert!(toast.starts_with("\"postgres.pg_toast.pg_toast_#\"\n"), "{toast}");
    assert_eq!(
        costs,
        "avg read rate: # MB/s, avg write rate: # MB/s\n\
         buffer usage: # hits, # misses, # dirtied\n\
         WAL usage: # records, # full page images, # bytes\n\
         system usage: CPU: user: # s, system: # s, elapsed: # s"
    );
    assert!(told(&text, "buffer usage", " hits") > 56.0, "{text}");
    // Of the maps, and of the catalogs that are written to.
    assert!(told(&text, "buffer usage", " misses") < 6.0, "{text}");
    assert!(told(&text, "WAL usage", " records") >= 60.0, "{text}");
    assert!(told(&text, "WAL usage", " bytes") > 1000.0, "{text}");
    // Now nothing is left to do but to give the pages back.
    let text = vacuum(&mut bench, "VACUUM (VERBOSE) t");
    assert!(text.contains("INFO: table \"t\": truncated 56 to 28 pages\n"), "{text}");
    let did = between(&text, "INFO: finished", "avg");
    assert_eq!(did[0], "INFO: finished vacuuming \"postgres.public.t\": index scans: 0");
    assert!(did[1].starts_with("pages: 28 removed, 28 remain, "), "{text}");
    assert_eq!(
        did[3],
        "index scan not needed: 0 pages from table (0.00% of total) had 0 dead item identifiers \
         removed"
    );
    // Rows that a snapshot sees.
    let mut reader = bench.another();
    run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    bench.run("DELETE FROM t WHERE a <= 100");
    let text = vacuum(&mut bench, "VACUUM (VERBOSE) t");
    let tuples = text.lines().find(|line| line.starts_with("tuples: 0 removed, ")).unwrap();
    assert!(tuples.ends_with(" remain, 100 are dead but not yet removable"), "{text}");
    run(&mut reader, "COMMIT");
    // An empty table.
    bench.run("CREATE TABLE e (a int)");
    let text = vacuum(&mut bench, "VACUUM (VERBOSE) e");
    let pages = "pages: 0 removed, 0 remain, 0 scanned (100.00% of total)";
    assert!(text.contains(pages), "{text}");
}

#[test]
fn pages_read_and_their_times_are_told() {
    let mut bench = Bench::with_room();
    bench.run(FILL);
    bench.run("CHECKPOINT");
    let mut bench = bench.restarted();
    bench.run("SET track_io_timing = on");
    let text = vacuum(&mut bench, "VACUUM (VERBOSE, DISABLE_PAGE_SKIPPING) t");
    assert!(told(&text, "buffer usage", " misses") >= 56.0, "{text}");
    assert!(told(&text, "avg read rate", " MB/s, avg") > 0.0, "{text}");
    assert!(told(&text, "I/O timings", " ms, write") > 0.0, "{text}");
    bench.run("SET track_io_timing = off");
    assert!(!vacuum(&mut bench, "VACUUM (VERBOSE) t").contains("I/O timings"));
}

#[test]
fn an_analysis_tells_what_it_sampled() {
    let mut bench = Bench::with_room();
    bench.run(FILL);
    bench.run("DELETE FROM t WHERE a <= 100");
    let text = bench.run("ANALYZE VERBOSE t");
    assert_eq!(
        text,
        "INFO: analyzing \"public.t\"\n\
         INFO: \"t\": scanned 56 of 56 pages, containing 900 live rows and 100 dead rows; 900 rows \
         in sample, 900 estimated total rows\nANALYZE\n"
    );
}

fn index_scan(text: &str) -> String {
    let line = text.lines().find(|line| line.starts_with("index scan"));
    without_numbers(line.unwrap_or_else(|| panic!("{text}")))
}

const NEEDED: &str =
    "index scan needed: # pages from table (#% of total) had # dead item identifiers removed";
const BYPASSED: &str =
    "index scan bypassed: # pages from table (#% of total) have # dead item identifiers";

#[test]
fn the_table_says_whether_its_indexes_are_cleaned_unless_the_statement_does() {
    let mut bench = Bench::new();
    bench.run(FILL);
    let mut from = 0;
    let mut scan_of = |parameter: &str, option: &str| {
        let (first, last) = (from, from + 50);
        from = last;
        bench.run(&format!(
            "ALTER TABLE t {parameter} ; DELETE FROM t WHERE a > {first} AND a <= {last}"
        ));
        index_scan(&vacuum(&mut bench, &format!("VACUUM (VERBOSE{option}) t")))
    };
    let off = "SET (vacuum_index_cleanup = off)";
    assert_eq!(scan_of(off, ""), BYPASSED);
    assert_eq!(scan_of(off, ", INDEX_CLEANUP on"), NEEDED);
    assert_eq!(scan_of(off, ", INDEX_CLEANUP auto"), NEEDED);
    assert_eq!(scan_of("SET (vacuum_index_cleanup = on)", ""), NEEDED);
    assert_eq!(scan_of("SET (vacuum_index_cleanup = on)", ", INDEX_CLEANUP off"), BYPASSED);
    assert_eq!(scan_of("SET (vacuum_index_cleanup = auto)", ""), NEEDED);
    assert_eq!(scan_of("RESET (vacuum_index_cleanup)", ""), NEEDED);
    // One page of more than fifty.
    bench.run("DELETE FROM t WHERE a = 600");
    assert_eq!(index_scan(&vacuum(&mut bench, "VACUUM (VERBOSE) t")), BYPASSED);
    assert_eq!(index_scan(&vacuum(&mut bench, "VACUUM (VERBOSE, INDEX_CLEANUP) t")), BYPASSED);
    bench.run("ALTER TABLE t SET (vacuum_index_cleanup = on)");
    assert_eq!(index_scan(&vacuum(&mut bench, "VACUUM (VERBOSE) t")), NEEDED);
    assert_eq!(number(&mut bench.session, "SELECT count(*) FROM t"), 649);
}

#[test]
fn the_table_says_whether_it_is_cut_unless_the_statement_does() {
    let mut bench = Bench::new();
    bench.run(FILL);
    bench.run("ALTER TABLE t SET (vacuum_truncate = off); DELETE FROM t WHERE a > 800");
    let size = "SELECT pg_relation_size('t') / 8192";
    vacuum(&mut bench, "VACUUM t");
    assert_eq!(number(&mut bench.session, size), 56);
    vacuum(&mut bench, "VACUUM (TRUNCATE on) t");
    assert_eq!(number(&mut bench.session, size), 45);
    bench.run("ALTER TABLE t RESET (vacuum_truncate); DELETE FROM t WHERE a > 600");
    vacuum(&mut bench, "VACUUM (TRUNCATE off) t");
    assert_eq!(number(&mut bench.session, size), 45);
    vacuum(&mut bench, "VACUUM t");
    assert_eq!(number(&mut bench.session, size), 34);
}

#[test]
fn the_log_is_told_of_what_took_long_enough() {
    let mut bench = Bench::new();
    let log = start(&bench);
    let change = |bench: &mut Bench, table: &str| {
        let done = figure("autovacuum_count", table);
        let analyzed = figure("autoanalyze_count", table);
        let s = &mut bench.session;
        let before = number(s, &format!("SELECT {done}"));
        run(s, &format!("INSERT INTO {table} SELECT i, i FROM generate_series(1, 2000) i"));
        run(s, &format!("UPDATE {table} SET b = b + 1"));
        wait_until(s, &format!("{done} > {before} AND {analyzed} > 0"));
    };
    // Ten minutes is what nothing takes here.
    bench.run("CREATE TABLE silent (a int, b int)");
    bench.run("CREATE INDEX ON silent (b)");
    change(&mut bench, "silent");
    bench.run("CREATE TABLE loud (a int, b int) WITH (log_autovacuum_min_duration = 0)");
    bench.run("CREATE INDEX loud_b ON loud (b)");
    change(&mut bench, "loud");
    let setting = settings::find("log_autovacuum_min_duration").unwrap();
    bench.cluster.running.set(setting, Value::Integer(0));
    bench.run("CREATE TABLE other (a int, b int)");
    bench.run("CREATE INDEX ON other (b)");
    bench.run("CREATE TABLE mute (a int, b int) WITH (log_autovacuum_min_duration = -1)");
    bench.run("CREATE INDEX ON mute (b)");
    change(&mut bench, "mute");
    change(&mut bench, "other");
    let of = |table: &str| {
        let log = log.lock().unwrap();
        log.iter().filter(|text| text.contains(&format!("public.{table}\""))).count()
    };
    // The worker looks after one table at a time: what it had to tell of the others it has told by then.
    let started = Instant::now();
    while of("other") < 2 {
        assert!(started.elapsed() < Duration::from_secs(60), "{:#?}", log.lock().unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(of("loud") >= 2);
    assert_eq!((of("silent"), of("mute")), (0, 0));
    let log = log.lock().unwrap();
    let begins = |text: &str| {
        let told = log.iter().find(|told| told.starts_with(text));
        told.unwrap_or_else(|| panic!("{log:#?}"))
    };
    let text = begins("automatic vacuum of table \"postgres.public.loud\": index scans: ");
    let lines: Vec<String> = text.lines().map(without_numbers).collect();
    assert_eq!(lines[1], "pages: # removed, # remain, # scanned (#% of total)");
    assert_eq!(lines[2], "tuples: # removed, # remain, # are dead but not yet removable");
    assert_eq!(lines.last().unwrap(), "system usage: CPU: user: # s, system: # s, elapsed: # s");
    let text = without_numbers(begins("automatic analyze of table \"postgres.public.loud\"\n"));
    assert_eq!(
        text.split_once('\n').unwrap().1,
        "avg read rate: # MB/s, avg write rate: # MB/s\n\
         buffer usage: # hits, # misses, # dirtied\n\
         system usage: CPU: user: # s, system: # s, elapsed: # s"
    );
}

#[test]
fn a_vacuum_leaves_its_figures() {
    let mut bench = Bench::new();
    bench.run(FILL);
    bench.run("UPDATE t SET b = 'y' WHERE a <= 300; DELETE FROM t WHERE a > 900");
    let figures = "SELECT n_live_tup, n_dead_tup, n_ins_since_vacuum, vacuum_count, \
                   autovacuum_count, last_vacuum BETWEEN now() - interval '1 hour' AND \
                   clock_timestamp() + interval '1 second', n_tup_ins, n_tup_upd, n_tup_del \
                   FROM pg_stat_user_tables WHERE relname = 't'";
    let shown = |bench: &mut Bench| bench.run(figures).lines().nth(1).unwrap().to_owned();
    assert_eq!(shown(&mut bench), "900|400|1000|0|0|<null>|1000|300|100");
    vacuum(&mut bench, "VACUUM t");
    assert_eq!(shown(&mut bench), "900|0|0|1|0|t|1000|300|100");
    // What a snapshot keeps back stays counted.
    let mut reader = bench.another();
    run(&mut reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    bench.run("DELETE FROM t WHERE a <= 50");
    vacuum(&mut bench, "VACUUM t");
    assert_eq!(shown(&mut bench), "850|50|0|2|0|t|1000|300|150");
    run(&mut reader, "COMMIT");
    vacuum(&mut bench, "VACUUM t");
    assert_eq!(shown(&mut bench), "850|0|0|3|0|t|1000|300|150");
}

#[test]
fn a_table_that_is_written_anew_is_told_of() {
    let mut bench = Bench::new();
    let s = &mut bench.session;
    run(s, "CREATE TABLE t (i int, v text)");
    run(s, "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i");
    run(s, "DELETE FROM t WHERE i <= 400");
    let told = run(s, "VACUUM (FULL, VERBOSE) t");
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("INFO: vacuuming \"public.t\""));
    let second = lines.next().unwrap();
    let found = "INFO: \"public.t\": found 400 removable, 600 nonremovable row versions in ";
    assert!(second.starts_with(found) && second.ends_with(" pages"), "{told}");
    assert_eq!(lines.next(), Some("VACUUM"));
}
