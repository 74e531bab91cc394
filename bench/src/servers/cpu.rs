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
    let mut cpu_s = 0.0;
    // Who is reaped meanwhile is in neither sum: looked at again.
    for _ in 0..LOOKS {
        let before = reaped(pid).unwrap_or(0.0);
        let living = std::iter::once(pid).chain(children(pid)).filter_map(of_process);
        cpu_s = before + living.sum::<f64>();
        if reaped(pid).unwrap_or(0.0) == before {
            break;
        }
    }
    Usage { cpu_s, switches: machine_switches() }
}

/// How often a server is looked at whose processes end meanwhile.
const LOOKS: usize = 20;

/// What one process used, seconds; nothing when it is gone. By its living threads in nanoseconds, of which a hundred processes
/// that take a few milliseconds each have no tick to show; by the system's ticks where threads that have ended make those more.
pub fn of_process(pid: u32) -> Option<f64> {
    let ticks = ticks(pid)? / TICKS_PER_S;
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let nanos = threads.filter_map(|thread| {
        let told = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        told.split_whitespace().next()?.parse::<f64>().ok()
    });
    Some(ticks.max(nanos.sum::<f64>() / 1e9))
}

/// What this process's children used that it has waited for, seconds.
pub fn of_children() -> f64 {
    reaped(std::process::id()).unwrap_or(0.0)
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

/// User and kernel ticks of a process, threads that have ended among them.
fn ticks(pid: u32) -> Option<f64> {
    let fields = stat(pid)?;
    (11..13).map(|i| fields.get(i)?.parse::<f64>().ok()).sum()
}

/// What children used that a process has reaped, seconds.
fn reaped(pid: u32) -> Option<f64> {
    let fields = stat(pid)?;
    let ticks: Option<f64> = (13..15).map(|i| fields.get(i)?.parse::<f64>().ok()).sum();
    Some(ticks? / TICKS_PER_S)
}

/// Context switches of the whole machine since it started: backends that ended keep no count of theirs.
pub fn machine_switches() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("ctxt "));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Less than a tick is seen, and what a thread has used that is no more does not go.
    #[test]
    fn less_than_a_tick_is_seen() {
        let own = || of_process(std::process::id()).unwrap();
        let work = |least: Duration| {
            let begun = Instant::now();
            while begun.elapsed() < least {}
        };
        let (mut seen, mut last) = (Vec::new(), own());
        for _ in 0..50 {
            work(Duration::from_millis(5));
            let now = own();
            seen.push(now - last);
            last = now;
        }
        let tick = 1.0 / TICKS_PER_S;
        assert!(seen.iter().any(|used| *used > 0.0 && *used < 0.9 * tick), "{seen:?}");
        let before = own();
        std::thread::spawn(move || work(Duration::from_millis(200))).join().unwrap();
        assert!(own() > before);
        assert_eq!(of_process(u32::MAX), None);
    }
}
