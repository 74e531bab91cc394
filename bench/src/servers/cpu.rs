//! Processor time of a server (itself and, for PostgreSQL, its children) and the machine's context switches.

use std::fs;

/// Totals since the server's start.
#[derive(Clone, Copy, Default, Debug)]
pub struct Usage {
    /// User and kernel time, seconds.
    pub cpu_s: f64,
    /// Context switches of the machine, clients included.
    pub switches: u64,
}

/// Clock ticks per second of `/proc/PID/stat`; fixed by Linux's interface to user space.
const TICKS_PER_S: f64 = 100.0;

/// What process `pid` and its living children used, and children that it has reaped.
pub fn usage(pid: u32) -> Usage {
    let mut sum = Usage { cpu_s: 0.0, switches: machine_switches() };
    for process in std::iter::once(pid).chain(children(pid)) {
        let Some(ticks) = ticks(process, process == pid) else { continue };
        sum.cpu_s += ticks / TICKS_PER_S;
    }
    sum
}

/// What one process used, seconds; nothing when it is gone.
pub fn of_process(pid: u32) -> Option<f64> {
    Some(ticks(pid, false)? / TICKS_PER_S)
}

/// What this process's children used that it has waited for, seconds.
pub fn of_children() -> f64 {
    let fields = stat(std::process::id()).unwrap_or_default();
    let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) / TICKS_PER_S
}

/// The living children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(child) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else { continue };
        if parent(child) == Some(pid) {
            found.push(child);
        }
    }
    found
}

/// Fields of `/proc/PID/stat` after the command name, which may hold anything.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let rest = &text[text.rfind(')')? + 2..];
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// User and kernel ticks; with those of reaped children for the first process.
fn ticks(pid: u32, with_reaped: bool) -> Option<f64> {
    let fields = stat(pid)?;
    let last = if with_reaped { 15 } else { 13 };
    (11..last).map(|i| fields.get(i)?.parse::<f64>().ok()).sum()
}

/// Context switches of the whole machine since it started: backends that ended keep no count of theirs.
pub fn machine_switches() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("ctxt "));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}
