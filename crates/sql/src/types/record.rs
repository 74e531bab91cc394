//! Text of composite values: `(a,"b c",)`.

use super::context::IoContext;
use super::datum::Record;
use super::io;
use super::scalar::is_space;
use crate::error::Result;

/// Appends a record's text; nulls are empty, quotes and backslashes double inside quotes.
pub(crate) fn write_record(record: &Record, cx: &IoContext<'_>, out: &mut Vec<u8>) -> Result<()> {
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
            out.push(b'"');
            for byte in text {
                if matches!(byte, b'"' | b'\\') {
                    out.push(byte);
                }
                out.push(byte);
            }
            out.push(b'"');
        }
    }
    out.push(b')');
    Ok(())
}
