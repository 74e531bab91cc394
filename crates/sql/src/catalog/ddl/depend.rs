//! `pg_depend`: who goes with whom.

use crate::catalog::store::lookup::pg_class;
use crate::catalog::store::row::RowBuilder;
use crate::error::Result;
use crate::types::{Datum, Oid};

use super::Ddl;

impl Ddl<'_> {
    /// A sequence goes with a column: `a`utomatically (serial) or `i`nternally (identity).
    pub(super) fn depend_on_column(
        &mut self,
        sequence: Oid,
        table: Oid,
        number: i16,
        kind: u8,
    ) -> Result<()> {
        self.forget_owner(sequence)?;
        let row = RowBuilder::of("pg_depend")
            .oid("classid", pg_class())
            .oid("objid", sequence)
            .oid("refclassid", pg_class())
            .oid("refobjid", table)
            .set("refobjsubid", i32::from(number))
            .letter("deptype", kind);
        self.store().insert(self.txn(), "pg_depend", &row.build())?;
        Ok(())
    }

    /// Removes what a relation depends on.
    pub(super) fn forget_owner(&mut self, relation: Oid) -> Result<()> {
        let key = [Datum::Oid(pg_class()), Datum::Oid(relation)];
        let (txn, store) = (self.txn(), self.store());
        for row in store.find(txn, "pg_depend", "pg_depend_depender_index", &key)? {
            store.delete(txn, "pg_depend", &row)?;
        }
        Ok(())
    }

    /// Sequences that go with a table, or with one of its columns.
    pub(super) fn owned_sequences(&self, table: Oid, column: Option<i16>) -> Result<Vec<Oid>> {
        let mut key = vec![Datum::Oid(pg_class()), Datum::Oid(table)];
        key.extend(column.map(|c| Datum::Int4(i32::from(c))));
        let rows = self.store().find(self.txn(), "pg_depend", "pg_depend_reference_index", &key)?;
        let owned = rows.iter().filter(|f| matches!(f.row.letter("deptype"), b'a' | b'i'));
        Ok(owned.map(|f| f.row.oid("objid")).collect())
    }
}
