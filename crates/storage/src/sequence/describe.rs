//! A sequence's record in words.

use crate::wal::fields::{put, with};
use crate::wal::{Kind, RecordView};

/// Appends what a record of this room says; `None` if it does not say what its kind says.
pub fn describe(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    if record.kind != Kind::SEQUENCE {
        return None;
    }
    with(record, 0, out, |bytes, out| {
        let (last, is_called) = (bytes.u64()? as i64, bytes.u8()? != 0);
        put(out, format_args!("last_value {last}, is_called {is_called}"));
        Some(())
    })
}
