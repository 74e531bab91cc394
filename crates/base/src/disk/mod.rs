//! Files as the engine sees them: positional reads and writes, sync, rename without replacing.
//!
//! Calls look blocking; on a fiber they park instead of blocking the thread. Two implementations:
//! [`real::RealDisk`] and [`sim::SimDisk`].

pub mod map;
pub mod real;
mod room;
pub mod sim;

pub use room::{DIRECT_ALIGN, Room};

use map::{MapKind, Mapping, Place};
use std::io;
use std::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// It must exist.
    Existing,
    /// Made if absent.
    Create,
    /// It must not exist.
    CreateNew,
}

/// How a write is made durable, where both are asked for at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum SyncMethod {
    /// `pwrite`, then `fdatasync`.
    #[default]
    Fdatasync = 0,
    /// One call that returns when the bytes are durable, as with `O_DSYNC`.
    OpenDatasync = 1,
    /// A write and a linked sync, ordered by one call.
    IoUring = 2,
}

/// A directory tree; paths are relative to its root, with `/` between names.
pub trait Disk: Send + Sync {
    /// Opens a file for reading and writing.
    fn open(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>>;
    /// As [`Disk::open`], for reads and writes that go past the system's cache: address, length and offset of each
    /// are multiples of [`DIRECT_ALIGN`].
    fn open_direct(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        self.open(path, how)
    }
    /// Whether files in this directory can be opened with [`Disk::open_direct`].
    fn check_direct(&self, _directory: &str) -> io::Result<()> {
        Ok(())
    }
    /// Renames; fails with `AlreadyExists` if `to` exists.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;
    /// Renames, replacing `to` atomically.
    fn rename_over(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;
    /// Makes a directory and its parents; fine if it exists.
    fn create_dir(&self, path: &str) -> io::Result<()>;
    /// Makes the creations, renames and removals in a directory durable. `""` is the root.
    fn sync_dir(&self, path: &str) -> io::Result<()>;
    /// Names of the files and directories in a directory, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    /// Whether a file or directory of this name is there.
    fn exists(&self, path: &str) -> io::Result<bool>;
    /// Closes a file that has been removed, without waiting for the system to free what it held. Never parks.
    fn discard(&self, file: Arc<dyn File>) {
        drop(file);
    }
    /// Whether [`File::write_durably`] can be done so here.
    fn check_sync_method(&self, _how: SyncMethod) -> io::Result<()> {
        Ok(())
    }
    /// Takes an exclusive, process-lifetime lock on a file made for it. `WouldBlock` if another has it.
    fn lock(&self, path: &str) -> io::Result<DirectoryLock>;
}

/// Keeps the lock of [`Disk::lock`] until dropped.
pub struct DirectoryLock {
    _held: Box<dyn Send + Sync>,
}

/// What is done with the room of a [`StartedRead`] when it is over: with how many bytes were read, fewer than asked
/// for only at the end of the file. Runs on any thread, or before [`File::start_read`] returns; must not park.
pub type ReadDone = Box<dyn FnOnce(io::Result<usize>, Room) + Send>;

/// A read that goes on while its asker does something else.
pub struct StartedRead {
    room: Room,
    bytes: usize,
    offset: u64,
    done: ReadDone,
}

impl StartedRead {
    /// Of `bytes` from `offset` on, to the beginning of `room`.
    pub fn new(room: Room, bytes: usize, offset: u64, done: ReadDone) -> StartedRead {
        assert!(bytes <= room.len(), "a read fits its room");
        StartedRead { room, bytes, offset, done }
    }

    /// Where from.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where to.
    pub fn target(&mut self) -> &mut [u8] {
        &mut self.room[..self.bytes]
    }

    /// It is over.
    pub fn end(self, got: io::Result<usize>) {
        (self.done)(got, self.room);
    }
}

/// An open file.
pub trait File: Send + Sync {
    /// Reads up to `buf.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Starts a read; see [`StartedRead`]. Where a disk can do no better it is over when this returns.
    fn start_read(&self, mut read: StartedRead) {
        let offset = read.offset();
        let got = self.read_at(read.target(), offset);
        read.end(got);
    }
    /// Writes all of `buf`.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Appends `bytes` zeros at `offset`, the file's end, with real space behind them: a disk without room is
    /// met here, not when they are overwritten.
    fn extend(&self, offset: u64, bytes: u64) -> io::Result<()> {
        extend_by_writing(self, offset, bytes)
    }
    /// Has the system begin to bring this range of what was written to the device, and does not wait for it: nothing is
    /// durable by that, and the time until [`File::sync`] may be long. Does nothing where the system can't.
    ///
    /// # Errors
    /// What the start of it met. The next [`File::sync`] meets it again, and what happens later.
    fn start_writeback(&self, _offset: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    /// Makes the content, and the length, durable (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    /// Has the system drop what its cache has of the file, as far as that was written, so that the next read asks the device.
    /// A disk without such a cache has nothing to do.
    fn drop_cached(&self) -> io::Result<()> {
        Ok(())
    }
    /// Writes all of `buf` and makes it durable.
    fn write_durably(&self, buf: &[u8], offset: u64, _how: SyncMethod) -> io::Result<()> {
        self.write_at(buf, offset)?;
        self.sync()
    }
    /// Cuts or extends with zeros.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// When it was written last, wall-clock microseconds since 1970, where that is known.
    fn modified_micros(&self) -> io::Result<Option<i64>> {
        Ok(None)
    }
    /// Whether it is empty.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Maps a stretch of the file into memory, its pages at hand. `Unsupported` says, in its words, what can't be done
    /// so here. The file must not become shorter meanwhile.
    fn map(&self, _place: &Place<'_>, _kind: MapKind) -> io::Result<Box<dyn Mapping>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "its files can't be mapped"))
    }
    /// The real descriptor, where there is one: for memory mapping and asynchronous I/O.
    fn raw_fd(&self) -> Option<std::os::fd::RawFd> {
        None
    }
}

/// [`File::extend`] where the system can't promise space without writing.
fn extend_by_writing(file: &(impl File + ?Sized), offset: u64, bytes: u64) -> io::Result<()> {
    /// Bytes of one write.
    const PIECE_BYTES: u64 = 512 << 10;
    let zeros = Room::new(bytes.clamp(1, PIECE_BYTES) as usize);
    let end = offset + bytes;
    let mut at = offset;
    while at < end {
        let length = (end - at).min(PIECE_BYTES);
        file.write_at(&zeros[..length as usize], at)?;
        at += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
