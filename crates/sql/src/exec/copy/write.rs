//! Records into bytes.

use super::options::{CopyFormat, Kind};

/// Appends one record with its newline. `fields` are values in text form; `None` is null. `force_quote` says
/// which columns are always quoted.
pub fn write_record<'a>(
    format: &CopyFormat,
    fields: impl Iterator<Item = Option<&'a [u8]>>,
    force_quote: &dyn Fn(usize) -> bool,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let mut count = 0;
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(format.delimiter);
        }
        count += 1;
        match field {
            None => out.extend_from_slice(&format.null),
            Some(bytes) if format.kind == Kind::Csv => {
                write_csv(format, bytes, force_quote(i), out)
            }
            Some(bytes) => write_text(format, bytes, out),
        }
    }
    // A line that reads as the end-of-data mark must not be one.
    if format.kind == Kind::Csv && count == 1 && &out[start..] == b"\\." {
        out.truncate(start);
        out.extend_from_slice(&[format.quote, b'\\', b'.', format.quote]);
    }
    out.push(b'\n');
}

fn write_text(format: &CopyFormat, bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            b if b == format.delimiter => b,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

fn write_csv(format: &CopyFormat, bytes: &[u8], forced: bool, out: &mut Vec<u8>) {
    let special =
        |b: &u8| *b == format.delimiter || *b == format.quote || matches!(*b, b'\n' | b'\r');
    let needs_quotes = forced || bytes == format.null.as_slice() || bytes.iter().any(special);
    if !needs_quotes {
        out.extend_from_slice(bytes);
        return;
    }
    out.push(format.quote);
    for &byte in bytes {
        if byte == format.quote || byte == format.escape {
            out.push(format.escape);
        }
        out.push(byte);
    }
    out.push(format.quote);
}
