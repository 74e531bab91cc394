//! The four strengths of row locks.

/// How strongly a row is locked, by rising strength.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum RowLock {
    /// FOR KEY SHARE: the key must not change (foreign-key checks).
    KeyShare = 0,
    /// FOR SHARE: nothing may change.
    Share = 1,
    /// FOR NO KEY UPDATE, and an UPDATE that leaves the key alone.
    NoKeyUpdate = 2,
    /// FOR UPDATE, DELETE, and an UPDATE of the key.
    Update = 3,
}

impl RowLock {
    /// Whether two transactions can't hold the two on one row.
    ///
    /// ```text
    ///               KEY SHARE  SHARE  NO KEY UPDATE  UPDATE
    /// KEY SHARE         -        -          -           X
    /// SHARE             -        -          X           X
    /// NO KEY UPDATE     -        X          X           X
    /// UPDATE            X        X          X           X
    /// ```
    pub const fn conflicts_with(self, other: RowLock) -> bool {
        self as u8 + other as u8 >= 3
    }

    /// Undoes `as u8`; only the two low bits count.
    pub const fn from_bits(bits: u8) -> RowLock {
        match bits & 3 {
            0 => RowLock::KeyShare,
            1 => RowLock::Share,
            2 => RowLock::NoKeyUpdate,
            _ => RowLock::Update,
        }
    }
}
