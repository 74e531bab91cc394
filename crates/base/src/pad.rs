//! Padding to cache lines by type, so that alignment can't get lost in an allocation.

use std::ops::{Deref, DerefMut};

/// Alignment of everything shared between cores: two 64-byte lines, because x86 prefetches them in pairs.
pub const LINE_BYTES: usize = 128;

/// A value alone on its cache lines.
#[derive(Default, Debug)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

const _: () = assert!(align_of::<Padded<u8>>() == LINE_BYTES);
const _: () = assert!(size_of::<Padded<u8>>() == LINE_BYTES);

impl<T> Deref for Padded<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
