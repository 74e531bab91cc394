//! Statements over a disk whose reads of tables, indexes or temporary files wait until they are let go.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base::disk::real::RealDisk;
use base::disk::{DirectoryLock, Disk, File, Open};
use base::interrupt::Interrupt;
use base::park;
use base::rank::Rank;
use base::{BlockNo, Env, Fork, RelId};

use super::{Bench, run};

#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    shut: bool,
    /// Reads that pass though it is shut.
    passes: usize,
    /// Reads that wait.
    waiting: usize,
}

/// A read that is waited for comes long before that.
const LONG: Duration = Duration::from_secs(60);

impl Gate {
    pub(super) fn set(&self, shut: bool) {
        self.state.lock().unwrap().shut = shut;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        self.changed.notify_all();
        let barred = |state: &mut State| state.shut && state.passes == 0;
        let mut state = self.changed.wait_while(state, barred).unwrap();
        state.passes = state.passes.saturating_sub(1);
        state.waiting -= 1;
        self.changed.notify_all();
    }

    pub(super) fn until_somebody_waits(&self) {
        let state = self.state.lock().unwrap();
        let nobody = |state: &mut State| state.waiting == 0 || state.passes > 0;
        let (state, waited) = self.changed.wait_timeout_while(state, LONG, nobody).unwrap();
        drop(state);
        assert!(!waited.timed_out(), "nobody reads");
    }

    /// One of the reads that wait goes on, until the next one waits.
    pub(super) fn let_one_pass(&self) {
        self.state.lock().unwrap().passes += 1;
        self.changed.notify_all();
        self.until_somebody_waits();
    }
}

pub(super) struct SlowDisk {
    pub(super) inner: RealDisk,
    /// What the files' paths begin with.
    pub(super) files: &'static str,
    pub(super) gate: Arc<Gate>,
}

struct SlowFile {
    inner: Arc<dyn File>,
    gate: Arc<Gate>,
}

impl Disk for SlowDisk {
    fn open(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        let inner = self.inner.open(path, how)?;
        if !path.starts_with(self.files) {
            return Ok(inner);
        }
        Ok(Arc::new(SlowFile { inner, gate: Arc::clone(&self.gate) }))
    }
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename_new(from, to)
    }
    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename_over(from, to)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.inner.remove(path)
    }
    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.inner.create_dir(path)
    }
    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.inner.sync_dir(path)
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }
    fn exists(&self, path: &str) -> io::Result<bool> {
        self.inner.exists(path)
    }
    fn lock(&self, path: &str) -> io::Result<DirectoryLock> {
        self.inner.lock(path)
    }
}

impl File for SlowFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.gate.pass();
        self.inner.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.inner.set_len(bytes)
    }
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
}

/// A directory with a table of many pages, none of them in memory.
fn cold() -> (Bench, Arc<Gate>) {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
    bench.run("INSERT INTO t SELECT i, repeat('x', 900) FROM generate_series(1, 800) i");
    let gate = Arc::new(Gate::default());
    let theirs = Arc::clone(&gate);
    let mut bench = bench.restarted_on(|dir| {
        Env::new(Arc::new(SlowDisk { inner: RealDisk::new(dir), files: "base/", gate: theirs }))
    });
    // What planning reads.
    bench.run("EXPLAIN SELECT sum(length(b)) FROM t");
    bench.run("EXPLAIN SELECT b FROM t WHERE a = 500");
    (bench, gate)
}

/// The statement is cancelled while it waits for a page that is read.
fn cancelled(sql: &str) {
    let (mut bench, gate) = cold();
    let heap: u32 =
        bench.run("SELECT pg_relation_filenode('t')").lines().nth(1).unwrap().parse().unwrap();
    let mut session = bench.another();
    run(&mut session, "SELECT 1");
    gate.set(true);
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let (session, sql) = (&mut session, sql);
        let done = scope.spawn(move || {
            tell.send(park::current()).unwrap();
            run(session, sql)
        });
        let context = told.recv().unwrap();
        gate.until_somebody_waits();
        context.interrupt(Interrupt::Cancel);
        gate.set(false);
        let out = done.join().unwrap();
        assert!(out.ends_with("57014: canceling statement due to user request\n"), "{sql}: {out}");
    });
    let pool = Arc::clone(bench.cluster.engine().pool());
    let rel = pool.relation(RelId(heap), Rank::HeapPage);
    for block in 0..rel.blocks(Fork::Main).unwrap() {
        // Nobody has it: not even for a moment is it waited for.
        let page = rel.pin(Fork::Main, BlockNo(block)).unwrap();
        assert!(page.try_write().is_some(), "{sql}: page {block} is latched");
    }
    let held = pool.residents().flatten().filter(|page| page.rel == RelId(heap) && page.pins > 0);
    assert_eq!(held.count(), 0, "{sql}");
    assert_eq!(run(&mut session, "SELECT sum(length(b)) FROM t"), "[sum]\n720000\nSELECT 1\n");
    assert_eq!(run(&mut session, "UPDATE t SET b = '' WHERE a = 500"), "UPDATE 1\n");
}

#[test]
fn a_statement_cancelled_while_it_waits_for_a_page_leaves_nothing_held() {
    // With pages read ahead, one by one, and for a change.
    cancelled("SELECT sum(length(b)) FROM t");
    cancelled("SET effective_io_concurrency = 0; SELECT sum(length(b)) FROM t");
    cancelled("SELECT sum(length(b)) FROM (SELECT b FROM t WHERE a > 0 ORDER BY a OFFSET 0) s");
    cancelled("UPDATE t SET b = 'y'");
    cancelled("VACUUM (DISABLE_PAGE_SKIPPING) t");
}
