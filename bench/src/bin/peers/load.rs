//! The loads: pgbench's built-in scripts in each query mode.

use bench::pgbench::number_after;
use bench::servers::{Peer, cpu, output};
use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// Server processor time per transaction, microseconds, without connecting.
    pub cpu_us: f64,
    /// Context switches of the machine per transaction, without connecting.
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
}

/// How the loads are run.
pub struct Bench {
    seconds: u32,
    scale: u32,
    /// A script that asks the server for nothing.
    nothing: PathBuf,
}

impl Bench {
    /// `work` is a directory for what pgbench is to read.
    pub fn new(seconds: u32, scale: u32, work: &Path) -> Result<Bench, String> {
        let nothing = work.join("nothing.sql");
        std::fs::write(&nothing, "\\set nothing 0\n")
            .map_err(|e| format!("{}: {e}", nothing.display()))?;
        Ok(Bench { seconds, scale, nothing })
    }

    /// Brings a server to where it would be after a while of this load. Without it each run would pay for what comes but once
    /// after a checkpoint: PostgreSQL logs a page as a whole when it is changed first.
    pub fn warm_up(&self, load: &Load, peer: &Peer, clients: u32) -> Result<(), String> {
        if peer.canned {
            return Ok(());
        }
        peer.sql("checkpoint")?;
        self.pgbench(load, peer, clients).map(drop)
    }

    /// Runs a load once against `peer`. A failed transaction is an error.
    pub fn run(&self, load: &Load, peer: &Peer, clients: u32) -> Result<Run, String> {
        let connecting = spent(peer, || self.connect(peer, clients))?.1;
        let (text, spent) = spent(peer, || self.pgbench(load, peer, clients))?;
        let number = |label: &str| {
            number_after(&text, label)
                .ok_or_else(|| format!("{} on {}: no '{label}' in: {text}", load.name, peer.name))
        };
        let failed = number("number of failed transactions: ")?;
        let done = number("number of transactions actually processed: ")?;
        if failed > 0.0 || done == 0.0 {
            return Err(format!("{} on {}: {done} done, {failed} failed", load.name, peer.name));
        }
        Ok(Run {
            load: load.name.clone(),
            peer: peer.name.clone(),
            clients,
            tps: number("tps = ")?,
            latency_ms: number("latency average = ")?,
            cpu_us: (spent.cpu_s - connecting.cpu_s).max(0.0) * 1e6 / done,
            switches: spent.switches.saturating_sub(connecting.switches) as f64 / done,
        })
    }

    fn pgbench(&self, load: &Load, peer: &Peer, clients: u32) -> Result<String, String> {
        let mut pgbench = with_clients(peer, clients);
        pgbench.args(["-T", &self.seconds.to_string(), "-s", &self.scale.to_string()]);
        pgbench.args(&load.args).env("PGOPTIONS", load.settings);
        output(&mut pgbench).map_err(|e| format!("{} on {}: {e}", load.name, peer.name))
    }

    /// As many clients come and go: what of a run is not its transactions'.
    fn connect(&self, peer: &Peer, clients: u32) -> Result<String, String> {
        let mut pgbench = with_clients(peer, clients);
        output(pgbench.args(["-t", "1", "-f"]).arg(&self.nothing))
    }
}

fn with_clients(peer: &Peer, clients: u32) -> Command {
    let mut pgbench = peer.client("pgbench");
    pgbench.args(["-n", "-c", &clients.to_string(), "-j", &clients.min(2).to_string()]);
    pgbench
}

/// What the server (its processor time) and the machine (its switches) spend while something is done.
fn spent<T>(
    peer: &Peer,
    done: impl FnOnce() -> Result<T, String>,
) -> Result<(T, cpu::Usage), String> {
    let before = cpu::usage(peer.pid());
    let done = done()?;
    let after = cpu::usage(peer.pid());
    let (cpu_s, switches) = (after.cpu_s - before.cpu_s, after.switches - before.switches);
    Ok((done, cpu::Usage { cpu_s, switches }))
}

impl Run {
    /// One line of progress.
    pub fn label(&self) -> String {
        format!("{} {} clients={} {:.0} tps", self.load, self.peer, self.clients, self.tps)
    }
}
