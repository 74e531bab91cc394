//! Files as memory: a window of address space, and what is mapped into it.
//!
//! A [`Window`] is address space without memory behind it, reserved once. Files' stretches come into places of it and
//! go again; who stores to a place must know by other means that something is mapped there. Stores are durable when
//! [`Mapping::sync`] has returned for their range, and may become so in any part and order before.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// What is behind a mapping, and so how its stores are made durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapKind {
    /// The system's cache of the file: durable when the system has written it (`msync`).
    Cached,
    /// Persistent memory itself (`MAP_SYNC`): durable when it has left the processor's caches. `Unsupported` where the
    /// file system or the processor can't.
    Persistent,
    /// Ordinary memory, treated as if it were persistent: nothing is ever durable. Only on a memory file system, where
    /// nothing is anyway; elsewhere `Unsupported`.
    PersistentEmulated,
}

/// Where a stretch of a file is mapped.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The window.
    pub window: &'a Arc<Window>,
    /// First byte in the window; a multiple of the system's page.
    pub at: usize,
    /// First byte in the file; a multiple of the system's page.
    pub offset: u64,
    /// Bytes; a multiple of the system's page. The file is long enough.
    pub bytes: usize,
    /// What the file is called, should the system fail to bring a page of it.
    pub name: &'a str,
}

/// A stretch of a file in memory, until dropped; then nothing is at its place.
pub trait Mapping: Send + Sync {
    /// Makes what was stored to `[offset, offset + bytes)` of the file durable. Stores of other threads count that
    /// happened before the call.
    fn sync(&self, offset: u64, bytes: u64) -> io::Result<()>;
}

/// Reserved address space. Touching a place where nothing is mapped ends the process.
pub struct Window {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a number; who stores to the memory behind it is the users' affair (raw pointers).
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl Window {
    /// Reserves `bytes` of address space, not memory.
    pub fn reserve(bytes: usize) -> io::Result<Arc<Window>> {
        // SAFETY: a fresh mapping touches no existing memory.
        let base = unsafe { map_at(ptr::null_mut(), bytes, libc::PROT_NONE, RESERVED, -1, 0)? };
        Ok(Arc::new(Window { base, bytes }))
    }

    /// Address of the window's byte `at`.
    #[inline]
    pub fn address(&self, at: usize) -> *mut u8 {
        assert!(at <= self.bytes, "a place lies in its window");
        // SAFETY: inside the reservation, or one past it.
        unsafe { self.base.as_ptr().add(at) }
    }

    /// Bytes reserved.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts fresh memory of this process, or a file's, at a place, instead of what is there.
    pub(super) fn put(
        &self,
        at: usize,
        bytes: usize,
        flags: libc::c_int,
        fd: libc::c_int,
        offset: u64,
    ) -> io::Result<()> {
        assert!(at + bytes <= self.bytes, "a place lies in its window");
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = flags | libc::MAP_FIXED;
        // SAFETY: replaces only pages of this reservation, to which there are no references, only addresses.
        unsafe { map_at(self.address(at), bytes, protection, flags, fd, offset) }.map(|_| ())
    }

    /// Leaves nothing at a place.
    pub(super) fn clear(&self, at: usize, bytes: usize) {
        assert!(at + bytes <= self.bytes, "a place lies in its window");
        let flags = RESERVED | libc::MAP_FIXED;
        // SAFETY: as in `put`.
        let cleared = unsafe { map_at(self.address(at), bytes, libc::PROT_NONE, flags, -1, 0) };
        cleared.expect("the system can forget a mapping");
    }
}

/// Flags of address space without memory.
const RESERVED: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// # Safety
/// With `MAP_FIXED`: nobody relies on what is mapped there now.
unsafe fn map_at(
    at: *mut u8,
    bytes: usize,
    protection: libc::c_int,
    flags: libc::c_int,
    fd: libc::c_int,
    offset: u64,
) -> io::Result<NonNull<u8>> {
    // SAFETY: by the caller's promise.
    let mapped = unsafe { libc::mmap(at.cast(), bytes, protection, flags, fd, offset as i64) };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(mapped.cast()).expect("a successful mapping is not at address zero"))
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: exactly what was reserved; mappings in it keep the window alive.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}
