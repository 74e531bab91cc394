//! The seam to the server: what a running statement needs of its connection.
//!
//! `sql` knows neither sockets nor messages. It describes results and appends the bytes of values;
//! the server lays them out as protocol messages in the connection's output buffer. Values go
//! straight from a stored row into that buffer: between [`Client::begin_value`] and
//! [`Client::end_value`] the executor owns its end.

use base::ids::Lsn;

use crate::error::{Result, SqlError};
use crate::types::{Collation, Encoding, Oid, TypeId};

/// How one value travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Text,
    Binary,
}

/// The formats of all columns or parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// Of those that `each` does not tell of.
    rest: Format,
    each: Vec<Format>,
}

impl Formats {
    /// The same for all.
    pub fn all(format: Format) -> Formats {
        Formats { rest: format, each: Vec::new() }
    }

    /// Of how many columns they tell, if not of all alike.
    pub fn count(&self) -> Option<usize> {
        (!self.each.is_empty()).then_some(self.each.len())
    }

    /// The format of column `index`, counted from 0.
    #[inline]
    pub fn of(&self, index: usize) -> Format {
        self.each.get(index).copied().unwrap_or(self.rest)
    }
}

/// From the format codes of Bind: none means text for all, one means the same for all.
impl FromIterator<Format> for Formats {
    fn from_iter<I: IntoIterator<Item = Format>>(codes: I) -> Formats {
        let mut codes = codes.into_iter();
        match (codes.next(), codes.next()) {
            (None, _) => Formats::default(),
            (Some(one), None) => Formats::all(one),
            (Some(first), Some(second)) => {
                let each = [first, second].into_iter().chain(codes).collect();
                Formats { rest: Format::Text, each }
            }
        }
    }
}

/// One column of a result, as RowDescription tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Box<str>,
    /// The table that the column comes from, or zero.
    pub table: Oid,
    /// Its attribute number there, or zero.
    pub column: i16,
    pub type_id: TypeId,
    /// `typlen` of the type.
    pub type_len: i16,
    /// -1 when the type has no modifier.
    pub type_mod: i32,
    /// No part of the description, but of a table made from the result.
    pub collation: Collation,
    /// Likewise: a row whose type has no name, or such rows in an array.
    pub nameless: bool,
}

/// A message that is not an error.
#[derive(Clone, Debug)]
pub struct Notice {
    /// `NOTICE`, `WARNING`, `INFO`, `LOG` or `DEBUG`.
    pub severity: &'static str,
    /// Its fields; the severity inside is not used.
    pub fields: SqlError,
}

/// What the client sent while a COPY FROM STDIN reads.
pub enum CopyInput {
    /// The next bytes were appended to the buffer.
    Data,
    /// CopyDone.
    Done,
    /// CopyFail, with the client's reason.
    Fail(String),
}

/// The connection, to a running statement. Implemented by the server over `wire`, and by tests.
///
/// Replies must reach the client in the order of the calls. Nothing is sent before the session
/// says up to which LSN it must be durable ([`super::Session::must_be_durable`], or the argument
/// of [`Client::relieve`]).
pub trait Client {
    /// A result with these columns follows.
    fn row_description(&mut self, fields: &[Field], formats: &Formats);
    fn begin_row(&mut self, columns: usize);
    /// Opens the next value of the row; its bytes are appended to [`Client::buffer`].
    fn begin_value(&mut self);
    fn buffer(&mut self) -> &mut Vec<u8>;
    fn end_value(&mut self);
    fn null_value(&mut self);
    /// Completes the row.
    ///
    /// # Errors
    /// `54000` if it is longer than what can be sent.
    fn end_row(&mut self) -> Result<()>;
    /// A statement is done; `tag` is `SELECT 1`, `INSERT 0 3`, …
    fn command_complete(&mut self, tag: &str);
    /// The statement was empty.
    fn empty_query(&mut self);
    /// A portal with rows left has delivered the number asked for.
    fn portal_suspended(&mut self);
    fn notice(&mut self, notice: &Notice);
    /// `client_encoding` is this from here on.
    fn spells_in(&mut self, encoding: Encoding);

    /// COPY … TO STDOUT begins.
    fn copy_out(&mut self, columns: usize, format: Format);
    /// One CopyData message.
    ///
    /// # Errors
    /// As those of [`Client::end_row`].
    fn copy_data(&mut self, bytes: &[u8]) -> Result<()>;
    fn copy_out_done(&mut self);
    /// COPY … FROM STDIN begins: the client is told so at once.
    fn copy_in(&mut self, columns: usize, format: Format) -> Result<()>;
    /// Appends the next piece of the client's data to `buffer`. Parks until there is some.
    fn copy_read(&mut self, buffer: &mut Vec<u8>) -> Result<CopyInput>;

    /// Called between rows: if much output has gathered, send it (once everything before `durable`
    /// is durable) and park until the client takes it. Fails when the client is gone.
    fn relieve(&mut self, durable: Lsn) -> Result<()>;
}
