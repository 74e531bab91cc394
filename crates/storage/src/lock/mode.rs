//! The eight lock modes with PostgreSQL's conflict table, and the four strengths of row locks.

use crate::txlog::RowLock;
use std::fmt;

/// How strongly something is locked. Declared by rising strength; the numbers are PostgreSQL's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// SELECT.
    AccessShare = 1,
    /// SELECT FOR UPDATE and its like.
    RowShare = 2,
    /// INSERT, UPDATE, DELETE.
    RowExclusive = 3,
    /// VACUUM, ANALYZE, CREATE INDEX CONCURRENTLY.
    ShareUpdateExclusive = 4,
    /// CREATE INDEX.
    Share = 5,
    /// CREATE TRIGGER and the like.
    ShareRowExclusive = 6,
    /// Blocks FOR UPDATE.
    Exclusive = 7,
    /// ALTER, DROP, TRUNCATE; plain LOCK TABLE.
    AccessExclusive = 8,
}

use LockMode::*;

/// Number of modes, plus one: mode numbers index arrays from 1.
pub const MODES: usize = 9;

/// Every mode, weakest first.
pub const ALL_MODES: [LockMode; 8] = [
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
];

/// A set of modes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct ModeSet(pub u16);

impl ModeSet {
    /// No mode.
    pub const EMPTY: ModeSet = ModeSet(0);

    /// The set of these.
    pub const fn of(modes: &[LockMode]) -> ModeSet {
        let mut bits = 0;
        let mut i = 0;
        while i < modes.len() {
            bits |= 1 << modes[i] as u16;
            i += 1;
        }
        ModeSet(bits)
    }

    /// Whether `mode` is in it.
    pub const fn has(self, mode: LockMode) -> bool {
        self.0 & (1 << mode as u16) != 0
    }

    /// Whether the two have a mode in common.
    pub const fn meets(self, other: ModeSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Both together.
    pub const fn union(self, other: ModeSet) -> ModeSet {
        ModeSet(self.0 | other.0)
    }

    /// With `mode`.
    pub const fn with(self, mode: LockMode) -> ModeSet {
        ModeSet(self.0 | 1 << mode as u16)
    }

    /// Without `mode`.
    pub const fn without(self, mode: LockMode) -> ModeSet {
        ModeSet(self.0 & !(1 << mode as u16))
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its modes, weakest first.
    pub fn iter(self) -> impl Iterator<Item = LockMode> {
        ALL_MODES.into_iter().filter(move |m| self.has(*m))
    }
}

/// Row `mode`: what it can't be held beside. Symmetric.
const CONFLICTS: [ModeSet; MODES] = [
    ModeSet::EMPTY,
    ModeSet::of(&[AccessExclusive]),
    ModeSet::of(&[Exclusive, AccessExclusive]),
    ModeSet::of(&[Share, ShareRowExclusive, Exclusive, AccessExclusive]),
    ModeSet::of(&[ShareUpdateExclusive, Share, ShareRowExclusive, Exclusive, AccessExclusive]),
    ModeSet::of(&[
        RowExclusive,
        ShareUpdateExclusive,
        ShareRowExclusive,
        Exclusive,
        AccessExclusive,
    ]),
    ModeSet::of(&[
        RowExclusive,
        ShareUpdateExclusive,
        Share,
        ShareRowExclusive,
        Exclusive,
        AccessExclusive,
    ]),
    ModeSet::of(&[
        RowShare,
        RowExclusive,
        ShareUpdateExclusive,
        Share,
        ShareRowExclusive,
        Exclusive,
        AccessExclusive,
    ]),
    ModeSet::of(&ALL_MODES),
];

impl LockMode {
    /// The modes that can't be held beside it.
    pub const fn conflicts(self) -> ModeSet {
        CONFLICTS[self as usize]
    }

    /// Whether the two can't be held together by different sessions.
    pub const fn conflicts_with(self, other: LockMode) -> bool {
        self.conflicts().has(other)
    }

    /// The modes that conflict with no other such mode: taken by nearly every statement, and so without
    /// touching the shared table (see `fast.rs`).
    pub const fn is_weak(self) -> bool {
        (self as u8) < ShareUpdateExclusive as u8
    }

    /// Whether it conflicts with a weak mode: then notes of weak locks have to be looked at. VACUUM's mode is
    /// neither weak nor strong, so statements keep their short way beside it.
    pub const fn is_strong(self) -> bool {
        self as u8 > ShareUpdateExclusive as u8
    }

    /// PostgreSQL's name, as in `pg_locks.mode` and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            AccessShare => "AccessShareLock",
            RowShare => "RowShareLock",
            RowExclusive => "RowExclusiveLock",
            ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            Share => "ShareLock",
            ShareRowExclusive => "ShareRowExclusiveLock",
            Exclusive => "ExclusiveLock",
            AccessExclusive => "AccessExclusiveLock",
        }
    }

    /// Undoes `as u8`.
    pub fn from_u8(code: u8) -> Option<LockMode> {
        ALL_MODES.into_iter().find(|m| *m as u8 == code)
    }
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl RowLock {
    /// The table-lock mode with the same conflicts, for queues and for messages.
    pub const fn mode(self) -> LockMode {
        match self {
            RowLock::KeyShare => AccessShare,
            RowLock::Share => RowShare,
            RowLock::NoKeyUpdate => Exclusive,
            RowLock::Update => AccessExclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_symmetric() {
        for a in ALL_MODES {
            for b in ALL_MODES {
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a), "{a} and {b}");
            }
        }
    }

    #[test]
    fn weak_modes_get_along() {
        for a in ALL_MODES.into_iter().filter(|m| m.is_weak()) {
            for b in ALL_MODES.into_iter().filter(|m| m.is_weak()) {
                assert!(!a.conflicts_with(b));
            }
            for b in ALL_MODES {
                assert!(b.is_strong() || !a.conflicts_with(b));
            }
        }
    }

    #[test]
    fn row_locks_conflict_as_their_table_modes_do() {
        let all = [RowLock::KeyShare, RowLock::Share, RowLock::NoKeyUpdate, RowLock::Update];
        for a in all {
            for b in all {
                assert_eq!(a.conflicts_with(b), a.mode().conflicts_with(b.mode()), "{a:?} {b:?}");
            }
        }
    }
}
