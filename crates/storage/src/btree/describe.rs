//! B-tree records in words. Keys are bytes whose meaning is SQL's: only their lengths are told.

use crate::wal::fields::{Fields, list, put, with};
use crate::wal::{Kind, RecordView};
use base::Tid;

/// Appends what a record of this room says; `None` if it does not say what its kind says.
pub fn describe(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    if record.block_count() == 0 {
        return None;
    }
    match record.kind {
        Kind::BTREE_INIT | Kind::BTREE_PAGE | Kind::BTREE_MERGE => Some(()),
        Kind::BTREE_INSERT => with(record, 0, out, |bytes, out| {
            entry(bytes, out)?;
            put(out, format_args!(", key of {} bytes", bytes.len()));
            Some(())
        }),
        Kind::BTREE_INSERT_CARRYING => with(record, 0, out, |bytes, out| {
            entry(bytes, out)?;
            let key = bytes.u16()?;
            bytes.take(key.into())?;
            put(out, format_args!(", key of {key} bytes, carries {} bytes", bytes.len()));
            Some(())
        }),
        Kind::BTREE_REMOVE => with(record, 0, out, |bytes, out| {
            let mut gone = Vec::new();
            while bytes.len() > 0 {
                gone.push(bytes.u16()?);
            }
            put(out, format_args!("nremoved {}", gone.len()));
            list(out, gone);
            Some(())
        }),
        Kind::BTREE_SPLIT => with(record, 0, out, |bytes, out| {
            put(
                out,
                format_args!("from entry {}, new right sibling {}", bytes.u16()?, bytes.u32()?),
            );
            high_key(bytes, out)
        }),
        Kind::BTREE_SPLIT_ROOT => with(record, 0, out, |bytes, out| {
            let (left, right) = (bytes.u32()?, bytes.u32()?);
            put(out, format_args!("children {left} and {right}, level {}", bytes.u8()?));
            high_key(bytes, out)
        }),
        Kind::BTREE_SEPARATOR => with(record, 0, out, |bytes, out| {
            put(out, format_args!("entry {}, child {}", bytes.u16()?, bytes.u32()?));
            high_key(bytes, out)
        }),
        Kind::BTREE_SHIFT => {
            with(record, 0, out, |bytes, out| {
                put(out, format_args!("from entry {}", bytes.u16()?));
                high_key(bytes, out)
            })?;
            let right = record.blocks().nth(1)?.page.block;
            put(out, format_args!(", to right sibling {right}"));
            with(record, 2, out, |bytes, out| {
                put(out, format_args!(", entry {} of the parent", bytes.u16()?));
                bytes.u48()?;
                bytes.take(bytes.len())?;
                Some(())
            })
        }
        Kind::BTREE_UNLINK => unlinked(record, out),
        Kind::BTREE_UNLINK_INNER => {
            unlinked(record, out)?;
            with(record, 2, out, |bytes, out| {
                put(out, format_args!(", which gets child {}", bytes.u32()?));
                high_key(bytes, out)
            })
        }
        _ => None,
    }
}

/// What both kinds of unlinking say first.
fn unlinked(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    let gone = record.blocks().next()?.page.block;
    put(out, format_args!("page {gone}"));
    with(record, 0, out, |bytes, out| {
        put(out, format_args!(", reusable after snapshot {}", base::Lsn(bytes.u64()?)));
        Some(())
    })?;
    with(record, 1, out, |bytes, out| {
        let (at, right) = (bytes.u16()?, bytes.u32()?);
        put(out, format_args!(", entry {at} of its parent, right sibling {right}"));
        Some(())
    })
}

/// Position and row of an entry.
fn entry(bytes: &mut Fields<'_>, out: &mut String) -> Option<()> {
    let (at, tid) = (bytes.u16()?, Tid::from_u64(bytes.u48()?));
    put(out, format_args!("entry {at}, row {tid}"));
    Some(())
}

/// A key with its tie-breaker.
fn high_key(bytes: &mut Fields<'_>, out: &mut String) -> Option<()> {
    let tie = Tid::from_u64(bytes.u48()?);
    put(out, format_args!(", key of {} bytes, tie {tie}", bytes.len()));
    Some(())
}
