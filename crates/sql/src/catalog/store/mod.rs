//! The stored catalogs: PostgreSQL's system tables, kept in heaps and B-trees like any other table.

pub mod access;
mod bootstrap;
pub mod building;
pub mod builtin;
pub mod channels;
mod cleaning;
mod cluster;
mod copy;
mod instance;
mod layout;
pub mod load;
mod load_keys;
mod load_statistics;
pub mod lookup;
mod opened;
pub mod row;
pub mod schema;
mod upkeep_log;

use std::sync::Arc;

use base::hash::HashMap;
use base::ids::{Persistence, RelId};
use base::rank::Rank;
use storage::Engine;
use storage::heap::{Activity, HeapRel};
use storage::index::Index;
use storage::sequence::SequenceRel;
use storage::txn::Txn;

use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
use crate::types::Oid;

pub use access::Found;
pub(crate) use cleaning::locked_alone;
pub use cluster::{Cluster, Connected, Presence, database_tag};
pub use instance::Instance;
pub use load::{BOOTSTRAP_SUPERUSER, PG_CATALOG, PUBLIC};
pub use lookup::{SearchPath, SessionCatalog, Stamp};

/// The engine, with the definitions of one database's system tables.
pub struct Store {
    pub engine: Arc<Engine>,
    /// The database; invalid where only the shared catalogs are known.
    database: Oid,
    /// System tables by name; their shapes come from the list, not from their own rows.
    system: HashMap<&'static str, Arc<TableDef>>,
    /// All databases' handles.
    opened: Arc<opened::Opened>,
}

impl Store {
    /// A system table's definition.
    pub fn system_table(&self, name: &str) -> Arc<TableDef> {
        self.system.get(name).expect("the name is one of the list").clone()
    }

    /// All of them.
    pub fn system_tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.system.values()
    }

    /// Whose a table is; invalid for one that all databases share.
    fn owner_of(&self, table: &TableDef) -> Oid {
        let shared = schema::catalog_by_oid(table.oid).is_some_and(|catalog| catalog.shared);
        if shared { Oid::INVALID } else { self.database }
    }

    /// The rows of a table.
    pub fn heap<'t>(&self, table: &'t TableDef) -> Result<&'t HeapRel> {
        let open = || {
            if let Some(toast) = &table.toast {
                self.heap(toast)?;
            }
            Ok(self.opened.heap(&self.engine, self.owner_of(table), table))
        };
        Ok(table.heap.get_or_open(open)?)
    }

    /// The entries of an index.
    pub fn tree<'t>(&self, index: &'t IndexDef) -> Result<&'t Index> {
        index.tree.get_or_open(|| Ok(self.opened.index(&self.engine, self.database, index)))
    }

    /// Whether somebody has opened the rows of a table.
    pub fn is_opened(&self, storage: RelId) -> bool {
        self.opened.owner(storage).is_some()
    }

    /// What was done to the rows of a database's tables.
    pub fn activity(&self, database: Oid) -> Activity {
        self.opened.activity(database)
    }

    /// Those who make indexes, of all databases.
    pub fn builds(&self) -> &Arc<building::Builds> {
        &self.opened.builds
    }

    /// A sequence's state.
    pub fn sequence(&self, storage: RelId) -> SequenceRel {
        let relation = self.engine.pool().relation(storage, Rank::SequencePage);
        SequenceRel::new(relation, self.engine.txns())
    }

    /// Makes storage that goes away again if the transaction does not commit. `rank` is that of the
    /// pages to be kept in it.
    pub fn create_storage(&self, txn: &Txn, persistence: Persistence, rank: Rank) -> Result<RelId> {
        Ok(self.engine.create_relation(txn, persistence, rank)?.id())
    }

    /// Lets storage go when the transaction commits.
    pub fn drop_storage(&self, txn: &Txn, storage: RelId) -> Result<()> {
        Ok(txn.drop_at_commit(storage)?)
    }
}
