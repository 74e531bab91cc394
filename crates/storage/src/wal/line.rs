//! How what insertions share lies in memory: each on cache lines of its own.
//!
//! For the laboratory alone, features put it otherwise: `lab-wal-packed` has the slots lie beside each other and the word
//! beside what every insertion reads, `lab-wal-64` and `lab-wal-256` give each a line of so many bytes. The tidy check
//! sees to it that no release has one.

/// A value that begins a line and takes it to its end, where lines are asked for.
#[cfg_attr(feature = "lab-wal-packed", repr(align(8)))]
#[cfg_attr(feature = "lab-wal-64", repr(align(64)))]
#[cfg_attr(feature = "lab-wal-256", repr(align(256)))]
#[cfg_attr(
    not(any(feature = "lab-wal-packed", feature = "lab-wal-64", feature = "lab-wal-256")),
    repr(align(128))
)]
pub(super) struct Line<T>(pub T);

#[cfg(not(any(feature = "lab-wal-packed", feature = "lab-wal-64", feature = "lab-wal-256")))]
const _: () = assert!(align_of::<Line<u8>>() == base::pad::LINE_BYTES);

impl<T> std::ops::Deref for Line<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
