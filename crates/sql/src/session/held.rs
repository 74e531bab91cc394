//! Rows of a statement that is not planned (SHOW, EXPLAIN, EXECUTE, FETCH), held for Executes that ask for some at a time.

use base::ids::Lsn;

use crate::error::Result;
use crate::exec::spill::{RowReader, RowStore};
use crate::types::{Datum, Encoding};

use super::client::{Client, CopyInput, Field, Format, Formats, Notice};
use super::portal::RELIEVE_BYTES;

/// Rows as they go to the client, each value a `bytea` of its bytes.
pub(super) struct HeldRows {
    rows: RowStore,
    reader: RowReader,
}

impl HeldRows {
    pub(super) fn new(rows: RowStore) -> HeldRows {
        HeldRows { rows, reader: RowReader::default() }
    }

    /// Sends up to `max_rows` (0: all). How many there were, and whether that was the end.
    pub(super) fn deliver(
        &mut self,
        max_rows: u32,
        durable: Lsn,
        client: &mut dyn Client,
    ) -> Result<(u64, bool)> {
        let mut sent = 0;
        while max_rows == 0 || sent < u64::from(max_rows) {
            if !self.reader.next(&self.rows)? {
                return Ok((sent, true));
            }
            let waiting = put_row(client, self.reader.row(&self.rows))?;
            sent += 1;
            if sent.is_multiple_of(64) || waiting > RELIEVE_BYTES {
                client.relieve(durable)?;
            }
        }
        Ok((sent, false))
    }
}

fn put_row(client: &mut dyn Client, row: &[Datum]) -> Result<usize> {
    let mut waiting = 0;
    client.begin_row(row.len());
    for value in row {
        match value {
            Datum::Null => client.null_value(),
            value => {
                client.begin_value();
                let buffer = client.buffer();
                buffer.extend_from_slice(value.as_bytea());
                waiting = buffer.len();
                client.end_value();
            }
        }
    }
    client.end_row()?;
    Ok(waiting)
}

/// Stands before the client while the statement runs, and keeps its rows.
pub(super) struct Holder<'c> {
    client: &'c mut dyn Client,
    pub(super) rows: RowStore,
    row: Vec<Datum>,
    value: Vec<u8>,
}

impl<'c> Holder<'c> {
    pub(super) fn new(client: &'c mut dyn Client, rows: RowStore) -> Holder<'c> {
        Holder { client, rows, row: Vec::new(), value: Vec::new() }
    }
}

impl Client for Holder<'_> {
    fn row_description(&mut self, fields: &[Field], formats: &Formats) {
        self.client.row_description(fields, formats);
    }

    fn begin_row(&mut self, columns: usize) {
        self.row.clear();
        self.row.reserve(columns);
    }

    fn begin_value(&mut self) {
        self.value.clear();
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.value
    }

    fn end_value(&mut self) {
        self.row.push(Datum::bytea(&self.value));
    }

    fn null_value(&mut self) {
        self.row.push(Datum::Null);
    }

    fn end_row(&mut self) -> Result<()> {
        self.rows.push(&self.row)
    }

    fn command_complete(&mut self, tag: &str) {
        self.client.command_complete(tag);
    }

    fn empty_query(&mut self) {
        self.client.empty_query();
    }

    fn portal_suspended(&mut self) {
        self.client.portal_suspended();
    }

    fn notice(&mut self, notice: &Notice) {
        self.client.notice(notice);
    }

    fn spells_in(&mut self, encoding: Encoding) {
        self.client.spells_in(encoding);
    }

    fn copy_out(&mut self, columns: usize, format: Format) {
        self.client.copy_out(columns, format);
    }

    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.client.copy_data(bytes)
    }

    fn copy_out_done(&mut self) {
        self.client.copy_out_done();
    }

    fn copy_in(&mut self, columns: usize, format: Format) -> Result<()> {
        self.client.copy_in(columns, format)
    }

    fn copy_read(&mut self, buffer: &mut Vec<u8>) -> Result<CopyInput> {
        self.client.copy_read(buffer)
    }

    /// Nothing has gathered there.
    fn relieve(&mut self, _: Lsn) -> Result<()> {
        Ok(())
    }
}
