//! Segments that nothing is written to any more are packed: a thousandth of the room, the same answers.
//!
//! | Files | Meaning |
//! |---|---|
//! | `<segment>` | the segment, 32 pages in their places; it counts even beside a packed one |
//! | `<segment>.packed` | the same in one piece (`packed.rs`), once `<segment>` is gone |
//! | `<segment>.new` | half unpacked; of no account |
//!
//! A packed file is durable before the plain one is removed, and that removal need not be durable: a plain file that
//! comes back says the same. Unpacking makes the plain file under another name and renames it.

use super::config::SEGMENT_PAGES;
use super::error::SlruError;
use super::files::{FILE_PAGE_BYTES, SegmentFiles, decode, encode, place_of, within};
use super::packed::{self, Packed, Pages};
use base::disk::{File, Open};
use base::sim;
use base::wait_event::{self, Event};
use std::io;
use std::sync::Arc;

pub(super) const PACKED_SUFFIX: &str = ".packed";

/// A packed file that is longer than this share of the plain one is not worth it: each look at a page unpacks it all.
const WORTH_ONE_IN: usize = 2;

/// So often the plain file and the packed one are looked for in turn, each of which may just have become the other.
const LOOKS: usize = 4;

/// A segment as it was found.
pub(super) enum Found {
    /// Its pages lie in this file.
    Plain(Arc<dyn File>),
    /// All of its pages; `None` if the packed file is damaged.
    Packed(Option<Packed>),
}

impl SegmentFiles {
    pub(super) fn packed_path(&self, segment: u64) -> String {
        format!("{}{PACKED_SUFFIX}", self.path(segment))
    }

    /// Opens a segment, or reads it if it is packed.
    pub(super) fn find(&self, segment: u64) -> Result<Found, SlruError> {
        for _ in 0..LOOKS {
            match self.open(segment, Open::Existing) {
                Ok(file) => return Ok(Found::Plain(file)),
                Err(SlruError::Missing { .. }) if self.log.is_durable() => {}
                Err(e) => return Err(e),
            }
            if let Some(packed) = self.read_packed(segment)? {
                return Ok(Found::Packed(packed));
            }
        }
        Err(SlruError::Missing { log: self.log, file: self.path(segment) })
    }

    /// A page out of what [`SegmentFiles::find`] found.
    pub(super) fn page_of(&self, packed: Option<Packed>, page: u64) -> Result<Vec<u64>, SlruError> {
        packed.and_then(|packed| packed.page(within(page))).ok_or_else(|| {
            let file = self.packed_path(super::files::segment_of(page));
            SlruError::Damaged { log: self.log, file, page, at: 0 }
        })
    }

    /// The pages of a packed segment; `Some(None)` if they can't be read.
    #[expect(clippy::option_option, reason = "not there, and there but damaged")]
    fn read_packed(&self, segment: u64) -> Result<Option<Option<Packed>>, SlruError> {
        let file = match self.disk.open(&self.packed_path(segment), Open::Existing) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| self.failed(segment, "open", e))?,
        };
        let mut bytes =
            vec![0; file.len().map_err(|e| self.failed(segment, "measure", e))? as usize];
        let n = file.read_at(&mut bytes, 0).map_err(|e| self.failed(segment, "read", e))?;
        Ok(Some(packed::decode(self.log, segment, &bytes[..n])))
    }

    /// Packs a segment, durably; whether it is now. Nobody writes to its pages meanwhile, and all that was written is
    /// in its file (invariant P7). A damaged segment stays as it is.
    pub(super) fn pack(&self, segment: u64) -> Result<bool, SlruError> {
        let _one = self.packing.lock();
        let pages = self.read_plain(segment)?;
        let plain_bytes = pages.iter().flatten().count() * FILE_PAGE_BYTES;
        let bytes = packed::encode(self.log, segment, &pages);
        let Some(bytes) = bytes.filter(|bytes| bytes.len() <= plain_bytes / WORTH_ONE_IN) else {
            return Ok(false);
        };
        let _window = sim::window(self.log.packing_window());
        self.write_whole(segment, &self.packed_path(segment), |file| file.write_at(&bytes, 0))?;
        self.sync_directory()?;
        let mut state = self.state.lock();
        state.open.retain(|(open, _)| *open != segment);
        state.unsynced.remove(&segment);
        drop(state);
        self.remove_file(segment, &self.path(segment))?;
        Ok(true)
    }

    /// Makes the plain file of a segment that is packed, if it is, so that it can be written to.
    pub(super) fn unpack(&self, segment: u64) -> Result<(), SlruError> {
        if !self.log.is_durable() {
            return Ok(());
        }
        let _one = self.packing.lock();
        let plain = self.path(segment);
        let Some(packed) = self.read_packed(segment)? else { return Ok(()) };
        if self.disk.exists(&plain).map_err(|e| self.failed(segment, "look for", e))? {
            return Ok(());
        }
        let first = segment * SEGMENT_PAGES;
        let Some(packed) = packed else {
            let file = self.packed_path(segment);
            return Err(SlruError::Damaged { log: self.log, file, page: first, at: 0 });
        };
        let _window = sim::window(self.log.packing_window());
        let aside = format!("{plain}.new");
        self.write_whole(segment, &aside, |file| {
            (0..SEGMENT_PAGES).try_for_each(|at| match packed.page(at as usize) {
                Some(words) => file.write_at(&encode(first + at, &words), place_of(at)),
                None => Ok(()),
            })
        })?;
        self.disk.rename_over(&aside, &plain).map_err(|e| self.failed(segment, "rename", e))?;
        self.sync_directory()?;
        self.remove_file(segment, &self.packed_path(segment))
    }

    /// Makes a file anew and durable, but not its name.
    fn write_whole(
        &self,
        segment: u64,
        path: &str,
        write: impl FnOnce(&dyn File) -> io::Result<()>,
    ) -> Result<(), SlruError> {
        self.remove_file(segment, path)?;
        let made = self.disk.open(path, Open::Create);
        let file = made.map_err(|e| self.failed(segment, "create", e))?;
        write(&*file).map_err(|e| self.failed(segment, "write", e))?;
        let _waiting = wait_event::during(Event::SlruSync);
        file.sync().map_err(|e| self.failed(segment, "sync", e))
    }

    /// The pages of a plain segment; those before the log's first are not there.
    fn read_plain(&self, segment: u64) -> Result<Pages, SlruError> {
        let file = self.open(segment, Open::Existing)?;
        let mut bytes = vec![0; FILE_PAGE_BYTES * SEGMENT_PAGES as usize];
        let n = file.read_at(&mut bytes, 0).map_err(|e| self.failed(segment, "read", e))?;
        let mut pages: Pages = std::array::from_fn(|_| None);
        let mut begun = false;
        for (at, bytes) in bytes.chunks(FILE_PAGE_BYTES).enumerate() {
            begun |= bytes.iter().any(|byte| *byte != 0) || at + 1 == pages.len();
            if begun {
                let page = segment * SEGMENT_PAGES + at as u64;
                let end = (at + 1) * FILE_PAGE_BYTES;
                let words = decode(page, bytes).filter(|_| end <= n);
                pages[at] = Some(words.ok_or_else(|| {
                    let (file, at) = (self.path(segment), place_of(page));
                    SlruError::Damaged { log: self.log, file, page, at }
                })?);
            }
        }
        Ok(pages)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LogKind, PAGE_WORDS, Slru, WalBarrier};
    use super::*;
    use base::Lsn;
    use base::disk::Disk;
    use base::disk::sim::SimDisk;
    use base::sync::unmodelled::{AtomicBool, Ordering};
    use std::ops::Range;

    const FIRST: u64 = SEGMENT_PAGES;
    const END: u64 = 4 * SEGMENT_PAGES + 7;

    fn open(disk: &SimDisk, log: LogKind) -> Slru {
        let barrier: WalBarrier = Arc::new(|_| ());
        Slru::open(log, 1, 0, Arc::new(disk.clone()), barrier).unwrap()
    }

    fn word(page: u64, at: usize) -> u64 {
        (1 << 63) | ((page * PAGE_WORDS as u64 + at as u64) * 70)
    }

    fn fill(slru: &Slru) {
        for page in FIRST..END {
            let set = |p: &super::super::Page| {
                (0..PAGE_WORDS).for_each(|at| p.set(at, word(page, at)));
            };
            slru.begin(page, Lsn::ZERO, set).unwrap();
        }
        slru.flush().unwrap();
    }

    fn assert_kept(slru: &Slru, pages: Range<u64>) {
        for page in pages {
            let copy = slru.read(page, |p| [0, 500, 1023].map(|at| p.word(at))).unwrap();
            assert_eq!(copy, [0, 500, 1023].map(|at| word(page, at)), "page {page}");
        }
    }

    fn faults(slru: &Slru) -> Vec<String> {
        let mut faults = Vec::new();
        slru.check(END, &mut |fault| faults.push(fault)).unwrap();
        faults
    }

    #[test]
    fn what_is_packed_reads_as_before_and_can_be_written() {
        for log in [LogKind::CommitTs, LogKind::Xact] {
            let disk = SimDisk::new();
            let slru = open(&disk, log);
            fill(&slru);
            assert!(!slru.pack_one_below(2 * SEGMENT_PAGES - 1).unwrap(), "pages of it may change");
            assert!(slru.pack_one_below(END).unwrap() && slru.pack_one_below(END).unwrap());
            assert!(slru.pack_one_below(END).unwrap() && !slru.pack_one_below(END).unwrap());
            let names = disk.list(log.directory()).unwrap();
            assert_eq!(names[0], "000000000001.packed");
            assert_eq!(names[2..], ["000000000003.packed", "000000000004"]);
            let len = |name: &str| {
                let path = format!("{}/{name}", log.directory());
                disk.open(&path, Open::Existing).unwrap().len().unwrap()
            };
            assert!(names[..3].iter().all(|name| len(name) < 100_000), "{}", len(&names[0]));
            assert_eq!(slru.segments().unwrap(), [1, 2, 3, 4]);
            assert_kept(&slru, FIRST..END);
            assert!(slru.exists(FIRST).unwrap() && !slru.exists(FIRST - 1).unwrap());
            assert_eq!(faults(&slru), [""; 0]);
            drop(slru);

            let slru = open(&disk, log);
            assert_kept(&slru, FIRST..END);
            slru.update(70, Lsn::ZERO, |p| p.set(0, word(70, 0))).unwrap();
            slru.update(71, Lsn::ZERO, |p| p.set(7, 1 << 63)).unwrap();
            slru.flush().unwrap();
            let names = disk.list(log.directory()).unwrap();
            assert_eq!(names[1], "000000000002", "what is written to is plain");
            drop(slru);
            let slru = open(&disk, log);
            assert_kept(&slru, FIRST..END);
            assert_eq!(slru.read(71, |p| p.word(7)).unwrap(), 1 << 63);
            assert_eq!(faults(&slru), [""; 0]);
            assert!(slru.pack_one_below(END).unwrap(), "it is packed again");
            assert_eq!(disk.list(log.directory()).unwrap()[1], "000000000002.packed");
            slru.truncate(3 * SEGMENT_PAGES).unwrap();
            assert_eq!(slru.segments().unwrap(), [3, 4]);
            slru.clear().unwrap();
            assert!(disk.list(log.directory()).unwrap().is_empty());
        }
    }

    #[test]
    fn damage_is_not_packed_and_a_damaged_packed_file_is_told() {
        let disk = SimDisk::new();
        fill(&open(&disk, LogKind::Xact));
        disk.corrupt("txlog/xact/000000000001", 10 * FILE_PAGE_BYTES as u64, |bytes| bytes[9] ^= 4);
        let slru = open(&disk, LogKind::Xact);
        while slru.pack_one_below(END).unwrap() {}
        let names = disk.list("txlog/xact").unwrap();
        assert_eq!(names[0], "000000000001", "the damaged one is left alone");
        assert_eq!(names[1..3], ["000000000002.packed", "000000000003.packed"]);
        assert!(matches!(slru.read(42, |_| ()), Err(SlruError::Damaged { page: 42, .. })));

        disk.corrupt("txlog/xact/000000000002.packed", 40, |bytes| bytes[0] ^= 4);
        let slru = open(&disk, LogKind::Xact);
        let error = slru.read(70, |_| ()).unwrap_err();
        assert!(error.to_string().contains("000000000002.packed"), "{error}");
        let error = slru.update(70, Lsn::ZERO, |_| ()).unwrap_err();
        assert!(matches!(error, SlruError::Damaged { page: 70, .. }), "{error}");
        let faults = faults(&slru);
        assert_eq!(faults.len(), 1 + SEGMENT_PAGES as usize, "{faults:?}");
        assert!(faults[1].contains("000000000002.packed"), "{}", faults[1]);
        assert_kept(&slru, 3 * SEGMENT_PAGES..END);
    }

    #[test]
    fn a_disk_that_refuses_leaves_the_plain_file() {
        let disk = SimDisk::new();
        let slru = open(&disk, LogKind::Xact);
        fill(&slru);
        disk.set_fault(Some(Box::new(|access, _, _| {
            let fails = matches!(access, base::disk::sim::Access::Sync);
            fails.then(|| io::Error::other("refused"))
        })));
        assert!(matches!(slru.pack_one_below(END), Err(SlruError::Io { action: "sync", .. })));
        assert_kept(&slru, FIRST..END);
        disk.set_fault(None);
        while slru.pack_one_below(END).unwrap() {}
        assert_eq!(disk.list("txlog/xact").unwrap()[0], "000000000001.packed");
        assert_kept(&slru, FIRST..END);
    }

    /// Packed, written to, packed again: at every step of the disk the same pages are there, what was flushed included.
    #[test]
    fn a_crash_leaves_one_form_that_is_whole() {
        let disk = SimDisk::new();
        let slru = open(&disk, LogKind::CommitTs);
        fill(&slru);
        let filled = disk.operations();
        while slru.pack_one_below(END).unwrap() {}
        slru.update(70, Lsn::ZERO, |p| p.set(3, 1 << 63 | 9)).unwrap();
        slru.flush().unwrap();
        let flushed = disk.operations();
        drop(slru);
        while open(&disk, LogKind::CommitTs).pack_one_below(END).unwrap() {}
        let mut crashes = disk.crashes();
        for at in filled..=disk.operations() {
            crashes.advance_to(at);
            let image = crashes.image(&mut fastrand::Rng::with_seed(at as u64));
            let after = open(&image, LogKind::CommitTs);
            for page in [FIRST, 70, 71, 3 * SEGMENT_PAGES, END - 1] {
                assert_kept(&after, page..page + 1);
            }
            assert_eq!(faults(&after), [""; 0], "a crash at {at}");
            let found = after.read(70, |p| p.word(3)).unwrap();
            assert!(found == 1 << 63 | 9 || (at < flushed && found == word(70, 3)), "at {at}");
        }
    }

    #[test]
    fn readers_find_pages_while_segments_change_their_form() {
        let disk = SimDisk::new();
        let slru = open(&disk, LogKind::Xact);
        fill(&slru);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let (slru, stop) = (&slru, &stop);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    while !stop.load(Ordering::Relaxed) {
                        let page = rng.u64(FIRST..END);
                        assert_kept(slru, page..page + 1);
                        std::thread::park_timeout(std::time::Duration::from_micros(200));
                    }
                });
            }
            let change = || {
                for _ in 0..5 {
                    slru.packed.store(0, Ordering::Relaxed);
                    while slru.pack_one_below(END)? {}
                    (1..4).try_for_each(|segment| slru.files.unpack(segment))?;
                }
                slru.segments()
            };
            let changed = change();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(changed.unwrap(), [1, 2, 3, 4]);
        });
    }
}
