//! Length words of variable-width values.
//!
//! | first byte | meaning |
//! |---|---|
//! | `xxxxxxx1`, not `0xff` | short: the upper seven bits are the length, 0 to 126; the bytes follow |
//! | `0xff` | the value is elsewhere: 15 bytes follow that say where (`external.rs`) |
//! | `xxxxxx00` | first byte of a little-endian `u32`: length · 4, plain bytes follow |
//! | `xxxxxx10` | the same for a compressed value: length · 4 counts the `u32` raw length and the LZ4 block that follow |

use super::external::{EXTERNAL_BYTES, External};

/// Longest value with a one-byte length.
const SHORT_MAX: usize = 126;
/// First byte of what stands for a value that is elsewhere.
pub(super) const EXTERNAL: u8 = 0xff;
/// Values longer than this are compressed when that makes them smaller.
const COMPRESS_ABOVE: usize = 2048;

const TAG_PLAIN: u32 = 0b00;
const TAG_COMPRESSED: u32 = 0b10;

/// A variable-width value as it lies in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored<'a> {
    Plain(&'a [u8]),
    /// An LZ4 block of a value of `raw_len` bytes.
    Compressed {
        raw_len: usize,
        block: &'a [u8],
    },
    /// It is not in the row.
    External(External),
}

impl Stored<'_> {
    /// Calls `f` with the value's bytes, decompressed if need be.
    #[inline]
    pub fn with_bytes<R>(self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Stored::Plain(bytes) => f(bytes),
            Stored::Compressed { raw_len, block } => {
                let raw = lz4_flex::block::decompress(block, raw_len)
                    .expect("a compressed value on a checksummed page decompresses");
                f(&raw)
            }
            Stored::External(_) => panic!("a value out of line is fetched before it is looked at"),
        }
    }
}

/// The value that starts at `bytes[0]` and the bytes it occupies with its length word.
#[inline]
pub fn read_varlen(bytes: &[u8]) -> (Stored<'_>, usize) {
    let first = bytes[0];
    if first & 1 == 1 {
        if first == EXTERNAL {
            return (Stored::External(External::read(bytes)), EXTERNAL_BYTES);
        }
        let len = usize::from(first >> 1);
        return (Stored::Plain(&bytes[1..1 + len]), 1 + len);
    }
    let word = long_word(bytes);
    let len = (word >> 2) as usize;
    let body = &bytes[4..4 + len];
    let stored = if word & 0b11 == TAG_COMPRESSED {
        let (raw_len, block) = body.split_at(4);
        let raw_len = u32::from_le_bytes(raw_len.try_into().expect("four bytes"));
        Stored::Compressed { raw_len: raw_len as usize, block }
    } else {
        Stored::Plain(body)
    };
    (stored, 4 + len)
}

/// Bytes that the value at `bytes[0]` occupies with its length word.
#[inline]
pub(super) fn size(bytes: &[u8]) -> usize {
    let first = bytes[0];
    if first & 1 == 1 {
        if first == EXTERNAL { EXTERNAL_BYTES } else { 1 + usize::from(first >> 1) }
    } else {
        4 + (long_word(bytes) >> 2) as usize
    }
}

fn long_word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"))
}

/// Bytes of so many with their length word.
pub(super) fn with_length_word(len: usize) -> usize {
    len + if len <= SHORT_MAX { 1 } else { 4 }
}

/// Appends `value` with its length word, compressed if it is large and that helps.
pub(super) fn write_varlen(value: &[u8], out: &mut Vec<u8>) {
    if value.len() > COMPRESS_ABOVE {
        let block = lz4_flex::block::compress(value);
        if block.len() + 4 < value.len() {
            return write_stored(Stored::Compressed { raw_len: value.len(), block: &block }, out);
        }
    }
    write_stored(Stored::Plain(value), out);
}

/// Appends a value as it is stored, with its length word.
pub(super) fn write_stored(value: Stored<'_>, out: &mut Vec<u8>) {
    match value {
        Stored::Plain(bytes) if bytes.len() <= SHORT_MAX => {
            out.push((bytes.len() as u8) << 1 | 1);
            out.extend_from_slice(bytes);
        }
        Stored::Plain(bytes) => {
            out.extend_from_slice(&word(bytes.len(), TAG_PLAIN));
            out.extend_from_slice(bytes);
        }
        Stored::Compressed { raw_len, block } => {
            out.extend_from_slice(&word(block.len() + 4, TAG_COMPRESSED));
            out.extend_from_slice(&(raw_len as u32).to_le_bytes());
            out.extend_from_slice(block);
        }
        Stored::External(external) => external.write(out),
    }
}

fn word(len: usize, tag: u32) -> [u8; 4] {
    assert!(len < 1 << 30, "values are under 1 GiB");
    ((len as u32) << 2 | tag).to_le_bytes()
}
