//! A stream of rows in chunks of a temporary file.
//!
//! A row is a `u32` length and its values; rows run on from one chunk into the next. What does not fill a
//! chunk yet lies in memory.

use std::sync::Arc;

use crate::error::{Result, sql_error};
use crate::types::Datum;
use crate::types::row::{read_values, write_values};

use super::file::SpillFile;
use super::size::values_bytes;

/// Bytes of a row's length.
const LENGTH_BYTES: usize = 4;
/// Rows larger than this are refused, as PostgreSQL refuses them.
const ROW_BYTES_MAX: usize = 1 << 30;

/// See the module's description.
pub(in crate::exec) struct Spool {
    file: Arc<SpillFile>,
    /// The chunks, in order; those before `freed` are no longer ours.
    chunks: Vec<u32>,
    freed: usize,
    /// Bytes behind the last full chunk.
    tail: Vec<u8>,
    bytes: u64,
    rows: u64,
}

impl Spool {
    pub fn new(file: &Arc<SpillFile>) -> Spool {
        let (chunks, tail) = (Vec::new(), Vec::new());
        Spool { file: file.clone(), chunks, freed: 0, tail, bytes: 0, rows: 0 }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Length of the stream so far: where the next row will begin.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a row, given in pieces.
    ///
    /// # Errors
    /// `54000` for a row of more than 1 GB; those of the file.
    pub fn push(&mut self, pieces: &[&[Datum]]) -> Result<()> {
        if pieces.iter().map(|piece| values_bytes(piece)).sum::<usize>() > ROW_BYTES_MAX {
            return Err(sql_error!(
                PROGRAM_LIMIT_EXCEEDED,
                "row is too large for a temporary file"
            ));
        }
        let start = self.tail.len();
        self.tail.extend_from_slice(&[0; LENGTH_BYTES]);
        for piece in pieces {
            write_values(piece, &mut self.tail);
        }
        let length = self.tail.len() - start - LENGTH_BYTES;
        self.tail[start..start + LENGTH_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
        self.bytes += (LENGTH_BYTES + length) as u64;
        self.rows += 1;
        if self.tail.len() >= self.file.chunk_bytes() { self.write_full() } else { Ok(()) }
    }

    /// Writes the chunks that are full.
    fn write_full(&mut self) -> Result<()> {
        let size = self.file.chunk_bytes();
        let full = self.tail.len() / size * size;
        for chunk in self.tail[..full].chunks(size) {
            self.chunks.push(self.file.write(chunk)?);
        }
        self.tail.drain(..full);
        // A large row does not make a large buffer for ever.
        self.tail.shrink_to(2 * size);
        Ok(())
    }

    /// No more rows will come: the rest is written and the buffer given back.
    pub fn seal(&mut self) -> Result<()> {
        if !self.tail.is_empty() {
            self.chunks.push(self.file.write(&self.tail)?);
        }
        self.tail = Vec::new();
        Ok(())
    }

    /// Reads all rows once, giving the file's chunks back on the way.
    pub fn drain(self) -> Drain {
        Drain { spool: self, at: Place::default() }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.chunks[self.freed..].iter().for_each(|chunk| self.file.free(*chunk));
    }
}

/// A reader's place in a spool, and the row there.
#[derive(Default)]
pub(super) struct Place {
    /// Where the next row begins.
    next: u64,
    /// Which of the spool's chunks `bytes` holds, from 1.
    loaded: usize,
    bytes: Vec<u8>,
    /// Rows that cross chunks are put together here.
    whole: Vec<u8>,
    pub row: Vec<Datum>,
}

impl Place {
    /// The next row will be the one that begins at this offset.
    pub fn seek(&mut self, offset: u64) {
        self.next = offset;
    }

    /// Reads the next row; false at the end of the stream. A spool that is sealed does not change any more.
    pub fn next(&mut self, spool: &Spool) -> Result<bool> {
        self.row.clear();
        if self.next >= spool.bytes {
            return Ok(false);
        }
        let mut length = [0; LENGTH_BYTES];
        self.copy(spool, &mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        let size = spool.file.chunk_bytes() as u64;
        let inside = (self.next % size) as usize;
        if inside + length <= size as usize {
            self.load(spool)?;
            let mut row = std::mem::take(&mut self.row);
            let held = self.held(spool);
            read_values(&held[inside..inside + length], &mut row);
            self.row = row;
            self.next += length as u64;
            return Ok(true);
        }
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        whole.resize(length, 0);
        self.copy(spool, &mut whole)?;
        read_values(&whole, &mut self.row);
        if whole.len() <= 2 * size as usize {
            self.whole = whole;
        }
        Ok(true)
    }

    /// Copies bytes from here on, and moves on.
    fn copy(&mut self, spool: &Spool, mut out: &mut [u8]) -> Result<()> {
        let size = spool.file.chunk_bytes() as u64;
        while !out.is_empty() {
            self.load(spool)?;
            let inside = (self.next % size) as usize;
            let held = self.held(spool);
            let count = out.len().min(held.len() - inside);
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(&held[inside..inside + count]);
            out = later;
            self.next += count as u64;
        }
        Ok(())
    }

    /// Has the chunk with the next byte in memory.
    fn load(&mut self, spool: &Spool) -> Result<()> {
        let size = spool.file.chunk_bytes() as u64;
        let chunk = (self.next / size) as usize;
        if chunk >= spool.chunks.len() {
            self.loaded = 0;
            return Ok(());
        }
        if self.loaded == chunk + 1 {
            return Ok(());
        }
        let there = (spool.bytes - chunk as u64 * size).min(size) as usize;
        self.bytes.resize(there, 0);
        self.loaded = 0;
        spool.file.read(spool.chunks[chunk], &mut self.bytes)?;
        self.loaded = chunk + 1;
        Ok(())
    }

    /// The chunk with the next byte: the one that was read, or what is not written yet.
    fn held<'a>(&'a self, spool: &'a Spool) -> &'a [u8] {
        if self.loaded > 0 { &self.bytes } else { &spool.tail }
    }

    /// Chunks that lie wholly behind.
    fn passed(&self, spool: &Spool) -> usize {
        (self.next / spool.file.chunk_bytes() as u64) as usize
    }
}

/// A spool being read for the last time.
pub(in crate::exec) struct Drain {
    spool: Spool,
    at: Place,
}

impl Drain {
    /// Reads the next row; false at the end.
    pub fn next(&mut self) -> Result<bool> {
        let more = self.at.next(&self.spool)?;
        let passed = self.at.passed(&self.spool).min(self.spool.chunks.len());
        while self.spool.freed < passed {
            self.spool.file.free(self.spool.chunks[self.spool.freed]);
            self.spool.freed += 1;
        }
        Ok(more)
    }

    /// The row that `next` has read.
    pub fn row(&self) -> &[Datum] {
        &self.at.row
    }

    /// Likewise, to be taken.
    pub fn row_mut(&mut self) -> &mut Vec<Datum> {
        &mut self.at.row
    }
}
