//! What the log says of a transaction's end.
//!
//! ```text
//! COMMIT   := time i64 | subtransactions | dropped | invalidations        main data; the record's xid is the top
//! SUBXIDS  := subtransactions                                             before a COMMIT that can't hold them all
//! ABORT    := subtransactions
//! subtransactions := count varint, gap varint …       ascending; the first gap counts from the top's id
//! dropped         := count varint, relation u32 …
//! invalidations   := length varint, bytes             SQL's own
//! ```

use base::{RelId, Xid};

/// Most bytes of subtransaction ids in one record.
pub(super) const SUBXIDS_BYTES_MAX: usize = 64 * 1024;
/// Most bytes of invalidations in a commit record.
pub const INVALIDATION_BYTES_MAX: usize = 32 * 1024;
/// Most relations that one commit may drop.
pub const DROPPED_MAX: usize = 4096;

const _: () = assert!(
    SUBXIDS_BYTES_MAX + INVALIDATION_BYTES_MAX + 4 * DROPPED_MAX + 64
        < crate::wal::MAX_RECORD_BYTES - 64
);

/// The content of a commit record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommitData {
    /// Microseconds since 1970.
    pub time_micros: i64,
    /// Committed subtransactions, ascending.
    pub subxids: Vec<Xid>,
    /// Relations whose files go.
    pub dropped: Vec<RelId>,
    /// For SQL's caches.
    pub invalidations: Vec<u8>,
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(from: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(n)?;
    *from = rest;
    Some(taken)
}

/// Writes ids as gaps from `top`, as many as fit into the limit; how many.
pub(super) fn put_subxids(out: &mut Vec<u8>, top: Xid, subxids: &[Xid]) -> usize {
    if subxids.is_empty() {
        put_varint(out, 0);
        return 0;
    }
    let mut gaps = Vec::new();
    let mut before = top.0;
    let mut count = 0;
    for xid in subxids {
        if gaps.len() + 20 > SUBXIDS_BYTES_MAX {
            break;
        }
        debug_assert!(xid.0 > before, "subtransactions are younger than their top, and ascending");
        put_varint(&mut gaps, xid.0 - before);
        before = xid.0;
        count += 1;
    }
    put_varint(out, count as u64);
    out.extend_from_slice(&gaps);
    count
}

pub(super) fn take_subxids(from: &mut &[u8], top: Xid) -> Option<Vec<Xid>> {
    let count = take_varint(from)?;
    let mut before = top.0;
    let mut subxids = Vec::new();
    for _ in 0..count {
        before = before.checked_add(take_varint(from)?)?;
        subxids.push(Xid(before));
    }
    Some(subxids)
}

/// Writes a commit record's main data, but for subtransactions that do not fit: how many did. Those left out
/// belong in records before.
pub(super) fn put_commit(
    out: &mut Vec<u8>,
    top: Xid,
    time_micros: i64,
    subxids: &[Xid],
    dropped: &[RelId],
    invalidations: &[u8],
) -> usize {
    out.extend_from_slice(&time_micros.to_le_bytes());
    let count = put_subxids(out, top, subxids);
    put_varint(out, dropped.len() as u64);
    dropped.iter().for_each(|rel| out.extend_from_slice(&rel.0.to_le_bytes()));
    put_varint(out, invalidations.len() as u64);
    out.extend_from_slice(invalidations);
    count
}

impl CommitData {
    /// Reads a record's main data back; `None` if it was never written by this program.
    pub fn decode(mut data: &[u8], top: Xid) -> Option<CommitData> {
        let from = &mut data;
        let time = take(from, 8)?.try_into().expect("eight bytes were taken");
        let subxids = take_subxids(from, top)?;
        let mut dropped = Vec::new();
        for _ in 0..take_varint(from)? {
            let rel = take(from, 4)?.try_into().expect("four bytes were taken");
            dropped.push(RelId(u32::from_le_bytes(rel)));
        }
        let length = usize::try_from(take_varint(from)?).ok()?;
        let invalidations = take(from, length)?.to_vec();
        let time_micros = i64::from_le_bytes(time);
        from.is_empty().then_some(CommitData { time_micros, subxids, dropped, invalidations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(data: &CommitData, top: Xid) -> (Vec<u8>, usize) {
        let CommitData { time_micros, subxids, dropped, invalidations } = data;
        let mut out = Vec::new();
        let count = put_commit(&mut out, top, *time_micros, subxids, dropped, invalidations);
        (out, count)
    }

    #[test]
    fn commit_data_comes_back() {
        let mut rng = fastrand::Rng::with_seed(5);
        for round in 0..200 {
            let top = Xid(rng.u64(3..1 << 40));
            let mut last = top.0;
            let mut next = || {
                last += 1 + rng.u64(..) % (1 << (round % 30));
                Xid(last)
            };
            let data = CommitData {
                time_micros: -7 + round,
                subxids: (0..round % 50).map(|_| next()).collect(),
                dropped: (0..round as u32 % 7).map(RelId).collect(),
                invalidations: vec![round as u8; round as usize * 3],
            };
            let (bytes, count) = encode(&data, top);
            assert_eq!(count, data.subxids.len());
            assert_eq!(CommitData::decode(&bytes, top), Some(data));
            for cut in 0..bytes.len() {
                assert_eq!(CommitData::decode(&bytes[..cut], top), None, "cut at {cut}");
            }
        }
    }

    #[test]
    fn subtransactions_that_do_not_fit_are_left_out() {
        let top = Xid(10);
        let all: Vec<Xid> = (1..=40_000).map(|i| Xid(10 + i * 1000)).collect();
        let data = CommitData { subxids: all.clone(), ..CommitData::default() };
        let (bytes, count) = encode(&data, top);
        assert!(count < all.len() && bytes.len() <= SUBXIDS_BYTES_MAX + 64);
        assert_eq!(CommitData::decode(&bytes, top).map(|d| d.subxids.len()), Some(count));
    }
}
