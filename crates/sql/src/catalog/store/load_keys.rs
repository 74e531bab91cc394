//! Foreign keys from catalog rows.

use std::sync::Arc;

use storage::txn::Txn;

use crate::catalog::foreign_key::{Action, ForeignKey, ForeignKeys};
use crate::error::Result;
use crate::types::{Datum, Oid};

use super::Store;
use super::row::CatalogRow;

impl Store {
    /// The foreign keys of a table, and those that refer to it: `pg_trigger` has a row at both tables.
    pub(super) fn load_foreign_keys(&self, txn: &Txn, table: Oid) -> Result<ForeignKeys> {
        let key = [Datum::Oid(table)];
        let triggers = self.find(txn, "pg_trigger", "pg_trigger_tgrelid_tgname_index", &key)?;
        let mut oids: Vec<Oid> = triggers.iter().map(|t| t.row.oid("tgconstraint")).collect();
        oids.sort();
        oids.dedup();
        let mut keys = ForeignKeys::default();
        for oid in oids {
            let index = "pg_constraint_oid_index";
            let found = self.find_one(txn, "pg_constraint", index, &[Datum::Oid(oid)])?;
            let Some(found) = found.filter(|f| f.row.letter("contype") == b'f') else { continue };
            let key = Arc::new(foreign_key(&found.row));
            if key.table == table {
                keys.own.push(key.clone());
            }
            if key.referenced == table {
                keys.referring.push(key);
            }
        }
        Ok(keys)
    }
}

fn foreign_key(row: &CatalogRow) -> ForeignKey {
    let columns = |name: &str| row.int2s(name).into_iter().map(|n| n as u16 - 1).collect();
    ForeignKey {
        oid: row.oid("oid"),
        name: row.text("conname").into(),
        table: row.oid("conrelid"),
        columns: columns("conkey"),
        referenced: row.oid("confrelid"),
        referenced_columns: columns("confkey"),
        full: row.letter("confmatchtype") == b'f',
        on_delete: Action::from_letter(row.letter("confdeltype")),
        delete_columns: columns("confdelsetcols"),
        on_update: Action::from_letter(row.letter("confupdtype")),
        deferrable: row.bool("condeferrable"),
        initially_deferred: row.bool("condeferred"),
    }
}
