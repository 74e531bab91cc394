//! Open heaps and trees by their storage: one handle for all definitions of a relation that come and go, so
//! that what a handle remembers (where rows go next, how much has changed since the last vacuum) lasts.

use std::sync::{Arc, Weak};

use base::Fork;
use base::hash::HashMap;
use base::ids::{Persistence, RelId};
use base::latch::Latch;
use base::rank::Rank;
use storage::Engine;
use storage::btree::{self, BTree};
use storage::hash::{self, HashIndex};
use storage::heap::{Activity, HeapRel, Seen};
use storage::index::Index;

use super::building::Builds;
use crate::catalog::{AccessMethod, IndexDef, TableDef, parameters};
use crate::types::Oid;

/// Handles that somebody has; heaps as long as they are there, since they know what was done to them.
pub(super) struct Opened {
    heaps: Latch<Heaps>,
    trees: Latch<Handles<BTree>>,
    hashes: Latch<Handles<HashIndex>>,
    pub builds: Arc<Builds>,
}

impl Default for Opened {
    fn default() -> Opened {
        Opened {
            heaps: Latch::new(Rank::Leaf, Heaps::default()),
            trees: Latch::new(Rank::Leaf, Handles::default()),
            hashes: Latch::new(Rank::Leaf, Handles::default()),
            builds: Arc::default(),
        }
    }
}

/// A relation and its database; that is invalid for a shared relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    pub database: Oid,
    pub relation: Oid,
}

struct Heaps {
    by_storage: HashMap<RelId, (Arc<HeapRel>, Owner)>,
    /// When to look for heaps that were dropped.
    sweep_at: usize,
    /// What was done to those that were, by database.
    gone: HashMap<Oid, Activity>,
}

impl Default for Heaps {
    fn default() -> Heaps {
        let (by_storage, gone) = (HashMap::default(), HashMap::default());
        Heaps { by_storage, sweep_at: SWEEP_AT, gone }
    }
}

impl Heaps {
    /// The heap that is there, or else `made`; and whether it is that.
    fn keep(&mut self, owner: Owner, made: Arc<HeapRel>) -> (Arc<HeapRel>, bool) {
        let storage = made.relation().id();
        if let Some((known, _)) = self.by_storage.get(&storage) {
            return (known.clone(), false);
        }
        if self.by_storage.len() >= self.sweep_at {
            let gone = &mut self.gone;
            self.by_storage.retain(|_, (heap, owner)| {
                let stays = !heap.relation().is_dropped();
                if !stays {
                    add(gone.entry(owner.database).or_default(), heap.own_activity());
                }
                stays
            });
            self.sweep_at = (2 * self.by_storage.len()).max(SWEEP_AT);
        }
        self.by_storage.insert(storage, (made.clone(), owner));
        (made, true)
    }
}

fn add(sum: &mut Activity, more: Activity) {
    sum.inserted += more.inserted;
    sum.deleted += more.deleted;
    sum.updated += more.updated;
    sum.hot_updated += more.hot_updated;
}

/// So many handles are never too many.
const SWEEP_AT: usize = 64;

struct Handles<T> {
    /// With whose it is.
    by_storage: HashMap<RelId, (Weak<T>, Owner)>,
    /// When to look for handles that nobody has any more.
    sweep_at: usize,
}

impl<T> Default for Handles<T> {
    fn default() -> Handles<T> {
        Handles { by_storage: HashMap::default(), sweep_at: SWEEP_AT }
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
            self.sweep_at = (2 * self.by_storage.len()).max(SWEEP_AT);
        }
        self.by_storage.insert(storage, (Arc::downgrade(made), owner));
        (made.clone(), true)
    }

    fn get(&self, storage: RelId) -> Option<Arc<T>> {
        self.by_storage.get(&storage).and_then(|(handle, _)| handle.upgrade())
    }
}

impl Opened {
    /// Has every heap look whether it is due for upkeep: what makes one due has changed.
    pub fn look_for_dirt(&self) {
        let heaps: Vec<_> = self.heaps.lock().by_storage.values().map(|(h, _)| h.clone()).collect();
        heaps.iter().filter(|heap| !heap.relation().is_dropped()).for_each(|h| h.look_for_dirt());
    }

    /// A table's rows. The heap tells the engine's vacuum when it is due.
    pub fn heap(&self, engine: &Engine, database: Oid, table: &TableDef) -> Arc<HeapRel> {
        let percent = parameters::fill_percent(&table.parameters).unwrap_or(100);
        let limits = parameters::upkeep(&table.parameters);
        let known = self.heaps.lock().by_storage.get(&table.storage).map(|(heap, _)| heap.clone());
        if let Some(known) = known {
            // They may have been others when this was opened.
            known.fill_to(percent);
            known.limit(limits);
            return known;
        }
        let relation = engine.pool().relation(table.storage, Rank::HeapPage);
        relation.count_for(database.0);
        let made = HeapRel::new(relation, engine.txns(), percent);
        match made.relation().blocks(Fork::Main) {
            Ok(0) => made.was_counted(0, 0),
            _ if table.stored_rows >= 0.0 => {
                made.was_counted(table.stored_rows as u64, table.stored_blocks);
            }
            _ => {}
        }
        made.limit(limits);
        let made = Arc::new(made);
        let owner = Owner { database, relation: table.oid };
        let (heap, is_new) = self.heaps.lock().keep(owner, made);
        // A temporary table goes with its session, and is locked by nobody else.
        if is_new && table.persistence != Persistence::Temporary {
            let queue = Arc::clone(engine.vacuum_queue());
            heap.tell_when_due(engine.upkeep_limits(), move |storage| queue.push(storage));
        }
        heap
    }

    /// An index's entries.
    pub fn index(&self, engine: &Engine, database: Oid, index: &IndexDef) -> Index {
        let (pool, txns) = (engine.pool(), engine.txns());
        let relation = || {
            let relation = pool.relation(index.storage, Rank::IndexPage);
            relation.count_for(database.0);
            relation
        };
        let owner = Owner { database: Oid::INVALID, relation: index.oid };
        let percent = parameters::fill_percent(&index.parameters);
        match index.method {
            AccessMethod::BTree => {
                let new = || BTree::new(relation(), txns);
                let tree = open(&self.trees, index.storage, owner, new);
                // They may have been others when this was opened.
                tree.fill_to(percent.unwrap_or(btree::FILL_PERCENT));
                tree.merge_equal_keys(parameters::merges_equal_keys(&index.parameters));
                Index::BTree(tree)
            }
            AccessMethod::Hash => Index::Hash(open(&self.hashes, index.storage, owner, || {
                HashIndex::new(relation(), txns, percent.unwrap_or(hash::FILL_PERCENT))
            })),
        }
    }

    /// Heaps that are being vacuumed now, with whose they are and how far that has come.
    pub fn vacuums(&self) -> Vec<(Owner, Seen)> {
        let heaps = self.heaps.lock();
        let seen = heaps
            .by_storage
            .values()
            .filter_map(|(heap, owner)| Some((*owner, heap.vacuum_seen()?)));
        seen.collect()
    }

    /// What was done to the rows of a database's tables, dropped ones included.
    pub fn activity(&self, database: Oid) -> Activity {
        let heaps = self.heaps.lock();
        let mut sum = heaps.gone.get(&database).copied().unwrap_or_default();
        let of = heaps.by_storage.values().filter(|(_, owner)| owner.database == database);
        of.for_each(|(heap, _)| add(&mut sum, heap.own_activity()));
        sum
    }

    /// The table whose rows are in this storage, if its heap was opened.
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
