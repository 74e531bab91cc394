//! The double-write area: synced copies of pages about to be written in place.
//!
//! ```text
//! file "doublewrite" := area*                    16 to 512, used in turn
//! area   := header page | up to 128 page copies
//! header := magic u64 | sequence u64 | count u32 | crc u32 | entry*     (crc over the rest of the page);
//!           at 2072: synced u64, the last batch known to be durable in place when this one was written
//! entry  := relation u32 | block u32 | fork u8, 3 zero | checksum u32 of the copy
//! ```
//!
//! A batch: copies and header written and synced; pages written in place; their files synced, which may be put
//! off for some batches; only then may a later batch overwrite the area. A crash leaves an in-place page torn
//! only while its copy is intact, so [`recover`] needs to look no further than pages that do not verify, and no
//! further back than the last batch that any header says is durable in place. Areas
//! are overwritten in the order of their batches, so among the intact copies of a page the newest is the
//! one that was being written in place. A copy counts only if its checksum is the one that the header has: a
//! torn area may hold copies from before.
//!
//! How many areas there are follows the load ([`Area::make_room`]): the more batches fit between two syncs of the files, the
//! fewer syncs there are, and the more of what is written twice in between reaches the disk once. The file grows at its end,
//! when the last area is used and the first would come again, so the order stays; it does not shrink.
//!
//! Copies whose in-place write failed are carried into every later batch until it succeeds, because the page
//! may have been left torn by the failure. While one of these batches is being written, the last one counts, whatever
//! was synced since.

use crate::error::{Error, Result, fatal};
use crate::page::{self, PAGE_BYTES, PageBytes};
use crate::relfile::{self, RelFiles};
use base::crc::{crc32c, crc32c_append};
use base::disk::{Disk, File, Open};
use base::wait_event::{self, Event};
use base::{BlockNo, Fork, PageId, RelId};
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Path of the file.
pub const PATH: &str = "doublewrite";
/// Most copies in one batch.
pub const BATCH_MAX: usize = 128;

/// How many batches may be written in place and not synced there, at first and at most: 516 MiB, which a second's
/// writes fill only where they are more than 200 MiB.
pub(super) const AREAS: RangeInclusive<usize> = 16..=512;
/// So many do where a full disk has no room for more: one that is being written, and the last.
const LEAST: usize = 2;
pub(super) const AREA_BYTES: u64 = ((1 + BATCH_MAX) * PAGE_BYTES) as u64;
const MAGIC: u64 = u64::from_le_bytes(*b"thwgdblw");
const HEADER_BYTES: usize = 24;
const CRC_AT: usize = 20;
const ENTRY_BYTES: usize = 16;
/// Where the copy's checksum is in a page.
const PAGE_CHECKSUM_AT: usize = 8;

/// Where a header says what is durable in place. Zero, as in headers of before: nothing is known.
const SYNCED_AT: usize = HEADER_BYTES + BATCH_MAX * ENTRY_BYTES;

const _: () = assert!(SYNCED_AT + 8 <= PAGE_BYTES);

/// The open areas of a running engine; one batch at a time.
pub(super) struct Area {
    file: Arc<dyn File>,
    sequence: u64,
    /// The last batch that is whole in the file, or was the last when it was opened.
    whole: u64,
    /// The last batch in each area since it was opened; 0: none.
    slots: Vec<u64>,
    /// Where the next batch goes; behind the last: to the first, or to a new one.
    next: usize,
    /// So many areas are wanted.
    wanted: usize,
}

struct Entry {
    page: PageId,
    checksum: u32,
}

struct Header {
    sequence: u64,
    synced: u64,
    entries: Vec<Entry>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The checksum field of a sealed page.
fn stored_checksum(copy: &[u8]) -> u32 {
    u32_at(copy, PAGE_CHECKSUM_AT)
}

fn header_crc(header: &[u8]) -> u32 {
    crc32c_append(crc32c(&header[..CRC_AT]), &header[CRC_AT + 4..])
}

impl Area {
    /// Opens the file, making it if absent; past the system's cache where that can be, since nobody reads it before a
    /// crash. What is in it has been recovered. Batches go on behind number `last` and those that are there.
    pub fn open(disk: &dyn Disk, last: u64) -> Result<Area> {
        let fail = |e| Error::io("open", PATH, e);
        let known = is_there(disk)?;
        let file = match disk.check_direct(".") {
            Ok(()) => disk.open_direct(PATH, Open::Create),
            Err(_) => disk.open(PATH, Open::Create),
        };
        let file = file.map_err(fail)?;
        let (mut sequence, mut next) = (last, 0);
        let areas = areas_in(&*file)?.clamp(*AREAS.start(), *AREAS.end());
        if known {
            for (at, header) in headers(&*file)? {
                if header.sequence >= sequence {
                    (sequence, next) = (header.sequence, at + 1);
                }
            }
        } else {
            disk.sync_dir("").map_err(|e| Error::io("sync", PATH, e))?;
        }
        Ok(Area { file, sequence, whole: sequence, slots: vec![0; areas], next, wanted: areas })
    }

    /// Whether there is an area for the next batch, after the files were synced up to batch `synced`.
    pub fn make_room(&mut self, synced: u64) -> bool {
        if self.next >= self.slots.len() {
            let is_free = self.slots[0] <= synced;
            if self.slots.len() < *AREAS.end() && (self.slots.len() < self.wanted || !is_free) {
                self.slots.push(0);
            } else {
                self.next = 0;
            }
        }
        self.slots[self.next] <= synced
    }

    /// Whether the files should be synced before long, with so many batches that they are not synced for. Then there
    /// should be more areas, too.
    pub fn is_filling(&mut self, behind: u64) -> bool {
        let is_filling = behind >= self.slots.len() as u64 * 3 / 4;
        if is_filling {
            self.wanted = (self.slots.len() * 2).min(*AREAS.end());
        }
        is_filling
    }

    /// Number of the last batch.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Writes and syncs a batch of sealed copies, where [`Area::make_room`] has found room. `room` is a page for the header
    /// followed by the copies of `pages`, in their order, aligned as direct writes must be. `synced` is a batch up to which
    /// in-place writes are durable, but for pages whose copies are `carried` on from batch to batch: of those, the last
    /// batch must count until this one is whole.
    pub fn write(
        &mut self,
        pages: &[PageId],
        room: &mut [u8],
        synced: u64,
        carried: bool,
    ) -> Result<()> {
        assert!(pages.len() <= BATCH_MAX && room.len() == (1 + pages.len()) * PAGE_BYTES);
        let synced = if carried { synced.min(self.whole.saturating_sub(1)) } else { synced };
        self.sequence += 1;
        let (header, copies) = room.split_at_mut(PAGE_BYTES);
        header.fill(0);
        header[..8].copy_from_slice(&MAGIC.to_le_bytes());
        header[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        header[16..20].copy_from_slice(&(pages.len() as u32).to_le_bytes());
        for (i, (page, copy)) in pages.iter().zip(copies.chunks(PAGE_BYTES)).enumerate() {
            let entry = &mut header[HEADER_BYTES + i * ENTRY_BYTES..][..ENTRY_BYTES];
            entry[..4].copy_from_slice(&page.rel.0.to_le_bytes());
            entry[4..8].copy_from_slice(&page.block.0.to_le_bytes());
            entry[8] = page.fork as u8;
            entry[12..].copy_from_slice(&stored_checksum(copy).to_le_bytes());
        }
        header[SYNCED_AT..SYNCED_AT + 8].copy_from_slice(&synced.to_le_bytes());
        let crc = header_crc(header);
        header[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
        let _waiting = wait_event::during(Event::DoubleWrite);
        let written = self.file.write_at(room, self.next as u64 * AREA_BYTES);
        written.map_err(|e| Error::io("write", PATH, e))?;
        if let Err(e) = self.file.sync() {
            fatal(&format!("could not sync file \"{PATH}\": {e}"));
        }
        self.slots[self.next] = self.sequence;
        self.whole = self.sequence;
        self.next += 1;
        Ok(())
    }

    /// Goes on with the areas that have been written where the next could not be (the disk is full); tells whether
    /// there are enough. What was written of the next one gives its room back.
    pub fn do_without_new(&mut self) -> bool {
        let is_new = self.slots[self.next..].iter().all(|batch| *batch == 0);
        if !is_new || self.next < LEAST {
            return false;
        }
        // If that fails, there is a batch in the file that was not written in place, as after a crash.
        let _ = self.file.set_len(self.next as u64 * AREA_BYTES);
        self.slots.truncate(self.next);
        (self.next, self.wanted) = (0, self.slots.len());
        true
    }
}

/// Whether there is the file.
pub(super) fn is_there(disk: &dyn Disk) -> Result<bool> {
    disk.exists(PATH).map_err(|e| Error::io("open", PATH, e))
}

/// Removes the file: pages will be written without it, so its copies would grow old unnoticed.
pub(super) fn remove(disk: &dyn Disk) -> Result<()> {
    if is_there(disk)? {
        disk.remove(PATH).map_err(|e| Error::io("remove", PATH, e))?;
        disk.sync_dir("").map_err(|e| Error::io("sync", PATH, e))?;
    }
    Ok(())
}

/// How many areas a file has, the last perhaps not whole.
fn areas_in(file: &dyn File) -> Result<usize> {
    let bytes = file.len().map_err(|e| Error::io("stat", PATH, e))?;
    Ok(bytes.div_ceil(AREA_BYTES) as usize)
}

/// All headers that are intact, and which area's each is.
fn headers(file: &dyn File) -> Result<Vec<(usize, Header)>> {
    let mut headers = Vec::new();
    for area in 0..areas_in(file)? {
        headers.extend(read_header(file, area)?.map(|header| (area, header)));
    }
    Ok(headers)
}

/// The area's header, if it is intact.
fn read_header(file: &dyn File, area: usize) -> Result<Option<Header>> {
    let mut bytes = PageBytes::new();
    let fail = |e| Error::io("read", PATH, e);
    if file.read_at(&mut bytes.0, area as u64 * AREA_BYTES).map_err(fail)? < PAGE_BYTES {
        return Ok(None);
    }
    let bytes = &bytes.0;
    let count = u32_at(bytes, 16) as usize;
    let intact = u64_at(bytes, 0) == MAGIC && u32_at(bytes, CRC_AT) == header_crc(bytes);
    if !intact || count > BATCH_MAX {
        return Ok(None);
    }
    let entry = |i| {
        let entry = &bytes[HEADER_BYTES + i * ENTRY_BYTES..][..ENTRY_BYTES];
        Some(Entry {
            page: PageId {
                rel: RelId(u32_at(entry, 0)),
                block: BlockNo(u32_at(entry, 4)),
                fork: Fork::from_u8(entry[8])?,
            },
            checksum: u32_at(entry, 12),
        })
    };
    let entries = (0..count).map(entry).collect::<Option<Vec<_>>>();
    let (sequence, synced) = (u64_at(bytes, 8), u64_at(bytes, SYNCED_AT));
    Ok(entries.map(|entries| Header { sequence, synced, entries }))
}

/// What [`recover`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// Pages that might have been torn.
    pub pages: usize,
    /// Those that were, and are whole again.
    pub repaired: usize,
}

/// A copy that a header tells of.
struct Copy {
    page: PageId,
    checksum: u32,
    /// Its batch.
    sequence: u64,
    /// Where it is in the file, in bytes.
    at: u64,
}

impl Copy {
    /// Reads the copy; whether it is the one that its header tells of.
    fn read(&self, file: &dyn File, to: &mut PageBytes) -> Result<bool> {
        let read = file.read_at(&mut to.0, self.at).map_err(|e| Error::io("read", PATH, e))?;
        Ok(read == PAGE_BYTES
            && stored_checksum(&to.0) == self.checksum
            && page::verify(&to.0, self.page).is_ok())
    }
}

/// The copies of pages that may not be durable in place, by page, so that places are read in the files' order; of a page's
/// the newest first.
fn copies(file: &dyn File) -> Result<Vec<Copy>> {
    let areas = headers(file)?;
    let synced = areas.iter().map(|(_, header)| header.synced).max();
    let mut copies = Vec::new();
    for (area, header) in areas.iter().filter(|(_, header)| Some(header.sequence) > synced) {
        let at = |i: usize| *area as u64 * AREA_BYTES + ((1 + i) * PAGE_BYTES) as u64;
        copies.extend(header.entries.iter().enumerate().map(|(i, entry)| Copy {
            page: entry.page,
            checksum: entry.checksum,
            sequence: header.sequence,
            at: at(i),
        }));
    }
    copies.sort_unstable_by_key(|copy| (copy.page, Reverse((copy.sequence, copy.at))));
    Ok(copies)
}

/// Repairs pages that a crash left half written. To be called at every start after an unclean stop, before any
/// page is read for redo. Idempotent: a crash in the middle is answered by calling it again. Copies are read for pages that
/// are torn only: they were written past the system's cache, while the places may still be in it.
///
/// A torn page is left as it is where `made_anew` says that redo writes it anew: its copy may be of an earlier
/// batch, older than redo reckons with ([`crate::recovery::imaged`]).
pub fn recover(
    disk: &dyn Disk,
    files: &RelFiles,
    made_anew: &mut dyn FnMut(PageId) -> Result<bool>,
) -> Result<Recovered> {
    let mut done = Recovered::default();
    if !is_there(disk)? {
        return Ok(done);
    }
    let file = disk.open(PATH, Open::Existing).map_err(|e| Error::io("open", PATH, e))?;
    for copies in copies(&*file)?.chunk_by(|a, b| a.page == b.page) {
        done.pages += 1;
        done.repaired += usize::from(repair(files, copies, &*file, made_anew)?);
    }
    files.sync_all()?;
    Ok(done)
}

/// Writes the newest intact one of a page's copies over the page if that does not verify.
fn repair(
    files: &RelFiles,
    copies: &[Copy],
    file: &dyn File,
    made_anew: &mut dyn FnMut(PageId) -> Result<bool>,
) -> Result<bool> {
    let page = copies[0].page;
    let blocks = match files.blocks(page.rel, page.fork) {
        Ok(blocks) => blocks,
        Err(Error::NoSuchRelation(_)) => return Ok(false),
        Err(e) => return Err(e),
    };
    // A block past the end was cut off after its batch, or the extension was lost; redo knows.
    if page.block.0 >= blocks {
        return Ok(false);
    }
    let mut bytes = PageBytes::new();
    files.read(page, &mut bytes.0)?;
    let Err(mismatch) = page::verify(&bytes.0, page) else { return Ok(false) };
    if made_anew(page)? {
        return Ok(false);
    }
    for copy in copies {
        if !copy.read(file, &mut bytes)? {
            continue;
        }
        // A simulation repairs pages by the thousand.
        if !base::sim::active() {
            base::log!(
                "repaired torn page: block {} of file \"{}\" ({mismatch})",
                page.block,
                relfile::path(page.rel, page.fork)
            );
        }
        files.write(page, &bytes.0)?;
        return Ok(true);
    }
    Ok(false)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
