//! The server itself: where it listens, who may come in, its workers.

use crate::settings::Context::{Internal, Start};
use crate::settings::entry::{choice, flag, number, text};
use crate::settings::{Setting, Unit};

pub(super) const SETTINGS: &[Setting] = &[
    choice(
        "authentication",
        "peer",
        &["peer", "trust"],
        Start,
        "How clients show who they are: by the operating system's user, or not at all.",
    ),
    number("authentication_timeout", 60, (1, 600), Unit::Seconds, Start, "Time for a login."),
    flag("integer_datetimes", true, Internal, "Whether times are stored as integers."),
    text(
        "listen_addresses",
        "localhost",
        Start,
        "Addresses to listen on for TCP, separated by commas; empty for none.",
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
        "port",
        5432,
        (1, 65_535),
        Unit::Plain,
        Start,
        "The TCP port, and the number in the unix socket's name.",
    ),
    number(
        "max_prepared_transactions",
        0,
        (0, 0),
        Unit::Plain,
        Internal,
        "Transactions that are prepared to be committed later, at a time.",
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
        "superuser_reserved_connections",
        3,
        (0, 262_143),
        Unit::Plain,
        Start,
        "How many of max_connections only superusers get.",
    ),
    text(
        "unix_socket_directories",
        "/tmp",
        Start,
        "The directory of the unix socket; empty for none.",
    ),
    number(
        "worker_busy_poll",
        100,
        (0, 10_000),
        Unit::Plain,
        Start,
        "For how many microseconds a worker with one client looks for its next request before it sleeps; 0: not at all.",
    ),
    flag(
        "worker_connection_affinity",
        true,
        Start,
        "Whether connections of clients on this machine move to the worker that has others of the same client thread.",
    ),
    flag(
        "worker_core_affinity",
        true,
        Start,
        "Whether each worker keeps to a core of its own while it has several clients; only where workers are as many as cores.",
    ),
    number(
        "worker_threads",
        0,
        (0, 1024),
        Unit::Plain,
        Start,
        "Threads that serve clients; 0 for as many as there are cores.",
    ),
];
