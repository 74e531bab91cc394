//! Relation files: `base/<relid>`, `base/<relid>_fsm`, `base/<relid>_vm`, each an array of pages.
//!
//! Knows paths, open files and which of them have unsynced writes. Nothing here is logged or checksummed;
//! who calls `create` logs [`Kind::FILE_CREATE`](crate::wal::Kind::FILE_CREATE) first, and `buffer` seals and
//! verifies pages. See the README beside this file.

pub(crate) mod inherited;
mod table;

use crate::error::{Error, Result};
use crate::page::PAGE_BYTES;
use base::disk::{Disk, File, Open, ReadDone, Room, StartedRead};
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use base::wait_event::{self, Event};
use base::{BlockNo, Fork, PageId, Persistence, RelId};
use inherited::Inherited;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use table::{OpenFile, Table};

/// Directory of the relation files.
pub const BASE_DIR: &str = "base";

/// Makes a file durable, whoever wrote it.
pub(crate) fn sync_path(disk: &dyn Disk, path: &str) -> Result<()> {
    let file = disk.open(path, Open::Existing).map_err(|e| Error::io("open", path, e))?;
    file.sync().map_err(|e| Error::io("sync", path, e))
}

/// Path of a fork, relative to the data directory.
pub fn path(rel: RelId, fork: Fork) -> String {
    let suffix = match fork {
        Fork::Main => "",
        Fork::FreeSpace => "_fsm",
        Fork::Visibility => "_vm",
    };
    format!("{BASE_DIR}/{}{suffix}", rel.0)
}

/// Reads a file name of the directory back.
fn parse_name(name: &str) -> Option<(RelId, Fork)> {
    let (digits, fork) = match name.split_once('_') {
        None => (name, Fork::Main),
        Some((digits, "fsm")) => (digits, Fork::FreeSpace),
        Some((digits, "vm")) => (digits, Fork::Visibility),
        Some(_) => return None,
    };
    let rel = digits.parse().ok().filter(|_| !digits.starts_with(['+', '0']))?;
    Some((RelId(rel), fork))
}

/// The relation files of a data directory.
pub struct RelFiles {
    disk: Arc<dyn Disk>,
    table: Latch<Table>,
    /// Held by the one who syncs a file; whether a sync has failed.
    syncing: Latch<bool>,
    /// A name came or went since the directory was last synced.
    names_changed: AtomicBool,
    /// Past the system's cache.
    direct: bool,
    inherited: Inherited,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    reads: AtomicU64,
    writes: AtomicU64,
    extends: AtomicU64,
    syncs: AtomicU64,
}

/// Calls made since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStats {
    /// Blocks read.
    pub reads: u64,
    /// Blocks written.
    pub writes: u64,
    /// Blocks that files were extended by.
    pub extends: u64,
    /// File syncs.
    pub syncs: u64,
}

impl RelFiles {
    /// Opens the directory, making it if absent. At most about `open_files_max` files stay open.
    pub fn open(disk: Arc<dyn Disk>, open_files_max: usize) -> Result<RelFiles> {
        disk.create_dir(BASE_DIR).map_err(|e| Error::io("create", BASE_DIR, e))?;
        Ok(RelFiles {
            disk,
            table: Latch::new(Rank::RelFile, Table::new(open_files_max)),
            syncing: Latch::new(Rank::RelSync, false),
            names_changed: AtomicBool::new(false),
            direct: false,
            inherited: Inherited::default(),
            counters: Counters::default(),
        })
    }

    /// The same, with reads and writes that go past the system's cache: from and to bytes that are aligned as
    /// [`PageBytes`](crate::page::PageBytes). An error where the file system can't.
    pub fn direct(self) -> Result<RelFiles> {
        self.disk.check_direct(BASE_DIR).map_err(|fault| {
            Error::Refused(format!(
                "the file system of the data directory does no direct I/O: {fault}"
            ))
        })?;
        Ok(RelFiles { direct: true, ..self })
    }

    /// Whether the system's cache is passed by.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Makes the main fork's file, empty. Fails if it exists, unless `redo` repeats a creation.
    pub fn create(&self, rel: RelId, redo: bool) -> Result<()> {
        let how = if redo { Open::Create } else { Open::CreateNew };
        self.open_file(rel, Fork::Main, how)?;
        Ok(())
    }

    /// Whether the relation has a main fork.
    pub fn exists(&self, rel: RelId) -> Result<bool> {
        let path = path(rel, Fork::Main);
        self.disk.exists(&path).map_err(|e| Error::io("open", path, e))
    }

    /// Whole blocks in the fork's file. A map fork that was never made has none; a relation without a main
    /// fork is [`Error::NoSuchRelation`].
    pub fn blocks(&self, rel: RelId, fork: Fork) -> Result<u32> {
        let file = match self.existing(rel, fork) {
            Ok(file) => file,
            Err(Error::NoSuchRelation(_)) if fork != Fork::Main => return Ok(0),
            Err(e) => return Err(e),
        };
        let bytes = file.file.len().map_err(|e| Error::io("seek", path(rel, fork), e))?;
        Ok((bytes / PAGE_BYTES as u64) as u32)
    }

    /// Reads one block. A block past the end is [`Error::Damaged`]: callers know how long the fork is.
    pub fn read(&self, page: PageId, to: &mut [u8; PAGE_BYTES]) -> Result<()> {
        let file = self.existing(page.rel, page.fork)?;
        let at = |e| Error::io_at("read", path(page.rel, page.fork), Some(page.block), e);
        let _waiting = wait_event::during(Event::DataFileRead);
        let read = file.file.read_at(to, offset(page.block)).map_err(at)?;
        count(&self.counters.reads, 1);
        if read < PAGE_BYTES {
            let detail = format!("read only {read} of {PAGE_BYTES} bytes");
            return Err(Error::damaged(path(page.rel, page.fork), Some(page.block), detail));
        }
        Ok(())
    }

    /// For reads of the fork that are started and not waited for.
    pub fn reader(&self, rel: RelId, fork: Fork) -> Result<Reader<'_>> {
        Ok(Reader { files: self, file: self.existing(rel, fork)? })
    }

    /// Writes one or more whole blocks from `page.block` on. Durable only after a sync.
    pub fn write(&self, page: PageId, from: &[u8]) -> Result<()> {
        debug_assert!(from.len().is_multiple_of(PAGE_BYTES), "whole blocks are written");
        let file = self.existing(page.rel, page.fork)?;
        count(&self.counters.writes, (from.len() / PAGE_BYTES) as u64);
        let _waiting = wait_event::during(Event::DataFileWrite);
        let written = file.file.write_at(from, offset(page.block));
        self.note_unsynced(page.rel, page.fork, &file);
        let at = |e| Error::io_at("write", path(page.rel, page.fork), Some(page.block), e);
        written.map_err(at)
    }

    /// Has the system begin to bring written blocks to the device. False where they have been synced meanwhile, or removed.
    pub fn start_writeback(&self, first: PageId, blocks: u32) -> Result<bool> {
        let Some(file) = self.table.lock().unsynced_file(first.rel, first.fork) else {
            return Ok(false);
        };
        let bytes = u64::from(blocks) * PAGE_BYTES as u64;
        let _waiting = wait_event::during(Event::DataFileFlush);
        let started = file.file.start_writeback(offset(first.block), bytes);
        let at = |e| Error::io_at("write back", path(first.rel, first.fork), Some(first.block), e);
        started.map(|()| true).map_err(at)
    }

    /// Appends `count` zero blocks at block `from`, with real space behind them, so that a full disk is met
    /// here and not when pages are cleaned. Makes a map fork's file on its first extension.
    pub fn extend(&self, rel: RelId, fork: Fork, from: BlockNo, blocks: u32) -> Result<()> {
        let file = match self.existing(rel, fork) {
            Err(Error::NoSuchRelation(_)) if fork != Fork::Main => {
                self.open_file(rel, fork, Open::Create)?
            }
            other => other?,
        };
        count(&self.counters.extends, u64::from(blocks));
        let _waiting = wait_event::during(Event::DataFileExtend);
        let extended = file.file.extend(offset(from), u64::from(blocks) * PAGE_BYTES as u64);
        self.note_unsynced(rel, fork, &file);
        extended.map_err(|e| Error::io_at("extend", path(rel, fork), Some(from), e))
    }

    /// Cuts the fork to `blocks` blocks. No page past them may be in use.
    pub fn truncate(&self, rel: RelId, fork: Fork, blocks: u32) -> Result<()> {
        let file = match self.existing(rel, fork) {
            Err(Error::NoSuchRelation(_)) if fork != Fork::Main => return Ok(()),
            other => other?,
        };
        let bytes = u64::from(blocks) * PAGE_BYTES as u64;
        let _waiting = wait_event::during(Event::DataFileTruncate);
        let cut = file.file.set_len(bytes);
        self.note_unsynced(rel, fork, &file);
        cut.map_err(|e| Error::io("truncate", path(rel, fork), e))
    }

    /// Removes all forks. Fine if some or all are gone.
    pub fn remove(&self, rel: RelId) -> Result<()> {
        for fork in Fork::ALL {
            self.table.lock().forget(rel, fork);
            let removed = self.disk.remove(&path(rel, fork));
            // Again: somebody may have opened it meanwhile. Its room would be taken as long as it is open.
            self.table.lock().forget(rel, fork);
            match removed {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", path(rel, fork), e));
                }
                // Relaxed: read by `sync_names`, which no one relies on for names still coming and going.
                _ => self.names_changed.store(true, Ordering::Relaxed),
            }
        }
        Ok(())
    }

    /// Makes all writes to logged relations so far durable. A failure is final: the system may have dropped the
    /// pages, and a second sync would lie. Callers end the process. Answers how many files were synced.
    pub fn sync_logged(&self) -> Result<usize> {
        self.sync_files(RelId::is_logged)
    }

    /// Makes all writes, creations and removals so far durable. A failure is final, as in [`Self::sync_logged`].
    pub fn sync_all(&self) -> Result<usize> {
        let synced = self.sync_files(|_| true)?;
        self.sync_names().map(|()| synced)
    }

    fn sync_files(&self, wanted: impl Fn(RelId) -> bool) -> Result<usize> {
        let unsynced: Vec<_> = self.table.lock().unsynced().collect();
        let mut synced = 0;
        for (rel, fork) in unsynced.into_iter().filter(|(rel, _)| wanted(*rel)) {
            synced += usize::from(self.in_turn(|| self.sync(rel, fork))?);
        }
        // What was not in the queue any more, because another context is syncing it, is durable when that has ended.
        self.in_turn(|| Ok(synced))
    }

    /// True if it was in the queue.
    fn sync(&self, rel: RelId, fork: Fork) -> Result<bool> {
        let Some(file) = self.table.lock().take_unsynced(rel, fork) else { return Ok(false) };
        count(&self.counters.syncs, 1);
        let _waiting = wait_event::during(Event::DataFileSync);
        file.file.sync().map(|()| true).map_err(|e| Error::io("sync", path(rel, fork), e))
    }

    fn sync_names(&self) -> Result<()> {
        self.in_turn(|| {
            // Relaxed: whoever needs a name durable has made it before, in program order or through a latch.
            if !self.names_changed.swap(false, Ordering::Relaxed) {
                return Ok(Ok(()));
            }
            let mut synced = self.disk.sync_dir(BASE_DIR);
            if matches!(&synced, Err(e) if is_out_of_files(e)) && self.close_idle() {
                synced = self.disk.sync_dir(BASE_DIR);
            }
            match synced {
                Ok(()) => Ok(Ok(())),
                // The directory could not be opened: nothing was synced, and nothing failed to be.
                Err(e) if is_out_of_files(&e) || e.raw_os_error() == Some(libc::ENOMEM) => {
                    self.names_changed.store(true, Ordering::Relaxed);
                    Ok(Err(Error::io("open", BASE_DIR, e)))
                }
                Err(e) => Err(Error::io("sync", BASE_DIR, e)),
            }
        })?
    }

    /// Has one context sync at a time, and none after a failure: what that one was to make durable is lost to all.
    fn in_turn<T>(&self, sync: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut failed = self.syncing.lock();
        if *failed {
            return Err(Error::Refused("an earlier sync of relation files has failed".into()));
        }
        sync().inspect_err(|_| {
            *failed = true;
            self.mark_failed_sync();
        })
    }

    /// All relations that have a file, sorted.
    pub fn relations(&self) -> Result<Vec<RelId>> {
        let names = self.disk.list(BASE_DIR).map_err(|e| Error::io("list", BASE_DIR, e))?;
        let rels: BTreeSet<RelId> =
            names.iter().filter_map(|name| parse_name(name)).map(|(rel, _)| rel).collect();
        Ok(rels.into_iter().collect())
    }

    /// To be called once at every start, before anything is read: removes temporary relations and, after an
    /// unclean stop, empties unlogged ones. Their ids tell which they are.
    pub fn reset(&self, clean: bool) -> Result<()> {
        for rel in self.relations()? {
            match rel.persistence() {
                Persistence::Temporary => self.remove(rel)?,
                Persistence::Unlogged if !clean => {
                    for fork in Fork::ALL {
                        if fork == Fork::Main && !self.exists(rel)? {
                            continue;
                        }
                        self.truncate(rel, fork, 0)?;
                    }
                }
                _ => {}
            }
        }
        self.sync_all().map(drop)
    }

    /// Calls made since the start.
    pub fn stats(&self) -> FileStats {
        // Relaxed: figures for people.
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        FileStats {
            reads: get(&self.counters.reads),
            writes: get(&self.counters.writes),
            extends: get(&self.counters.extends),
            syncs: get(&self.counters.syncs),
        }
    }

    fn existing(&self, rel: RelId, fork: Fork) -> Result<Arc<OpenFile>> {
        if let Some(file) = self.table.lock().get(rel, fork) {
            return Ok(file);
        }
        self.open_file(rel, fork, Open::Existing)
    }

    fn open_file(&self, rel: RelId, fork: Fork, how: Open) -> Result<Arc<OpenFile>> {
        let path = path(rel, fork);
        let mut opened = self.open_path(&path, how);
        if matches!(&opened, Err(e) if is_out_of_files(e)) && self.close_idle() {
            opened = self.open_path(&path, how);
        }
        let file = match opened {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(Error::NoSuchRelation(rel));
            }
            Err(e) => return Err(Error::io("open", path, e)),
        };
        if how != Open::Existing {
            // Relaxed: as in `remove`.
            self.names_changed.store(true, Ordering::Relaxed);
        }
        Ok(self.table.lock().insert(rel, fork, file))
    }

    fn open_path(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        match self.direct {
            true => self.disk.open_direct(path, how),
            false => self.disk.open(path, how),
        }
    }

    /// Closes every file that nobody is using now; true if there was any.
    fn close_idle(&self) -> bool {
        let idle = self.table.lock().take_idle();
        !idle.is_empty()
    }

    /// Enters the file into the sync queue, after the write and before the writer returns: a sync that takes
    /// the file out of the queue begins later, so it covers the write.
    fn note_unsynced(&self, rel: RelId, fork: Fork, file: &Arc<OpenFile>) {
        self.table.lock().note_unsynced(rel, fork, file);
    }
}

/// See [`RelFiles::reader`].
pub struct Reader<'f> {
    files: &'f RelFiles,
    file: Arc<OpenFile>,
}

impl Reader<'_> {
    /// Starts to read `blocks` from `first` on to the beginning of `room`, and has `done` called when it is over.
    pub fn start(&self, first: BlockNo, blocks: u32, room: Room, done: ReadDone) {
        count(&self.files.counters.reads, u64::from(blocks));
        let bytes = blocks as usize * PAGE_BYTES;
        self.file.file.start_read(StartedRead::new(room, bytes, offset(first), done));
    }
}

fn offset(block: BlockNo) -> u64 {
    u64::from(block.0) * PAGE_BYTES as u64
}

/// Whether the process, or the machine, has as many open files as it may.
fn is_out_of_files(fault: &io::Error) -> bool {
    matches!(fault.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn count(counter: &AtomicU64, by: u64) {
    // Relaxed: figures for people.
    counter.fetch_add(by, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
