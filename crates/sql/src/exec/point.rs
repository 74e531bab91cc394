//! One row by a whole unique key, or few by any whole key: what point reads and point changes find their rows with.
//!
//! No operator is made and no range: the key is encoded from parameters and constants, the index is asked
//! once, the row's bytes are copied out.

use std::sync::Arc;

use base::ids::Tid;
use storage::buffer::Figure;
use storage::heap::{HeapRel, RowBuf};
use storage::index::Index;
use storage::txn::Snapshot;

use crate::bind::tree::Expr;
use crate::catalog::{AccessMethod, IndexDef, TableDef};
use crate::error::Result;
use crate::plan::node::{IndexScan, KeyValue};
use crate::toast;
use crate::types::Datum;
use crate::types::row::RowView;

use super::{Host, index_key};

/// With more entries than this an operator, which reads ahead and lets others have their turn, does better.
const FEW: usize = 8;

/// A key that rows are found by, all columns of an index's.
pub struct PointKey {
    pub table: Arc<TableDef>,
    index: Arc<IndexDef>,
    values: Vec<Source>,
    is_unique: bool,
}

enum Source {
    Param(u16),
    Const(Datum),
}

/// Buffers that go from look-up to look-up.
#[derive(Default)]
pub struct Lookup {
    key: Vec<u8>,
    tids: Vec<Tid>,
    /// The key of a row that a hash index led to.
    own: Vec<u8>,
    /// The row found.
    pub row: RowBuf,
}

impl PointKey {
    /// The key of a scan that finds at most one row, if it is one. A filter is the caller's business.
    pub fn of(scan: &IndexScan) -> Option<PointKey> {
        PointKey::whole(scan).filter(PointKey::is_unique)
    }

    /// The key of a scan that asks for one value of each of the index's columns.
    pub fn whole(scan: &IndexScan) -> Option<PointKey> {
        let [range] = &scan.ranges[..] else { return None };
        let whole = range.lower.is_none()
            && range.upper.is_none()
            && range.pattern.is_none()
            && range.tests.is_empty()
            && range.equal.len() == scan.index.keys.len()
            && !(scan.index.method == AccessMethod::Hash && scan.index.has_expressions());
        if !whole {
            return None;
        }
        let source = |value: &KeyValue| match value {
            KeyValue::Is(Expr::Param(param)) => Some(Source::Param(param.index)),
            KeyValue::Is(Expr::Const(c)) => Some(Source::Const(c.value.clone())),
            _ => None,
        };
        let values = range.equal.iter().map(source).collect::<Option<Vec<_>>>()?;
        let (table, index) = (scan.table.clone(), scan.index.clone());
        Some(PointKey { table, index, values, is_unique: scan.single })
    }

    /// Whether at most one row has it.
    pub fn is_unique(&self) -> bool {
        self.is_unique
    }

    /// Finds the row that the snapshot sees, by a unique key; it is in `lookup` then.
    pub fn find<H: Host + ?Sized>(
        &self,
        host: &H,
        snapshot: &Snapshot,
        params: &[Datum],
        lookup: &mut Lookup,
    ) -> Result<bool> {
        let Some((heap, index)) = self.look_up(host, params, lookup)? else { return Ok(false) };
        let Lookup { key, tids, own, row } = lookup;
        count(index, tids);
        for (misses, tid) in tids.iter().enumerate() {
            if heap.fetch(host.txn(), snapshot, *tid, row)? {
                index.relation().count(Figure::IndexRows, 1);
                if index.btree().is_none() && !self.is_of(row.bytes(), key, own)? {
                    continue;
                }
                if misses > 0 {
                    mark_dead(heap, index, key)?;
                }
                return Ok(true);
            }
        }
        if !tids.is_empty() {
            mark_dead(heap, index, key)?;
        }
        Ok(false)
    }

    /// Gives `each` the bytes of the rows that the snapshot sees; the number of rows. `None` before the first if there
    /// may be more than few.
    pub fn find_few<H: Host + ?Sized>(
        &self,
        host: &H,
        snapshot: &Snapshot,
        params: &[Datum],
        lookup: &mut Lookup,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Option<u64>> {
        let Some((heap, index)) = self.look_up(host, params, lookup)? else { return Ok(Some(0)) };
        let Lookup { key, tids, own, row } = lookup;
        if tids.len() > FEW {
            return Ok(None);
        }
        count(index, tids);
        let (mut rows, mut has_dead) = (0, false);
        for tid in tids.iter() {
            if !heap.fetch(host.txn(), snapshot, *tid, row)? {
                has_dead = has_dead || heap.is_gone(*tid)?;
                continue;
            }
            index.relation().count(Figure::IndexRows, 1);
            if index.btree().is_none() && !self.is_of(row.bytes(), key, own)? {
                continue;
            }
            each(row.bytes())?;
            rows += 1;
        }
        if has_dead {
            mark_dead(heap, index, key)?;
        }
        Ok(Some(rows))
    }

    /// Encodes the key and asks the index: both are in `lookup` then. `None` if no row can have the key.
    #[inline]
    fn look_up<'h, H: Host + ?Sized>(
        &'h self,
        host: &'h H,
        params: &[Datum],
        lookup: &mut Lookup,
    ) -> Result<Option<(&'h HeapRel, &'h Index)>> {
        let Lookup { key, tids, .. } = lookup;
        key.clear();
        for (source, column) in self.values.iter().zip(&self.index.keys) {
            let value = match source {
                Source::Param(index) => &params[usize::from(*index)],
                Source::Const(value) => value,
            };
            if value.is_null() {
                return Ok(None);
            }
            column.code().encode(value, key);
        }
        let index = host.tree(&self.index)?;
        index.lookup(key, tids)?;
        Ok(Some((host.heap(&self.table)?, index)))
    }

    /// Whether a row has the key, which an entry with its hash does not prove. `own` is room for the row's.
    fn is_of(&self, row: &[u8], key: &[u8], own: &mut Vec<u8>) -> Result<bool> {
        let column = self.index.key_columns().next().flatten().expect("it has one plain key");
        let row = toast::inlined(&self.table, row, |at| at == usize::from(column))?;
        let value = RowView::new(&self.table.desc, &row).get(usize::from(column));
        own.clear();
        index_key(&self.index, &[value], own);
        Ok(own == key)
    }
}

/// Counts a look-up that found these.
#[inline]
fn count(index: &Index, tids: &[Tid]) {
    index.relation().count(Figure::IndexScans, 1);
    index.relation().count(Figure::IndexEntries, tids.len() as u64);
}

/// Lets later look-ups skip entries whose rows nobody can see any more.
#[cold]
fn mark_dead(heap: &HeapRel, tree: &Index, key: &[u8]) -> Result<()> {
    Ok(tree.mark_dead(key, &mut |tid| heap.is_gone(tid))?)
}
