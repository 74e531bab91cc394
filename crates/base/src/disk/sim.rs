//! A disk in memory that remembers every operation, so that one run yields the image of a crash at each.
//!
//! The run itself is never stopped. [`SimDisk::crashes`] replays its journal and builds, for any point of
//! it, a disk as a power cut there could leave it: what was synced is there; of what was not, whole
//! writes and single 512-byte sectors are kept or lost at random; names not yet synced in their directory
//! vanish from some point on. Faults (EIO, ENOSPC, …) come from a hook that sees every access.

mod content;
mod crash;
mod mapped;

pub use crash::{Crashes, SECTOR_BYTES};

use super::map::{MapKind, Mapping, Place};
use super::{DirectoryLock, Disk, File, Open, StartedRead};
use crate::park;
use crate::sim;
use crate::wait_event::{self, Event};
use content::{Content, Written};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What a long read is divided into; each piece may be the one that fails.
const PIECE_BYTES: usize = 8192;

/// Kind of an access, as the fault hook sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Opening or creating.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Starting to write back.
    Writeback,
    /// Syncing a file.
    Sync,
    /// Dropping what the system has cached: nothing here, but seen.
    DropCached,
    /// Changing the length.
    SetLen,
    /// Taking room: asked after what makes a file, or makes it longer.
    Grow,
    /// Mapping into memory.
    Map,
    /// Renaming, removing, making or syncing a directory.
    Directory,
}

/// Decides whether an access to `path` at `offset` fails.
pub type FaultHook = Box<dyn FnMut(Access, &str, u64) -> Option<io::Error> + Send>;

/// One operation of the journal. `began` of a sync is the journal's length when it began: later writes are not
/// covered by it.
#[derive(Clone)]
enum Op {
    Create {
        path: String,
        id: u64,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    Write {
        id: u64,
        offset: u64,
        bytes: Written,
    },
    SetLen {
        id: u64,
        bytes: u64,
    },
    Sync {
        id: u64,
        began: usize,
    },
    /// Covers writes that lie in the range alone.
    SyncRange {
        id: u64,
        range: Range<u64>,
        began: usize,
    },
    SyncDir {
        path: String,
    },
}

#[derive(Default)]
struct Inner {
    names: BTreeMap<String, u64>,
    contents: BTreeMap<u64, Content>,
    dirs: BTreeSet<String>,
    locks: BTreeSet<String>,
    next_id: u64,
    journal: Vec<Op>,
    writes: usize,
    writeback_bytes: u64,
    mapped: Vec<mapped::Mapped>,
    next_key: u64,
    fault: Option<FaultHook>,
    /// What of a write that is refused may have been written: whole stretches of so many bytes. 0: nothing.
    torn: usize,
    /// What was there, durable, when the journal began.
    base: crash::Image,
}

/// The simulated disk; clones share it.
#[derive(Clone, Default)]
pub struct SimDisk {
    inner: Arc<Mutex<Inner>>,
}

struct SimFile {
    disk: SimDisk,
    path: String,
    id: u64,
}

struct SimLock {
    disk: SimDisk,
    path: String,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.lock_inner().locks.remove(&self.path);
    }
}

impl Inner {
    fn log(&mut self, op: Op) {
        self.writes += usize::from(matches!(op, Op::Write { .. }));
        self.journal.push(op);
        sim::note_operations(self.journal.len());
    }

    fn ask(&mut self, kind: Access, path: &str, offset: u64) -> io::Result<()> {
        let refusal = self.fault.as_mut().and_then(|hook| hook(kind, path, offset));
        refusal.map_or(Ok(()), Err)
    }

    /// How many of the `length` bytes of a write to `offset` that is refused have been written.
    fn torn_length(&self, offset: u64, length: usize) -> usize {
        if self.torn == 0 || !sim::active() {
            return 0;
        }
        let end = offset + sim::draw(length as u64);
        (end - end % self.torn as u64).saturating_sub(offset) as usize
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> SimDisk {
        SimDisk::default()
    }

    fn lock_inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no code panics under it")
    }

    /// Sets or clears the hook that makes accesses fail.
    pub fn set_fault(&self, hook: Option<FaultHook>) {
        self.lock_inner().fault = hook;
    }

    /// From now on, in a simulation, a write that the hook refuses may be half done: of what a device writes as a whole,
    /// these many bytes, some from its beginning.
    pub fn tear_refused_writes(&self, sector: usize) {
        self.lock_inner().torn = sector;
    }

    /// How many operations the journal holds; a point to crash at is any number up to it.
    pub fn operations(&self) -> usize {
        self.lock_inner().journal.len()
    }

    /// How many of them are writes to files.
    pub fn writes(&self) -> usize {
        self.lock_inner().writes
    }

    /// Of how many bytes the writing back was asked for. That changes nothing here: without a sync it promises nothing.
    pub fn writeback_bytes(&self) -> u64 {
        self.lock_inner().writeback_bytes
    }

    /// Replays the journal so far; see [`Crashes`].
    pub fn crashes(&self) -> Crashes {
        let mut inner = self.lock_inner();
        inner.absorb_all();
        Crashes::new(inner.base.clone(), inner.journal.clone(), inner.dirs.clone())
    }

    /// A short description of operation `at`, for reports.
    pub fn describe(&self, at: usize) -> String {
        match &self.lock_inner().journal[at] {
            Op::Create { path, .. } => format!("create {path}"),
            Op::Rename { from, to } => format!("rename {from} to {to}"),
            Op::Remove { path } => format!("remove {path}"),
            Op::Write { id, offset, bytes } => {
                format!("write {} bytes at {offset} of file #{id}", bytes.len())
            }
            Op::SetLen { id, bytes } => format!("set length {bytes} of file #{id}"),
            Op::Sync { id, .. } => format!("sync file #{id}"),
            Op::SyncRange { id, range, .. } => format!("sync {range:?} of file #{id}"),
            Op::SyncDir { path } => format!("sync directory {path:?}"),
        }
    }

    /// Changes bytes behind the engine's back: bit rot. Not journaled. Panics if the file is not there.
    pub fn corrupt(&self, path: &str, offset: u64, change: impl FnOnce(&mut [u8])) {
        let mut inner = self.lock_inner();
        let id = inner.names[path];
        inner.absorb_file(id);
        let content = inner.contents.get_mut(&id).expect("named files have content");
        let mut bytes = vec![0; content.len() - offset as usize];
        content.read(offset as usize, &mut bytes);
        change(&mut bytes);
        content.write(offset as usize, &bytes);
        inner.show(id, offset, offset + bytes.len() as u64);
    }

    /// After the time that such an access takes.
    fn turn(&self, kind: Access) -> MutexGuard<'_, Inner> {
        if sim::active() && park::on_fiber() {
            let micros = match kind {
                Access::Read => sim::draw(4),
                // Now and then a sync takes as long as a hundred others.
                Access::Sync if sim::draw(64) == 0 => sim::draw(20_000),
                Access::Sync | Access::Directory => 10 + sim::draw(200),
                _ => sim::draw(20),
            };
            if micros > 0 {
                let _waiting = wait_event::during_unnamed(Event::File);
                park::sleep(Duration::from_micros(micros));
            }
        }
        self.lock_inner()
    }

    fn access(&self, kind: Access, path: &str, offset: u64) -> io::Result<MutexGuard<'_, Inner>> {
        let mut inner = self.turn(kind);
        inner.ask(kind, path, offset)?;
        inner.absorb();
        Ok(inner)
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

fn not_found(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no such file in the simulation: {path}"))
}

impl Disk for SimDisk {
    fn open(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        let mut inner = self.access(Access::Open, path, 0)?;
        let id = match (inner.names.get(path).copied(), how) {
            (Some(_), Open::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(id), _) => id,
            (None, Open::Existing) => return Err(not_found(path)),
            (None, _) => {
                if !parent(path).is_empty() && !inner.dirs.contains(parent(path)) {
                    return Err(not_found(parent(path)));
                }
                inner.ask(Access::Grow, path, 0)?;
                inner.next_id += 1;
                let id = inner.next_id;
                inner.names.insert(path.to_owned(), id);
                inner.contents.insert(id, Content::default());
                inner.log(Op::Create { path: path.to_owned(), id });
                id
            }
        };
        Ok(Arc::new(SimFile { disk: self.clone(), path: path.to_owned(), id }))
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        if self.lock_inner().names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename_over(from, to)
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = self.access(Access::Directory, from, 0)?;
        let id = inner.names.remove(from).ok_or_else(|| not_found(from))?;
        inner.names.insert(to.to_owned(), id);
        inner.log(Op::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut inner = self.access(Access::Directory, path, 0)?;
        inner.names.remove(path).ok_or_else(|| not_found(path))?;
        inner.log(Op::Remove { path: path.to_owned() });
        Ok(())
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        let mut inner = self.access(Access::Directory, path, 0)?;
        // Directories are made once, at creation, and taken as durable: no crash point of interest.
        let mut at = path;
        while !at.is_empty() {
            inner.dirs.insert(at.to_owned());
            at = parent(at);
        }
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        let mut inner = self.access(Access::Directory, path, 0)?;
        inner.log(Op::SyncDir { path: path.to_owned() });
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let inner = self.access(Access::Open, path, 0)?;
        let here = |name: &String| (parent(name) == path).then(|| base_name(name).to_owned());
        let files = inner.names.keys().filter_map(here);
        let dirs = inner.dirs.iter().filter(|d| !d.is_empty()).filter_map(here);
        let all: BTreeSet<String> = files.chain(dirs).collect();
        Ok(all.into_iter().collect())
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        let inner = self.lock_inner();
        Ok(inner.names.contains_key(path) || inner.dirs.contains(path))
    }

    fn lock(&self, path: &str) -> io::Result<DirectoryLock> {
        if !self.lock_inner().locks.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let held = SimLock { disk: self.clone(), path: path.to_owned() };
        Ok(DirectoryLock { _held: Box::new(held) })
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

impl SimFile {
    fn content<'a>(&self, inner: &'a mut Inner) -> &'a mut Content {
        inner.contents.get_mut(&self.id).expect("an open file has content, also when removed")
    }

    fn put(&self, inner: &mut Inner, buf: &[u8], offset: u64) {
        inner.absorb();
        inner.absorb_file(self.id);
        let bytes = Written::new(buf);
        bytes.apply(self.content(inner), offset, 0, buf.len());
        inner.show(self.id, offset, offset + buf.len() as u64);
        inner.log(Op::Write { id: self.id, offset, bytes });
    }
}

impl File for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.disk.access(Access::Read, &self.path, offset)?;
        inner.absorb_file(self.id);
        Ok(self.content(&mut inner).read(offset as usize, buf))
    }

    /// Block by block, each an access of its own.
    fn start_read(&self, mut read: StartedRead) {
        let (offset, mut done) = (read.offset(), 0);
        let mut got = Ok(());
        for piece in read.target().chunks_mut(PIECE_BYTES) {
            match self.read_at(piece, offset + done as u64) {
                Ok(n) => done += n,
                Err(fault) => {
                    got = Err(fault);
                    break;
                }
            }
        }
        read.end(got.map(|()| done));
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut inner = self.disk.turn(Access::Write);
        let end = offset + buf.len() as u64;
        let mut asked = inner.ask(Access::Write, &self.path, offset);
        if asked.is_ok() && end > self.content(&mut inner).len() as u64 {
            asked = inner.ask(Access::Grow, &self.path, offset);
        }
        let written = match asked {
            Ok(()) => buf,
            Err(_) => &buf[..inner.torn_length(offset, buf.len())],
        };
        if asked.is_ok() || !written.is_empty() {
            self.put(&mut inner, written, offset);
        }
        asked
    }

    fn start_writeback(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.disk.access(Access::Writeback, &self.path, offset)?.writeback_bytes += bytes;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let began = {
            let mut inner = self.disk.lock_inner();
            inner.absorb_file(self.id);
            inner.journal.len()
        };
        let mut inner = self.disk.access(Access::Sync, &self.path, 0)?;
        inner.log(Op::Sync { id: self.id, began });
        Ok(())
    }

    fn drop_cached(&self) -> io::Result<()> {
        self.disk.access(Access::DropCached, &self.path, 0).map(drop)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut inner = self.disk.access(Access::SetLen, &self.path, bytes)?;
        if bytes > self.content(&mut inner).len() as u64 {
            inner.ask(Access::Grow, &self.path, bytes)?;
        }
        self.content(&mut inner).resize(bytes as usize);
        inner.log(Op::SetLen { id: self.id, bytes });
        Ok(())
    }

    fn map(&self, place: &Place<'_>, _: MapKind) -> io::Result<Box<dyn Mapping>> {
        if !sim::active() {
            let why = "the simulated disk maps files in a simulation only";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        mapped::map(&self.disk, self.id, &self.path, place)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.content(&mut self.disk.lock_inner()).len() as u64)
    }
}
