//! COPY's binary format: a signature, then for each row the number of its fields and each field's length
//! and bytes as the type's send function gives them, then −1.

use std::ops::Range;

use crate::error::{Result, bail};
use crate::types::scalar::room;
use crate::types::{Datum, Encoding, Names, TypeId, send};

/// What a file begins with.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Flags that a reader must understand; nobody sets one nowadays.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
/// The one of them that there once was.
const WITH_OIDS: u32 = 1 << 16;
/// In place of a number of fields: no more rows.
const END: i16 = -1;
/// In place of a length: null.
const NULL: i32 = -1;

/// The file's beginning.
pub(super) fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    // No flags, and nothing in the extension area.
    out.extend_from_slice(&[0; 8]);
}

/// One row.
pub(super) fn write_row(
    types: &[TypeId],
    row: &[Datum],
    encoding: Encoding,
    names: &dyn Names,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.extend_from_slice(&(row.len() as i16).to_be_bytes());
    for (type_id, value) in types.iter().zip(row) {
        let at = out.len();
        out.extend_from_slice(&NULL.to_be_bytes());
        if !value.is_null() {
            send(*type_id, value, names, out)?;
            if !encoding.is_plain() {
                let value = out.split_off(at + 4);
                out.extend(encoding.encode_binary(*type_id, &value)?);
            }
            let len = out.len() - at - 4;
            room(len, 0)?;
            out[at..at + 4].copy_from_slice(&(len as i32).to_be_bytes());
        }
    }
    Ok(())
}

/// The file's end.
pub(super) fn write_end(out: &mut Vec<u8>) {
    out.extend_from_slice(&END.to_be_bytes());
}

/// What a reader has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// A row; its fields can be taken.
    Row,
    /// The row is not there whole yet.
    More,
    /// There are no more rows.
    End,
}

/// Takes a file apart that comes in pieces.
#[derive(Default)]
pub(super) struct BinaryReader {
    bytes: Vec<u8>,
    /// Bytes before have been taken.
    at: usize,
    begun: bool,
    /// So many bytes of the header's extension, of which nothing is made, are still to come.
    extension: usize,
    ended: bool,
    /// Where the row's fields are.
    fields: Vec<Option<Range<usize>>>,
}

impl BinaryReader {
    /// Where the next piece goes.
    pub fn input(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.at);
        self.at = 0;
        &mut self.bytes
    }

    /// A field of the current row.
    pub fn field(&self, n: usize) -> Option<&[u8]> {
        self.fields[n].clone().map(|range| &self.bytes[range])
    }

    /// Goes on to the next row. `at_end`: no piece will follow.
    pub fn next(&mut self, at_end: bool, columns: usize) -> Result<Next> {
        if !self.begun {
            match self.header(at_end)? {
                Some(extension) => {
                    (self.at, self.extension) = (SIGNATURE.len() + 8, extension);
                    self.begun = true;
                }
                None => return Ok(Next::More),
            }
        }
        if !self.pass_extension(at_end)? {
            return Ok(Next::More);
        }
        if self.ended {
            if self.at < self.bytes.len() {
                bail!(BAD_COPY_FILE_FORMAT, "received copy data after EOF marker");
            }
            return Ok(if at_end { Next::End } else { Next::More });
        }
        let rest = &self.bytes[self.at..];
        let Some(count) = rest.first_chunk().map(|bytes| i16::from_be_bytes(*bytes)) else {
            // As PostgreSQL: a file may end without saying so.
            return Ok(if at_end { Next::End } else { Next::More });
        };
        if count == END {
            (self.at, self.ended) = (self.at + 2, true);
            return self.next(at_end, columns);
        }
        if usize::try_from(count) != Ok(columns) {
            bail!(BAD_COPY_FILE_FORMAT, "row field count is {count}, expected {columns}");
        }
        if self.row(columns)? {
            return Ok(Next::Row);
        }
        if at_end {
            bail!(BAD_COPY_FILE_FORMAT, "unexpected EOF in COPY data");
        }
        Ok(Next::More)
    }

    /// Finds the fields of the row at hand; false if it is not there whole.
    fn row(&mut self, columns: usize) -> Result<bool> {
        self.fields.clear();
        let mut at = self.at + 2;
        for _ in 0..columns {
            let Some(len) = self.bytes.get(at..).and_then(<[u8]>::first_chunk) else {
                return Ok(false);
            };
            let len = i32::from_be_bytes(*len);
            at += 4;
            if len == NULL {
                self.fields.push(None);
                continue;
            }
            let Ok(len) = usize::try_from(len) else {
                bail!(BAD_COPY_FILE_FORMAT, "invalid field size");
            };
            room(at - self.at, len)?;
            if self.bytes.len() < at + len {
                return Ok(false);
            }
            self.fields.push(Some(at..at + len));
            at += len;
        }
        self.at = at;
        Ok(true)
    }

    /// Passes over the header's extension; false if it has not come to its end.
    fn pass_extension(&mut self, at_end: bool) -> Result<bool> {
        let there = self.extension.min(self.bytes.len() - self.at);
        (self.at, self.extension) = (self.at + there, self.extension - there);
        if self.extension > 0 && at_end {
            bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (wrong length)");
        }
        Ok(self.extension == 0)
    }

    /// The length of the extension, if the file's beginning before that is there whole.
    fn header(&self, at_end: bool) -> Result<Option<usize>> {
        let there = self.bytes.len().min(SIGNATURE.len());
        if self.bytes[..there] != SIGNATURE[..there] || (at_end && there < SIGNATURE.len()) {
            bail!(BAD_COPY_FILE_FORMAT, "COPY file signature not recognized");
        }
        let word = |at: usize| {
            let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map(|bytes| u32::from_be_bytes(*bytes))
        };
        let (flags, extension) = (word(SIGNATURE.len()), word(SIGNATURE.len() + 4));
        match flags {
            None if at_end => {
                bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (missing flags)")
            }
            Some(flags) if flags & WITH_OIDS != 0 => {
                bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (WITH OIDS)")
            }
            Some(flags) if flags & CRITICAL_FLAGS != 0 => {
                bail!(BAD_COPY_FILE_FORMAT, "unrecognized critical flags in COPY file header")
            }
            _ => {}
        }
        match extension.map(i32::try_from) {
            Some(Ok(len)) => Ok(Some(len as usize)),
            None if !at_end => Ok(None),
            _ => bail!(BAD_COPY_FILE_FORMAT, "invalid COPY file header (missing length)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::testing::NoNames;

    fn file(rows: &[[Datum; 2]]) -> Vec<u8> {
        let mut out = Vec::new();
        write_header(&mut out);
        for row in rows {
            write_row(&[TypeId::INT4, TypeId::TEXT], row, Encoding::utf8(), &NoNames, &mut out)
                .unwrap();
        }
        write_end(&mut out);
        out
    }

    /// Reads a file that comes in pieces of `size` bytes; each row's fields.
    fn read(file: &[u8], size: usize) -> Result<Vec<Vec<Option<Vec<u8>>>>> {
        let (mut reader, mut rows) = (BinaryReader::default(), Vec::new());
        let mut pieces = file.chunks(size);
        let mut at_end = false;
        loop {
            match reader.next(at_end, 2)? {
                Next::Row => {
                    rows.push((0..2).map(|n| reader.field(n).map(<[u8]>::to_vec)).collect())
                }
                Next::End => return Ok(rows),
                Next::More => match pieces.next() {
                    Some(piece) => reader.input().extend_from_slice(piece),
                    None => at_end = true,
                },
            }
        }
    }

    #[test]
    fn files_are_read_whatever_pieces_they_come_in() {
        let file = file(&[
            [Datum::Int4(7), Datum::text("x")],
            [Datum::Null, Datum::text("")],
            [Datum::Int4(-1), Datum::Null],
        ]);
        let some = |bytes: &[u8]| Some(bytes.to_vec());
        let expected = vec![
            vec![some(&[0, 0, 0, 7]), some(b"x")],
            vec![None, some(b"")],
            vec![some(&[255; 4]), None],
        ];
        for size in 1..=file.len() {
            assert_eq!(read(&file, size).unwrap(), expected, "pieces of {size}");
        }
        // Without its last two bytes it ends where a row might begin, which is as good.
        assert_eq!(read(&file[..file.len() - 2], 5).unwrap(), expected);
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = file(&[[Datum::Int4(7), Datum::text("x")]]);
        let refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bad = good.clone();
            change(&mut bad);
            let error = read(&bad, 4).unwrap_err();
            assert_eq!(error.sqlstate().as_str(), "22P04");
            error.message().to_owned()
        };
        let signature = "COPY file signature not recognized";
        assert_eq!(refused(&|f| f[3] = b'X'), signature);
        assert_eq!(refused(&|f| f.truncate(5)), signature);
        assert_eq!(refused(&|f| f.truncate(13)), "invalid COPY file header (missing flags)");
        assert_eq!(refused(&|f| f[11] = 1), "unrecognized critical flags in COPY file header");
        assert_eq!(refused(&|f| f[15] = 1), "invalid COPY file header (wrong length)");
        assert_eq!(refused(&|f| f[20] = 3), "row field count is 3, expected 2");
        assert_eq!(refused(&|f| f[21] = 0x80), "invalid field size");
        assert_eq!(refused(&|f| f.truncate(27)), "unexpected EOF in COPY data");
        assert_eq!(refused(&|f| f.push(0)), "received copy data after EOF marker");
    }
}
