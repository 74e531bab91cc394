//! The loads: a script under pgbench, and what runs beside it.

use crate::latencies::{self, Latencies};
use bench::pgbench::number_after;
use bench::servers::{Peer, cpu, output};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// What runs beside the measured clients.
#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    /// Transactions of so many inserts, each behind a savepoint of its own or not, that stay open for a second;
    /// on so many connections.
    Inserts {
        count: u32,
        savepoints: bool,
        connections: u32,
    },
    /// Transactions that stay open for ten seconds.
    LongTransactions,
}

/// One line of the table.
pub struct Load {
    /// Name in the table and on the command line.
    pub name: &'static str,
    script: Script,
    beside: Beside,
    /// How many clients make sense; empty: as the command line says.
    clients: &'static [u32],
    /// Clients contend for the same rows: every transaction is logged, so that one that starves is seen.
    contended: bool,
    /// The load that differs from it in the savepoints only.
    pub control: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Script {
    /// One of pgbench's own.
    BuiltIn(&'static str),
    Text(&'static str),
}

/// Locks a row, and changes it behind a savepoint.
const LOCK_THEN_UPDATE: &str = "\
\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
SELECT FROM pgbench_accounts WHERE aid = :aid FOR UPDATE;
SAVEPOINT s1;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

/// All clients share the locks of few rows: several lockers to a row.
const SHARED_LOCKS: &str = "\
\\set aid random(1, 100)
\\set tid random(1, 10 * :scale)
BEGIN;
SELECT FROM pgbench_accounts WHERE aid = :aid FOR KEY SHARE;
SELECT FROM pgbench_accounts WHERE aid = :aid % 100 + 1 FOR SHARE;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, 1, :aid, 0, CURRENT_TIMESTAMP);
END;
";

const HOT_ROW: &str = "UPDATE hot SET n = n + 1 WHERE id = 1;\n";

const QUEUE: &str = "\
\\set new random(1, 1000000000)
BEGIN;
DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED);
INSERT INTO jobs (what) VALUES (:new);
END;
";

const fn inserts(count: u32, savepoints: bool, connections: u32) -> Beside {
    Beside::Inserts { count, savepoints, connections }
}

const fn load(name: &'static str, script: Script, beside: Beside) -> Load {
    Load { name, script, beside, clients: &[], contended: false, control: None }
}

const fn with_control(load: Load, control: &'static str) -> Load {
    Load { control: Some(control), ..load }
}

const fn contended(load: Load, clients: &'static [u32]) -> Load {
    Load { contended: true, clients, ..load }
}

const TPCB: Script = Script::BuiltIn("-btpcb-like");
const SELECT: Script = Script::BuiltIn("-S");

static LOADS: &[Load] = &[
    with_control(load("tpcb-savepoints", TPCB, inserts(70, true, 1)), "tpcb-control"),
    load("tpcb-control", TPCB, inserts(70, false, 1)),
    with_control(load("tpcb-savepoints-1000", TPCB, inserts(1000, true, 1)), "tpcb-control-1000"),
    load("tpcb-control-1000", TPCB, inserts(1000, false, 1)),
    with_control(load("tpcb-savepoints-on-8", TPCB, inserts(70, true, 8)), "tpcb-control-on-8"),
    load("tpcb-control-on-8", TPCB, inserts(70, false, 8)),
    with_control(load("select-savepoints", SELECT, inserts(70, true, 1)), "select-control"),
    load("select-control", SELECT, inserts(70, false, 1)),
    load("lock-then-update", Script::Text(LOCK_THEN_UPDATE), Beside::LongTransactions),
    load("shared-locks", Script::Text(SHARED_LOCKS), Beside::LongTransactions),
    contended(load("hot-row", Script::Text(HOT_ROW), Beside::Nothing), &[128]),
    contended(load("queue", Script::Text(QUEUE), Beside::Nothing), &[64]),
];

/// One measured run.
pub struct Run {
    /// Load's name.
    pub load: &'static str,
    /// Peer's name.
    pub peer: String,
    /// Number of clients.
    pub clients: u32,
    /// Transactions per second, without connecting.
    pub tps: f64,
    /// The server's processor time per transaction, microseconds; what runs beside is counted in.
    pub cpu_us: f64,
    /// Times of transactions.
    pub latencies: Latencies,
}

/// Makes the tables beside pgbench's.
pub fn set_up(peer: &Peer) -> Result<(), String> {
    for statement in [
        "CREATE TABLE test (a int)",
        "CREATE TABLE hot (id int PRIMARY KEY, n bigint)",
        "INSERT INTO hot VALUES (1, 0)",
        "CREATE TABLE jobs (id bigserial PRIMARY KEY, what int)",
        "INSERT INTO jobs (what) SELECT g FROM generate_series(1, 10000) g",
    ] {
        peer.sql(statement)?;
    }
    Ok(())
}

impl Load {
    /// Every one, a load before its control.
    pub fn all() -> &'static [Load] {
        LOADS
    }

    /// The one of this name.
    pub fn called(name: &str) -> Result<&'static Load, String> {
        LOADS.iter().find(|load| load.name == name).ok_or_else(|| {
            let known: Vec<_> = LOADS.iter().map(|load| load.name).collect();
            format!("no load '{name}'; there are {}", known.join(", "))
        })
    }

    /// The numbers of clients that it is measured with.
    pub fn clients<'a>(&'a self, wanted: &'a [u32]) -> &'a [u32] {
        if self.clients.is_empty() { wanted } else { self.clients }
    }

    /// Runs it once. A failed transaction is an error.
    pub fn run(
        &self,
        peer: &Peer,
        clients: u32,
        seconds: u32,
        scale: u32,
        work: &Path,
    ) -> Result<Run, String> {
        peer.sql("truncate test")?;
        peer.sql("checkpoint")?;
        let beside = self.beside.start(peer, work)?;
        let logs = work.join("latencies");
        std::fs::create_dir_all(&logs).map_err(|e| format!("{}: {e}", logs.display()))?;
        let mut pgbench = peer.client("pgbench");
        pgbench.args(["-n", "-M", "prepared", "-c", &clients.to_string()]);
        pgbench.args(["-j", &clients.min(2).to_string(), "-T", &seconds.to_string()]);
        pgbench.args(["-s", &scale.to_string(), "-l"]).current_dir(&logs);
        if !self.contended {
            pgbench.arg("--sampling-rate=0.1");
        }
        match self.script {
            Script::BuiltIn(flag) => pgbench.arg(flag),
            Script::Text(text) => pgbench.arg("-f").arg(write(work, "script.sql", text)?),
        };
        let before = cpu::usage(peer.pid());
        let text = output(&mut pgbench);
        let used_s = cpu::usage(peer.pid()).cpu_s - before.cpu_s;
        if let Some(beside) = beside {
            end(beside, peer)?;
        }
        let text = text.map_err(|e| format!("{} on {}: {e}", self.name, peer.name))?;
        let failed = number_after(&text, "number of failed transactions: ").unwrap_or(0.0);
        let number = |label| number_after(&text, label).filter(|_| failed == 0.0);
        let missing = || format!("{} on {}: {text}", self.name, peer.name);
        let tps = number("tps = ").ok_or_else(missing)?;
        let done = number("number of transactions actually processed: ").ok_or_else(missing)?;
        let latencies = latencies::take(&logs, clients)?;
        let (peer, cpu_us) = (peer.name.clone(), used_s * 1e6 / done);
        Ok(Run { load: self.name, peer, clients, tps, cpu_us, latencies })
    }

    /// Whether the log of its latencies is whole.
    pub fn is_contended(&self) -> bool {
        self.contended
    }
}

impl Beside {
    fn start(self, peer: &Peer, work: &Path) -> Result<Option<Child>, String> {
        let (text, connections) = match self {
            Beside::Nothing => return Ok(None),
            Beside::LongTransactions => {
                let text = "BEGIN;\nINSERT INTO test VALUES (1);\nSELECT pg_sleep(10);\nCOMMIT;\n";
                (text.to_owned(), 1)
            }
            Beside::Inserts { count, savepoints, connections } => {
                let mut text = "BEGIN;\n".to_owned();
                for number in 0..count {
                    if savepoints {
                        text.push_str(&format!("SAVEPOINT s{number};\n"));
                    }
                    text.push_str("INSERT INTO test VALUES (1);\n");
                }
                text.push_str("SELECT pg_sleep(1);\nCOMMIT;\n");
                (text, connections)
            }
        };
        let mut pgbench = peer.client("pgbench");
        let connections: &str = &connections.to_string();
        pgbench.args(["-n", "-c", connections, "-T", "100000", "-f"]);
        pgbench.arg(write(work, "beside.sql", &text)?).env("PGAPPNAME", BESIDE);
        let child = pgbench.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.map(Some).map_err(|e| format!("{pgbench:?}: {e}"))
    }
}

/// What the clients beside are called.
const BESIDE: &str = "beside";

/// Ends what ran beside. Had it ended by itself, nothing would have run beside. Its sessions are ended, too: asleep, they
/// would keep their locks from the next run.
fn end(mut beside: Child, peer: &Peer) -> Result<(), String> {
    if let Ok(Some(status)) = beside.try_wait() {
        return Err(format!("what was to run beside ended with {status}"));
    }
    // Not by SIGINT, which whoever was started in the background by a shell ignores.
    let killed = beside.kill().and_then(|()| beside.wait());
    killed.map_err(|e| format!("what ran beside: {e}"))?;
    let sessions = format!("from pg_stat_activity where application_name = '{BESIDE}'");
    peer.sql(&format!("select pg_terminate_backend(pid) {sessions}"))?;
    let give_up = Instant::now() + Duration::from_secs(60);
    while peer.value(&format!("select count(*) {sessions}"))? != "0" {
        if Instant::now() > give_up {
            return Err(format!("sessions beside outlive their client on {}", peer.name));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn write(work: &Path, name: &str, text: &str) -> Result<std::path::PathBuf, String> {
    let path = work.join(name);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
