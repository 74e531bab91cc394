//! Reading a log record back: a checked view over its bytes.

use super::image::{self, ImageShape};
use super::kind::Kind;
use super::record::{
    BLOCK_HEADER_BYTES, FORK_MASK, HEADER_BYTES, IMAGE, MAX_BLOCKS, MAX_RECORD_BYTES, RECORD_ALIGN,
    WILL_INIT,
};
use base::crc::crc32c_append;
use base::{BlockNo, Fork, Lsn, LsnRange, PageId, RelId, Xid};

/// A record in memory, its checksum verified.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// Where it lies in the log.
    pub at: LsnRange,
    /// What it tells.
    pub kind: Kind,
    /// The room's own byte.
    pub info: u8,
    /// On whose behalf, or [`Xid::INVALID`].
    pub xid: Xid,
    block_count: u8,
    /// All of it, as it lies in the log.
    bytes: &'a [u8],
    /// Everything after the header, without padding.
    body: &'a [u8],
    /// Main data: what follows the blocks.
    pub data: &'a [u8],
}

/// A page that a record changed.
#[derive(Clone, Copy, Debug)]
pub struct BlockView<'a> {
    /// Which page.
    pub page: PageId,
    /// Redo starts from a zeroed page.
    pub will_init: bool,
    /// What redo needs; empty if there is an image.
    pub bytes: &'a [u8],
    image: Option<&'a [u8]>,
}

/// The length in a record's first bytes, padded, or `None` if no record can have it.
pub(super) fn padded_length(header: &[u8; HEADER_BYTES]) -> Option<usize> {
    let length = u32_at(header, 4) as usize;
    let fits = (HEADER_BYTES..=MAX_RECORD_BYTES - RECORD_ALIGN).contains(&length);
    fits.then(|| length.next_multiple_of(RECORD_ALIGN))
}

impl<'a> RecordView<'a> {
    /// Verifies the record that fills `bytes` (padding included) and starts at `start`; `None` if it is
    /// not intact, not of this place, or not of this timeline's epoch.
    pub(super) fn verify(bytes: &'a [u8], start: Lsn, seed: u32) -> Option<RecordView<'a>> {
        let header: &[u8; HEADER_BYTES] = bytes.get(..HEADER_BYTES)?.try_into().ok()?;
        if padded_length(header)? != bytes.len() {
            return None;
        }
        let length = u32_at(header, 4) as usize;
        let crc = crc32c_append(seed, &bytes[4..length]);
        if crc32c_append(crc, &start.0.to_le_bytes()) != u32_at(header, 0) {
            return None;
        }
        // What was sealed but does not parse was never a record.
        RecordView::parse(bytes, start)
    }

    /// A record whose checksum was verified before.
    pub(crate) fn parse(bytes: &'a [u8], start: Lsn) -> Option<RecordView<'a>> {
        let header: &[u8; HEADER_BYTES] = bytes.get(..HEADER_BYTES)?.try_into().ok()?;
        let length = u32_at(header, 4) as usize;
        let body = &bytes[HEADER_BYTES..length];
        let mut view = RecordView {
            at: LsnRange { start, end: Lsn(start.0 + bytes.len() as u64) },
            kind: Kind(header[16]),
            info: header[17],
            xid: Xid(u64_at(header, 8)),
            block_count: header[18],
            bytes,
            body,
            data: body,
        };
        if usize::from(view.block_count) > MAX_BLOCKS {
            return None;
        }
        for _ in 0..view.block_count {
            view.data = split_block(view.data)?.1;
        }
        Some(view)
    }

    /// The pages it names, in the order in which they were named.
    pub fn blocks(&self) -> impl Iterator<Item = BlockView<'a>> + use<'a> {
        let mut rest = self.body;
        (0..self.block_count).map(move |_| {
            let (block, tail) =
                split_block(rest).expect("blocks were parsed when the record was verified");
            rest = tail;
            block
        })
    }

    /// The record as it lies in the log, padding included.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Bytes of the record in the log without padding, and without page images.
    pub fn lengths(&self) -> (usize, usize) {
        let all = HEADER_BYTES + self.body.len();
        (all, all - self.blocks().map(|block| block.image_bytes()).sum::<usize>())
    }

    /// How many pages it names.
    pub fn block_count(&self) -> usize {
        usize::from(self.block_count)
    }

    /// The `i`-th page it names. Panics if it names fewer: a record of that kind has it.
    pub fn block(&self, i: usize) -> BlockView<'a> {
        self.blocks().nth(i).expect("a record names the pages that its kind says")
    }
}

impl BlockView<'_> {
    /// Whether the whole page is in the record.
    pub fn has_image(&self) -> bool {
        self.image.is_some()
    }

    /// What a dump tells of the page's image; `None` if there is none.
    pub fn image_shape(&self) -> Option<ImageShape> {
        self.image.and_then(image::shape)
    }

    /// Bytes of the page's image as it lies in the log; 0 if there is none.
    pub fn image_bytes(&self) -> usize {
        self.image.map_or(0, <[u8]>::len)
    }

    /// Writes the page's image into `page`; false if the record has none, or one that can't be unpacked.
    pub fn restore_image(&self, page: &mut [u8; image::PAGE_BYTES]) -> bool {
        self.image.is_some_and(|image| image::restore(image, page))
    }
}

/// Parses one block reference off the front.
fn split_block(bytes: &[u8]) -> Option<(BlockView<'_>, &[u8])> {
    let header = bytes.get(..BLOCK_HEADER_BYTES)?;
    let flags = header[8];
    let length = usize::from(u16::from_le_bytes([header[9], header[10]]));
    let content = bytes.get(BLOCK_HEADER_BYTES..BLOCK_HEADER_BYTES + length)?;
    let has_image = flags & IMAGE != 0;
    if has_image && !image::is_image(content) {
        return None;
    }
    let page = PageId {
        rel: RelId(u32_at(header, 0)),
        fork: Fork::from_u8(flags & FORK_MASK)?,
        block: BlockNo(u32_at(header, 4)),
    };
    let block = BlockView {
        page,
        will_init: flags & WILL_INIT != 0,
        bytes: if has_image { &[] } else { content },
        image: has_image.then_some(content),
    };
    Some((block, &bytes[BLOCK_HEADER_BYTES + length..]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
