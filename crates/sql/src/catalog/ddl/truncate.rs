//! TRUNCATE: new, empty storage in place of the old.

use base::rank::Rank;
use storage::lock::LockMode;
use syntax::ast::Truncate;

use crate::catalog::TableKind;
use crate::error::{Result, sql_error};
use crate::types::{Datum, Oid};

use super::Ddl;

impl Ddl<'_> {
    pub(super) fn truncate(&mut self, truncate: &Truncate) -> Result<()> {
        let mut tables = Vec::new();
        for name in &truncate.relations {
            let table = self.open(name, LockMode::AccessExclusive)?;
            self.must_be_user_table(&table)?;
            if table.kind != TableKind::Table {
                return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not a table", table.name));
            }
            tables.push(table);
        }
        for table in tables {
            self.new_storage(table.oid, table.storage, table.persistence, Rank::HeapPage)?;
            for index in &table.indexes {
                self.new_storage(index.oid, index.storage, table.persistence, Rank::IndexPage)?;
            }
            if truncate.restart_identity {
                for sequence in self.owned_sequences(table.oid, None)? {
                    self.restart_sequence(sequence)?;
                }
            }
            self.changed(table.oid)?;
        }
        Ok(())
    }

    fn new_storage(
        &mut self,
        oid: Oid,
        old: base::RelId,
        persistence: base::Persistence,
        rank: Rank,
    ) -> Result<()> {
        let storage = self.store().create_storage(self.txn(), persistence, rank)?;
        let changes = [
            ("relfilenode", Datum::Oid(Oid(storage.0))),
            ("relpages", Datum::Int4(0)),
            ("reltuples", Datum::Float4(-1.0)),
        ];
        self.update_class(oid, &changes)?;
        self.store().drop_storage(self.txn(), old)
    }
}
