//! The page cache under every status log: banks of sixteen slots, a latch and an LRU counter per bank,
//! reads that write no shared memory.
//!
//! A page lives in bank `page mod banks`; any number of banks works. See the README of `txlog` for the
//! story and the invariants.

mod bank;
mod check;
mod config;
mod error;
mod files;
mod kernel;
mod pack;
mod packed;
mod stats;

pub use config::{ALL_LOGS, BANK_SLOTS, LOGS, LogBuffers, LogKind, SEGMENT_PAGES};
pub use error::SlruError;
pub use kernel::{MAX_PAGE, PAGE_WORDS, Page};
pub use stats::SlruStats;

use bank::{Bank, BankState, SlotState};
use base::Lsn;
use base::disk::Disk;
use base::latch::LatchGuard;
use base::pad::Padded;
use base::sim;
use base::sync::unmodelled::{AtomicU64, Ordering};
use base::wait_event::{self, Event};
use files::{SegmentFiles, segment_of};
use stats::Counters;
use std::sync::Arc;

/// Makes the write-ahead log durable up to a position, parking; called before a page that depends on it is
/// written.
pub type WalBarrier = Arc<dyn Fn(Lsn) + Send + Sync>;

/// One status log: its pages in memory and in segment files.
pub struct Slru {
    log: LogKind,
    banks: Box<[Bank]>,
    /// The newest page: read and written most, never given up. `u64::MAX` before there is one.
    latest: Padded<AtomicU64>,
    /// Pages below were truncated away.
    oldest: Padded<AtomicU64>,
    /// Segments below are packed, or were tried.
    packed: AtomicU64,
    files: SegmentFiles,
    barrier: WalBarrier,
    counters: Counters,
}

/// Where a page comes from that is not in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Its segment file.
    File,
    /// Nowhere: it begins as zeros.
    Zeros,
}

impl Slru {
    /// Opens a log with `banks` banks; makes its directory, and removes the files of a log that is not
    /// durable. Pages before `oldest` count as truncated.
    pub fn open(
        log: LogKind,
        banks: usize,
        oldest: u64,
        disk: Arc<dyn Disk>,
        barrier: WalBarrier,
    ) -> Result<Slru, SlruError> {
        assert!(banks >= 1, "a cache has at least one bank");
        let files = SegmentFiles::new(log, disk);
        files.create_directory()?;
        if !log.is_durable() {
            files.remove(|_| true)?;
        }
        Ok(Slru {
            log,
            banks: (0..banks).map(|_| Bank::new()).collect(),
            latest: Padded(AtomicU64::new(u64::MAX)),
            oldest: Padded(AtomicU64::new(oldest)),
            packed: AtomicU64::new(0),
            files,
            barrier,
            counters: Counters::default(),
        })
    }

    /// Which log this is.
    pub fn log(&self) -> LogKind {
        self.log
    }

    /// Pages that the cache has room for.
    pub fn buffers(&self) -> usize {
        self.banks.len() * BANK_SLOTS
    }

    /// The numbers for `pg_stat_slru`.
    pub fn stats(&self) -> SlruStats {
        self.counters.snapshot()
    }

    /// Counts from here on.
    pub fn reset_stats(&self) {
        self.counters.reset();
    }

    #[inline]
    fn bank(&self, page: u64) -> &Bank {
        // A 32-bit division is several times faster, and page numbers nearly always fit.
        let banks = self.banks.len();
        let at = match u32::try_from(page) {
            Ok(page) => page % banks as u32,
            Err(_) => (page % banks as u64) as u32,
        };
        &self.banks[at as usize]
    }

    /// Reads from `page`. `f` may run several times and may see words of another page: it must only
    /// compute an answer, which is thrown away if the page was not there all the time.
    #[inline]
    pub fn read<R>(&self, page: u64, f: impl Fn(&Page) -> R) -> Result<R, SlruError> {
        match self.bank(page).read(page, &f) {
            Some(answer) => {
                self.counters.hit(self.log);
                Ok(answer)
            }
            None => self.read_slow(page, &f),
        }
    }

    #[cold]
    fn read_slow<R>(&self, page: u64, f: &dyn Fn(&Page) -> R) -> Result<R, SlruError> {
        let bank = self.bank(page);
        let (state, slot) = self.hold(bank, page, Source::File)?;
        let answer = f(bank.page(slot));
        bank.touch(slot);
        drop(state);
        Ok(answer)
    }

    /// Changes words of `page` under its bank's latch. The page will not be written before the log is
    /// durable up to `lsn`. `f` must not wait for anything.
    pub fn update<R>(
        &self,
        page: u64,
        lsn: Lsn,
        f: impl FnOnce(&Page) -> R,
    ) -> Result<R, SlruError> {
        self.change(page, lsn, Source::File, f)
    }

    /// Begins `page` with zeros, whatever a file may hold; changes it with `f`. It becomes the latest page
    /// if it is newer than that.
    pub fn begin<R>(
        &self,
        page: u64,
        lsn: Lsn,
        f: impl FnOnce(&Page) -> R,
    ) -> Result<R, SlruError> {
        self.counters.zeroed();
        let answer = self.change(page, lsn, Source::Zeros, |words| {
            words.zero();
            f(words)
        })?;
        self.note_latest(page);
        Ok(answer)
    }

    /// Begins pages with zeros, each once, until there is `page`, whoever else does the same. `next` is the first page
    /// that is not there; it changes under the latch of that page's bank, and passes pages that were truncated away.
    /// No latch is held over I/O.
    pub fn extend(&self, next: &AtomicU64, page: u64) -> Result<(), SlruError> {
        loop {
            // Acquire: pairs with the release in `begin_next`; whoever sees the number finds the pages below.
            let at = next.load(Ordering::Acquire);
            let oldest = self.oldest();
            if at > page {
                return Ok(());
            } else if at < oldest {
                next.fetch_max(oldest, Ordering::AcqRel);
            } else {
                self.begin_next(next, at)?;
            }
        }
    }

    /// Begins `page` if it is the next one still. May do something towards it only: to be called again.
    #[cold]
    fn begin_next(&self, next: &AtomicU64, page: u64) -> Result<(), SlruError> {
        let _window = sim::window(self.log.page_window());
        let bank = self.bank(page);
        let state = self.latch(bank);
        // Relaxed: changed under the latch that is held. Invariant P5.
        if next.load(Ordering::Relaxed) != page || self.check_kept(page).is_err() {
            return Ok(());
        }
        let (mut state, slot) = match bank.find(&state, page) {
            Some(slot) if matches!(state.slots[slot], SlotState::Reading(_)) => {
                self.wait(bank, state, slot);
                return Ok(());
            }
            Some(slot) => (state, slot),
            None => match self.make_room(bank, state)? {
                Some((mut state, slot)) => {
                    bank.tag(slot).retire();
                    bank.page(slot).zero();
                    self.settle(bank, &mut state, slot, page);
                    (state, slot)
                }
                None => return Ok(()),
            },
        };
        // It may have been there: read from a file of a future that is lost.
        bank.page(slot).zero();
        dirtied(&mut state, slot, Lsn::ZERO);
        bank.touch(slot);
        // Release: pairs with the acquire in `extend` and in whoever compares with `next`. It never goes back.
        next.fetch_max(page + 1, Ordering::Release);
        drop(state);
        self.counters.zeroed();
        self.note_latest(page);
        Ok(())
    }

    /// `page` is in use now; the newest such page is never a victim.
    pub fn note_latest(&self, page: u64) {
        let newer = |now: u64| (now == u64::MAX || now < page).then_some(page);
        // Relaxed: it only guides the choice of a victim.
        let _ = self.latest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, newer);
    }

    fn change<R>(
        &self,
        page: u64,
        lsn: Lsn,
        source: Source,
        f: impl FnOnce(&Page) -> R,
    ) -> Result<R, SlruError> {
        let bank = self.bank(page);
        let (mut state, slot) = self.hold(bank, page, source)?;
        let answer = f(bank.page(slot));
        dirtied(&mut state, slot, lsn);
        bank.touch(slot);
        Ok(answer)
    }

    /// Under the latch that truncation takes for its sweep: no page is brought in behind the sweep (invariant P5).
    fn check_kept(&self, page: u64) -> Result<(), SlruError> {
        // Acquire: pairs with the release in `truncate`.
        match page < self.oldest.load(Ordering::Acquire) {
            true => Err(SlruError::Truncated { log: self.log, page }),
            false => Ok(()),
        }
    }

    fn latch<'a>(&self, bank: &'a Bank) -> LatchGuard<'a, BankState> {
        let _waiting = wait_event::during(self.log.bank_event());
        bank.lock()
    }

    /// Waits until the I/O that `slot` is in has ended. Gives the latch back first.
    fn wait(&self, bank: &Bank, state: LatchGuard<'_, BankState>, slot: usize) {
        let _waiting = wait_event::during(self.log.buffer_event());
        bank.wait(state, slot);
    }

    /// Latches the bank with `page` in it, bringing the page in if need be.
    fn hold<'a>(
        &'a self,
        bank: &'a Bank,
        page: u64,
        source: Source,
    ) -> Result<(LatchGuard<'a, BankState>, usize), SlruError> {
        loop {
            let mut state = self.latch(bank);
            self.check_kept(page)?;
            if let Some(slot) = bank.find(&state, page) {
                if let SlotState::Reading(_) = state.slots[slot] {
                    self.wait(bank, state, slot);
                    continue;
                }
                return Ok((state, slot));
            }
            let Some((kept, slot)) = self.make_room(bank, state)? else {
                continue;
            };
            state = kept;
            bank.tag(slot).retire();
            if source == Source::Zeros {
                bank.page(slot).zero();
                self.settle(bank, &mut state, slot, page);
                return Ok((state, slot));
            }
            state.slots[slot] = SlotState::Reading(page);
            drop(state);
            self.bring_in(bank, slot, page)?;
        }
    }

    /// A slot that can be given away; none if the latch was given back for I/O, and all may have changed.
    fn make_room<'a>(
        &'a self,
        bank: &'a Bank,
        state: LatchGuard<'a, BankState>,
    ) -> Result<Option<(LatchGuard<'a, BankState>, usize)>, SlruError> {
        // Relaxed: a guide.
        let spared = self.latest.load(Ordering::Relaxed);
        let Some(slot) = bank.victim(&state, spared) else {
            let busy = state.slots.iter().position(SlotState::in_io);
            let busy = busy.expect("a slot neither free nor in I/O can be given away");
            self.wait(bank, state, busy);
            return Ok(None);
        };
        if let SlotState::Held { dirty: true, .. } = state.slots[slot] {
            drop(self.write_out(bank, state, slot)?);
            return Ok(None);
        }
        Ok(Some((state, slot)))
    }

    /// Reads `page` into a slot that is marked for it. Bank latch not held.
    fn bring_in(&self, bank: &Bank, slot: usize, page: u64) -> Result<(), SlruError> {
        let read = {
            let _waiting = wait_event::during(Event::SlruRead);
            self.files.read(page)
        };
        if let Ok(words) = &read {
            bank.page(slot).fill(words);
            self.counters.read();
        }
        let mut state = self.latch(bank);
        debug_assert_eq!(
            state.slots[slot],
            SlotState::Reading(page),
            "the mark is the reader's (P1)"
        );
        match read {
            Ok(_) => self.settle(bank, &mut state, slot, page),
            Err(_) => state.slots[slot] = SlotState::Free,
        }
        bank.io_ended(slot);
        read.map(|_| ())
    }

    /// The words of `page` are in the slot: everybody may see them.
    fn settle(&self, bank: &Bank, state: &mut BankState, slot: usize, page: u64) {
        state.slots[slot] = SlotState::Held { dirty: false, writing: false, lsn: Lsn::ZERO };
        bank.arrived(slot);
        bank.tag(slot).publish(page);
    }

    /// Writes a dirty slot's page from a copy; the latch is free meanwhile. Invariant P4: log first.
    fn write_out<'a>(
        &'a self,
        bank: &'a Bank,
        mut state: LatchGuard<'a, BankState>,
        slot: usize,
    ) -> Result<LatchGuard<'a, BankState>, SlruError> {
        let page = bank.tag(slot).page().expect("a dirty slot holds a page");
        let copy = bank.page(slot).copy();
        let SlotState::Held { dirty, writing, lsn } = &mut state.slots[slot] else {
            unreachable!("only held slots are written");
        };
        assert!(!*writing, "one write of a page at a time");
        let needed = *lsn;
        (*dirty, *writing) = (false, true);
        drop(state);
        if needed > Lsn::ZERO {
            (self.barrier)(needed);
        }
        let written = {
            let _waiting = wait_event::during(Event::SlruWrite);
            self.files.write(page, &copy)
        };
        self.counters.written();
        let mut state = self.latch(bank);
        let SlotState::Held { dirty, writing, .. } = &mut state.slots[slot] else {
            unreachable!("a slot that is being written is not given away (P1)");
        };
        *writing = false;
        *dirty |= written.is_err();
        bank.io_ended(slot);
        written.map(|()| state)
    }

    /// Whether `page` is in memory or in a file.
    pub fn exists(&self, page: u64) -> Result<bool, SlruError> {
        self.counters.exists();
        let bank = self.bank(page);
        let held = bank.find(&self.latch(bank), page).is_some();
        Ok(held || self.files.exists(page)?)
    }

    /// Writes every page that was dirty when this began and makes it durable. An error of `sync` must end
    /// the process: the pages count as clean, and what the system dropped it will not report twice.
    pub fn flush(&self) -> Result<(), SlruError> {
        self.counters.flushed();
        self.write_dirty(&|_| true)?;
        if self.log.is_durable() { self.files.sync() } else { Ok(()) }
    }

    /// Writes the pages meant that were dirty when this began.
    fn write_dirty(&self, is_meant: &dyn Fn(u64) -> bool) -> Result<(), SlruError> {
        for bank in &self.banks {
            for slot in 0..BANK_SLOTS {
                self.write_slot(bank, slot, is_meant)?;
            }
        }
        Ok(())
    }

    fn write_slot(
        &self,
        bank: &Bank,
        slot: usize,
        is_meant: &dyn Fn(u64) -> bool,
    ) -> Result<(), SlruError> {
        loop {
            let state = self.latch(bank);
            if !bank.tag(slot).page().is_some_and(is_meant) {
                return Ok(());
            }
            match state.slots[slot] {
                // Somebody else's write may lack the sync that begins after it ends.
                SlotState::Held { writing: true, .. } => self.wait(bank, state, slot),
                SlotState::Held { dirty: true, .. } => {
                    drop(self.write_out(bank, state, slot)?);
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }

    /// The first page that was not truncated away.
    pub fn oldest(&self) -> u64 {
        // Acquire: pairs with the release in `truncate`.
        self.oldest.load(Ordering::Acquire)
    }

    /// Drops all pages below `page` from memory, and the segment files that hold nothing else. Readers of
    /// such pages get [`SlruError::Truncated`] from now on. Whoever truncates a durable log has logged it.
    pub fn truncate(&self, page: u64) -> Result<(), SlruError> {
        // Release: pairs with the acquire in `hold`. First the boundary, then the sweep.
        if self.oldest.fetch_max(page, Ordering::Release) >= page {
            return Ok(());
        }
        self.counters.truncated();
        self.drop_pages(|held| held < page);
        self.files.remove(|segment| segment < segment_of(page))?;
        Ok(())
    }

    /// Packs a segment of which all pages lie below `end`, the oldest that has not been tried; whether there was one. Nobody
    /// changes pages below `end` meanwhile, and no two pack at a time (invariant P7). A segment that is damaged, or would
    /// hardly be smaller, stays as it is.
    pub fn pack_one_below(&self, end: u64) -> Result<bool, SlruError> {
        // Relaxed: its changers follow each other.
        let from = self.packed.load(Ordering::Relaxed);
        if from >= segment_of(end) {
            return Ok(false);
        }
        let Some(segment) = self.files.first_plain(from..segment_of(end))? else {
            self.packed.store(segment_of(end), Ordering::Relaxed);
            return Ok(false);
        };
        self.write_dirty(&|page| segment_of(page) == segment)?;
        match self.files.pack(segment) {
            Ok(_) | Err(SlruError::Damaged { .. }) => {
                self.packed.store(segment + 1, Ordering::Relaxed);
                Ok(true)
            }
            Err(e) => Err(e),
        }
    }

    /// Empties the log: every page from memory, every file. Nobody else may be using it.
    pub fn clear(&self) -> Result<(), SlruError> {
        self.counters.truncated();
        self.latest.store(u64::MAX, Ordering::Relaxed);
        self.drop_pages(|_| true);
        self.files.remove(|_| true)?;
        Ok(())
    }

    /// Whether the log carries the mark of one that is switched on ([`Slru::set_mark`]).
    pub fn is_marked(&self) -> Result<bool, SlruError> {
        self.files.is_marked()
    }

    /// Marks a log that can be switched off as on, or as off; durably.
    pub fn set_mark(&self, on: bool) -> Result<(), SlruError> {
        self.files.set_mark(on)
    }

    /// Numbers of the segment files there are, for checks and for directory scans.
    pub fn segments(&self) -> Result<Vec<u64>, SlruError> {
        self.files.segments()
    }

    /// Path of the file that holds `page`.
    pub fn file_of(&self, page: u64) -> String {
        self.files.path(segment_of(page))
    }

    fn drop_pages(&self, doomed: impl Fn(u64) -> bool) {
        for bank in &self.banks {
            for slot in 0..BANK_SLOTS {
                loop {
                    let mut state = self.latch(bank);
                    let page = match state.slots[slot] {
                        SlotState::Free => break,
                        SlotState::Reading(page) => page,
                        SlotState::Held { .. } => {
                            bank.tag(slot).page().expect("a held slot has a page")
                        }
                    };
                    if !doomed(page) {
                        break;
                    }
                    match state.slots[slot] {
                        SlotState::Reading(_) | SlotState::Held { writing: true, .. } => {
                            self.wait(bank, state, slot);
                        }
                        _ => {
                            bank.tag(slot).retire();
                            state.slots[slot] = SlotState::Free;
                            break;
                        }
                    }
                }
            }
        }
    }
}

/// A page in hand was changed; it must not be written before the log is durable up to `lsn`.
fn dirtied(state: &mut BankState, slot: usize, lsn: Lsn) {
    let SlotState::Held { dirty, lsn: needed, .. } = &mut state.slots[slot] else {
        unreachable!("a page in hand is in a held slot");
    };
    *dirty = true;
    *needed = lsn.max(*needed);
}

#[cfg(test)]
mod tests;
