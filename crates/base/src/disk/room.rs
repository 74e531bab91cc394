//! Bytes to read into and write from, aligned as direct I/O wants them.

use std::alloc::{self, Layout};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// What direct I/O wants address, offset and length to be multiples of: no device in use has larger blocks.
pub const DIRECT_ALIGN: usize = 4096;

/// Bytes on the heap whose first is aligned for direct I/O.
pub struct Room {
    first: NonNull<u8>,
    layout: Layout,
}

// SAFETY: it owns plain bytes.
unsafe impl Send for Room {}
// SAFETY: as above; through a shared reference they are only read.
unsafe impl Sync for Room {}

impl Room {
    /// `bytes` zeros; more than none.
    pub fn new(bytes: usize) -> Room {
        assert!(bytes > 0, "a room is not empty");
        let layout = Layout::from_size_align(bytes, DIRECT_ALIGN).expect("sizes are sensible");
        // SAFETY: the layout's size is not zero.
        let first = unsafe { alloc::alloc_zeroed(layout) };
        let Some(first) = NonNull::new(first) else { alloc::handle_alloc_error(layout) };
        Room { first, layout }
    }
}

impl Deref for Room {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: allocated with this size, initialised, and owned.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody has a reference any more.
        unsafe { alloc::dealloc(self.first.as_ptr(), self.layout) };
    }
}

/// Whether direct I/O can be done with these bytes at this place.
pub(super) fn is_aligned(bytes: &[u8], offset: u64) -> bool {
    let align = DIRECT_ALIGN;
    bytes.as_ptr().addr().is_multiple_of(align)
        && bytes.len().is_multiple_of(align)
        && offset.is_multiple_of(align as u64)
}
