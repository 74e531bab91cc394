//! A temporary file as a set of chunks of one size, which many spools share.

use std::sync::{Arc, Mutex, PoisonError};

use base::disk::File;

use crate::error::{Result, sql_error};

use super::space::TempSpace;
use base::usage::{self, Use};
use base::wait_event::{self, Event};

/// Smallest and largest chunk. Each chunk read or written is a call to the disk; each open spool holds one.
const CHUNK_BYTES: (usize, usize) = (2 << 10, 64 << 10);
/// An operator's memory is this many chunks, if they are not at one of their bounds.
const CHUNKS_IN_MEMORY: usize = 32;

/// See the module's description.
pub(in crate::exec) struct SpillFile {
    space: Arc<TempSpace>,
    file: Arc<dyn File>,
    name: String,
    chunk_bytes: usize,
    /// Never held across a call to the disk.
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    /// The file's length, in chunks.
    chunks: u32,
    /// Chunks that nobody needs any more.
    free: Vec<u32>,
}

impl SpillFile {
    /// Makes a file for an operator that may hold so much memory.
    pub fn create(space: &Arc<TempSpace>, memory_bytes: usize) -> Result<Arc<SpillFile>> {
        SpillFile::with_chunks(space, chunk_bytes(memory_bytes))
    }

    /// Makes a file of chunks of this size.
    pub fn with_chunks(space: &Arc<TempSpace>, chunk_bytes: usize) -> Result<Arc<SpillFile>> {
        let (file, name) = space.make()?;
        let places = Mutex::default();
        Ok(Arc::new(SpillFile { space: space.clone(), file, name, chunk_bytes, places }))
    }

    pub fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    pub fn bytes(&self) -> u64 {
        self.places(|places| u64::from(places.chunks)) * self.chunk_bytes as u64
    }

    /// Writes up to one chunk's bytes; where they are.
    pub fn write(&self, bytes: &[u8]) -> Result<u32> {
        assert!(bytes.len() <= self.chunk_bytes, "at most a chunk is written at a time");
        let chunk = match self.places(|places| places.free.pop()) {
            Some(chunk) => chunk,
            None => {
                self.space.grow(self.chunk_bytes as u64)?;
                self.places(|places| {
                    places.chunks += 1;
                    places.chunks - 1
                })
            }
        };
        let at = u64::from(chunk) * self.chunk_bytes as u64;
        let _waiting = wait_event::during(Event::BufFileWrite);
        let written = self.file.write_at(bytes, at);
        written.map_err(|e| storage::Error::io("write", self.name.as_str(), e))?;
        usage::count(Use::TempWritten, bytes.len() as u64);
        Ok(chunk)
    }

    /// Fills `bytes` from the chunk.
    pub fn read(&self, chunk: u32, bytes: &mut [u8]) -> Result<()> {
        let at = u64::from(chunk) * self.chunk_bytes as u64;
        let _waiting = wait_event::during(Event::BufFileRead);
        let read = self.file.read_at(bytes, at);
        let read = read.map_err(|e| storage::Error::io("read", self.name.as_str(), e))?;
        if read < bytes.len() {
            return Err(sql_error!(
                DATA_CORRUPTED,
                "could not read from temporary file: read only {read} of {} bytes",
                bytes.len()
            ));
        }
        usage::count(Use::TempRead, read as u64);
        Ok(())
    }

    /// The chunk may be used again.
    pub fn free(&self, chunk: u32) {
        self.places(|places| places.free.push(chunk));
    }

    fn places<R>(&self, f: impl FnOnce(&mut Places) -> R) -> R {
        f(&mut self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.release(self.file.clone(), self.bytes());
    }
}

/// The chunk size for an operator that may hold so much memory.
fn chunk_bytes(memory_bytes: usize) -> usize {
    let (least, most) = CHUNK_BYTES;
    (memory_bytes / CHUNKS_IN_MEMORY).clamp(least, most).next_power_of_two().min(most)
}

/// How many spools an operator may read at once without holding more than half its memory for it.
pub(super) fn readers_max(memory_bytes: usize) -> usize {
    (memory_bytes / 2 / chunk_bytes(memory_bytes)).clamp(4, 256)
}
