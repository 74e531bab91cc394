//! The session over a whole engine, on a disk in memory's stead: a directory of its own.

mod index_builds;

use std::fmt::Write as _;
use std::sync::Arc;

use base::Env;
use base::disk::real::RealDisk;
use base::ids::{Lsn, Xid};
use storage::engine::{Engine, EngineConfig};
use storage::txlog::{ALL_LOGS, LogBuffers, MultiXactId, TxLogConfig, TxLogStart};

use super::{Client, CopyInput, Field, Format, Formats, Notice, Session, Status};
use crate::catalog::store::Cluster;
use crate::error::{Result, SqlError, SqlState};
use crate::types::Encoding;

mod amcheck;
mod bitmaps;
mod by_index;
mod dropped_rows;
mod enums;
mod index_only;
mod large_keys;
mod large_values;
mod later_keys;
mod lists;
mod pieces;
mod point;
mod portals;
mod reading_ahead;
mod roles;
mod savepoints;
mod sleep;
mod slow_disk;
mod spilling;
mod statistics;
mod sub_selects;
mod tags;
mod temporary;
mod texts;

/// A client that writes down what it is told.
#[derive(Default)]
struct Recorder {
    out: String,
    value: Vec<u8>,
    row: Vec<String>,
    copy_input: Vec<u8>,
    /// At the first row.
    panics: bool,
    /// Takes no longer rows than this; 0: any.
    row_bytes_max: usize,
}

impl Client for Recorder {
    fn row_description(&mut self, fields: &[Field], _: &Formats) {
        let names: Vec<&str> = fields.iter().map(|f| &*f.name).collect();
        writeln!(self.out, "[{}]", names.join("|")).unwrap();
    }
    fn begin_row(&mut self, _: usize) {
        assert!(!self.panics, "as the test wants it");
        self.row.clear();
    }
    fn begin_value(&mut self) {
        self.value.clear();
    }
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.value
    }
    fn end_value(&mut self) {
        self.row.push(String::from_utf8_lossy(&self.value).into_owned());
    }
    fn null_value(&mut self) {
        self.row.push("<null>".to_owned());
    }
    fn end_row(&mut self) -> Result<()> {
        let bytes: usize = self.row.iter().map(String::len).sum();
        if self.row_bytes_max > 0 && bytes > self.row_bytes_max {
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "out of memory"));
        }
        writeln!(self.out, "{}", self.row.join("|")).unwrap();
        Ok(())
    }
    fn command_complete(&mut self, tag: &str) {
        writeln!(self.out, "{tag}").unwrap();
    }
    fn empty_query(&mut self) {
        self.out.push_str("EMPTY\n");
    }
    fn portal_suspended(&mut self) {
        self.out.push_str("SUSPENDED\n");
    }
    fn notice(&mut self, notice: &Notice) {
        writeln!(self.out, "{}: {}", notice.severity, notice.fields.message()).unwrap();
    }
    fn spells_in(&mut self, _: Encoding) {}
    fn copy_out(&mut self, _: usize, _: Format) {}
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.push_str(&String::from_utf8_lossy(bytes));
        Ok(())
    }
    fn copy_out_done(&mut self) {}
    fn copy_in(&mut self, _: usize, _: Format) -> Result<()> {
        Ok(())
    }
    fn copy_read(&mut self, buffer: &mut Vec<u8>) -> Result<CopyInput> {
        if self.copy_input.is_empty() {
            return Ok(CopyInput::Done);
        }
        buffer.append(&mut self.copy_input);
        Ok(CopyInput::Data)
    }
    fn relieve(&mut self, _: Lsn) -> Result<()> {
        Ok(())
    }
}

mod analyzing;
mod database_figures;
mod databases;
mod frozen;
mod full_vacuum;
mod index_watched;
mod matviews;
mod sequences;
mod vacuum;
mod vacuum_shown;
mod vacuum_watched;

/// A fresh data directory with one session on it.
struct Bench {
    cluster: Arc<Cluster>,
    session: Session,
    dir: Dir,
    /// What it was made with.
    config: EngineConfig,
}

/// Pages in a test's cache, where it wants so many.
fn buffers(ordinary: usize) -> usize {
    let given = std::env::var("THALWEG_TEST_BUFFERS").ok();
    given.map_or(ordinary, |pages| pages.parse().unwrap())
}

/// With `THALWEG_TEST_LOGS` the pools of the status logs are as small as they can be, and ids begin beyond 32 bits
/// (`make test-tiny-logs`).
fn logs(ordinary: TxLogConfig) -> TxLogConfig {
    if std::env::var_os("THALWEG_TEST_LOGS").is_none() {
        return ordinary;
    }
    let (next_xid, next_multixact) = (Xid((1 << 33) + 5), MultiXactId((1 << 32) - 3));
    let first = TxLogStart { next_xid, next_multixact };
    let first_member = (1 << 32) - 3;
    TxLogConfig { buffers: LogBuffers([16; ALL_LOGS.len()]), first, first_member, ..ordinary }
}

struct Dir(std::path::PathBuf, Option<Arc<Engine>>);

impl Drop for Dir {
    fn drop(&mut self) {
        // Whatever runs in the background must not find its files gone.
        self.1.take().map(|engine| engine.shutdown());
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Bench {
    fn new() -> Bench {
        Bench::with(&EngineConfig::default())
    }

    /// `THALWEG_TEST_BUFFERS` has the last word on the cache's size (`make test-tiny-cache`).
    fn with(config: &EngineConfig) -> Bench {
        let shared_buffers = buffers(config.shared_buffers);
        Bench::exactly(&EngineConfig { shared_buffers, ..config.clone() })
    }

    /// With a cache that holds whatever the test uses: for tests that look at what it holds.
    fn with_room() -> Bench {
        Bench::exactly(&EngineConfig::default())
    }

    fn exactly(config: &EngineConfig) -> Bench {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let config = EngineConfig { txlog: logs(config.txlog), ..config.clone() };
        let name = format!("thalweg-sql-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let env = Env::new(Arc::new(RealDisk::new(&dir)));
        Engine::create(&config, &env).unwrap();
        let engine = Engine::open(&config, &env).unwrap();
        Cluster::create(&engine, "postgres").unwrap();
        let cluster = Cluster::open(&engine).unwrap();
        let session = Session::open(&cluster, "postgres", "postgres").unwrap();
        Bench { cluster, session, dir: Dir(dir, Some(engine)), config }
    }

    /// One more session.
    fn another(&self) -> Session {
        Session::open(&self.cluster, "postgres", "postgres").unwrap()
    }

    /// The same directory and sizes, with what is in memory gone.
    fn restarted(self) -> Bench {
        self.restarted_on(|dir| Env::new(Arc::new(RealDisk::new(dir))))
    }

    /// As [`Bench::restarted`], with another way to the directory.
    fn restarted_on(self, env: impl FnOnce(&std::path::Path) -> Env) -> Bench {
        let Bench { cluster, session, mut dir, config } = self;
        drop((session, cluster));
        dir.1.take().unwrap().shutdown().unwrap();
        let env = env(&dir.0);
        let engine = Engine::open(&config, &env).unwrap();
        let cluster = Cluster::open(&engine).unwrap();
        cluster.drop_left_temporaries().unwrap();
        let session = Session::open(&cluster, "postgres", "postgres").unwrap();
        dir.1 = Some(engine);
        Bench { cluster, session, dir, config }
    }

    fn run(&mut self, sql: &str) -> String {
        run(&mut self.session, sql)
    }
}

fn run(session: &mut Session, sql: &str) -> String {
    let mut client = Recorder::default();
    if let Err(error) = session.simple_query(sql, &mut client) {
        client.out.push_str(&shown(&error));
    }
    client.out
}

fn shown(error: &SqlError) -> String {
    let fields = error.fields();
    let mut text = format!("{}: {}\n", fields.sqlstate, fields.message);
    for (label, field) in [("DETAIL", &fields.detail), ("HINT", &fields.hint)] {
        if let Some(field) = field {
            writeln!(text, "{label}: {field}").unwrap();
        }
    }
    text
}

#[test]
fn a_table_lives_from_create_to_drop() {
    let mut bench = Bench::new();
    assert_eq!(bench.run("CREATE TABLE t (a int PRIMARY KEY, b text)"), "CREATE TABLE\n");
    assert_eq!(bench.run("INSERT INTO t VALUES (1, 'one'), (2, NULL)"), "INSERT 0 2\n");
    assert_eq!(bench.run("SELECT * FROM t"), "[a|b]\n1|one\n2|<null>\nSELECT 2\n");
    assert_eq!(
        bench.run("INSERT INTO t VALUES (1, 'again')"),
        "23505: duplicate key value violates unique constraint \"t_pkey\"\n\
         DETAIL: Key (a)=(1) already exists.\n"
    );
    assert_eq!(bench.run("DROP TABLE t"), "DROP TABLE\n");
    assert_eq!(bench.run("SELECT * FROM t"), "42P01: relation \"t\" does not exist\n");
}

#[test]
fn blocks_fail_and_roll_back_to_savepoints() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    bench.run("BEGIN");
    bench.run("INSERT INTO t VALUES (1)");
    bench.run("SAVEPOINT s");
    bench.run("INSERT INTO t VALUES (2)");
    assert_eq!(bench.run("SELECT nothing"), "42703: column \"nothing\" does not exist\n");
    assert_eq!(bench.session.status(), Status::Failed);
    assert!(bench.run("SELECT 1").starts_with("25P02"));
    assert_eq!(bench.run("ROLLBACK TO s"), "ROLLBACK\n");
    bench.run("INSERT INTO t VALUES (3)");
    assert_eq!(bench.run("COMMIT"), "COMMIT\n");
    assert_eq!(bench.run("SELECT a FROM t"), "[a]\n1\n3\nSELECT 2\n");
}

#[test]
fn several_statements_are_one_transaction() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    assert!(bench.run("INSERT INTO t VALUES (1); SELECT x FROM t").contains("42703"));
    assert_eq!(bench.run("SELECT a FROM t"), "[a]\nSELECT 0\n");
}

#[test]
fn another_session_sees_what_is_committed() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    let mut other = bench.another();
    bench.run("BEGIN; INSERT INTO t VALUES (1)");
    assert_eq!(run(&mut other, "SELECT a FROM t"), "[a]\nSELECT 0\n");
    bench.run("COMMIT");
    assert_eq!(run(&mut other, "SELECT a FROM t"), "[a]\n1\nSELECT 1\n");
}

#[test]
fn a_prepared_statement_runs_again_and_again() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text)");
    let session = &mut bench.session;
    session.parse("i", "INSERT INTO t VALUES ($1, $2)", &[]).unwrap();
    let (params, fields) = session.describe_statement("i").unwrap();
    assert_eq!((params.len(), fields), (2, None));
    for key in ["1", "2"] {
        let mut client = Recorder::default();
        let params = [Some(key.as_bytes()), Some(&b"x"[..])];
        session.bind("", "i", &params, &Formats::default(), Formats::default()).unwrap();
        session.execute("", 0, &mut client).unwrap();
        session.sync().unwrap();
        assert_eq!(client.out, "INSERT 0 1\n");
    }
    assert_eq!(bench.run("SELECT a, b FROM t"), "[a|b]\n1|x\n2|x\nSELECT 2\n");
}

#[test]
fn a_row_that_is_too_long_is_an_error_of_its_statement() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (1, 'b')");
    bench.run("INSERT INTO t VALUES (2, repeat('b', 100))");
    for query in [
        "SELECT b FROM t WHERE a = 2",
        "SELECT b FROM t ORDER BY a DESC",
        "UPDATE t SET a = 3 WHERE a = 2 RETURNING b",
        "SET application_name = 'abcdefghijklmnopqrstuvwxyz'; SHOW application_name",
    ] {
        let mut client = Recorder { row_bytes_max: 20, ..Recorder::default() };
        let error = bench.session.simple_query(query, &mut client).unwrap_err();
        assert_eq!(shown(&error), "54000: out of memory\n", "{query}");
    }
    assert_eq!(bench.run("SELECT a FROM t"), "[a]\n1\n2\nSELECT 2\n");
}

#[test]
fn copy_goes_in_and_out() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int, b text)");
    let mut client = Recorder { copy_input: b"1\tone\n2\t\\N\n".to_vec(), ..Recorder::default() };
    bench.session.simple_query("COPY t FROM STDIN", &mut client).unwrap();
    assert_eq!(client.out, "COPY 2\n");
    assert_eq!(bench.run("COPY t TO STDOUT"), "1\tone\n2\t\\N\nCOPY 2\n");
}

#[test]
fn queries_join_group_and_sort() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE p (id int PRIMARY KEY, name text)");
    bench.run("CREATE TABLE c (id int PRIMARY KEY, pid int, v int)");
    bench.run("INSERT INTO p SELECT g, 'p' || g FROM generate_series(1, 5) g");
    bench.run("INSERT INTO c SELECT g, g % 5 + 1, g * 10 FROM generate_series(1, 20) g");
    assert_eq!(
        bench.run("SELECT p.name, sum(c.v) FROM p JOIN c ON c.pid = p.id WHERE c.v > 50 GROUP BY p.name ORDER BY 2 DESC LIMIT 2"),
        "[name|sum]\np1|450\np5|420\nSELECT 2\n"
    );
    assert_eq!(
        bench.run(
            "SELECT name FROM p WHERE EXISTS (SELECT 1 FROM c WHERE c.pid = p.id AND c.v = 30)"
        ),
        "[name]\np4\nSELECT 1\n"
    );
    // Rows may tie in what is not shown.
    assert_eq!(
        bench.run(
            "SELECT count(*) FROM (SELECT v FROM c ORDER BY pid FETCH FIRST 1 ROW WITH TIES) s"
        ),
        "[count]\n4\nSELECT 1\n"
    );
    // What is kept for the outer rows of a sub-select's join is read anew when the sub-select runs again.
    assert_eq!(
        bench.run(
            "SELECT (SELECT p.name FROM c, p WHERE c.id = v.a AND p.id = v.b) FROM (VALUES (1, 2), (2, 3)) v(a, b)"
        ),
        "[name]\np2\np3\nSELECT 2\n"
    );
    assert_eq!(bench.run("SELECT v FROM c WHERE id = 7"), "[v]\n70\nSELECT 1\n");
    assert_eq!(bench.run("UPDATE c SET v = v + 1 WHERE id = 7"), "UPDATE 1\n");
    assert_eq!(bench.run("SELECT v FROM c WHERE id = 7"), "[v]\n71\nSELECT 1\n");
    assert_eq!(
        bench.run("DELETE FROM c WHERE pid IN (SELECT id FROM p WHERE name = 'p1')"),
        "DELETE 4\n"
    );
    assert_eq!(
        bench.run("WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t"),
        "[sum]\n15\nSELECT 1\n"
    );
    assert_eq!(
        bench.run("SELECT id, row_number() OVER (ORDER BY id DESC) FROM p ORDER BY id LIMIT 2"),
        "[id|row_number]\n1|5\n2|4\nSELECT 2\n"
    );
}

#[test]
fn a_recursive_query_s_own_with_is_shown_by_its_name() {
    let mut bench = Bench::new();
    let plan = bench.run(
        "EXPLAIN (COSTS OFF) WITH RECURSIVE r AS (WITH c AS MATERIALIZED (SELECT 1 AS n) \
         SELECT n FROM c UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
    );
    assert!(plan.contains("CTE c\n") && plan.contains("CTE Scan on c\n"), "{plan}");
}

#[test]
fn what_pgbench_sends() {
    let mut bench = Bench::new();
    assert_eq!(
        bench.run("drop table if exists pgbench_accounts, pgbench_branches"),
        "NOTICE: table \"pgbench_accounts\" does not exist, skipping\n\
         NOTICE: table \"pgbench_branches\" does not exist, skipping\nDROP TABLE\n"
    );
    bench.run("create table pgbench_accounts(aid int not null,bid int,abalance int,filler char(84)) with (fillfactor=100)");
    bench.run("begin");
    assert_eq!(bench.run("truncate table pgbench_accounts"), "TRUNCATE TABLE\n");
    let rows = b"1\t1\t0\t\n2\t1\t0\t\n".to_vec();
    let mut client = Recorder { copy_input: rows, ..Recorder::default() };
    bench
        .session
        .simple_query("copy pgbench_accounts from stdin with (freeze on)", &mut client)
        .unwrap();
    assert_eq!(client.out, "COPY 2\n");
    assert_eq!(bench.run("commit"), "COMMIT\n");
    assert_eq!(bench.run("vacuum analyze pgbench_accounts"), "VACUUM\n");
    assert_eq!(bench.run("alter table pgbench_accounts add primary key (aid)"), "ALTER TABLE\n");
    let update = "UPDATE pgbench_accounts SET abalance = abalance + -5 WHERE aid = 2;";
    assert_eq!(bench.run(update), "UPDATE 1\n");
    assert_eq!(
        bench.run("SELECT abalance FROM pgbench_accounts WHERE aid = 2;"),
        "[abalance]\n-5\nSELECT 1\n"
    );
    assert_eq!(bench.run("vacuum pgbench_accounts"), "VACUUM\n");
    assert_eq!(bench.run("SELECT sum(abalance) FROM pgbench_accounts"), "[sum]\n-5\nSELECT 1\n");
    assert_eq!(
        bench.run("EXPLAIN (COSTS OFF) SELECT abalance FROM pgbench_accounts WHERE aid = 2"),
        "[QUERY PLAN]\nIndex Scan using pgbench_accounts_pkey on pgbench_accounts\n\
         \x20 Index Cond: (aid = 2)\nEXPLAIN\n"
    );
}

#[test]
fn catalogs_and_views_describe_themselves() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a serial, b char(3))");
    assert_eq!(
        bench.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
        "[tablename]\nt\nSELECT 1\n"
    );
    assert_eq!(
        bench.run("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position"),
        "[column_name|data_type]\na|integer\nb|character\nSELECT 2\n"
    );
    assert_eq!(
        bench.run("SELECT oid::regclass, relkind FROM pg_class WHERE oid = 't'::regclass"),
        "[oid|relkind]\nt|r\nSELECT 1\n"
    );
}

#[test]
fn a_transaction_may_choose_for_itself_whether_its_commit_is_waited_for() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int)");
    let engine = bench.cluster.engine().clone();
    let wal = engine.wal();
    let mut gate_of = |setting: &str| {
        wal.flush(wal.position());
        let before = wal.position();
        bench.run(&format!("BEGIN; SET LOCAL synchronous_commit = {setting}"));
        bench.run("INSERT INTO t VALUES (1)");
        assert_eq!(bench.run("COMMIT"), "COMMIT\n");
        bench.session.must_be_durable() > before
    };
    assert!(gate_of("on"));
    assert!(!gate_of("off"));
    // There are no standbys: what is durable here is all that any of these waits for.
    for setting in ["local", "remote_write", "remote_apply", "on"] {
        assert!(gate_of(setting), "{setting}");
    }
}

#[test]
fn temporary_tables_are_not_for_the_next_session() {
    let mut bench = Bench::new();
    let kept = "create temp table mine (a int); create temp view seen as select a from mine";
    assert_eq!(bench.run(kept), "CREATE TABLE\nCREATE VIEW\n");
    // One after the other has the same place in the engine.
    for _ in 0..3 {
        let next = bench.another();
        drop(std::mem::replace(&mut bench.session, next));
        let again = bench.another();
        drop(std::mem::replace(&mut bench.session, again));
        assert!(bench.run("select * from mine").contains("does not exist"));
        bench.run("begin; create temp table other (b int); rollback");
        assert!(bench.run("select * from mine").contains("does not exist"));
        assert_eq!(bench.run(kept), "CREATE TABLE\nCREATE VIEW\n");
        assert_eq!(bench.run("select * from seen"), "[a]\nSELECT 0\n");
    }
}
