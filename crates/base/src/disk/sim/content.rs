//! What a file contains: blocks shared between a disk and the crash images made from it, so that an image
//! costs what it differs in.

use std::sync::Arc;

/// Bytes shared as one.
pub(super) const BLOCK_BYTES: usize = 4096;

type Block = Arc<[u8; BLOCK_BYTES]>;

static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// A file's bytes. Blocks that were never written, or only with zeros, take no memory.
#[derive(Clone, Default)]
pub(super) struct Content {
    length: usize,
    /// `None` reads as zeros. Bytes behind `length` are zeros.
    blocks: Arc<Vec<Option<Block>>>,
}

/// The bytes of a write, kept for the journal.
#[derive(Clone)]
pub(super) enum Written {
    /// So many zeros.
    Zeros(usize),
    /// These.
    Bytes(Arc<[u8]>),
}

impl Written {
    pub(super) fn new(bytes: &[u8]) -> Written {
        match is_zero(bytes) {
            true => Written::Zeros(bytes.len()),
            false => Written::Bytes(bytes.into()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Written::Zeros(length) => *length,
            Written::Bytes(bytes) => bytes.len(),
        }
    }

    /// Applies the part `[from, from + length)` of a write that went to `offset`.
    pub(super) fn apply(&self, content: &mut Content, offset: u64, from: usize, length: usize) {
        let at = offset as usize + from;
        match self {
            Written::Zeros(_) => content.write_zeros(at, length),
            Written::Bytes(bytes) => content.write(at, &bytes[from..from + length]),
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(BLOCK_BYTES).all(|piece| *piece == ZEROS[..piece.len()])
}

impl Content {
    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Cuts or extends with zeros.
    pub(super) fn resize(&mut self, length: usize) {
        let blocks = Arc::make_mut(&mut self.blocks);
        blocks.resize(length.div_ceil(BLOCK_BYTES), None);
        if length < self.length
            && !length.is_multiple_of(BLOCK_BYTES)
            && let Some(Some(last)) = blocks.last_mut()
        {
            Arc::make_mut(last)[length % BLOCK_BYTES..].fill(0);
        }
        self.length = length;
    }

    /// Copies out what there is from `offset` on; tells how much that is.
    pub(super) fn read(&self, offset: usize, buf: &mut [u8]) -> usize {
        let length = buf.len().min(self.length.saturating_sub(offset));
        for (at, done, n) in pieces(offset, length) {
            let bytes = self.blocks[at / BLOCK_BYTES].as_deref().unwrap_or(&ZEROS);
            buf[done..done + n].copy_from_slice(&bytes[at % BLOCK_BYTES..][..n]);
        }
        length
    }

    /// The bytes of a block that lies in the file.
    pub(super) fn block(&self, index: usize) -> &[u8; BLOCK_BYTES] {
        self.written_block(index).unwrap_or(&ZEROS)
    }

    /// As `block`; `None` where there are only zeros.
    pub(super) fn written_block(&self, index: usize) -> Option<&[u8; BLOCK_BYTES]> {
        self.blocks[index].as_deref()
    }

    /// Overwrites, extending with zeros as files do.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.reach(offset + bytes.len());
        let blocks = Arc::make_mut(&mut self.blocks);
        for (at, done, n) in pieces(offset, bytes.len()) {
            let block = blocks[at / BLOCK_BYTES].get_or_insert_with(|| Arc::new(ZEROS));
            Arc::make_mut(block)[at % BLOCK_BYTES..][..n].copy_from_slice(&bytes[done..done + n]);
        }
    }

    fn write_zeros(&mut self, offset: usize, length: usize) {
        self.reach(offset + length);
        let blocks = Arc::make_mut(&mut self.blocks);
        for (at, _, n) in pieces(offset, length) {
            let block = &mut blocks[at / BLOCK_BYTES];
            match block {
                None => {}
                Some(_) if n == BLOCK_BYTES => *block = None,
                Some(bytes) => Arc::make_mut(bytes)[at % BLOCK_BYTES..][..n].fill(0),
            }
        }
    }

    fn reach(&mut self, length: usize) {
        if self.length < length {
            self.resize(length);
        }
    }
}

/// Splits a stretch at the blocks' borders: position, bytes before it, length.
fn pieces(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done;
        let n = (BLOCK_BYTES - at % BLOCK_BYTES).min(length - done);
        let piece = (at, done, n);
        done += n;
        (n > 0).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random operations on a `Content` and on plain bytes give the same, and clones keep what they had.
    #[test]
    fn it_behaves_like_plain_bytes() {
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut content, mut plain) = (Content::default(), Vec::new());
        let mut kept: Vec<(Content, Vec<u8>)> = Vec::new();
        for _ in 0..2000 {
            let (offset, length) = (rng.usize(..30_000), rng.usize(..9000));
            match rng.u8(..4) {
                0 => {
                    content.resize(offset);
                    plain.resize(offset, 0);
                }
                1 => kept.push((content.clone(), plain.clone())),
                op => {
                    let bytes = vec![if op == 2 { 0 } else { rng.u8(1..) }; length];
                    let from = rng.usize(..=length);
                    Written::new(&bytes).apply(&mut content, offset as u64, from, length - from);
                    if plain.len() < offset + length {
                        plain.resize(offset + length, 0);
                    }
                    plain[offset + from..offset + length].copy_from_slice(&bytes[from..]);
                }
            }
            kept.truncate(20);
        }
        kept.push((content, plain));
        for (content, plain) in kept {
            let mut buf = vec![7; plain.len() + 10];
            assert_eq!(content.read(0, &mut buf), plain.len());
            assert_eq!(content.len(), plain.len());
            assert_eq!(buf[..plain.len()], plain[..]);
        }
    }
}
