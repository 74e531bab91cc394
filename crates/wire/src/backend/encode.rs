//! Writing what a server sends.

use super::{DataRow, Field, Report, Status, Tag, row};
use crate::error::Error;
use crate::lists::Format;
use crate::put::{
    begin, check_size, end, put_count, put_decimal, put_i16, put_i32, put_string, put_u32,
    put_value,
};

/// Messages to a client, one behind the other in one buffer that is sent with one write.
///
/// The buffer keeps its memory when it is cleared; whoever owns many of them decides with
/// [`Replies::capacity`] which to let go.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    buf: Vec<u8>,
}

impl Replies {
    /// An empty buffer that owns no memory.
    pub const fn new() -> Self {
        Replies { buf: Vec::new() }
    }

    /// Everything written so far.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buf
    }

    /// Bytes written so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.buf.len()
    }

    /// Whether nothing was written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    /// Bytes of memory held.
    pub fn capacity(&self) -> usize {
        self.buf.capacity()
    }

    /// Forgets everything written so far and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.buf.clear();
    }

    /// Takes back everything behind the first `len` bytes, which must end at a message boundary.
    pub fn truncate(&mut self, len: usize) {
        self.buf.truncate(len);
    }

    /// Hands over the bytes, for a writer that takes ownership.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buf
    }

    /// Goes on behind bytes that are there already, or reuses their memory.
    pub fn from_bytes(buf: Vec<u8>) -> Self {
        Replies { buf }
    }

    /// The bytes themselves, for values of a row that [`super::OpenRow`] keeps track of.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    /// Appends whole messages that were encoded before.
    #[inline]
    pub fn encoded(&mut self, messages: &[u8]) {
        self.buf.extend_from_slice(messages);
    }

    #[inline]
    fn bare(&mut self, tag: u8) {
        self.buf.extend_from_slice(&[tag, 0, 0, 0, 4]);
    }

    #[inline]
    fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
        let at = begin(&mut self.buf, tag);
        body(&mut self.buf);
        end(&mut self.buf, at);
    }

    /// The client is who it says it is.
    pub fn authentication_ok(&mut self) {
        self.message(b'R', |buf| put_u32(buf, 0));
    }

    /// Asks for the password as it is.
    pub fn authentication_cleartext_password(&mut self) {
        self.message(b'R', |buf| put_u32(buf, 3));
    }

    /// Asks for the password, hashed with `salt`.
    pub fn authentication_md5_password(&mut self, salt: [u8; 4]) {
        self.message(b'R', |buf| {
            put_u32(buf, 5);
            buf.extend_from_slice(&salt);
        });
    }

    /// Asks for one of these SASL mechanisms.
    pub fn authentication_sasl<'m>(&mut self, mechanisms: impl IntoIterator<Item = &'m str>) {
        self.message(b'R', |buf| {
            put_u32(buf, 10);
            mechanisms.into_iter().for_each(|name| put_string(buf, name));
            buf.push(0);
        });
    }

    /// The SASL mechanism's next word.
    pub fn authentication_sasl_continue(&mut self, data: &[u8]) {
        self.message(b'R', |buf| {
            put_u32(buf, 11);
            buf.extend_from_slice(data);
        });
    }

    /// The SASL mechanism's last word.
    pub fn authentication_sasl_final(&mut self, data: &[u8]) {
        self.message(b'R', |buf| {
            put_u32(buf, 12);
            buf.extend_from_slice(data);
        });
    }

    /// The only version spoken, and the options that are not known.
    pub fn negotiate_protocol_version<'o>(
        &mut self,
        version: u32,
        options: impl IntoIterator<Item = &'o str>,
    ) {
        self.message(b'v', |buf| {
            put_u32(buf, version);
            let at = buf.len();
            put_u32(buf, 0);
            let mut count: u32 = 0;
            for option in options {
                count += 1;
                put_string(buf, option);
            }
            buf[at..at + 4].copy_from_slice(&count.to_be_bytes());
        });
    }

    /// What the client must know to cancel queries of this session.
    pub fn backend_key_data(&mut self, process: i32, key: u32) {
        self.message(b'K', |buf| {
            put_i32(buf, process);
            put_u32(buf, key);
        });
    }

    /// A setting's value.
    pub fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |buf| {
            put_string(buf, name);
            put_string(buf, value);
        });
    }

    /// The next command may come.
    #[inline]
    pub fn ready_for_query(&mut self, status: Status) {
        self.buf.extend_from_slice(&[b'Z', 0, 0, 0, 5, status as u8]);
    }

    /// The shape of the rows that follow.
    pub fn row_description<'f>(&mut self, fields: impl IntoIterator<Item = Field<'f>>) {
        row::put_description(&mut self.buf, fields);
    }

    /// Starts a row.
    #[inline]
    pub fn data_row(&mut self) -> DataRow<'_> {
        DataRow::begin(&mut self.buf)
    }

    /// A command has succeeded.
    #[inline]
    pub fn command_complete(&mut self, tag: Tag<'_>) {
        self.message(b'C', |buf| {
            match tag {
                Tag::Done(name) => buf.extend_from_slice(name.as_bytes()),
                Tag::Rows(name, rows) => {
                    buf.extend_from_slice(name.as_bytes());
                    buf.push(b' ');
                    put_decimal(buf, rows);
                }
                Tag::Insert(rows) => {
                    buf.extend_from_slice(b"INSERT 0 ");
                    put_decimal(buf, rows);
                }
            }
            buf.push(0);
        });
    }

    /// The query string held no command.
    pub fn empty_query(&mut self) {
        self.bare(b'I');
    }

    /// An error or a notice, by its severity.
    pub fn report(&mut self, report: &Report<'_>) {
        report.put(&mut self.buf);
    }

    /// A Parse has succeeded.
    #[inline]
    pub fn parse_complete(&mut self) {
        self.bare(b'1');
    }

    /// A Bind has succeeded.
    #[inline]
    pub fn bind_complete(&mut self) {
        self.bare(b'2');
    }

    /// A Close has succeeded.
    pub fn close_complete(&mut self) {
        self.bare(b'3');
    }

    /// The statement returns no rows.
    pub fn no_data(&mut self) {
        self.bare(b'n');
    }

    /// The row limit of an Execute was reached.
    pub fn portal_suspended(&mut self) {
        self.bare(b's');
    }

    /// Types of a statement's parameters.
    pub fn parameter_description(&mut self, types: &[u32]) {
        self.message(b't', |buf| {
            put_count(buf, types.len());
            types.iter().for_each(|&oid| put_u32(buf, oid));
        });
    }

    /// Waits for copied data of so many columns.
    pub fn copy_in(&mut self, format: Format, columns: usize) {
        self.copy_response(b'G', format, columns);
    }

    /// Copied data of so many columns follows.
    pub fn copy_out(&mut self, format: Format, columns: usize) {
        self.copy_response(b'H', format, columns);
    }

    /// Copied data may flow both ways, as for replication.
    pub fn copy_both(&mut self, format: Format, columns: usize) {
        self.copy_response(b'W', format, columns);
    }

    fn copy_response(&mut self, tag: u8, format: Format, columns: usize) {
        self.message(tag, |buf| {
            buf.push(format.code() as u8);
            put_count(buf, columns);
            (0..columns).for_each(|_| put_i16(buf, format.code()));
        });
    }

    /// A piece of copied data that `write` appends to the buffer.
    ///
    /// # Errors
    /// [`Error::ReplyTooLong`]; the piece is taken back.
    #[inline]
    pub fn copy_data<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> Result<R, Error> {
        let at = begin(&mut self.buf, b'd');
        let result = write(&mut self.buf);
        if let Err(error) = check_size(0, self.buf.len() - at - 4) {
            self.buf.truncate(at - 1);
            return Err(error);
        }
        end(&mut self.buf, at);
        Ok(result)
    }

    /// The end of copied data.
    pub fn copy_done(&mut self) {
        self.bare(b'c');
    }

    /// Somebody called NOTIFY.
    pub fn notification(&mut self, process: i32, channel: &str, payload: &str) {
        self.message(b'A', |buf| {
            put_i32(buf, process);
            put_string(buf, channel);
            put_string(buf, payload);
        });
    }

    /// The result of a function call.
    pub fn function_call(&mut self, value: Option<&[u8]>) {
        self.message(b'V', |buf| put_value(buf, value));
    }
}
