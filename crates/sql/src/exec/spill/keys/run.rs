//! Sorted entries in a temporary file, as raw bytes, and their merging.
//!
//! An entry is its key's length (one byte, or 255 and four), the key, and the TID. Entries run on from one
//! chunk into the next. Merging compares keys behind what all keys of all runs begin with.

use std::cmp::Ordering;
use std::sync::Arc;

use base::ids::Tid;

use crate::error::Result;
use crate::exec::spill::file::SpillFile;

use super::entry::{Batch, Entry, HEAD_BYTES, TID_BYTES, compare_tails, read_tid, shared_bytes};

/// A first byte that says that the length follows in four.
const LONG_LENGTH: u8 = u8::MAX;

/// A stream of entries that ascend.
pub(super) struct Run {
    file: Arc<SpillFile>,
    /// The chunks, in order; those before `freed` are no longer ours.
    chunks: Vec<u32>,
    freed: usize,
    bytes: u64,
    /// What does not fill a chunk yet.
    tail: Vec<u8>,
    /// The last entry's bytes in its form.
    last: Vec<u8>,
    /// What all keys begin with; `None`: there is none yet.
    shared: Option<Vec<u8>>,
}

impl Run {
    pub fn new(file: &Arc<SpillFile>) -> Run {
        let (chunks, tail, last) = (Vec::new(), Vec::new(), Vec::new());
        Run { file: file.clone(), chunks, freed: 0, bytes: 0, tail, last, shared: None }
    }

    /// Whether the entry may follow the last.
    pub fn takes(&self, (entry, tail, tid): (Entry, &[u8], Tid)) -> bool {
        if self.last.is_empty() {
            return true;
        }
        let (parts, _) = parse(&self.last).expect("the last entry is whole");
        let last = Head::of(parts, 0);
        let order = last.entry.compare_heads(entry);
        let tails = || compare_tails((&parts.key[HEAD_BYTES..], parts.tid), (tail, tid));
        order.unwrap_or_else(tails).is_le()
    }

    /// Appends entries, which ascend.
    pub fn append(&mut self, batch: &Batch) -> Result<()> {
        for i in 0..batch.len() {
            let (entry, tail, tid) = batch.get(i);
            self.push(&entry.head()[..entry.head_len()], tail, tid)?;
        }
        self.note_ends(batch);
        Ok(())
    }

    /// Of what was appended; all keys between first and last begin as these do.
    fn note_ends(&mut self, batch: &Batch) {
        let Some(last) = batch.len().checked_sub(1) else { return };
        for at in [0, last] {
            let (entry, tail, tid) = batch.get(at);
            self.last.clear();
            write(&entry.head()[..entry.head_len()], tail, tid, &mut self.last);
            let (parts, _) = parse(&self.last).expect("the entry is whole");
            share(&mut self.shared, parts.key);
        }
    }

    /// Appends the entry whose key is `head` and `tail`.
    #[inline]
    fn push(&mut self, head: &[u8], tail: &[u8], tid: Tid) -> Result<()> {
        write(head, tail, tid, &mut self.tail);
        if self.tail.len() >= self.file.chunk_bytes() { self.write_full() } else { Ok(()) }
    }

    /// Writes the chunks that are full.
    #[cold]
    fn write_full(&mut self) -> Result<()> {
        let size = self.file.chunk_bytes();
        let full = self.tail.len() / size * size;
        for chunk in self.tail[..full].chunks(size) {
            self.chunks.push(self.file.write(chunk)?);
        }
        self.bytes += full as u64;
        self.tail.drain(..full);
        crate::exec::breathe()
    }

    /// No more entries will come: the rest is written and the buffer given back.
    pub fn seal(&mut self) -> Result<()> {
        if !self.tail.is_empty() {
            self.chunks.push(self.file.write(&self.tail)?);
            self.bytes += self.tail.len() as u64;
        }
        self.tail = Vec::new();
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.chunks[self.freed..].iter().for_each(|chunk| self.file.free(*chunk));
    }
}

/// Appends an entry in its form.
#[inline]
fn write(head: &[u8], tail: &[u8], tid: Tid, out: &mut Vec<u8>) {
    let length = head.len() + tail.len();
    if length < usize::from(LONG_LENGTH) {
        out.push(length as u8);
    } else {
        out.push(LONG_LENGTH);
        out.extend_from_slice(&(length as u32).to_le_bytes());
    }
    out.extend_from_slice(head);
    out.extend_from_slice(tail);
    out.extend_from_slice(&tid.to_u64().to_le_bytes()[..TID_BYTES]);
}

/// An entry in its form, taken apart.
#[derive(Clone, Copy)]
struct Parts<'a> {
    key: &'a [u8],
    tid: Tid,
}

/// The entry at the start of `bytes` and how many it takes; `None` if it is not whole.
#[inline]
fn parse(bytes: &[u8]) -> Option<(Parts<'_>, usize)> {
    let (&short, rest) = bytes.split_first()?;
    let (length, rest) = if short == LONG_LENGTH {
        let (length, rest) = rest.split_first_chunk()?;
        (u32::from_le_bytes(*length) as usize, rest)
    } else {
        (usize::from(short), rest)
    };
    let (key, rest) = rest.split_at_checked(length)?;
    let (tid, rest) = rest.split_first_chunk()?;
    Some((Parts { key, tid: read_tid(*tid) }, bytes.len() - rest.len()))
}

/// Cuts what keys share to what this one begins with, too.
fn share(shared: &mut Option<Vec<u8>>, key: &[u8]) {
    match shared {
        None => *shared = Some(key.to_vec()),
        Some(shared) => shared.truncate(shared_bytes(shared, key)),
    }
}

/// The next entry of a run that is merged.
#[derive(Clone, Copy)]
struct Head {
    entry: Entry,
    /// Of which reader.
    reader: usize,
}

impl Head {
    /// Of what a key has behind the bytes that all share.
    fn of(parts: Parts<'_>, shared: usize) -> Head {
        let key = &parts.key[shared..];
        let place = if key.len() > HEAD_BYTES { 0 } else { parts.tid.to_u64() };
        Head { entry: Entry::new(key, place), reader: 0 }
    }
}

/// A run being read for the last time: its chunks are given back on the way.
struct Reader {
    run: Run,
    /// Chunks that were read.
    loaded: usize,
    buffer: Vec<u8>,
    /// Where the entry that was read last begins, and what follows it.
    at: usize,
    next: usize,
}

impl Reader {
    fn new(run: Run) -> Reader {
        Reader { run, loaded: 0, buffer: Vec::new(), at: 0, next: 0 }
    }

    /// Reads the next entry; `None` at the end.
    #[inline]
    fn read(&mut self, shared: usize) -> Result<Option<Head>> {
        loop {
            if let Some((parts, length)) = parse(&self.buffer[self.next..]) {
                self.at = self.next;
                self.next += length;
                return Ok(Some(Head::of(parts, shared)));
            }
            if !self.load()? {
                return Ok(None);
            }
        }
    }

    /// Reads one more chunk behind what is left of the last; false when there is none.
    #[cold]
    fn load(&mut self) -> Result<bool> {
        let run = &mut self.run;
        self.buffer.drain(..self.next);
        (self.at, self.next) = (0, 0);
        let Some(&chunk) = run.chunks.get(self.loaded) else {
            assert!(self.buffer.is_empty(), "a run ends with an entry");
            return Ok(false);
        };
        let size = run.file.chunk_bytes();
        let there = (run.bytes - self.loaded as u64 * size as u64).min(size as u64) as usize;
        let left = self.buffer.len();
        self.buffer.reserve_exact(there);
        self.buffer.resize(left + there, 0);
        run.file.read(chunk, &mut self.buffer[left..])?;
        self.loaded += 1;
        run.file.free(chunk);
        run.freed = self.loaded;
        crate::exec::breathe()?;
        Ok(true)
    }

    /// The entry that was read last.
    #[inline]
    fn current(&self) -> Parts<'_> {
        parse(&self.buffer[self.at..]).expect("it was read").0
    }
}

/// Runs being merged: a heap, the run with the least entry on top.
pub(super) struct Merge {
    readers: Vec<Reader>,
    heap: Vec<Head>,
    /// The top's entry has been given.
    given: bool,
    /// What all keys begin with.
    shared: Vec<u8>,
}

impl Merge {
    pub fn start(runs: Vec<Run>) -> Result<Merge> {
        let mut shared = None;
        runs.iter().filter_map(|run| run.shared.as_ref()).for_each(|key| share(&mut shared, key));
        let (readers, heap, shared) = (Vec::new(), Vec::new(), shared.unwrap_or_default());
        let mut merge = Merge { readers, heap, given: false, shared };
        for run in runs {
            let mut reader = Reader::new(run);
            if let Some(head) = reader.read(merge.shared.len())? {
                merge.heap.push(Head { reader: merge.readers.len(), ..head });
                merge.readers.push(reader);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at);
        }
        Ok(merge)
    }

    /// The next entry.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], Tid)>> {
        if std::mem::replace(&mut self.given, true)
            && let Some(top) = self.heap.first_mut()
        {
            match self.readers[top.reader].read(self.shared.len())? {
                Some(head) => top.entry = head.entry,
                None => drop(self.heap.swap_remove(0)),
            }
            self.sink(0);
        }
        let Some(top) = self.heap.first() else { return Ok(None) };
        let Parts { key, tid } = self.readers[top.reader].current();
        Ok(Some((key, tid)))
    }

    /// Restores the heap below a run whose entry may be too large for its place.
    #[inline]
    fn sink(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let least =
                if right < self.heap.len() && self.is_less(right, left) { right } else { left };
            if !self.is_less(least, at) {
                return;
            }
            self.heap.swap(least, at);
            at = least;
        }
    }

    #[inline]
    fn is_less(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.heap[a], &self.heap[b]);
        let order = a.entry.compare_heads(b.entry).unwrap_or_else(|| {
            let (a, b) = (self.readers[a.reader].current(), self.readers[b.reader].current());
            let behind = self.shared.len() + HEAD_BYTES;
            compare_tails((&a.key[behind..], a.tid), (&b.key[behind..], b.tid))
        });
        order == Ordering::Less
    }
}

/// Merges runs into one.
pub(super) fn merge_into_one(group: Vec<Run>, file: &Arc<SpillFile>) -> Result<Run> {
    let mut merge = Merge::start(group)?;
    let mut run = Run::new(file);
    run.shared = Some(merge.shared.clone());
    while let Some((key, tid)) = merge.next()? {
        run.push(key, &[], tid)?;
    }
    run.seal()?;
    Ok(run)
}
