//! Regular expressions: `~`, `SIMILAR TO`, `substring(… from …)` and the `regexp_…` functions.

mod functions;
mod similar;
mod translate;

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::sync::Arc;

pub(super) use functions::ROOMS;
use translate::{Flags, invalid, translate};

use crate::error::{Result, sql_error};

/// Steps after which a match with back references or look-arounds is given up.
const BACKTRACK_LIMIT: usize = 10_000_000;
/// Compiled expressions kept per thread.
const CACHE_SIZE: usize = 32;

/// A compiled expression.
pub(super) struct Regex {
    engine: fancy_regex::Regex,
    /// Capturing groups.
    groups: usize,
}

/// Byte ranges of a match and its groups; group 0 is the whole.
type Groups = Vec<Option<(usize, usize)>>;

type Key = (String, Flags);

thread_local! {
    /// Most recently used last. Never borrowed across anything that could park.
    static CACHE: RefCell<Vec<(Key, Arc<Regex>)>> = const { RefCell::new(Vec::new()) };
}

impl Regex {
    /// The expression, compiled or remembered.
    fn new(pattern: &str, flags: Flags) -> Result<Arc<Regex>> {
        let remembered = CACHE.with_borrow_mut(|cache| {
            let at = cache.iter().position(|(key, _)| key.0 == pattern && key.1 == flags)?;
            let entry = cache.remove(at);
            let regex = entry.1.clone();
            cache.push(entry);
            Some(regex)
        });
        if let Some(regex) = remembered {
            return Ok(regex);
        }
        let regex = Arc::new(Regex::compile(pattern, flags)?);
        CACHE.with_borrow_mut(|cache| {
            if cache.len() >= CACHE_SIZE {
                cache.remove(0);
            }
            cache.push(((pattern.to_owned(), flags), regex.clone()));
        });
        Ok(regex)
    }

    fn compile(pattern: &str, flags: Flags) -> Result<Regex> {
        let translated = translate(pattern, flags)?;
        let engine = fancy_regex::RegexBuilder::new(&translated.pattern)
            .backtrack_limit(BACKTRACK_LIMIT)
            .build()
            .map_err(|_| invalid("regular expression is too complex"))?;
        Ok(Regex { engine, groups: translated.groups })
    }

    fn is_match(&self, text: &str) -> Result<bool> {
        super::checkpoint()?;
        self.engine.is_match(text).map_err(|_| gave_up())
    }

    /// The first match at or after a byte position.
    fn find_from(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        super::checkpoint()?;
        let captures = self.engine.captures_from_pos(text, from).map_err(|_| gave_up())?;
        Ok(captures.map(|captures| {
            (0..=self.groups)
                .map(|i| captures.get(i).map(|group| (group.start(), group.end())))
                .collect()
        }))
    }
}

#[cold]
fn gave_up() -> crate::error::SqlError {
    sql_error!(
        INVALID_REGULAR_EXPRESSION,
        "regular expression failed: regular expression is too complex"
    )
}
