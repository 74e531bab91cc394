//! The content of a packed segment: all its pages in one checksummed piece.
//!
//! ```text
//! file    := magic 8 bytes | log u32 | pages that are there, a bit each, u32 | segment u64
//!          | length of the frame u32 | crc32c of everything but itself u32 | zstd frame
//! content := the pages that are there, one after the other, as [`Shape`] lays them out
//! ```
//!
//! Two bits a transaction are nearly all the same ("committed") and pack by themselves. Commit times are laid out first:
//! each is the difference from the one before, and the differences of a page are cut into planes, all lowest bytes first,
//! so that what hardly changes lies together.

use super::config::{LogKind, SEGMENT_PAGES};
use super::kernel::PAGE_WORDS;
use base::crc::crc32c;

const MAGIC: [u8; 8] = *b"TWpacked";
const HEADER_BYTES: usize = 32;
const CRC_AT: usize = 28;
const WORD_BYTES: usize = 8;
const PAGE_BYTES: usize = PAGE_WORDS * WORD_BYTES;
/// It happens in the background, once for a segment.
const LEVEL: i32 = 9;

/// Pages of a segment, those that were ever begun.
pub(super) type Pages = [Option<Vec<u64>>; SEGMENT_PAGES as usize];

/// How words become bytes that pack well.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// As they are.
    Plain,
    /// As differences of successive words that are not zero, in planes of a byte each.
    Rising,
}

impl Shape {
    fn of(log: LogKind) -> Shape {
        match log {
            LogKind::CommitTs => Shape::Rising,
            _ => Shape::Plain,
        }
    }
}

/// A packed segment, its frame unpacked.
pub(super) struct Packed {
    shape: Shape,
    there: u32,
    content: Vec<u8>,
}

/// The file of a segment's pages; `None` if they can't be packed.
pub(super) fn encode(log: LogKind, segment: u64, pages: &Pages) -> Option<Vec<u8>> {
    let shape = Shape::of(log);
    let mut content = Vec::with_capacity(pages.len() * PAGE_BYTES);
    let mut there = 0u32;
    for (at, words) in pages.iter().enumerate() {
        if let Some(words) = words {
            there |= 1 << at;
            lay_out(shape, words, &mut content)?;
        }
    }
    let frame = zstd::bulk::compress(&content, LEVEL).ok()?;

    let mut out = Vec::with_capacity(HEADER_BYTES + frame.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&(log as u32).to_le_bytes());
    out.extend_from_slice(&there.to_le_bytes());
    out.extend_from_slice(&segment.to_le_bytes());
    out.extend_from_slice(&u32::try_from(frame.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&frame);
    let crc = checksum(&out);
    out[CRC_AT..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
    Some(out)
}

/// What [`encode`] put into a file for this segment; `None` if it is not that, or damaged.
pub(super) fn decode(log: LogKind, segment: u64, file: &[u8]) -> Option<Packed> {
    let header = file.get(..HEADER_BYTES)?;
    let u32_at = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let file = file.get(..HEADER_BYTES + u32_at(24) as usize)?;
    let fits = header[..8] == MAGIC
        && u32_at(8) == log as u32
        && header[16..24] == segment.to_le_bytes()
        && u32_at(CRC_AT) == checksum(file);
    if !fits {
        return None;
    }
    let there = u32_at(12);
    let bytes = there.count_ones() as usize * PAGE_BYTES;
    let content = zstd::bulk::decompress(&file[HEADER_BYTES..], bytes).ok()?;
    (content.len() == bytes).then_some(Packed { shape: Shape::of(log), there, content })
}

impl Packed {
    /// Whether the segment's page `at` is there.
    pub(super) fn has(&self, at: usize) -> bool {
        self.there >> at & 1 != 0
    }

    /// The words of the segment's page `at`, if it is there.
    pub(super) fn page(&self, at: usize) -> Option<Vec<u64>> {
        let before = (self.there & ((1 << at) - 1)).count_ones() as usize;
        let bytes = self.content.chunks_exact(PAGE_BYTES).nth(before);
        bytes.filter(|_| self.has(at)).map(|bytes| take_up(self.shape, bytes))
    }
}

fn checksum(file: &[u8]) -> u32 {
    crc32c(&[&file[..CRC_AT], &file[HEADER_BYTES..]].concat())
}

/// Where differences begin, on each page: the least word that is a time.
const FIRST: u64 = 1 << 63;

/// Appends a page's words as bytes. `None` where a difference has no number, as none between times is.
fn lay_out(shape: Shape, words: &[u64], out: &mut Vec<u8>) -> Option<()> {
    if shape == Shape::Plain {
        words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        return Some(());
    }
    let start = out.len();
    out.resize(start + PAGE_BYTES, 0);
    let mut before = FIRST;
    for (at, word) in words.iter().enumerate() {
        let step = match *word {
            0 => 0,
            word => to_unsigned(word.wrapping_sub(before)).checked_add(1)?,
        };
        before = if *word == 0 { before } else { *word };
        for (plane, byte) in step.to_le_bytes().into_iter().enumerate() {
            out[start + plane * PAGE_WORDS + at] = byte;
        }
    }
    Some(())
}

/// The words of a page that [`lay_out`] made these bytes of.
fn take_up(shape: Shape, bytes: &[u8]) -> Vec<u64> {
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("chunks of eight bytes"));
    if shape == Shape::Plain {
        return bytes.chunks_exact(WORD_BYTES).map(word).collect();
    }
    let step =
        |at: usize| u64::from_le_bytes(std::array::from_fn(|plane| bytes[plane * PAGE_WORDS + at]));
    let mut before = FIRST;
    let mut take = |step: u64| match step.checked_sub(1) {
        None => 0,
        Some(step) => {
            before = before.wrapping_add(from_unsigned(step));
            before
        }
    };
    (0..PAGE_WORDS).map(|at| take(step(at))).collect()
}

/// Small differences become small numbers, whatever their sign.
fn to_unsigned(step: u64) -> u64 {
    (step << 1) ^ ((step as i64 >> 63) as u64)
}

fn from_unsigned(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(there: impl Fn(usize) -> bool, mut word: impl FnMut() -> u64) -> Pages {
        let page = |at| there(at).then(|| (0..PAGE_WORDS).map(|_| word()).collect());
        std::array::from_fn(page)
    }

    fn unpacked(log: LogKind, segment: u64, file: &[u8]) -> Option<Pages> {
        let packed = decode(log, segment, file)?;
        Some(std::array::from_fn(|at| packed.page(at)))
    }

    #[test]
    fn pages_come_back() {
        let mut rng = fastrand::Rng::with_seed(7);
        for log in [LogKind::Xact, LogKind::CommitTs] {
            for there in [0u32, 1, 1 << 31, 0x00ff_0f31, u32::MAX] {
                let rare = pages(|at| there >> at & 1 != 0, || 1u64 << rng.u32(..63) << 1);
                let file = encode(log, 12, &rare).unwrap();
                assert!(unpacked(log, 12, &file).is_some_and(|back| back == rare));
                let longer = [&file[..], b"left by a longer one"].concat();
                assert!(unpacked(log, 12, &longer).is_some_and(|back| back == rare));
            }
        }
    }

    #[test]
    fn any_words_come_back_or_are_not_packed() {
        let mut rng = fastrand::Rng::with_seed(8);
        let extremes = [0, 1, FIRST - 1, FIRST, FIRST + 1, u64::MAX];
        let wild = pages(|_| true, || extremes[rng.usize(..extremes.len())]);
        assert!(encode(LogKind::CommitTs, 0, &wild).is_none(), "0x8000… less 0 is no number here");
        let file = encode(LogKind::Xact, 0, &wild).unwrap();
        assert!(unpacked(LogKind::Xact, 0, &file).is_some_and(|back| back == wild));
        let tame = pages(|_| true, || extremes[[0, 3, 4, 5][rng.usize(..4)]]);
        let file = encode(LogKind::CommitTs, 0, &tame).unwrap();
        assert!(unpacked(LogKind::CommitTs, 0, &file).is_some_and(|back| back == tame));
    }

    #[test]
    fn damage_and_other_segments_are_found_out() {
        let words = pages(|at| at != 3, || 0x5555_5555_5555_5555);
        let file = encode(LogKind::Xact, 5, &words).unwrap();
        assert!(decode(LogKind::Xact, 6, &file).is_none(), "another segment's");
        assert!(decode(LogKind::CommitTs, 5, &file).is_none(), "another log's");
        assert!(decode(LogKind::Xact, 5, &file).is_some_and(|packed| !packed.has(3)));
        for at in 0..file.len() {
            let mut bad = file.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(decode(LogKind::Xact, 5, &bad).is_none(), "a flipped bit at {at}");
            assert!(decode(LogKind::Xact, 5, &file[..at]).is_none(), "cut at {at}");
        }
    }

    /// A million transactions: all committed, one in a hundred rolled back, and their times at 50 µs each.
    #[test]
    fn what_is_alike_takes_little_room() {
        let mut rng = fastrand::Rng::with_seed(9);
        let mut status = |one_in: u32| {
            let rng = &mut rng;
            let mut two = || if one_in > 0 && rng.u32(..one_in) == 0 { 2u64 } else { 1 };
            let all = pages(|_| true, || (0..32).fold(0, |word, at| word | two() << (2 * at)));
            encode(LogKind::Xact, 0, &all).unwrap().len()
        };
        assert!(status(0) < 200, "{}", status(0));
        let few = status(100);
        assert!(few < 40_000, "{few}");
        let mut now = 1_700_000_000_000_000;
        let times = pages(
            |_| true,
            || {
                now += rng.u64(..100);
                FIRST | (now - rng.u64(..50))
            },
        );
        let bytes = encode(LogKind::CommitTs, 0, &times).unwrap().len();
        assert!(bytes < 2 * 32 * PAGE_WORDS, "{bytes} bytes for {} times", 32 * PAGE_WORDS);
    }
}
