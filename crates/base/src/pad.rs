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

/// For a compile-time assertion beside what is shared between cores: a padded `T` begins a line and takes one alone. A
/// field too many would have its neighbours' writers share, or double what each of an array of them takes.
pub const fn is_one_line<T>() -> bool {
    size_of::<Padded<T>>() == LINE_BYTES && align_of::<Padded<T>>() == LINE_BYTES
}

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
