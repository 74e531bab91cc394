//! Text of composite values: `(a,"b c",)`.

use super::context::IoContext;
use super::datum::{Datum, Record};
use super::io;
use super::scalar::{is_space, room};
use crate::error::Result;

/// Appends a record's text; nulls are empty, quotes and backslashes double inside quotes.
pub(crate) fn write_record(record: &Record, cx: &IoContext<'_>, out: &mut Vec<u8>) -> Result<()> {
    let (len, _) = measure(record);
    room(out.len(), len)?;
    out.push(b'(');
    for (i, (type_id, value)) in record.fields.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if value.is_null() {
            continue;
        }
        let start = out.len();
        io::output(*type_id, value, cx, out)?;
        let text = &out[start..];
        let quote = text.is_empty()
            || text.iter().any(|&b| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(b));
        if quote {
            let text = out.split_off(start);
            let escapes = text.iter().filter(|b| matches!(b, b'"' | b'\\')).count();
            room(out.len(), text.len() + escapes + 2)?;
            out.push(b'"');
            for byte in text {
                if matches!(byte, b'"' | b'\\') {
                    out.push(byte);
                }
                out.push(byte);
            }
            out.push(b'"');
        }
        room(out.len(), 0)?;
    }
    out.push(b')');
    Ok(())
}

/// The least that a record's text has in bytes, and quotes among them: each level of nesting doubles
/// the quotes of those inside it, so the text of a few dozen levels has no end.
fn measure(record: &Record) -> (usize, usize) {
    let (mut len, mut quotes) = (2, 0_usize);
    for (_, value) in &record.fields {
        if let Datum::Record(inner) = value {
            let (own, escaped) = measure(inner);
            len = own.saturating_add(escaped).saturating_add(len).saturating_add(2);
            quotes = escaped.saturating_mul(2).saturating_add(quotes).saturating_add(2);
        }
    }
    (len, quotes)
}
