//! Resident memory of a server.

use super::cpu::children;
use std::fs;

/// KiB resident in a process and its living children, shared memory once.
pub fn resident_kib(pid: u32) -> Result<u64, String> {
    let own = field(pid, "VmRSS:").ok_or_else(|| format!("process {pid} is gone"))?;
    let mut shared = field(pid, "RssShmem:").unwrap_or(0);
    let mut private = own - shared;
    for child in children(pid) {
        private += field(child, "RssAnon:").unwrap_or(0);
        shared = shared.max(field(child, "RssShmem:").unwrap_or(0));
    }
    Ok(private + shared)
}

/// A line of `/proc/PID/status` that tells KiB.
fn field(pid: u32, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
