//! The header that every row version carries: who made it, who ended it, where its successor is.
//!
//! ```text
//! 0 xmin u64 | 8 xmax u64 | 16 cid u32 | 20 successor: block u32, offset u16 | 26 flags u16 | 28 user u32
//! ```
//!
//! Little-endian, 32 bytes, so that a row's bytes behind it keep the header's alignment of 8. `cid` serves
//! both ends of a version's life: the inserting command, the deleting one, or (flag `COMBO`) a pair of both
//! that only the transaction itself can look up. The last four bytes belong to whoever lays out rows.

use crate::txlog::RowLock;
use base::{BlockNo, Tid, Xid};

/// Bytes of a header on a page.
pub const TUPLE_HEADER_BYTES: usize = 32;
/// Where the flags lie in it: for hint bits, which are set in place.
pub const FLAGS_OFFSET: usize = 26;

/// What is known of a row version's ends, and how it hangs in its chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Hint: the inserter committed, durably.
    pub const XMIN_COMMITTED: Flags = Flags(0x0001);
    /// Hint: the inserter rolled back.
    pub const XMIN_ABORTED: Flags = Flags(0x0002);
    /// Both hints together: visible to every snapshot, whatever xmin says.
    pub const XMIN_FROZEN: Flags = Flags(0x0003);
    /// Hint: the deleter committed, durably.
    pub const XMAX_COMMITTED: Flags = Flags(0x0004);
    /// Hint or fact: nobody ended this version (xmax is zero, rolled back, or a locker that is gone).
    pub const XMAX_INVALID: Flags = Flags(0x0008);
    /// xmax locked the row and did not end it.
    pub const LOCK_ONLY: Flags = Flags(0x0010);
    /// xmax is a multixact id: several lockers. Only with [`Flags::LOCK_ONLY`].
    pub const MULTI: Flags = Flags(0x0020);
    /// Strength of xmax, low bit: of a lock, and of the lock that an update or delete is. Means nothing
    /// with [`Flags::MULTI`]: each member has its own.
    pub const LOCK_LOW: Flags = Flags(0x0040);
    /// Strength of xmax, high bit.
    pub const LOCK_HIGH: Flags = Flags(0x0080);
    /// `cid` is a combo id.
    pub const COMBO: Flags = Flags(0x0100);
    /// The version was made by an update, not by an insert.
    pub const UPDATED: Flags = Flags(0x0200);
    /// The update or delete that ended it changed (or removed) key columns.
    pub const KEYS_UPDATED: Flags = Flags(0x0400);
    /// Its successor is on the same page and has no index entries of its own.
    pub const HOT_UPDATED: Flags = Flags(0x0800);
    /// It is such a successor: reached through its chain only.
    pub const HEAP_ONLY: Flags = Flags(0x1000);

    /// Nothing set.
    pub const NONE: Flags = Flags(0);

    /// Whether all bits of `other` are set.
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    #[inline]
    pub const fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// With the bits of `other`.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Without the bits of `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// The strength of xmax, if it is one transaction's.
    #[inline]
    pub const fn strength(self) -> RowLock {
        RowLock::from_bits((self.0 >> Flags::LOCK_LOW.0.trailing_zeros()) as u8)
    }

    /// How a strength lies in the flags.
    #[inline]
    pub const fn of_strength(strength: RowLock) -> Flags {
        Flags((strength as u16) << Flags::LOCK_LOW.0.trailing_zeros())
    }

    /// Everything that speaks of xmax: what an update or lock replaces.
    pub const XMAX_ALL: Flags = Flags::XMAX_COMMITTED
        .with(Flags::XMAX_INVALID)
        .with(Flags::LOCK_ONLY)
        .with(Flags::MULTI)
        .with(Flags::LOCK_LOW)
        .with(Flags::LOCK_HIGH)
        .with(Flags::KEYS_UPDATED)
        .with(Flags::HOT_UPDATED);
}

/// A row version's header, taken out of its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TupleHeader {
    /// Who inserted the version.
    pub xmin: Xid,
    /// Who ended or locked it (a multixact id with [`Flags::MULTI`]); zero if nobody.
    pub xmax: Xid,
    /// Inserting command, ending command, or combo id: only meaningful to the transaction itself.
    pub cid: u32,
    /// The next version; the version itself if there is none.
    pub successor: Tid,
    /// What is known of it.
    pub flags: Flags,
    /// Free for the row layout.
    pub user: u32,
}

impl TupleHeader {
    /// A version just inserted by `xmin` in command `cid`, at `tid`.
    pub fn inserted(xmin: Xid, cid: u32, tid: Tid) -> TupleHeader {
        TupleHeader {
            xmin,
            xmax: Xid::INVALID,
            cid,
            successor: tid,
            flags: Flags::XMAX_INVALID,
            user: 0,
        }
    }

    /// The bytes on a page.
    pub fn encode(&self) -> [u8; TUPLE_HEADER_BYTES] {
        let mut out = [0; TUPLE_HEADER_BYTES];
        out[0..8].copy_from_slice(&self.xmin.0.to_le_bytes());
        out[8..16].copy_from_slice(&self.xmax.0.to_le_bytes());
        out[16..20].copy_from_slice(&self.cid.to_le_bytes());
        out[20..24].copy_from_slice(&self.successor.block.0.to_le_bytes());
        out[24..26].copy_from_slice(&self.successor.offset.to_le_bytes());
        out[FLAGS_OFFSET..28].copy_from_slice(&self.flags.0.to_le_bytes());
        out[28..32].copy_from_slice(&self.user.to_le_bytes());
        out
    }

    /// Undoes [`TupleHeader::encode`].
    pub fn decode(bytes: &[u8; TUPLE_HEADER_BYTES]) -> TupleHeader {
        let word = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the slice has eight bytes"))
        };
        TupleHeader::from_words([word(0), word(8), word(16), word(24)])
    }

    /// From the four little-endian words that a page view reads.
    #[inline]
    pub fn from_words(words: [u64; 4]) -> TupleHeader {
        let block = (words[2] >> 32) as u32;
        TupleHeader {
            xmin: Xid(words[0]),
            xmax: Xid(words[1]),
            cid: words[2] as u32,
            successor: Tid { block: BlockNo(block), offset: words[3] as u16 },
            flags: Flags((words[3] >> 16) as u16),
            user: (words[3] >> 32) as u32,
        }
    }

    /// The four words of it.
    #[inline]
    pub fn to_words(&self) -> [u64; 4] {
        [
            self.xmin.0,
            self.xmax.0,
            u64::from(self.cid) | u64::from(self.successor.block.0) << 32,
            u64::from(self.successor.offset)
                | u64::from(self.flags.0) << 16
                | u64::from(self.user) << 32,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bytes_say_the_same() {
        let header = TupleHeader {
            xmin: Xid(0x0102_0304_0506_0708),
            xmax: Xid(0x1112_1314_1516_1718),
            cid: 0x2122_2324,
            successor: Tid { block: BlockNo(0x3132_3334), offset: 0x4142 },
            flags: Flags(0x5152),
            user: 0x6162_6364,
        };
        let bytes = header.encode();
        assert_eq!(TupleHeader::decode(&bytes), header);
        assert_eq!(TupleHeader::from_words(header.to_words()), header);
        for (i, word) in header.to_words().into_iter().enumerate() {
            assert_eq!(bytes[i * 8..i * 8 + 8], word.to_le_bytes());
        }
    }
}
