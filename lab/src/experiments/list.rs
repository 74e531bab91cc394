//! Every experiment there is.

use crate::seeds::Published;

use super::setups::{
    checkpoint_setups, core_setups, log_setups, plain, policy_setups, pool_setups, small_segments,
};
use super::{
    AVERAGE_LATENCY, Baseline, Beside, Course, Experiment, Form, Kind, Load, PROCESSOR, Paths,
    Plan, Round, Script, TAIL_LATENCY, THROUGHPUT, WORST_LATENCY, checks,
};

const PEERS: &[&str] = &["thalweg", "pg15", "pg18"];
const WITH_CEILING: &[&str] = &["thalweg", "pg15", "pg18", "canned"];

/// A cache that holds pgbench's tables of scale 20 (300 MB) and what they grow by, checkpoints out of the way of short runs: the
/// same for everybody.
const ROOMY: &[&str] = bench::servers::ROOMY;
/// Room for as many clients as a process each allows; Thalweg and the canned replies go further.
const CROWDED: &[&str] = &["max_connections=10100", "shared_buffers=512MB", "max_wal_size=4GB"];
/// A fortieth of the data, or as near as the scale allows.
const TIGHT: &[&str] =
    &["max_connections=100", "shared_buffers=8MB", "max_wal_size=1GB", "checkpoint_timeout=30s"];
/// Checkpoints every half minute.
const CHECKPOINTED: &[&str] =
    &["max_connections=100", "shared_buffers=512MB", "max_wal_size=1GB", "checkpoint_timeout=30s"];
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
    pace: Some(checks::PACE),
    sampling: 1.0,
    before: &[],
    ..READ
};

/// The seed's statements over accounts that are used alike, and ever less alike.
const SKEWS: &[Load] = &[
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
];

/// Seventy rows a transaction.
const HELD_OPEN: Beside =
    Beside { script: "", lasting: false, done: "select count(*) / 70 from pgbench_savepoints" };

const EXP1: (&str, &str) = ("exp1_subtrans_overflow", "head");
const EXP2: (&str, &str) = ("exp2_multixact", "head");
const LARGE: (&str, &str) = ("scale5000_fpw_on", "master");
const SMALL: (&str, &str) = ("scale500_fpw_on", "master");

const fn published(
    label: &'static str,
    of: (&'static str, &'static str),
    over: (&'static str, &'static str),
) -> Published {
    Published { label, measure: THROUGHPUT, of, over }
}

const fn form(scale: u32, seconds: u32, rounds: u32, clients: &'static [u32]) -> Form {
    Form { scale, seconds, rounds, clients }
}

/// What is measured alike in both forms, in a quarter of a minute.
const fn paths(program: &'static str, short: Round, long: Round) -> Kind {
    Kind::Paths(Paths { program, feature: None, short, long })
}

/// What most plans have.
const PLAIN: Plan = Plan {
    targets: PEERS,
    settings: ROOMY,
    setups: plain,
    init: &[],
    prepare: &[],
    loads: &[],
    bare: &[],
    counts: false,
    instructions: false,
    short: form(10, 2, 2, &[]),
    long: form(20, 8, 3, &[]),
};

/// In the order in which they run.
pub static ALL: &[Experiment] = &[
    CEILING,
    SCALE_CLIENTS,
    S1_SUBTRANS,
    S1_MULTIXACT,
    S1_LOOKUPS,
    S2_WAL_PADDING,
    LOG_PATHS,
    WAL_COMMITS,
    COMMIT_LATENCY,
    PER_TRANSACTION,
    S3_LATENCY,
    S3_TPCC,
    S3_POLICIES,
    S3_POLICIES_TPCC,
    S4_HASH,
    S4_PROTOCOLS,
    S5_WAL_IO,
    S5_CHECKPOINT,
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
    ratios_say: None,
    checks: checks::ceiling,
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
        long: form(10, 4, 3, &[1, 64, 128]),
        ..PLAIN
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
    ratios_say: None,
    checks: checks::none,
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: WITH_CEILING,
        settings: CROWDED,
        setups: plain,
        init: &[],
        prepare: &[],
        loads: &[READ],
        short: form(10, 2, 2, &[1000, 10_000]),
        long: form(10, 6, 3, &[1, 64, 1000, 2000, 5000, 10_000]),
        ..PLAIN
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
        published("S1 banks / its head", ("exp1_subtrans_overflow", "banks"), EXP1),
        published(
            "S1 banks, locks, LRU / its head",
            ("exp1_subtrans_overflow", "banks_locks_lru"),
            EXP1,
        ),
    ],
    own_baseline: Some(Baseline::Last("control")),
    ratios_say: Some([
        "Ours: with savepoints over without. Below 1 is what they cost everybody.",
        "The thread's: its patch over its unpatched server. Above 1 is what the patch gains.",
    ]),
    checks: checks::none,
    over_time: &[Course::Throughput],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: pool_setups,
        init: &[],
        prepare: &["CREATE TABLE pgbench_savepoints (a int)"],
        loads: &[
            Load {
                name: "control",
                beside: Some(Beside {
                    script: include_str!("../../s1-subtrans/control.sql"),
                    ..HELD_OPEN
                }),
                before: &["truncate pgbench_savepoints", "truncate pgbench_history", "checkpoint"],
                ..WRITE_ASYNC
            },
            Load {
                name: "savepoints",
                beside: Some(Beside {
                    script: include_str!("../../s1-subtrans/savepoints.sql"),
                    ..HELD_OPEN
                }),
                before: &["truncate pgbench_savepoints", "truncate pgbench_history", "checkpoint"],
                ..WRITE_ASYNC
            },
        ],
        short: form(10, 2, 2, &[64]),
        long: form(20, 3, 3, &[1, 8, 64, 128]),
        ..PLAIN
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
        published("S1 banks / its head", ("exp2_multixact", "banks"), EXP2),
        published("S1 banks, locks / its head", ("exp2_multixact", "banks_locks"), EXP2),
    ],
    own_baseline: None,
    ratios_say: None,
    checks: checks::none,
    over_time: &[Course::Throughput],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: pool_setups,
        init: &[],
        prepare: &["CREATE TABLE pgbench_test (a int)"],
        loads: &[Load {
            script: Script::Text(include_str!("../../s1-multixact/lockers.sql")),
            beside: Some(Beside {
                script: include_str!("../../s1-multixact/long.sql"),
                lasting: true,
                done: "select count(*) from pgbench_test",
            }),
            ..WRITE_ASYNC
        }],
        short: form(10, 2, 2, &[8, 128]),
        long: form(20, 5, 3, &[1, 8, 64, 128]),
        ..PLAIN
    }),
};

const S1_LOOKUPS: Experiment = Experiment {
    name: "s1-lookups",
    title: "What became of a transaction, asked in process",
    question: "What do banks, a latch for each of them, and counters of use for each of them give to ever more threads that ask \
               the status log?",
    axis: "threads",
    measure: super::Measure { label: "look-ups per second", ..THROUGHPUT },
    read_only: true,
    seeds: &[],
    own_baseline: Some(Baseline::First("one bank, one latch")),
    ratios_say: None,
    checks: checks::none,
    over_time: &[],
    kind: paths(
        "status_lookups",
        Round { arguments: &["--paths", "--rounds", "3", "--lookups", "1000000"], seconds: 15 },
        Round { arguments: &["--paths", "--rounds", "3", "--lookups", "5000000"], seconds: 25 },
    ),
};

const S2_WAL_PADDING: Experiment = Experiment {
    name: "s2-wal-padding",
    title: "The log's control words, packed and padded",
    question: "Does it matter to ever more sessions at once whether the words that the log's insertions share lie \
               on the same cache lines, and whether insertions lock the log or reserve their place?",
    axis: "sessions",
    measure: super::Measure { label: "logs of TPC-B's transactions per second", ..THROUGHPUT },
    read_only: true,
    seeds: &[
        published("S2 padding / its master", ("wal_padding", "padding"), ("wal_padding", "master")),
        published(
            "S2 flexlock, padding / its flexlock",
            ("wal_padding", "flexlock_padding"),
            ("wal_padding", "flexlock"),
        ),
    ],
    own_baseline: Some(Baseline::Last("packed")),
    ratios_say: None,
    checks: checks::none,
    over_time: &[],
    kind: paths(
        "wal_padding",
        Round { arguments: &["chosen", "--rounds", "3"], seconds: 15 },
        Round { arguments: &["chosen", "--rounds", "15"], seconds: 21 },
    ),
};

const LOG_PATHS: Experiment = Experiment {
    name: "log-paths",
    title: "The log's insertion paths",
    question: "What does one insertion into the log cost, and what do ever more sessions at once cost each other?",
    axis: "threads",
    measure: super::Measure { label: "operations per second", ..THROUGHPUT },
    read_only: true,
    seeds: &[],
    own_baseline: None,
    ratios_say: None,
    checks: checks::none,
    over_time: &[],
    kind: paths(
        "wal_paths",
        Round { arguments: &[], seconds: 15 },
        Round { arguments: &[], seconds: 15 },
    ),
};

const S3_LATENCY: Experiment = Experiment {
    name: "s3-latency",
    title: "Steady under a steady load",
    question: "When clients start 125 transactions a second on data far larger than the cache, how long do the \
               slowest take, and is the writing in the background steady?",
    axis: "clients",
    measure: WORST_LATENCY,
    read_only: false,
    // Of the thread there are words, and no figures: less than half, and less than a quarter.
    seeds: &[Published {
        measure: AVERAGE_LATENCY,
        ..published(
            "S3 patch / its master, less than this",
            ("rate_limited_latency", "patch"),
            ("rate_limited_latency", "master"),
        )
    }],
    own_baseline: None,
    ratios_say: None,
    checks: checks::steady,
    over_time: &[Course::Latency, Course::Dirty, Course::Cleaned, Course::Written],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: TIGHT,
        setups: plain,
        init: &["--unlogged-tables"],
        prepare: &[],
        loads: SKEWS,
        short: form(20, 4, 2, &[8]),
        // Of two repetitions each is as far from the median as the other.
        long: form(20, 15, 3, &[1, 8, 32]),
        ..PLAIN
    }),
};

const S3_POLICIES: Experiment = Experiment {
    name: "s3-policies",
    title: "Replacement policies under the seed's load",
    question: "Does the policy by which pages make room change what a steady load waits for, where a page that went is \
               read from the disk?",
    own_baseline: Some(Baseline::First("clock")),
    ratios_say: None,
    checks: checks::policies,
    over_time: &[Course::Latency, Course::Cleaned],
    kind: Kind::Load(Plan {
        targets: &["thalweg"],
        settings: TIGHT,
        setups: policy_setups,
        init: &["--unlogged-tables"],
        loads: SKEWS,
        // In neither unless rounds are asked for: policies are chosen once.
        short: form(20, 4, 0, &[8]),
        long: form(20, 25, 0, &[1, 8, 32]),
        ..PLAIN
    }),
    ..S3_LATENCY
};

const S3_POLICIES_TPCC: Experiment = Experiment {
    name: "s3-policies-tpcc",
    title: "Replacement policies under TPC-C",
    question: "Does the policy by which pages make room change what TPC-C reaches, where a page that went is read from the \
               disk?",
    own_baseline: Some(Baseline::Variant("clock")),
    ratios_say: None,
    checks: checks::policies,
    over_time: &[Course::Throughput],
    kind: Kind::Tpcc(Plan {
        targets: &["thalweg"],
        settings: TPCC,
        setups: policy_setups,
        loads: &[Load { name: "", ..READ }],
        short: form(1, 7, 0, &[8]),
        long: form(4, 30, 0, &[8]),
        ..PLAIN
    }),
    ..S3_TPCC
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
    ratios_say: None,
    checks: checks::written,
    over_time: &[Course::Throughput, Course::Dirty, Course::Cleaned, Course::Written],
    kind: Kind::Tpcc(Plan {
        targets: PEERS,
        settings: TPCC,
        setups: plain,
        init: &[],
        prepare: &[],
        loads: &[Load { name: "", ..READ }],
        // The scale is the number of warehouses.
        short: form(1, 7, 2, &[8]),
        long: form(10, 25, 3, &[8, 32]),
        ..PLAIN
    }),
};

const S4_HASH: Experiment = Experiment {
    name: "s4-hash",
    title: "Point reads through a hash index",
    question: "Does a hash index keep up with a B-tree, and with more clients, on point reads?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[published(
        "S4 patch / its master",
        ("hash_metapage", "patch"),
        ("hash_metapage", "master"),
    )],
    own_baseline: Some(Baseline::Variant("B-tree")),
    ratios_say: None,
    checks: checks::hash_index,
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: PEERS,
        settings: ROOMY,
        setups: plain,
        init: &[],
        prepare: &[
            // Through the cache, which then holds it: what is created as a query's rows is written past it by PostgreSQL.
            "CREATE TABLE pgbench_accounts_hash (LIKE pgbench_accounts)",
            "INSERT INTO pgbench_accounts_hash SELECT * FROM pgbench_accounts",
            "CREATE INDEX pgbench_accounts_hash_aid ON pgbench_accounts_hash USING hash (aid)",
            "VACUUM ANALYZE pgbench_accounts_hash",
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
        // The accounts are there twice.
        long: form(10, 4, 3, &[1, 8, 80, 128]),
        ..PLAIN
    }),
};

const S4_PROTOCOLS: Experiment = Experiment {
    name: "s4-protocols",
    title: "Hash index protocols, in process",
    question: "What do look-ups and inserts of ever more threads gain where a hash index comes to its buckets without the \
               metapage: beside the heavyweight lock on it, beside the seed's patch, and beside a B-tree?",
    axis: "threads",
    measure: super::Measure { label: "operations per second", ..THROUGHPUT },
    read_only: true,
    seeds: &[published(
        "S4 patch / its master",
        ("hash_metapage", "patch"),
        ("hash_metapage", "master"),
    )],
    own_baseline: Some(Baseline::First("hash, master")),
    ratios_say: None,
    checks: checks::hash_protocols,
    over_time: &[],
    kind: Kind::Paths(Paths {
        program: "index_paths",
        feature: Some("lab-hash-protocols"),
        short: Round {
            arguments: &[
                "--paths",
                "--kinds",
                "int",
                "--keys",
                "1000000",
                "--threads",
                "1,2,16",
                "--seconds",
                "0.3",
            ],
            seconds: 26,
        },
        long: Round { arguments: &["--paths", "--seconds", "0.3", "--rounds", "2"], seconds: 100 },
    }),
};

const S5_WAL_IO: Experiment = Experiment {
    name: "s5-wal-io",
    title: "Protection from torn pages, and ways to make the log durable",
    question: "What do protection from torn pages and the way in which the log is made durable cost, where the cache \
               holds the data and where it does not?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[
        published(
            "S5 mmap, with images / file with images, large",
            ("scale5000_fpw_on", "mmap_segments"),
            LARGE,
        ),
        published(
            "S5 file, no images / file with images, large",
            ("scale5000_fpw_off", "master"),
            LARGE,
        ),
        published(
            "S5 mmap, with images / file with images, small",
            ("scale500_fpw_on", "mmap_segments"),
            SMALL,
        ),
        published(
            "S5 file, no images / file with images, small",
            ("scale500_fpw_off", "master"),
            SMALL,
        ),
    ],
    own_baseline: Some(Baseline::First("full-page images")),
    ratios_say: None,
    checks: checks::protection,
    over_time: &[Course::Fsyncs],
    kind: Kind::Load(Plan {
        setups: log_setups,
        loads: &[WRITE],
        short: form(10, 2, 2, &[32]),
        long: form(20, 4, 3, &[1, 64]),
        ..PLAIN
    }),
};

const S5_CHECKPOINT: Experiment = Experiment {
    name: "s5-checkpoint",
    title: "After a checkpoint",
    question: "How much slower is each protection from torn pages right after a checkpoint, when pages are changed for \
               the first time again?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[],
    own_baseline: Some(Baseline::First("full-page images")),
    ratios_say: None,
    checks: checks::after_checkpoint,
    over_time: &[Course::Throughput],
    kind: Kind::Load(Plan {
        targets: &["thalweg", "pg15"],
        setups: checkpoint_setups,
        loads: &[WRITE],
        // Not in it unless rounds are asked for: too long.
        short: form(10, 4, 0, &[32]),
        long: form(20, 30, 3, &[32]),
        ..PLAIN
    }),
};

const WAL_COMMITS: Experiment = Experiment {
    name: "wal-commits",
    title: "What a durable commit takes",
    question: "How many commits share a sync, how near do they come to what the disk allows, and what does each cost in \
               calls of the system?",
    axis: "clients",
    measure: THROUGHPUT,
    read_only: false,
    seeds: &[],
    own_baseline: None,
    ratios_say: None,
    checks: checks::commits,
    over_time: &[Course::Fsyncs],
    kind: Kind::Load(Plan {
        targets: WITH_CEILING,
        prepare: &["CREATE TABLE pgbench_inserts (a bigint, b text)"],
        loads: &[
            Load { name: "TPC-B", ..WRITE },
            Load {
                name: "insert-only",
                script: Script::Text(include_str!("../../wal-commits/insert.sql")),
                before: &["truncate pgbench_inserts", "checkpoint"],
                ..WRITE
            },
        ],
        bare: &[1, 8],
        counts: true,
        short: form(10, 2, 2, &[32]),
        long: form(10, 4, 3, &[1, 8, 32, 128]),
        ..PLAIN
    }),
};

const COMMIT_LATENCY: Experiment = Experiment {
    name: "commit-latency",
    title: "Commits on time, through checkpoints and segments",
    question: "When clients start a steady number of durable transactions a second, does a checkpoint or a change of the \
               log's segment hold any of them up?",
    axis: "clients",
    measure: TAIL_LATENCY,
    read_only: false,
    seeds: &[],
    own_baseline: None,
    ratios_say: None,
    checks: checks::commit_latency,
    over_time: &[Course::Latency, Course::Throughput],
    kind: Kind::Load(Plan {
        targets: &["thalweg", "pg15", "bare-sync"],
        settings: CHECKPOINTED,
        setups: small_segments,
        loads: &[Load { pace: Some(300), sampling: 1.0, before: &[], ..WRITE }],
        // In the short form once. In the long one each run comes through two checkpoints at least, and many segments.
        short: form(10, 12, 1, &[16]),
        long: form(10, 90, 3, &[16]),
        ..PLAIN
    }),
};

const PER_TRANSACTION: Experiment = Experiment {
    name: "per-transaction",
    title: "What a transaction costs that more cores would feel",
    question: "How often does a transaction call on the system to wait or to wake, and what does it use of a processor? \
               What carries over to machines that are not here.",
    axis: "clients",
    measure: PROCESSOR,
    read_only: false,
    seeds: &[],
    own_baseline: None,
    ratios_say: None,
    checks: checks::none,
    over_time: &[],
    kind: Kind::Load(Plan {
        targets: &["thalweg", "thalweg-counting", "pg15", "pg18"],
        loads: &[
            Load { name: "point reads", ..READ },
            Load { name: "TPC-B, synchronous commit", ..WRITE },
        ],
        counts: true,
        instructions: true,
        // Once: what it counts is the same at any length.
        short: form(10, 2, 1, &[64]),
        long: form(10, 5, 3, &[8, 64]),
        ..PLAIN
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
    ratios_say: None,
    checks: checks::none,
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
        long: form(20, 8, 3, &[128]),
        ..PLAIN
    }),
};
