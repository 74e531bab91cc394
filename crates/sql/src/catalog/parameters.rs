//! Storage parameters of tables and indexes, `WITH (fillfactor = 70)`: PostgreSQL's names and limits. They are kept as
//! text in `pg_class.reloptions`. `fillfactor` is heeded, so is what says when background vacuum and ANALYZE are due and
//! logged, `vacuum_index_cleanup`, `vacuum_truncate` and `deduplicate_items`; the others have no effect here.

use std::time::Duration;

use storage::heap::OwnLimits;
use storage::vacuum::IndexCleanup;
use syntax::ast::{DefOption, OptionValue};

use super::AccessMethod;
use crate::error::{Result, SqlError, sql_error};
use syntax::deparse::quote_ident;

/// What values a parameter takes.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Integer(i64, i64),
    Real(f64, f64),
    /// `on`, `off`, `auto` and what means the same.
    Switch,
}

const INT_MAX: i64 = i32::MAX as i64;

/// What has parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    Table,
    View,
    Index(AccessMethod),
    /// Of a table's; kept in `pg_attribute.attoptions`.
    Column,
}

/// Of columns.
const COLUMN_PARAMETERS: &[(&str, Kind, bool)] = &[
    ("n_distinct", Kind::Real(-1.0, f64::MAX), false),
    ("n_distinct_inherited", Kind::Real(-1.0, f64::MAX), false),
];

/// Of views: there is one role, and it may read all. CHECK OPTION is refused before.
const VIEW_PARAMETERS: &[(&str, Kind, bool)] =
    &[("security_barrier", Kind::Bool, false), ("security_invoker", Kind::Bool, false)];

/// Of B-trees.
const BTREE_PARAMETERS: &[(&str, Kind, bool)] = &[
    ("deduplicate_items", Kind::Bool, false),
    ("fillfactor", Kind::Integer(10, 100), false),
    ("vacuum_cleanup_index_scale_factor", Kind::Real(0.0, 1e10), false),
];

/// Of hash indexes.
const HASH_PARAMETERS: &[(&str, Kind, bool)] = &[("fillfactor", Kind::Integer(10, 100), false)];

/// Of tables; those marked true also of their TOAST tables, `toast.…`.
const TABLE_PARAMETERS: &[(&str, Kind, bool)] = &[
    ("autovacuum_analyze_scale_factor", Kind::Real(0.0, 100.0), false),
    ("autovacuum_analyze_threshold", Kind::Integer(0, INT_MAX), false),
    ("autovacuum_enabled", Kind::Bool, true),
    ("autovacuum_freeze_max_age", Kind::Integer(100_000, 2_000_000_000), true),
    ("autovacuum_freeze_min_age", Kind::Integer(0, 1_000_000_000), true),
    ("autovacuum_freeze_table_age", Kind::Integer(0, 2_000_000_000), true),
    ("autovacuum_multixact_freeze_max_age", Kind::Integer(10_000, 2_000_000_000), true),
    ("autovacuum_multixact_freeze_min_age", Kind::Integer(0, 1_000_000_000), true),
    ("autovacuum_multixact_freeze_table_age", Kind::Integer(0, 2_000_000_000), true),
    ("autovacuum_vacuum_cost_delay", Kind::Real(0.0, 100.0), true),
    ("autovacuum_vacuum_cost_limit", Kind::Integer(1, 10_000), true),
    ("autovacuum_vacuum_insert_scale_factor", Kind::Real(0.0, 100.0), true),
    ("autovacuum_vacuum_insert_threshold", Kind::Integer(-1, INT_MAX), true),
    ("autovacuum_vacuum_scale_factor", Kind::Real(0.0, 100.0), true),
    ("autovacuum_vacuum_threshold", Kind::Integer(0, INT_MAX), true),
    ("fillfactor", Kind::Integer(10, 100), false),
    ("log_autovacuum_min_duration", Kind::Integer(-1, INT_MAX), true),
    ("parallel_workers", Kind::Integer(0, 1024), false),
    ("toast_tuple_target", Kind::Integer(128, 8160), false),
    ("user_catalog_table", Kind::Bool, false),
    ("vacuum_index_cleanup", Kind::Switch, true),
    ("vacuum_truncate", Kind::Bool, true),
];

/// Does an option change nothing of what statements read or write?
pub fn is_for_upkeep(name: &str) -> bool {
    !matches!(name, "user_catalog_table" | "security_barrier" | "security_invoker" | "check_option")
}

/// The lines of `pg_class.reloptions` for what a statement gives. Those of TOAST tables are checked and left out.
///
/// # Errors
/// `22023`.
pub fn read(of: Of, options: &[DefOption]) -> Result<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for option in options {
        let name = &*option.name;
        let of_toast = is_of_toast(of, option)?;
        let text = text_of(option);
        if name == "oids" && of == Of::Table && !of_toast {
            if boolean(name, &text)? {
                let message = "tables declared WITH OIDS are not supported";
                return Err(sql_error!(FEATURE_NOT_SUPPORTED, "{message}"));
            }
            continue;
        }
        check(of, name, &text, of_toast)?;
        if of_toast {
            continue;
        }
        if lines.iter().any(|line| name_of(line) == name) {
            return Err(invalid(format!("parameter \"{name}\" specified more than once")));
        }
        lines.push(format!("{name}={text}"));
    }
    Ok(lines)
}

/// `lines` with what ALTER TABLE (or INDEX) … SET gives in the place of what was.
///
/// # Errors
/// As of [`read`].
pub fn set(of: Of, lines: Vec<String>, options: &[DefOption]) -> Result<Vec<String>> {
    let new = read(of, options)?;
    let is_new = |line: &String| new.iter().any(|n| name_of(n) == name_of(line));
    let mut kept: Vec<String> = lines.into_iter().filter(|line| !is_new(line)).collect();
    kept.extend(new);
    Ok(kept)
}

/// `lines` without what ALTER TABLE (or INDEX) … RESET names. What there is not is nothing to reset.
///
/// # Errors
/// `22023` for a value, or another namespace than `toast`.
pub fn reset(of: Of, mut lines: Vec<String>, options: &[DefOption]) -> Result<Vec<String>> {
    for option in options {
        if option.value.is_some() {
            return Err(sql_error!(SYNTAX_ERROR, "RESET must not include values for parameters"));
        }
        if !is_of_toast(of, option)? {
            lines.retain(|line| name_of(line) != &*option.name);
        }
    }
    Ok(lines)
}

/// When background vacuum and ANALYZE come to a table, by its lines.
pub fn upkeep(lines: &[String]) -> OwnLimits {
    let text = |name: &str| {
        let mut given = lines.iter().filter_map(|line| line.split_once('='));
        given.find(|(known, _)| *known == name).map(|(_, text)| text.trim())
    };
    let integer = |name| text(name).and_then(|text| text.parse::<i64>().ok());
    let rows = |name| integer(name).map(|rows| u64::try_from(rows).unwrap_or(0));
    let share = |name| text(name).and_then(|text| text.parse::<f64>().ok());
    OwnLimits {
        enabled: switch(lines, "autovacuum_enabled"),
        ended_rows: rows("autovacuum_vacuum_threshold"),
        ended_share: share("autovacuum_vacuum_scale_factor"),
        // -1: inserts do not count.
        inserted_rows: integer("autovacuum_vacuum_insert_threshold")
            .map(|rows| u64::try_from(rows).ok()),
        inserted_share: share("autovacuum_vacuum_insert_scale_factor"),
        changed_rows: rows("autovacuum_analyze_threshold"),
        changed_share: share("autovacuum_analyze_scale_factor"),
    }
}

/// How many distinct values a column is said to have, by its lines; below zero: minus their share of the rows.
pub fn distinct(lines: &[String]) -> Option<f64> {
    let given = lines.iter().find_map(|line| line.strip_prefix("n_distinct="))?;
    // Zero says nothing.
    given.trim().parse().ok().filter(|number| *number != 0.0)
}

/// Whether VACUUM gives empty pages at a table's end back, by its lines.
pub fn cuts_tail(lines: &[String]) -> bool {
    switch(lines, "vacuum_truncate").unwrap_or(true)
}

/// Whether VACUUM removes index entries of dead rows, by a table's lines.
pub fn index_cleanup(lines: &[String]) -> IndexCleanup {
    match switch(lines, "vacuum_index_cleanup") {
        Some(true) => IndexCleanup::On,
        Some(false) => IndexCleanup::Off,
        // As is usual, and what `auto` means.
        None => IndexCleanup::Auto,
    }
}

/// `log_autovacuum_min_duration` by a table's lines; `None`: they do not say. The inner `None` is -1: nothing is logged.
pub fn log_after(lines: &[String]) -> Option<Option<Duration>> {
    let given = lines.iter().find_map(|line| line.strip_prefix("log_autovacuum_min_duration="));
    let ms: i64 = given?.trim().parse().ok()?;
    Some(u64::try_from(ms).ok().map(Duration::from_millis))
}

/// What a parameter that is on or off is, by a table's lines; `None`: they do not say.
fn switch(lines: &[String], name: &str) -> Option<bool> {
    let given = lines.iter().find(|line| name_of(line) == name)?;
    let (_, text) = given.split_once('=')?;
    boolean(name, text).ok()
}

/// How full inserts make pages of a table, and builds and ascending inserts those of an index, in percent, by its
/// lines; `None`: as is usual.
pub fn fill_percent(lines: &[String]) -> Option<u8> {
    let given = lines.iter().find_map(|line| line.strip_prefix("fillfactor="));
    given.and_then(|text| text.trim().parse().ok())
}

/// Whether equal keys of a B-tree share entries, by its lines.
pub fn merges_equal_keys(lines: &[String]) -> bool {
    switch(lines, "deduplicate_items").unwrap_or(true)
}

/// The lines as the definition of an index shows them, `fillfactor='70', deduplicate_items=off`.
pub fn shown(lines: &[String]) -> String {
    let shown = lines.iter().map(|line| {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let value = match quote_ident(value) {
            same if *same == *value => value.to_owned(),
            _ => format!("'{}'", value.replace('\'', "''")),
        };
        format!("{}={value}", quote_ident(name))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn name_of(line: &str) -> &str {
    line.split_once('=').map_or(line, |(name, _)| name)
}

fn is_of_toast(of: Of, option: &DefOption) -> Result<bool> {
    match option.namespace.as_deref() {
        None => Ok(false),
        Some("toast") if of == Of::Table => Ok(true),
        Some(other) => Err(invalid(format!("unrecognized parameter namespace \"{other}\""))),
    }
}

fn text_of(option: &DefOption) -> String {
    match &option.value {
        None => "true".to_owned(),
        Some(OptionValue::String(text) | OptionValue::Numeric(text)) => text.to_string(),
        Some(OptionValue::Integer(number)) => number.to_string(),
        Some(OptionValue::Bool(value)) => value.to_string(),
        Some(other) => format!("{other:?}"),
    }
}

fn check(of: Of, name: &str, text: &str, of_toast: bool) -> Result<()> {
    let parameters = match of {
        Of::Table => TABLE_PARAMETERS,
        Of::Column => COLUMN_PARAMETERS,
        Of::View => VIEW_PARAMETERS,
        Of::Index(AccessMethod::BTree) => BTREE_PARAMETERS,
        Of::Index(AccessMethod::Hash) => HASH_PARAMETERS,
    };
    let known = parameters.iter().find(|(known, _, toast)| *known == name && (*toast || !of_toast));
    let Some((_, kind, _)) = known else {
        return Err(invalid(format!("unrecognized parameter \"{name}\"")));
    };
    let wrong = |what: &str| invalid(format!("invalid value for {what} option \"{name}\": {text}"));
    match *kind {
        Kind::Bool => boolean(name, text).map(drop),
        Kind::Switch if boolean(name, text).is_ok() || text.eq_ignore_ascii_case("auto") => Ok(()),
        Kind::Switch => {
            Err(wrong("enum").with_detail("Valid values are \"on\", \"off\", and \"auto\"."))
        }
        Kind::Integer(min, max) => {
            let number: i64 = text.trim().parse().map_err(|_| wrong("integer"))?;
            within((min..=max).contains(&number), name, text, &min, &max)
        }
        Kind::Real(min, max) => {
            let number: f64 = text.trim().parse().map_err(|_| wrong("floating point"))?;
            let (low, high) = (format!("{min:.6}"), format!("{max:.6}"));
            within((min..=max).contains(&number), name, text, &low, &high)
        }
    }
}

fn within(
    is_within: bool,
    name: &str,
    text: &str,
    min: &dyn std::fmt::Display,
    max: &dyn std::fmt::Display,
) -> Result<()> {
    if is_within {
        return Ok(());
    }
    Err(invalid(format!("value {text} out of bounds for option \"{name}\""))
        .with_detail(format!("Valid values are between \"{min}\" and \"{max}\".")))
}

/// PostgreSQL takes any beginning of these words that is no other's.
pub fn boolean(name: &str, text: &str) -> Result<bool> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| lower.len() >= least && word.starts_with(&lower);
    if begins("true", 1) || begins("yes", 1) || lower == "on" || lower == "1" {
        return Ok(true);
    }
    if begins("false", 1) || begins("no", 1) || begins("off", 2) || lower == "0" {
        return Ok(false);
    }
    Err(invalid(format!("invalid value for boolean option \"{name}\": {text}")))
}

fn invalid(message: String) -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "{message}")
}
