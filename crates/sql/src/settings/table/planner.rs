//! What the planner supposes and the executor may take.

use crate::settings::Context::{Superuser, User};
use crate::settings::entry::{flag, number, real};
use crate::settings::{Setting, Unit};

use super::INT_MAX;

/// Range of what things cost: PostgreSQL's, any number.
const COST: (f64, f64) = (0.0, f64::MAX);

pub(super) const SETTINGS: &[Setting] = &[
    real(
        "cpu_index_tuple_cost",
        0.005,
        COST,
        User,
        "What the planner takes an index entry to cost.",
    ),
    real(
        "cpu_operator_cost",
        0.0025,
        COST,
        User,
        "What the planner takes the call of an operator or a function to cost.",
    ),
    real("cpu_tuple_cost", 0.01, COST, User, "What the planner takes a row to cost."),
    number(
        "effective_cache_size",
        524_288,
        (1, INT_MAX),
        Unit::Pages,
        User,
        "How much of tables and indexes the planner supposes to be in memory, this server's or the system's.",
    ),
    flag("enable_bitmapscan", true, User, "Whether the planner considers bitmap scans."),
    flag("enable_hashagg", true, User, "Changes nothing: groups are always hashed."),
    flag("enable_hashjoin", true, User, "Whether the planner considers hash joins."),
    flag("enable_indexonlyscan", true, User, "Whether the planner considers index-only scans."),
    flag("enable_indexscan", true, User, "Whether the planner considers index scans."),
    flag("enable_material", true, User, "Whether the planner keeps rows to read them again."),
    flag("enable_mergejoin", true, User, "Changes nothing: there are no merge joins."),
    flag("enable_nestloop", true, User, "Whether the planner considers nested-loop joins."),
    flag("enable_seqscan", true, User, "Whether the planner considers sequential scans."),
    flag("enable_sort", true, User, "Whether the planner considers explicit sorts."),
    real(
        "hash_mem_multiplier",
        2.0,
        (1.0, 1000.0),
        User,
        "How many times work_mem a hash table may take.",
    ),
    real(
        "random_page_cost",
        4.0,
        COST,
        User,
        "What the planner takes a page to cost that is read in no order.",
    ),
    real(
        "seq_page_cost",
        1.0,
        COST,
        User,
        "What the planner takes a page to cost that is read in order.",
    ),
    number(
        "temp_file_limit",
        -1,
        (-1, INT_MAX),
        Unit::KiB,
        Superuser,
        "Disk space that a session's temporary files may take; -1 for no limit.",
    ),
    number("work_mem", 4096, (64, INT_MAX), Unit::KiB, User, "Memory of one sort or hash table."),
];
