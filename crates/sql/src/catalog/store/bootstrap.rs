//! A new directory's catalogs.
//!
//! They are the first relations of the directory, made in the order of the list, each table followed by
//! its indexes; so where each is stored follows from the list, and reading needs no map. All is one
//! transaction: a crash in between leaves a directory without catalogs, which is refused with the advice
//! to make it anew (nothing was stored in it).

use std::sync::Arc;

use base::hash::HashMap;
use base::ids::{Fork, Persistence, RelId};
use base::rank::Rank;
use storage::Engine;
use storage::txn::{Isolation, Txn};

use crate::error::{Result, sql_error};
use crate::exec::spill::TempFiles;
use crate::types::Oid;

use super::load::system_definition;
use super::opened::Opened;
use super::schema::catalogs;
use super::{Instance, Store, builtin};

/// Counter of the first relation of a directory.
const FIRST: u32 = 1;

/// OIDs of the catalogs' relations in the order of their storage.
fn in_storage_order() -> impl Iterator<Item = (Oid, Rank)> {
    catalogs().iter().flat_map(|schema| {
        let indexes = schema.indexes.iter().map(|index| (index.oid, Rank::IndexPage));
        std::iter::once((schema.oid, Rank::HeapPage)).chain(indexes)
    })
}

impl Store {
    /// The system tables of a directory that has them.
    fn new(engine: Arc<Engine>) -> Store {
        let storage: HashMap<Oid, RelId> = in_storage_order()
            .zip(FIRST..)
            .map(|((oid, _), number)| (oid, RelId::new(number, Persistence::Permanent)))
            .collect();
        let system = catalogs()
            .iter()
            .map(|schema| (schema.name, Arc::new(system_definition(schema, &|oid| storage[&oid]))))
            .collect();
        Store { engine, system, opened: Opened::default() }
    }
}

impl Instance {
    /// Makes the catalogs of a directory that has just been created. `superuser` owns them.
    pub fn create(engine: &Arc<Engine>, superuser: &str) -> Result<()> {
        let store = Store::new(Arc::clone(engine));
        let txn = Txn::attach(engine.txns(), 0, builtin::POSTGRES.0)?;
        txn.begin(Isolation::ReadCommitted);
        let made = store.bootstrap(&txn, superuser);
        if made.is_err() {
            txn.abort();
        }
        made?;
        let done = txn.commit()?;
        engine.wal().flush(done.must_be_durable);
        Ok(())
    }

    /// The catalogs of a directory.
    pub fn open(engine: &Arc<Engine>) -> Result<Arc<Instance>> {
        let store = Store::new(Arc::clone(engine));
        let first = RelId::new(FIRST, Persistence::Permanent);
        let relation = engine.pool().relation(first, Rank::HeapPage);
        if !matches!(relation.blocks(Fork::Main), Ok(1..)) {
            return Err(sql_error!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the data directory was not created completely"
            )
            .with_hint("Nothing was stored in it yet: remove it and start again."));
        }
        let txn = Txn::attach(engine.txns(), 0, builtin::POSTGRES.0)?;
        txn.begin(Isolation::ReadCommitted);
        let key = [crate::types::Datum::Oid(super::BOOTSTRAP_SUPERUSER)];
        let owner = store.find_one(&txn, "pg_authid", "pg_authid_oid_index", &key);
        txn.abort();
        let owner = owner?.map(|found| found.row.text("rolname").to_owned());
        let superuser =
            owner.ok_or_else(|| sql_error!(DATA_CORRUPTED, "the directory has no superuser"))?;
        let temp_files = TempFiles::open(&engine.env().disk)?;
        Ok(Arc::new(Instance::new(store, superuser, temp_files)))
    }
}

impl Store {
    fn bootstrap(&self, txn: &Txn, superuser: &str) -> Result<()> {
        for ((_, rank), number) in in_storage_order().zip(FIRST..) {
            let made = self.engine.create_relation(txn, Persistence::Permanent, rank)?;
            assert_eq!(
                made.id(),
                RelId::new(number, Persistence::Permanent),
                "catalogs are the first relations of a directory"
            );
        }
        for (table, row) in builtin::rows(superuser) {
            self.insert(txn, table, &row)?;
        }
        let storage: HashMap<Oid, Oid> = in_storage_order()
            .zip(FIRST..)
            .map(|((oid, _), n)| (oid, Oid(RelId::new(n, Persistence::Permanent).0)))
            .collect();
        for (table, row) in builtin::self_description(&|oid| storage[&oid]) {
            self.insert(txn, table, &row)?;
        }
        Ok(())
    }
}
