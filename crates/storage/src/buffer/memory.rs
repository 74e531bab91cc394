//! The memory of the frames' pages: one anonymous mapping, zeroed lazily by the system.
//!
//! Large pages come in two kinds: *reserved* ones, of which the administrator has set so many aside (`vm.nr_hugepages`), and
//! *transparent* ones, which the system makes as it goes where a mapping is aligned and has asked.

use super::HugePages;
use crate::page::{PAGE_BYTES, PageWords};
use std::io;
use std::ptr::{self, NonNull};

/// The system's large page; the mapping is aligned to it so that transparent ones can back it.
const HUGE_BYTES: usize = 2 << 20;

/// Memory of `count` pages.
pub(crate) struct Pages {
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
    ///
    /// # Errors
    /// The system's refusal; with [`HugePages::On`] also where it has not as many large pages set aside.
    pub fn new(count: usize, huge: HugePages) -> io::Result<Pages> {
        let bytes = count * PAGE_BYTES;
        if huge != HugePages::Off {
            match Pages::reserved(count, bytes.next_multiple_of(HUGE_BYTES)) {
                Err(refusal) if huge == HugePages::On => return Err(refusal),
                Err(_) => {}
                pages => return pages,
            }
        }
        let align = if bytes >= HUGE_BYTES { HUGE_BYTES } else { PAGE_BYTES };
        let mapped_bytes = bytes + align;
        let mapping = map(mapped_bytes, libc::MAP_NORESERVE)?;
        let skip = mapping.cast::<u8>().align_offset(align);
        // SAFETY: `skip` < `align`, and `align` bytes were mapped beyond what is used.
        let first = unsafe { mapping.cast::<u8>().add(skip) };
        if align == HUGE_BYTES {
            let advice = match huge {
                HugePages::Off => libc::MADV_NOHUGEPAGE,
                HugePages::Try | HugePages::On => libc::MADV_HUGEPAGE,
            };
            // SAFETY: advice about our own mapping; refusal is harmless.
            unsafe { libc::madvise(first.cast(), bytes, advice) };
        }
        Ok(Pages::of(mapping, first, count, mapped_bytes))
    }

    /// In large pages that were set aside; all of them are the mapping's from now on, so that none is missing later.
    fn reserved(count: usize, bytes: usize) -> io::Result<Pages> {
        let mapping = map(bytes, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB)?;
        Ok(Pages::of(mapping, mapping.cast(), count, bytes))
    }

    fn of(mapping: *mut libc::c_void, first: *mut u8, count: usize, mapped_bytes: usize) -> Pages {
        let nonnull = "a successful mapping is not at address zero";
        Pages {
            first: NonNull::new(first.cast()).expect(nonnull),
            count,
            mapping: NonNull::new(mapping).expect(nonnull),
            mapped_bytes,
        }
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

/// A fresh mapping.
fn map(bytes: usize, flags: libc::c_int) -> io::Result<*mut libc::c_void> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous private mapping touches no existing memory.
    let mapping = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if mapping == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(mapping)
}
