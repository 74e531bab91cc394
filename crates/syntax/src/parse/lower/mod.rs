//! Lowering: from the C parser's nodes to our tree.
//!
//! One method per kind of node, grouped by file as the tree's types are. Recursion happens only
//! through [`Lower::nested`] and [`Lower::linked`], which count how deep it is: text nested deeper than
//! [`crate::MAX_DEPTH`], with chains longer than [`crate::MAX_CHAIN`], gives an error instead of a tree, so
//! that no one who walks, clones or drops a tree needs an unbounded stack.

mod alter;
mod constraint;
mod ddl;
mod dml;
mod expr;
mod from;
mod literal;
mod name;
mod object;
mod role;
mod select;
mod session;
mod set;
mod statement;
mod table;

use std::cell::Cell;
use std::fmt::{self, Write as _};

use pg_raw_parse::Node;
use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::nodes as pg;

use super::{ParsedStatement, SyntaxError};
use crate::ast::{Loc, Span};
use crate::{MAX_CHAIN, MAX_DEPTH};

/// What must be left of the stack for whatever a level does besides: callers may have less than they were asked for.
const STACK_RESERVE_BYTES: usize = 256 << 10;

/// What lowering gives; the error is boxed to keep frames of the recursion small.
type Lowered<T> = Result<T, Box<SyntaxError>>;

/// Lowers a whole text.
pub(super) fn statements(
    list: &CastNodeList<pg::RawStmt>,
    source: &str,
) -> Result<Vec<ParsedStatement>, SyntaxError> {
    let lower = Lower { depth: Cell::new(0) };
    let mut statements = Vec::with_capacity(list.len());
    for raw in list {
        let statement = lower.statement(raw.stmt()).map_err(|error| *error)?;
        statements.push(ParsedStatement { statement, span: span(raw, source) });
    }
    Ok(statements)
}

/// The statement's bytes, without the white space around them.
fn span(raw: &pg::RawStmt, source: &str) -> Span {
    let start = usize::try_from(raw.stmt_location).unwrap_or(0).min(source.len());
    let end = match usize::try_from(raw.stmt_len) {
        Ok(len) if len > 0 => (start + len).min(source.len()),
        _ => source.len(),
    };
    let text = &source[start..end];
    let start = start + (text.len() - text.trim_start().len());
    Span { start: start as u32, end: (start + text.trim().len()) as u32 }
}

/// The state of one lowering.
struct Lower {
    depth: Cell<u32>,
}

/// What is counted for a level of ordinary nesting where a link of a chain is one.
const LEVEL_LINKS: u32 = MAX_CHAIN / MAX_DEPTH;

impl Lower {
    /// Runs `work` one level deeper.
    fn nested<T>(&self, work: impl FnOnce() -> Lowered<T>) -> Lowered<T> {
        self.deeper(LEVEL_LINKS, work)
    }

    /// Runs `work` one link further down a chain: on the left side of an operator, or of a set operation.
    fn linked<T>(&self, work: impl FnOnce() -> Lowered<T>) -> Lowered<T> {
        self.deeper(1, work)
    }

    fn deeper<T>(&self, links: u32, work: impl FnOnce() -> Lowered<T>) -> Lowered<T> {
        let depth = self.depth.get();
        if depth + links > MAX_CHAIN || base::park::stack_left() < STACK_RESERVE_BYTES {
            return Err(Box::new(SyntaxError::too_deep()));
        }
        self.depth.set(depth + links);
        let result = work();
        self.depth.set(depth);
        result
    }

    /// Lowers each node of a list.
    fn each<T>(
        &self,
        list: &NodeList,
        one: impl Fn(&Self, Node<'_>) -> Lowered<T>,
    ) -> Lowered<Vec<T>> {
        list.iter().map(|node| one(self, node)).collect()
    }
}

/// A place as the C parser writes it: -1 is nowhere.
fn loc(location: i32) -> Loc {
    u32::try_from(location).map_or(Loc::NONE, Loc::at)
}

/// A node where the grammar puts no such node: a mistake of ours or a newer grammar, for which the
/// client gets an error and the process goes on.
fn unexpected<T>(place: &str, node: Node<'_>) -> Lowered<T> {
    // The library's grammar takes parameters in more places than PostgreSQL's.
    if let Node::ParamRef(param) = node {
        let message = format!("syntax error at or near \"${}\"", param.number);
        return Err(Box::new(SyntaxError::syntax(message, loc(param.location))));
    }
    let kind = node_kind(node);
    Err(Box::new(SyntaxError::new("XX000", format!("unexpected {kind} in {place}"), Loc::NONE)))
}

/// A pointer that the grammar always fills in was empty.
fn missing(what: &str) -> Box<SyntaxError> {
    Box::new(SyntaxError::new("XX000", format!("no {what} in the parse tree"), Loc::NONE))
}

fn unsupported<T>(what: &str, loc: Loc) -> Lowered<T> {
    Err(Box::new(SyntaxError::unsupported(what, loc)))
}

/// The name of a node's type, such as `MergeStmt`.
fn node_kind(node: Node<'_>) -> String {
    /// Takes the first word and then refuses, so that formatting never goes into the node.
    struct FirstWord(String);
    impl fmt::Write for FirstWord {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                return Err(fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut word = FirstWord(String::new());
    // The error is the refusal above.
    let _ = write!(word, "{node:?}");
    word.0
}

/// The list under a typed one. The library types some lists by comments in PostgreSQL's headers,
/// and panics where a comment is not the whole truth.
fn untyped<T>(list: &CastNodeList<T>) -> &NodeList {
    // SAFETY: `CastNodeList<T>` is `repr(transparent)` over `NodeList` plus a `PhantomData`.
    unsafe { &*std::ptr::from_ref(list).cast::<NodeList>() }
}
