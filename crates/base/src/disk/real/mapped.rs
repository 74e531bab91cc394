//! Files mapped into memory.

use super::{persist, sigbus};
use crate::disk::map::{MapKind, Mapping, Place, Window};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

struct RealMapping {
    window: Arc<Window>,
    at: usize,
    offset: u64,
    bytes: usize,
    kind: MapKind,
    /// Before the mapping goes, its pages are no longer anybody's.
    watched: Option<sigbus::Watched>,
}

/// Maps a stretch of `file`, with its pages at hand: who stores there later waits for no device.
pub(super) fn map(
    file: &fs::File,
    place: &Place<'_>,
    kind: MapKind,
) -> io::Result<Box<dyn Mapping>> {
    let Place { window, at, offset, bytes, name } = *place;
    check(file, place, kind)?;
    let flags = match kind {
        MapKind::Persistent => libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC,
        MapKind::Cached | MapKind::PersistentEmulated => libc::MAP_SHARED,
    };
    window.put(at, bytes, flags, file.as_raw_fd(), offset).map_err(|e| match e.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EINVAL) if kind == MapKind::Persistent => {
            unsupported("it does not map persistent memory directly (DAX)")
        }
        _ => e,
    })?;
    let start = window.address(at).addr();
    let mapping = RealMapping {
        window: Arc::clone(window),
        at,
        offset,
        bytes,
        kind,
        watched: Some(sigbus::watch(start..start + bytes, name)),
    };
    mapping.fetch()?;
    Ok(Box::new(mapping))
}

fn unsupported(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}

fn check(file: &fs::File, place: &Place<'_>, kind: MapKind) -> io::Result<()> {
    let page = page_bytes() as u64;
    let starts = [place.at as u64, place.offset, place.bytes as u64];
    if starts.iter().any(|n| !n.is_multiple_of(page)) {
        return Err(unsupported(&format!("the system's pages are of {page} bytes")));
    }
    if kind != MapKind::Cached && !persist::is_supported() {
        return Err(unsupported("this processor can't be told to write its caches back"));
    }
    if kind == MapKind::PersistentEmulated && !is_memory(file)? {
        return Err(unsupported("it is not a memory file system (tmpfs)"));
    }
    Ok(())
}

fn page_bytes() -> usize {
    // SAFETY: a plain question to the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Whether the file lies in a memory file system.
fn is_memory(file: &fs::File) -> io::Result<bool> {
    const RAMFS_MAGIC: i64 = 0x8584_58f6;
    // SAFETY: plain bytes, for which zeros are a value.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the system fills in what it is given, which is as large as it expects.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut about) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok([libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&about.f_type))
}

impl RealMapping {
    /// Has the system bring the pages. Those of the cache for reading only: made ready for writing, they would count
    /// as changed and be written, as they are, before long.
    fn fetch(&self) -> io::Result<()> {
        let advice = match self.kind {
            MapKind::Cached => libc::MADV_POPULATE_READ,
            MapKind::Persistent | MapKind::PersistentEmulated => libc::MADV_POPULATE_WRITE,
        };
        let start = self.window.address(self.at);
        // SAFETY: advice about our own mapping, which changes no byte.
        if unsafe { libc::madvise(start.cast(), self.bytes, advice) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(error);
        }
        // Systems before Linux 5.14: whoever looks at a page brings it.
        for page in (0..self.bytes).step_by(page_bytes()) {
            // SAFETY: mapped above; a byte that others may write is looked at and forgotten.
            unsafe { start.add(page).read_volatile() };
        }
        Ok(())
    }
}

impl Mapping for RealMapping {
    fn sync(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let skip = offset.checked_sub(self.offset).expect("the range is mapped") as usize;
        assert!(skip + bytes as usize <= self.bytes, "the range is mapped");
        if self.kind != MapKind::Cached {
            // SAFETY: mapped, as was asserted.
            unsafe { persist::write_back(self.window.address(self.at + skip), bytes as usize) };
            return Ok(());
        }
        let first = skip - skip % page_bytes();
        let (start, length) =
            (self.window.address(self.at + first).addr(), skip - first + bytes as usize);
        super::blocking(move || {
            // SAFETY: a plain system call on a mapping that this one's owner keeps while it waits.
            match unsafe { libc::msync(start as *mut libc::c_void, length, libc::MS_SYNC) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        })
    }
}

impl Drop for RealMapping {
    fn drop(&mut self) {
        self.watched = None;
        self.window.clear(self.at, self.bytes);
    }
}
