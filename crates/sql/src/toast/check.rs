//! Verification: every live row finds its large values, and no piece is there for nobody.

use std::collections::BTreeSet;

use base::ids::{BlockNo, Fork, Tid};
use storage::heap::{HeapRel, Line, RowBuf};

use crate::catalog::TableDef;
use crate::catalog::store::Store;
use crate::error::Result;

use super::Pieces;

/// Adds a sentence for every fault. Nobody may write to the table meanwhile.
///
/// # Errors
/// A page that can't be read.
pub fn check(store: &Store, table: &TableDef, faults: &mut Vec<String>) -> Result<()> {
    let heap = store.heap(table)?;
    let Some(pieces) = table.toast_rows() else { return Ok(()) };
    let mut reached = BTreeSet::new();
    let mut row = RowBuf::new();
    each_live(heap, &mut |tid| {
        if !heap.fetch_version(tid, &mut row)? {
            return Ok(());
        }
        if let Err(error) = super::whole(table, row.bytes()) {
            faults.push(format!("row {tid}: {}", error.fields().message));
        }
        for (_, external) in table.desc.externals(row.bytes()) {
            let (mut all, mut buf) = (Pieces::of(&external), RowBuf::new());
            while let Ok(Some(place)) = all.next(pieces, &mut buf) {
                reached.insert(place);
            }
            reached.extend(all.lists);
        }
        Ok(())
    })?;
    each_live(pieces, &mut |tid| {
        if !reached.contains(&tid) {
            faults.push(format!("no row leads to piece {tid} of a large value"));
        }
        Ok(())
    })
}

/// Every row version that was committed and not ended.
fn each_live(heap: &HeapRel, take: &mut dyn FnMut(Tid) -> Result<()>) -> Result<()> {
    for block in (0..heap.relation().blocks(Fork::Main)?).map(BlockNo) {
        for (i, line) in heap.lines(block)?.into_iter().enumerate() {
            let Line::Root(_) = line else { continue };
            let root = Tid { block, offset: i as u16 + 1 };
            for version in heap.versions(root)?.into_iter().filter(|version| version.live) {
                take(version.tid)?;
            }
        }
    }
    Ok(())
}
