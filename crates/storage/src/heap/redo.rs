//! Redo of heap records: the same changes on the same bytes.

use super::prune::{Plan, apply};
use super::{clean, delete, insert, multi_insert, page, update, visible, vm};
use crate::error::Result;
use crate::page::PageMut;
use crate::recovery::{RedoCtx, garbled};
use crate::wal::{Kind, RecordView};
use base::BlockNo;

/// Applies one record of this room.
pub fn redo(ctx: &RedoCtx, record: &RecordView<'_>) -> Result<()> {
    let (xid, info) = (record.xid, record.info);
    let block = |i: usize| record.block(i).page.block;
    let at = |i: usize, change: &dyn Fn(&mut PageMut<'_>, &[u8])| ctx.row_page(record, i, change);
    match record.kind {
        Kind::HEAP_INSERT => at(0, &|page, bytes| insert::redo(page, block(0), xid, bytes)),
        Kind::HEAP_MULTI_INSERT => {
            at(0, &|page, bytes| multi_insert::redo(page, block(0), xid, info, bytes))
        }
        Kind::HEAP_UPDATE => at(0, &|page, bytes| update::redo_here(page, block(0), xid, bytes)),
        Kind::HEAP_MOVE => {
            at(0, &|page, bytes| update::redo_to(page, block(0), xid, bytes))?;
            at(1, &|page, bytes| update::redo_from(page, xid, bytes))
        }
        Kind::HEAP_DELETE => at(0, &|page, bytes| delete::redo(page, block(0), xid, bytes)),
        Kind::HEAP_PRUNE => at(0, &|page, bytes| {
            apply(page, &Plan::decode(bytes), info & clean::TRUNCATE_LINES != 0);
        }),
        Kind::HEAP_TAKE_BACK => at(0, &|page, bytes| {
            insert::take_back(page, u16::from_le_bytes([bytes[0], bytes[1]]), xid);
        }),
        Kind::HEAP_ALL_VISIBLE => {
            at(0, &|page, _| visible::freeze(page))?;
            at(1, &|page, bytes| {
                vm::put(page, map_entry(bytes), vm::ALL_VISIBLE | vm::ALL_FROZEN);
            })
        }
        Kind::HEAP_NOT_VISIBLE => {
            at(0, &|page, _| page::set_all_visible(page, false))?;
            at(1, &|page, bytes| vm::put(page, map_entry(bytes), 0))
        }
        _ => Err(garbled(record)),
    }
}

fn map_entry(bytes: &[u8]) -> BlockNo {
    BlockNo(u32::from_le_bytes(bytes.try_into().expect("a block's number")))
}
