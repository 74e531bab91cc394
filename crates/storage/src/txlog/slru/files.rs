//! Segment files: 32 pages each, written so that a torn write is no damage and a flipped bit is.
//!
//! A page of 8192 bytes takes 17 sectors of 512 bytes in its file:
//!
//! ```text
//! sector := payload (484 bytes; the last one's tail is zero) | page u64 | zero u64 | zero u32 | crc32c u32 | zero u32
//! ```
//!
//! Disks write sectors whole, so after a crash each is the old one or the new one, and each verifies by
//! itself. That suffices here, where it would not for a table's page: entries are independent of each other
//! and everything written after the redo point is set again by redo. The page number in each sector tells a
//! page that came back from the wrong place.

use super::config::{LogKind, SEGMENT_PAGES};
use super::error::SlruError;
use super::kernel::PAGE_WORDS;
use super::pack::{Found, PACKED_SUFFIX};
use super::packed::Packed;
use base::crc::crc32c;
use base::disk::{Disk, File, Open};
use base::latch::Latch;
use base::rank::Rank;
use base::sim;
use base::wait_event::{self, Event};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;

const SECTOR_BYTES: usize = 512;
const SECTOR_PAYLOAD: usize = 484;
const PAGE_BYTES: usize = PAGE_WORDS * 8;
const SECTORS: usize = PAGE_BYTES.div_ceil(SECTOR_PAYLOAD);
/// Bytes of a page in its file.
pub const FILE_PAGE_BYTES: usize = SECTORS * SECTOR_BYTES;
const NUMBER_AT: usize = SECTOR_PAYLOAD;
const CRC_AT: usize = SECTOR_BYTES - 8;

const _: () = assert!(SECTORS == 17);
const _: () = assert!(NUMBER_AT + 8 <= CRC_AT);

/// The file that says that a log which can be switched off is on, and whole.
const MARK: &str = "tracking";

/// Open segment files kept per log.
const OPEN_FILES: usize = 16;

/// The segment files of one log.
pub(super) struct SegmentFiles {
    pub(super) log: LogKind,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) state: Latch<FilesState>,
    /// Held by whoever packs or unpacks a segment, over I/O.
    pub(super) packing: Latch<()>,
}

pub(super) struct FilesState {
    /// Most recently used last.
    pub(super) open: Vec<(u64, Arc<dyn File>)>,
    /// Segments written since the last sync.
    pub(super) unsynced: BTreeSet<u64>,
    /// Whether a file was made or removed since the directory was synced.
    directory_changed: bool,
}

/// The segment that holds `page`.
pub(super) fn segment_of(page: u64) -> u64 {
    page / SEGMENT_PAGES
}

impl SegmentFiles {
    pub(super) fn new(log: LogKind, disk: Arc<dyn Disk>) -> SegmentFiles {
        let state =
            FilesState { open: Vec::new(), unsynced: BTreeSet::new(), directory_changed: false };
        let packing = Latch::new(Rank::SlruBank, ());
        SegmentFiles { log, disk, state: Latch::new(Rank::RelFile, state), packing }
    }

    /// Path of a segment in the data directory.
    pub(super) fn path(&self, segment: u64) -> String {
        format!("{}/{segment:012X}", self.log.directory())
    }

    pub(super) fn failed(
        &self,
        segment: u64,
        action: &'static str,
        source: io::Error,
    ) -> SlruError {
        SlruError::Io { log: self.log, file: self.path(segment), action, source }
    }

    /// Opens a segment. No latch is held over the system call: two may open it, one handle is kept.
    pub(super) fn open(&self, segment: u64, how: Open) -> Result<Arc<dyn File>, SlruError> {
        if let Some(file) = self.cached(segment) {
            return Ok(file);
        }
        let path = self.path(segment);
        let mut created = false;
        let file = match (self.disk.open(&path, Open::Existing), how) {
            (Ok(file), _) => file,
            (Err(e), Open::Create) if e.kind() == io::ErrorKind::NotFound => {
                created = true;
                self.disk
                    .open(&path, Open::Create)
                    .map_err(|e| self.failed(segment, "create", e))?
            }
            (Err(e), _) if e.kind() == io::ErrorKind::NotFound => {
                return Err(SlruError::Missing { log: self.log, file: path });
            }
            (Err(e), _) => return Err(self.failed(segment, "open", e)),
        };
        let mut state = self.state.lock();
        state.directory_changed |= created;
        if state.open.len() >= OPEN_FILES {
            state.open.remove(0);
        }
        state.open.push((segment, Arc::clone(&file)));
        Ok(file)
    }

    fn cached(&self, segment: u64) -> Option<Arc<dyn File>> {
        let mut state = self.state.lock();
        let at = state.open.iter().position(|(s, _)| *s == segment)?;
        let entry = state.open.remove(at);
        let file = Arc::clone(&entry.1);
        state.open.push(entry);
        Some(file)
    }

    /// Reads and verifies a page.
    pub(super) fn read(&self, page: u64) -> Result<Vec<u64>, SlruError> {
        let segment = segment_of(page);
        let file = match self.find(segment)? {
            Found::Plain(file) => file,
            Found::Packed(packed) => return self.page_of(packed, page),
        };
        let mut bytes = vec![0; FILE_PAGE_BYTES];
        let offset = place_of(page);
        let n = file.read_at(&mut bytes, offset).map_err(|e| self.failed(segment, "read", e))?;
        decode(page, &bytes[..n]).ok_or_else(|| {
            let at = bad_sectors(page, &bytes[..n]).next().unwrap_or(n);
            let (file, at) = (self.path(segment), offset + at as u64);
            SlruError::Damaged { log: self.log, file, page, at }
        })
    }

    /// Reads a page and tells what is wrong with it, sector by sector: the first byte's place in the file, and why.
    pub(super) fn inspect(&self, page: u64) -> Result<Inspected, SlruError> {
        let segment = segment_of(page);
        let file = match self.find(segment)? {
            Found::Plain(file) => file,
            Found::Packed(packed) => return Ok(self.inspect_packed(packed.as_ref(), page)),
        };
        let mut bytes = vec![0; FILE_PAGE_BYTES];
        let offset = place_of(page);
        let n = file.read_at(&mut bytes, offset).map_err(|e| self.failed(segment, "read", e))?;
        let bad_sectors = bad_sectors(page, &bytes[..n]);
        Ok(Inspected {
            file: self.path(segment),
            bad_sectors: bad_sectors.map(|at| offset + at as u64).collect(),
            is_hole: bytes.iter().all(|byte| *byte == 0),
        })
    }

    /// What a page is like in a packed segment; `None`: that one can't be read.
    pub(super) fn inspect_packed(&self, packed: Option<&Packed>, page: u64) -> Inspected {
        let found = packed.map(|packed| packed.has(within(page)));
        let bad_sectors = if found == Some(true) { Vec::new() } else { vec![0] };
        let file = self.packed_path(segment_of(page));
        Inspected { file, bad_sectors, is_hole: found == Some(false) }
    }

    /// Whether the page is in its file, whole or not.
    pub(super) fn exists(&self, page: u64) -> Result<bool, SlruError> {
        let segment = segment_of(page);
        let file = match self.find(segment) {
            Ok(Found::Plain(file)) => file,
            Ok(Found::Packed(packed)) => {
                return Ok(packed.is_none_or(|packed| packed.has(within(page))));
            }
            Err(SlruError::Missing { .. }) => return Ok(false),
            Err(e) => return Err(e),
        };
        let bytes = file.len().map_err(|e| self.failed(segment, "measure", e))?;
        Ok(bytes >= place_of(page) + FILE_PAGE_BYTES as u64)
    }

    /// Writes a page. It is durable after the next [`SegmentFiles::sync`] that begins later.
    pub(super) fn write(&self, page: u64, words: &[u64]) -> Result<(), SlruError> {
        let segment = segment_of(page);
        let file = match self.open(segment, Open::Existing) {
            Err(SlruError::Missing { .. }) => {
                self.unpack(segment)?;
                self.open(segment, Open::Create)?
            }
            other => other?,
        };
        file.write_at(&encode(page, words), place_of(page))
            .map_err(|e| self.failed(segment, "write", e))?;
        if self.log.is_durable() {
            self.state.lock().unsynced.insert(segment);
        }
        Ok(())
    }

    /// Makes every write that ended before durable. After an error of a sync the caller must not go on: what the
    /// system dropped it will not report twice. After any other it may be tried again: nothing is forgotten.
    pub(super) fn sync(&self) -> Result<(), SlruError> {
        let (mut segments, directory) = {
            let mut state = self.state.lock();
            let segments = std::mem::take(&mut state.unsynced);
            (segments, std::mem::take(&mut state.directory_changed))
        };
        let synced = self.sync_segments(&mut segments).and_then(|()| match directory {
            true if self.log.is_durable() => self.sync_directory(),
            _ => Ok(()),
        });
        if synced.is_err() {
            let mut state = self.state.lock();
            state.unsynced.append(&mut segments);
            state.directory_changed |= directory;
        }
        synced
    }

    /// Syncs these segments, and takes those away that are.
    fn sync_segments(&self, segments: &mut BTreeSet<u64>) -> Result<(), SlruError> {
        while let Some(segment) = segments.first().copied() {
            match self.open(segment, Open::Existing) {
                Ok(file) => {
                    let _waiting = wait_event::during(Event::SlruSync);
                    file.sync().map_err(|e| self.failed(segment, "sync", e))?;
                }
                // Truncated away since, or packed.
                Err(SlruError::Missing { .. }) => {}
                Err(e) => return Err(e),
            }
            segments.remove(&segment);
        }
        Ok(())
    }

    pub(super) fn sync_directory(&self) -> Result<(), SlruError> {
        let directory = self.log.directory();
        self.disk.sync_dir(directory).map_err(|source| {
            let action = if is_unopened(&source) { "open" } else { "sync" };
            SlruError::Io { log: self.log, file: directory.to_owned(), action, source }
        })
    }

    /// Numbers of the segments there are, packed ones included.
    pub(super) fn segments(&self) -> Result<Vec<u64>, SlruError> {
        let names = self.names()?;
        let plain = names.iter().map(|name| name.strip_suffix(PACKED_SUFFIX).unwrap_or(name));
        // A crash may leave both forms of a segment.
        let numbers: BTreeSet<u64> = plain.filter_map(number_of).collect();
        Ok(numbers.into_iter().collect())
    }

    /// The first segment of these that is not packed.
    pub(super) fn first_plain(&self, among: Range<u64>) -> Result<Option<u64>, SlruError> {
        let names = self.names()?;
        Ok(names.iter().filter_map(|name| number_of(name)).filter(|s| among.contains(s)).min())
    }

    fn names(&self) -> Result<Vec<String>, SlruError> {
        let directory = self.log.directory();
        self.disk.list(directory).map_err(|e| SlruError::Io {
            log: self.log,
            file: directory.to_owned(),
            action: "list",
            source: e,
        })
    }

    /// Makes the directory.
    pub(super) fn create_directory(&self) -> Result<(), SlruError> {
        let directory = self.log.directory();
        self.disk.create_dir(directory).map_err(|e| SlruError::Io {
            log: self.log,
            file: directory.to_owned(),
            action: "create",
            source: e,
        })
    }

    fn mark_path(&self) -> String {
        format!("{}/{MARK}", self.log.directory())
    }

    /// Whether the log carries its mark.
    pub(super) fn is_marked(&self) -> Result<bool, SlruError> {
        let file = self.mark_path();
        self.disk.exists(&file).map_err(|source| SlruError::Io {
            log: self.log,
            file,
            action: "open",
            source,
        })
    }

    /// Sets or removes the mark, durably.
    pub(super) fn set_mark(&self, on: bool) -> Result<(), SlruError> {
        let file = self.mark_path();
        let done = match on {
            true => self.disk.open(&file, Open::Create).map(drop),
            false => match self.disk.remove(&file) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            },
        };
        let action = if on { "create" } else { "remove" };
        done.map_err(|source| SlruError::Io { log: self.log, file, action, source })?;
        self.sync_directory()
    }

    /// Removes the segments that `doomed` names. The removal need not be durable: it is repeated.
    pub(super) fn remove(&self, doomed: impl Fn(u64) -> bool) -> Result<usize, SlruError> {
        let segments: Vec<u64> = self.segments()?.into_iter().filter(|s| doomed(*s)).collect();
        {
            let mut state = self.state.lock();
            state.open.retain(|(s, _)| !doomed(*s));
            state.unsynced.retain(|s| !doomed(*s));
        }
        let _window = (!segments.is_empty()).then(|| sim::window(self.log.removal_window()));
        for segment in &segments {
            self.remove_file(*segment, &self.path(*segment))?;
            self.remove_file(*segment, &self.packed_path(*segment))?;
        }
        Ok(segments.len())
    }

    pub(super) fn remove_file(&self, segment: u64, path: &str) -> Result<(), SlruError> {
        match self.disk.remove(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(self.failed(segment, "remove", e)),
            _ => Ok(()),
        }
    }
}

/// Whether a directory could not be opened in order to be synced: nothing was, and nothing failed to be.
fn is_unopened(error: &io::Error) -> bool {
    let cause = error.raw_os_error();
    matches!(cause, Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EACCES))
}

fn number_of(name: &str) -> Option<u64> {
    u64::from_str_radix(name, 16).ok()
}

/// Where a page lies among those of its segment.
pub(super) fn within(page: u64) -> usize {
    (page % SEGMENT_PAGES) as usize
}

/// Where a page begins in its file, in bytes.
pub(super) fn place_of(page: u64) -> u64 {
    within(page) as u64 * FILE_PAGE_BYTES as u64
}

/// What a page is like in its file.
pub(super) struct Inspected {
    /// Path of the file.
    pub(super) file: String,
    /// Places in the file, in bytes, of sectors that are cut short, another page's, or changed.
    pub(super) bad_sectors: Vec<u64>,
    /// Whether nothing was ever written there.
    pub(super) is_hole: bool,
}

/// Where sectors of a page begin that are not there whole.
fn bad_sectors(page: u64, bytes: &[u8]) -> impl Iterator<Item = usize> {
    let sector = |at: usize| bytes.get(at..at + SECTOR_BYTES);
    let is_bad = move |at: &usize| !sector(*at).is_some_and(|sector| is_intact(page, sector));
    (0..FILE_PAGE_BYTES).step_by(SECTOR_BYTES).filter(is_bad)
}

fn is_intact(page: u64, sector: &[u8]) -> bool {
    let crc = crc32c(&sector[..CRC_AT]);
    sector[CRC_AT..CRC_AT + 4] == crc.to_le_bytes()
        && sector[NUMBER_AT..NUMBER_AT + 8] == page.to_le_bytes()
}

pub(super) fn encode(page: u64, words: &[u64]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(PAGE_BYTES);
    words.iter().for_each(|w| payload.extend_from_slice(&w.to_le_bytes()));
    let mut out = vec![0; FILE_PAGE_BYTES];
    for (sector, bytes) in out.chunks_mut(SECTOR_BYTES).zip(payload.chunks(SECTOR_PAYLOAD)) {
        sector[..bytes.len()].copy_from_slice(bytes);
        sector[NUMBER_AT..NUMBER_AT + 8].copy_from_slice(&page.to_le_bytes());
        let crc = crc32c(&sector[..CRC_AT]);
        sector[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    }
    out
}

pub(super) fn decode(page: u64, bytes: &[u8]) -> Option<Vec<u64>> {
    if bytes.len() != FILE_PAGE_BYTES {
        return None;
    }
    let mut payload = Vec::with_capacity(SECTORS * SECTOR_PAYLOAD);
    for sector in bytes.chunks(SECTOR_BYTES) {
        if !is_intact(page, sector) {
            return None;
        }
        payload.extend_from_slice(&sector[..SECTOR_PAYLOAD]);
    }
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("chunks of eight bytes"));
    Some(payload[..PAGE_BYTES].chunks_exact(8).map(word).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back_and_damage_shows() {
        let words: Vec<u64> = (0..PAGE_WORDS as u64).map(|i| i * 0x0101_0101_0101).collect();
        let bytes = encode(7, &words);
        assert_eq!(decode(7, &bytes).as_deref(), Some(&words[..]));
        assert_eq!(decode(8, &bytes), None, "another page's bytes");
        for at in [0, 483, 500, 4000, FILE_PAGE_BYTES - 9] {
            let mut bad = bytes.clone();
            bad[at] ^= 4;
            assert_eq!(decode(7, &bad), None, "a flipped bit at {at}");
        }
        assert_eq!(decode(7, &vec![0; FILE_PAGE_BYTES]), None, "a hole is no page");
    }

    #[test]
    fn a_mix_of_old_and_new_sectors_verifies() {
        let old = encode(3, &vec![1; PAGE_WORDS]);
        let new = encode(3, &vec![2; PAGE_WORDS]);
        let mut torn = new.clone();
        torn[SECTOR_BYTES * 4..].copy_from_slice(&old[SECTOR_BYTES * 4..]);
        let words = decode(3, &torn).expect("sectors verify one by one");
        assert!(words.contains(&1) && words.contains(&2));
    }
}
