//! Segment files: a header block, then a fixed stretch of the log.
//!
//! Segment *n* holds the log's bytes from *n* × `segment_bytes` on; its file is a header block longer, so
//! that positions in the log stay one line without holes and blocks of the log are blocks of the file.
//!
//! ```text
//! header := magic u64 | version u32 | timeline u32 | system id u64 | segment bytes u64 | start u64
//!         | epoch u32 | zero u32 | epoch start u64 | previous end u64 | crc u32
//! ```
//!
//! An *epoch* is one run of the engine. Its first segment begins at `epoch start` and goes on from
//! `previous end`, where recovery found the log of the run before to end.

use super::ring::BLOCK_BYTES;
use crate::error::{Error, Result};
use base::Lsn;
use base::crc::crc32c;
use base::disk::{Disk, File, Open};
use std::io;
use std::sync::Arc;

/// The log's directory.
pub const DIRECTORY: &str = "wal";
/// Bytes before the log's bytes in a segment file.
pub(super) const HEADER_BYTES: u64 = BLOCK_BYTES;
/// Smallest segment; `wal_segment_size` is a power of two from here on.
pub const SEGMENT_BYTES_MIN: u64 = 64 * 1024;

const MAGIC: u64 = u64::from_le_bytes(*b"THALWLOG");
const VERSION: u32 = 1;
const ENCODED_BYTES: usize = 68;

/// What is the same in all segments of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// The data directory's own number.
    pub system_id: u64,
    /// Branch of the log's history.
    pub timeline: u32,
    /// Counts the runs.
    pub number: u32,
    /// Log bytes in a segment.
    pub segment_bytes: u64,
    /// Where the run's log begins: the start of a segment.
    pub start: Lsn,
    /// Where the log of the run before ended.
    pub previous_end: Lsn,
}

impl Epoch {
    /// What its segments have in common with those of other epochs.
    pub fn shape(&self) -> LogShape {
        let Epoch { system_id, timeline, segment_bytes, .. } = *self;
        LogShape { system_id, timeline, segment_bytes }
    }

    /// Number of the segment that holds the byte at `lsn`.
    pub fn segment_of(&self, lsn: Lsn) -> u64 {
        lsn.0 / self.segment_bytes
    }

    /// First position of a segment.
    pub fn start_of(&self, segment: u64) -> Lsn {
        Lsn(segment * self.segment_bytes)
    }

    /// Where `lsn` lies in its segment's file.
    pub(super) fn file_offset(&self, lsn: Lsn) -> u64 {
        HEADER_BYTES + lsn.0 % self.segment_bytes
    }

    fn encode(&self, segment: u64) -> [u8; BLOCK_BYTES as usize] {
        let mut block = [0; BLOCK_BYTES as usize];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            block[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&VERSION.to_le_bytes());
        put(&self.timeline.to_le_bytes());
        put(&self.system_id.to_le_bytes());
        put(&self.segment_bytes.to_le_bytes());
        put(&self.start_of(segment).0.to_le_bytes());
        put(&self.number.to_le_bytes());
        put(&0u32.to_le_bytes());
        put(&self.start.0.to_le_bytes());
        put(&self.previous_end.0.to_le_bytes());
        let crc = crc32c(&block[..ENCODED_BYTES - 4]);
        block[ENCODED_BYTES - 4..ENCODED_BYTES].copy_from_slice(&crc.to_le_bytes());
        block
    }

    /// Reads a header; with it, the segment that it says the file is.
    fn decode(block: &[u8]) -> Option<(Epoch, u64)> {
        let block = block.get(..ENCODED_BYTES)?;
        let u32_at = |at: usize| u32::from_le_bytes(block[at..at + 4].try_into().expect("four"));
        let u64_at = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight"));
        if u64_at(0) != MAGIC
            || u32_at(8) != VERSION
            || crc32c(&block[..ENCODED_BYTES - 4]) != u32_at(ENCODED_BYTES - 4)
        {
            return None;
        }
        let epoch = Epoch {
            timeline: u32_at(12),
            system_id: u64_at(16),
            segment_bytes: u64_at(24),
            number: u32_at(40),
            start: Lsn(u64_at(48)),
            previous_end: Lsn(u64_at(56)),
        };
        let start = Lsn(u64_at(32));
        Some((epoch, epoch.segment_of(start)))
    }
}

/// A segment's file name, in [`DIRECTORY`].
pub fn file_name(timeline: u32, segment: u64) -> String {
    format!("{timeline:08X}{segment:016X}")
}

/// A segment's path from the data directory.
pub fn path(timeline: u32, segment: u64) -> String {
    format!("{DIRECTORY}/{}", file_name(timeline, segment))
}

/// Timeline and number that a segment's file name tells; `None` if it is no such name.
pub fn parse_file_name(name: &str) -> Option<(u32, u64)> {
    let is_hex = name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    let (timeline, number) = name.split_at_checked(8).filter(|_| is_hex && name.len() == 24)?;
    Some((u32::from_str_radix(timeline, 16).ok()?, u64::from_str_radix(number, 16).ok()?))
}

/// The segment that a file name of this timeline names.
pub(super) fn parse_name(timeline: u32, name: &str) -> Option<u64> {
    parse_file_name(name).filter(|(its, _)| *its == timeline).map(|(_, number)| number)
}

/// Names of all files of the log's directory, sorted.
pub(super) fn names(disk: &dyn Disk) -> Result<Vec<String>> {
    disk.list(DIRECTORY).map_err(|e| Error::io("list", DIRECTORY, e))
}

/// Numbers of the files of a timeline, ascending; intact or not.
pub(super) fn numbers(disk: &dyn Disk, timeline: u32) -> Result<impl Iterator<Item = u64>> {
    Ok(names(disk)?.into_iter().filter_map(move |name| parse_name(timeline, &name)))
}

/// The shape of the log that a file says it is of; `None` if it is not this segment of any.
pub(super) fn shape(disk: &dyn Disk, timeline: u32, segment: u64) -> Result<Option<LogShape>> {
    let Some(Headed { epoch, says, .. }) = read_header(disk, timeline, segment)? else {
        return Ok(None);
    };
    Ok((says == segment && epoch.timeline == timeline).then(|| epoch.shape()))
}

/// Opens a segment that is part of the log, for reading; `None` if there is no such file or its header is
/// not that of this segment of this data directory.
pub(super) fn open(
    disk: &dyn Disk,
    shape: &LogShape,
    segment: u64,
) -> Result<Option<(Arc<dyn File>, Epoch)>> {
    let Some(Headed { file, epoch, says }) = read_header(disk, shape.timeline, segment)? else {
        return Ok(None);
    };
    let ours = says == segment
        && epoch.timeline == shape.timeline
        && epoch.system_id == shape.system_id
        && epoch.segment_bytes == shape.segment_bytes;
    Ok(ours.then_some((file, epoch)))
}

/// A file with an intact header.
struct Headed {
    file: Arc<dyn File>,
    epoch: Epoch,
    /// The segment that it says it is.
    says: u64,
}

/// Opens a segment's file; `None` if it is not there or has no header.
fn read_header(disk: &dyn Disk, timeline: u32, segment: u64) -> Result<Option<Headed>> {
    let path = path(timeline, segment);
    let file = match disk.open(&path, Open::Existing) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("open", path, e)),
    };
    let mut block = [0; BLOCK_BYTES as usize];
    let n = file.read_at(&mut block, 0).map_err(|e| Error::io("read", &*path, e))?;
    Ok(Epoch::decode(&block[..n]).map(|(epoch, says)| Headed { file, epoch, says }))
}

/// What is the same in all segments of a data directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogShape {
    /// The data directory's own number.
    pub system_id: u64,
    /// Branch of the log's history.
    pub timeline: u32,
    /// Log bytes in a segment.
    pub segment_bytes: u64,
}

/// Writes a segment's header and makes it durable, with whatever else was written to the file.
pub(super) fn write_header(file: &dyn File, epoch: &Epoch, segment: u64, path: &str) -> Result<()> {
    file.write_at(&epoch.encode(segment), 0).map_err(|e| Error::io("write", path, e))?;
    file.sync().map_err(|e| Error::io("sync", path, e))
}

/// Overwrites `[from, to)` of the log in a segment's file with zeros. Does not sync.
pub(super) fn write_zeros(file: &dyn File, mut at: u64, end: u64, path: &str) -> Result<()> {
    const PIECE: u64 = 256 * 1024;
    let zeros = vec![0; PIECE.min(end - at) as usize];
    while at < end {
        let length = (end - at).min(PIECE);
        file.write_at(&zeros[..length as usize], at).map_err(|e| Error::io("write", path, e))?;
        at += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch() -> Epoch {
        Epoch {
            system_id: 7,
            timeline: 1,
            number: 3,
            segment_bytes: 1 << 20,
            start: Lsn(5 << 20),
            previous_end: Lsn((4 << 20) + 96),
        }
    }

    #[test]
    fn headers_come_back_and_any_flipped_bit_voids_them() {
        let block = epoch().encode(6);
        assert_eq!(Epoch::decode(&block), Some((epoch(), 6)));
        for bit in 0..ENCODED_BYTES * 8 {
            let mut bad = block;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Epoch::decode(&bad), None, "bit {bit}");
        }
    }

    #[test]
    fn names_name_segments() {
        assert_eq!(parse_name(1, &file_name(1, 0x2A)), Some(0x2A));
        assert_eq!(parse_name(2, &file_name(1, 0x2A)), None);
        assert_eq!(parse_name(1, "new-segment"), None);
    }
}
