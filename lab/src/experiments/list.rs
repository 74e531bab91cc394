//! Every experiment there is.

use crate::seeds::Published;

use super::{Course, Experiment, Form, Kind, Load, Plan, Script, Setup, THROUGHPUT, WORST_LATENCY};

const PEERS: &[&str] = &["thalweg", "pg15", "pg18"];
const WITH_CEILING: &[&str] = &["thalweg", "pg15", "pg18", "canned"];

/// A cache that holds the data, checkpoints out of the way of short runs: the same for everybody.
const ROOMY: &[&str] = bench::servers::ROOMY;
/// Room for as many clients as a process each allows; Thalweg and the canned replies go further.
const CROWDED: &[&str] = &["max_connections=10100", "shared_buffers=512MB", "max_wal_size=4GB"];
/// A fortieth of the data, or as near as the scale allows.
const TIGHT: &[&str] =
    &["max_connections=100", "shared_buffers=8MB", "max_wal_size=1GB", "checkpoint_timeout=30s"];
const TPCC: &[&str] = &[
    "max_connections=100",
    "shared_buffers=64MB",
    "max_wal_size=4GB",
    "listen_addresses=127.0.0.1",
];

const READ: Load = Load {
    name: "",
    script: Script::BuiltIn("select-only"),
    options: "",
    pace: None,
    beside: None,
    sampling: 0.05,
    before: &[],
};

const WRITE: Load = Load {
    script: Script::BuiltIn("tpcb-like"),
    options: "-c synchronous_commit=on",
    sampling: 0.2,
    before: &["truncate pgbench_history", "checkpoint"],
    ..READ
};

const WRITE_ASYNC: Load = Load { options: "-c synchronous_commit=off", ..WRITE };

const PACED: Load = Load {
    options: "-c synchronous_commit=off",
    pace: Some(125),
    sampling: 1.0,
    before: &[],
    ..READ
};

fn plain(_: &str) -> Vec<Setup> {
    vec![Setup::default()]
}

fn setup(name: &str, settings: &[&str]) -> Setup {
    let settings = settings.iter().map(|&s| s.to_owned()).collect();
    Setup { name: name.to_owned(), settings, cores: None }
}

/// Protection of pages from torn writes, and how the log comes into its files and is made durable. PostgreSQL's default
/// is fdatasync too. Persistent memory is an emulation, refused but on a memory file system.
fn log_setups(target: &str) -> Vec<Setup> {
    if crate::statistics::is_postgres(target) {
        return vec![
            setup("full-page images, fdatasync", &["full_page_writes=on"]),
            setup("no protection, fdatasync", &["full_page_writes=off"]),
        ];
    }
    let mut setups = Vec::new();
    for (name, protection) in [
        ("doublewrite", "doublewrite"),
        ("full-page images", "full_page_writes"),
        ("no protection", "off"),
    ] {
        for (way, setting) in [
            ("fdatasync", "wal_sync_method=fdatasync"),
            ("open_datasync", "wal_sync_method=open_datasync"),
            ("io_uring", "wal_sync_method=io_uring"),
            ("mmap", "wal_io=mmap"),
            ("pmem_emulated (an emulation)", "wal_io=pmem_emulated"),
        ] {
            let mut setup = setup(&format!("{name}, {way}"), &[setting]);
            setup.settings.push(format!("torn_page_protection={protection}"));
            setups.push(setup);
        }
    }
    setups
}

/// One, two, four … of the machine's cores, and all of them.
fn core_setups(_: &str) -> Vec<Setup> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..).map(|power| 1 << power).take_while(|n| *n < all).collect();
    counts.push(all);
    counts.into_iter().map(|n| Setup { cores: Some(n), ..Setup::default() }).collect()
}

const EXP1: (&str, &str) = ("exp1_subtrans_overflow", "head");
const EXP2: (&str, &str) = ("exp2_multixact", "head");
const LARGE: (&str, &str) = ("scale5000_fpw_on", "master");

const fn published(
    label: &'static str,
    of: (&'static str, &'static str),
    over: (&'static str, &'static str),
) -> Published {
    Published { label, of, over }
}

const fn form(scale: u32, seconds: u32, rounds: u32, clients: &'static [u32]) -> Form {
    Form { scale, seconds, rounds, clients }
}

/// In the order in which they run.
pub static ALL: &[Experiment] = &[
    CEILING,
    SCALE_CLIENTS,
    S1_SUBTRANS,
    S1_MULTIXACT,
    S2_WAL_PADDING,
    LOG_PATHS,
    S3_LATENCY,
    S3_TPCC,
    S4_HASH,
    S5_WAL_IO,
    SCALE_CORES,
];

const CEILING: Experiment = Experiment {
    name: "ceiling",
    title: "How near the ceiling",
    question: "How much of what this machine, its sockets and pgbench allow does each server use? \
               The ceiling answers the same bytes and does no work.",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[],
    own_baseline: None,
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: WITH_CEILING,
        settings: ROOMY,
        setups: plain,
        init: &[],
        prepare: &[],
        loads: &[
            Load { name: "point reads", ..READ },
            Load { name: "TPC-B, synchronous commit", ..WRITE },
        ],
        short: form(10, 2, 2, &[64]),
        long: form(10, 5, 3, &[1, 8, 32, 64, 128]),
    }),
};

const SCALE_CLIENTS: Experiment = Experiment {
    name: "scale-clients",
    title: "From one connection to ten thousand",
    question: "What happens to throughput when ever more connections are open and at work, without a pooler?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: true,
    seeds: &[],
    own_baseline: None,
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: WITH_CEILING,
        settings: CROWDED,
        setups: plain,
        init: &[],
        prepare: &[],
        loads: &[READ],
        short: form(10, 2, 2, &[1, 128, 1000, 10_000]),
        long: form(10, 8, 3, &[1, 4, 16, 64, 256, 1000, 2000, 5000, 10_000]),
    }),
};

const S1_SUBTRANS: Experiment = Experiment {
    name: "s1-subtrans",
    title: "A transaction of seventy savepoints held open",
    question: "Does one client that holds seventy savepoints open slow everybody down? The control sends the \
               same inserts without savepoints.",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[
        published("S1 banks", ("exp1_subtrans_overflow", "banks"), EXP1),
        published("S1 banks, locks, LRU", ("exp1_subtrans_overflow", "banks_locks_lru"), EXP1),
    ],
    own_baseline: Some("control"),
    over_time: &[Course::Throughput],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: plain,
        init: &[],
        prepare: &["CREATE TABLE test (a int)"],
        loads: &[
            Load {
                name: "control",
                beside: Some(include_str!("../../s1-subtrans/control.sql")),
                before: &["truncate test", "truncate pgbench_history", "checkpoint"],
                ..WRITE_ASYNC
            },
            Load {
                name: "savepoints",
                beside: Some(include_str!("../../s1-subtrans/savepoints.sql")),
                before: &["truncate test", "truncate pgbench_history", "checkpoint"],
                ..WRITE_ASYNC
            },
        ],
        short: form(10, 2, 2, &[8, 64]),
        long: form(50, 7, 5, &[1, 8, 32, 64, 128]),
    }),
};

const S1_MULTIXACT: Experiment = Experiment {
    name: "s1-multixact",
    title: "Locked, then updated behind a savepoint",
    question: "Does throughput fall as clients are added when each row is locked and then updated in a \
               subtransaction, beside a transaction that lasts ten seconds?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[
        published("S1 banks", ("exp2_multixact", "banks"), EXP2),
        published("S1 banks, locks", ("exp2_multixact", "banks_locks"), EXP2),
    ],
    own_baseline: None,
    over_time: &[Course::Throughput],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: plain,
        init: &[],
        prepare: &["CREATE TABLE pgbench_test (a int)"],
        loads: &[Load {
            script: Script::Text(include_str!("../../s1-multixact/lockers.sql")),
            beside: Some(include_str!("../../s1-multixact/long.sql")),
            ..WRITE_ASYNC
        }],
        short: form(10, 2, 2, &[8, 32, 128]),
        long: form(50, 12, 3, &[1, 8, 32, 64, 128]),
    }),
};

const S2_WAL_PADDING: Experiment = Experiment {
    name: "s2-wal-padding",
    title: "The log's control words, packed and padded",
    question: "Does it matter to ever more sessions at once whether the words that the log's insertions share lie \
               on the same cache lines, and whether insertions lock the log or reserve their place?",
    axis: "sessions",
    measure: super::Measure { label: "insertions per second", ..THROUGHPUT },
    read_only: true,
    seeds: &[
        published("S2 padding", ("wal_padding", "padding"), ("wal_padding", "master")),
        published(
            "S2 flexlock, padding",
            ("wal_padding", "flexlock_padding"),
            ("wal_padding", "flexlock"),
        ),
    ],
    own_baseline: Some("one lock, packed"),
    over_time: &[],
    kind: Kind::Paths("wal_padding"),
};

const LOG_PATHS: Experiment = Experiment {
    name: "log-paths",
    title: "The log's insertion paths",
    question: "What does one insertion into the log cost, and what do two sessions at once cost each other?",
    axis: "threads",
    measure: super::Measure { label: "operations per second", ..THROUGHPUT },
    read_only: true,
    seeds: &[],
    own_baseline: None,
    over_time: &[],
    kind: Kind::Paths("wal_paths"),
};

const S3_LATENCY: Experiment = Experiment {
    name: "s3-latency",
    title: "Steady under a steady load",
    question: "When clients start 125 transactions a second on data far larger than the cache, how long do the \
               slowest take, and is the writing in the background steady?",
    axis: "clients",
    measure: WORST_LATENCY,
    read_only: false,
    seeds: &[],
    own_baseline: None,
    over_time: &[Course::Latency, Course::Dirty, Course::Cleaned],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: TIGHT,
        setups: plain,
        init: &["--unlogged-tables"],
        prepare: &[],
        loads: &[
            Load {
                name: "uniform",
                script: Script::Text(include_str!("../../s3-latency/uniform.sql")),
                ..PACED
            },
            Load {
                name: "Gaussian",
                script: Script::Text(include_str!("../../s3-latency/gaussian.sql")),
                ..PACED
            },
            Load {
                name: "Zipf 1.1",
                script: Script::Text(include_str!("../../s3-latency/zipf.sql")),
                ..PACED
            },
        ],
        short: form(20, 5, 2, &[8]),
        long: form(50, 40, 2, &[1, 8, 32]),
    }),
};

const S3_TPCC: Experiment = Experiment {
    name: "s3-tpcc",
    title: "TPC-C",
    question: "How do the servers do under TPC-C's mix, which has hot and cold pages of every kind?",
    axis: "clients",
    measure: super::Measure { label: "transactions of all kinds per second", ..THROUGHPUT },
    read_only: false,
    seeds: &[],
    own_baseline: None,
    over_time: &[Course::Dirty, Course::Cleaned],
    kind: Kind::Tpcc(Plan {
        targets: PEERS,
        settings: TPCC,
        setups: plain,
        init: &[],
        prepare: &[],
        loads: &[Load { name: "", ..READ }],
        // The scale is the number of warehouses.
        short: form(1, 8, 2, &[8]),
        long: form(10, 30, 3, &[1, 8, 32]),
    }),
};

const S4_HASH: Experiment = Experiment {
    name: "s4-hash",
    title: "Point reads through a hash index",
    question: "Does a hash index keep up with a B-tree, and with more clients, on point reads?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[published("S4 patch", ("hash_metapage", "patch"), ("hash_metapage", "master"))],
    own_baseline: Some("B-tree"),
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: plain,
        init: &[],
        prepare: &[
            "CREATE TABLE accounts_hash AS SELECT * FROM pgbench_accounts",
            "CREATE INDEX accounts_hash_aid ON accounts_hash USING hash (aid)",
            "VACUUM ANALYZE accounts_hash",
        ],
        loads: &[
            Load {
                name: "B-tree",
                script: Script::Text(include_str!("../../s4-hash/btree.sql")),
                ..READ
            },
            Load {
                name: "hash",
                script: Script::Text(include_str!("../../s4-hash/hash.sql")),
                ..READ
            },
        ],
        short: form(10, 2, 2, &[8, 64]),
        long: form(50, 8, 3, &[1, 8, 16, 32, 64, 80, 128]),
    }),
};

const S5_WAL_IO: Experiment = Experiment {
    name: "s5-wal-io",
    title: "Protection from torn pages, and ways to make the log durable",
    question: "What do protection from torn pages and the way in which the log is made durable cost?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[
        published("S5 mmap, with images", ("scale5000_fpw_on", "mmap_segments"), LARGE),
        published("S5 file, no images", ("scale5000_fpw_off", "master"), LARGE),
        published("S5 mmap, no images", ("scale5000_fpw_off", "mmap_segments"), LARGE),
    ],
    own_baseline: Some("full-page images, fdatasync"),
    over_time: &[Course::Fsyncs],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: log_setups,
        init: &[],
        prepare: &[],
        loads: &[WRITE],
        short: form(10, 2, 2, &[32]),
        long: form(50, 7, 3, &[1, 32, 64]),
    }),
};

const SCALE_CORES: Experiment = Experiment {
    name: "scale-cores",
    title: "From one core to all",
    question: "How does throughput grow with the cores that the server may use? Clients have the whole machine.",
    axis: "cores",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[],
    own_baseline: None,
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: core_setups,
        init: &[],
        prepare: &[],
        loads: &[
            Load { name: "point reads", ..READ },
            Load { name: "TPC-B, asynchronous commit", ..WRITE_ASYNC },
        ],
        short: form(10, 2, 2, &[64]),
        long: form(50, 10, 3, &[128]),
    }),
};
