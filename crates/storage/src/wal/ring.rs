//! The log's memory: a ring of bytes that inserters fill and the flusher empties.
//!
//! A byte of log lies at its LSN modulo the capacity. Who may touch it, by position:
//!
//! * at or above the reserved position: nobody;
//! * reserved, not yet complete: its inserter alone writes it;
//! * complete, not yet released by the flusher: nobody writes it, the flusher reads it;
//! * the flusher releases it by raising the limit of [`super::space`]; then it is the place of the byte
//!   one capacity later, which nobody reserves without a claim below that limit.
//!
//! Where the log's files are mapped (`wal_io`), the ring is the window that they are mapped into: a segment's bytes lie
//! at their LSN modulo the window, which has room for more segments than are ever announced and not yet finished. An
//! insert is the same copy; the flusher reads nothing. What is complete is in the file; the place becomes another's
//! when the maker maps a segment there, before it announces it.

use base::Lsn;
use base::disk::map::Window;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::Arc;

/// The log is written in whole blocks of this size, at multiples of it.
pub(super) const BLOCK_BYTES: u64 = 4096;

/// The ring's memory.
pub(super) struct Ring {
    bytes: *mut u8,
    mask: u64,
    /// Bytes of log that may be in it and not yet in the file.
    capacity: u64,
    memory: Memory,
}

/// What is behind the ring's addresses.
enum Memory {
    Own(Layout),
    /// The window, and what is mapped into it.
    Mapped {
        _window: Arc<Window>,
    },
}

// SAFETY: the memory is plain bytes; who may touch which is ruled by the callers of the unsafe methods,
// as the module says.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// A ring of `capacity` bytes, a power of two and at least a block.
    pub fn new(capacity: usize) -> Ring {
        assert!(capacity.is_power_of_two() && capacity as u64 >= BLOCK_BYTES);
        let layout = Layout::from_size_align(capacity, BLOCK_BYTES as usize).expect("a sane size");
        // SAFETY: the layout's size is not zero.
        let bytes = unsafe { alloc(layout) };
        if bytes.is_null() {
            handle_alloc_error(layout);
        }
        // Written once now: inserters shall not meet page faults under a latch.
        // SAFETY: the allocation is this long.
        unsafe { bytes.write_bytes(0, capacity) };
        let capacity = capacity as u64;
        Ring { bytes, mask: capacity - 1, capacity, memory: Memory::Own(layout) }
    }

    /// A ring over a window, of which no more than `capacity` bytes are in use beyond what the files have.
    pub fn over(window: &Arc<Window>, capacity: usize) -> Ring {
        let bytes = window.bytes();
        assert!(bytes.is_power_of_two() && bytes >= 2 * capacity, "a window leaves room");
        Ring {
            bytes: window.address(0),
            mask: bytes as u64 - 1,
            capacity: capacity as u64,
            memory: Memory::Mapped { _window: Arc::clone(window) },
        }
    }

    /// Bytes of log that inserters may be ahead of the flusher.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Copies `bytes` to the place of the log from `at` on, around the end if need be.
    ///
    /// # Safety
    /// The range is reserved by the caller under a claim, and not yet complete.
    #[inline]
    pub unsafe fn put(&self, at: Lsn, bytes: &[u8]) {
        let offset = (at.0 & self.mask) as usize;
        let first = bytes.len().min((self.mask + 1) as usize - offset);
        // SAFETY: both ranges lie inside the ring, and where that is a window the claim is for announced segments, which
        // are mapped; `bytes` is no part of the ring; by the caller's promise nobody else reads or writes these places
        // now.
        unsafe {
            let (head, tail) = bytes.split_at(first);
            std::ptr::copy_nonoverlapping(head.as_ptr(), self.bytes.add(offset), head.len());
            if !tail.is_empty() {
                std::ptr::copy_nonoverlapping(tail.as_ptr(), self.bytes, tail.len());
            }
        }
    }

    /// The log's bytes from `from` on, up to `to` or the ring's end, whichever comes first.
    ///
    /// # Safety
    /// The range is complete, and not released while the slice lives. The ring is no window.
    pub unsafe fn get(&self, from: Lsn, to: Lsn) -> &[u8] {
        debug_assert!(matches!(self.memory, Memory::Own(_)), "who maps has nothing to write");
        let offset = (from.0 & self.mask) as usize;
        let length = ((to.0 - from.0) as usize).min((self.mask + 1) as usize - offset);
        // SAFETY: inside the allocation, and by the caller's promise not written meanwhile.
        unsafe { std::slice::from_raw_parts(self.bytes.add(offset), length) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Memory::Own(layout) = self.memory {
            // SAFETY: allocated with this layout in `new`.
            unsafe { dealloc(self.bytes, layout) };
        }
    }
}
