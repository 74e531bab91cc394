//! Calls of the system that a server makes, counted in a short run of its own: counting slows it down.

use super::load::{Amount, before, figures, fresh, pgbench};
use super::sampler::Seen;
use crate::experiments::Load;
use crate::model::figure;
use crate::process;
use crate::target::Instance;
use bench::pgbench::number_after;
use bench::servers::cpu;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// How long it runs.
pub const SECONDS: u32 = 2;

/// How often `perf` is tried.
const ATTEMPTS: usize = 3;

/// What `perf` counts, by the figure that it becomes.
const EVENTS: [(&str, &str); 3] = [
    (figure::FUTEX, "syscalls:sys_enter_futex"),
    (figure::OWN_SWITCHES, "context-switches"),
    (figure::INSTRUCTIONS, "instructions:u"),
];

/// Figures per transaction of one run of a load: by `perf` where the system lets it, else futex calls alone by `strace`;
/// and what a build that counts says of itself.
///
/// # Errors
/// A server of somebody else's, or a system that lets nobody count.
pub fn run(
    instance: &Instance,
    load: &Load,
    amount: &Amount,
    work: &Path,
) -> Result<BTreeMap<String, f64>, String> {
    let pid = instance.pid().ok_or("calls of a server that runs elsewhere can't be counted")?;
    let pids = || -> Vec<String> {
        std::iter::once(pid).chain(cpu::children(pid)).map(|pid| pid.to_string()).collect()
    };
    before(instance, load)?;
    let logs = fresh(&work.join("latencies"))?;
    let amount = Amount { seconds: SECONDS, ..*amount };
    let client = pgbench(instance, load, &amount, &logs, work)?;
    let report = work.join("counts");
    let told = instance.counted();
    // A process that ends between being listed and being watched keeps it from beginning: a background worker does.
    let mut by_perf = process::run(perf(&client, &pids(), &report), amount.limits());
    for _ in 1..ATTEMPTS {
        let counted = |why: String| match why.contains(process::TOO_LONG) {
            true => Err(why),
            false => process::run(perf(&client, &pids(), &report), amount.limits()),
        };
        by_perf = by_perf.or_else(counted);
    }
    let (printed, counted) = match by_perf {
        Ok(printed) => (printed, of_perf(&read(&report)?)),
        // Nor would it end under another program.
        Err(why) if why.contains(process::TOO_LONG) => return Err(why),
        Err(why) => {
            let traced = by_strace(client, &amount, &pids(), &report);
            let (printed, calls) = traced.map_err(|e| format!("neither {why} nor {e} counts"))?;
            (printed, vec![(figure::FUTEX, calls)])
        }
    };
    // An error where transactions failed.
    figures(&printed.out, &Seen::default(), 0.0)?;
    let done = number_after(&printed.out, "number of transactions actually processed: ");
    let done = done.filter(|done| *done > 0.0).ok_or("no transaction got through")?;
    let counted = counted.into_iter().map(|(name, calls)| (name.to_owned(), calls / done));
    let mut all: BTreeMap<String, f64> = counted.collect();
    all.extend(instance.counted().since(&told).per(done));
    Ok(all)
}

fn read(report: &Path) -> Result<String, String> {
    std::fs::read_to_string(report).map_err(|e| format!("{}: {e}", report.display()))
}

/// The client under `perf`, which counts in the server's processes and in those that they start.
fn perf(client: &Command, pids: &[String], report: &Path) -> Command {
    let mut command = Command::new("perf");
    command.args(["stat", "-x", ",", "-o"]).arg(report);
    command.args(["-e", &EVENTS.map(|(_, event)| event).join(","), "-p", &pids.join(","), "--"]);
    command.arg(client.get_program()).args(client.get_args());
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Lines `COUNT,UNIT,EVENT,…`; of what can't be counted, no number.
pub fn of_perf(report: &str) -> Vec<(&'static str, f64)> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let (name, _) = EVENTS.into_iter().find(|(_, event)| fields.get(2) == Some(event))?;
        Some((name, fields[0].parse().ok()?))
    };
    report.lines().filter_map(of_line).collect()
}

fn by_strace(
    client: Command,
    amount: &Amount,
    pids: &[String],
    report: &Path,
) -> Result<(process::Printed, f64), String> {
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-e", "trace=futex", "-o"]).arg(report);
    for pid in pids {
        command.args(["-p", pid]);
    }
    let mut strace = process::start(command)?;
    // It needs a moment to attach.
    std::thread::sleep(std::time::Duration::from_millis(500));
    strace.still_runs()?;
    let printed = process::run(client, amount.limits())?;
    drop(strace);
    Ok((printed, of_strace(&read(report)?)))
}

/// The column before the call's name and its errors.
pub fn of_strace(report: &str) -> f64 {
    let line = report.lines().find(|line| line.trim_end().ends_with(" futex")).unwrap_or_default();
    line.split_whitespace().nth(3).and_then(|calls| calls.parse().ok()).unwrap_or(0.0)
}
