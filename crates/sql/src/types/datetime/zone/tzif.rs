//! Reads compiled zone files (RFC 8536).

use std::sync::Arc;

use super::posix::Rule;
use super::{LocalType, Transition, Zone};

/// Takes big-endian fields off the front of a file; `None` when it ends too early.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn u32(&mut self) -> Option<usize> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?) as usize)
    }
}

struct Counts {
    utc_flags: usize,
    std_flags: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

fn header(reader: &mut Reader<'_>) -> Option<Counts> {
    if reader.take(4)? != b"TZif" {
        return None;
    }
    reader.take(16)?;
    Some(Counts {
        utc_flags: reader.u32()?,
        std_flags: reader.u32()?,
        leaps: reader.u32()?,
        times: reader.u32()?,
        types: reader.u32()?,
        chars: reader.u32()?,
    })
}

impl Counts {
    /// Bytes of the data block whose times are `time_size` bytes wide.
    fn block_len(&self, time_size: usize) -> usize {
        self.times * (time_size + 1)
            + self.types * 6
            + self.chars
            + self.leaps * (time_size + 4)
            + self.std_flags
            + self.utc_flags
    }
}

/// The zone in a version 2+ file.
pub(super) fn read(name: &str, bytes: &[u8]) -> Option<Zone> {
    let mut reader = Reader(bytes);
    let old = header(&mut reader)?;
    reader.take(old.block_len(4))?;
    let counts = header(&mut reader)?;
    let block = reader.take(counts.block_len(8))?;
    let footer = std::str::from_utf8(reader.0).ok()?.trim_matches('\n');

    let mut block = Reader(block);
    let times = block.take(counts.times * 8)?;
    let indexes = block.take(counts.times)?;
    let type_records = block.take(counts.types * 6)?;
    let chars = block.take(counts.chars)?;

    let types: Vec<LocalType> = type_records
        .chunks_exact(6)
        .map(|record| {
            let name = &chars[usize::from(record[5])..];
            let end = name.iter().position(|&b| b == 0)?;
            Some(LocalType {
                east_s: i32::from_be_bytes(record[..4].try_into().ok()?),
                is_dst: record[4] != 0,
                abbreviation: Arc::from(std::str::from_utf8(&name[..end]).ok()?),
            })
        })
        .collect::<Option<_>>()?;
    let transitions = times
        .chunks_exact(8)
        .zip(indexes)
        .map(|(at, &type_index)| {
            Some(Transition { at: i64::from_be_bytes(at.try_into().ok()?), type_index })
        })
        .collect::<Option<_>>()?;
    let tail = Rule::parse(footer).filter(|rule| rule.daylight.is_some());
    Some(Zone { name: name.to_owned(), transitions, types, tail })
}
