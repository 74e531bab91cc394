//! Open files and the sync queue, under one latch that is never held across a system call.

use base::disk::File;
use base::hash::HashMap;
use base::{Fork, Persistence, RelId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An open file; users hold it while they call, so closing it early disturbs nobody.
pub(super) struct OpenFile {
    pub(super) file: Arc<dyn File>,
}

struct Entry {
    file: Arc<OpenFile>,
    /// Second chance: used since the hand last passed.
    used: bool,
}

pub(super) struct Table {
    open: HashMap<(RelId, Fork), Entry>,
    /// Keys in the order of opening, for the hand; may hold keys that were closed since.
    order: std::collections::VecDeque<(RelId, Fork)>,
    open_max: usize,
    /// Files with writes not yet synced. They hold their file open: an error that the system met while it
    /// wrote back is told only to descriptors opened before.
    unsynced: BTreeMap<(RelId, Fork), Arc<OpenFile>>,
}

impl Table {
    pub(super) fn new(open_max: usize) -> Table {
        Table {
            open: HashMap::default(),
            order: Default::default(),
            open_max: open_max.max(4),
            unsynced: BTreeMap::new(),
        }
    }

    pub(super) fn get(&mut self, rel: RelId, fork: Fork) -> Option<Arc<OpenFile>> {
        let entry = self.open.get_mut(&(rel, fork))?;
        entry.used = true;
        Some(Arc::clone(&entry.file))
    }

    /// Enters a file just opened; if another context was faster, its handle wins.
    pub(super) fn insert(&mut self, rel: RelId, fork: Fork, file: Arc<dyn File>) -> Arc<OpenFile> {
        if let Some(there) = self.get(rel, fork) {
            return there;
        }
        self.make_room();
        let file = match self.unsynced.get(&(rel, fork)) {
            Some(file) => Arc::clone(file),
            None => Arc::new(OpenFile { file }),
        };
        self.open.insert((rel, fork), Entry { file: Arc::clone(&file), used: false });
        self.order.push_back((rel, fork));
        file
    }

    /// Closes a file that was not used lately. Unsynced ones stay open through the queue.
    fn make_room(&mut self) {
        while self.open.len() >= self.open_max {
            let key = self.order.pop_front().expect("every open file is in the order");
            match self.open.get_mut(&key) {
                Some(entry) if entry.used => {
                    entry.used = false;
                    self.order.push_back(key);
                }
                Some(_) => {
                    self.open.remove(&key);
                }
                None => {}
            }
        }
    }

    /// Takes out what nobody is using now and is not kept for a sync: dropped by the caller, without the latch, it is closed.
    pub(super) fn take_idle(&mut self) -> Vec<Arc<OpenFile>> {
        let idle = |entry: &mut Entry| Arc::strong_count(&entry.file) == 1;
        let taken: Vec<_> = self.open.extract_if(|_, entry| idle(entry)).collect();
        self.order.retain(|key| self.open.contains_key(key));
        taken.into_iter().map(|(_, entry)| entry.file).collect()
    }

    /// Forgets a file about to be removed: nothing of it needs to be durable.
    pub(super) fn forget(&mut self, rel: RelId, fork: Fork) {
        self.open.remove(&(rel, fork));
        self.order.retain(|key| *key != (rel, fork));
        self.unsynced.remove(&(rel, fork));
    }

    /// A temporary relation is gone after the next start: it owes no sync, and keeps no file open for one.
    pub(super) fn note_unsynced(&mut self, rel: RelId, fork: Fork, file: &Arc<OpenFile>) {
        if rel.persistence() == Persistence::Temporary {
            return;
        }
        self.unsynced.entry((rel, fork)).or_insert_with(|| Arc::clone(file));
    }

    /// The file, if it has writes that are not synced.
    pub(super) fn unsynced_file(&self, rel: RelId, fork: Fork) -> Option<Arc<OpenFile>> {
        self.unsynced.get(&(rel, fork)).map(Arc::clone)
    }

    pub(super) fn take_unsynced(&mut self, rel: RelId, fork: Fork) -> Option<Arc<OpenFile>> {
        self.unsynced.remove(&(rel, fork))
    }

    pub(super) fn unsynced(&self) -> impl Iterator<Item = (RelId, Fork)> + '_ {
        self.unsynced.keys().copied()
    }
}
