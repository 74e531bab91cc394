//! CRC-32C of a page as it lies on disk, mixed with the page's address.
//!
//! Covers all bytes with the checksum field as zero, preceded by relation, fork and block, so a page
//! written to the wrong place fails too. A page of zeros is valid: it was extended and never written.
//! Computed on private copies only, when a page is written and when it was read.

use super::header::CHECKSUM;
use super::words::PAGE_BYTES;
use base::{PageId, crc};
use std::fmt;

/// A page read back differs from what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChecksumMismatch {
    /// In the page.
    pub stored: u32,
    /// Of the bytes found.
    pub computed: u32,
}

impl fmt::Display for ChecksumMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "checksum is {:08x} but should be {:08x}", self.stored, self.computed)
    }
}

impl std::error::Error for ChecksumMismatch {}

fn compute(bytes: &[u8; PAGE_BYTES], id: PageId) -> u32 {
    let mut address = [0; 12];
    address[..4].copy_from_slice(&id.rel.0.to_le_bytes());
    address[4..8].copy_from_slice(&id.block.0.to_le_bytes());
    address[8] = id.fork as u8;
    let crc = crc::crc32c(&address);
    let crc = crc::crc32c_append(crc, &bytes[..CHECKSUM]);
    let crc = crc::crc32c_append(crc, &[0; 4]);
    crc::crc32c_append(crc, &bytes[CHECKSUM + 4..])
}

/// Stores the checksum of `bytes`, about to be written as page `id`. A zero page stays zero.
pub fn seal(bytes: &mut [u8; PAGE_BYTES], id: PageId) {
    if bytes.iter().any(|b| *b != 0) {
        let crc = compute(bytes, id);
        bytes[CHECKSUM..CHECKSUM + 4].copy_from_slice(&crc.to_le_bytes());
    }
}

/// Checks `bytes`, read as page `id`.
pub fn verify(bytes: &[u8; PAGE_BYTES], id: PageId) -> Result<(), ChecksumMismatch> {
    let field = &bytes[CHECKSUM..CHECKSUM + 4];
    let stored = u32::from_le_bytes(field.try_into().expect("four bytes"));
    let computed = compute(bytes, id);
    if stored == computed || bytes.iter().all(|b| *b == 0) {
        return Ok(());
    }
    Err(ChecksumMismatch { stored, computed })
}
