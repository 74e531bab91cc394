//! The one error that parsing gives.

use std::fmt;

use crate::ast::Loc;
use crate::{MAX_CHAIN, MAX_DEPTH};

/// Why a text is not a statement, in PostgreSQL's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Five characters, such as `42601`.
    pub sqlstate: &'static str,
    pub message: Box<str>,
    pub detail: Option<Box<str>>,
    pub hint: Option<Box<str>>,
    /// Where in the text, in bytes; [`Loc::NONE`] if the error is about no one place.
    pub loc: Loc,
    /// The same place as PostgreSQL's protocol reports it: 1-based, in characters.
    pub position: Option<u32>,
}

impl SyntaxError {
    pub(crate) fn new(sqlstate: &'static str, message: impl Into<Box<str>>, loc: Loc) -> Self {
        SyntaxError {
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            loc,
            position: None,
        }
    }

    /// `42601`.
    pub(crate) fn syntax(message: impl Into<Box<str>>, loc: Loc) -> Self {
        Self::new("42601", message, loc)
    }

    /// `0A000`: the grammar has it, this database does not.
    pub(crate) fn unsupported(what: &str, loc: Loc) -> Self {
        Self::new("0A000", format!("{what} is not supported"), loc)
    }

    /// `54001`, in the words PostgreSQL uses when its stack is exhausted.
    pub(crate) fn too_deep() -> Self {
        let mut error = Self::new("54001", "stack depth limit exceeded", Loc::NONE);
        let hint = format!(
            "Statements may nest {MAX_DEPTH} levels deep, and chains of operators or set operations have up to {MAX_CHAIN} links."
        );
        error.hint = Some(hint.into());
        error
    }

    /// Computes `position` from `loc`.
    pub(crate) fn placed_in(mut self, source: &str) -> Self {
        self.position = self.loc.position_chars(source);
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// An error of the C parser whose SQLSTATE is not `42601` or which has a hint or a detail: the
/// library hands over the message and the position only.
struct Known {
    /// What the message starts with.
    prefix: &'static str,
    /// What it ends with.
    suffix: &'static str,
    sqlstate: &'static str,
    hint: Option<&'static str>,
    /// The grammar here reports a place and PostgreSQL 15's does not.
    unplaced: bool,
}

const fn known(prefix: &'static str, suffix: &'static str, sqlstate: &'static str) -> Known {
    Known { prefix, suffix, sqlstate, hint: None, unplaced: false }
}

const fn unplaced(prefix: &'static str, suffix: &'static str, sqlstate: &'static str) -> Known {
    Known { prefix, suffix, sqlstate, hint: None, unplaced: true }
}

const fn hinted(prefix: &'static str, sqlstate: &'static str, hint: &'static str) -> Known {
    Known { prefix, suffix: "", sqlstate, hint: Some(hint), unplaced: false }
}

const KNOWN: &[Known] = &[
    hinted(
        "unsafe use of \\' in a string literal",
        "22P06",
        "Use '' to write quotes in strings. \\' is insecure in client-only encodings.",
    ),
    hinted("LIMIT #,# syntax is not supported", "42601", "Use separate LIMIT and OFFSET clauses."),
    hinted(
        "missing argument",
        "42601",
        "Use NONE to denote the missing argument of a unary operator.",
    ),
    hinted(
        "unrecognized row security option",
        "42601",
        "Only PERMISSIVE or RESTRICTIVE policies are supported currently.",
    ),
    hinted(
        "UNENCRYPTED PASSWORD is no longer supported",
        "0A000",
        "Remove UNENCRYPTED to store the password in encrypted form instead.",
    ),
    unplaced("unrecognized partitioning strategy", "", "22023"),
    unplaced("WITH TIES cannot be specified without ORDER BY clause", "", "42601"),
    unplaced("SKIP LOCKED and WITH TIES options cannot be used together", "", "42601"),
    unplaced("modulus for hash partition must be specified", "", "42601"),
    unplaced("remainder for hash partition must be specified", "", "42601"),
    unplaced("CREATE ASSERTION is not yet implemented", "", "0A000"),
    unplaced("CREATE OR REPLACE CONSTRAINT TRIGGER is not supported", "", "0A000"),
    known("", "not yet implemented", "0A000"),
    known("", "is not supported", "0A000"),
    known("", "is not implemented", "0A000"),
    known("", "is no longer supported", "0A000"),
    unplaced("", " constraints cannot be marked NOT VALID", "0A000"),
    unplaced("", " constraints cannot be marked NO INHERIT", "0A000"),
    unplaced("", " constraints cannot be marked DEFERRABLE", "0A000"),
    known("", " constraints cannot be marked ENFORCED", "0A000"),
    known("", " constraints cannot be marked NOT ENFORCED", "0A000"),
    known("constraints cannot be altered to be NOT VALID", "", "0A000"),
    known("a column list with ", " is only supported for ON DELETE actions", "0A000"),
    known("an ordered-set aggregate with a VARIADIC direct argument", "", "0A000"),
    known("WITH CHECK OPTION not supported on recursive views", "", "0A000"),
    known("aggregates cannot have output arguments", "", "0A000"),
    known("current database cannot be changed", "", "0A000"),
    known("CREATE SCHEMA IF NOT EXISTS cannot include schema elements", "", "0A000"),
    known("only string constants are supported in JSON_TABLE path specification", "", "0A000"),
    known("frame start", "", "42P20"),
    known("frame end cannot be UNBOUNDED PRECEDING", "", "42P20"),
    known("role name ", "is reserved", "42939"),
    known("", " cannot be used as a role name here", "42939"),
    known("precision for type float must be", "", "22023"),
    known("unrecognized JSON encoding", "", "22023"),
    known("column number must be in range from 1 to", "", "22023"),
    known("modulus for hash partition provided more than once", "", "42710"),
    known("remainder for hash partition provided more than once", "", "42710"),
    known("invalid byte sequence for encoding", "", "22021"),
    known("conversion between ", "", "42883"),
    known("stack depth limit exceeded", "", "54001"),
    known("out of memory", "", "53200"),
    known("invalid memory alloc request size", "", "XX000"),
    known("unrecognized ", " kind", "XX000"),
];

/// Makes the error that PostgreSQL would have raised from what libpg_query tells of it: the message
/// and the position in `source`, the text it was given (1-based, in characters; 0 if there is none).
pub(super) fn from_message(message: &str, position: u32, source: &str) -> SyntaxError {
    if message == "stack depth limit exceeded" {
        return SyntaxError::too_deep();
    }
    let mut error = SyntaxError::syntax(message, Loc::NONE);
    let mut placed = position > 0;
    if message == "invalid Unicode escape" {
        invalid_unicode_escape(&mut error, position, source);
    } else if let Some(known) = KNOWN
        .iter()
        .find(|known| message.starts_with(known.prefix) && message.ends_with(known.suffix))
    {
        error.sqlstate = known.sqlstate;
        error.hint = known.hint.map(Into::into);
        placed &= !known.unplaced;
    }
    if message == "invalid publication object list" {
        error.detail = Some(
            "One of TABLE or TABLES IN SCHEMA must be specified before a standalone table or \
             schema name."
                .into(),
        );
    }
    if placed {
        let offset = source.char_indices().nth(position as usize - 1).map_or(source.len(), |c| c.0);
        error.loc = Loc::at(offset as u32);
    }
    error
}

/// `E'…'` and `U&'…'` share the message and differ in SQLSTATE and hint: the escape at fault, where
/// the position points, starts with `\u` or `\U` only in `E'…'`.
fn invalid_unicode_escape(error: &mut SyntaxError, position: u32, source: &str) {
    let mut at_fault = source.chars().skip((position as usize).saturating_sub(1));
    let escape = (at_fault.next(), at_fault.next());
    if matches!(escape, (Some('\\'), Some('u' | 'U'))) {
        error.sqlstate = "22025";
        error.hint = Some("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.".into());
    } else {
        error.hint = Some("Unicode escapes must be \\XXXX or \\+XXXXXX.".into());
    }
}
