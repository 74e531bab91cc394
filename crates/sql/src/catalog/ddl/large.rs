//! The heaps for large values that tables have (`crate::toast`): made with a table that may have long rows, new when it
//! gets new storage, gone when it is.

use base::ids::Persistence;
use base::rank::Rank;
use storage::lock::LockMode;

use crate::bind::Ty;
use crate::catalog::TableDef;
use crate::catalog::store::builtin::{HEAP_AM, TOAST_SCHEMA, class_row};
use crate::error::Result;
use crate::toast;
use crate::types::{Datum, Oid};

use super::Ddl;
use super::create_table::persistence_letter;

impl Ddl<'_> {
    /// Gives the table a heap for large values if its rows may be long and it has none.
    pub(super) fn toast_if_needed(&mut self, oid: Oid) -> Result<()> {
        let table = self.table(oid)?;
        if table.toast.is_some() || !toast::is_needed(toast::types_of(&table.columns)) {
            return Ok(());
        }
        let heap = self.new_toast(oid, table.persistence, table.owner)?;
        self.update_class(oid, &[("reltoastrelid", Datum::Oid(heap))])?;
        self.changed(oid)
    }

    /// The heap for large values of a new table with such columns; invalid where none is needed.
    pub(super) fn toast_of_new(
        &mut self,
        oid: Oid,
        persistence: Persistence,
        columns: impl Iterator<Item = Ty>,
    ) -> Result<Oid> {
        match toast::is_needed(columns) {
            true => self.new_toast(oid, persistence, self.host.user()),
            false => Ok(Oid::INVALID),
        }
    }

    fn new_toast(&mut self, table: Oid, persistence: Persistence, owner: Oid) -> Result<Oid> {
        let oid = self.new_oid()?;
        // Until it is certain that there is the table; its own lock tells background vacuum nothing about this heap.
        self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
        let (txn, store) = (self.txn(), self.store());
        let storage = store.create_storage(txn, persistence, Rank::HeapPage)?;
        let class = class_row(oid, &format!("pg_toast_{}", table.0), TOAST_SCHEMA, b't', 0)
            .oid("relam", HEAP_AM)
            .oid("relowner", owner)
            .oid("relfilenode", Oid(storage.0))
            .letter("relpersistence", persistence_letter(persistence));
        store.insert(txn, "pg_class", &class.build())?;
        Ok(oid)
    }

    /// New, empty storage for the large values of a table that gets new storage itself.
    pub(super) fn toast_anew(&mut self, table: &TableDef) -> Result<()> {
        let Some(heap) = &table.toast else { return Ok(()) };
        self.new_storage(heap.oid, heap.storage, heap.persistence, Rank::HeapPage)?;
        self.changed(heap.oid)
    }

    /// Removes the heap of a table that goes.
    pub(super) fn drop_toast(&mut self, table: &TableDef) -> Result<()> {
        let Some(heap) = &table.toast else { return Ok(()) };
        self.drop_relation_rows(heap.oid)?;
        self.store().drop_storage(self.txn(), heap.storage)
    }
}
