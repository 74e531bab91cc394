//! What can be locked, and its name in PostgreSQL's words.

use base::wait_event::Event;
use base::{Tid, Xid};
use std::fmt;

/// The thing that a lock is on. Databases, relations, classes and objects go by their catalog ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LockTag {
    /// A table, index, view, …; database 0 for those that all databases share.
    Relation {
        /// Its database.
        db: u32,
        /// Its catalog id.
        rel: u32,
    },
    /// A row. Never in the lock table: rows are locked by what is in them, and queued for in `rows.rs`.
    Tuple {
        /// Database of its table.
        db: u32,
        /// Its table.
        rel: u32,
        /// The version that is waited for.
        tid: Tid,
    },
    /// A transaction's end. Never in the lock table either, see `xact.rs`.
    Transaction(Xid),
    /// Any other catalog object.
    Object {
        /// Its database.
        db: u32,
        /// Catalog that it is in.
        class: u32,
        /// Its id there.
        object: u32,
        /// Column or the like; 0 for the whole.
        sub: u16,
    },
    /// What applications agree on.
    Advisory {
        /// Database in which the key counts.
        db: u32,
        /// High half of a 64-bit key, or the first of two.
        high: u32,
        /// Low half, or the second of two.
        low: u32,
        /// Whether the key was given as two halves.
        pair: bool,
    },
}

impl LockTag {
    /// An advisory lock's tag from a 64-bit key.
    pub fn advisory(db: u32, key: i64) -> LockTag {
        LockTag::Advisory { db, high: (key as u64 >> 32) as u32, low: key as u32, pair: false }
    }

    /// An advisory lock's tag from two 32-bit keys.
    pub fn advisory_pair(db: u32, first: i32, second: i32) -> LockTag {
        LockTag::Advisory { db, high: first as u32, low: second as u32, pair: true }
    }

    /// `pg_locks.locktype`.
    pub fn kind(&self) -> &'static str {
        self.event().name()
    }

    /// What is shown of who waits for it.
    pub fn event(&self) -> Event {
        match self {
            LockTag::Relation { .. } => Event::LockRelation,
            LockTag::Tuple { .. } => Event::LockTuple,
            LockTag::Transaction(_) => Event::LockTransaction,
            LockTag::Object { .. } => Event::LockObject,
            LockTag::Advisory { .. } => Event::LockAdvisory,
        }
    }
}

/// As PostgreSQL describes it in deadlock reports.
impl fmt::Display for LockTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockTag::Relation { db, rel } => write!(f, "relation {rel} of database {db}"),
            LockTag::Tuple { db, rel, tid } => {
                write!(f, "tuple {tid} of relation {rel} of database {db}")
            }
            LockTag::Transaction(xid) => write!(f, "transaction {xid}"),
            LockTag::Object { db, class, object, .. } => {
                write!(f, "object {object} of class {class} of database {db}")
            }
            LockTag::Advisory { db, high, low, pair } => {
                write!(f, "advisory lock [{db},{high},{low},{}]", if *pair { 2 } else { 1 })
            }
        }
    }
}
