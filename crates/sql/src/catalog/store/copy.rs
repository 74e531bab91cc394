//! A database made as a copy of another, and its storage's end.

use std::sync::Arc;

use base::ids::{Persistence, RelId};
use base::rank::Rank;
use storage::txn::Txn;

use crate::error::Result;
use crate::types::{Datum, Oid};

use super::load::persistence;
use super::{Cluster, Found, Store, layout};

impl Cluster {
    /// Makes the relations of a new database, equal to those of `template`; the new database's OID. It is
    /// there when the transaction commits and somebody has written its row in `pg_database`. Nobody may be
    /// connected to the template, nor vacuum it: the caller has a lock on it.
    pub fn copy_database(self: &Arc<Self>, txn: &Txn, template: Oid) -> Result<Oid> {
        let root = self.engine().create_run(txn, &layout::ranks(false))?;
        let database = layout::database_at(root);
        let copied = self.copy_relations(txn, template, database);
        // Whoever connects to it makes it known anew; if this transaction does not commit, nobody may.
        self.forget_database(database);
        copied.map(|()| database)
    }

    /// Fills a new database, whose catalogs' relations are there and empty.
    pub(super) fn copy_relations(
        self: &Arc<Self>,
        txn: &Txn,
        template: Oid,
        database: Oid,
    ) -> Result<()> {
        let engine = self.engine();
        for ((from, rank), (to, _)) in
            layout::storage_of(template).zip(layout::storage_of(database))
        {
            let (from, to) = (engine.pool().relation(from, rank), engine.pool().relation(to, rank));
            engine.copy_relation(&from, &to)?;
        }
        let store = &self.database(database).store;
        for class in store.stored_relations(txn)? {
            let persistence = persistence(class.row.letter("relpersistence"));
            let rank = rank_of(&class);
            let to = engine.create_relation(txn, persistence, rank)?;
            // A temporary relation belonged to a session that ended without dropping it; its name goes with the next
            // start, or when the next session in its place makes one.
            if persistence != Persistence::Temporary {
                let from = engine.pool().relation(RelId(class.row.oid("relfilenode").0), rank);
                engine.copy_relation(&from, &to)?;
            }
            let changes = [("relfilenode", Datum::Oid(Oid(to.id().0)))];
            store.update_columns(txn, "pg_class", &class, &changes)?;
        }
        txn.next_command()?;
        Ok(())
    }

    /// All relations of a database, with the ranks of their pages. The caller has a lock on it.
    pub fn storage(self: &Arc<Self>, txn: &Txn, database: Oid) -> Result<Vec<(RelId, Rank)>> {
        let mut all: Vec<_> = layout::storage_of(database).collect();
        let classes = self.database(database).store.stored_relations(txn)?;
        all.extend(classes.iter().map(|c| (RelId(c.row.oid("relfilenode").0), rank_of(c))));
        Ok(all)
    }

    /// What is stored of the catalogs that databases share.
    pub fn shared_storage(&self) -> impl Iterator<Item = (RelId, Rank)> + use<> {
        layout::shared_storage()
    }
}

impl Store {
    /// The rows of `pg_class` that name their storage: all but those of catalogs, views and the like.
    fn stored_relations(&self, txn: &Txn) -> Result<Vec<Found>> {
        self.scan(txn, "pg_class", |class| class.oid("relfilenode").is_valid())
    }
}

fn rank_of(class: &Found) -> Rank {
    match class.row.letter("relkind") {
        b'i' => Rank::IndexPage,
        b'S' => Rank::SequencePage,
        _ => Rank::HeapPage,
    }
}
