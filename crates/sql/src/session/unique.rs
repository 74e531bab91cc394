//! Deferrable unique keys: rows go in whatever others have, and those that may repeat a key are looked at when the
//! statement is done, or the transaction.

use base::ids::Tid;
use storage::btree::Liveness;
use storage::heap::RowBuf;

use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, SqlError, sql_error};
use crate::exec::{encode_key, waiting};
use crate::types::Datum;
use crate::types::row::RowView;

use super::Session;

impl Session {
    /// A row that was entered into an index for the place `row`, if it is still there, must be the only one with its
    /// key. Waits for transactions that decide whether another is.
    ///
    /// # Errors
    /// `23505`, or what a wait ends with.
    pub(super) fn row_must_be_alone(&self, index: &IndexDef, row: Tid) -> Result<()> {
        let txn = &self.backend.txn;
        txn.briefly(|| {
            // The statement's is gone; without one the pages on the way could become others.
            txn.fresh_snapshot();
            self.look_for_others(index, row)
        })
    }

    fn look_for_others(&self, index: &IndexDef, row: Tid) -> Result<()> {
        let (store, txn) = (&self.backend.instance.store, &self.backend.txn);
        // As they are now: both may have been changed, or dropped, since the row was entered.
        let Some(table) = self.backend.catalog.table(txn, index.table)? else { return Ok(()) };
        let Some(index) = table.indexes.iter().find(|i| i.oid == index.oid) else { return Ok(()) };
        let Some(values) = self.key_of(&table, index, row)? else { return Ok(()) };
        let mut key = Vec::new();
        encode_key(index, &values, &mut key);
        let (heap, tree) = (store.heap(&table)?, store.tree(index)?);
        let mut tids = Vec::new();
        'look: loop {
            tids.clear();
            tree.lookup(&key, &mut tids)?;
            for other in tids.iter().filter(|other| **other != row) {
                match heap.liveness(txn, *other)? {
                    Liveness::Dead => {}
                    Liveness::Live { .. } if tree.leads_to(&key, *other)? => {
                        return Err(self.repeated(&table, index, &values));
                    }
                    // Its place has gone to another row since the entry was read.
                    Liveness::Live { .. } => continue 'look,
                    Liveness::InProgress { xid } => {
                        let doing = "inserting index tuple";
                        txn.wait_for(xid).map_err(waiting(doing, row, &index.name))?;
                        continue 'look;
                    }
                }
            }
            return Ok(());
        }
    }

    /// The key under which the row at a place was entered; `None` when it is gone.
    fn key_of(&self, table: &TableDef, index: &IndexDef, row: Tid) -> Result<Option<Vec<Datum>>> {
        let heap = self.backend.instance.store.heap(table)?;
        let Liveness::Live { tid, .. } = heap.liveness(&self.backend.txn, row)? else {
            return Ok(None);
        };
        let mut stored = RowBuf::new();
        if !heap.fetch_version(tid, &mut stored)? {
            return Ok(None);
        }
        let columns: Vec<u16> = index.key_columns().flatten().collect();
        let mut all = vec![Datum::Null; table.columns.len()];
        let row = crate::toast::inlined_or_empty(table, stored.bytes(), |column| {
            columns.iter().any(|c| usize::from(*c) == column)
        })?;
        RowView::new(&table.desc, &row).decode_prefix(&mut all);
        Ok(Some(columns.iter().map(|c| all[usize::from(*c)].clone()).collect()))
    }

    fn repeated(&self, table: &TableDef, index: &IndexDef, values: &[Datum]) -> SqlError {
        let columns: Vec<u16> = index.key_columns().flatten().collect();
        let shown = self.key_shown(table, &columns, values);
        let error = sql_error!(
            UNIQUE_VIOLATION,
            "duplicate key value violates unique constraint \"{}\"",
            index.name
        );
        match shown {
            Some(shown) => error.with_detail(format!("Key {shown} already exists.")),
            None => error,
        }
        .with_table(&table.schema_name, &table.name)
        .with_constraint(&index.name)
    }
}
