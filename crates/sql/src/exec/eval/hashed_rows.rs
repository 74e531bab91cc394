//! The rows of a sub-select in a hash table, to be asked whether one is equal to what stands before IN, or to what an EXISTS
//! ties its rows to.

use crate::error::Result;
use crate::exec::group::{ENTRY_BYTES, KeyMap, are_equal, hash_of};
use crate::exec::spill::{RowReader, RowStore, row_bytes};
use crate::exec::{Cx, Operator};
use crate::plan::node::RowKeys;
use crate::types::Datum;

use super::eval;

/// Each of the rows once, by its keys.
#[derive(Default)]
pub(super) struct HashedRows {
    whole: KeyMap<()>,
    /// Those with a null.
    partial: KeyMap<()>,
    bytes: usize,
    /// How many there were, with those that are equal.
    taken: u32,
}

impl HashedRows {
    /// `None`, if there are more than memory may hold.
    pub fn of(rows: &RowStore, keys: &RowKeys, cx: &mut Cx<'_>) -> Result<Option<HashedRows>> {
        let mut hashed = HashedRows::default();
        let mut reader = RowReader::default();
        while reader.next(rows)? {
            if !hashed.take(reader.row(rows), keys, cx)? {
                return Ok(None);
            }
        }
        cx.host.temp().note_peak(hashed.bytes);
        Ok(Some(hashed))
    }

    /// The same of rows that are kept nowhere else.
    pub fn read<O: Operator + ?Sized>(
        rows: &mut O,
        keys: &RowKeys,
        cx: &mut Cx<'_>,
    ) -> Result<Option<HashedRows>> {
        let mut hashed = HashedRows::default();
        while rows.next(cx)? {
            if !hashed.take(rows.row(), keys, cx)? {
                return Ok(None);
            }
        }
        cx.host.temp().note_peak(hashed.bytes);
        Ok(Some(hashed))
    }

    /// Takes a row in; false, if memory may not hold it.
    fn take(&mut self, row: &[Datum], keys: &RowKeys, cx: &mut Cx<'_>) -> Result<bool> {
        self.taken = self.taken.wrapping_add(1);
        if self.taken.is_multiple_of(1024) {
            cx.breathe()?;
        }
        let values: Result<Vec<Datum>> = keys.right.iter().map(|key| eval(key, row, cx)).collect();
        self.add(values?, keys);
        Ok(self.bytes <= cx.host.hash_mem_bytes())
    }

    fn add(&mut self, row: Vec<Datum>, keys: &RowKeys) {
        let rows = match row.iter().any(Datum::is_null) {
            // It equals nothing.
            true if !keys.open => return,
            true => &mut self.partial,
            false => &mut self.whole,
        };
        let hash = hash_of(&row);
        if rows.find(hash, &row, |i| keys.right[i].type_id()).is_none() {
            self.bytes += row_bytes(&row) + ENTRY_BYTES;
            rows.add(hash, row.into(), ());
        }
    }

    /// Whether one of the rows is equal to these values; `None`, if nulls leave that open.
    pub fn contain(
        &self,
        values: &[Datum],
        keys: &RowKeys,
        cx: &mut Cx<'_>,
    ) -> Result<Option<bool>> {
        let own: Result<Vec<Datum>> = keys.left.iter().map(|key| eval(key, values, cx)).collect();
        let own = own?;
        cx.breathe()?;
        let type_of = |i: usize| keys.right[i].type_id();
        let is_whole = !own.iter().any(Datum::is_null);
        if is_whole && self.whole.find(hash_of(&own), &own, type_of).is_some() {
            return Ok(Some(true));
        }
        if !keys.open {
            return Ok(Some(false));
        }
        let may_equal = |row: &[Datum]| {
            let mut pairs = own.iter().zip(row).enumerate();
            pairs.all(|(i, (a, b))| {
                let is_open = a.is_null() || b.is_null();
                is_open
                    || are_equal(std::slice::from_ref(a), std::slice::from_ref(b), |_| type_of(i))
            })
        };
        let is_open =
            self.partial.keys().any(may_equal) || !is_whole && self.whole.keys().any(may_equal);
        Ok(if is_open { None } else { Some(false) })
    }
}
