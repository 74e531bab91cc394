//! Hash index records in words: the operations that each page's part lists.

use super::edit::LOGGED_ENTRY_BYTES;
use super::edit::op::*;
use super::page::{FILLING, SPLITTING, role};
use crate::wal::fields::{Fields, list, put, with};
use crate::wal::{Kind, RecordView, Room};

/// Appends what a record of this room says; `None` if it does not say what its kind says.
pub fn describe(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    if record.kind.room() != Some(Room::Hash) || record.block_count() == 0 {
        return None;
    }
    if record.kind == Kind::HASH_PAGE {
        return Some(());
    }
    for i in 0..record.block_count() {
        let block = record.blocks().nth(i)?.page.block;
        if i > 0 {
            out.push_str("; ");
        }
        put(out, format_args!("page {block}:"));
        with(record, i, out, operations)?;
    }
    Some(())
}

fn operations(bytes: &mut Fields<'_>, out: &mut String) -> Option<()> {
    let mut comma = " ";
    while bytes.len() > 0 {
        out.push_str(comma);
        comma = ", ";
        operation(bytes, out)?;
    }
    Some(())
}

fn operation(bytes: &mut Fields<'_>, out: &mut String) -> Option<()> {
    match bytes.u8()? {
        ADD => {
            let count = bytes.u16()?;
            bytes.take(usize::from(count) * LOGGED_ENTRY_BYTES)?;
            put(out, format_args!("entries added {count}"));
        }
        REMOVE => {
            let count = bytes.u16()?;
            let gone = (0..count).map(|_| bytes.u16()).collect::<Option<Vec<_>>>()?;
            put(out, format_args!("entries removed {count}"));
            list(out, gone);
        }
        SET_NEXT => put(out, format_args!("next page {}", bytes.u32()?)),
        SET_STATE => {
            let (state, depth, cursor) = (bytes.u8()?, bytes.u8()?, bytes.u32()?);
            put(out, format_args!("{}, depth {depth}, cursor {cursor}", state_name(state)));
        }
        MOVED => out.push_str("entries moved along the chain"),
        INIT => {
            let (role, depth, state) = (bytes.u8()?, bytes.u8()?, bytes.u8()?);
            let (role, state) = (role_name(role), state_name(state));
            put(out, format_args!("new {role} of bucket {}, depth {depth}, {state}", bytes.u32()?));
        }
        INIT_META => put(out, format_args!("new metapage, {} entries a bucket", bytes.u16()?)),
        META_SIZE => {
            let (buckets, entries) = (bytes.u32()?, bytes.u64()?);
            put(out, format_args!("buckets {buckets}, entries {entries}"));
        }
        META_EXTENT => put(out, format_args!("extent from block {}", bytes.u32()?)),
        _ => return None,
    }
    Some(())
}

fn role_name(code: u8) -> &'static str {
    match code {
        role::META => "metapage",
        role::BUCKET => "first page",
        role::OVERFLOW => "overflow page",
        role::FREE => "free page",
        _ => "page of an unknown role",
    }
}

fn state_name(state: u8) -> &'static str {
    match state {
        0 => "at rest",
        SPLITTING => "being split",
        FILLING => "being filled",
        _ => "being filled and split",
    }
}
