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
    text(
        "default_table_access_method",
        "heap",
        User,
        "How new tables are stored: there is heap alone.",
    ),
    text("default_tablespace", "", User, "Where new relations lie: there is pg_default alone."),
    flag(
        "escape_string_warning",
        true,
        User,
        "Has no effect: nobody is warned of a backslash in a plain string literal.",
    ),
    flag("jit", false, User, "Has no effect: expressions are not compiled."),
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
        "max_parallel_workers_per_gather",
        0,
        (0, 1024),
        Unit::Plain,
        User,
        "Has no effect: a query runs on one thread.",
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
