//! What the machine has, as far as this process may use it.

use std::path::{Component, Path};

use crate::config::PAGE_BYTES;

const MIB: u64 = 1 << 20;
/// The cache's share of the memory: the rest is for sessions and the system's own cache.
const SHARE: u64 = 4;
/// The cache takes no less, the default where nobody measures.
const LEAST_BYTES: u64 = 128 * MIB;
/// The cache takes no more unless it is told to: a start that touches every frame's line stays short.
const MOST_BYTES: u64 = 16 * 1024 * MIB;

/// What `shared_buffers` is, in pages, where nobody says: a quarter of the memory, within limits.
pub(crate) fn buffers() -> i64 {
    let installed = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let limit = std::fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|groups| least_limit(&groups, Path::new("/sys/fs/cgroup")));
    share(installed.into_iter().chain(limit).min())
}

fn share(memory: Option<u64>) -> i64 {
    let bytes = memory.map_or(LEAST_BYTES, |memory| memory / SHARE);
    // Whole mebibytes: `SHOW` tells a number that people can read.
    let bytes = bytes.clamp(LEAST_BYTES, MOST_BYTES) / MIB * MIB;
    (bytes / PAGE_BYTES as u64) as i64
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The least limit of the process's control groups (`/proc/self/cgroup`) and those around them, below `root`. A
/// number beyond all memory, which stands for none, does no harm.
fn least_limit(groups: &str, root: &Path) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (top, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut group = top.clone();
        // Within a container the group's own directory may not be in sight; the top one then holds its limit.
        let names = Path::new(path).components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        least = least.into_iter().chain(limit_of(&group.join(file))).min();
        for name in names {
            group.push(name);
            least = least.into_iter().chain(limit_of(&group.join(file))).min();
        }
    }
    least
}

/// A limit, unless there is none (`max`).
fn limit_of(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_a_quarter_within_limits() {
        let mib = |pages: i64| pages as u64 * PAGE_BYTES as u64 / MIB;
        assert_eq!(mib(share(None)), 128);
        assert_eq!(mib(share(Some(64 * MIB))), 128);
        assert_eq!(mib(share(Some(4000 * MIB + 12_345))), 1000);
        assert_eq!(mib(share(Some(u64::MAX))), 16 * 1024);
        assert_eq!(total("MemTotal:       24521332 kB\nMemFree: 1 kB\n"), Some(24_521_332 << 10));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn the_least_limit_of_all_groups_around_counts() {
        let root = std::env::temp_dir().join(format!("thalweg-cgroup-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("a/memory.max", "3000\n");
        write("a/b/memory.max", "max\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/c/d/memory.limit_in_bytes", "4000\n");
        assert_eq!(least_limit("0::/a/b\n", &root), Some(3000));
        assert_eq!(least_limit("9:name=systemd:/\n4:cpu,memory:/c/d\n", &root), Some(4000));
        assert_eq!(least_limit("4:memory:/c/d\n0::/a\n", &root), Some(3000));
        assert_eq!(least_limit("0::/elsewhere\n", &root), None);
        std::fs::remove_dir_all(root).unwrap();
    }
}
