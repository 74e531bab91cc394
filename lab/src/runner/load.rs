//! One run of pgbench against one server.

use super::beside;
use super::probes::Probes;
use super::sampler::{Sampler, Seen};
use crate::experiments::{Load, Script};
use crate::interrupt;
use crate::latencies::Latencies;
use crate::model::{Sample, figure};
use crate::process::{self, Limits};
use crate::session::WORK;
use crate::statistics::is_postgres;
use crate::target::Instance;
use bench::pgbench::number_after;
use bench::servers::cpu;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How much of it.
pub struct Amount {
    pub clients: u32,
    pub seconds: u32,
    pub scale: u32,
}

/// What a client may take beyond its time: the end of a transaction that waits for a lock.
const MARGIN_S: u32 = 30;
/// How many clients connect and leave in a second of such a margin.
const CLIENTS_A_SECOND: u32 = 100;

impl Amount {
    /// When a client that is still at work is one that waits for a server that does not answer.
    pub fn limits(&self) -> Limits {
        Limits::seconds(u64::from(self.seconds + MARGIN_S + self.clients / CLIENTS_A_SECOND))
    }
}

/// Figures of a run, and its course.
pub type Measured = (BTreeMap<String, f64>, Vec<Sample>);

/// A server that takes longer to take all connections in is not measured.
const LONGEST_CONNECTING_S: u32 = 120;

/// Runs a load once. A transaction that fails is an error. pgbench's duration counts the time in which clients
/// connect: where that left too little of it to measure in, the run is made anew, longer.
pub fn run(
    instance: &mut Instance,
    load: &Load,
    amount: &Amount,
    work: &Path,
) -> Result<Measured, String> {
    let mut connecting_s = usual_connecting_s(&instance.target, amount.clients);
    loop {
        let longer = Amount { seconds: amount.seconds + connecting_s, ..*amount };
        let (printed, measured) = attempt(instance, load, &longer, work)?;
        match missing_s(&printed, amount.seconds, connecting_s) {
            None => return measured,
            Some(wanted) if wanted > LONGEST_CONNECTING_S => {
                let clients = amount.clients;
                return Err(format!(
                    "{clients} clients were not connected within {connecting_s} s"
                ));
            }
            Some(wanted) => connecting_s = wanted,
        }
    }
}

/// What pgbench printed, and what was measured.
fn attempt(
    instance: &mut Instance,
    load: &Load,
    amount: &Amount,
    work: &Path,
) -> Result<(String, Result<Measured, String>), String> {
    if load.beside.is_none_or(|beside| !beside.lasting) {
        // What it has locked would keep the statements waiting.
        instance.beside = None;
    }
    before(instance, load)?;
    // What another server left to be written is not to be written while this one is timed.
    bench::record::shell("sync");
    let logs = fresh(&work.join("latencies"))?;
    beside::arrange(instance, load.beside, work)?;
    let views = Some(&instance.reach).filter(|_| !instance.is_canned());
    let sampler = Sampler::begin(Probes::new(instance.pid(), views));
    let client_before = cpu::of_children();
    let command = pgbench(instance, load, amount, &logs, work)?;
    let printed = process::run_beside(command, amount.limits(), |pid| sampler.client(pid));
    let printed = match printed {
        Ok(printed) => printed,
        Err(why) => {
            // Neither it nor the sampler is waited for: the server may answer nobody any more.
            instance.beside = None;
            return Err(why);
        }
    };
    let seen = sampler.end();
    let client_cpu_s = cpu::of_children() - client_before;
    interrupt::check()?;
    let beside_done = beside::after(instance)?;
    let latencies = Latencies::read(&logs)?;
    let measured = figures(&printed.out, &seen, client_cpu_s).map(|mut figures| {
        latencies.figures(&mut figures);
        if amount.clients >= CROWD {
            without_connecting(&mut figures, &printed.out, &seen.samples, amount.seconds);
        }
        beside_done.map(|done| figures.insert(figure::BESIDE.to_owned(), done));
        let held = instance.server.as_ref().and_then(|server| held_by_system(&server.socket_dir));
        if let Some((mib, share)) = held {
            figures.insert(figure::HELD_TWICE.to_owned(), mib);
            figures.insert(figure::HELD_SHARE.to_owned(), share);
        }
        (figures, course(seen.samples, &printed.complaints, &latencies))
    });
    Ok((printed.out, measured))
}

/// From so many clients on, what it takes a server to let them in is much of a run of seconds.
const CROWD: u32 = 128;

/// So much after a run's end the look at its last second may be done.
const LATE_S: f64 = 0.1;

/// Takes the server's processor time per transaction from the looks between which all clients were connected; absent where there
/// were none.
pub fn without_connecting(
    figures: &mut BTreeMap<String, f64>,
    printed: &str,
    samples: &[Sample],
    seconds: u32,
) {
    figures.remove(figure::SERVER_CPU);
    let connected = number_after(printed, "initial connection time = ");
    let Some((begin_s, tps)) = connected.map(|ms| ms / 1000.0).zip(figures.get(figure::TPS)) else {
        return;
    };
    let end_s = f64::from(seconds) + LATE_S;
    let within = |pair: &&[Sample]| pair[0].at_s >= begin_s && pair[1].at_s <= end_s;
    let (mut used_s, mut all_s) = (0.0, 0.0);
    for pair in samples.windows(2).filter(within) {
        let Some(cores) = pair[1].server_cpu else { continue };
        let between_s = pair[1].at_s - pair[0].at_s;
        used_s += cores * between_s;
        all_s += between_s;
    }
    if all_s > 0.0 {
        figures.insert(figure::SERVER_CPU.to_owned(), used_s * 1e6 / (tps * all_s));
    }
}

/// Seconds that connecting takes, about. A process for each connection takes milliseconds.
pub fn usual_connecting_s(target: &str, clients: u32) -> u32 {
    let each_ms = if is_postgres(target) { 4 } else { 1 };
    clients * each_ms / 1000
}

/// How many seconds to allow for connecting instead, where `allowed_s` left less than three quarters of `seconds`.
pub fn missing_s(printed: &str, seconds: u32, allowed_s: u32) -> Option<u32> {
    let took_s = match number_after(printed, "initial connection time = ") {
        Some(milliseconds) => milliseconds / 1000.0,
        // It does not tell when nothing got through at all, in the whole time.
        None if number_after(printed, "actually processed: ") == Some(0.0) => {
            f64::from(seconds + allowed_s)
        }
        None => return None,
    };
    let too_late = took_s > f64::from(allowed_s) + f64::from(seconds) / 4.0;
    too_late.then(|| (took_s * 1.25).ceil() as u32)
}

pub fn before(instance: &Instance, load: &Load) -> Result<(), String> {
    if load.before.is_empty() || instance.is_canned() {
        return Ok(());
    }
    let mut session = instance.reach.connect()?;
    for statement in load.before {
        session.ask(statement, WORK).map_err(|refusal| match refusal.silent {
            true => refusal.why,
            false => format!("'{statement}': {}", refusal.why),
        })?;
    }
    Ok(())
}

pub fn fresh(folder: &Path) -> Result<PathBuf, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    Ok(folder.to_owned())
}

pub fn write(work: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let path = work.join(name);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// The client, told what to do.
pub fn pgbench(
    instance: &Instance,
    load: &Load,
    amount: &Amount,
    logs: &Path,
    work: &Path,
) -> Result<Command, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(amount.clients as usize).min(16);
    let mut command = instance.reach.client("pgbench");
    command.args(["-n", "-M", "prepared", "-P", "1", "-l"]);
    command.args(["-c", &amount.clients.to_string(), "-j", &threads.to_string()]);
    command.args(["-T", &amount.seconds.to_string(), "-s", &amount.scale.to_string()]);
    command.arg(format!("--log-prefix={}", logs.join("log").display()));
    if load.sampling < 1.0 {
        command.arg(format!("--sampling-rate={}", load.sampling));
    }
    if let Some(pace) = load.pace {
        command.args(["-R", &pace.to_string()]);
    }
    match load.script {
        Script::BuiltIn(name) => command.args(["-b", name]),
        Script::Text(text) => command.arg("-f").arg(write(work, "script.sql", text)?),
    };
    let options = instance.reach.options.iter().map(String::as_str).chain([load.options]);
    command.env("PGOPTIONS", options.collect::<Vec<_>>().join(" "));
    Ok(command)
}

/// The figures of a whole run.
pub fn figures(
    printed: &str,
    seen: &Seen,
    client_cpu_s: f64,
) -> Result<BTreeMap<String, f64>, String> {
    let number = |label| number_after(printed, label);
    let failed = number("number of failed transactions: ").unwrap_or(0.0);
    if failed > 0.0 {
        return Err(format!("{failed} transactions failed"));
    }
    let done = number("number of transactions actually processed: ").filter(|n| *n > 0.0);
    let done = done.ok_or("no transaction got through")?;
    let tps = number("tps = ").ok_or("pgbench told no throughput")?;
    let mut figures = BTreeMap::from([(figure::TPS.to_owned(), tps)]);
    figures.insert(figure::CLIENT_CPU.to_owned(), client_cpu_s * 1e6 / done);
    add_counters(&mut figures, seen, done);
    if let Some(spread) = dirty_spread(&seen.samples) {
        figures.insert(figure::DIRTY_SPREAD.to_owned(), spread);
    }
    Ok(figures)
}

/// Counters, per transaction where that says more.
pub fn add_counters(figures: &mut BTreeMap<String, f64>, seen: &Seen, done: f64) {
    let whole = &seen.whole;
    for (name, value) in [
        (figure::SERVER_CPU, whole.server_cpu_s.map(|s| s * 1e6 / done)),
        (figure::SWITCHES, whole.switches.map(|n| n / done)),
        (figure::WAL_BYTES, whole.wal_bytes.map(|n| n / done)),
        (figure::FSYNCS, whole.fsyncs.map(|n| n / done)),
        (figure::ALL_FSYNCS, whole.all_fsyncs.map(|n| n / done)),
        (figure::CLEANED, whole.cleaned),
        (figure::CHECKPOINTED, whole.checkpointed),
        (figure::BY_SESSIONS, whole.by_sessions),
        (figure::ALLOCATED, whole.allocated),
    ] {
        if let Some(value) = value {
            figures.insert(name.to_owned(), value);
        }
    }
}

/// How far the machine's dirty memory moves: the 95th percentile of the samples less the 5th, KiB.
pub fn dirty_spread(samples: &[Sample]) -> Option<f64> {
    let mut dirty: Vec<f64> = samples.iter().filter_map(|sample| sample.dirty_kib).collect();
    dirty.sort_by(f64::total_cmp);
    let last = dirty.len().checked_sub(1)?;
    let at = |share: f64| dirty[(last as f64 * share).round() as usize];
    Some(at(0.95) - at(0.05))
}

/// Of the files of tables and indexes under a server's directory: MiB that the system's cache holds, and the share of
/// their length that this is; `base` is what all of the servers call their folder. Absent where the system has no `fincore`.
fn held_by_system(home: &Path) -> Option<(f64, f64)> {
    let home = home.display();
    let files = format!("find '{home}' -path '*/base/*' -type f -print0");
    let sum = "awk '{ held += $1; all += $2 } END { if (all) print held, all }'";
    let told = bench::record::shell(&format!(
        "command -v fincore >/dev/null && {files} | xargs -0 -r fincore -bnr -o RES,SIZE 2>/dev/null | {sum}"
    ));
    let (held, all) = told.split_once(' ')?;
    let (held, all) = (held.parse::<f64>().ok()?, all.parse::<f64>().ok()?);
    Some((held / f64::from(1 << 20), held / all))
}

/// The samples with what pgbench told of the same seconds.
fn course(samples: Vec<Sample>, progress: &str, latencies: &Latencies) -> Vec<Sample> {
    let lines = progress.lines().filter_map(|line| line.strip_prefix("progress: "));
    let told = lines.filter_map(|line| {
        let (second, rest) = line.split_once(" s, ")?;
        Some((second.parse::<f64>().ok()?, rest.split_once(" tps")?.0.parse::<f64>().ok()?))
    });
    let mut samples = with_throughput(samples, told);
    for sample in samples.iter_mut().filter(|sample| sample.tps.is_some()) {
        let second = sample.at_s.round() as u64;
        if let Some(second) = latencies.second(second.saturating_sub(1)) {
            sample.latency_ms_p50 = Some(second.p50);
            sample.latency_ms_p99 = Some(second.p99);
            sample.latency_ms_max = Some(second.max);
        }
    }
    samples
}

/// The samples with the throughput that a client told of the same seconds, in order.
pub fn with_throughput(
    mut samples: Vec<Sample>,
    told: impl IntoIterator<Item = (f64, f64)>,
) -> Vec<Sample> {
    for (at_s, tps) in told {
        let second = at_s.round() as u64;
        match samples.iter_mut().find(|s| s.at_s.round() as u64 == second) {
            Some(sample) => sample.tps = Some(tps),
            None => samples.push(Sample { at_s, tps: Some(tps), ..Sample::default() }),
        }
    }
    samples.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    samples
}
