//! The memory of the frames' pages: one anonymous mapping, zeroed lazily by the system.

use crate::page::{PAGE_BYTES, PageWords};
use std::io;
use std::ptr::{self, NonNull};

/// The system's large page; the mapping is aligned to it so that transparent huge pages can back it.
const HUGE_BYTES: usize = 2 << 20;

/// Memory of `count` pages.
pub(super) struct Pages {
    first: NonNull<PageWords>,
    count: usize,
    mapping: NonNull<libc::c_void>,
    mapped_bytes: usize,
}

// SAFETY: the mapping is plain memory of atomics.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps zeroed memory for `count` pages.
    pub fn new(count: usize) -> io::Result<Pages> {
        let bytes = count * PAGE_BYTES;
        let align = if bytes >= HUGE_BYTES { HUGE_BYTES } else { PAGE_BYTES };
        let mapped_bytes = bytes + align;
        // SAFETY: a fresh anonymous private mapping touches no existing memory.
        let mapping = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let skip = mapping.cast::<u8>().align_offset(align);
        // SAFETY: `skip` < `align`, and `align` bytes were mapped beyond what is used.
        let first = unsafe { mapping.cast::<u8>().add(skip) };
        if align == HUGE_BYTES {
            // SAFETY: advice about our own mapping; refusal is harmless.
            unsafe { libc::madvise(first.cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        let nonnull = "a successful mapping is not at address zero";
        Ok(Pages {
            first: NonNull::new(first.cast()).expect(nonnull),
            count,
            mapping: NonNull::new(mapping).expect(nonnull),
            mapped_bytes,
        })
    }

    /// The memory of page `index`.
    #[inline]
    pub fn get(&self, index: u32) -> &PageWords {
        assert!((index as usize) < self.count, "a frame's index is in range");
        // SAFETY: in range, aligned, zeroed at first (valid atomics), and unmapped only by Drop. Nobody
        // makes any other kind of reference to it.
        unsafe { self.first.add(index as usize).as_ref() }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; references were borrowed from self and are gone.
        unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped_bytes) };
    }
}
