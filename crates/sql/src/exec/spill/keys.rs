//! Sorting an index's entries: keys as bytes, with the address of their row.

use std::sync::Arc;

use base::ids::Tid;

use crate::error::Result;
use crate::exec::sort::KeyOrder;
use crate::types::{Datum, TypeId};

use super::file::SpillFile;
use super::sorter::{Merge, merge_down};
use super::space::TempSpace;
use super::spool::Spool;

/// An entry in memory: where its key is, and its row's address.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    tid: Tid,
}

/// Takes entries in any order and gives them back by key, then by address.
pub struct KeySorter {
    space: Arc<TempSpace>,
    limit: usize,
    /// Keys, one behind the other.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    runs: Vec<Spool>,
    file: Option<Arc<SpillFile>>,
}

impl KeySorter {
    pub fn new(space: &Arc<TempSpace>, limit: usize) -> KeySorter {
        let (bytes, entries, runs) = (Vec::new(), Vec::new(), Vec::new());
        KeySorter { space: space.clone(), limit, bytes, entries, runs, file: None }
    }

    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.entries.push(Entry { start, end: self.bytes.len(), tid });
        if self.used() > self.limit { self.spill() } else { Ok(()) }
    }

    fn used(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| {
            base::park::checkpoint();
            let keys = bytes[a.start..a.end].cmp(&bytes[b.start..b.end]);
            keys.then(a.tid.to_u64().cmp(&b.tid.to_u64()))
        });
    }

    /// Memory is full: what is there becomes a run.
    fn spill(&mut self) -> Result<()> {
        self.space.note_peak(self.used());
        self.sort();
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::create(&self.space, self.limit)?),
        };
        let mut run = Spool::new(file);
        for (i, entry) in self.entries.iter().enumerate() {
            let key = Datum::bytea(&self.bytes[entry.start..entry.end]);
            run.push(&[&[key, Datum::Int8(entry.tid.to_u64() as i64)]])?;
            if i.is_multiple_of(1024) {
                crate::exec::breathe()?;
            }
        }
        run.seal()?;
        self.runs.push(run);
        self.bytes.clear();
        self.entries.clear();
        Ok(())
    }

    /// All entries were taken.
    pub fn finish(mut self) -> Result<SortedKeys> {
        if self.runs.is_empty() {
            self.sort();
            self.space.note_peak(self.used());
            let Self { bytes, entries, .. } = self;
            return Ok(SortedKeys(Source::Memory { bytes, entries, at: 0 }));
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        (self.bytes, self.entries) = (Vec::new(), Vec::new());
        let file = self.file.as_ref().expect("runs lie in a file");
        let ascending = |ty| KeyOrder { ty, desc: false, nulls_first: false };
        let order = vec![ascending(TypeId::BYTEA), ascending(TypeId::INT8)];
        let runs = merge_down(self.runs, file, &order, self.limit)?;
        Ok(SortedKeys(Source::Merge(Merge::start(runs, order)?)))
    }
}

/// Entries in their order.
pub struct SortedKeys(Source);

enum Source {
    Memory {
        bytes: Vec<u8>,
        entries: Vec<Entry>,
        /// How many were given.
        at: usize,
    },
    Merge(Merge),
}

impl SortedKeys {
    /// The next entry.
    pub fn next_entry(&mut self) -> Result<Option<(&[u8], Tid)>> {
        match &mut self.0 {
            Source::Memory { bytes, entries, at } => {
                let entry = entries.get(*at).copied();
                *at += 1;
                Ok(entry.map(|entry| (&bytes[entry.start..entry.end], entry.tid)))
            }
            Source::Merge(merge) => {
                if !merge.next()? {
                    return Ok(None);
                }
                let row = merge.whole_row();
                Ok(Some((row[0].as_bytea(), Tid::from_u64(row[1].as_int8() as u64))))
            }
        }
    }
}
