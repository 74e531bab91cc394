//! Finishing a segment before it is full, and where a position lies.

use super::record::{HEADER_BYTES, MAX_RECORD_BYTES, RECORD_ALIGN, Record, record_bound};
use super::{Kind, Wal, segment};
use crate::error::Result;
use base::{Lsn, Xid};

/// What one filler carries at most.
const FILL_BYTES: usize = MAX_RECORD_BYTES - 1024;

impl Wal {
    /// Ends the current segment: whatever is inserted from now on lies in a later one, and all up to there is
    /// durable when this returns. Answers the segment's end. Nothing happens where a segment has just begun.
    ///
    /// The rest is filled with records that say nothing. Others may insert meanwhile; then less is to be filled,
    /// and the last filler reaches a little beyond.
    pub fn switch(&self) -> Result<Lsn> {
        let begun = self.position();
        let current = self.route.epoch.segment_of(begun);
        if begun == self.route.epoch.start_of(current) {
            self.flush(begun);
            return Ok(begun);
        }
        let _window = base::sim::window("log-switched");
        let end = self.route.epoch.start_of(current + 1);
        let zeros = vec![0; FILL_BYTES];
        loop {
            let at = self.position();
            if at >= end {
                break;
            }
            let left = (end.0 - at.0) as usize;
            let fill =
                left.saturating_sub(HEADER_BYTES.next_multiple_of(RECORD_ALIGN)).min(FILL_BYTES);
            let mut claim = self.claim(record_bound(1, 0, fill))?;
            let record = Record::new(Kind::FILLER, Xid::INVALID).data(&zeros[..fill]);
            self.insert(&mut claim, &record);
        }
        self.flush(end);
        Ok(end)
    }

    /// The file that the byte before `lsn` lies in, and where in it `lsn` is. On a segment's first byte the file is
    /// the one before, as PostgreSQL has it.
    pub fn place_of(&self, lsn: Lsn) -> (String, u64) {
        let number = self.route.epoch.segment_of(Lsn(lsn.0.saturating_sub(1)));
        (segment::file_name(self.route.epoch.timeline, number), self.route.epoch.file_offset(lsn))
    }
}
