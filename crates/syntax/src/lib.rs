//! SQL text to Thalweg's own syntax tree.

pub mod ast;
pub mod deparse;
pub mod lift;
pub mod parse;

pub use parse::{PARSE_STACK_BYTES, ParsedStatement, SyntaxError, parse};

/// The deepest nesting that a syntax tree can have, counted in nodes from the statement down.
/// Deeper text is refused with SQLSTATE `54001` before the tree is built.
pub const MAX_DEPTH: u32 = 500;

/// Likewise the longest chain of operators (`a + b + c`) or set operations, each of which is a level of the tree, too. A
/// tree may have chains within nesting; together they go no deeper than one of these alone.
pub const MAX_CHAIN: u32 = 6_000;
