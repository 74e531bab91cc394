//! A row that comes among those of a posting: it becomes one of them if their list does not get too long by it, else
//! it parts the posting. So does an entry that carries something, which can be no part of one.
//!
//! Parting needs room for another entry; [`Widened::fits`] tells beforehand, and if there is none the leaf splits.

use super::edit::{self, Draft, Drawn};
use super::page::*;
use super::posting::{self, Gap, Posting, STEP_BYTES_MAX};
use super::split::borrow;
use crate::page::PageMut;
use base::Tid;

/// Bytes of a list that rows may come into. Beyond it a row costs more to put in its place than it saves.
const LIST_BYTES_MAX: usize = 1024;

/// The longest list that goes with a key: both count as key and carried bytes do.
pub(super) fn list_bytes_max(key_len: usize, wanted: usize) -> usize {
    wanted.min(MAX_KEY_BYTES.saturating_sub(key_len))
}

/// What is to replace a posting that a row came into.
pub(super) struct Widened {
    /// Its position.
    at: usize,
    /// One posting, or two (each perhaps a plain entry).
    parts: Vec<Posting>,
}

impl Widened {
    /// For a row that would be entry `i`; `None` if it is not among the rows of a posting. `carries`: it has to stay an
    /// entry of its own.
    pub fn of(node: Node<'_>, i: usize, place: Place<'_>, carries: bool) -> Option<Widened> {
        // Most pages have no posting, and are looked at no further.
        let at = i.checked_sub(1)?;
        let slot = node.slot(at);
        if !slot.is_posting() || !node.is_leaf() || !node.key_is(at, place.key) {
            return None;
        }
        let row = Tid::from_u64(place.tie);
        let Gap { before, after, step } = node.rows(at).gap_for(row);
        let after = after?;
        let mut list = Vec::with_capacity(node.beside_bytes(at) + 2 * STEP_BYTES_MAX);
        node.append_list(at, &mut list);
        // Of a damaged page the last step may go on behind the list.
        let step = step.start..step.end.min(list.len());
        if carries {
            let behind = list.split_off(step.end);
            list.truncate(step.start);
            let parts = [(slot.tid(), list), (after, behind)];
            let parts = parts.map(|(first, list)| Posting { first, list });
            return Some(Widened { at, parts: parts.into() });
        }
        let mut steps = Vec::with_capacity(2 * STEP_BYTES_MAX);
        posting::append(&mut steps, before, row);
        posting::append(&mut steps, row, after);
        list.splice(step, steps);
        if list.len() <= list_bytes_max(place.key.len(), LIST_BYTES_MAX) {
            return Some(Widened { at, parts: vec![Posting { first: slot.tid(), list }] });
        }
        let mut rows: Vec<Tid> = node.rows(at).collect();
        rows.insert(rows.partition_point(|r| *r < row), row);
        let (low, high) = rows.split_at(rows.len() / 2);
        Some(Widened { at, parts: vec![Posting::of(low), Posting::of(high)] })
    }

    /// Bytes of the parts' records.
    fn record_bytes(&self, node: Node<'_>) -> usize {
        let rest_len = node.rest_len(self.at);
        let bytes = |part: &Posting| record_bytes(rest_len, Beside::list(&part.list).bytes());
        self.parts.iter().map(bytes).sum()
    }

    /// Whether there is room for the parts; and for the entry that comes between them, if it has something `beside` it.
    pub fn fits(&self, node: Node<'_>, beside: usize) -> bool {
        let own = match beside {
            0 => 0,
            _ => ENTRY_BYTES + record_bytes(node.rest_len(self.at), beside),
        };
        let more = (self.parts.len() - 1) * ENTRY_BYTES + self.record_bytes(node) + own;
        more <= node.gap() + node.garbage() + node.record_bytes(self.at)
    }

    /// Puts the parts in the posting's place; they must fit.
    pub fn write(&self, page: &mut PageMut<'_>) {
        let node = Node(page.view());
        let (at, count) = (self.at, node.count());
        let added = self.parts.len() - 1;
        if added * ENTRY_BYTES + self.record_bytes(node) > node.gap() {
            return self.draw(page);
        }
        let garbage = node.garbage() + node.record_bytes(at);
        let rest = node.key(at).split_off(node.skip());
        let next = ENTRIES + (at + 1) * ENTRY_BYTES;
        page.move_within(next, next + added * ENTRY_BYTES, (count - at - 1) * ENTRY_BYTES);
        for (i, part) in self.parts.iter().enumerate() {
            let beside = Beside::list(&part.list);
            edit::write_entry(page, at + i, &rest, part.first.to_u64(), beside);
        }
        page.put_u16(GARBAGE, garbage as u16);
        let upper = usize::from(page.get_u16(UPPER));
        edit::set_bounds(page, count + added, upper);
    }

    /// The same, without garbage. What the keys share stays: so what was reckoned holds.
    fn draw(&self, page: &mut PageMut<'_>) {
        let node = Node(page.view());
        let mut drawn: Vec<Drawn<'_>> = Vec::with_capacity(node.count() + 1);
        for at in 0..node.count() {
            match at == self.at {
                true => {
                    drawn.extend(self.parts.iter().map(|part| Drawn { at, posting: Some(part) }))
                }
                false => drawn.push(Drawn { at, posting: None }),
            }
        }
        let (mut prefix, high) = (Vec::with_capacity(node.skip()), node.high());
        node.append_prefix(&mut prefix);
        Draft::drawn(node, &prefix, &drawn, borrow(&high)).replace(page);
    }
}
