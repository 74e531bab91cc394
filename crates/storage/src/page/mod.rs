//! The 8 KiB page: typed views over shared words, header, line pointers, checksum.
//!
//! A page in the buffer cache is read while others may write it (optimistic readers, hint bits), so no
//! reference to its *bytes* ever exists. A page is an array of 1024 atomic words; every access is a relaxed
//! load or store of whole words, and what orders them is the frame's latch or version, never the page.
//! That makes this room free of `unsafe`: a racing read yields an old, a new or a mixed value, and whoever
//! reads without a latch throws the value away when the frame's version has moved.
//!
//! See the README beside this file for the bytes.

#[cfg(test)]
pub(crate) mod changing;
mod checksum;
mod header;
mod holes;
mod items;
#[cfg(feature = "lab-hash-lines")]
pub mod lines;
mod words;

pub use checksum::{ChecksumMismatch, seal, verify};
pub use header::{HEADER_BYTES, LAYOUT_VERSION, PageKind};
pub use items::{Item, LINE_BYTES, LineFlags, LinePointer, MAX_LINES, align8};
pub use words::{PAGE_BYTES, PageBuf, PageBytes, PageMut, PageView, PageWords, WORDS};

#[cfg(test)]
mod tests;
