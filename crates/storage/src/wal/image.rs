//! Whole pages in log records: copied without their unused middle, packed if that is chosen and saves room.
//!
//! ```text
//! image := how u8 (0: plain, 1: lz4, 2: zstd) | hole start u16 | hole length u16 | page without the hole, packed
//! ```
//!
//! What was packed is as long as the page without the hole. Which way was used is in each image, so the
//! setting can change at any time.

use super::kind::Kind;
use super::record::Record;
use base::Xid;
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use std::cell::RefCell;
use std::ops::Range;
use zstd::bulk::{Compressor, Decompressor};

/// Size of the pages that records speak of.
pub(super) const PAGE_BYTES: usize = 8192;
/// Bytes that describe a page image, before its bytes.
const HEADER_BYTES: usize = 5;
/// Most log bytes that an image adds to a record.
pub const MAX_IMAGE_BYTES: usize = HEADER_BYTES + PAGE_BYTES;

const _: () = assert!(MAX_IMAGE_BYTES <= u16::MAX as usize);

/// The fastest of those that pack better than lz4: it happens under a page's latch.
const ZSTD_LEVEL: i32 = 1;

/// How images are packed, `wal_compression`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Compression {
    /// Not at all.
    #[default]
    Off = 0,
    /// Some 400 MB/s, to about half.
    Lz4 = 1,
    /// Slower, smaller.
    Zstd = 2,
}

impl Compression {
    /// What PostgreSQL calls it.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Off => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }

    /// Of the code that images have.
    pub(crate) fn from_code(code: u8) -> Option<Compression> {
        [Compression::Off, Compression::Lz4, Compression::Zstd]
            .into_iter()
            .find(|c| *c as u8 == code)
    }
}

/// What the records of one critical section do about images; settled when log space is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Pages that owe the log an image pay with these records: there is a claim for it.
    pub(crate) pays: bool,
    /// How images are packed.
    pub(crate) compression: Compression,
}

impl Terms {
    /// No images but those that a record is given.
    pub(crate) const NONE: Terms = Terms { pays: false, compression: Compression::Off };

    /// An empty record on these terms.
    #[inline]
    pub fn record<'a>(self, kind: Kind, xid: Xid) -> Record<'a> {
        Record::on(self, kind, xid)
    }
}

/// A copied page, with the unused middle left out.
pub struct PageImage {
    bytes: Vec<u8>,
}

impl PageImage {
    /// Copies `page` without `hole` (the bytes between line pointers and rows, which need not be zero).
    pub fn new(page: &[u8; PAGE_BYTES], hole: Range<usize>) -> PageImage {
        assert!(hole.start <= hole.end && hole.end <= PAGE_BYTES, "a hole lies inside its page");
        let mut bytes = Vec::with_capacity(MAX_IMAGE_BYTES - hole.len());
        bytes.push(Compression::Off as u8);
        bytes.extend_from_slice(&(hole.start as u16).to_le_bytes());
        bytes.extend_from_slice(&(hole.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&page[..hole.start]);
        bytes.extend_from_slice(&page[hole.end..]);
        PageImage { bytes }
    }

    /// As it goes into the log.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Packed, if that makes it shorter.
    pub(super) fn compressed(self, how: Compression) -> PageImage {
        if how == Compression::Off {
            return self;
        }
        let (header, content) = self.bytes.split_at(HEADER_BYTES);
        let mut bytes = vec![0; HEADER_BYTES + get_maximum_output_size(content.len())];
        let length = match pack(how, content, &mut bytes[HEADER_BYTES..]) {
            Some(length) if length < content.len() => length,
            _ => return self,
        };
        bytes[..HEADER_BYTES].copy_from_slice(header);
        bytes[0] = how as u8;
        bytes.truncate(HEADER_BYTES + length);
        PageImage { bytes }
    }
}

/// What there is to tell about an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageShape {
    /// How it is packed.
    pub compression: Compression,
    /// The unused middle that was left out: where it begins, and its bytes.
    pub hole: (u16, u16),
    /// Bytes that packing has saved.
    pub saved_bytes: usize,
}

/// Reads an image's first bytes; `None` if they are not those of an image.
pub(super) fn shape(image: &[u8]) -> Option<ImageShape> {
    let (header, content) = image.split_at_checked(HEADER_BYTES)?;
    let compression = Compression::from_code(header[0])?;
    let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let hole = (number(1), number(3));
    let plain = PAGE_BYTES.checked_sub(hole.1.into())?;
    Some(ImageShape { compression, hole, saved_bytes: plain.saturating_sub(content.len()) })
}

thread_local! {
    /// With its working memory, a megabyte or so that is costly to make anew.
    static ZSTD: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    /// The same of recovery and of a log's readers, a tenth of it.
    static UNZSTD: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Length of `content` packed into `room`, which is as long as lz4 may need; `None` if it can't be packed.
fn pack(how: Compression, content: &[u8], room: &mut [u8]) -> Option<usize> {
    match how {
        Compression::Off => None,
        Compression::Lz4 => compress_into(content, room).ok(),
        Compression::Zstd => ZSTD.with_borrow_mut(|zstd| {
            if zstd.is_none() {
                *zstd = Some(Compressor::new(ZSTD_LEVEL).ok()?);
            }
            zstd.as_mut()?.compress_to_buffer(content, room).ok()
        }),
    }
}

/// Whether the bytes are a page image: a known packing, a hole inside the page, a length that can be.
pub(super) fn is_image(bytes: &[u8]) -> bool {
    let Some(how) = bytes.first().and_then(|code| Compression::from_code(*code)) else {
        return false;
    };
    if bytes.len() < HEADER_BYTES {
        return false;
    }
    let hole = hole(bytes);
    let (length, content) = (bytes.len() - HEADER_BYTES, PAGE_BYTES.checked_sub(hole.len()));
    hole.end <= PAGE_BYTES
        && content.is_some_and(|content| match how {
            Compression::Off => length == content,
            Compression::Lz4 | Compression::Zstd => length < content,
        })
}

/// Writes the image into `page`; false if it can't be unpacked to just what belongs there.
pub(super) fn restore(image: &[u8], page: &mut [u8; PAGE_BYTES]) -> bool {
    let hole = hole(image);
    let (packed, length) = (&image[HEADER_BYTES..], PAGE_BYTES - hole.len());
    let mut content = [0; PAGE_BYTES];
    let content = &mut content[..length];
    let unpacked = match Compression::from_code(image[0]) {
        Some(Compression::Off) => {
            content.copy_from_slice(packed);
            true
        }
        Some(Compression::Lz4) => {
            matches!(decompress_into(packed, content), Ok(n) if n == length)
        }
        Some(Compression::Zstd) => UNZSTD.with_borrow_mut(|zstd| {
            if zstd.is_none() {
                *zstd = Decompressor::new().ok();
            }
            let unpacked = zstd.as_mut().map(|zstd| zstd.decompress_to_buffer(packed, content));
            matches!(unpacked, Some(Ok(n)) if n == length)
        }),
        None => false,
    };
    if unpacked {
        page[..hole.start].copy_from_slice(&content[..hole.start]);
        page[hole.clone()].fill(0);
        page[hole.end..].copy_from_slice(&content[hole.start..]);
    }
    unpacked
}

fn hole(image: &[u8]) -> Range<usize> {
    let at = |i: usize| usize::from(u16::from_le_bytes([image[i], image[i + 1]]));
    at(1)..at(1) + at(3)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    fn page(rng: &mut fastrand::Rng, repeats: usize) -> [u8; PAGE_BYTES] {
        let mut page = [0; PAGE_BYTES];
        for chunk in page.chunks_mut(64) {
            let bytes = [rng.u8(..), rng.u8(..)];
            chunk.iter_mut().enumerate().for_each(|(i, b)| {
                *b = if i < repeats { bytes[i % 2] } else { rng.u8(..) };
            });
        }
        page
    }

    #[test]
    fn images_come_back_however_they_are_packed() {
        let mut rng = fastrand::Rng::with_seed(3);
        for how in [Compression::Off, Compression::Lz4, Compression::Zstd] {
            for round in 0..60 {
                // From noise, which does not pack, to much of the same.
                let mut page = page(&mut rng, round);
                let hole = match round % 3 {
                    0 => 0..0,
                    1 => rng.usize(..4000)..rng.usize(4000..=PAGE_BYTES),
                    _ => 0..PAGE_BYTES,
                };
                page[hole.clone()].fill(0);
                let plain = PAGE_BYTES - hole.len() + HEADER_BYTES;
                let image = PageImage::new(&page, hole).compressed(how);
                assert!(is_image(image.bytes()));
                assert!(image.bytes().len() <= plain);
                let packs = how != Compression::Off && round == 51;
                assert!(!packs || image.bytes().len() < plain / 2, "{}", image.bytes().len());
                let mut back = [1; PAGE_BYTES];
                assert!(restore(image.bytes(), &mut back));
                assert!(back == page);
            }
        }
    }

    #[test]
    fn garbled_images_are_refused_or_restore_something() {
        let mut rng = fastrand::Rng::with_seed(4);
        let page = page(&mut rng, 60);
        for how in [Compression::Off, Compression::Lz4, Compression::Zstd] {
            let image = PageImage::new(&page, 100..3000).compressed(how);
            for _ in 0..2000 {
                let mut bytes = image.bytes().to_vec();
                let at = rng.usize(..bytes.len());
                bytes[at] = rng.u8(..);
                bytes.truncate(rng.usize(..=bytes.len()).max(bytes.len() / 2));
                if is_image(&bytes) {
                    restore(&bytes, &mut [0; PAGE_BYTES]);
                }
            }
        }
    }
}
