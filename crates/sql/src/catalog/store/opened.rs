//! Open heaps and trees by their storage: one handle for all definitions of a relation that come and go, so
//! that what a handle remembers (where rows go next, how much has changed since the last vacuum) lasts.

use std::sync::{Arc, Weak};

use base::hash::HashMap;
use base::ids::{Persistence, RelId};
use base::latch::Latch;
use base::rank::Rank;
use storage::Engine;
use storage::btree::BTree;
use storage::hash::{FILL_PERCENT, HashIndex};
use storage::heap::HeapRel;
use storage::index::Index;

use crate::catalog::{AccessMethod, IndexDef, TableDef};
use crate::types::Oid;

/// How full inserts make pages, in percent; PostgreSQL's default.
const FILLFACTOR: u8 = 100;

/// Handles that somebody has.
pub(super) struct Opened {
    heaps: Latch<Handles<HeapRel>>,
    trees: Latch<Handles<BTree>>,
    hashes: Latch<Handles<HashIndex>>,
}

impl Default for Opened {
    fn default() -> Opened {
        Opened {
            heaps: Latch::new(Rank::Leaf, Handles::default()),
            trees: Latch::new(Rank::Leaf, Handles::default()),
            hashes: Latch::new(Rank::Leaf, Handles::default()),
        }
    }
}

/// A relation and its database; that is invalid for a shared relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub database: Oid,
    pub relation: Oid,
}

struct Handles<T> {
    /// With whose it is.
    by_storage: HashMap<RelId, (Weak<T>, Owner)>,
    /// When to look for handles that nobody has any more.
    sweep_at: usize,
}

impl<T> Default for Handles<T> {
    fn default() -> Handles<T> {
        Handles { by_storage: HashMap::default(), sweep_at: 64 }
    }
}

impl<T> Handles<T> {
    /// The handle that is there, or else `made`; and whether it is that.
    fn keep(&mut self, storage: RelId, owner: Owner, made: &Arc<T>) -> (Arc<T>, bool) {
        if let Some(known) = self.get(storage) {
            return (known, false);
        }
        if self.by_storage.len() >= self.sweep_at {
            self.by_storage.retain(|_, (handle, _)| handle.strong_count() > 0);
            self.sweep_at = (2 * self.by_storage.len()).max(64);
        }
        self.by_storage.insert(storage, (Arc::downgrade(made), owner));
        (made.clone(), true)
    }

    fn get(&self, storage: RelId) -> Option<Arc<T>> {
        self.by_storage.get(&storage).and_then(|(handle, _)| handle.upgrade())
    }
}

impl Opened {
    /// A table's rows. The heap tells the engine's vacuum when it is due.
    pub fn heap(&self, engine: &Engine, database: Oid, table: &TableDef) -> Arc<HeapRel> {
        if let Some(known) = self.heaps.lock().get(table.storage) {
            return known;
        }
        let relation = engine.pool().relation(table.storage, Rank::HeapPage);
        let made = Arc::new(HeapRel::new(relation, engine.txns(), FILLFACTOR));
        let owner = Owner { database, relation: table.oid };
        let (heap, is_new) = self.heaps.lock().keep(table.storage, owner, &made);
        // A temporary table goes with its session, and is locked by nobody else.
        if is_new && table.persistence != Persistence::Temporary {
            let queue = Arc::clone(engine.vacuum_queue());
            heap.tell_when_due(move |storage| queue.push(storage));
        }
        heap
    }

    /// An index's entries.
    pub fn index(&self, engine: &Engine, index: &IndexDef) -> Index {
        let (pool, txns) = (engine.pool(), engine.txns());
        let relation = || pool.relation(index.storage, Rank::IndexPage);
        let owner = Owner { database: Oid::INVALID, relation: index.oid };
        match index.method {
            AccessMethod::BTree => Index::BTree(open(&self.trees, index.storage, owner, || {
                BTree::new(relation(), txns)
            })),
            AccessMethod::Hash => Index::Hash(open(&self.hashes, index.storage, owner, || {
                HashIndex::new(relation(), txns, FILL_PERCENT)
            })),
        }
    }

    /// The table whose rows are in this storage, if its heap was opened; `None` also if nobody has had the
    /// handle for a while: then what it counted is forgotten, too.
    pub fn owner(&self, storage: RelId) -> Option<Owner> {
        self.heaps.lock().by_storage.get(&storage).map(|(_, owner)| *owner)
    }
}

/// The handle that somebody has, or a new one.
fn open<T>(
    handles: &Latch<Handles<T>>,
    storage: RelId,
    owner: Owner,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    if let Some(known) = handles.lock().get(storage) {
        return known;
    }
    let made = Arc::new(make());
    handles.lock().keep(storage, owner, &made).0
}
