//! The one table of record kinds: which room owns which number, and what a dump calls it.
//!
//! A kind is one byte. Each room has a range, so that redo is dispatched by range and a room adds a kind
//! without asking the others. Numbers are disk format: never reuse one.

use std::fmt;

/// What a log record tells; decides whose `redo` applies it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Kind(pub u8);

/// The rooms of storage that write log records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Room {
    /// The log itself: checkpoints, counters.
    Log,
    /// Relation files.
    RelFile,
    /// Whole pages.
    Buffer,
    /// Transactions and their status.
    Txn,
    /// Heaps with their free-space and visibility maps.
    Heap,
    /// B-trees.
    BTree,
    /// Hash indexes.
    Hash,
    /// Sequences.
    Sequence,
}

impl Room {
    /// All of them, in the order of their kinds.
    pub fn all() -> impl Iterator<Item = Room> {
        RANGES.iter().map(|(room, _, _)| *room)
    }

    /// What a dump calls it: as PostgreSQL calls the resource manager that does the like, where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Room::Log => "XLOG",
            Room::RelFile => "Storage",
            Room::Buffer => "Page",
            Room::Txn => "Transaction",
            Room::Heap => "Heap",
            Room::BTree => "Btree",
            Room::Hash => "Hash",
            Room::Sequence => "Sequence",
        }
    }
}

/// First and last kind of each room.
const RANGES: &[(Room, u8, u8)] = &[
    (Room::Log, 0x01, 0x0F),
    (Room::RelFile, 0x10, 0x1F),
    (Room::Buffer, 0x20, 0x2F),
    (Room::Txn, 0x30, 0x4F),
    (Room::Heap, 0x50, 0x6F),
    (Room::BTree, 0x70, 0x8F),
    (Room::Hash, 0x90, 0xAF),
    (Room::Sequence, 0xB0, 0xBF),
];

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $label:literal;)*) => {
        impl Kind {
            $($(#[$doc])* pub const $name: Kind = Kind($code);)*
        }
        /// Every kind with the name that a dump prints.
        const NAMES: &[(Kind, &str)] = &[$((Kind::$name, $label)),*];
    };
}

kinds! {
    /// State of the counters and pending files at a redo point; redo may begin there.
    CHECKPOINT = 0x01, "checkpoint";
    /// Object ids up to the number in the record may have been handed out.
    NEXT_OID = 0x02, "next-oid";
    /// Nothing: fills a segment that is to be finished.
    FILLER = 0x03, "filler";

    /// A relation's files were created by a transaction that may still fail.
    FILE_CREATE = 0x10, "file-create";
    /// A fork was cut to a number of blocks.
    FILE_TRUNCATE = 0x11, "file-truncate";
    /// Relations whose makers were still running at a checkpoint.
    PENDING_FILES = 0x12, "pending-files";

    /// One or more whole pages, nothing else.
    PAGE_IMAGE = 0x20, "page-image";

    /// A transaction committed; the record's start LSN is its CSN.
    COMMIT = 0x30, "commit";
    /// A transaction rolled back (its absence would say the same, later).
    ABORT = 0x31, "abort";
    /// Subtransactions that the commit record to come has no room for.
    SUBXIDS = 0x32, "subxids";
    /// Multixact ids up to the number in the record may stand in rows.
    MULTIXACT_LIMIT = 0x33, "multixact-limit";
    /// Transaction ids up to the number in the record may stand in rows.
    XID_LIMIT = 0x34, "xid-limit";

    /// A row version was put on a page.
    HEAP_INSERT = 0x50, "heap-insert";
    /// Several were put on one page.
    HEAP_MULTI_INSERT = 0x51, "heap-multi-insert";
    /// A version ended and its successor was put on the same page.
    HEAP_UPDATE = 0x52, "heap-update";
    /// A version ended and its successor was put on another page.
    HEAP_MOVE = 0x53, "heap-move";
    /// A version ended.
    HEAP_DELETE = 0x54, "heap-delete";
    /// Dead versions went; or dead line pointers, when no index leads to them any more.
    HEAP_PRUNE = 0x56, "heap-prune";
    /// All versions of a page are visible to all, and frozen; the visibility map says so.
    HEAP_ALL_VISIBLE = 0x57, "heap-all-visible";
    /// The promise that all versions are visible to all is taken back; from the map, too.
    HEAP_NOT_VISIBLE = 0x58, "heap-not-visible";
    /// A version was taken back by the transaction that had just made it.
    HEAP_TAKE_BACK = 0x59, "heap-take-back";

    /// The first, empty root.
    BTREE_INIT = 0x70, "btree-init";
    /// An entry was put on a leaf.
    BTREE_INSERT = 0x71, "btree-insert";
    /// Rows were removed from a leaf's entries.
    BTREE_REMOVE = 0x72, "btree-remove";
    /// The upper part of a page went to a new right sibling, which the parent does not know yet.
    BTREE_SPLIT = 0x73, "btree-split";
    /// The root's content went to two new pages below it.
    BTREE_SPLIT_ROOT = 0x74, "btree-split-root";
    /// The right sibling was entered into the parent.
    BTREE_SEPARATOR = 0x75, "btree-separator";
    /// An empty leaf was taken out of the tree.
    BTREE_UNLINK = 0x76, "btree-unlink";
    /// A page of an index that was built from sorted entries.
    BTREE_PAGE = 0x77, "btree-page";
    /// A B-tree leaf got an entry that carries more than its key.
    BTREE_INSERT_CARRYING = 0x78, "btree-insert-carrying";
    /// Entries of a leaf with one key became postings.
    BTREE_MERGE = 0x79, "btree-merge";
    /// Entries of a full leaf went to its right sibling.
    BTREE_SHIFT = 0x7A, "btree-shift";
    /// An inner page was taken out of the tree, and its only child given to its right sibling.
    BTREE_UNLINK_INNER = 0x7B, "btree-unlink-inner";

    /// The metapage and the first bucket of an empty hash index.
    HASH_INIT = 0x90, "hash-init";
    /// An entry was put on a page of its bucket.
    HASH_INSERT = 0x91, "hash-insert";
    /// A bucket got another page, with entries.
    HASH_OVERFLOW = 0x92, "hash-overflow";
    /// Entries were removed from a page.
    HASH_REMOVE = 0x93, "hash-remove";
    /// Blocks were set aside for buckets to come.
    HASH_EXTENT = 0x94, "hash-extent";
    /// A bucket began to split: there is one bucket more.
    HASH_SPLIT = 0x95, "hash-split";
    /// Entries of a page went to the new bucket.
    HASH_MOVE = 0x96, "hash-move";
    /// A split is finished.
    HASH_SPLIT_END = 0x97, "hash-split-end";
    /// A page's entries went to the page before it in the chain, and it was set free.
    HASH_SQUEEZE = 0x98, "hash-squeeze";
    /// The number of entries was put down.
    HASH_COUNT = 0x99, "hash-count";
    /// A page of an index that was built from sorted entries.
    HASH_PAGE = 0x9A, "hash-page";

    /// The state of a sequence, ahead of the values handed out.
    SEQUENCE = 0xB0, "sequence";
}

impl Kind {
    /// The room whose `redo` takes it; `None` for numbers of no room.
    pub fn room(self) -> Option<Room> {
        RANGES.iter().find(|(_, first, last)| (*first..=*last).contains(&self.0)).map(|r| r.0)
    }

    /// Every kind there is.
    pub fn all() -> impl Iterator<Item = Kind> {
        NAMES.iter().map(|(kind, _)| *kind)
    }

    /// What it tells, without its room, as PostgreSQL's `pg_waldump` spells such names: `MULTI_INSERT`.
    pub fn operation(self) -> String {
        let name = self.name();
        let name = match name.split_once('-') {
            Some(("heap" | "btree" | "hash" | "file", operation)) => operation,
            _ => name,
        };
        name.replace('-', "_").to_uppercase()
    }

    /// What a dump calls it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:#04x})", self.name(), self.0)
    }
}

const fn ranges_are_disjoint_and_sorted() -> bool {
    let mut i = 0;
    let mut last = 0;
    while i < RANGES.len() {
        if RANGES[i].1 <= last || RANGES[i].2 < RANGES[i].1 {
            return false;
        }
        last = RANGES[i].2;
        i += 1;
    }
    true
}

const _: () = assert!(ranges_are_disjoint_and_sorted());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_room_and_a_number_of_its_own() {
        for (i, (kind, name)) in NAMES.iter().enumerate() {
            assert!(kind.room().is_some(), "{name} lies in no room's range");
            assert!(NAMES[i + 1..].iter().all(|(other, _)| other != kind), "{name} is there twice");
        }
        assert_eq!(Kind(0).room(), None, "zeroed log is no record");
    }

    #[test]
    fn operations_are_spelt_as_postgresql_spells_its_own_and_differ_within_a_room() {
        assert_eq!(Kind::HEAP_MULTI_INSERT.operation(), "MULTI_INSERT");
        assert_eq!(Kind::FILE_CREATE.operation(), "CREATE");
        assert_eq!(Kind::NEXT_OID.operation(), "NEXT_OID");
        assert_eq!(Kind::SEQUENCE.operation(), "SEQUENCE");
        let all: Vec<_> = Kind::all().map(|kind| (kind.room(), kind.operation())).collect();
        for (i, one) in all.iter().enumerate() {
            assert!(!all[i + 1..].contains(one), "{one:?} is there twice");
        }
    }
}
