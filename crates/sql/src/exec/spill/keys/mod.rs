//! Sorting an index's entries: keys as bytes, with the address of their row.
//!
//! Entries are gathered in memory ([`entry`]), sorted when it is full, and written to a temporary file as a
//! run ([`run`]). A batch that begins where the last run ended goes on with that run: entries that come
//! in their order (a serial key, say) are never merged, and not sorted either.
//!
//! With [`Helpers`] batches are smaller, and all but those that came in their order are sorted and written by others
//! ([`team`]). Whoever expects its entries to fit the memory gives them one batch at first, as without helpers.

mod entry;
mod run;
mod team;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::ids::Tid;

use crate::error::Result;

use super::file::SpillFile;
use super::space::TempSpace;
use entry::{Batch, Entry};
use run::{Merge, Run, merge_into_one};
pub use team::Helpers;
use team::Team;

/// Smallest and largest chunk of the file.
const CHUNK_BYTES: (usize, usize) = (2 << 10, 256 << 10);
/// The memory is this many chunks, if they are not at one of their bounds.
const CHUNKS_IN_MEMORY: usize = 256;

/// Takes entries in any order and gives them back by key, then by address.
pub struct KeySorter {
    space: Arc<TempSpace>,
    limit: usize,
    /// A batch's part of the memory, now.
    batch_max: usize,
    batch: Batch,
    /// Made here; the team has its own.
    runs: Vec<Run>,
    file: Option<Arc<SpillFile>>,
    helpers: Option<Helpers>,
    team: Option<Team>,
}

impl KeySorter {
    pub fn new(space: &Arc<TempSpace>, limit: usize) -> KeySorter {
        KeySorter::with(space, limit, None, 0)
    }

    /// One with helpers, if there are any, for so many entries, about.
    pub fn with(
        space: &Arc<TempSpace>,
        limit: usize,
        helpers: Option<Helpers>,
        expected: u64,
    ) -> KeySorter {
        let fit = expected.saturating_mul(size_of::<Entry>() as u64) <= limit as u64;
        let mut sorter = KeySorter {
            space: space.clone(),
            limit,
            batch_max: limit,
            batch: Batch::new(),
            runs: Vec::new(),
            file: None,
            helpers,
            team: None,
        };
        if !fit {
            sorter.share();
        }
        sorter
    }

    /// From now on each batch has its share of the memory.
    fn share(&mut self) {
        self.batch_max = self.limit / (1 + self.helpers.as_ref().map_or(0, |h| h.count));
    }

    #[inline]
    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        self.batch.push(key, tid, self.batch_max);
        if self.batch.bytes() > self.batch_max { self.spill() } else { Ok(()) }
    }

    /// Memory is full: what is there becomes a run, or goes on with the last one.
    #[cold]
    fn spill(&mut self) -> Result<()> {
        self.space.note_peak(self.batch.bytes());
        let has_share = self.batch_max < self.limit;
        if let Some(helpers) = self.helpers.clone().filter(|_| has_share)
            && !self.batch.came_sorted()
        {
            let file = self.file()?;
            let team = self.team.get_or_insert_with(|| Team::start(&helpers, &file, &self.space));
            self.batch = team.take(std::mem::take(&mut self.batch))?;
            return Ok(());
        }
        self.write()?;
        if self.helpers.is_some() && !has_share {
            // More than was expected.
            self.share();
            self.batch = Batch::new();
        }
        Ok(())
    }

    /// Sorts the batch and writes it.
    fn write(&mut self) -> Result<()> {
        self.batch.sort()?;
        let file = self.file()?;
        match self.runs.last_mut() {
            Some(last) if last.takes(self.batch.get(0)) => last.append(&self.batch)?,
            last => {
                if let Some(last) = last {
                    last.seal()?;
                }
                let mut run = Run::new(&file);
                run.append(&self.batch)?;
                self.runs.push(run);
            }
        }
        self.batch.clear();
        Ok(())
    }

    /// The file of the runs, which is made when it is needed.
    fn file(&mut self) -> Result<Arc<SpillFile>> {
        if self.file.is_none() {
            self.file = Some(SpillFile::with_chunks(&self.space, self.chunk_bytes())?);
        }
        Ok(self.file.clone().expect("it was just made"))
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
        if self.runs.is_empty() && self.team.is_none() {
            self.batch.sort()?;
            self.space.note_peak(self.batch.bytes());
            return Ok(SortedKeys(Source::Memory { batch: self.batch, at: 0, key: Vec::new() }));
        }
        // While the helpers are at the last batches.
        if self.batch.len() > 0 {
            self.write()?;
        }
        self.batch = Batch::new();
        if let Some(last) = self.runs.last_mut() {
            last.seal()?;
        }
        if let Some(team) = self.team.take() {
            self.runs.extend(team.finish()?);
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
