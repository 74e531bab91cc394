//! The loads: a script under pgbench, and what runs beside it.

use bench::pgbench::number_after;
use bench::servers::{Peer, output};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

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
#[derive(Clone)]
pub struct Load {
    /// Name in the table and on the command line.
    pub name: &'static str,
    script: Script,
    beside: Beside,
    /// How many clients make sense; empty: as the command line says.
    clients: &'static [u32],
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
    Load { name, script, beside, clients: &[], control: None }
}

const fn with_control(load: Load, control: &'static str) -> Load {
    Load { control: Some(control), ..load }
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
    Load { clients: &[128], ..load("hot-row", Script::Text(HOT_ROW), Beside::Nothing) },
    Load { clients: &[64], ..load("queue", Script::Text(QUEUE), Beside::Nothing) },
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
    /// Median and longest time of a transaction, milliseconds.
    pub median_ms: f64,
    pub longest_ms: f64,
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

/// The numbers of clients that any of the loads is measured with, ascending.
pub fn all_clients(loads: &[Load], wanted: &[u32]) -> BTreeSet<u32> {
    loads.iter().flat_map(|load| load.clients(wanted)).copied().collect()
}

impl Load {
    /// The loads that the names choose; `all` stands for every one, `none` for none.
    pub fn chosen(names: &[String]) -> Result<Vec<Load>, String> {
        let mut chosen = Vec::new();
        for name in names {
            match LOADS.iter().find(|load| load.name == name) {
                Some(load) => chosen.push(load.clone()),
                None if name == "all" => chosen.extend(LOADS.iter().cloned()),
                None if name == "none" => {}
                None => {
                    let known: Vec<_> = LOADS.iter().map(|load| load.name).collect();
                    return Err(format!("no load '{name}'; there are {}", known.join(", ")));
                }
            }
        }
        Ok(chosen)
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
        pgbench.args(["-s", &scale.to_string(), "-l", "--sampling-rate=0.1"]).current_dir(&logs);
        match self.script {
            Script::BuiltIn(flag) => pgbench.arg(flag),
            Script::Text(text) => pgbench.arg("-f").arg(write(work, "script.sql", text)?),
        };
        let text = output(&mut pgbench);
        if let Some(beside) = beside {
            end(beside)?;
        }
        let text = text.map_err(|e| format!("{} on {}: {e}", self.name, peer.name))?;
        let failed = number_after(&text, "number of failed transactions: ").unwrap_or(0.0);
        let tps = number_after(&text, "tps = ").filter(|_| failed == 0.0);
        let tps = tps.ok_or_else(|| format!("{} on {}: {text}", self.name, peer.name))?;
        let (median_ms, longest_ms) = latencies(&logs)?;
        let peer = peer.name.clone();
        Ok(Run { load: self.name, peer, clients, tps, median_ms, longest_ms })
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
        pgbench.arg(write(work, "beside.sql", &text)?);
        let child = pgbench.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.map(Some).map_err(|e| format!("{pgbench:?}: {e}"))
    }
}

/// Ends what ran beside. Had it ended by itself, nothing would have run beside.
fn end(mut beside: Child) -> Result<(), String> {
    if let Ok(Some(status)) = beside.try_wait() {
        return Err(format!("what was to run beside ended with {status}"));
    }
    let pid = beside.id().to_string();
    let ended = Command::new("kill").args(["-INT", &pid]).status().and_then(|_| beside.wait());
    ended.map(drop).map_err(|e| e.to_string())
}

fn write(work: &Path, name: &str, text: &str) -> Result<std::path::PathBuf, String> {
    let path = work.join(name);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// Median and longest of the latencies that pgbench has logged, which are removed.
fn latencies(logs: &Path) -> Result<(f64, f64), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", logs.display());
    let mut micros: Vec<u64> = Vec::new();
    for file in std::fs::read_dir(logs).map_err(failed)? {
        let text = std::fs::read_to_string(file.map_err(failed)?.path()).map_err(failed)?;
        micros.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u64>().ok()));
    }
    std::fs::remove_dir_all(logs).map_err(failed)?;
    micros.sort_unstable();
    let longest = micros.last().ok_or("pgbench has logged nothing")?;
    Ok((micros[micros.len() / 2] as f64 / 1e3, *longest as f64 / 1e3))
}
