//! What EXPLAIN is asked to tell.

use syntax::ast::{self, DefOption, OptionValue};

use super::super::set::Values;
use super::used::Show;
use crate::bind::at;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::options::boolean;
use crate::settings;

/// Beside those whose names tell it.
const OTHERS_THAT_COUNT: &[&str] = &[
    "constraint_exclusion",
    "cursor_tuple_fraction",
    "effective_cache_size",
    "effective_io_concurrency",
    "geqo",
    "hash_mem_multiplier",
    "jit",
    "plan_cache_mode",
    "search_path",
    "temp_buffers",
    "work_mem",
];

/// What is asked for.
pub(super) struct Options {
    pub analyze: bool,
    pub costs: bool,
    pub timing: bool,
    /// `None`: nothing is said of it.
    pub summary: Option<bool>,
    pub settings: bool,
    pub show: Show,
}

impl Options {
    pub fn of(explain: &ast::Explain) -> Result<Options> {
        let mut wanted = Options {
            analyze: false,
            costs: true,
            timing: true,
            summary: None,
            settings: false,
            show: Show::default(),
        };
        let mut timing = None;
        for option in &explain.options {
            match &*option.name {
                "analyze" => wanted.analyze = boolean(option)?,
                "costs" => wanted.costs = boolean(option)?,
                "timing" => timing = Some(boolean(option)?),
                "summary" => wanted.summary = Some(boolean(option)?),
                "buffers" => wanted.show.buffers = boolean(option)?,
                "wal" => wanted.show.wal = boolean(option)?,
                "settings" => wanted.settings = boolean(option)?,
                // Nothing more is told (docs/compatibility.md).
                "verbose" => drop(boolean(option)?),
                "format" => must_be_text(option)?,
                other => {
                    let error = sql_error!(SYNTAX_ERROR, "unrecognized EXPLAIN option \"{other}\"");
                    return Err(at(error, option.loc));
                }
            }
        }
        if wanted.show.wal && !wanted.analyze {
            bail!(INVALID_PARAMETER_VALUE, "EXPLAIN option WAL requires ANALYZE");
        }
        if timing == Some(true) && !wanted.analyze {
            bail!(INVALID_PARAMETER_VALUE, "EXPLAIN option TIMING requires ANALYZE");
        }
        wanted.timing = timing.unwrap_or(true);
        Ok(wanted)
    }
}

fn must_be_text(option: &DefOption) -> Result<()> {
    let word = match &option.value {
        Some(OptionValue::String(word)) => &**word,
        Some(OptionValue::Bool(on)) => {
            if *on {
                "true"
            } else {
                "false"
            }
        }
        _ => bail!(SYNTAX_ERROR, "format requires a parameter"),
    };
    match word {
        "text" => Ok(()),
        "xml" | "json" | "yaml" => {
            Err(SqlError::unsupported("EXPLAIN in other formats than text is not supported yet"))
        }
        other => {
            let text = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(at(sql_error!(INVALID_PARAMETER_VALUE, "{text}"), option.loc))
        }
    }
}

/// The settings that plans go by and that are not what they are when nobody sets them, in one line; `None` if there are none.
pub(super) fn changed_settings(values: &Values) -> Option<String> {
    let counts = |name: &str| {
        name.starts_with("enable_")
            || name.ends_with("_cost")
            || name.ends_with("_collapse_limit")
            || OTHERS_THAT_COUNT.contains(&name)
    };
    let changed =
        settings::TABLE.iter().filter(|setting| counts(setting.name)).filter_map(|setting| {
            let value = values.get(setting.name);
            let shown = || format!("{} = '{}'", setting.name, setting.show(value));
            (*value != setting.default()).then(shown)
        });
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| format!("Settings: {}", changed.join(", ")))
}
