//! Redo of a sequence's state.

use super::{STATE_BYTES, State, store};
use crate::error::Result;
use crate::recovery::RedoCtx;
use crate::wal::RecordView;
use base::rank::Rank;

/// Applies one record of this room.
pub fn redo(ctx: &RedoCtx, record: &RecordView<'_>) -> Result<()> {
    ctx.page(record, 0, Rank::SequencePage, |page, bytes| {
        assert_eq!(bytes.len(), STATE_BYTES, "a logged state is whole");
        let (last, called) = bytes.split_at(8);
        let last = i64::from_le_bytes(last.try_into().expect("eight bytes"));
        store(page, State { last, is_called: called[0] != 0 }, last);
    })
}
