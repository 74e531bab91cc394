//! Inserting entries, with or without the promise of uniqueness.

use super::churn::{IsGone, Suspects};
use super::page::*;
use super::search::Latched;
use super::{BTree, edit};
use crate::buffer::WriteGuard;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::txn::Txn;
use crate::wal::{Kind, record_bound};
use base::sync::unmodelled::Ordering::Relaxed;
use base::{BlockNo, Fork, Tid, Xid};

/// What an index asks of the table about a row that has the key of a row being inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Liveness {
    /// Deleted for good, or never there.
    Dead,
    /// A duplicate.
    Live {
        /// Where it is.
        tid: Tid,
        /// Who wrote it.
        by: Xid,
    },
    /// A running transaction decides.
    InProgress {
        /// Which.
        xid: Xid,
    },
}

/// An entry to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewEntry<'k> {
    /// By which it is found.
    pub key: &'k [u8],
    /// What it carries for those who read it: no part of its order, and of what is unique. May be empty.
    pub carried: &'k [u8],
    /// The row.
    pub tid: Tid,
}

impl<'k> NewEntry<'k> {
    /// One that is a key alone.
    pub fn plain(key: &'k [u8], tid: Tid) -> NewEntry<'k> {
        NewEntry { key, carried: &[], tid }
    }

    fn place(&self) -> Place<'k> {
        Place::of(self.key, self.tid)
    }

    fn beside(&self) -> Beside<'k> {
        Beside::carried(self.carried)
    }
}

/// Judges the row behind a TID; may wait for I/O, is called without any latch.
pub type Judge<'j> = dyn FnMut(Tid) -> Result<Liveness> + 'j;

/// How an attempt ended.
enum Attempt {
    Done,
    /// The page was full, or something had to be done first, by somebody without latches.
    NoRoom(BlockNo),
    Incomplete(BlockNo),
}

/// The entries that a unique insert found, as long as nothing changes.
struct Candidates {
    tids: Vec<Tid>,
    stamp: Stamp,
}

/// All pages visited, each with the count of its changes: another one if any of them changed.
#[derive(PartialEq, Eq)]
struct Stamp {
    first: (BlockNo, u32),
    more: Vec<(BlockNo, u32)>,
}

/// Fixed part of an insert's log record: position, value; the key's length if the entry carries something.
pub(super) const RECORD_HEAD_BYTES: usize = 8;

impl BTree {
    /// Makes an entry.
    pub fn insert(&self, entry: NewEntry<'_>) -> Result<()> {
        self.enter(entry, None)
    }

    /// Makes an entry for a new version of a row. A leaf that is full of entries of earlier versions does not
    /// split: those that `is_gone` tells to be gone make room.
    pub fn insert_version(&self, entry: NewEntry<'_>, is_gone: &mut IsGone<'_>) -> Result<()> {
        self.enter(entry, Some(is_gone))
    }

    fn enter(&self, entry: NewEntry<'_>, mut is_gone: Option<&mut IsGone<'_>>) -> Result<()> {
        check_size(entry.key, entry.carried)?;
        let place = entry.place();
        loop {
            let mut journal = self.journal_for_insert(&entry)?;
            let page = match self.latch_last_for(place)? {
                Some(page) => page,
                None => match self.latch_leaf(place)? {
                    Latched::Ready(page) => page,
                    Latched::Incomplete(block) => {
                        drop(journal);
                        self.complete(block)?;
                        continue;
                    }
                },
            };
            let attempt = self.add(page, &mut journal, &entry)?;
            drop(journal);
            let versions = is_gone.as_deref_mut().map(|is_gone| (Suspects::All, is_gone));
            if self.settle(attempt, &entry, versions)? {
                return Ok(());
            }
        }
    }

    /// Makes an entry unless a live row has its key: then [`Error::Duplicate`]. Waits for transactions that decide
    /// whether a row with the key lives. `is_gone`: as for [`BTree::insert_version`].
    pub fn insert_unique(
        &self,
        txn: &Txn,
        entry: NewEntry<'_>,
        judge: &mut Judge<'_>,
        is_gone: &mut IsGone<'_>,
    ) -> Result<()> {
        check_size(entry.key, entry.carried)?;
        let (key, place) = (entry.key, entry.place());
        // Candidates that are known to be dead as long as their stamp holds.
        let mut judged = None;
        loop {
            let mut journal = self.journal_for_insert(&entry)?;
            let attempt = match self.latch_last_for(place)? {
                // Above all keys of the tree: there can be no duplicate.
                Some(page) => self.add(page, &mut journal, &entry)?,
                None => match self.latch_leaf(Place::before(key))? {
                    Latched::Incomplete(block) => Attempt::Incomplete(block),
                    Latched::Ready(page) => {
                        let found = self.candidates(&page, key)?;
                        if !found.tids.is_empty() && judged.as_ref() != Some(&found.stamp) {
                            drop(page);
                            drop(journal);
                            judged = self.judge(txn, key, found, judge)?;
                            continue;
                        }
                        // Everybody who inserts this key comes through the page latched here, and sees
                        // the entry: the latch is handed over to the right without a gap.
                        match self.go_right(page, place)? {
                            Latched::Ready(page) => self.add(page, &mut journal, &entry)?,
                            Latched::Incomplete(block) => Attempt::Incomplete(block),
                        }
                    }
                },
            };
            drop(journal);
            if self.settle(attempt, &entry, Some((Suspects::Repeated, &mut *is_gone)))? {
                return Ok(());
            }
        }
    }

    fn journal_for_insert(&self, entry: &NewEntry<'_>) -> Result<Journal<'_>> {
        let content = entry.key.len() + carried_bytes(entry.carried.len());
        let bytes = record_bound(1, 1, RECORD_HEAD_BYTES + content);
        Journal::open(&self.wal, &self.rel, 1, bytes)
    }

    /// Does what stopped an attempt; true if nothing did. `versions`: whom to ask, and about what.
    fn settle(
        &self,
        attempt: Attempt,
        entry: &NewEntry<'_>,
        versions: Option<(Suspects, &mut IsGone<'_>)>,
    ) -> Result<bool> {
        match attempt {
            Attempt::Done => return Ok(true),
            Attempt::NoRoom(block) => {
                let place = entry.place();
                if let Some((suspects, is_gone)) = versions
                    && self.clear_out(block, place, suspects, is_gone)?
                {
                    return Ok(false);
                }
                self.make_room(block, place, entry.beside().bytes(), 0)?;
            }
            Attempt::Incomplete(block) => self.complete(block)?,
        }
        Ok(false)
    }

    /// The last leaf, latched, if the place is behind all of its entries: the way of ascending keys. It was
    /// the last one when a key was last appended; a look at the page itself tells whether it still is.
    fn latch_last_for(&self, place: Place<'_>) -> Result<Option<WriteGuard<'_>>> {
        // Relaxed: a hint, checked under the latch.
        let block = BlockNo(self.last_leaf.load(Relaxed));
        if block == BlockNo::INVALID {
            return Ok(None);
        }
        let page = self.rel.write(Fork::Main, block)?;
        let node = Node(page.view());
        let is_last = node.is_live() && node.is_leaf() && node.is_rightmost();
        let count = node.count();
        // Strictly above the last *key*: an equal key would have to be looked at by unique inserts.
        if is_last && count > 0 && node.lower_bound(Place { key: place.key, tie: 0 }) == count {
            return Ok(Some(page));
        }
        // Relaxed: as above.
        self.last_leaf.store(BlockNo::INVALID.0, Relaxed);
        Ok(None)
    }

    fn latch_leaf(&self, place: Place<'_>) -> Result<Latched<'_>> {
        loop {
            match self.latch(place, 0)? {
                Some(latched) => return Ok(latched),
                None => self.make_root()?,
            }
        }
    }

    /// Adds an entry to the leaf that is responsible for it.
    fn add(
        &self,
        mut page: WriteGuard<'_>,
        journal: &mut Journal<'_>,
        entry: &NewEntry<'_>,
    ) -> Result<Attempt> {
        let place = entry.place();
        let node = Node(page.view());
        let at = node.lower_bound(place);
        if node.has_row(at, place) {
            let detail = format!("row {} is in the index already", Tid::from_u64(place.tie));
            return Err(Error::damaged(self.name(), Some(page.block()), detail));
        }
        let appended = at == node.count() && node.is_rightmost();
        if !edit::insert(&mut page, at, place.key, place.tie, entry.beside()) {
            return Ok(Attempt::NoRoom(page.block()));
        }
        page.mark_dirty();
        let head = place.tie << 16 | at as u64;
        let head = head.to_le_bytes();
        let key_len = (entry.key.len() as u16).to_le_bytes();
        let at = journal.insert(|terms| match entry.carried.is_empty() {
            true => {
                terms.record(Kind::BTREE_INSERT, Xid::INVALID).block(&page, &head).more(entry.key)
            }
            false => terms
                .record(Kind::BTREE_INSERT_CARRYING, Xid::INVALID)
                .block(&page, &head)
                .more(&key_len)
                .more(entry.key)
                .more(entry.carried),
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
        if appended {
            // Relaxed: a hint.
            self.last_leaf.store(page.block().0, Relaxed);
        }
        Ok(Attempt::Done)
    }

    /// All entries with `key` that are not known to be dead, from the latched leaf on where they begin.
    fn candidates(&self, page: &WriteGuard<'_>, key: &[u8]) -> Result<Candidates> {
        let node = Node(page.view());
        let stamp = Stamp { first: (page.block(), node.changes()), more: Vec::new() };
        let mut found = Candidates { tids: Vec::new(), stamp };
        let mut more = found.collect(node, key);
        while let Some(right) = more {
            let page = self.rel.read(Fork::Main, right)?;
            let node = Node(page.view());
            found.stamp.more.push((right, node.changes()));
            more = match node.is_live() {
                true => found.collect(node, key),
                // Taken out since its neighbour named it: what it had is further on.
                false => Some(node.right()),
            };
        }
        Ok(found)
    }

    /// Asks the table about the candidates, waits where it must. Returns the stamp if all are dead.
    fn judge(
        &self,
        txn: &Txn,
        key: &[u8],
        found: Candidates,
        judge: &mut Judge<'_>,
    ) -> Result<Option<Stamp>> {
        for candidate in found.tids {
            match judge(candidate)? {
                Liveness::Dead => {}
                Liveness::InProgress { xid } => {
                    txn.wait_for(xid)?;
                    return Ok(None);
                }
                Liveness::Live { tid, by } => {
                    // The row's place may have gone to another row since; not if the entry is still there.
                    return if self.has(key, candidate)? {
                        Err(Error::Duplicate { tid, by })
                    } else {
                        Ok(None)
                    };
                }
            }
        }
        Ok(Some(found.stamp))
    }

    /// Whether the very entry is in the tree. As long as it is, its place in the heap is no other row's.
    pub fn has(&self, key: &[u8], tid: Tid) -> Result<bool> {
        let place = Place::of(key, tid);
        let found = self.descend(place, 0, |node, _, at| node.has_row(at, place))?;
        Ok(found.unwrap_or(false))
    }

    /// Makes the root of an empty tree.
    fn make_root(&self) -> Result<()> {
        let mut journal = Journal::open(&self.wal, &self.rel, 1, record_bound(1, 1, 0))?;
        let mut root = if self.rel.blocks(Fork::Main)? == 0 {
            let page = self.rel.extend(Fork::Main)?;
            if page.block() != ROOT {
                // Somebody else was first; the extra page is used when one is needed.
                drop(page);
                return Ok(());
            }
            page
        } else {
            self.rel.write(Fork::Main, ROOT)?
        };
        if !root.is_new() {
            return Ok(());
        }
        root.mark_dirty();
        edit::init(&mut root, 0);
        let at = journal
            .insert(|terms| terms.record(Kind::BTREE_INIT, Xid::INVALID).init_block(&root, &[]));
        if let Some(at) = at {
            root.set_lsn(at.end);
        }
        Ok(())
    }
}

impl Candidates {
    /// Collects from one page; returns where the key's entries may go on.
    fn collect(&mut self, node: Node<'_>, key: &[u8]) -> Option<BlockNo> {
        let mut at = node.lower_bound(Place::before(key));
        while at < node.count() {
            if !node.key_is(at, key) {
                return None;
            }
            if !node.slot(at).is_dead() {
                self.tids.extend(node.rows(at));
            }
            at += 1;
        }
        node.may_continue(key).then(|| node.right())
    }
}

pub(super) fn check_size(key: &[u8], carried: &[u8]) -> Result<()> {
    let bytes = key.len() + carried.len();
    if bytes <= MAX_KEY_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge { what: "index key", bytes, bytes_max: MAX_KEY_BYTES })
}
