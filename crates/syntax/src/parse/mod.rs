//! Text to tree: PostgreSQL's own grammar, through libpg_query.
//!
//! This folder is the only place that knows the library. [`prescan`] prepares the text, [`raw`] calls it; [`lower`] turns what it
//! returns into our tree; [`error`] gives its errors back the SQLSTATE and the hint that the library
//! drops.

mod error;
mod lower;
mod prescan;
mod raw;

pub use error::SyntaxError;

use crate::ast::{Loc, Span, Statement};

/// One statement of a text, with the bytes of the text that it was parsed from (no semicolon).
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedStatement {
    pub statement: Statement,
    pub span: Span,
}

/// The stack that [`parse`] may need, in bytes. A caller on a small stack (a fiber) must switch to
/// one that has this much left before it calls; nothing checks.
///
/// The C parser itself needs under 16 KiB whatever the text: its own stack lives on the heap, grows
/// to 10,000 entries and then reports "memory exhausted". Lowering recurses, at most
/// [`crate::MAX_DEPTH`] levels deep (about 1 MiB in a release build, 4 MiB without optimisation), or through chains of
/// [`crate::MAX_CHAIN`] links. On a smaller stack it refuses what there is no room for.
pub const PARSE_STACK_BYTES: usize = if cfg!(debug_assertions) { 64 << 20 } else { 16 << 20 };

/// The longest text that is parsed: locations are 32 bits, and the C parser counts in `int`.
const MAX_TEXT_BYTES: usize = 0x3FFF_FFFF;

/// Parses a text of any number of statements, separated by semicolons; empty ones vanish.
///
/// Needs [`PARSE_STACK_BYTES`] of stack. Never parks, never touches a file or a lock.
///
/// # Errors
/// The error that PostgreSQL would report: `42601` and its kin from the grammar, `0A000` for
/// expressions that Thalweg has no tree for (XML, SQL/JSON constructors), `54001` for nesting deeper
/// than [`crate::MAX_DEPTH`] and chains longer than [`crate::MAX_CHAIN`].
pub fn parse(sql: &str) -> Result<Vec<ParsedStatement>, SyntaxError> {
    if sql.len() > MAX_TEXT_BYTES {
        return Err(SyntaxError::new("54000", "statement is too long", Loc::NONE));
    }
    if sql.as_bytes().contains(&0) {
        let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
        return Err(SyntaxError::new("22021", message, Loc::NONE));
    }
    parse_prepared(sql).map_err(|error| error.placed_in(sql))
}

fn parse_prepared(sql: &str) -> Result<Vec<ParsedStatement>, SyntaxError> {
    let text = prescan::prescan(sql)?;
    let tree = raw::parse(&text)
        .map_err(|error| error::from_message(&error.message, error.position, &text))?;
    lower::statements(&tree, &text)
}
