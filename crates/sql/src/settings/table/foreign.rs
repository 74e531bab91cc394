//! PostgreSQL's settings that programs set as a matter of course, pg_dump and drivers among them, and that have
//! nothing to act on here.

use crate::settings::Context::{Superuser, User};
use crate::settings::entry::{choice, flag, number, text};
use crate::settings::{Setting, Unit};

use super::INT_MAX;

pub(super) const SETTINGS: &[Setting] = &[
    flag(
        "check_function_bodies",
        true,
        User,
        "Whether the bodies of functions are checked when those are made; none can be made yet.",
    ),
    choice(
        "constraint_exclusion",
        "partition",
        &["partition", "on", "off"],
        User,
        "Has no effect: there are no partitions.",
    ),
    text(
        "default_table_access_method",
        "heap",
        User,
        "How new tables are stored: there is heap alone.",
    ),
    text("default_tablespace", "", User, "Where new relations lie: there is pg_default alone."),
    text(
        "default_text_search_config",
        "pg_catalog.simple",
        User,
        "Has no effect: there is no full-text search yet.",
    ),
    flag(
        "default_transaction_deferrable",
        false,
        User,
        "Has no effect: there is no SERIALIZABLE yet that could wait.",
    ),
    flag("enable_incremental_sort", true, User, "Has no effect: sorts are whole."),
    flag(
        "enable_memoize",
        true,
        User,
        "Has no effect: a join's inner rows are not remembered by key.",
    ),
    flag("enable_partition_pruning", true, User, "Has no effect: there are no partitions."),
    flag(
        "escape_string_warning",
        true,
        User,
        "Has no effect: nobody is warned of a backslash in a plain string literal.",
    ),
    number(
        "from_collapse_limit",
        8,
        (1, INT_MAX),
        Unit::Plain,
        User,
        "Has no effect: how many tables a query has does not change how it is planned.",
    ),
    flag("geqo", true, User, "Has no effect: the planner does not go by chance."),
    flag("jit", false, User, "Has no effect: expressions are not compiled."),
    number(
        "join_collapse_limit",
        8,
        (1, INT_MAX),
        Unit::Plain,
        User,
        "Has no effect: how many tables a query has does not change how it is planned.",
    ),
    text("lc_messages", "C", Superuser, "Has no effect: messages are in English."),
    text("lc_monetary", "C", User, "Has no effect: sums are written as in the locale C."),
    text("lc_numeric", "C", User, "Has no effect: numbers are written as in the locale C."),
    text("lc_time", "C", User, "Has no effect: dates are written as in the locale C."),
    number(
        "log_min_duration_statement",
        -1,
        (-1, INT_MAX),
        Unit::Milliseconds,
        Superuser,
        "Has no effect: statements are not logged, however long they take.",
    ),
    choice(
        "log_statement",
        "none",
        &["none", "ddl", "mod", "all"],
        Superuser,
        "Has no effect: statements are not logged.",
    ),
    number(
        "max_parallel_workers",
        8,
        (0, 1024),
        Unit::Plain,
        User,
        "Has no effect: a query runs on one thread.",
    ),
    number(
        "max_parallel_workers_per_gather",
        0,
        (0, 1024),
        Unit::Plain,
        User,
        "Has no effect: a query runs on one thread.",
    ),
    choice(
        "password_encryption",
        "scram-sha-256",
        &["scram-sha-256"],
        User,
        "What is kept of a password that is set: there is one way only.",
    ),
    choice(
        "plan_cache_mode",
        "auto",
        &["auto", "force_generic_plan", "force_custom_plan"],
        User,
        "Has no effect: one plan goes by the parameters' values in every execution.",
    ),
    choice(
        "session_replication_role",
        "origin",
        &["origin", "replica", "local"],
        Superuser,
        "Has no effect: there are no triggers, and foreign keys are checked whoever writes.",
    ),
    flag(
        "synchronize_seqscans",
        true,
        User,
        "Has no effect: a sequential scan begins at the beginning.",
    ),
    number(
        "temp_buffers",
        1024,
        (100, 1_073_741_823),
        Unit::Pages,
        User,
        "Has no effect: pages of temporary tables are in the cache that all share.",
    ),
    choice(
        "xmloption",
        "content",
        &["content", "document"],
        User,
        "What a text becomes that is to be xml; there is no such type yet.",
    ),
];
