//! Identifiers as types of their own, so that a log position is never added to a block number.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id! {
    /// A byte position in the write-ahead log. Zero is "none": no record starts there.
    Lsn(u64)
}

id! {
    /// Commit sequence number: the start LSN of the commit record. A snapshot `s` sees commits with `csn < s`.
    ///
    /// Values below [`Csn::FIRST_REAL`] are states, not commits.
    Csn(u64)
}

id! {
    /// Transaction (or subtransaction) id. 64 bits: it never wraps.
    Xid(u64)
}

id! {
    /// Physical storage of a relation; unique in a data directory. The two top bits tell its [`Persistence`].
    RelId(u32)
}

id! {
    /// A block's number within a fork of a relation, from 0.
    BlockNo(u32)
}

impl Lsn {
    /// No position.
    pub const ZERO: Lsn = Lsn(0);
    /// Later than everything.
    pub const MAX: Lsn = Lsn(u64::MAX);
}

/// PostgreSQL's spelling: two hexadecimal halves, `16/B374D848`.
impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

/// Where a record lies: `start` is its identity (and the CSN of a commit record), `end` the LSN pages carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LsnRange {
    /// First byte.
    pub start: Lsn,
    /// One past the last byte.
    pub end: Lsn,
}

impl Csn {
    /// Not committed, or not yet.
    pub const IN_PROGRESS: Csn = Csn(0);
    /// Rolled back.
    pub const ABORTED: Csn = Csn(1);
    /// Committed before anything now running began; visible to every snapshot.
    pub const FROZEN: Csn = Csn(2);
    /// Any CSN from here on is the LSN of a commit record. The log starts far above it.
    pub const FIRST_REAL: Csn = Csn(8);
}

impl Xid {
    /// No transaction.
    pub const INVALID: Xid = Xid(0);
    /// The creator of rows that every snapshot sees.
    pub const FROZEN: Xid = Xid(2);
    /// The first id handed out.
    pub const FIRST_NORMAL: Xid = Xid(3);

    /// Whether this is an id that a transaction can have.
    pub fn is_normal(self) -> bool {
        self >= Xid::FIRST_NORMAL
    }
}

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for BlockNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl BlockNo {
    /// "No block", as PostgreSQL's `InvalidBlockNumber`.
    pub const INVALID: BlockNo = BlockNo(u32::MAX);
}

/// What a crash leaves of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Persistence {
    /// Logged; survives.
    Permanent,
    /// Not logged; emptied by any unclean start.
    Unlogged,
    /// Not logged; removed at every start.
    Temporary,
}

impl RelId {
    const SHIFT: u32 = 30;
    /// Largest counter value; the top two bits are taken by the persistence.
    pub const COUNTER_MAX: u32 = (1 << Self::SHIFT) - 1;

    /// Builds an id from the directory-wide counter. Panics when the counter is exhausted (2³⁰ relations).
    pub fn new(counter: u32, persistence: Persistence) -> RelId {
        assert!(counter <= Self::COUNTER_MAX, "relation ids are exhausted");
        let tag = match persistence {
            Persistence::Permanent => 0,
            Persistence::Unlogged => 1,
            Persistence::Temporary => 2,
        };
        RelId(counter | tag << Self::SHIFT)
    }

    /// The directory-wide counter value in it.
    pub fn counter(self) -> u32 {
        self.0 & Self::COUNTER_MAX
    }

    /// Told by the id itself, so that recovery needs no catalog.
    pub fn persistence(self) -> Persistence {
        match self.0 >> Self::SHIFT {
            0 => Persistence::Permanent,
            1 => Persistence::Unlogged,
            _ => Persistence::Temporary,
        }
    }

    /// Whether changes to it go to the log.
    pub fn is_logged(self) -> bool {
        self.persistence() == Persistence::Permanent
    }
}

/// The files that together are one relation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Fork {
    /// Rows, index entries.
    Main = 0,
    /// Free-space map.
    FreeSpace = 1,
    /// Visibility map.
    Visibility = 2,
}

impl Fork {
    /// All forks, in file order.
    pub const ALL: [Fork; 3] = [Fork::Main, Fork::FreeSpace, Fork::Visibility];

    /// Reads the on-disk code back.
    pub fn from_u8(code: u8) -> Option<Fork> {
        Self::ALL.into_iter().find(|f| *f as u8 == code)
    }
}

/// One page of the database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageId {
    /// Physical relation.
    pub rel: RelId,
    /// Which of its files.
    pub fork: Fork,
    /// Which block of it.
    pub block: BlockNo,
}

impl PageId {
    /// A page of the main fork.
    pub fn main(rel: RelId, block: BlockNo) -> PageId {
        PageId { rel, fork: Fork::Main, block }
    }
}

/// A row version's place in a heap: block and line pointer (from 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tid {
    /// Heap block.
    pub block: BlockNo,
    /// Line pointer number, from 1; 0 is "none".
    pub offset: u16,
}

impl Tid {
    /// No row.
    pub const INVALID: Tid = Tid { block: BlockNo::INVALID, offset: 0 };

    /// Packs into the low 48 bits, in an order equal to that of `Ord`.
    pub fn to_u64(self) -> u64 {
        u64::from(self.block.0) << 16 | u64::from(self.offset)
    }

    /// Undoes [`Tid::to_u64`].
    pub fn from_u64(packed: u64) -> Tid {
        Tid { block: BlockNo((packed >> 16) as u32), offset: packed as u16 }
    }
}

/// PostgreSQL's spelling: `(block,offset)`.
impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block.0, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persistence_travels_in_the_id() {
        for p in [Persistence::Permanent, Persistence::Unlogged, Persistence::Temporary] {
            let id = RelId::new(RelId::COUNTER_MAX, p);
            assert_eq!(id.persistence(), p);
            assert_eq!(id.counter(), RelId::COUNTER_MAX);
        }
    }

    #[test]
    fn packed_tids_keep_their_order() {
        let a = Tid { block: BlockNo(1), offset: u16::MAX };
        let b = Tid { block: BlockNo(2), offset: 1 };
        assert!(a.to_u64() < b.to_u64());
        assert_eq!(Tid::from_u64(a.to_u64()), a);
    }

    #[test]
    fn lsn_prints_as_postgresql_does() {
        assert_eq!(Lsn(0x16_B374_D848).to_string(), "16/B374D848");
    }
}
