//! From a row's bytes to the wire, without a datum in between where the type allows.

use super::{Located, RowView, ValueKind, read_varlen};
use crate::error::Result;
use crate::types::context::{IoContext, Names};
use crate::types::datetime::{Date, Timestamp, TimestampTz, encode};
use crate::types::{TypeId, binary, io};

impl RowView<'_> {
    /// Appends column `i` as its type's output function writes it; false, and nothing appended,
    /// when it is null.
    pub fn write_text(
        &self,
        i: usize,
        type_id: TypeId,
        cx: &IoContext<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let bytes = match self.locate(i) {
            Located::Null => return Ok(false),
            Located::Missing(value) if value.is_null() => return Ok(false),
            Located::Missing(value) => {
                io::output(type_id, value, cx, out)?;
                return Ok(true);
            }
            Located::At(bytes) => bytes,
        };
        let kind = self.desc.kind(i);
        let mut digits = itoa::Buffer::new();
        match kind {
            ValueKind::Int4 => {
                let value = i32::from_le_bytes(fixed(bytes));
                out.extend_from_slice(digits.format(value).as_bytes());
            }
            ValueKind::Int8 if type_id == TypeId::INT8 => {
                let value = i64::from_le_bytes(fixed(bytes));
                out.extend_from_slice(digits.format(value).as_bytes());
            }
            ValueKind::Text | ValueKind::Jsonb => {
                read_varlen(bytes).0.with_bytes(|raw| out.extend_from_slice(raw));
            }
            ValueKind::Bool => out.push(if bytes[0] != 0 { b't' } else { b'f' }),
            ValueKind::Timestamp => {
                let value = Timestamp(i64::from_le_bytes(fixed(bytes)));
                encode::write_timestamp(value, cx.format, out);
            }
            ValueKind::TimestampTz => {
                let value = TimestampTz(i64::from_le_bytes(fixed(bytes)));
                encode::write_timestamptz(value, cx.format, out);
            }
            ValueKind::Date => {
                encode::write_date(Date(i32::from_le_bytes(fixed(bytes))), cx.format, out);
            }
            _ => io::output(type_id, &kind.decode(bytes).0, cx, out)?,
        }
        Ok(true)
    }

    /// Appends column `i` as its type's send function does; false, and nothing appended, when it
    /// is null.
    pub fn write_binary(
        &self,
        i: usize,
        type_id: TypeId,
        names: &dyn Names,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let bytes = match self.locate(i) {
            Located::Null => return Ok(false),
            Located::Missing(value) if value.is_null() => return Ok(false),
            Located::Missing(value) => {
                binary::send(type_id, value, names, out)?;
                return Ok(true);
            }
            Located::At(bytes) => bytes,
        };
        let kind = self.desc.kind(i);
        match kind {
            // One number each: the wire wants its bytes the other way round.
            ValueKind::Int2 => out.extend(fixed::<2>(bytes).iter().rev()),
            ValueKind::Int4 | ValueKind::Float4 | ValueKind::Date => {
                out.extend(fixed::<4>(bytes).iter().rev());
            }
            ValueKind::Oid if !type_id.is_enum() => out.extend(fixed::<4>(bytes).iter().rev()),
            ValueKind::Int8
            | ValueKind::Float8
            | ValueKind::Time
            | ValueKind::Timestamp
            | ValueKind::TimestampTz => out.extend(fixed::<8>(bytes).iter().rev()),
            ValueKind::Bool | ValueKind::Char => out.push(bytes[0]),
            ValueKind::Uuid => out.extend_from_slice(&fixed::<16>(bytes)),
            ValueKind::Bytea => {
                read_varlen(bytes).0.with_bytes(|raw| out.extend_from_slice(raw));
            }
            _ => binary::send(type_id, &kind.decode(bytes).0, names, out)?,
        }
        Ok(true)
    }
}

#[inline]
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("N bytes")
}
