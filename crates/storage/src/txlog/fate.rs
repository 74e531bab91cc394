//! What an entry of the window says about a transaction, packed into one word.
//!
//! ```text
//! 0                     nothing: not handed out, or so old that only the xact log knows
//! 1                     rolled back
//! 8 ..= 2^62-1          committed; the number is the CSN
//! 10… in the top bits   committed with `synchronous_commit = off`; the other 62 bits are the CSN
//! 01… in the top bits   running; the low 32 bits name the session
//! 11… in the top bits   subtransaction; the other 62 bits are its top-level transaction
//! ```
//!
//! The life of an entry: nothing → running → CSN or rolled back, and for a subtransaction nothing → its
//! top → (CSN of its top, for the first few of a commit) or rolled back.

use base::{Csn, Xid};

const TOP_BITS: u64 = 0b11 << 62;
const RUNNING: u64 = 0b01 << 62;
const RELAXED: u64 = 0b10 << 62;
const SUB: u64 = 0b11 << 62;
const PAYLOAD: u64 = !TOP_BITS;

/// An entry of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry(pub(super) u64);

/// An entry, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Not handed out, or forgotten by the window.
    Unknown,
    /// A top-level transaction that runs, in this session.
    Running(u32),
    /// A subtransaction that stands or falls with this top-level transaction.
    SubOf(Xid),
    /// Rolled back.
    Aborted,
    /// Committed.
    Committed(Csn),
}

impl Entry {
    pub(super) const NOTHING: Entry = Entry(0);
    /// Rolled back.
    pub const ABORTED: Entry = Entry(Csn::ABORTED.0);

    /// A running top-level transaction.
    pub fn running(session: u32) -> Entry {
        Entry(RUNNING | u64::from(session))
    }

    /// A subtransaction.
    pub fn sub_of(top: Xid) -> Entry {
        debug_assert!(top.0 & TOP_BITS == 0, "transaction ids stay below 2^62");
        Entry(SUB | top.0)
    }

    /// A commit.
    pub fn committed(csn: Csn) -> Entry {
        debug_assert!(csn >= Csn::FIRST_REAL && csn.0 & TOP_BITS == 0, "CSNs are log positions");
        Entry(csn.0)
    }

    /// A commit that its client was told of before it was durable.
    pub fn committed_relaxed(csn: Csn) -> Entry {
        Entry(Self::committed(csn).0 | RELAXED)
    }

    /// Whether it is a commit that nobody was promised to be durable.
    pub fn is_relaxed(self) -> bool {
        self.0 & TOP_BITS == RELAXED
    }

    /// What it says.
    #[inline]
    pub fn fate(self) -> Fate {
        match self.0 & TOP_BITS {
            0 if self.0 >= Csn::FIRST_REAL.0 => Fate::Committed(Csn(self.0)),
            0 if self == Entry::ABORTED => Fate::Aborted,
            RELAXED => Fate::Committed(Csn(self.0 & PAYLOAD)),
            RUNNING => Fate::Running((self.0 & PAYLOAD) as u32),
            SUB => Fate::SubOf(Xid(self.0 & PAYLOAD)),
            _ => Fate::Unknown,
        }
    }

    /// Whether it will not change any more.
    #[inline]
    pub fn is_final(self) -> bool {
        matches!(self.fate(), Fate::Aborted | Fate::Committed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_survives_packing() {
        assert_eq!(Entry::NOTHING.fate(), Fate::Unknown);
        assert_eq!(Entry::ABORTED.fate(), Fate::Aborted);
        assert_eq!(Entry::running(u32::MAX).fate(), Fate::Running(u32::MAX));
        assert_eq!(Entry::sub_of(Xid(PAYLOAD)).fate(), Fate::SubOf(Xid(PAYLOAD)));
        assert_eq!(Entry::committed(Csn(8)).fate(), Fate::Committed(Csn(8)));
        let last = Csn(PAYLOAD);
        assert_eq!(Entry::committed(last).fate(), Fate::Committed(last));
        let relaxed = Entry::committed_relaxed(last);
        assert_eq!(relaxed.fate(), Fate::Committed(last));
        assert!(relaxed.is_relaxed() && relaxed.is_final());
        assert!(!Entry::committed(last).is_relaxed() && !Entry::sub_of(Xid(8)).is_relaxed());
    }
}
