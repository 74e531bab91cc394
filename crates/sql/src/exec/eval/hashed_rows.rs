//! The rows of a sub-select in a hash table, to be asked whether one is equal to what stands before IN.

use crate::error::Result;
use crate::exec::Cx;
use crate::exec::group::{ENTRY_BYTES, KeyMap, are_equal, hash_of};
use crate::exec::spill::{RowReader, RowStore, row_bytes};
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
}

impl HashedRows {
    /// `None`, if there are more than memory may hold.
    pub fn of(rows: &RowStore, keys: &RowKeys, cx: &mut Cx<'_>) -> Result<Option<HashedRows>> {
        let limit = cx.host.hash_mem_bytes();
        let mut hashed = HashedRows::default();
        let mut reader = RowReader::default();
        let mut count = 0u32;
        while reader.next(rows)? {
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                cx.breathe()?;
            }
            let row = reader.row(rows);
            let values: Result<Vec<Datum>> =
                keys.right.iter().map(|key| eval(key, row, cx)).collect();
            hashed.add(values?, keys);
            if hashed.bytes > limit {
                return Ok(None);
            }
        }
        cx.host.temp().note_peak(hashed.bytes);
        Ok(Some(hashed))
    }

    fn add(&mut self, row: Vec<Datum>, keys: &RowKeys) {
        let rows = match row.iter().any(Datum::is_null) {
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
