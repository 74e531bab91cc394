//! Redo of B-tree records: the same edits on the same bytes.

use super::edit;
use super::insert::RECORD_HEAD_BYTES;
use super::page::{Beside, MAX_KEY_BYTES, Node};
use super::shift::{self, SHIFT_HEAD_BYTES};
use super::split::{ROOT_HEAD_BYTES, SEPARATOR_HEAD_BYTES, SPLIT_HEAD_BYTES, root_over};
use super::unlink::{self, HEIR_HEAD_BYTES};
use super::{merge, page};
use crate::error::Result;
use crate::page::PageMut;
use crate::recovery::{RedoCtx, garbled};
use crate::wal::{Kind, RecordView};
use base::BlockNo;
use base::rank::Rank;

/// Applies one record of this room.
pub fn redo(ctx: &RedoCtx, record: &RecordView<'_>) -> Result<()> {
    let at = |i: usize, change: &dyn Fn(&mut PageMut<'_>, &[u8])| {
        ctx.page(record, i, Rank::IndexPage, change)
    };
    match record.kind {
        Kind::BTREE_PAGE => at(0, &|_, _| ()),
        Kind::BTREE_INIT => at(0, &|page, _| edit::init(page, 0)),
        Kind::BTREE_INSERT => at(0, &insert),
        Kind::BTREE_INSERT_CARRYING => at(0, &insert_carrying),
        Kind::BTREE_REMOVE => at(0, &remove),
        Kind::BTREE_MERGE => at(0, &merge),
        Kind::BTREE_SHIFT => {
            at(0, &|page, bytes| {
                let ((at, tie), key) = (shift::read_head(bytes), &bytes[SHIFT_HEAD_BYTES..]);
                edit::give_some(page, at, (key, tie));
            })?;
            at(1, &|page, bytes| {
                let given = shift::unpacked(bytes);
                edit::receive(page, Node(given.view()));
            })?;
            at(2, &|page, bytes| {
                let ((at, tie), key) = (shift::read_head(bytes), &bytes[SHIFT_HEAD_BYTES..]);
                shift::move_separator(page, at, (key, tie));
            })
        }
        Kind::BTREE_SPLIT => {
            at(0, &cut)?;
            at(1, &|_, _| ())
        }
        Kind::BTREE_SPLIT_ROOT => {
            at(0, &new_root)?;
            at(1, &|_, _| ())?;
            at(2, &|_, _| ())
        }
        Kind::BTREE_SEPARATOR => {
            at(0, &separator)?;
            at(1, &|page, _| edit::set_flag(page, page::INCOMPLETE, false))
        }
        Kind::BTREE_UNLINK => {
            at(0, &unlink)?;
            at(1, &absorb)?;
            match record.block_count() {
                2 => Ok(()),
                _ => at(2, &set_right),
            }
        }
        Kind::BTREE_UNLINK_INNER => {
            at(0, &unlink)?;
            at(1, &absorb)?;
            at(2, &inherit)?;
            match record.block_count() {
                3 => Ok(()),
                _ => at(3, &set_right),
            }
        }
        _ => Err(garbled(record)),
    }
}

fn insert(page: &mut PageMut<'_>, bytes: &[u8]) {
    insert_entry(page, u64_at(bytes, 0), &bytes[RECORD_HEAD_BYTES..], Beside::Nothing);
}

fn insert_carrying(page: &mut PageMut<'_>, bytes: &[u8]) {
    let key_len = usize::from(u16_at(bytes, RECORD_HEAD_BYTES));
    let (key, carried) = bytes[RECORD_HEAD_BYTES + 2..].split_at(key_len);
    insert_entry(page, u64_at(bytes, 0), key, Beside::Carried(carried));
}

fn insert_entry(page: &mut PageMut<'_>, head: u64, key: &[u8], beside: Beside<'_>) {
    let done = edit::insert(page, usize::from(head as u16), key, head >> 16, beside);
    assert!(done, "what fitted fits again (B6)");
}

fn remove(page: &mut PageMut<'_>, bytes: &[u8]) {
    let gone: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16_at(pair, 0)).collect();
    edit::remove(page, &gone);
}

fn merge(page: &mut PageMut<'_>, _: &[u8]) {
    assert!(merge::merge(page), "what could be merged can be merged again (B6)");
}

fn cut(page: &mut PageMut<'_>, bytes: &[u8]) {
    let (head, key) = bytes.split_at(SPLIT_HEAD_BYTES);
    debug_assert!(key.len() <= MAX_KEY_BYTES, "a logged key was accepted before");
    let (at, right) = (usize::from(u16_at(head, 0)), BlockNo(u32_at(head, 2)));
    edit::cut(page, at, (key, u48_at(head, 6)), right);
}

fn new_root(page: &mut PageMut<'_>, bytes: &[u8]) {
    let (head, key) = bytes.split_at(ROOT_HEAD_BYTES);
    let (left, right) = (BlockNo(u32_at(head, 0)), BlockNo(u32_at(head, 4)));
    root_over(head[8], left, right, (key, u48_at(head, 9))).replace(page);
}

fn separator(page: &mut PageMut<'_>, bytes: &[u8]) {
    let (head, key) = bytes.split_at(SEPARATOR_HEAD_BYTES);
    let (at, child) = (usize::from(u16_at(head, 0)), u64::from(u32_at(head, 2)));
    let done = edit::insert(page, at, key, child, Beside::tie(u48_at(head, 6)));
    assert!(done, "what fitted fits again (B6)");
}

fn unlink(page: &mut PageMut<'_>, bytes: &[u8]) {
    edit::unlink(page, u64_at(bytes, 0));
}

fn absorb(parent: &mut PageMut<'_>, bytes: &[u8]) {
    unlink::absorb(parent, usize::from(u16_at(bytes, 0)), BlockNo(u32_at(bytes, 2)));
}

fn inherit(page: &mut PageMut<'_>, bytes: &[u8]) {
    let (head, key) = bytes.split_at(HEIR_HEAD_BYTES);
    unlink::inherit(page, BlockNo(u32_at(head, 0)), (key, u48_at(head, 4)));
}

fn set_right(page: &mut PageMut<'_>, bytes: &[u8]) {
    edit::set_right(page, BlockNo(u32_at(bytes, 0)));
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u48_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u16_at(bytes, at + 4)) << 32
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
