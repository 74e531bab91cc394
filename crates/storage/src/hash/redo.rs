//! Redo of hash index records: each block carries the operations that changed it.

use super::edit;
use crate::error::Result;
use crate::recovery::{RedoCtx, garbled};
use crate::wal::{Kind, RecordView};
use base::rank::Rank;

/// Applies one record of this room.
pub fn redo(ctx: &RedoCtx, record: &RecordView<'_>) -> Result<()> {
    match record.kind {
        Kind::HASH_INIT
        | Kind::HASH_INSERT
        | Kind::HASH_OVERFLOW
        | Kind::HASH_REMOVE
        | Kind::HASH_EXTENT
        | Kind::HASH_SPLIT
        | Kind::HASH_MOVE
        | Kind::HASH_SPLIT_END
        | Kind::HASH_SQUEEZE
        | Kind::HASH_COUNT
        | Kind::HASH_PAGE => {}
        _ => return Err(garbled(record)),
    }
    for i in 0..record.block_count() {
        ctx.page(record, i, Rank::IndexPage, edit::apply)?;
    }
    Ok(())
}
