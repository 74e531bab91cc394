//! Log records in words, as `thalweg waldump` and `pg_walinspect` show them. Each room describes its own, beside the
//! redo that applies them; here are those of rooms without redo of their own.

use super::Counters;
use super::redo::rank_of;
use crate::relfile;
use crate::wal::fields::{Fields, list, put};
use crate::wal::{BlockView, Compression, Kind, RecordView, Room};
use crate::{btree, hash, heap, sequence, txn};
use base::rank::Rank;
use base::{Fork, PageId, RelId};

/// What a record says, without its kind. Empty if that says it all. Never fails: of a record that does not say what its
/// kind says (it was written by another version) it tells that.
pub fn describe(record: &RecordView<'_>) -> String {
    let mut out = String::new();
    let told = match record.kind.room() {
        Some(Room::Log) => log(record, &mut out),
        Some(Room::RelFile) => files(record, &mut out),
        Some(Room::Buffer) => images(record, &mut out),
        Some(Room::Txn) => txn::describe::describe(record, &mut out),
        Some(Room::Heap) => heap::describe::describe(record, &mut out),
        Some(Room::BTree) => btree::describe::describe(record, &mut out),
        Some(Room::Hash) => hash::describe::describe(record, &mut out),
        Some(Room::Sequence) => sequence::describe::describe(record, &mut out),
        None => None,
    };
    if told.is_none() {
        out.push_str(if out.is_empty() { "" } else { " … " });
        out.push_str("(content unknown)");
    }
    out
}

/// What `pg_waldump` calls a fork.
pub fn fork_name(fork: Fork) -> &'static str {
    match fork {
        Fork::Main => "main",
        Fork::FreeSpace => "fsm",
        Fork::Visibility => "vm",
    }
}

/// The `i`-th page that a record names, and how its image is kept: `rel 12 fork main blk 0 (FPW); hole: …`.
pub fn describe_block(i: usize, block: &BlockView<'_>) -> String {
    let PageId { rel, fork, block: number } = block.page;
    let mut text = format!("blkref #{i}: rel {rel} fork {} blk {number}", fork_name(fork));
    let Some(shape) = block.image_shape() else {
        text.push_str(if block.will_init { " (INIT)" } else { "" });
        put(&mut text, format_args!("; data {} bytes", block.bytes.len()));
        return text;
    };
    let (offset, length) = shape.hole;
    put(&mut text, format_args!(" (FPW); hole: offset: {offset}, length: {length}"));
    if shape.compression != Compression::Off {
        let name = shape.compression.name();
        let saved = shape.saved_bytes;
        put(&mut text, format_args!(", compression saved: {saved}, method: {name}"));
    }
    text
}

fn log(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    match record.kind {
        Kind::CHECKPOINT => {
            let next = Counters::decode(record.data)?;
            put(out, format_args!("next xid {}; next oid {}; ", next.next_xid, next.next_oid));
            put(out, format_args!("next relation {}; ", next.next_rel));
            let (multi, member) = (next.next_multixact, next.next_member);
            put(out, format_args!("next multi {multi}; next multi offset {member}"));
        }
        Kind::NEXT_OID => put(out, format_args!("below {}", Fields(record.data).u32()?)),
        Kind::FILLER => put(out, format_args!("{} bytes", record.data.len())),
        _ => return None,
    }
    Some(())
}

fn files(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    let mut bytes = Fields(record.data);
    match record.kind {
        Kind::FILE_CREATE => {
            out.push_str(&relfile::path(RelId(bytes.u32()?), Fork::Main));
        }
        Kind::FILE_TRUNCATE => {
            let (rel, fork) = (RelId(bytes.u32()?), Fork::from_u8(bytes.u8()?)?);
            put(out, format_args!("{} to {} blocks", relfile::path(rel, fork), bytes.u32()?));
        }
        Kind::PENDING_FILES => {
            let mut pending = Vec::new();
            while bytes.len() > 0 {
                let (rel, xid) = (bytes.u32()?, bytes.u64()?);
                pending.push(format!("{rel} of xid {xid}"));
            }
            put(out, format_args!("nfiles {}", pending.len()));
            list(out, pending);
        }
        _ => return None,
    }
    Some(())
}

fn images(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    if record.kind != Kind::PAGE_IMAGE {
        return None;
    }
    out.push_str(match rank_of(record.info)? {
        Rank::HeapPage => "of a heap",
        Rank::IndexPage => "of an index",
        _ => "of a sequence",
    });
    Some(())
}

#[cfg(test)]
mod tests;
