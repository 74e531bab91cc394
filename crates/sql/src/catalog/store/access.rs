//! Reading and writing catalog rows.
//!
//! Reads use a snapshot of their own, taken when they begin: a name means what it means now, not what it
//! meant when the transaction started. Uncommitted changes of the own transaction are seen.

use std::sync::Arc;

use base::ids::{Tid, Xid};
use std::ops::Bound;
use storage::btree::{Bounds, Direction, Liveness, NewEntry, Scan};

use storage::heap::{Change, HeapScan, Outcome, RowBuf};
use storage::lock::{RowLock, WaitPolicy};
use storage::txn::{Flags, TupleHeader, Txn};

use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, sql_error};
use crate::types::Datum;
use crate::types::keycode::after_prefix;
use crate::types::row::RowView;

use super::Store;
use super::row::CatalogRow;
use super::schema::catalog_by_oid;

/// A catalog row with its address.
pub struct Found {
    pub tid: Tid,
    /// The transaction that wrote it; `None` if every snapshot sees it.
    pub made_by: Option<Xid>,
    pub row: CatalogRow,
}

impl Store {
    /// Adds a row to a system table, with its index entries.
    pub fn insert(&self, txn: &Txn, table: &str, values: &[Datum]) -> Result<Tid> {
        let def = self.system_table(table);
        let mut encoded = Vec::new();
        def.desc.encode(values, &mut encoded)?;
        let tid = self.heap(&def)?.insert(txn, &encoded)?;
        self.insert_entries(txn, &def, tid, values)?;
        Ok(tid)
    }

    fn insert_entries(&self, txn: &Txn, def: &TableDef, tid: Tid, values: &[Datum]) -> Result<()> {
        let heap = self.heap(def)?;
        for index in &def.indexes {
            let key = key_of(index, values);
            let tree = self.tree(index)?;
            if !index.unique {
                tree.insert(NewEntry::plain(&key, tid))?;
                continue;
            }
            let mut judge = |other: Tid| -> storage::Result<Liveness> { heap.liveness(txn, other) };
            let mut is_gone = |other: Tid| heap.is_gone(other);
            match tree.insert_unique(txn, NewEntry::plain(&key, tid), &mut judge, &mut is_gone) {
                Ok(()) => {}
                Err(storage::Error::Duplicate { .. }) => {
                    return Err(sql_error!(
                        UNIQUE_VIOLATION,
                        "duplicate key value violates unique constraint \"{}\"",
                        index.name
                    ));
                }
                Err(other) => return Err(other.into()),
            }
        }
        Ok(())
    }

    /// Replaces a row found in this statement.
    pub fn update(&self, txn: &Txn, table: &str, found: &Found, values: &[Datum]) -> Result<()> {
        let def = self.system_table(table);
        let mut encoded = Vec::new();
        def.desc.encode(values, &mut encoded)?;
        let old = &found.row.values;
        let hot = def.indexes.iter().all(|index| key_of(index, old) == key_of(index, values));
        let change = Change { hot, key: !hot };
        match self.heap(&def)?.update(txn, found.tid, &encoded, change, None)? {
            Outcome::Done { heap_only: true, .. } => Ok(()),
            Outcome::Done { tid, .. } => self.insert_entries(txn, &def, tid, values),
            _ => Err(concurrently_changed(&def)),
        }
    }

    /// Changes some columns of a row found in this statement.
    pub fn update_columns(
        &self,
        txn: &Txn,
        table: &str,
        found: &Found,
        changes: &[(&str, Datum)],
    ) -> Result<()> {
        self.update(txn, table, found, &found.row.with(changes))
    }

    /// The row with this key, locked for a change: as it is when whoever is changing it now is done.
    pub fn find_to_change(
        &self,
        txn: &Txn,
        table: &str,
        index: &str,
        key: &[Datum],
    ) -> Result<Option<Found>> {
        let def = self.system_table(table);
        let (strength, policy) = (RowLock::NoKeyUpdate, WaitPolicy::Block);
        loop {
            let Some(found) = self.find_one(txn, table, index, key)? else { return Ok(None) };
            match self.heap(&def)?.lock_row(txn, found.tid, strength, policy, None)? {
                // Another's change: there is a new version, or none any more.
                Outcome::Updated { .. } | Outcome::Deleted => {}
                _ => return Ok(Some(found)),
            }
        }
    }

    /// Locks a row found in this statement for a change, without waiting; false: it is changed by another, or was.
    pub fn locked_row(&self, txn: &Txn, table: &str, found: &Found) -> Result<bool> {
        let def = self.system_table(table);
        let (strength, policy) = (RowLock::NoKeyUpdate, WaitPolicy::Never);
        match self.heap(&def)?.lock_row(txn, found.tid, strength, policy, None) {
            Ok(outcome) => Ok(matches!(outcome, Outcome::Done { .. })),
            Err(storage::Error::LockNotAvailable) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Removes a row found in this statement.
    pub fn delete(&self, txn: &Txn, table: &str, found: &Found) -> Result<()> {
        let def = self.system_table(table);
        match self.heap(&def)?.delete(txn, found.tid, None)? {
            Outcome::Done { .. } | Outcome::SelfModified => Ok(()),
            _ => Err(concurrently_changed(&def)),
        }
    }

    /// Rows whose leading columns in the index (by name) equal `key`, in index order.
    pub fn find(&self, txn: &Txn, table: &str, index: &str, key: &[Datum]) -> Result<Vec<Found>> {
        let def = self.system_table(table);
        let index = def.indexes.iter().find(|i| *i.name == *index);
        let index = index.expect("asked with an index of the list");
        let mut low = Vec::new();
        for (column, value) in index.keys.iter().zip(key) {
            column.code().encode(value, &mut low);
        }
        let high = after_prefix(&low).unwrap_or_default();
        let snapshot = txn.fresh_snapshot();
        let heap = self.heap(&def)?;
        let upper = match high.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Excluded(high.as_slice()),
        };
        let bounds = Bounds { low: Bound::Included(low.as_slice()), high: upper };
        let tree = self.tree(index)?.btree().expect("catalogs have B-trees only");
        let mut scan = Scan::new(bounds, Direction::Forward, false);
        let mut stored = RowBuf::default();
        let mut rows = Vec::new();
        while let Some(entry) = scan.next(tree)? {
            let tid = entry.tid;
            if heap.fetch(txn, &snapshot, tid, &mut stored)? {
                rows.push(found(&def, stored.tid(), stored.header(), stored.bytes()));
            } else if heap.is_gone(tid)? {
                scan.found_dead();
            }
        }
        Ok(rows)
    }

    /// The row with this key, if there is one.
    pub fn find_one(
        &self,
        txn: &Txn,
        table: &str,
        index: &str,
        key: &[Datum],
    ) -> Result<Option<Found>> {
        Ok(self.find(txn, table, index, key)?.into_iter().next())
    }

    /// All rows of a system table that `wanted` accepts.
    pub fn scan(
        &self,
        txn: &Txn,
        table: &str,
        wanted: impl Fn(&CatalogRow) -> bool,
    ) -> Result<Vec<Found>> {
        let def = self.system_table(table);
        let snapshot = txn.fresh_snapshot();
        let heap = self.heap(&def)?;
        let mut scan = HeapScan::new(heap, snapshot)?;
        let mut rows = Vec::new();
        while let Some(row) = scan.next(heap, txn)? {
            let row = found(&def, row.tid, &row.header(), row.bytes);
            if wanted(&row.row) {
                rows.push(row);
            }
        }
        Ok(rows)
    }
}

fn found(def: &Arc<TableDef>, tid: Tid, header: &TupleHeader, bytes: &[u8]) -> Found {
    let mut values = vec![Datum::Null; def.columns.len()];
    RowView::new(&def.desc, bytes).decode_prefix(&mut values);
    let schema = catalog_by_oid(def.oid).expect("system tables are in the list");
    let made_by = (!header.flags.has(Flags::XMIN_FROZEN)).then_some(header.xmin);
    Found { tid, made_by, row: CatalogRow { schema, values } }
}

/// The index key of a catalog row.
fn key_of(index: &IndexDef, values: &[Datum]) -> Vec<u8> {
    let mut key = Vec::new();
    for (column, at) in index.keys.iter().zip(index.key_columns()) {
        let at = at.expect("indexes of system tables are on columns");
        column.code().encode(&values[usize::from(at)], &mut key);
    }
    key
}

fn concurrently_changed(def: &TableDef) -> crate::error::SqlError {
    sql_error!(INTERNAL_ERROR, "tuple of system table \"{}\" was concurrently updated", def.name)
}
