//! `pg_depend`: who goes with whom.

use std::sync::Arc;

use storage::lock::LockMode;

use crate::bind::tree::Const;
use crate::bind::{Expr, Ty, walk};
use crate::catalog::store::lookup::pg_class;
use crate::catalog::store::row::RowBuilder;
use crate::catalog::store::schema::catalog;
use crate::catalog::{FIRST_USER_OID, TableDef};
use crate::error::Result;
use crate::types::{Datum, Oid, TypeId};

use super::Ddl;

/// Finds defaults by table and column.
const DEFAULTS_INDEX: &str = "pg_attrdef_adrelid_adnum_index";

/// A column's default, by its row in `pg_attrdef`.
pub(super) struct DefaultOf {
    pub oid: Oid,
    pub table: Oid,
    pub number: i16,
}

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

    /// A materialized view is in a schema: the one thing that it depends on itself, by which those who dump the database
    /// come to its rule.
    pub(super) fn depend_on_schema(&mut self, view: Oid, schema: Oid) -> Result<()> {
        self.forget_owner(view)?;
        let row = RowBuilder::of("pg_depend")
            .oid("classid", pg_class())
            .oid("objid", view)
            .oid("refclassid", catalog("pg_namespace").oid)
            .oid("refobjid", schema)
            .letter("deptype", b'n');
        self.store().insert(self.txn(), "pg_depend", &row.build())?;
        Ok(())
    }

    /// A column's default is of the relations that it names: the sequence of a serial column. Who dumps the database
    /// makes them first.
    pub(super) fn depend_on_named(
        &mut self,
        table: Oid,
        number: i16,
        default: &str,
        column: &str,
        ty: Ty,
    ) -> Result<()> {
        let mut named = Vec::new();
        walk::any(&self.host.bind_default(default, column, ty)?, &mut |expr| {
            if let Expr::Const(Const { value: Datum::Oid(oid), ty, .. }) = expr
                && ty.id == TypeId::REGCLASS
            {
                named.push(*oid);
            }
            false
        });
        named.retain(|oid| *oid >= FIRST_USER_OID);
        named.sort_unstable();
        named.dedup();
        let key = [Datum::Oid(table), Datum::Int2(number)];
        let found = self.store().find_one(self.txn(), "pg_attrdef", DEFAULTS_INDEX, &key)?;
        let Some(found) = found else { return Ok(()) };
        for relation in named {
            let row = RowBuilder::of("pg_depend")
                .oid("classid", catalog("pg_attrdef").oid)
                .oid("objid", found.row.oid("oid"))
                .oid("refclassid", pg_class())
                .oid("refobjid", relation)
                .letter("deptype", b'n');
            self.store().insert(self.txn(), "pg_depend", &row.build())?;
        }
        Ok(())
    }

    /// The defaults that name a relation.
    pub(super) fn defaults_with(&self, relation: Oid) -> Result<Vec<DefaultOf>> {
        let (txn, store) = (self.txn(), self.store());
        let class = catalog("pg_attrdef").oid;
        let key = [Datum::Oid(pg_class()), Datum::Oid(relation)];
        let rows = store.find(txn, "pg_depend", "pg_depend_reference_index", &key)?;
        let of_default = rows.iter().filter(|found| found.row.oid("classid") == class);
        let mut defaults = Vec::new();
        for oid in of_default.map(|found| found.row.oid("objid")) {
            let key = [Datum::Oid(oid)];
            let found = store.find_one(txn, "pg_attrdef", "pg_attrdef_oid_index", &key)?;
            defaults.extend(found.map(|found| DefaultOf {
                oid,
                table: found.row.oid("adrelid"),
                number: found.row.int2("adnum"),
            }));
        }
        Ok(defaults)
    }

    /// Removes a default, unless it is gone by now.
    pub(super) fn drop_default(&mut self, default: &DefaultOf) -> Result<()> {
        self.catalog.lock(self.host.txn(), default.table, LockMode::AccessExclusive)?;
        let key = [Datum::Oid(default.oid)];
        let index = "pg_attrdef_oid_index";
        if self.store().find_one(self.txn(), "pg_attrdef", index, &key)?.is_some() {
            self.set_default(default.table, default.number, None)?;
            self.changed(default.table)?;
        }
        Ok(())
    }

    /// Removes the defaults of a table, or of one of its columns, with what they depend on.
    pub(super) fn forget_defaults(&mut self, key: &[Datum]) -> Result<()> {
        for found in self.store().find(self.txn(), "pg_attrdef", DEFAULTS_INDEX, key)? {
            self.forget(catalog("pg_attrdef").oid, found.row.oid("oid"))?;
            self.store().delete(self.txn(), "pg_attrdef", &found)?;
        }
        Ok(())
    }

    /// Removes what a relation depends on.
    pub(super) fn forget_owner(&mut self, relation: Oid) -> Result<()> {
        self.forget(pg_class(), relation)
    }

    pub(super) fn forget(&mut self, class: Oid, object: Oid) -> Result<()> {
        let key = [Datum::Oid(class), Datum::Oid(object)];
        let (txn, store) = (self.txn(), self.store());
        for row in store.find(txn, "pg_depend", "pg_depend_depender_index", &key)? {
            store.delete(txn, "pg_depend", &row)?;
        }
        Ok(())
    }

    /// The identity column that a sequence is of, by its table and its number from 1.
    pub(super) fn identity_of(&self, sequence: Oid) -> Result<Option<(Arc<TableDef>, i32)>> {
        let key = [Datum::Oid(pg_class()), Datum::Oid(sequence)];
        let rows = self.store().find(self.txn(), "pg_depend", "pg_depend_depender_index", &key)?;
        let found = rows.iter().find(|found| found.row.letter("deptype") == b'i');
        let Some(row) = found.map(|found| &found.row) else { return Ok(None) };
        Ok(Some((self.table(row.oid("refobjid"))?, row.int4("refobjsubid"))))
    }

    /// Sequences that go with a table, or with one of its columns.
    pub(super) fn owned_sequences(&self, table: Oid, column: Option<i16>) -> Result<Vec<Oid>> {
        let mut key = vec![Datum::Oid(pg_class()), Datum::Oid(table)];
        key.extend(column.map(|c| Datum::Int4(i32::from(c))));
        let rows = self.store().find(self.txn(), "pg_depend", "pg_depend_reference_index", &key)?;
        let owned = rows.iter().filter(|found| {
            let row = &found.row;
            row.oid("classid") == pg_class() && matches!(row.letter("deptype"), b'a' | b'i')
        });
        Ok(owned.map(|f| f.row.oid("objid")).collect())
    }
}
