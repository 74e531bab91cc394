//! The table of settings, by name.

use super::{Context, Kind, Setting, Unit};
use Context::{Internal, Reload, Start, Superuser, User};

/// Largest value of settings that PostgreSQL keeps in a signed 32-bit number.
const INT_MAX: i64 = i32::MAX as i64;

const fn flag(
    name: &'static str,
    default: bool,
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Bool { default }, context, summary }
}

const fn text(
    name: &'static str,
    default: &'static str,
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Text { default }, context, summary }
}

const fn choice(
    name: &'static str,
    default: &'static str,
    of: &'static [&'static str],
    context: Context,
    summary: &'static str,
) -> Setting {
    Setting { name, kind: Kind::Choice { default, of }, context, summary }
}

const fn number(
    name: &'static str,
    default: i64,
    range: (i64, i64),
    unit: Unit,
    context: Context,
    summary: &'static str,
) -> Setting {
    let kind = Kind::Integer { default, min: range.0, max: range.1, unit };
    Setting { name, kind, context, summary }
}

/// Range of the caches of status logs, in pages.
const SLRU_BUFFERS: (i64, i64) = (0, 131_072);

const ISOLATION: &[&str] =
    &["serializable", "repeatable read", "read committed", "read uncommitted"];

/// Every setting, by name without regard to case.
pub const TABLE: &[Setting] = &[
    text("application_name", "", User, "The client program's name, shown to others."),
    choice(
        "authentication",
        "peer",
        &["peer", "trust"],
        Start,
        "How clients show who they are: by the operating system's user, or not at all.",
    ),
    number(
        "authentication_timeout",
        60,
        (1, 600),
        Unit::Seconds,
        Start,
        "How long a client may take to say who it is.",
    ),
    number("block_size", 8192, (8192, 8192), Unit::Plain, Internal, "Bytes in a page."),
    choice(
        "bytea_output",
        "hex",
        &["escape", "hex"],
        User,
        "How values of type bytea are written as text.",
    ),
    number(
        "checkpoint_timeout",
        300,
        (30, 86_400),
        Unit::Seconds,
        Start,
        "Longest time between two checkpoints.",
    ),
    choice("client_encoding", "UTF8", &["UTF8"], User, "The client's character set."),
    choice(
        "client_min_messages",
        "notice",
        &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"],
        User,
        "The least severe messages that are sent to the client.",
    ),
    number(
        "commit_timestamp_buffers",
        0,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of commit timestamps; 0 takes a 512th of shared_buffers.",
    ),
    text(
        "DateStyle",
        "ISO, MDY",
        User,
        "How dates are written, and in which order an ambiguous one is read.",
    ),
    number(
        "deadlock_timeout",
        1000,
        (1, INT_MAX),
        Unit::Milliseconds,
        Superuser,
        "How long a statement waits for a lock before it looks whether the wait can ever end.",
    ),
    choice(
        "default_transaction_isolation",
        "read committed",
        ISOLATION,
        User,
        "The isolation level of new transactions.",
    ),
    flag("default_transaction_read_only", false, User, "Whether new transactions may not write."),
    flag("enable_bitmapscan", true, User, "Whether the planner considers bitmap scans."),
    flag("enable_hashagg", true, User, "Whether the planner considers grouping by hashing."),
    flag("enable_hashjoin", true, User, "Whether the planner considers hash joins."),
    flag("enable_indexonlyscan", true, User, "Whether the planner considers index-only scans."),
    flag("enable_indexscan", true, User, "Whether the planner considers index scans."),
    flag("enable_mergejoin", true, User, "Whether the planner considers merge joins."),
    flag("enable_nestloop", true, User, "Whether the planner considers nested-loop joins."),
    flag("enable_seqscan", true, User, "Whether the planner considers sequential scans."),
    flag("enable_sort", true, User, "Whether the planner considers explicit sorts."),
    number(
        "extra_float_digits",
        1,
        (-15, 3),
        Unit::Plain,
        User,
        "Digits of floating-point values: above zero the shortest exact form, else fewer.",
    ),
    Setting {
        name: "hash_mem_multiplier",
        kind: super::Kind::Real { default: 2.0, min: 1.0, max: 1000.0 },
        context: User,
        summary: "How many times work_mem a hash table may take.",
    },
    number(
        "idle_in_transaction_session_timeout",
        0,
        (0, INT_MAX),
        Unit::Milliseconds,
        User,
        "How long a session may idle inside a transaction before it is ended; 0 for ever.",
    ),
    number(
        "idle_session_timeout",
        0,
        (0, INT_MAX),
        Unit::Milliseconds,
        User,
        "How long a session may idle outside a transaction before it is ended; 0 for ever.",
    ),
    flag("in_hot_standby", false, Internal, "Whether the server follows another."),
    flag("integer_datetimes", true, Internal, "Whether times are stored as integers."),
    choice(
        "IntervalStyle",
        "postgres",
        &["postgres", "postgres_verbose", "sql_standard", "iso_8601"],
        User,
        "How intervals are written.",
    ),
    flag("is_superuser", true, Internal, "Whether the session's role may do everything."),
    text("lc_collate", "C", Internal, "The order of text."),
    text("lc_ctype", "C", Internal, "The classes of characters."),
    text(
        "listen_addresses",
        "localhost",
        Start,
        "Addresses to listen on for TCP, separated by commas; empty for none.",
    ),
    number(
        "lock_timeout",
        0,
        (0, INT_MAX),
        Unit::Milliseconds,
        User,
        "How long a statement may wait for a lock; 0 for ever.",
    ),
    number(
        "maintenance_work_mem",
        65_536,
        (1024, INT_MAX),
        Unit::KiB,
        User,
        "Memory of building an index.",
    ),
    number("max_connections", 10_000, (1, 262_143), Unit::Plain, Start, "Sessions at a time."),
    number(
        "max_identifier_length",
        63,
        (63, 63),
        Unit::Plain,
        Internal,
        "Bytes of a name that count.",
    ),
    number(
        "max_wal_size",
        1024,
        (2, INT_MAX),
        Unit::MiB,
        Start,
        "Log that may gather between two checkpoints.",
    ),
    number(
        "multixact_member_buffers",
        32,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of the members of multixacts.",
    ),
    number(
        "multixact_offset_buffers",
        16,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of the index of multixacts.",
    ),
    number(
        "notify_buffers",
        16,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of notifications.",
    ),
    number(
        "port",
        5432,
        (1, 65_535),
        Unit::Plain,
        Start,
        "The TCP port, and the number in the unix socket's name.",
    ),
    flag("row_security", true, User, "Whether row security policies apply."),
    text(
        "search_path",
        "\"$user\", public",
        User,
        "Schemas that names without one are looked up in.",
    ),
    number(
        "serializable_buffers",
        32,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of finished serializable transactions.",
    ),
    text("server_encoding", "UTF8", Internal, "The character set that text is stored in."),
    text(
        "server_version",
        concat!("15.0 (Thalweg ", env!("CARGO_PKG_VERSION"), ")"),
        Internal,
        "The version of PostgreSQL whose behaviour is the model, and our own.",
    ),
    number(
        "server_version_num",
        150_000,
        (150_000, 150_000),
        Unit::Plain,
        Internal,
        "The version of PostgreSQL whose behaviour is the model, as a number.",
    ),
    number(
        "shared_buffers",
        16_384,
        (16, INT_MAX / 2),
        Unit::Pages,
        Start,
        "Memory for pages of tables and indexes.",
    ),
    flag(
        "standard_conforming_strings",
        true,
        User,
        "Whether a backslash in a plain string literal is just that.",
    ),
    number(
        "statement_timeout",
        0,
        (0, INT_MAX),
        Unit::Milliseconds,
        User,
        "How long a statement may run; 0 for ever.",
    ),
    number(
        "subtransaction_buffers",
        0,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of the subtransaction log; 0 takes a 512th of shared_buffers.",
    ),
    number(
        "superuser_reserved_connections",
        3,
        (0, 262_143),
        Unit::Plain,
        Start,
        "How many of max_connections only superusers get.",
    ),
    choice(
        "synchronous_commit",
        "on",
        &["local", "remote_write", "remote_apply", "on", "off"],
        User,
        "Whether a commit is told only once it is durable.",
    ),
    number(
        "temp_file_limit",
        -1,
        (-1, INT_MAX),
        Unit::KiB,
        Superuser,
        "Disk space that a session's temporary files may take; -1 for no limit.",
    ),
    text("TimeZone", "Etc/UTC", User, "The session's time zone."),
    choice(
        "torn_page_protection",
        "doublewrite",
        &["doublewrite", "full_page_writes", "off"],
        Reload,
        "How pages survive a write that power loss cuts short.",
    ),
    number(
        "transaction_buffers",
        0,
        SLRU_BUFFERS,
        Unit::Pages,
        Start,
        "Memory for pages of the transaction status log; 0 takes a 512th of shared_buffers.",
    ),
    choice(
        "transaction_isolation",
        "read committed",
        ISOLATION,
        User,
        "The isolation level of the running transaction.",
    ),
    flag("transaction_read_only", false, User, "Whether the running transaction may not write."),
    text(
        "unix_socket_directories",
        "/tmp",
        Start,
        "The directory of the unix socket; empty for none.",
    ),
    number(
        "wal_buffers",
        2048,
        (8, 262_143),
        Unit::Pages,
        Start,
        "Memory for log not yet written.",
    ),
    choice(
        "wal_compression",
        "off",
        &["lz4", "zstd", "on", "off"],
        Reload,
        "How whole pages in the log are packed; on takes lz4.",
    ),
    number(
        "wal_insert_slots",
        0,
        (0, 256),
        Unit::Plain,
        Start,
        "Slots for inserting into the log at the same time; 0 for twice the cores.",
    ),
    number(
        "wal_segment_size",
        16,
        (1, 1024),
        Unit::MiB,
        Start,
        "Size of a file of the log, a power of two; counts when the directory is made.",
    ),
    number("work_mem", 4096, (64, INT_MAX), Unit::KiB, User, "Memory of one sort or hash table."),
    number(
        "worker_threads",
        0,
        (0, 1024),
        Unit::Plain,
        Start,
        "Threads that serve clients; 0 for as many as there are cores.",
    ),
];
