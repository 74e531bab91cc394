//! Statements with their constants lifted out, so that a plan can be found without parsing.
//!
//! A client that puts its values into the text sends a new text every time. [`Lifter::lift`] reads
//! such a text once, without building anything, and gives a *key*, the statement with a mark where
//! each constant stood, and the list of the constants. Texts that differ only in constants, letter
//! case of unquoted words, white space and comments have the same key.
//!
//! **The promise: two texts with equal keys parse alike**: either both are errors, or their trees are
//! equal once [`Lift::replace`] has put a numbered [`Expr::Lifted`](crate::ast::Expr::Lifted) in the
//! place of each lifted constant. The mark tells apart what decides a literal's type: an integer that
//! fits `int4`, one that fits `int8`, any other number, a string. So a plan made for one text serves
//! every other.
//!
//! # What is lifted
//!
//! Statements that start with SELECT, INSERT, UPDATE or DELETE; of these, integers, other numbers,
//! `'…'`, `E'…'` and `$$…$$` in places where any value of the type may stand. A minus sign that the
//! grammar folds into a number belongs to it (`a + -5` and `a + 5` have one key).
//!
//! # What stays in the key as written
//!
//! Constants whose value decides more than a value:
//! * in ORDER BY, where an integer is a column's number;
//! * between ON CONFLICT and DO, where expressions must match an index's;
//! * after LIKE, ILIKE, SIMILAR TO, ESCAPE and operators with a `~`, where a plan may use the
//!   pattern's prefix;
//! * in a type (`varchar(10)`, `x::numeric(8,2)`, `CURRENT_TIMESTAMP(3)`) and after a type's name
//!   (`date '…'`, `interval '…'`);
//! * after any word that is not known to start an expression.
//!
//! # What is refused
//!
//! Whole statements, with `None`: those with GROUP BY, DISTINCT, set operations, WITH or SELECT INTO
//! (where expressions must equal others, or types are worked out between constants); several
//! statements in a text; `U&` strings and names, `N'…'`, bit strings, strings continued on the next
//! line, escapes in `E'…'` beyond the single letters, numbers with underscores or a radix, names
//! longer than 63 bytes; anything that is not SQL; texts over [`MAX_TEXT_BYTES`] or with more than
//! [`MAX_CONSTANTS`] constants, which are not worth a plan each.
//!
//! The tree side checks the text side: [`Lift::replace`] fails unless each lifted constant is found
//! in the tree, once, with the same value.

mod lexer;
mod replace;
mod words;

use crate::ast::{Span, Statement};

/// Longer texts are not lifted.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Texts with more constants are not lifted.
pub const MAX_CONSTANTS: usize = 256;

/// The buffers of one pass, to be kept and used again: lifting allocates nothing once they have
/// grown.
#[derive(Debug, Default)]
pub struct Lifter {
    key: Vec<u8>,
    slots: Vec<Slot>,
    /// Text that is not a piece of the source: strings with escapes, negative numbers.
    spelled: String,
}

/// One lifted constant.
#[derive(Clone, Copy, Debug)]
struct Slot {
    span: Span,
    value: SlotValue,
}

#[derive(Clone, Copy, Debug)]
enum SlotValue {
    Integer(i64),
    Numeric(Piece),
    String(Piece),
}

/// A piece of the source or of [`Lifter::spelled`].
#[derive(Clone, Copy, Debug)]
struct Piece {
    spelled: bool,
    start: u32,
    end: u32,
}

/// A lifted statement.
#[derive(Clone, Copy, Debug)]
pub struct Lift<'a> {
    key: &'a [u8],
    slots: &'a [Slot],
    spelled: &'a str,
    sql: &'a str,
}

/// A lifted constant's value, as the parser would read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiftedValue<'a> {
    /// `int4` if it fits 32 bits, else `int8`.
    Integer(i64),
    /// Decimal text for `numeric`.
    Numeric(&'a str),
    /// Of unknown type; without quotes and escapes.
    String(&'a str),
}

impl Lifter {
    pub fn new() -> Lifter {
        Lifter::default()
    }

    /// Lifts the constants out of `sql`; `None` if it is not a statement that this is safe for.
    pub fn lift<'a>(&'a mut self, sql: &'a str) -> Option<Lift<'a>> {
        self.key.clear();
        self.slots.clear();
        self.spelled.clear();
        if sql.len() > MAX_TEXT_BYTES || !lexer::run(sql, self) {
            return None;
        }
        Some(Lift { key: &self.key, slots: &self.slots, spelled: &self.spelled, sql })
    }
}

impl<'a> Lift<'a> {
    /// What texts that parse alike have in common. Opaque bytes.
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// The number of lifted constants.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The constant with the number `slot`, which is below [`Lift::len`].
    pub fn value(&self, slot: usize) -> LiftedValue<'a> {
        match self.slots[slot].value {
            SlotValue::Integer(value) => LiftedValue::Integer(value),
            SlotValue::Numeric(piece) => LiftedValue::Numeric(self.piece(piece)),
            SlotValue::String(piece) => LiftedValue::String(self.piece(piece)),
        }
    }

    /// Where the constant stands in the text, from its minus sign or its quote on: an error about
    /// its value points there.
    pub fn span(&self, slot: usize) -> Span {
        self.slots[slot].span
    }

    /// All constants in the order of their numbers, which is that of the text.
    pub fn values(&self) -> impl Iterator<Item = LiftedValue<'a>> {
        let lift = *self;
        (0..lift.len()).map(move |slot| lift.value(slot))
    }

    /// Puts [`Expr::Lifted`](crate::ast::Expr::Lifted) in the place of each lifted constant of the
    /// tree that the same text was parsed to. False, with the tree in an unspecified state, if the
    /// tree does not hold just these constants: then this key must not be used.
    #[must_use]
    pub fn replace(&self, statement: &mut Statement) -> bool {
        replace::run(self, statement)
    }

    fn piece(&self, piece: Piece) -> &'a str {
        let text = if piece.spelled { self.spelled } else { self.sql };
        &text[piece.start as usize..piece.end as usize]
    }
}

#[cfg(test)]
mod tests;
