//! The set of segment files: one owner makes them ahead of need, everyone else opens only what it announced.
//!
//! A new segment is a temporary file, filled with zeros, headed, synced, renamed without replacing, its
//! directory synced, and only then announced. Segments that recovery no longer needs become *spares*: a
//! new header, synced, and a rename make one the next segment, without writing it all again. Whatever of this fails may
//! be tried again, but for the sync of a file: what was made of one is known by its name all the while. What an old
//! segment still contains can't be taken for log: checksums cover position and epoch. Where `wal_io` maps files, a
//! segment is mapped before it is announced.

use super::mapped::Segments;
use super::segment::{self, DIRECTORY, Epoch};
use crate::error::{Error, Result, fatal};
use crate::relfile::inherited::mark_failed_sync;
use base::disk::map::Mapping;
use base::disk::{Disk, File, Open};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};

const TEMPORARY: &str = "wal/new-segment";

const ANNOUNCED: &str = "log is only written to announced segments (W5)";

/// Files of the log.
pub(super) struct Store {
    disk: Arc<dyn Disk>,
    epoch: Epoch,
    /// Where segments are mapped, if they are.
    segments: Option<Segments>,
    state: Mutex<State>,
}

/// A segment that log may be written to.
struct Ready {
    file: Arc<dyn File>,
    mapping: Option<Arc<dyn Mapping>>,
}

struct State {
    /// How many files to keep when old ones come free: at least, and at most.
    kept: RangeInclusive<usize>,
    /// Announced segments that the flusher has not finished, by number.
    ready: BTreeMap<u64, Ready>,
    /// Mappings of segments that are finished, for the maker to take down: that may take a while.
    finished: Vec<Arc<dyn Mapping>>,
    /// Files that hold nothing needed, by number in their name.
    spares: BTreeSet<u64>,
    /// Segments that recovery may read, besides the ready ones.
    old: BTreeSet<u64>,
    /// Segments before this one were released last.
    released: u64,
    /// How many segments lie between two releases: the most of late, slowly forgotten. In sixteenths.
    pace: u64,
}

impl Store {
    /// Takes stock of the directory; segments from the epoch's start on hold nothing (recovery has seen
    /// the log end before), and become spares.
    pub fn open(
        disk: Arc<dyn Disk>,
        epoch: Epoch,
        kept: RangeInclusive<usize>,
        segments: Option<Segments>,
    ) -> Result<Store> {
        let mut state = State {
            kept,
            ready: BTreeMap::new(),
            finished: Vec::new(),
            spares: BTreeSet::new(),
            old: BTreeSet::new(),
            released: epoch.segment_of(epoch.start),
            pace: 0,
        };
        let names = disk.list(DIRECTORY).map_err(|e| Error::io("list", DIRECTORY, e))?;
        let first = epoch.segment_of(epoch.start);
        for name in names {
            let path = format!("{DIRECTORY}/{name}");
            let Some(number) = segment::parse_name(epoch.timeline, &name) else {
                if path == TEMPORARY {
                    disk.remove(&path).map_err(|e| Error::io("remove", path, e))?;
                }
                continue;
            };
            // A crash inside a rename may leave one file under two names. Only the name that its header
            // tells may stay: under the other it would be reused while it is in use.
            if segment::open(&*disk, &epoch.shape(), number)?.is_none() {
                disk.remove(&path).map_err(|e| Error::io("remove", path, e))?;
            } else if number >= first {
                state.spares.insert(number);
            } else {
                state.old.insert(number);
            }
        }
        disk.sync_dir(DIRECTORY).map_err(|e| Error::io("sync", DIRECTORY, e))?;
        Ok(Store { disk, epoch, segments, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics under it")
    }

    /// Makes segment `number` and announces it. Called by one context only. An error leaves a file that can be tried
    /// again among the spares, under the name that it has by then; a failed sync must not be.
    pub fn make(&self, number: u64) -> Result<()> {
        self.unmap_finished();
        let mut named = {
            let mut state = self.lock();
            // Its own name first: nothing else may be renamed to it.
            let own = state.spares.take(&number);
            own.or_else(|| state.spares.pop_first())
        };
        let made = match named {
            Some(spare) => self.reuse(spare, number, &mut named),
            None => self.create(number, &mut named),
        };
        let ready = made.and_then(|file| self.prepare(file, number));
        let mut state = self.lock();
        match ready {
            Ok(ready) => {
                state.ready.insert(number, ready);
                Ok(())
            }
            Err(e) => {
                // Not announced, so it is a spare.
                state.spares.extend(named);
                Err(e)
            }
        }
    }

    /// Maps it, if segments are mapped.
    fn prepare(&self, file: Arc<dyn File>, number: u64) -> Result<Ready> {
        let Some(segments) = &self.segments else { return Ok(Ready { file, mapping: None }) };
        let oldest = self.lock().ready.keys().next().copied();
        assert!(
            oldest.is_none_or(|oldest| number < oldest + segments.slots(&self.epoch)),
            "no two segments of the log share a place in the window (W8)"
        );
        let mapping = segments.map(&*file, &self.epoch, number)?;
        Ok(Ready { file, mapping: Some(mapping) })
    }

    /// How many files it has in its books.
    #[cfg(test)]
    pub fn known_files(&self) -> usize {
        let state = self.lock();
        state.ready.len() + state.spares.len() + state.old.len()
    }

    /// Takes down the mappings of segments that are finished. Called by whoever makes segments.
    pub fn unmap_finished(&self) {
        // Not under the lock.
        let finished = std::mem::take(&mut self.lock().finished);
        drop(finished);
    }

    /// Makes a spare the segment `number`; `named` is kept to the name that the file has.
    fn reuse(&self, spare: u64, number: u64, named: &mut Option<u64>) -> Result<Arc<dyn File>> {
        let _window = base::sim::window("segment-reused");
        let from = segment::path(self.epoch.timeline, spare);
        let file = self.disk.open(&from, Open::Existing).map_err(|e| {
            if e.kind() == io::ErrorKind::NotFound {
                // Somebody took it away: it is no spare any more.
                *named = None;
            }
            Error::io("open", &*from, e)
        })?;
        self.fill(&*file, &from)?;
        segment::write_header(&*file, &self.epoch, number, &from)?;
        if spare != number {
            self.rename(&from, number, named)?;
        }
        // Also where it has its name already: an earlier attempt may have come no further than that.
        self.sync_names()?;
        Ok(file)
    }

    /// A spare cut short by an earlier crash is completed.
    fn fill(&self, file: &dyn File, path: &str) -> Result<()> {
        let full = segment::HEADER_BYTES + self.epoch.segment_bytes;
        let length = file.len().map_err(|e| Error::io("stat", path, e))?;
        if length < full {
            segment::write_zeros(file, length, full, path)?;
        }
        Ok(())
    }

    fn create(&self, number: u64, named: &mut Option<u64>) -> Result<Arc<dyn File>> {
        match self.disk.remove(TEMPORARY) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", TEMPORARY, e));
            }
            _ => {}
        }
        let made = self.create_file(number, named);
        if made.is_err() && named.is_none() {
            // Gives its room back on a full disk. If that fails too, the next attempt starts with it.
            let _ = self.disk.remove(TEMPORARY);
        }
        made
    }

    fn create_file(&self, number: u64, named: &mut Option<u64>) -> Result<Arc<dyn File>> {
        let opened = self.disk.open(TEMPORARY, Open::CreateNew);
        let file = opened.map_err(|e| Error::io("create", TEMPORARY, e))?;
        self.fill(&*file, TEMPORARY)?;
        segment::write_header(&*file, &self.epoch, number, TEMPORARY)?;
        self.rename(TEMPORARY, number, named)?;
        self.sync_names()?;
        Ok(file)
    }

    fn rename(&self, from: &str, number: u64, named: &mut Option<u64>) -> Result<()> {
        let to = segment::path(self.epoch.timeline, number);
        self.disk.rename_new(from, &to).map_err(|e| Error::io("rename", from, e))?;
        *named = Some(number);
        Ok(())
    }

    /// Ends the process, as what it is to have made durable is not. The next does not trust what the system has cached.
    pub fn fail(&self, why: &str) -> ! {
        mark_failed_sync(&*self.disk);
        fatal(why)
    }

    /// Makes the directory's names durable.
    fn sync_names(&self) -> Result<()> {
        let synced = self.disk.sync_dir(DIRECTORY);
        synced.map_err(|e| match (e.kind(), e.raw_os_error()) {
            // Room for the names, which are still to be written: no content is lost with them.
            (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => {
                Error::DiskFull { file: DIRECTORY.into(), block: None }
            }
            // The directory could not be opened: nothing was synced, and nothing failed to be.
            (_, Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EACCES)) => {
                Error::io("open", DIRECTORY, e)
            }
            _ => Error::io("sync", DIRECTORY, e),
        })
    }

    /// The file of an announced segment. Panics if it is not: who writes log has a claim, and claims end
    /// where announced segments end.
    pub fn file(&self, number: u64) -> Arc<dyn File> {
        Arc::clone(&self.lock().ready.get(&number).expect(ANNOUNCED).file)
    }

    /// The mapping of an announced segment; panics as [`Store::file`], and where segments are not mapped.
    pub fn mapping(&self, number: u64) -> Arc<dyn Mapping> {
        let state = self.lock();
        let mapping = &state.ready.get(&number).expect(ANNOUNCED).mapping;
        Arc::clone(mapping.as_ref().expect("announced segments are mapped"))
    }

    /// Whether segments are mapped.
    pub fn is_mapped(&self) -> bool {
        self.segments.is_some()
    }

    /// The flusher is done with the segments before `number`.
    pub fn written_before(&self, number: u64) {
        let mut state = self.lock();
        let keep = state.ready.split_off(&number);
        let done = std::mem::replace(&mut state.ready, keep);
        for (number, ready) in done {
            state.old.insert(number);
            state.finished.extend(ready.mapping);
        }
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Recovery will not read segments before `number`: keeps the last of them as spares, removes the rest. Spares are
    /// to last until the next release, going by how many segments there were between the last ones.
    pub fn release_before(&self, number: u64) -> Result<usize> {
        let surplus = {
            let mut state = self.lock();
            let keep = state.old.split_off(&number);
            let free = std::mem::replace(&mut state.old, keep);
            state.pace = pace(state.pace, number.saturating_sub(state.released));
            state.released = state.released.max(number);
            state.spares.extend(free);
            self.surplus(&mut state)
        };
        self.remove(&surplus)
    }

    /// Keeps so many files from now on, at least and at most; what is more than that goes at once.
    pub fn keep(&self, kept: RangeInclusive<usize>) -> Result<usize> {
        let surplus = {
            let mut state = self.lock();
            state.kept = kept;
            self.surplus(&mut state)
        };
        self.remove(&surplus)
    }

    /// Takes the spares away that are more than enough.
    fn surplus(&self, state: &mut State) -> Vec<u64> {
        let used = state.ready.len() + state.old.len();
        let wanted = used + (state.pace as usize * 11 / 10).div_ceil(16);
        // As in PostgreSQL, the upper bound wins where they contradict each other.
        let files = wanted.max(*state.kept.start()).min(*state.kept.end());
        // The oldest go first: what stays is read on into the log without a gap. What an earlier run left under
        // names that are still to come stays until it is its turn: it may be made while it were removed.
        let first = self.epoch.segment_of(self.epoch.start);
        let next = state.ready.last_key_value().map_or(first, |(last, _)| last + 1);
        let mut surplus = Vec::new();
        while files < used + state.spares.len()
            && let Some(spare) = state.spares.first().copied().filter(|spare| *spare < next)
        {
            state.spares.remove(&spare);
            surplus.push(spare);
        }
        surplus
    }

    fn remove(&self, surplus: &[u64]) -> Result<usize> {
        for (done, segment) in surplus.iter().enumerate() {
            let path = segment::path(self.epoch.timeline, *segment);
            match self.disk.remove(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    // They stay spares, and surplus.
                    self.lock().spares.extend(&surplus[done..]);
                    return Err(Error::io("remove", path, e));
                }
                _ => {}
            }
        }
        Ok(surplus.len())
    }
}

/// The pace after a release that was `segments` behind the one before: rises at once, falls by a tenth.
fn pace(before: u64, segments: u64) -> u64 {
    let now = segments * 16;
    if now >= before { now } else { (before * 9 + now) / 10 }
}
