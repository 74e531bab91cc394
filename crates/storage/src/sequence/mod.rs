//! Sequences: one page each. See the README beside this file.

pub(crate) mod describe;
pub mod redo;

use crate::buffer::{Relation, WriteGuard};
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::page::{HEADER_BYTES, PAGE_BYTES, PageKind, PageMut, PageView};
use crate::txn::{Txn, TxnManager};
use crate::wal::{Kind, Wal, record_bound};
use base::{BlockNo, Fork, Lsn, Persistence, Xid};
use std::sync::Arc;

const BLOCK: BlockNo = BlockNo(0);
/// Where the last value lies on the page.
const LAST: usize = HEADER_BYTES;
/// Whether it was handed out.
const CALLED: usize = HEADER_BYTES + 8;
/// The last value that the log covers; the last value itself if it covers no further one.
const COVERED: usize = HEADER_BYTES + 16;
const SPECIAL_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
const _: () = assert!(COVERED + 8 <= HEADER_BYTES + SPECIAL_BYTES);

/// Values that one log record covers.
const AHEAD: u32 = 32;

/// Bytes of a state in the log.
const STATE_BYTES: usize = 9;

/// How a sequence moves; kept by whoever owns the catalog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Params {
    /// Step; not 0.
    pub increment: i64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Whether it starts over at the other end.
    pub cycle: bool,
}

/// What is to be read of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// The last value handed out; the first to come if none was.
    pub last: i64,
    /// Whether `last` was handed out.
    pub is_called: bool,
}

/// A sequence. Shared by reference.
pub struct SequenceRel {
    rel: Relation,
    wal: Arc<Wal>,
    txns: Arc<TxnManager>,
}

impl SequenceRel {
    /// The sequence in `rel`.
    pub fn new(rel: Relation, txns: &Arc<TxnManager>) -> SequenceRel {
        SequenceRel { rel, wal: Arc::clone(txns.wal()), txns: Arc::clone(txns) }
    }

    /// Its relation.
    pub fn relation(&self) -> &Relation {
        &self.rel
    }

    /// Writes the first state into a relation just made.
    pub fn create(&self, start: i64) -> Result<()> {
        let mut journal = self.journal()?;
        let mut page = match self.rel.blocks(Fork::Main)? {
            0 => self.rel.extend(Fork::Main)?,
            _ => self.rel.write(Fork::Main, BLOCK)?,
        };
        store_logged(&mut page, &mut journal, State { last: start, is_called: false });
        Ok(())
    }

    /// An unlogged sequence that a crash has emptied begins anew.
    pub fn begin_if_emptied(&self, start: i64) -> Result<()> {
        if !self.is_emptied()? {
            return Ok(());
        }
        let _one = self.txns.emptied().lock();
        if self.is_emptied()? { self.create(start) } else { Ok(()) }
    }

    fn is_emptied(&self) -> Result<bool> {
        let unlogged = self.rel.id().persistence() == Persistence::Unlogged;
        Ok(unlogged && self.rel.blocks(Fork::Main)? == 0)
    }

    /// The next value. Never taken back, whatever becomes of the transaction; no two calls get the same,
    /// crash or not, because no reply that tells a value leaves before the log covers it.
    pub fn next(&self, txn: &Txn, params: &Params) -> Result<i64> {
        let mut journal = self.journal()?;
        let mut page = self.page()?;
        let state = load(page.view());
        let value = if state.is_called { step(state.last, params)? } else { state.last };
        let covered = page.get_u64(COVERED) as i64;
        // By its value: how it moves may have changed since, and that may be taken back.
        let is_covered = state.is_called && is_passed(state.last, value, covered);
        // A page that was written since may have let the redo point go past the record that covers it (SQ3).
        if !is_covered || !page.is_dirty() {
            // The log tells of a value ahead, so that the next calls need no record.
            let ahead = look_ahead(value, params);
            store_logged(&mut page, &mut journal, State { last: ahead, is_called: true });
            store(&mut page, State { last: value, is_called: true }, ahead);
        } else {
            store(&mut page, State { last: value, is_called: true }, covered);
        }
        txn.observe(page.lsn());
        Ok(value)
    }

    /// Sets the state: `setval`. Not taken back by a rollback.
    pub fn set(&self, txn: &Txn, state: State) -> Result<()> {
        let mut journal = self.journal()?;
        let mut page = self.page()?;
        store_logged(&mut page, &mut journal, state);
        txn.observe(page.lsn());
        Ok(())
    }

    /// The state: `SELECT last_value, is_called FROM sequence`.
    pub fn read(&self, txn: &Txn) -> Result<State> {
        let page = self.rel.read(Fork::Main, BLOCK)?;
        if page.is_new() {
            return Err(self.uninitialised());
        }
        txn.observe(page.lsn());
        Ok(load(page.view()))
    }

    /// Verifies the page.
    pub fn check(&self, report: &mut dyn FnMut(String)) -> Result<()> {
        let name = format!("sequence {}", self.rel.id());
        if self.is_emptied()? {
            return Ok(());
        }
        if self.rel.blocks(Fork::Main)? != 1 {
            report(format!("{name} has not exactly one page"));
            return Ok(());
        }
        let page = self.rel.read(Fork::Main, BLOCK)?;
        let sound = page.kind() == Some(PageKind::Sequence) && page.header_is_sound();
        if !sound || page.get_u8(CALLED) > 1 {
            report(format!("{name}: the page is damaged"));
        }
        Ok(())
    }

    fn journal(&self) -> Result<Journal<'_>> {
        Journal::open(&self.wal, &self.rel, 1, record_bound(1, 1, STATE_BYTES))
    }

    fn page(&self) -> Result<WriteGuard<'_>> {
        let page = self.rel.write(Fork::Main, BLOCK)?;
        if page.is_new() { Err(self.uninitialised()) } else { Ok(page) }
    }

    fn uninitialised(&self) -> Error {
        Error::damaged(format!("sequence {}", self.rel.id()), Some(BLOCK), "it has no state")
    }
}

fn load(page: PageView<'_>) -> State {
    State { last: page.get_u64(LAST) as i64, is_called: page.get_u8(CALLED) != 0 }
}

fn store(page: &mut PageMut<'_>, state: State, covered: i64) {
    if page.is_new() {
        page.init(PageKind::Sequence, SPECIAL_BYTES);
    }
    page.put_u64(LAST, state.last as u64);
    page.put_u8(CALLED, u8::from(state.is_called));
    page.put_u64(COVERED, covered as u64);
}

/// A copy of a sequence's page, about to be logged as it is: no record tells of values behind its last (SQ3).
pub(crate) fn cover_nothing(page: &mut PageMut<'_>) {
    if !page.is_new() {
        page.put_u64(COVERED, page.get_u64(LAST));
    }
}

/// Stores a state and logs it; redo starts the page anew.
fn store_logged(page: &mut WriteGuard<'_>, journal: &mut Journal<'_>, state: State) {
    page.mark_dirty();
    store(page, state, state.last);
    let mut bytes = [0; STATE_BYTES];
    bytes[..8].copy_from_slice(&state.last.to_le_bytes());
    bytes[8] = u8::from(state.is_called);
    let at = journal
        .insert(|terms| terms.record(Kind::SEQUENCE, Xid::INVALID).init_block(&*page, &bytes));
    page.set_lsn(at.map_or(Lsn::ZERO, |at| at.end));
}

/// The value after `last`.
fn step(last: i64, params: &Params) -> Result<i64> {
    let next = last.checked_add(params.increment);
    let ascending = params.increment > 0;
    match next {
        Some(next) if ascending && next <= params.max => Ok(next.max(params.min)),
        Some(next) if !ascending && next >= params.min => Ok(next.min(params.max)),
        _ if params.cycle => Ok(if ascending { params.min } else { params.max }),
        _ => {
            let bound = if ascending { params.max } else { params.min };
            Err(Error::SequenceExhausted { ascending, bound })
        }
    }
}

/// Whether `value`, which comes after `last`, is passed on the way from there to `end`.
fn is_passed(last: i64, value: i64, end: i64) -> bool {
    (last < value && value <= end) || (end <= value && value < last)
}

/// A value up to [`AHEAD`] steps behind `value`, without starting over.
fn look_ahead(value: i64, params: &Params) -> i64 {
    let once = Params { cycle: false, ..*params };
    let mut ahead = value;
    for _ in 0..AHEAD {
        match step(ahead, &once) {
            Ok(next) => ahead = next,
            Err(_) => return ahead,
        }
    }
    ahead
}

#[cfg(test)]
mod tests;
