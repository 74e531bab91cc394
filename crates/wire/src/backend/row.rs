//! Rows and their description: the messages a server sends most.

use crate::error::Error;
use crate::lists::Format;
use crate::put::{
    begin, begin_length, check_size, end, patch_length, put_i16, put_i32, put_string, put_u16,
    put_u32,
};
use crate::read::Reader;

/// One column of a RowDescription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The column's name.
    pub name: &'a str,
    /// The table it stems from, 0 where it stems from none.
    pub table: u32,
    /// Its number in that table, 0 where it has none.
    pub column: i16,
    /// Its type.
    pub type_oid: u32,
    /// Bytes the type takes up (`pg_type.typlen`), negative where it varies.
    pub type_size: i16,
    /// The type's modifier (`pg_attribute.atttypmod`), -1 where it has none.
    pub type_modifier: i32,
    /// How values are written. A statement's description says text: only a portal knows better.
    pub format: Format,
}

impl<'a> Field<'a> {
    pub(crate) fn put(&self, buf: &mut Vec<u8>) {
        put_string(buf, self.name);
        put_u32(buf, self.table);
        put_i16(buf, self.column);
        put_u32(buf, self.type_oid);
        put_i16(buf, self.type_size);
        put_i32(buf, self.type_modifier);
        put_i16(buf, self.format.code());
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        Ok(Field {
            name: reader.string()?,
            table: reader.u32()?,
            column: reader.i16()?,
            type_oid: reader.u32()?,
            type_size: reader.i16()?,
            type_modifier: reader.i32()?,
            format: Format::from_code(reader.i16()?)?,
        })
    }
}

/// The columns of a RowDescription, as a client reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldList<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> FieldList<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = reader.u16()?;
        let start = reader.rest();
        for _ in 0..count {
            Field::read(reader)?;
        }
        Ok(FieldList { count, bytes: &start[..start.len() - reader.rest().len()] })
    }

    /// How many columns there are.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The columns in order.
    pub fn iter(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count)
            .map(move |_| Field::read(&mut reader).expect("the list was walked when it was read"))
    }
}

/// Where a row under construction stands in its buffer. It borrows nothing, so a writer that is
/// called value by value can keep it; most use [`DataRow`], which cannot be misused.
#[derive(Clone, Copy, Debug)]
pub struct OpenRow {
    /// Where the row's length goes; its type byte lies before it.
    at: usize,
    /// Where the length of the value being written goes.
    value: usize,
    columns: u16,
}

impl OpenRow {
    /// Starts a row at the end of `buf`.
    #[inline]
    pub fn begin(buf: &mut Vec<u8>) -> Self {
        buf.extend_from_slice(&[b'D', 0, 0, 0, 0, 0, 0]);
        OpenRow { at: buf.len() - 6, value: 0, columns: 0 }
    }

    /// Adds a null.
    #[inline]
    pub fn null(&mut self, buf: &mut Vec<u8>) {
        self.columns += 1;
        put_i32(buf, -1);
    }

    /// Adds a value; what is appended until [`OpenRow::end_value`] belongs to it.
    #[inline]
    pub fn begin_value(&mut self, buf: &mut Vec<u8>) {
        self.columns += 1;
        self.value = begin_length(buf);
    }

    /// Ends the value that [`OpenRow::begin_value`] began.
    #[inline]
    pub fn end_value(&mut self, buf: &mut [u8]) {
        patch_length(buf, self.value, self.value + 4);
    }

    /// Completes the row.
    ///
    /// # Errors
    /// [`Error::ReplyTooLong`] where the row exceeds what PostgreSQL would send; it is still in
    /// the buffer then.
    #[inline]
    pub fn end(self, buf: &mut [u8]) -> Result<(), Error> {
        // What the last value came upon; nulls alone, of which there is none, are short.
        let holds = self.value.saturating_sub(self.at);
        check_size(holds, buf.len() - self.at - 4 - holds)?;
        buf[self.at + 4..self.at + 6].copy_from_slice(&self.columns.to_be_bytes());
        end(buf, self.at);
        Ok(())
    }

    /// Takes back everything written since [`OpenRow::begin`].
    pub fn take_back(self, buf: &mut Vec<u8>) {
        buf.truncate(self.at - 1);
    }
}

/// A DataRow under construction, written column by column straight into the reply buffer.
///
/// The row counts only once [`DataRow::finish`] has run. Dropped before that, by an error in the
/// middle of a row for instance, it takes back everything it wrote.
#[must_use = "a row that is not finished is taken back"]
pub struct DataRow<'b> {
    buf: &'b mut Vec<u8>,
    row: OpenRow,
}

impl<'b> DataRow<'b> {
    #[inline]
    pub(crate) fn begin(buf: &'b mut Vec<u8>) -> Self {
        let row = OpenRow::begin(buf);
        DataRow { buf, row }
    }

    /// Adds a null.
    #[inline]
    pub fn null(&mut self) {
        self.row.null(self.buf);
    }

    /// Adds a value that is there already.
    #[inline]
    pub fn value(&mut self, bytes: &[u8]) {
        self.write(|buf| buf.extend_from_slice(bytes));
    }

    /// Adds a value that `write` appends to the buffer.
    #[inline]
    pub fn write<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        self.row.begin_value(self.buf);
        let result = write(self.buf);
        self.row.end_value(self.buf);
        result
    }

    /// Completes the row.
    ///
    /// # Errors
    /// [`Error::ReplyTooLong`] where the row exceeds what PostgreSQL would send; the row is
    /// taken back.
    #[inline]
    pub fn finish(self) -> Result<(), Error> {
        self.row.end(self.buf)?;
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for DataRow<'_> {
    fn drop(&mut self) {
        self.row.take_back(self.buf);
    }
}

/// Appends a RowDescription.
pub(crate) fn put_description<'f>(buf: &mut Vec<u8>, fields: impl IntoIterator<Item = Field<'f>>) {
    let at = begin(buf, b'T');
    put_u16(buf, 0);
    let mut count: u16 = 0;
    for field in fields {
        count = count.checked_add(1).expect("a row has at most 1,664 columns");
        field.put(buf);
    }
    buf[at + 4..at + 6].copy_from_slice(&count.to_be_bytes());
    end(buf, at);
}
