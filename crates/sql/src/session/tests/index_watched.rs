//! `pg_stat_progress_create_index` while an index is built. The build is held up where it is to be looked at: by pages of
//! the table that somebody has latched, then by reads of what was sorted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base::disk::real::RealDisk;
use base::rank::Rank;
use base::{Env, Fork};

use super::slow_disk::{Gate, SlowDisk};
use super::vacuum_watched::{hold, relation};
use super::{Bench, run};
use crate::session::Session;

/// More than a megabyte holds while they are sorted.
const ROWS: i64 = 100_000;

/// Phase, blocks and rows of the build.
fn seen(session: &mut Session) -> String {
    let shown = "SELECT phase, blocks_total, blocks_done, tuples_total, tuples_done \
                 FROM pg_stat_progress_create_index WHERE relid = 't'::regclass \
                 AND command = 'CREATE INDEX' AND datname = current_database()";
    run(session, shown).lines().nth(1).unwrap_or_default().to_owned()
}

fn until_seen(session: &mut Session, wanted: &str) {
    let started = Instant::now();
    loop {
        let seen = seen(session);
        if seen == wanted {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{seen}, never {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Opens the gate when it goes: a test that fails must not leave the build waiting.
struct Shut<'g>(&'g Gate);

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Lets sorted entries be read until more than `done` of them are in the index; how many then are.
fn until_more_are_loaded(session: &mut Session, gate: &Gate, phase: &str, done: i64) -> i64 {
    for _ in 0..1000 {
        gate.let_one_pass();
        let seen = seen(session);
        let loaded = seen.strip_prefix(phase).and_then(|rest| rest.parse().ok());
        if let Some(loaded) = loaded.filter(|loaded| *loaded > done) {
            return loaded;
        }
    }
    panic!("{}, never more than {done} rows", seen(session));
}

/// Builds an index and looks at it: what it says while it reads the table, while it sorts and while it enters rows.
fn watch(build: &str, scans: &str, sorts: &str, loads: &str) {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int) WITH (autovacuum_enabled = off)");
    // In an order of which nothing is left to merge runs by.
    let rows =
        format!("INSERT INTO t SELECT i::bigint * 7919 % {ROWS} FROM generate_series(1, {ROWS}) i");
    assert_eq!(bench.run(&rows), format!("INSERT 0 {ROWS}\n"));
    let gate = Arc::new(Gate::default());
    let theirs = Arc::clone(&gate);
    let mut bench = bench.restarted_on(|dir| {
        let (inner, files) = (RealDisk::new(dir), "base/pgsql_tmp");
        Env::new(Arc::new(SlowDisk { inner, files, gate: theirs }))
    });
    let heap = relation(&mut bench, "t", Rank::HeapPage);
    let blocks = heap.blocks(Fork::Main).unwrap();
    let mut builder = bench.another();
    run(&mut builder, "SET maintenance_work_mem = '1MB'; SET max_parallel_maintenance_workers = 0");
    let s = &mut bench.session;
    gate.set(true);
    std::thread::scope(|scope| {
        let shut = Shut(&gate);
        let page = hold(scope, &heap, 3);
        let done = scope.spawn(|| run(&mut builder, build));
        until_seen(s, &format!("{scans}|{blocks}|3|0|0"));
        let later = hold(scope, &heap, 100);
        drop(page);
        until_seen(s, &format!("{scans}|{blocks}|100|0|0"));
        drop(later);
        gate.until_somebody_waits();
        until_seen(s, &format!("{sorts}|{blocks}|{blocks}|0|0"));
        let loading = format!("{loads}|{blocks}|{blocks}|{ROWS}|");
        let first = until_more_are_loaded(s, &gate, &loading, 0);
        let second = until_more_are_loaded(s, &gate, &loading, first);
        assert!(first < second && second < ROWS, "{first} rows, then {second}");
        drop(shut);
        assert_eq!(done.join().unwrap(), "CREATE INDEX\n");
    });
    assert_eq!(seen(s), "SELECT 0", "it is over");
    assert_eq!(run(s, "SELECT count(*) FROM t WHERE a = 77"), "[count]\n1\nSELECT 1\n");
}

#[test]
fn each_step_of_building_a_b_tree_can_be_seen() {
    let phase = |step: &str| format!("building index: {step}");
    let steps = ["scanning table", "sorting live tuples", "loading tuples in tree"].map(phase);
    let [scans, sorts, loads] = &steps;
    watch("CREATE INDEX i ON t (a)", scans, sorts, loads);
}

/// PostgreSQL tells no steps of other kinds' builds, but counts.
#[test]
fn how_far_a_hash_index_is_built_can_be_seen() {
    let building = "building index";
    watch("CREATE INDEX i ON t USING hash (a)", building, building, building);
}
