//! Updating a row: a new version, on the same page if there is room.

use super::contest::{Contest, Verdict};
use super::insert::{CLEAR_BYTES, prepare};
use super::prune::PLAN_BYTES_MAX;
use super::room::Did;
use super::share::LockWord;
use super::{HeapRel, Outcome, check_row, page, room};
use crate::buffer::WriteGuard;
use crate::error::Result;
use crate::journal::Journal;
use crate::lock::{RowLock, RowTurn, WaitPolicy};
use crate::page::{Item, PageMut, PageView};
use crate::txn::{Flags, Lockers, TupleHeader, Txn};
use crate::wal::{Kind, record_bound};
use base::{BlockNo, Fork, Tid, Xid, sim};

/// What an update changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// No indexed column: the new version may do without index entries of its own.
    pub hot: bool,
    /// A column of a key that foreign keys may refer to: conflicts with FOR KEY SHARE.
    pub key: bool,
}

impl Change {
    /// The row lock that such an update is.
    fn strength(self) -> RowLock {
        if self.key { RowLock::Update } else { RowLock::NoKeyUpdate }
    }
}

/// Fixed part of the record of an update within a page: old and new offset, old and new flags, lengths of
/// what the rows share at both ends.
const SAME_HEAD_BYTES: usize = 12;
/// Of the new version on another page: offset, flags.
const NEW_HEAD_BYTES: usize = 4;
/// Of the old version then: offset, flags, successor.
const OLD_HEAD_BYTES: usize = 10;

const LOG_BYTES: usize = record_bound(1, 1, PLAN_BYTES_MAX)
    + 2 * CLEAR_BYTES
    + record_bound(1, 2, SAME_HEAD_BYTES + NEW_HEAD_BYTES + OLD_HEAD_BYTES);

/// Who updates, in terms of the header.
#[derive(Clone, Copy)]
struct Author {
    xid: Xid,
    cid: u32,
    change: Change,
}

/// Old and new version, ready to be written; the new one's place is its own successor.
struct Versions {
    from: Tid,
    old: TupleHeader,
    new: TupleHeader,
}

impl HeapRel {
    /// Replaces the version at `tid` by `row`. Waits for transactions that hold the row. `turn` is what an
    /// earlier attempt ended with ([`Outcome::Updated`]).
    pub fn update(
        &self,
        txn: &Txn,
        tid: Tid,
        row: &[u8],
        change: Change,
        turn: Option<RowTurn>,
    ) -> Result<Outcome> {
        check_row(row)?;
        let author = Author { xid: txn.xid()?, cid: txn.command(), change };
        let mut contest = Contest::new(self, txn, tid, change.strength(), WaitPolicy::Block, turn);
        // Where the new version goes if it can't stay on the page.
        let mut elsewhere: Option<BlockNo> = None;
        loop {
            let mut journal = Journal::open(&self.wal, &self.rel, 4, LOG_BYTES + row.len())?;
            let (mut page, mut other) = self.latch_pair(tid.block, elsewhere)?;
            let (item, header, lockers) = match contest.judge(&mut page, author.cid)? {
                Verdict::Free(item, header) => (item, header, Lockers::default()),
                Verdict::Locked(item, header, lockers) => (item, header, lockers),
                Verdict::Wait(want) => {
                    drop((page, other, journal));
                    contest.wait(want)?;
                    continue;
                }
                Verdict::Beside => unreachable!("nothing is updated beside another's update"),
                Verdict::Over(end) => {
                    drop((page, other, journal));
                    return contest.lost(self, end);
                }
            };
            let (item, fits) = self.make_room(&mut page, &mut journal, tid, item, row.len())?;
            if fits {
                drop(other);
                let to = Tid { block: tid.block, offset: page.free_slot() };
                self.take_over(txn, tid, &header, &lockers, author.xid);
                let versions = author.versions(txn, &header, &lockers, tid, to);
                self.clear_visible(&mut page, &mut journal)?;
                self.replace_here(page, &mut journal, item, &versions, row);
                contest.won(author.xid, Some(to));
                self.count(txn, Did::Update { hot: change.hot });
                return Ok(Outcome::Done { tid: to, heap_only: change.hot });
            }
            if let Some(to_page) = &mut other
                && room::takes_version(to_page.view(), row.len())
            {
                self.clear_visible(&mut page, &mut journal)?;
                self.clear_visible(to_page, &mut journal)?;
                let to = Tid { block: to_page.block(), offset: to_page.free_slot() };
                let elsewhere = Author { change: Change { hot: false, ..change }, ..author };
                self.take_over(txn, tid, &header, &lockers, author.xid);
                let versions = elsewhere.versions(txn, &header, &lockers, tid, to);
                self.replace_elsewhere(page, to_page, &mut journal, item, &versions, row);
                drop(other);
                contest.won(author.xid, Some(to));
                self.count(txn, Did::Update { hot: false });
                return Ok(Outcome::Done { tid: to, heap_only: false });
            }
            drop((page, other, journal));
            elsewhere = Some(self.block_for_version(txn, row.len(), tid.block)?);
        }
    }

    /// Latches the page of the old version, and one for the new, in block order.
    fn latch_pair(
        &self,
        block: BlockNo,
        other: Option<BlockNo>,
    ) -> Result<(WriteGuard<'_>, Option<WriteGuard<'_>>)> {
        match other {
            None => Ok((self.rel.write(Fork::Main, block)?, None)),
            Some(other) if other < block => {
                let other = self.rel.write(Fork::Main, other)?;
                Ok((self.rel.write(Fork::Main, block)?, Some(other)))
            }
            Some(other) => {
                let page = self.rel.write(Fork::Main, block)?;
                Ok((page, Some(self.rel.write(Fork::Main, other)?)))
            }
        }
    }

    /// Prunes the page if the new version does not fit. Versions may move; returns where the old one is, and whether
    /// the new one fits now.
    fn make_room(
        &self,
        page: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
        tid: Tid,
        item: Item,
        len: usize,
    ) -> Result<(Item, bool)> {
        let fits = page::has_room(page.view(), len);
        if fits || !self.has_prunable(page) || !self.prune_latched(page, journal)? {
            return Ok((item, fits));
        }
        let item = page::version(page.view(), tid.offset);
        let item = item.expect("a version that can be updated is not pruned (H1)");
        Ok((item, page::has_room(page.view(), len)))
    }

    /// Writes both versions to one page.
    fn replace_here(
        &self,
        mut page: WriteGuard<'_>,
        journal: &mut Journal<'_>,
        item: Item,
        versions: &Versions,
        row: &[u8],
    ) {
        let Versions { from, old, new } = versions;
        let (prefix, suffix) = shared_ends(page.view(), page::row(item), row);
        page.mark_dirty();
        end_version(&mut page, item, old);
        page::put_version(&mut page, new.successor.offset, new, &[row]);
        let head: [u8; SAME_HEAD_BYTES] = pack([
            from.offset,
            new.successor.offset,
            logged(old.flags),
            logged_new(new.flags),
            prefix,
            suffix,
        ]);
        let middle = &row[usize::from(prefix)..row.len() - usize::from(suffix)];
        let at = journal.insert(|terms| {
            terms.record(Kind::HEAP_UPDATE, new.xmin).block(&page, &head).more(middle)
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
        }
    }

    /// Writes the new version to another page.
    fn replace_elsewhere(
        &self,
        mut page: WriteGuard<'_>,
        to_page: &mut WriteGuard<'_>,
        journal: &mut Journal<'_>,
        item: Item,
        versions: &Versions,
        row: &[u8],
    ) {
        let _window = sim::window("heap-updated-elsewhere");
        let Versions { from, old, new } = versions;
        page.mark_dirty();
        to_page.mark_dirty();
        let anew = prepare(to_page);
        end_version(&mut page, item, old);
        page::put_version(to_page, new.successor.offset, new, &[row]);
        let new_head: [u8; NEW_HEAD_BYTES] = pack([new.successor.offset, logged_new(new.flags)]);
        let to = new.successor;
        let old_head: [u8; OLD_HEAD_BYTES] = pack([
            from.offset,
            logged(old.flags),
            to.block.0 as u16,
            (to.block.0 >> 16) as u16,
            to.offset,
        ]);
        let at = journal.insert(|terms| {
            let record = terms.record(Kind::HEAP_MOVE, new.xmin);
            let record = match anew {
                true => record.init_block(&*to_page, &new_head),
                false => record.block(&*to_page, &new_head),
            };
            record.more(row).block(&page, &old_head)
        });
        if let Some(at) = at {
            page.set_lsn(at.end);
            to_page.set_lsn(at.end);
        }
    }
}

impl Author {
    /// The headers of the version at `from`, ended, and of its successor at `to`.
    fn versions(
        &self,
        txn: &Txn,
        header: &TupleHeader,
        lockers: &Lockers,
        from: Tid,
        to: Tid,
    ) -> Versions {
        // A stronger lock that this transaction has goes on standing against others.
        let strength = self.change.strength().max(lockers.strongest().unwrap_or(RowLock::KeyShare));
        let mut old = ended_by(txn, self.xid, header, strength);
        old.successor = to;
        let mut new = TupleHeader::inserted(self.xid, self.cid, to);
        if !lockers.others.is_empty()
            && let Some(locks) = LockWord::of(header)
        {
            locks.put_into(&mut new, to);
        }
        new.flags = new.flags.with(Flags::UPDATED);
        if self.change.key {
            old.flags = old.flags.with(Flags::KEYS_UPDATED);
        }
        if self.change.hot {
            old.flags = old.flags.with(Flags::HOT_UPDATED);
            new.flags = new.flags.with(Flags::HEAP_ONLY);
        }
        Versions { from, old, new }
    }
}

/// The header with `xid` as its end, at the current command.
pub(super) fn ended_by(
    txn: &Txn,
    xid: Xid,
    header: &TupleHeader,
    strength: RowLock,
) -> TupleHeader {
    let (cid, combo) = txn.ending_cid(header);
    let flags = header.flags.without(Flags::XMAX_ALL).without(Flags::COMBO);
    let flags = flags.with(Flags::of_strength(strength));
    let flags = if combo { flags.with(Flags::COMBO) } else { flags };
    TupleHeader { xmax: xid, cid, flags, ..*header }
}

/// Overwrites the header of a version that ends; the forward path and redo.
pub(super) fn end_version(page: &mut PageMut<'_>, item: Item, ended: &TupleHeader) {
    page::set_header(page, item, ended);
    page::note_prunable(page, ended.xmax);
}

/// Flags for the log: combo ids mean nothing to others.
pub(super) fn logged(flags: Flags) -> u16 {
    flags.without(Flags::COMBO).0
}

/// Flags of a new version for the log: whose locks it takes along means nothing after a crash.
fn logged_new(flags: Flags) -> u16 {
    let unlocked = flags.without(Flags::LOCK_ONLY).without(Flags::MULTI);
    let unlocked = unlocked.without(Flags::LOCK_LOW).without(Flags::LOCK_HIGH);
    logged(unlocked.with(Flags::XMAX_INVALID))
}

/// Packs fields of 16 bits.
pub(super) fn pack<const FIELDS: usize, const BYTES: usize>(fields: [u16; FIELDS]) -> [u8; BYTES] {
    const { assert!(FIELDS * 2 == BYTES) };
    let mut out = [0; BYTES];
    for (bytes, field) in out.chunks_exact_mut(2).zip(fields) {
        bytes.copy_from_slice(&field.to_le_bytes());
    }
    out
}

/// How many bytes the stored row and the new one have in common at their beginnings, and at their ends.
fn shared_ends(page: PageView<'_>, old: Item, new: &[u8]) -> (u16, u16) {
    let common = old.len.min(new.len());
    let mut prefix = 0;
    while prefix + 8 <= common {
        let theirs = u64::from_le_bytes(new[prefix..prefix + 8].try_into().expect("eight bytes"));
        let differ = page.get_u64(old.offset + prefix) ^ theirs;
        if differ != 0 {
            prefix += differ.trailing_zeros() as usize / 8;
            break;
        }
        prefix += 8;
    }
    if prefix + 8 > common {
        let same = |i: usize| page.get_u8(old.offset + i) == new[i];
        while prefix < common && same(prefix) {
            prefix += 1;
        }
    }
    let mut suffix = 0;
    while suffix + 8 <= common - prefix {
        let at = new.len() - suffix - 8;
        let theirs = u64::from_le_bytes(new[at..at + 8].try_into().expect("eight bytes"));
        let differ = page.get_u64(old.offset + old.len - suffix - 8) ^ theirs;
        if differ != 0 {
            return (prefix as u16, (suffix + differ.leading_zeros() as usize / 8) as u16);
        }
        suffix += 8;
    }
    let same = |i: usize| page.get_u8(old.offset + old.len - 1 - i) == new[new.len() - 1 - i];
    while suffix < common - prefix && same(suffix) {
        suffix += 1;
    }
    (prefix as u16, suffix as u16)
}

/// Redo of an update within a page.
pub(super) fn redo_here(page: &mut PageMut<'_>, block: BlockNo, xid: Xid, bytes: &[u8]) {
    let (head, middle) = bytes.split_at(SAME_HEAD_BYTES);
    let field = |i: usize| u16::from_le_bytes([head[2 * i], head[2 * i + 1]]);
    let (from, to) = (field(0), Tid { block, offset: field(1) });
    let item = page::version(page.view(), from).expect("an updated version is there (H6)");
    redo_end(page, item, xid, field(2), to);
    let (prefix, suffix) = (usize::from(field(4)), usize::from(field(5)));
    let new = redo_header(xid, field(3), to);
    let len = prefix + middle.len() + suffix;
    let at = page::put_header(page, to.offset, &new, len);
    // Making room may have moved it.
    let old = page::row(page::version(page.view(), from).expect("it has just ended"));
    page.move_within(old.offset, at, prefix);
    page.write_bytes(at + prefix, middle);
    page.move_within(old.offset + old.len - suffix, at + len - suffix, suffix);
}

/// Redo of the new version on another page.
pub(super) fn redo_to(page: &mut PageMut<'_>, block: BlockNo, xid: Xid, bytes: &[u8]) {
    if page.is_new() {
        page::init(page);
    }
    let (head, row) = bytes.split_at(NEW_HEAD_BYTES);
    let field = |i: usize| u16::from_le_bytes([head[2 * i], head[2 * i + 1]]);
    redo_new(page, xid, field(1), Tid { block, offset: field(0) }, row);
}

/// Redo of the old version, whose successor is on another page.
pub(super) fn redo_from(page: &mut PageMut<'_>, xid: Xid, bytes: &[u8]) {
    let field = |i: usize| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    let block = BlockNo(u32::from(field(2)) | u32::from(field(3)) << 16);
    let item = page::version(page.view(), field(0)).expect("an updated version is there (H6)");
    redo_end(page, item, xid, field(1), Tid { block, offset: field(4) });
}

pub(super) fn redo_end(page: &mut PageMut<'_>, item: Item, xid: Xid, flags: u16, to: Tid) {
    let mut header = page::header(page.view(), item);
    header.xmax = xid;
    header.cid = 0;
    header.flags = Flags(flags);
    header.successor = to;
    end_version(page, item, &header);
}

fn redo_new(page: &mut PageMut<'_>, xid: Xid, flags: u16, to: Tid, row: &[u8]) {
    page::put_version(page, to.offset, &redo_header(xid, flags, to), &[row]);
}

fn redo_header(xid: Xid, flags: u16, to: Tid) -> TupleHeader {
    TupleHeader { flags: Flags(flags), ..TupleHeader::inserted(xid, 0, to) }
}
