//! One row by a whole unique key: what point reads and point changes find their row with.
//!
//! No operator is made and no range: the key is encoded from parameters and constants, the tree is asked
//! once, the row's bytes are copied out.

use std::sync::Arc;

use base::ids::Tid;
use storage::buffer::Figure;
use storage::heap::{HeapRel, RowBuf};
use storage::index::Index;
use storage::txn::Snapshot;

use crate::bind::tree::Expr;
use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::plan::node::{IndexScan, KeyValue};
use crate::types::Datum;

use super::Host;

/// A key that at most one row has.
pub struct PointKey {
    pub table: Arc<TableDef>,
    index: Arc<IndexDef>,
    values: Vec<Source>,
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
    /// The row found.
    pub row: RowBuf,
}

impl PointKey {
    /// The key of a scan that finds at most one row, if it is one. A filter is the caller's business.
    pub fn of(scan: &IndexScan) -> Option<PointKey> {
        let [range] = &scan.ranges[..] else { return None };
        let whole = scan.index.unique
            && scan.index.immediate
            && range.lower.is_none()
            && range.upper.is_none()
            && range.equal.len() == scan.index.keys.len();
        if !whole {
            return None;
        }
        let source = |value: &KeyValue| match value {
            KeyValue::Is(Expr::Param(param)) => Some(Source::Param(param.index)),
            KeyValue::Is(Expr::Const(c)) => Some(Source::Const(c.value.clone())),
            _ => None,
        };
        let values = range.equal.iter().map(source).collect::<Option<Vec<_>>>()?;
        Some(PointKey { table: scan.table.clone(), index: scan.index.clone(), values })
    }

    /// Finds the row that the snapshot sees; it is in `lookup` then.
    pub fn find<H: Host + ?Sized>(
        &self,
        host: &H,
        snapshot: &Snapshot,
        params: &[Datum],
        lookup: &mut Lookup,
    ) -> Result<bool> {
        let Lookup { key, tids, row } = lookup;
        key.clear();
        for (source, column) in self.values.iter().zip(&self.index.keys) {
            let value = match source {
                Source::Param(index) => &params[usize::from(*index)],
                Source::Const(value) => value,
            };
            if value.is_null() {
                return Ok(false);
            }
            column.code().encode(value, key);
        }
        let heap = host.heap(&self.table)?;
        let tree = host.tree(&self.index)?;
        tree.lookup(key, tids)?;
        let pages = tree.relation();
        pages.count(Figure::IndexScans, 1);
        pages.count(Figure::IndexEntries, tids.len() as u64);
        for (misses, tid) in tids.iter().enumerate() {
            if heap.fetch(host.txn(), snapshot, *tid, row)? {
                pages.count(Figure::IndexRows, 1);
                if misses > 0 {
                    mark_dead(heap, tree, key)?;
                }
                return Ok(true);
            }
        }
        if !tids.is_empty() {
            mark_dead(heap, tree, key)?;
        }
        Ok(false)
    }
}

/// Lets later look-ups skip entries whose rows nobody can see any more.
#[cold]
fn mark_dead(heap: &HeapRel, tree: &Index, key: &[u8]) -> Result<()> {
    Ok(tree.mark_dead(key, &mut |tid| heap.is_gone(tid))?)
}
