//! The loads: pgbench's built-in scripts in each query mode.

use bench::pgbench::number_after;
use bench::servers::{Peer, cpu, output};

/// One line of the table.
#[derive(Clone)]
pub struct Load {
    /// Name in the table and on the command line.
    pub name: String,
    /// pgbench's arguments.
    args: Vec<String>,
    /// Session settings, as `PGOPTIONS`.
    settings: &'static str,
}

/// One measured run.
pub struct Run {
    /// Load's name.
    pub load: String,
    /// Peer's name.
    pub peer: String,
    /// Number of clients.
    pub clients: u32,
    /// Transactions per second, without connecting.
    pub tps: f64,
    /// Average latency, milliseconds.
    pub latency_ms: f64,
    /// Server processor time per transaction, microseconds.
    pub cpu_us: f64,
    /// Context switches of the machine per transaction.
    pub switches: f64,
}

/// What a plain run measures: the rows of the table of figures to beat.
const DEFAULT: &[&str] = &["select-prepared", "tpcb-sync-prepared", "tpcb-async-prepared"];

impl Load {
    /// Every load there is.
    fn all() -> Vec<Load> {
        let mut loads = Vec::new();
        for mode in ["prepared", "extended", "simple"] {
            for (script, flag) in [("select", "-S"), ("nobranch", "-N"), ("tpcb", "-btpcb-like")] {
                for sync in ["sync", "async"] {
                    let reads = script == "select";
                    if reads && sync == "async" {
                        continue;
                    }
                    let settings = match sync {
                        "async" => "-c synchronous_commit=off",
                        _ => "-c synchronous_commit=on",
                    };
                    let name = match reads {
                        true => format!("{script}-{mode}"),
                        false => format!("{script}-{sync}-{mode}"),
                    };
                    let args = vec![flag.to_owned(), "-M".to_owned(), mode.to_owned()];
                    loads.push(Load { name, args, settings });
                }
            }
        }
        loads
    }

    /// The loads that the names choose; `default` and `all` stand for several.
    pub fn chosen(names: &[String]) -> Result<Vec<Load>, String> {
        let all = Self::all();
        let mut chosen = Vec::new();
        for name in names {
            match name.as_str() {
                "all" => chosen.extend(all.iter().cloned()),
                "default" => {
                    chosen.extend(all.iter().filter(|l| DEFAULT.contains(&&*l.name)).cloned());
                }
                _ => match all.iter().find(|l| l.name == *name) {
                    Some(load) => chosen.push(load.clone()),
                    None => {
                        let known: Vec<_> = all.iter().map(|l| l.name.as_str()).collect();
                        return Err(format!("no load '{name}'; there are {}", known.join(", ")));
                    }
                },
            }
        }
        Ok(chosen)
    }

    /// Runs it once against `peer`. A failed transaction is an error.
    pub fn run(&self, peer: &Peer, clients: u32, seconds: u32, scale: u32) -> Result<Run, String> {
        if !peer.canned {
            peer.sql("checkpoint")?;
        }
        let mut pgbench = peer.client("pgbench");
        let threads = clients.min(2).to_string();
        pgbench.args(["-n", "-c", &clients.to_string(), "-j", &threads]);
        pgbench.args(["-T", &seconds.to_string(), "-s", &scale.to_string()]);
        pgbench.args(&self.args).env("PGOPTIONS", self.settings);
        let before = cpu::usage(peer.pid());
        let text =
            output(&mut pgbench).map_err(|e| format!("{} on {}: {e}", self.name, peer.name))?;
        let after = cpu::usage(peer.pid());
        let failed = number_after(&text, "number of failed transactions: ").unwrap_or(0.0);
        if failed > 0.0 {
            return Err(format!("{} on {}: {failed} failed transactions", self.name, peer.name));
        }
        let missing = |what: &str| format!("{} on {}: no {what} in: {text}", self.name, peer.name);
        let done = number_after(&text, "number of transactions actually processed: ")
            .filter(|n| *n > 0.0)
            .ok_or_else(|| missing("transactions"))?;
        Ok(Run {
            load: self.name.clone(),
            peer: peer.name.clone(),
            clients,
            tps: number_after(&text, "tps = ").ok_or_else(|| missing("tps"))?,
            latency_ms: number_after(&text, "latency average = ")
                .ok_or_else(|| missing("latency"))?,
            cpu_us: (after.cpu_s - before.cpu_s) * 1e6 / done,
            switches: after.switches.saturating_sub(before.switches) as f64 / done,
        })
    }
}

impl Run {
    /// One line of progress.
    pub fn label(&self) -> String {
        format!("{} {} clients={} {:.0} tps", self.load, self.peer, self.clients, self.tps)
    }
}
