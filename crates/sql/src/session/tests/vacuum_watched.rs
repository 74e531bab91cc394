//! `pg_stat_progress_vacuum` while a vacuum is at work. It is held up where it is to be looked at, by pages that somebody
//! has latched.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

use base::rank::Rank;
use base::{BlockNo, Fork, RelId};
use storage::buffer::Relation;

use super::{Bench, run};
use crate::session::Session;

/// A page that a thread of its own keeps latched, until this is dropped.
pub(super) struct Held {
    _let_go: Sender<()>,
}

pub(super) fn hold<'s>(scope: &'s Scope<'s, '_>, rel: &Relation, block: u32) -> Held {
    let (taken, is_taken): (Sender<()>, Receiver<()>) = channel();
    let (let_go, until) = channel();
    let rel = rel.clone();
    scope.spawn(move || {
        let _page = rel.write(Fork::Main, BlockNo(block)).unwrap();
        taken.send(()).unwrap();
        // Ends with an error when the other end goes.
        let _ = until.recv();
    });
    is_taken.recv().unwrap();
    Held { _let_go: let_go }
}

fn number(session: &mut Session, sql: &str) -> u32 {
    run(session, sql).lines().nth(1).unwrap().parse().unwrap()
}

pub(super) fn relation(bench: &mut Bench, name: &str, rank: Rank) -> Relation {
    let id = number(&mut bench.session, &format!("SELECT pg_relation_filenode('{name}')"));
    bench.cluster.engine().pool().relation(RelId(id), rank)
}

/// Waits until the vacuum shows as `wanted`: phase, blocks, scanned, vacuumed, index passes, dead rows.
fn until_seen(session: &mut Session, wanted: &str) {
    let shown = "SELECT phase, heap_blks_total, heap_blks_scanned, heap_blks_vacuumed, \
                 index_vacuum_count, num_dead_tuples FROM pg_stat_progress_vacuum \
                 WHERE relid = 't'::regclass AND datname = current_database()";
    let started = Instant::now();
    loop {
        let seen = run(session, shown);
        let seen = seen.lines().nth(1).unwrap_or_default();
        if seen == wanted {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{seen}, never {wanted}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_phase_of_a_vacuum_can_be_seen() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text) WITH (autovacuum_enabled = off)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 900) FROM generate_series(1, 80) i");
    // Eight on each of ten pages; the last four are empty, and known to be.
    let engine = bench.cluster.engine().clone();
    bench.run("DELETE FROM t WHERE a > 48");
    engine.wal().flush(bench.session.must_be_durable());
    bench.run("VACUUM (TRUNCATE off) t");
    bench.run("DELETE FROM t WHERE a % 4 = 0");
    engine.wal().flush(bench.session.must_be_durable());
    let heap = relation(&mut bench, "t", Rank::HeapPage);
    let index = relation(&mut bench, "t_pkey", Rank::IndexPage);
    assert_eq!(heap.blocks(Fork::Main).unwrap(), 10);
    let mut vacuum = bench.another();
    let s = &mut bench.session;
    std::thread::scope(|scope| {
        let page = hold(scope, &heap, 3);
        let done = scope.spawn(|| run(&mut vacuum, "VACUUM t"));
        until_seen(s, "scanning heap|10|3|0|0|6");
        let root = hold(scope, &index, 0);
        drop(page);
        until_seen(s, "vacuuming indexes|10|10|0|0|12");
        let page = hold(scope, &heap, 2);
        drop(root);
        until_seen(s, "vacuuming heap|10|10|3|1|12");
        // The last page is looked at before; behind the rows there is nothing to free.
        let last = hold(scope, &heap, 8);
        drop(page);
        until_seen(s, "truncating heap|10|10|6|1|12");
        drop(last);
        assert_eq!(done.join().unwrap(), "VACUUM\n");
    });
    let left = "SELECT count(*) FROM pg_stat_progress_vacuum";
    assert_eq!((number(s, left), number(s, "SELECT count(*) FROM t")), (0, 36));
    assert_eq!(heap.blocks(Fork::Main).unwrap(), 6);
}
