//! What a power cut leaves: the journal replayed up to a point, with the unsynced rest torn at random.

use super::content::Content;
use super::{Inner, Op, SimDisk, parent};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What a device writes as a whole, if nothing else is said.
pub const SECTOR_BYTES: usize = 512;

/// Durable names and contents.
#[derive(Clone, Default)]
pub(super) struct Image {
    pub(super) names: BTreeMap<String, u64>,
    pub(super) contents: BTreeMap<u64, Content>,
}

/// How the unsynced writes of one crash fare.
#[derive(Clone, Copy)]
enum Fate {
    AllLost,
    AllKept,
    EachDrawn,
    SectorsDrawn,
}

/// Steps through a journal and builds the disk that a crash at the current point would leave.
pub struct Crashes {
    durable: Image,
    journal: Vec<Op>,
    dirs: BTreeSet<String>,
    at: usize,
    /// What the device writes as a whole.
    sector: usize,
    /// Indexes of writes and length changes not yet covered by a sync, per file, in order.
    unsynced: BTreeMap<u64, Vec<usize>>,
    /// Indexes of creations, renames and removals whose directory was not synced since, in order.
    unsynced_names: Vec<usize>,
}

impl Crashes {
    pub(super) fn new(base: Image, journal: Vec<Op>, dirs: BTreeSet<String>) -> Crashes {
        Crashes {
            durable: base,
            journal,
            dirs,
            at: 0,
            sector: SECTOR_BYTES,
            unsynced: BTreeMap::new(),
            unsynced_names: Vec::new(),
        }
    }

    /// On a device that writes so many bytes as a whole, at multiples of as many, instead of [`SECTOR_BYTES`].
    pub fn with_sectors_of(mut self, bytes: usize) -> Crashes {
        self.sector = bytes;
        self
    }

    /// The number of operations that have happened at the current point.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The length of the journal.
    pub fn len(&self) -> usize {
        self.journal.len()
    }

    /// Whether the journal is empty.
    pub fn is_empty(&self) -> bool {
        self.journal.is_empty()
    }

    /// Moves on to the point at which `at` operations have happened.
    pub fn advance_to(&mut self, at: usize) {
        assert!(self.at <= at && at <= self.journal.len(), "crash points are visited in order");
        while self.at < at {
            self.step();
        }
    }

    fn step(&mut self) {
        let at = self.at;
        self.at += 1;
        match self.journal[at].clone() {
            Op::Create { id, .. } => {
                // There already where the disk is of a killed process: a file synced under a name that is not.
                self.durable.contents.entry(id).or_default();
                self.unsynced_names.push(at);
            }
            Op::Rename { .. } | Op::Remove { .. } => self.unsynced_names.push(at),
            Op::Write { id, .. } | Op::SetLen { id, .. } => {
                self.unsynced.entry(id).or_default().push(at);
            }
            Op::Sync { id, began } => self.sync(id, began),
            Op::SyncRange { id, range, began } => self.sync_range(id, &range, began),
            Op::SyncDir { path } => self.sync_dir(&path),
        }
    }

    fn sync(&mut self, id: u64, began: usize) {
        let Some(waiting) = self.unsynced.get_mut(&id) else { return };
        let covered = waiting.partition_point(|&i| i < began);
        for i in waiting.drain(..covered) {
            apply(&mut self.durable, &self.journal[i]);
        }
    }

    fn sync_range(&mut self, id: u64, range: &Range<u64>, began: usize) {
        let Some(waiting) = self.unsynced.get_mut(&id) else { return };
        waiting.retain(|&i| {
            let covered = match &self.journal[i] {
                Op::Write { offset, bytes, .. } => {
                    i < began && range.start <= *offset && *offset + bytes.len() as u64 <= range.end
                }
                _ => false,
            };
            if covered {
                apply(&mut self.durable, &self.journal[i]);
            }
            !covered
        });
    }

    fn sync_dir(&mut self, dir: &str) {
        let waiting = std::mem::take(&mut self.unsynced_names);
        for i in waiting {
            let here = match &self.journal[i] {
                Op::Create { path, .. } | Op::Remove { path } => parent(path) == dir,
                Op::Rename { from, to } => parent(from) == dir || parent(to) == dir,
                _ => false,
            };
            if here {
                apply(&mut self.durable, &self.journal[i]);
            } else {
                self.unsynced_names.push(i);
            }
        }
    }

    /// The disk after the process alone was killed here: everything written is there, and what was not synced is
    /// still waiting for it. The waiting operations begin the new disk's journal, and none of them is a sync.
    pub fn killed(&self) -> SimDisk {
        let mut waiting: Vec<usize> = self.unsynced.values().flatten().copied().collect();
        waiting.extend(&self.unsynced_names);
        waiting.sort_unstable();
        let mut all = self.durable.clone();
        waiting.iter().for_each(|&i| apply(&mut all, &self.journal[i]));
        let inner = Inner {
            next_id: all.contents.keys().last().copied().unwrap_or(0),
            names: all.names,
            contents: all.contents,
            dirs: self.dirs.clone(),
            journal: waiting.iter().map(|&i| self.journal[i].clone()).collect(),
            base: self.durable.clone(),
            ..Inner::default()
        };
        SimDisk { inner: Arc::new(Mutex::new(inner)) }
    }

    /// The disk after a power cut here; `rng` decides what becomes of everything not synced.
    pub fn image(&self, rng: &mut fastrand::Rng) -> SimDisk {
        let mut image = self.durable.clone();
        for waiting in self.unsynced.values() {
            let fate = match rng.u8(..6) {
                0 => Fate::AllLost,
                1 => Fate::AllKept,
                2 | 3 => Fate::EachDrawn,
                _ => Fate::SectorsDrawn,
            };
            for &i in waiting {
                tear(&mut image, &self.journal[i], fate, self.sector, rng);
            }
        }
        // A journaling file system keeps the order of name changes: some prefix of them survives.
        let kept = rng.usize(..=self.unsynced_names.len());
        for &i in &self.unsynced_names[..kept] {
            apply(&mut image, &self.journal[i]);
        }
        let named: BTreeSet<u64> = image.names.values().copied().collect();
        image.contents.retain(|id, _| named.contains(id));
        let inner = Inner {
            names: image.names.clone(),
            contents: image.contents.clone(),
            dirs: self.dirs.clone(),
            next_id: image.contents.keys().last().copied().unwrap_or(0),
            base: image,
            ..Inner::default()
        };
        SimDisk { inner: Arc::new(Mutex::new(inner)) }
    }
}

/// Makes one operation durable.
fn apply(image: &mut Image, op: &Op) {
    match op {
        Op::Create { path, id } => {
            image.names.insert(path.clone(), *id);
        }
        Op::Rename { from, to } => {
            if let Some(id) = image.names.remove(from) {
                image.names.insert(to.clone(), id);
            }
        }
        Op::Remove { path } => {
            image.names.remove(path);
        }
        Op::Write { id, offset, bytes } => {
            let content = image.contents.entry(*id).or_default();
            bytes.apply(content, *offset, 0, bytes.len());
        }
        Op::SetLen { id, bytes } => {
            image.contents.entry(*id).or_default().resize(*bytes as usize);
        }
        Op::Sync { .. } | Op::SyncRange { .. } | Op::SyncDir { .. } => {}
    }
}

/// Lets an unsynced operation reach the disk whole, in part, or not at all.
fn tear(image: &mut Image, op: &Op, fate: Fate, sector: usize, rng: &mut fastrand::Rng) {
    let whole = match fate {
        Fate::AllLost => return,
        Fate::AllKept => true,
        Fate::EachDrawn => {
            if rng.bool() {
                return;
            }
            true
        }
        Fate::SectorsDrawn => false,
    };
    let Op::Write { id, offset, bytes } = op else {
        if whole || rng.bool() {
            apply(image, op);
        }
        return;
    };
    if whole {
        apply(image, op);
        return;
    }
    let content = image.contents.entry(*id).or_default();
    let mut done = 0;
    while done < bytes.len() {
        let position = *offset as usize + done;
        let n = (sector - position % sector).min(bytes.len() - done);
        if rng.bool() {
            bytes.apply(content, *offset, done, n);
        }
        done += n;
    }
}
