//! Transactions' records in words.

use super::record::{CommitData, take_subxids};
use crate::wal::fields::{Fields, list, put};
use crate::wal::{Kind, RecordView};
use base::clock;

/// Appends what a record of this room says; `None` if it does not say what its kind says.
pub fn describe(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    match record.kind {
        Kind::COMMIT => {
            let data = CommitData::decode(record.data, record.xid)?;
            out.push_str(&clock::utc(data.time_micros));
            if !data.subxids.is_empty() {
                out.push_str("; subxacts:");
                list(out, &data.subxids);
            }
            if !data.dropped.is_empty() {
                out.push_str("; rels dropped:");
                list(out, &data.dropped);
            }
            if !data.invalidations.is_empty() {
                put(out, format_args!("; inval msgs of {} bytes", data.invalidations.len()));
            }
            Some(())
        }
        Kind::ABORT | Kind::SUBXIDS => {
            let subxids = take_subxids(&mut &*record.data, record.xid)?;
            put(out, format_args!("nsubxacts {}", subxids.len()));
            list(out, subxids);
            Some(())
        }
        Kind::MULTIXACT_LIMIT | Kind::XID_LIMIT => {
            put(out, format_args!("below {}", Fields(record.data).u64()?));
            Some(())
        }
        _ => None,
    }
}
