//! Foreign keys, as both tables see them.

use std::sync::Arc;

use crate::types::Oid;

/// The foreign keys that concern a table.
#[derive(Debug, Default)]
pub struct ForeignKeys {
    /// Its own: its rows refer to others.
    pub own: Vec<Arc<ForeignKey>>,
    /// Those of others (or its own again) whose rows refer to it.
    pub referring: Vec<Arc<ForeignKey>>,
}

impl ForeignKeys {
    /// Whether a change of the table's rows concerns nobody.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.referring.is_empty()
    }
}

/// A foreign key: the columns of each row of `table` must be found in some row of `referenced`.
#[derive(Debug)]
pub struct ForeignKey {
    /// Of its row in `pg_constraint`.
    pub oid: Oid,
    pub name: Box<str>,
    pub table: Oid,
    /// Columns of `table`, from 0.
    pub columns: Vec<u16>,
    pub referenced: Oid,
    /// Columns of `referenced`, from 0, one for each of `columns`.
    pub referenced_columns: Vec<u16>,
    /// `MATCH FULL`: all columns are null, or none.
    pub full: bool,
    pub on_delete: Action,
    /// What ON DELETE SET NULL and SET DEFAULT set; empty: all columns.
    pub delete_columns: Vec<u16>,
    pub on_update: Action,
    pub deferrable: bool,
    pub initially_deferred: bool,
}

/// What becomes of the referring rows when the row goes that they refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An error if there are any left at the end of the statement (or of the transaction).
    NoAction,
    /// An error if there are any, now.
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

impl Action {
    /// From `pg_constraint.confdeltype` and `confupdtype`.
    pub fn from_letter(letter: u8) -> Action {
        match letter {
            b'r' => Action::Restrict,
            b'c' => Action::Cascade,
            b'n' => Action::SetNull,
            b'd' => Action::SetDefault,
            _ => Action::NoAction,
        }
    }

    pub fn letter(self) -> u8 {
        match self {
            Action::NoAction => b'a',
            Action::Restrict => b'r',
            Action::Cascade => b'c',
            Action::SetNull => b'n',
            Action::SetDefault => b'd',
        }
    }

    /// As it is written behind ON DELETE and ON UPDATE.
    pub fn words(self) -> &'static str {
        match self {
            Action::NoAction => "NO ACTION",
            Action::Restrict => "RESTRICT",
            Action::Cascade => "CASCADE",
            Action::SetNull => "SET NULL",
            Action::SetDefault => "SET DEFAULT",
        }
    }
}
