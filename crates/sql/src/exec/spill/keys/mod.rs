//! Sorting an index's entries: keys as bytes, with the address of their row.
//!
//! Entries are gathered in memory ([`entry`]), sorted when it is full, and written to a temporary file as a
//! run ([`run`]). A batch that begins where the last run ended goes on with that run: entries that come
//! in their order (a serial key, say) are never merged, and not sorted either.

mod entry;
mod run;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::ids::Tid;

use crate::error::Result;

use super::file::SpillFile;
use super::space::TempSpace;
use entry::Batch;
use run::{Merge, Run, merge_into_one};

/// Smallest and largest chunk of the file.
const CHUNK_BYTES: (usize, usize) = (2 << 10, 256 << 10);
/// The memory is this many chunks, if they are not at one of their bounds.
const CHUNKS_IN_MEMORY: usize = 256;

/// Takes entries in any order and gives them back by key, then by address.
pub struct KeySorter {
    space: Arc<TempSpace>,
    limit: usize,
    batch: Batch,
    runs: Vec<Run>,
    file: Option<Arc<SpillFile>>,
}

impl KeySorter {
    pub fn new(space: &Arc<TempSpace>, limit: usize) -> KeySorter {
        KeySorter { space: space.clone(), limit, batch: Batch::new(), runs: Vec::new(), file: None }
    }

    #[inline]
    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        self.batch.push(key, tid, self.limit);
        if self.batch.bytes() > self.limit { self.spill() } else { Ok(()) }
    }

    /// Memory is full: what is there becomes a run, or goes on with the last one.
    #[cold]
    fn spill(&mut self) -> Result<()> {
        self.space.note_peak(self.batch.bytes());
        self.batch.sort()?;
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::with_chunks(&self.space, self.chunk_bytes())?),
        };
        match self.runs.last_mut() {
            Some(last) if last.takes(self.batch.get(0)) => last.append(&self.batch)?,
            last => {
                if let Some(last) = last {
                    last.seal()?;
                }
                let mut run = Run::new(file);
                run.append(&self.batch)?;
                self.runs.push(run);
            }
        }
        self.batch.clear();
        Ok(())
    }

    fn chunk_bytes(&self) -> usize {
        let (least, most) = CHUNK_BYTES;
        (self.limit / CHUNKS_IN_MEMORY).clamp(least, most).next_power_of_two()
    }

    /// How many runs may be read at once, with half the memory.
    fn readers_max(&self) -> usize {
        (self.limit / 2 / self.chunk_bytes()).clamp(4, 256)
    }

    /// All entries were taken.
    pub fn finish(mut self) -> Result<SortedKeys> {
        if self.runs.is_empty() {
            self.batch.sort()?;
            self.space.note_peak(self.batch.bytes());
            return Ok(SortedKeys(Source::Memory { batch: self.batch, at: 0, key: Vec::new() }));
        }
        if self.batch.len() > 0 {
            self.spill()?;
        }
        self.batch = Batch::new();
        if let Some(last) = self.runs.last_mut() {
            last.seal()?;
        }
        let file = self.file.clone().expect("runs lie in a file");
        let (readers, mut runs) = (self.readers_max(), self.runs);
        while runs.len() > readers {
            let (mut merged, mut old) = (Vec::new(), runs.into_iter());
            loop {
                let group: Vec<Run> = old.by_ref().take(readers).collect();
                match group.len() {
                    0 => break,
                    1 => merged.extend(group),
                    _ => merged.push(merge_into_one(group, &file)?),
                }
            }
            runs = merged;
        }
        Ok(SortedKeys(Source::Merge(Merge::start(runs)?)))
    }
}

/// Entries in their order.
pub struct SortedKeys(Source);

enum Source {
    Memory {
        batch: Batch,
        /// How many were given.
        at: usize,
        /// The key that was given last.
        key: Vec<u8>,
    },
    Merge(Merge),
}

impl SortedKeys {
    /// The next entry.
    #[inline]
    pub fn next_entry(&mut self) -> Result<Option<(&[u8], Tid)>> {
        match &mut self.0 {
            Source::Memory { batch, at, key } => {
                if *at == batch.len() {
                    return Ok(None);
                }
                let (entry, tail, tid) = batch.get(*at);
                *at += 1;
                key.clear();
                key.extend_from_slice(&entry.head()[..entry.head_len()]);
                key.extend_from_slice(tail);
                Ok(Some((key, tid)))
            }
            Source::Merge(merge) => merge.next(),
        }
    }
}
