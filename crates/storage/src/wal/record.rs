//! Building a log record: borrowed pieces, one checksum, no copy before the ring.
//!
//! ```text
//! record   := header block* main-data            padded with zeros to 8 bytes
//! header   := crc u32 | length u32 | xid u64 | kind u8 | info u8 | blocks u8 | zero u8      (20 bytes)
//! block    := relation u32 | block u32 | fork and flags u8 | length u16 | bytes             (11 + length)
//! ```
//!
//! All numbers are little-endian. `length` is that of the record without the padding. The checksum covers
//! timeline, epoch, everything after itself, and the record's start LSN, in this order: a record that is
//! intact but lies elsewhere, or was written before a recovery, does not verify.

use super::kind::Kind;
use base::crc::{crc32c, crc32c_append};
use base::{Lsn, PageId, Xid};

/// Bytes of a record's header.
pub const HEADER_BYTES: usize = 20;
/// Bytes of a block reference, without what it carries.
pub const BLOCK_HEADER_BYTES: usize = 11;
/// Records start at multiples of this.
pub const RECORD_ALIGN: usize = 8;
/// Most pages that one record may change.
pub const MAX_BLOCKS: usize = 8;
/// Longest record, padding included.
pub const MAX_RECORD_BYTES: usize = 128 * 1024;
/// Bytes that describe a page image, before its bytes.
pub const IMAGE_HEADER_BYTES: usize = 5;
/// Most log bytes that an image adds to a record.
pub const MAX_IMAGE_BYTES: usize = IMAGE_HEADER_BYTES + PAGE_BYTES;

/// Size of the pages that records speak of.
const PAGE_BYTES: usize = 8192;
/// Pieces that a record may be assembled from.
const MAX_PIECES: usize = 24;

/// Flag of a block reference: redo starts from a zeroed page.
pub(super) const WILL_INIT: u8 = 0x04;
/// Flag of a block reference: its bytes are an image of the page *after* the change.
pub(super) const IMAGE: u8 = 0x08;
/// The fork's bits.
pub(super) const FORK_MASK: u8 = 0x03;

const _: () = assert!(MAX_BLOCKS * (MAX_IMAGE_BYTES + BLOCK_HEADER_BYTES) < MAX_RECORD_BYTES);
const _: () = assert!(MAX_IMAGE_BYTES <= u16::MAX as usize);

/// A page named in a record: a latched page, which may owe the log an image of itself, or its bare id.
pub trait LoggedPage {
    /// Which page.
    fn page_id(&self) -> PageId;
    /// The page as it is now, if this is its first change since it was last clean on disk and images
    /// protect against torn pages (or a backup runs). Called after the page was changed.
    fn image(&self) -> Option<PageImage>;
}

impl LoggedPage for PageId {
    fn page_id(&self) -> PageId {
        *self
    }

    fn image(&self) -> Option<PageImage> {
        None
    }
}

impl<T: LoggedPage + ?Sized> LoggedPage for &T {
    fn page_id(&self) -> PageId {
        (**self).page_id()
    }

    fn image(&self) -> Option<PageImage> {
        (**self).image()
    }
}

/// A copied page, with the unused middle left out.
pub struct PageImage {
    bytes: Vec<u8>,
}

impl PageImage {
    /// Copies `page` without `hole` (the bytes between line pointers and rows, which need not be zero).
    pub fn new(page: &[u8; PAGE_BYTES], hole: std::ops::Range<usize>) -> PageImage {
        assert!(hole.start <= hole.end && hole.end <= PAGE_BYTES, "a hole lies inside its page");
        let mut bytes = Vec::with_capacity(MAX_IMAGE_BYTES - hole.len());
        bytes.push(0); // how it is compressed: not
        bytes.extend_from_slice(&(hole.start as u16).to_le_bytes());
        bytes.extend_from_slice(&(hole.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&page[..hole.start]);
        bytes.extend_from_slice(&page[hole.end..]);
        PageImage { bytes }
    }
}

/// A block reference under construction.
struct Block {
    header: [u8; BLOCK_HEADER_BYTES],
    /// Where its pieces begin.
    first_piece: u8,
    image: Option<PageImage>,
}

/// A record being assembled. Borrows everything; build it after the pages were changed.
pub struct Record<'a> {
    kind: Kind,
    info: u8,
    xid: Xid,
    blocks: [Option<Block>; MAX_BLOCKS],
    block_count: u8,
    pieces: [&'a [u8]; MAX_PIECES],
    piece_count: u8,
    /// Where main data begins among the pieces; only known once there is some.
    main_from: Option<u8>,
    length: u32,
}

impl<'a> Record<'a> {
    /// An empty record of this kind; `xid` is the transaction on whose behalf, or [`Xid::INVALID`].
    pub fn new(kind: Kind, xid: Xid) -> Record<'a> {
        Record {
            kind,
            info: 0,
            xid,
            blocks: [const { None }; MAX_BLOCKS],
            block_count: 0,
            pieces: [&[]; MAX_PIECES],
            piece_count: 0,
            main_from: None,
            length: HEADER_BYTES as u32,
        }
    }

    /// A byte for the room's own use (variants of one kind).
    pub fn info(mut self, info: u8) -> Record<'a> {
        self.info = info;
        self
    }

    /// Names a changed page and what its redo needs. If the page owes an image, the image replaces
    /// `bytes`: redo of a block may use only its own bytes and main data.
    pub fn block(self, page: impl LoggedPage, bytes: &'a [u8]) -> Record<'a> {
        self.add_block(&page, 0, bytes)
    }

    /// Names a page that redo builds anew from zeros.
    pub fn init_block(self, page: impl LoggedPage, bytes: &'a [u8]) -> Record<'a> {
        self.add_block(&page, WILL_INIT, bytes)
    }

    /// Names a page and carries all of it.
    pub fn image_block(mut self, page: PageId, image: PageImage) -> Record<'a> {
        self.push_block(page, WILL_INIT | IMAGE, image.bytes.len());
        self.last_block().image = Some(image);
        self
    }

    /// More bytes for the block named last.
    pub fn more(mut self, bytes: &'a [u8]) -> Record<'a> {
        assert!(self.main_from.is_none() && self.block_count > 0, "blocks come before main data");
        if self.last_block().image.is_none() {
            let old =
                u16::from_le_bytes([self.last_block().header[9], self.last_block().header[10]]);
            let length =
                u16::try_from(usize::from(old) + bytes.len()).expect("a block carries < 64 KiB");
            self.last_block().header[9..11].copy_from_slice(&length.to_le_bytes());
            self.push_piece(bytes);
        }
        self
    }

    /// Main data: what concerns no page or several. May be called more than once.
    pub fn data(mut self, bytes: &'a [u8]) -> Record<'a> {
        self.main_from.get_or_insert(self.piece_count);
        self.push_piece(bytes);
        self
    }

    /// Log bytes that the record takes, padding included.
    pub fn padded_len(&self) -> usize {
        (self.length as usize).next_multiple_of(RECORD_ALIGN)
    }

    /// The kind it was built with.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    fn add_block(mut self, page: &impl LoggedPage, flags: u8, bytes: &'a [u8]) -> Record<'a> {
        match page.image() {
            Some(image) => self.image_block(page.page_id(), image),
            None => {
                self.push_block(page.page_id(), flags, 0);
                self.more(bytes)
            }
        }
    }

    fn push_block(&mut self, page: PageId, flags: u8, length: usize) {
        assert!(self.main_from.is_none(), "blocks come before main data");
        let mut header = [0; BLOCK_HEADER_BYTES];
        header[0..4].copy_from_slice(&page.rel.0.to_le_bytes());
        header[4..8].copy_from_slice(&page.block.0.to_le_bytes());
        header[8] = page.fork as u8 | flags;
        header[9..11].copy_from_slice(&(length as u16).to_le_bytes());
        let at = usize::from(self.block_count);
        assert!(at < MAX_BLOCKS, "a record names at most {MAX_BLOCKS} pages");
        self.blocks[at] = Some(Block { header, first_piece: self.piece_count, image: None });
        self.block_count += 1;
        self.grow(BLOCK_HEADER_BYTES + length);
    }

    fn last_block(&mut self) -> &mut Block {
        let last = usize::from(self.block_count) - 1;
        self.blocks[last].as_mut().expect("blocks below the count are there")
    }

    fn push_piece(&mut self, bytes: &'a [u8]) {
        if !bytes.is_empty() {
            assert!(usize::from(self.piece_count) < MAX_PIECES, "too many pieces in a record");
            self.pieces[usize::from(self.piece_count)] = bytes;
            self.piece_count += 1;
            self.grow(bytes.len());
        }
    }

    fn grow(&mut self, by: usize) {
        let length = self.length as usize + by;
        assert!(
            length <= MAX_RECORD_BYTES - RECORD_ALIGN,
            "a record is at most {MAX_RECORD_BYTES} bytes"
        );
        self.length = length as u32;
    }

    /// Checksums the content, ready to be placed. `seed` is [`crc_seed`]'s.
    pub(super) fn seal(&self, seed: u32) -> Sealed<'_, 'a> {
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&self.length.to_le_bytes());
        header[8..16].copy_from_slice(&self.xid.0.to_le_bytes());
        header[16] = self.kind.0;
        header[17] = self.info;
        header[18] = self.block_count;
        let mut crc = crc32c_append(seed, &header[4..]);
        self.for_each_body_piece(|piece| crc = crc32c_append(crc, piece));
        Sealed { record: self, header, content_crc: crc }
    }

    /// Everything after the header, in order.
    #[inline]
    fn for_each_body_piece(&self, mut f: impl FnMut(&[u8])) {
        let count = usize::from(self.block_count);
        let main_from = usize::from(self.main_from.unwrap_or(self.piece_count));
        for (i, block) in self.blocks[..count].iter().enumerate() {
            let block = block.as_ref().expect("blocks below the count are there");
            f(&block.header);
            if let Some(image) = &block.image {
                f(&image.bytes);
            }
            let next = self.blocks[..count].get(i + 1).and_then(Option::as_ref);
            let end = next.map_or(main_from, |b| usize::from(b.first_piece));
            self.pieces[usize::from(block.first_piece)..end].iter().for_each(|piece| f(piece));
        }
        self.pieces[main_from..usize::from(self.piece_count)].iter().for_each(|piece| f(piece));
    }
}

/// A record whose content is checksummed; only its place is missing.
pub(super) struct Sealed<'r, 'a> {
    record: &'r Record<'a>,
    header: [u8; HEADER_BYTES],
    content_crc: u32,
}

impl Sealed<'_, '_> {
    /// Completes the checksum for this place and hands out every byte in order, padding included.
    pub(super) fn write_at(mut self, start: Lsn, mut put: impl FnMut(&[u8])) {
        let crc = crc32c_append(self.content_crc, &start.0.to_le_bytes());
        self.header[0..4].copy_from_slice(&crc.to_le_bytes());
        put(&self.header);
        self.record.for_each_body_piece(&mut put);
        let padding = self.record.padded_len() - self.record.length as usize;
        put(&[0; RECORD_ALIGN][..padding]);
    }
}

/// Where checksums of a timeline's epoch begin.
pub(super) fn crc_seed(timeline: u32, epoch: u32) -> u32 {
    let mut bytes = [0; 8];
    bytes[0..4].copy_from_slice(&timeline.to_le_bytes());
    bytes[4..8].copy_from_slice(&epoch.to_le_bytes());
    crc32c(&bytes)
}

/// Upper bound of the log bytes of `records` records that name `blocks` pages and carry `payload` bytes
/// in total (block bytes and main data). Page images are not in it: under `full_page_writes` each page that
/// may owe one needs [`MAX_IMAGE_BYTES`] more (`crate::journal` adds them).
pub const fn record_bound(records: usize, blocks: usize, payload: usize) -> usize {
    records * (HEADER_BYTES + RECORD_ALIGN) + blocks * BLOCK_HEADER_BYTES + payload
}
