//! Regular expressions: `~`, `SIMILAR TO`, `substring(… from …)` and the `regexp_…` functions.

mod behind;
mod functions;
mod similar;
mod translate;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use fancy_regex::{CompileError, Error, ParseError};

pub(super) use functions::ROOMS;
use translate::{Flags, invalid, too_deep, translate};

use crate::error::{Result, SqlError, sql_error};

/// Steps after which a match with back references or look-arounds is given up.
const BACKTRACK_LIMIT: usize = 10_000_000;
/// Compiled expressions kept per thread.
const CACHE_SIZE: usize = 32;
/// Bytes of an expression that is kept as others are.
const USUAL_BYTES: usize = 10 << 20;
/// Bytes beyond which an expression is too complex, without look-arounds and back references, by which the engine takes it
/// apart: each part may then have the usual ones. It takes a second or two to find that out, in which the worker does nothing
/// else.
const LARGE_BYTES: usize = 64 << 20;

/// A compiled expression.
pub(super) struct Regex {
    engine: fancy_regex::Regex,
    /// Capturing groups.
    groups: usize,
    /// Letters are to be alike without their case where a group comes again, too, which to the engine they are not: it
    /// is given texts in lower case.
    in_lower_case: bool,
    /// It has more than [`USUAL_BYTES`] bytes.
    is_large: bool,
}

/// A text as an expression is to see it: each character where it was, and of as many bytes.
struct Searched<'t>(Cow<'t, str>);

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
            if regex.is_large {
                // One such at a time.
                cache.retain(|(_, kept)| !kept.is_large);
            }
            if cache.len() >= CACHE_SIZE {
                cache.remove(0);
            }
            cache.push(((pattern.to_owned(), flags), regex.clone()));
        });
        Ok(regex)
    }

    fn compile(pattern: &str, flags: Flags) -> Result<Regex> {
        let translated = translate(pattern, flags)?;
        let mut builder = fancy_regex::RegexBuilder::new(&translated.pattern);
        builder.backtrack_limit(BACKTRACK_LIMIT).delegate_size_limit(USUAL_BYTES);
        let usual = builder.build();
        let is_large = translated.is_one && usual.as_ref().is_err_and(is_size);
        let engine =
            if is_large { builder.delegate_size_limit(LARGE_BYTES).build() } else { usual };
        Ok(Regex {
            engine: engine.map_err(|error| refused(&error))?,
            groups: translated.groups,
            in_lower_case: translated.in_lower_case,
            is_large,
        })
    }

    /// What to look for matches in.
    fn searched<'t>(&self, text: &'t str) -> Searched<'t> {
        Searched(match self.in_lower_case {
            true => Cow::Owned(text.chars().map(lower).collect()),
            false => Cow::Borrowed(text),
        })
    }

    fn is_match(&self, text: &str) -> Result<bool> {
        super::checkpoint()?;
        self.engine.is_match(&self.searched(text).0).map_err(|_| gave_up())
    }

    /// The first match.
    fn find(&self, text: &str) -> Result<Option<Groups>> {
        self.find_from(&self.searched(text), 0)
    }

    /// The first match at or after a byte position.
    fn find_from(&self, text: &Searched<'_>, from: usize) -> Result<Option<Groups>> {
        super::checkpoint()?;
        let captures = self.engine.captures_from_pos(&text.0, from).map_err(|_| gave_up())?;
        Ok(captures.map(|captures| {
            (0..=self.groups)
                .map(|i| captures.get(i).map(|group| (group.start(), group.end())))
                .collect()
        }))
    }
}

/// The letter in lower case, where that is one of as many bytes.
fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(only), None) if only.len_utf8() == c.len_utf8() => only,
        _ => c,
    }
}

/// Whether the expression has more bytes than were allowed.
fn is_size(error: &Error) -> bool {
    match error {
        Error::CompileError(CompileError::InnerError(inner)) => inner.size_limit().is_some(),
        _ => false,
    }
}

/// What the engine does not take, in words of ours.
#[cold]
fn refused(error: &Error) -> SqlError {
    match error {
        _ if is_size(error) => invalid("regular expression is too complex"),
        Error::ParseError(_, ParseError::RecursionExceeded) => too_deep(),
        _ => SqlError::unsupported("this regular expression is not supported")
            .with_detail(error.to_string()),
    }
}

#[cold]
fn gave_up() -> SqlError {
    sql_error!(
        INVALID_REGULAR_EXPRESSION,
        "regular expression failed: regular expression is too complex"
    )
}
