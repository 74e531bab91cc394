//! Building a log record: borrowed pieces, one checksum, at most one copy before the ring.
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

use super::image::{MAX_IMAGE_BYTES, PageImage, Terms};
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
/// Pieces that a record may be assembled from.
const MAX_PIECES: usize = 16;

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
    /// The page as it is now, if the log has no image of it since it was last clean on disk. Asked for only
    /// where images protect against torn pages, after the page was changed; whoever asks logs it.
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

/// A block reference under construction.
#[derive(Clone, Copy)]
struct Block {
    header: [u8; BLOCK_HEADER_BYTES],
    /// Where its pieces begin.
    first_piece: u8,
}

const NO_BLOCK: Block = Block { header: [0; BLOCK_HEADER_BYTES], first_piece: 0 };

/// A record being assembled. Borrows everything; build it after the pages were changed.
///
/// It is handed through its builder by value, so it is kept small, and the builder inline.
pub struct Record<'a> {
    length: u32,
    kind: Kind,
    info: u8,
    terms: Terms,
    block_count: u8,
    piece_count: u8,
    /// Where main data begins among the pieces, or [`NO_MAIN`].
    main_from: u8,
    xid: Xid,
    blocks: [Block; MAX_BLOCKS],
    pieces: [&'a [u8]; MAX_PIECES],
    /// Images, by block; rarely any.
    images: Vec<(u8, PageImage)>,
}

/// There is no main data yet.
const NO_MAIN: u8 = u8::MAX;

impl<'a> Record<'a> {
    /// An empty record of this kind; `xid` is the transaction on whose behalf, or [`Xid::INVALID`]. It carries
    /// no images but those that it is given.
    #[inline]
    pub fn new(kind: Kind, xid: Xid) -> Record<'a> {
        Record::on(Terms::NONE, kind, xid)
    }

    /// As [`Record::new`], with images as `terms` say.
    #[inline]
    pub fn on(terms: Terms, kind: Kind, xid: Xid) -> Record<'a> {
        Record {
            length: HEADER_BYTES as u32,
            kind,
            info: 0,
            terms,
            block_count: 0,
            piece_count: 0,
            main_from: NO_MAIN,
            xid,
            blocks: [NO_BLOCK; MAX_BLOCKS],
            pieces: [&[]; MAX_PIECES],
            images: Vec::new(),
        }
    }

    /// A byte for the room's own use (variants of one kind).
    #[inline]
    pub fn info(mut self, info: u8) -> Record<'a> {
        self.info = info;
        self
    }

    /// Names a changed page and what its redo needs. If the page owes an image and the record pays, the image
    /// replaces `bytes`: redo of a block may use only its own bytes and main data.
    #[inline]
    pub fn block(mut self, page: impl LoggedPage, bytes: &'a [u8]) -> Record<'a> {
        self.add_block(page.page_id(), self.owed(&page), 0, bytes);
        self
    }

    /// Names a page that redo builds anew from zeros.
    #[inline]
    pub fn init_block(mut self, page: impl LoggedPage, bytes: &'a [u8]) -> Record<'a> {
        self.add_block(page.page_id(), self.owed(&page), WILL_INIT, bytes);
        self
    }

    /// Names a page and carries all of it.
    pub fn image_block(mut self, page: PageId, image: PageImage) -> Record<'a> {
        self.add_block(page, Some(image), WILL_INIT, &[]);
        self
    }

    /// More bytes for the block named last.
    #[inline]
    pub fn more(mut self, bytes: &'a [u8]) -> Record<'a> {
        self.add_bytes(bytes);
        self
    }

    /// Main data: what concerns no page or several. May be called more than once.
    #[inline]
    pub fn data(mut self, bytes: &'a [u8]) -> Record<'a> {
        if self.main_from == NO_MAIN {
            self.main_from = self.piece_count;
        }
        self.push_piece(bytes);
        self
    }

    /// Log bytes that the record takes, padding included.
    #[inline]
    pub fn padded_len(&self) -> usize {
        (self.length as usize).next_multiple_of(RECORD_ALIGN)
    }

    /// The kind it was built with.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    #[inline]
    fn owed(&self, page: &impl LoggedPage) -> Option<PageImage> {
        if self.terms.pays { page.image() } else { None }
    }

    /// How many whole pages it carries.
    #[inline]
    pub(super) fn image_count(&self) -> usize {
        self.images.len()
    }

    #[inline]
    fn add_block(&mut self, page: PageId, image: Option<PageImage>, flags: u8, bytes: &'a [u8]) {
        assert!(self.main_from == NO_MAIN, "blocks come before main data");
        let at = usize::from(self.block_count);
        assert!(at < MAX_BLOCKS, "a record names at most {MAX_BLOCKS} pages");
        let header = &mut self.blocks[at].header;
        header[0..4].copy_from_slice(&page.rel.0.to_le_bytes());
        header[4..8].copy_from_slice(&page.block.0.to_le_bytes());
        header[8] = page.fork as u8 | flags;
        self.blocks[at].first_piece = self.piece_count;
        self.block_count += 1;
        self.grow(BLOCK_HEADER_BYTES);
        match image {
            None => self.add_bytes(bytes),
            Some(image) => self.add_image(image),
        }
    }

    #[cold]
    fn add_image(&mut self, image: PageImage) {
        let image = image.compressed(self.terms.compression);
        let last = self.block_count - 1;
        let header = &mut self.blocks[usize::from(last)].header;
        header[8] |= WILL_INIT | IMAGE;
        header[9..11].copy_from_slice(&(image.bytes().len() as u16).to_le_bytes());
        self.grow(image.bytes().len());
        self.images.push((last, image));
    }

    #[inline]
    fn add_bytes(&mut self, bytes: &'a [u8]) {
        assert!(self.main_from == NO_MAIN && self.block_count > 0, "blocks come before main data");
        let header = &mut self.blocks[usize::from(self.block_count) - 1].header;
        if header[8] & IMAGE == 0 {
            let old = u16::from_le_bytes([header[9], header[10]]);
            let length = usize::from(old) + bytes.len();
            let length = u16::try_from(length).expect("a block carries less than 64 KiB");
            header[9..11].copy_from_slice(&length.to_le_bytes());
            self.push_piece(bytes);
        }
    }

    #[inline]
    fn push_piece(&mut self, bytes: &'a [u8]) {
        if !bytes.is_empty() {
            let at = usize::from(self.piece_count);
            assert!(at < MAX_PIECES, "a record is made of at most {MAX_PIECES} pieces");
            self.pieces[at] = bytes;
            self.piece_count += 1;
            self.grow(bytes.len());
        }
    }

    #[inline]
    fn grow(&mut self, by: usize) {
        let length = self.length as usize + by;
        assert!(
            length <= MAX_RECORD_BYTES - RECORD_ALIGN,
            "a record is at most {MAX_RECORD_BYTES} bytes"
        );
        self.length = length as u32;
    }

    /// Checksums the content, ready to be placed. `seed` is [`crc_seed`]'s.
    #[inline]
    pub(super) fn seal<'r>(&'r self, seed: u32, scratch: &'r mut Scratch) -> Sealed<'r, 'a> {
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&self.length.to_le_bytes());
        header[8..16].copy_from_slice(&self.xid.0.to_le_bytes());
        header[16] = self.kind.0;
        header[17] = self.info;
        header[18] = self.block_count;
        if self.length as usize <= SMALL_BYTES && self.images.is_empty() {
            self.assemble(&header, scratch);
            let covered = &scratch.0[SCRATCH_FROM + 4..SCRATCH_FROM + self.length as usize];
            let content_crc = crc32c_append(seed, covered);
            let whole = &mut scratch.0[SCRATCH_FROM..SCRATCH_FROM + self.padded_len()];
            return Sealed::Small { whole, content_crc };
        }
        let mut crc = crc32c_append(seed, &header[4..]);
        self.for_each_body_piece(&mut |piece| crc = crc32c_append(crc, piece));
        Sealed::Large { record: self, header, content_crc: crc }
    }

    /// Puts a small record without images together.
    #[inline]
    fn assemble(&self, header: &[u8; HEADER_BYTES], scratch: &mut Scratch) {
        let out = &mut scratch.0[SCRATCH_FROM..];
        out[..HEADER_BYTES].copy_from_slice(header);
        let (mut at, mut piece) = (HEADER_BYTES, 0);
        let mut put_pieces = |out: &mut [u8], mut at: usize, until: usize| {
            for bytes in &self.pieces[piece..until] {
                out[at..at + bytes.len()].copy_from_slice(bytes);
                at += bytes.len();
            }
            piece = until;
            at
        };
        let all = usize::from(self.piece_count);
        let main_from = all.min(usize::from(self.main_from));
        let count = usize::from(self.block_count);
        for (i, block) in self.blocks[..count].iter().enumerate() {
            out[at..at + BLOCK_HEADER_BYTES].copy_from_slice(&block.header);
            let next = self.blocks[..count].get(i + 1);
            let until = next.map_or(main_from, |next| usize::from(next.first_piece));
            at = put_pieces(out, at + BLOCK_HEADER_BYTES, until);
        }
        at = put_pieces(out, at, all);
        debug_assert_eq!(at, self.length as usize, "a record is as long as its pieces");
    }

    /// Everything after the header, in order.
    fn for_each_body_piece(&self, f: &mut impl FnMut(&[u8])) {
        let (count, pieces) = (usize::from(self.block_count), usize::from(self.piece_count));
        let main_from = pieces.min(usize::from(self.main_from));
        let mut images = self.images.iter();
        for i in 0..count {
            let block = &self.blocks[i];
            f(&block.header);
            if block.header[8] & IMAGE != 0 {
                f(images.next().expect("a block that says so has an image").1.bytes());
            }
            let next =
                if i + 1 < count { self.blocks[i + 1].first_piece.into() } else { main_from };
            self.pieces[usize::from(block.first_piece)..next].iter().for_each(|piece| f(piece));
        }
        self.pieces[main_from..pieces].iter().for_each(|piece| f(piece));
    }
}

/// Records up to this length are put together before they are checksummed and placed: one checksum over
/// aligned bytes and one copy cost less than many over a few bytes each.
const SMALL_BYTES: usize = 504;
/// The record begins here in the scratch, so that what the checksum covers is aligned.
const SCRATCH_FROM: usize = 4;

/// Room for a small record, on the inserter's stack.
#[repr(align(8))]
pub(super) struct Scratch([u8; SCRATCH_FROM + SMALL_BYTES + RECORD_ALIGN]);

impl Scratch {
    #[inline]
    pub fn new() -> Scratch {
        Scratch([0; SCRATCH_FROM + SMALL_BYTES + RECORD_ALIGN])
    }
}

/// A record whose content is checksummed; only its place is missing.
pub(super) enum Sealed<'r, 'a> {
    /// Put together, padding included.
    Small { whole: &'r mut [u8], content_crc: u32 },
    /// Still in pieces.
    Large { record: &'r Record<'a>, header: [u8; HEADER_BYTES], content_crc: u32 },
}

impl Sealed<'_, '_> {
    /// Completes the checksum for this place and hands out every byte in order, padding included.
    #[inline]
    pub(super) fn write_at(self, start: Lsn, mut put: impl FnMut(&[u8])) {
        let complete = |crc| crc32c_append(crc, &start.0.to_le_bytes()).to_le_bytes();
        match self {
            Sealed::Small { whole, content_crc } => {
                whole[0..4].copy_from_slice(&complete(content_crc));
                put(whole);
            }
            Sealed::Large { record, mut header, content_crc } => {
                header[0..4].copy_from_slice(&complete(content_crc));
                put(&header);
                record.for_each_body_piece(&mut put);
                let padding = record.padded_len() - record.length as usize;
                put(&[0; RECORD_ALIGN][..padding]);
            }
        }
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
