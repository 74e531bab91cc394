//! A new directory's catalogs.
//!
//! They are the first relations of the directory (`layout.rs`). `template1` is made from the built-in rows,
//! the other databases are copies of it. All is one transaction: a crash in between leaves a directory
//! without catalogs, which is refused with the advice to make it anew (nothing was stored in it).

use std::sync::Arc;

use base::ids::Fork;
use storage::Engine;
use storage::txn::{Isolation, Txn};

use crate::catalog::rights::{MEMBERSHIPS, PREDEFINED};
use crate::error::{Result, sql_error};
use crate::exec::spill::TempFiles;
use crate::types::Datum;

use super::builtin::TEMPLATE1;
use super::{Cluster, Store, builtin, layout};

impl Cluster {
    /// Makes the catalogs of a directory that has just been created. `superuser` owns them.
    pub fn create(engine: &Arc<Engine>, superuser: &str) -> Result<()> {
        let temp_files = TempFiles::open(&engine.env().disk)?;
        let shared = Store::shared(engine);
        let cluster = Arc::new(Cluster::new(shared, superuser.to_owned(), temp_files));
        let txn = Txn::attach(engine.txns(), 0, 0)?;
        txn.begin(Isolation::ReadCommitted);
        let made = cluster.bootstrap(&txn);
        if made.is_err() {
            txn.abort();
        }
        made?;
        let done = txn.commit()?;
        engine.wal().flush(done.must_be_durable);
        Ok(())
    }

    /// The catalogs of a directory.
    pub fn open(engine: &Arc<Engine>) -> Result<Arc<Cluster>> {
        let store = Store::shared(engine);
        let roles = store.system_table("pg_authid");
        if !matches!(store.heap(&roles)?.relation().blocks(Fork::Main), Ok(1..)) {
            return Err(sql_error!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "the data directory was not created completely"
            )
            .with_hint("Nothing was stored in it yet: remove it and start again."));
        }
        let txn = Txn::attach(engine.txns(), 0, 0)?;
        txn.begin(Isolation::ReadCommitted);
        let key = [Datum::Oid(super::BOOTSTRAP_SUPERUSER)];
        let owner = store.find_one(&txn, "pg_authid", "pg_authid_oid_index", &key);
        txn.abort();
        let owner = owner?.map(|found| found.row.text("rolname").to_owned());
        let superuser =
            owner.ok_or_else(|| sql_error!(DATA_CORRUPTED, "the directory has no superuser"))?;
        complete_roles(engine, &store)?;
        let temp_files = TempFiles::open(&engine.env().disk)?;
        Ok(Arc::new(Cluster::new(store, superuser, temp_files)))
    }

    fn bootstrap(self: &Arc<Self>, txn: &Txn) -> Result<()> {
        let engine = self.engine();
        let first = engine.create_run(txn, &layout::ranks(true))?;
        assert_eq!(first, layout::FIRST, "catalogs are the first relations of a directory");
        let root = engine.create_run(txn, &layout::ranks(false))?;
        assert_eq!(root, layout::root(TEMPLATE1), "template1 follows the shared catalogs");
        let template = self.database(TEMPLATE1);
        for (table, row) in builtin::rows(&self.superuser) {
            template.store.insert(txn, table, &row)?;
        }
        for (table, row) in builtin::self_description() {
            template.store.insert(txn, table, &row)?;
        }
        for database in layout::INITIAL.into_iter().filter(|oid| *oid != TEMPLATE1) {
            let root = engine.create_run(txn, &layout::ranks(false))?;
            assert_eq!(root, layout::root(database), "the first databases follow each other");
            self.copy_relations(txn, TEMPLATE1, database)?;
        }
        Ok(())
    }
}

/// Gives a directory of before there were privileges the roles that every other has.
fn complete_roles(engine: &Arc<Engine>, store: &Store) -> Result<()> {
    let txn = Txn::attach(engine.txns(), 0, 0)?;
    txn.begin(Isolation::ReadCommitted);
    let done = add_missing_roles(&txn, store);
    if !matches!(done, Ok(true)) {
        txn.abort();
        return done.map(drop);
    }
    let done = txn.commit()?;
    engine.wal().flush(done.must_be_durable);
    Ok(())
}

/// Whether any was missing.
fn add_missing_roles(txn: &Txn, store: &Store) -> Result<bool> {
    let mut added = false;
    for (oid, name) in PREDEFINED {
        let key = [Datum::Oid(*oid)];
        if store.find_one(txn, "pg_authid", "pg_authid_oid_index", &key)?.is_none() {
            store.insert(txn, "pg_authid", &builtin::role_row(*oid, name, false))?;
            for pair in MEMBERSHIPS.iter().filter(|(_, member)| member == oid) {
                store.insert(txn, "pg_auth_members", &builtin::membership_row(*pair))?;
            }
            added = true;
        }
    }
    Ok(added)
}
