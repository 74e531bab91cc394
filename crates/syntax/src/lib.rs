//! SQL text to Thalweg's own syntax tree.

pub mod ast;
pub mod deparse;
pub mod lift;
pub mod parse;

pub use parse::{PARSE_STACK_BYTES, ParsedStatement, SyntaxError, parse};

/// The deepest nesting that a syntax tree can have, counted in nodes from the statement down.
/// Deeper text is refused with SQLSTATE `54001` before the tree is built.
pub const MAX_DEPTH: u32 = 500;
