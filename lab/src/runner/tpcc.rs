//! TPC-C by go-tpc, over TCP: the program knows no unix sockets.

use super::load::{Amount, Measured, add_counters, with_throughput};
use super::probes::Probes;
use super::sampler::Sampler;
use crate::model::figure;
use crate::process::{self, Limits};
use crate::target::{Instance, filling};
use bench::servers::{Places, cpu};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Where the module that requires go-tpc lies in a checkout.
const MODULE: &str = "lab/tpcc";
const PACKAGE: &str = "github.com/pingcap/go-tpc/cmd/go-tpc";

/// The program: a pack's own, else what is built of the module.
pub fn program(places: &Places) -> PathBuf {
    let beside = places.programs.join("go-tpc");
    if beside.exists() { beside } else { built() }
}

fn built() -> PathBuf {
    bench::record::checkout().join("target/lab/go-tpc")
}

/// Builds the program where it isn't a pack's. What did not change since it was built last, Go takes from its own
/// cache. The module's files stay as they are: a requirement that they lack is an error.
pub fn build(places: &Places) -> Result<(), String> {
    if program(places) != built() {
        return Ok(());
    }
    let module = bench::record::checkout().join(MODULE);
    if !module.join("go.mod").exists() {
        return Err(format!("{MODULE} is not in this checkout"));
    }
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-o"]).arg(built()).arg(PACKAGE);
    go.current_dir(&module).env("GOSUMDB", "off");
    process::run(go, Limits::minutes(20)).map_err(|e| format!("go-tpc can't be built: {e}"))?;
    Ok(())
}

/// What a warehouse may take to be loaded.
const EACH_WAREHOUSE_S: u64 = 30;

fn tpcc(program: &PathBuf, instance: &Instance, step: &str, warehouses: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["tpcc", step, "-d", "postgres", "-H", "127.0.0.1", "-D", "postgres"]);
    command.args(["-U", &instance.reach.user, "-p", "none"]);
    command.args(["-P", &instance.reach.port.to_string(), "--conn-params", "sslmode=disable"]);
    command.args(["--warehouses", &warehouses.to_string()]);
    command
}

/// Loads the tables, and leaves nothing of that to be done while they are measured: no statistics to be gathered, no pages to be
/// written.
pub fn prepare(program: &PathBuf, instance: &Instance, warehouses: u32) -> Result<(), String> {
    let mut command = tpcc(program, instance, "prepare", warehouses);
    command.args(["-T", "2", "--no-check"]);
    let within = filling(warehouses, EACH_WAREHOUSE_S);
    process::run(command, Limits::seconds(within.as_secs()))?;
    let mut session = instance.reach.connect_and_hear()?;
    for statement in ["VACUUM ANALYZE", "CHECKPOINT"] {
        session.ask(statement, within)?;
    }
    Ok(())
}

/// Runs the mix once.
pub fn run(program: &PathBuf, instance: &Instance, amount: &Amount) -> Result<Measured, String> {
    bench::record::shell("sync");
    let sampler = Sampler::begin(Probes::new(instance.pid(), Some(&instance.reach)));
    let before = cpu::of_children();
    let mut command = tpcc(program, instance, "run", amount.scale);
    command.args(["-T", &amount.clients.to_string(), "--time", &format!("{}s", amount.seconds)]);
    command.args(["--interval", "1s"]);
    let printed = process::run_beside(command, amount.limits(), |pid| sampler.client(pid))?;
    let seen = sampler.end();
    let client_cpu_s = cpu::of_children() - before;
    let (mut figures, done) = summary(&printed.out, amount.clients)?;
    figures.insert(figure::CLIENT_CPU.to_owned(), client_cpu_s * 1e6 / done);
    add_counters(&mut figures, &seen, done);
    let course = course(&printed.out, &printed.came, amount.seconds);
    Ok((figures, with_throughput(seen.samples, course)))
}

/// What go-tpc tells of one kind of transaction on a line, like
/// `[Summary] NEW_ORDER - Takes(s): 9.9, Count: 120, TPM: 727.3, …, 50th(ms): 10.5, …, 99th(ms): 22.0, …`.
struct Told<'a> {
    kind: &'a str,
    rest: &'a str,
}

impl<'a> Told<'a> {
    /// Of a line that begins with this.
    fn parse(line: &'a str, begins: &str) -> Option<Told<'a>> {
        let (kind, rest) = line.trim_end().strip_prefix(begins)?.split_once(" - ")?;
        Some(Told { kind: kind.trim(), rest })
    }

    fn of(&self, name: &str) -> Option<f64> {
        let mut fields = self.rest.split(", ").filter_map(|field| field.split_once(": "));
        fields.find(|(field, _)| *field == name).and_then(|(_, value)| value.parse().ok())
    }

    fn count(&self) -> f64 {
        self.of("Count").unwrap_or(0.0)
    }

    /// Whether it counts those that did not get through.
    fn failed(&self) -> bool {
        self.kind.ends_with("_ERR")
    }
}

/// Transactions of all kinds that got through in each second, of a run of so many. go-tpc tells them every second, all kinds in
/// one piece, without the time, and nothing of a second in which nothing got through: `came`, how many bytes of the text had
/// come after how many seconds, says of which second they are.
pub fn course(text: &str, came: &[(f64, usize)], seconds: u32) -> Vec<(f64, f64)> {
    let mut told: BTreeMap<u32, f64> = BTreeMap::new();
    let (mut bytes, mut first) = (0, None);
    for line in text.split_inclusive('\n') {
        bytes += line.len();
        let Some(kind) = Told::parse(line, "[Current] ").filter(|kind| !kind.failed()) else {
            continue;
        };
        let Some((at_s, _)) = came.iter().find(|(_, until)| *until >= bytes) else { break };
        // They are whole seconds apart, whenever the first comes.
        let first: f64 = *first.get_or_insert(*at_s);
        let second = first.round().max(1.0) + (at_s - first).round();
        *told.entry(second as u32).or_default() += kind.count();
    }
    let Some((&first, _)) = told.first_key_value() else { return Vec::new() };
    // The last comes when the time is up, or never.
    let last = told.last_key_value().map_or(first, |(last, _)| *last).max(seconds.max(1) - 1);
    let done = |second: u32| (f64::from(second), told.get(&second).copied().unwrap_or(0.0));
    (first..=last).map(done).collect()
}

/// Throughput of all kinds together, latencies of new orders, and how many got through.
pub fn summary(text: &str, clients: u32) -> Result<(BTreeMap<String, f64>, f64), String> {
    let mut figures = BTreeMap::new();
    let (mut done, mut failed, mut seconds) = (0.0, 0.0, 0.0_f64);
    for told in text.lines().filter_map(|line| Told::parse(line, "[Summary] ")) {
        if told.failed() {
            failed += told.count();
            continue;
        }
        done += told.count();
        seconds = seconds.max(told.of("Takes(s)").unwrap_or(0.0));
        if told.kind == "NEW_ORDER" {
            for (name, field) in [
                (figure::MEAN, "Avg(ms)"),
                (figure::P50, "50th(ms)"),
                (figure::P90, "90th(ms)"),
                (figure::P99, "99th(ms)"),
                (figure::P999, "99.9th(ms)"),
                (figure::MAX, "Max(ms)"),
            ] {
                told.of(field).map(|value| figures.insert(name.to_owned(), value));
            }
        }
    }
    // Each client's last transaction is cut off when the time is up, and counted as an error.
    if failed > f64::from(clients) {
        return Err(format!("{failed} transactions failed"));
    }
    if done <= 0.0 || seconds <= 0.0 {
        return Err("go-tpc told of no transaction".to_owned());
    }
    figures.insert(figure::TPS.to_owned(), done / seconds);
    Ok((figures, done))
}
