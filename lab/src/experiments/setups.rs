//! Ways to set servers up.

use super::Setup;
use crate::statistics::is_postgres;

/// As it is.
pub fn plain(_: &str) -> Vec<Setup> {
    vec![Setup::default()]
}

/// Pools of the status logs as they are, and of four times their size, where that is a setting: of the logs whose size follows
/// the cache's, four times what it is with 512 MB.
pub fn pool_setups(target: &str) -> Vec<Setup> {
    const LARGE: [&str; 4] = [
        "multixact_member_buffers=128",
        "multixact_offset_buffers=64",
        "subtransaction_buffers=512",
        "transaction_buffers=512",
    ];
    let mut setups = plain(target);
    if target != "pg15" {
        setups.push(Setup { long_only: true, ..setup(LARGE_POOLS, 0, &LARGE) });
    }
    setups
}

/// The name of the latter.
const LARGE_POOLS: &str = "four-times pools";

/// One, two, four … of the machine's cores, and all of them.
pub fn core_setups(_: &str) -> Vec<Setup> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..).map(|power| 1 << power).take_while(|n| *n < all).collect();
    counts.push(all);
    counts.into_iter().map(|n| Setup { cores: Some(n), ..Setup::default() }).collect()
}

/// Segments of one MiB, so that a paced run comes through many.
pub fn small_segments(_: &str) -> Vec<Setup> {
    vec![Setup { settings: vec!["wal_segment_size=1MB".to_owned()], ..Setup::default() }]
}

/// Each replacement policy, past the system's cache, so that a page that went is read from the disk.
pub fn policy_setups(_: &str) -> Vec<Setup> {
    let of =
        |policy| setup(policy, 0, &[&format!("buffer_replacement={policy}"), "direct_io=data"]);
    POLICIES.into_iter().map(of).collect()
}

/// What `buffer_replacement` can be: PostgreSQL's, the seed's, the default.
const POLICIES: [&str; 3] = ["clock", "clock_lruk", DEFAULT_POLICY];
/// The default.
pub const DEFAULT_POLICY: &str = "probation";

const FITS: &str = "fits";
const DOES_NOT_FIT: &str = "does not fit";
const IN_MEMORY: &str = "in memory";
/// Of data whose smallest scale takes 150 MB.
const SMALL_CACHE: &str = "shared_buffers=16MB";
/// Kinds of protection: the name, Thalweg's setting and PostgreSQL's.
const PROTECTIONS: [(&str, &str, Option<&str>); 3] = [
    ("doublewrite", "torn_page_protection=doublewrite", None),
    ("full-page images", "torn_page_protection=full_page_writes", Some("full_page_writes=on")),
    ("no protection", "torn_page_protection=off", Some("full_page_writes=off")),
];

fn setup(name: &str, batch: u32, settings: &[&str]) -> Setup {
    let settings = settings.iter().map(|&s| s.to_owned()).collect();
    Setup { name: name.to_owned(), settings, batch, ..Setup::default() }
}

/// Those of them that are asked about right after a checkpoint.
pub fn checkpoint_setups(target: &str) -> Vec<Setup> {
    let mut setups = protection_setups(target);
    setups.retain(|setup| !is_postgres(target) || setup.name.starts_with("full-page images"));
    setups
}

/// Every protection where the cache holds the data, and where it does not.
fn protection_setups(target: &str) -> Vec<Setup> {
    let mut setups = Vec::new();
    for (batch, (place, cache)) in
        [(FITS, None), (DOES_NOT_FIT, Some(SMALL_CACHE))].into_iter().enumerate()
    {
        for (name, ours, theirs) in PROTECTIONS {
            let protection = if is_postgres(target) { theirs } else { Some(ours) };
            let Some(protection) = protection else { continue };
            let mut setup = setup(&format!("{name}, {place}"), batch as u32, &[protection]);
            setup.settings.extend(cache.map(str::to_owned));
            setup.long_only = target == "pg18" || target == "pg15" && protection.ends_with("off");
            setups.push(setup);
        }
    }
    setups
}

/// These, with the log made durable by fdatasync, PostgreSQL's default too; then the other ways to write the log, and
/// segments of 64 MiB instead of 16; then, in a memory file system, persistent memory, which is an emulation there, beside
/// files there.
pub fn log_setups(target: &str) -> Vec<Setup> {
    let mut setups = protection_setups(target);
    let [doublewrite, images, none] =
        PROTECTIONS.map(|(_, ours, theirs)| match is_postgres(target) {
            true => theirs.unwrap_or_default(),
            false => ours,
        });
    let large = "wal_segment_size=64MB";
    if is_postgres(target) {
        setups.push(Setup {
            long_only: true,
            ..setup("full-page images, 64 MiB segments, fits", 2, &[images, large])
        });
        setups.push(in_memory(setup(&format!("full-page images, {IN_MEMORY}"), 3, &[images])));
        return setups;
    }
    for (way, protection, setting, long_only) in [
        ("doublewrite, mmap", doublewrite, "wal_io=mmap", false),
        ("doublewrite, open_datasync", doublewrite, "wal_sync_method=open_datasync", true),
        ("doublewrite, io_uring", doublewrite, "wal_sync_method=io_uring", true),
        ("doublewrite, 64 MiB segments", doublewrite, large, true),
        ("full-page images, mmap", images, "wal_io=mmap", true),
        ("no protection, mmap", none, "wal_io=mmap", true),
    ] {
        let name = format!("{way}, {FITS}");
        setups.push(Setup { long_only, ..setup(&name, 2, &[protection, setting]) });
    }
    let emulated = "pmem_emulated (an emulation)";
    for (way, protection, io) in [
        ("full-page images".to_owned(), images, "file"),
        ("doublewrite, file".to_owned(), doublewrite, "file"),
        (format!("full-page images, {emulated}"), images, "pmem_emulated"),
        (format!("doublewrite, {emulated}"), doublewrite, "pmem_emulated"),
        (format!("no protection, {emulated}"), none, "pmem_emulated"),
    ] {
        let name = format!("{way}, {IN_MEMORY}");
        setups.push(in_memory(setup(&name, 3, &[protection, &format!("wal_io={io}")])));
    }
    setups
}

/// Memory is short: so is the log.
fn in_memory(mut setup: Setup) -> Setup {
    setup.settings.push("max_wal_size=512MB".to_owned());
    Setup { in_memory: true, long_only: true, ..setup }
}
