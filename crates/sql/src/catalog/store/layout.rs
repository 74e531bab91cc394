//! Where catalogs are stored.
//!
//! A set of catalogs is a run of relations whose numbers follow each other, in the order of the list, each
//! table followed by its indexes. The first run of a directory is the shared catalogs; each database has a
//! run of its own, whose first number is the database's *root*. The three databases that come with a
//! directory follow the shared catalogs; any other's OID is its root plus [`FIRST_USER_OID`]. So reading
//! the catalogs needs no map, and the OID of a dropped database never comes back.

use std::sync::Arc;

use base::hash::HashMap;
use base::ids::{Persistence, RelId};
use base::rank::Rank;

use crate::catalog::{FIRST_USER_OID, TableDef};
use crate::types::Oid;

use super::builtin::{POSTGRES, TEMPLATE0, TEMPLATE1};
use super::load::system_definition;
use super::schema::{CatalogSchema, catalogs};

/// Number of the first relation of a directory.
pub(super) const FIRST: u32 = 1;

/// The databases that a directory is made with, in the order of their catalogs.
pub(super) const INITIAL: [Oid; 3] = [TEMPLATE1, TEMPLATE0, POSTGRES];

fn set(shared: bool) -> impl Iterator<Item = &'static CatalogSchema> {
    catalogs().iter().filter(move |schema| schema.shared == shared)
}

/// The relations of a set in the order of their storage.
fn relations(shared: bool) -> impl Iterator<Item = (Oid, Rank)> {
    set(shared).flat_map(|schema| {
        let indexes = schema.indexes.iter().map(|index| (index.oid, Rank::IndexPage));
        std::iter::once((schema.oid, Rank::HeapPage)).chain(indexes)
    })
}

/// The ranks of a set's relations in the order of their storage.
pub(super) fn ranks(shared: bool) -> Vec<Rank> {
    relations(shared).map(|(_, rank)| rank).collect()
}

/// Number of the first relation of a database's catalogs.
pub(super) fn root(database: Oid) -> u32 {
    match INITIAL.iter().position(|known| *known == database) {
        Some(at) => {
            let own = relations(false).count() * at;
            FIRST + (relations(true).count() + own) as u32
        }
        None => database.0 - FIRST_USER_OID.0,
    }
}

/// The OID of a database whose catalogs begin with this relation.
pub(super) fn database_at(root: u32) -> Oid {
    Oid(FIRST_USER_OID.0 + root)
}

/// The storage of a database's catalogs, with the ranks of their pages.
pub(super) fn storage_of(database: Oid) -> impl Iterator<Item = (RelId, Rank)> {
    let numbers = root(database)..;
    numbers.zip(relations(false)).map(|(number, (_, rank))| (at(number), rank))
}

/// Likewise of the catalogs that all databases share.
pub(super) fn shared_storage() -> impl Iterator<Item = (RelId, Rank)> {
    (FIRST..).zip(relations(true)).map(|(number, (_, rank))| (at(number), rank))
}

fn at(number: u32) -> RelId {
    RelId::new(number, Persistence::Permanent)
}

/// The system tables of a set that begins with relation `first`.
pub(super) fn definitions(
    shared: bool,
    first: u32,
) -> impl Iterator<Item = (&'static str, Arc<TableDef>)> {
    let storage: HashMap<Oid, RelId> =
        relations(shared).zip(first..).map(|((oid, _), number)| (oid, at(number))).collect();
    set(shared)
        .map(move |schema| (schema.name, Arc::new(system_definition(schema, &|oid| storage[&oid]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_runs_follow_each_other() {
        let (shared, own) = (ranks(true).len() as u32, ranks(false).len() as u32);
        assert_eq!(root(TEMPLATE1), FIRST + shared);
        assert_eq!(root(TEMPLATE0), FIRST + shared + own);
        assert_eq!(root(POSTGRES), FIRST + shared + 2 * own);
        assert_eq!(root(database_at(4711)), 4711);
        let last = storage_of(TEMPLATE1).last().unwrap().0;
        assert_eq!(last.counter() + 1, root(TEMPLATE0));
    }
}
