//! What a session goes by: formats, limits of time, transactions, names.

use crate::settings::Context::{Internal, Superuser, User};
use crate::settings::entry::{choice, flag, number, text};
use crate::settings::{Setting, Unit};

use super::INT_MAX;

const ISOLATION: &[&str] =
    &["serializable", "repeatable read", "read committed", "read uncommitted"];

pub(super) const SETTINGS: &[Setting] = &[
    text("application_name", "", User, "The client program's name, shown to others."),
    choice(
        "bytea_output",
        "hex",
        &["escape", "hex"],
        User,
        "How values of type bytea are written as text.",
    ),
    choice(
        "client_encoding",
        "UTF8",
        crate::types::encoding::NAMES,
        User,
        "The client's character set.",
    ),
    choice(
        "client_min_messages",
        "notice",
        &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"],
        User,
        "The least severe messages that are sent to the client.",
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
    number(
        "extra_float_digits",
        1,
        (-15, 3),
        Unit::Plain,
        User,
        "Digits of floating-point values: above zero the shortest exact form, else fewer.",
    ),
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
    number(
        "lock_timeout",
        0,
        (0, INT_MAX),
        Unit::Milliseconds,
        User,
        "How long a statement may wait for a lock; 0 for ever.",
    ),
    flag("row_security", true, User, "Changes nothing: there are no row security policies."),
    text(
        "search_path",
        "\"$user\", public",
        User,
        "Schemas that names without one are looked up in.",
    ),
    flag(
        "standard_conforming_strings",
        true,
        User,
        "That a backslash in a plain string literal is just that; `off` is refused.",
    ),
    number(
        "statement_timeout",
        0,
        (0, INT_MAX),
        Unit::Milliseconds,
        User,
        "How long a statement may run; 0 for ever.",
    ),
    text("TimeZone", "Etc/UTC", User, "The session's time zone."),
    choice(
        "transaction_isolation",
        "read committed",
        ISOLATION,
        User,
        "The isolation level of the running transaction.",
    ),
    flag("transaction_read_only", false, User, "Whether the running transaction may not write."),
];
