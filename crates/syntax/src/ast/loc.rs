//! Where in the source text a node came from.

use std::fmt;
use std::hash::{Hash, Hasher};

/// A byte offset into the text that was given to [`crate::parse()`], or "nowhere" for a node that
/// no text stands behind.
///
/// The offset counts from the start of the whole text, not of the statement, because a client that
/// sends several statements in one message gets error positions into that message.
///
/// **Two locations always compare equal** (and hash alike): trees are compared by what they mean,
/// and `a + 1` in `GROUP BY` must match `a + 1` in the target list. Compare [`Loc::offset`] where
/// the place itself matters.
#[derive(Clone, Copy)]
pub struct Loc(u32);

impl Loc {
    /// A node without a place in any text.
    pub const NONE: Loc = Loc(u32::MAX);

    /// The place `offset` bytes from the start of the text.
    pub const fn at(offset: u32) -> Loc {
        Loc(offset)
    }

    /// Bytes from the start of the text, if the node has a place.
    pub const fn offset(self) -> Option<u32> {
        if self.0 == u32::MAX { None } else { Some(self.0) }
    }

    /// The error position that PostgreSQL's protocol reports for this place: **1-based, in
    /// characters** of `source`, the text that was parsed. `None` if the node has no place or the
    /// place is not in `source`.
    pub fn position_chars(self, source: &str) -> Option<u32> {
        let before = source.as_bytes().get(..self.offset()? as usize)?;
        let continuation = before.iter().filter(|byte| (**byte & 0xC0) == 0x80).count();
        Some((before.len() - continuation) as u32 + 1)
    }
}

impl Default for Loc {
    fn default() -> Self {
        Loc::NONE
    }
}

impl PartialEq for Loc {
    fn eq(&self, _: &Loc) -> bool {
        true
    }
}

impl Eq for Loc {}

impl Hash for Loc {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset() {
            Some(offset) => write!(f, "@{offset}"),
            None => f.write_str("@none"),
        }
    }
}

/// A range of bytes of the source text, `start` inclusive to `end` exclusive. Unlike [`Loc`] it
/// compares by value: it says which text, not where a node came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The text that the span covers; empty if `source` is not the text it was made from.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}
