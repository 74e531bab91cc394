//! The write-ahead log. See `README.md` in this folder for the bytes, the order and the invariants.
//!
//! ```text
//! claim ──► insert (reserve, copy) ──► ring ──► flusher (write, sync) ──► segments ◄── maker
//!             └─ commits: publish                    └─ durable LSN ──► waiters, watches
//! ```

mod durable;
pub(crate) mod fields;
mod flusher;
mod gather;
mod holds;
mod image;
pub mod kind;
mod line;
mod maker;
mod mapped;
mod publish;
pub mod reader;
pub mod record;
mod reserve;
mod ring;
pub mod segment;
mod space;
mod stats;
mod store;
mod summary;
mod switch;
mod view;

pub use durable::DurableWatch;
pub use holds::RedoHold;
pub use image::{Compression, ImageShape, MAX_IMAGE_BYTES, PageImage, Terms};
pub use kind::{Kind, Room};
pub use mapped::{WalIo, check_io};
pub use reader::{LogEnd, Reader, erase_tail};
pub use record::{LoggedPage, MAX_RECORD_BYTES, Record, record_bound};
pub use segment::{Epoch, LogShape};
pub use stats::WalStats;
pub use summary::{Summary, Total, percent};
pub use switch::LogFile;
pub use view::{BlockView, RecordView};

use crate::error::{Error, Result, or_abort};
use base::disk::{Disk, SyncMethod};
use base::env::{Background, Env};
use base::pad::{LINE_BYTES, Padded, is_one_line};
use base::park::Context;
use base::sync::unmodelled::{AtomicU8, AtomicUsize, Ordering};
use base::usage::{self, Use};
use base::wait_event::{self, Event};
use base::{Csn, Lsn, LsnRange};
use durable::Durable;
use holds::Holds;
use mapped::Segments;
use publish::Publish;
use reserve::{Reserve, UNIT_BYTES};
use ring::Ring;
use space::{Claimant, Denied, Space};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, OnceLock};
use store::Store;

/// Sizes of the log's parts.
#[derive(Clone, Copy, Debug)]
pub struct WalConfig {
    /// Bytes of the ring, `wal_buffers`; a power of two.
    pub buffer_bytes: usize,
    /// Insertion slots, `wal_insert_slots`.
    pub insert_slots: usize,
    /// Old segments are kept for reuse up to what was needed lately, if all files together then take no less than
    /// this (`min_wal_size`) …
    pub files_bytes_min: u64,
    /// … and no more than this (`max_wal_size`).
    pub files_bytes_max: u64,
    /// How the log is made durable, `wal_sync_method`, to begin with.
    pub sync_method: SyncMethod,
    /// How records come into the files, `wal_io`.
    pub io: WalIo,
}

/// Smallest `wal_buffers`: room for some of the longest records.
pub const BUFFER_BYTES_MIN: usize = 4 * MAX_RECORD_BYTES;

/// The log of a running engine. Split by who touches what; whatever is written while others read lies on lines of its
/// own, so that no insert waits for a line that a flush writes (README, "Memory").
pub struct Wal {
    // Insertion. `reserve`, `publish` and `space` pad what they share.
    reserve: Reserve,
    publish: Publish,
    space: Space,
    route: Padded<Route>,
    // Write and flush.
    durable: Durable,
    flushing: Padded<Mutex<flusher::State>>,
    store: Padded<Store>,
    holds: Padded<Holds>,
    // Information.
    counters: Padded<stats::Counters>,
    since: Padded<stats::Since>,
    seldom: Padded<Seldom>,
}

/// What every insert reads, and nobody writes.
struct Route {
    ring: Ring,
    /// Positions count units from here; one unit before the epoch's start, so that no commit has position 0.
    origin: u64,
    /// Where checksums begin.
    seed: u32,
    epoch: Epoch,
}

/// What is written when a log is opened, closed or set otherwise, or when it is in trouble.
struct Seldom {
    sync_method: AtomicU8,
    maker: OnceLock<Context>,
    trouble: maker::Trouble,
    backgrounds: Mutex<Vec<Background>>,
}

/// Whether a part of the log begins a line. It ends with one, too, since its size is a multiple of its alignment.
macro_rules! assert_apart {
    ($($part:ident: $type:ty),*) => {
        $(
            const _: () = assert!(
                std::mem::offset_of!(Wal, $part).is_multiple_of(LINE_BYTES)
                    && align_of::<$type>().is_multiple_of(LINE_BYTES)
            );
        )*
    };
}

#[cfg(not(any(
    loom,
    feature = "lab-wal-packed",
    feature = "lab-wal-64",
    feature = "lab-wal-256"
)))]
assert_apart!(reserve: Reserve);
#[cfg(not(loom))]
assert_apart!(
    publish: Publish,
    space: Space,
    durable: Durable,
    route: Padded<Route>,
    flushing: Padded<Mutex<flusher::State>>,
    store: Padded<Store>,
    holds: Padded<Holds>,
    counters: Padded<stats::Counters>,
    since: Padded<stats::Since>,
    seldom: Padded<Seldom>
);
#[cfg(not(loom))]
const _: () = assert!(is_one_line::<Route>(), "an insert reads one line of what stays");

/// Log space promised to one critical section. What is left when it drops is returned.
#[must_use]
pub struct Claim<'w> {
    wal: &'w Wal,
    left: u64,
    who: Claimant,
}

thread_local! {
    /// This thread's preferred slot and purse.
    static HINT: Cell<usize> = Cell::new({
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: only distinctness matters.
        NEXT.fetch_add(1, Ordering::Relaxed)
    });
}

impl Wal {
    /// Opens the log for a new epoch and starts its contexts. The first segment is made before this
    /// returns. `epoch.start` must be where recovery found that the log may go on.
    pub fn open(env: &Env, config: WalConfig, epoch: Epoch) -> Result<Arc<Wal>> {
        check_sizes(&config, &epoch)?;
        check_method(&env.disk, config.sync_method)?;
        let kept = kept_files(&epoch, config.files_bytes_min, config.files_bytes_max);
        let origin = epoch.start.0 - UNIT_BYTES;
        let capacity = config.buffer_bytes as u64;
        let segments = Segments::reserve(config.io, &epoch, config.buffer_bytes)?;
        let ring = match &segments {
            None => Ring::new(config.buffer_bytes),
            Some(segments) => Ring::over(segments.window(), config.buffer_bytes),
        };
        let seed = record::crc_seed(epoch.timeline, epoch.number);
        let wal = Arc::new(Wal {
            reserve: Reserve::new(1, config.insert_slots),
            publish: Publish::new(0),
            space: Space::new(epoch.start.0, capacity, config.insert_slots, epoch.segment_bytes),
            route: Padded(Route { ring, origin, seed, epoch }),
            durable: Durable::new(epoch.start),
            flushing: Padded(Mutex::new(flusher::State::new(epoch.start))),
            store: Padded(Store::open(Arc::clone(&env.disk), epoch, kept, segments)?),
            holds: Padded::default(),
            counters: Default::default(),
            since: Padded(stats::Since::now()),
            seldom: Padded(Seldom {
                sync_method: AtomicU8::new(config.sync_method as u8),
                maker: OnceLock::new(),
                trouble: maker::Trouble::default(),
                backgrounds: Mutex::default(),
            }),
        });
        maker::make_next(&wal)?;
        let (flusher, maker) = (Arc::clone(&wal), Arc::clone(&wal));
        let started = vec![
            env.spawn("wal flusher", move || or_abort("wal flusher", || flusher::run(&flusher))),
            env.spawn("wal segments", move || or_abort("wal segments", || maker::run(&maker))),
        ];
        *wal.seldom.backgrounds.lock().expect("no code panics under it") = started;
        Ok(wal)
    }

    /// Makes everything durable and ends the log's contexts. Nothing may be inserted any more.
    pub fn close(&self) {
        self.durable.stop();
        if let Some(maker) = self.seldom.maker.get() {
            maker.unpark();
        }
        let started =
            std::mem::take(&mut *self.seldom.backgrounds.lock().expect("no code panics under it"));
        started.into_iter().for_each(Background::join);
    }

    /// Claims room for `bytes` of log ([`record_bound`] computes them). To be called before the first
    /// latch of a page (debug builds check it): it may park until there is room, and fails while no segment can be made.
    #[inline]
    pub fn claim(&self, bytes: usize) -> Result<Claim<'_>> {
        self.claim_as(bytes, Claimant::Ordinary)
    }

    /// As [`Wal::claim`], from the reserve that ordinary claims leave.
    pub fn claim_reserve(&self, bytes: usize) -> Result<Claim<'_>> {
        self.claim_as(bytes, Claimant::Checkpointer)
    }

    #[inline]
    fn claim_as(&self, bytes: usize, who: Claimant) -> Result<Claim<'_>> {
        base::rank::assert_no_page_held();
        let bytes = bytes.next_multiple_of(UNIT_BYTES as usize) as u64;
        if self.space.try_claim(bytes, who, HINT.get()).is_err() {
            self.claim_slow(bytes, who)?;
        }
        Ok(Claim { wal: self, left: bytes, who })
    }

    #[cold]
    fn claim_slow(&self, bytes: u64, who: Claimant) -> Result<()> {
        assert!(
            bytes <= self.route.ring.capacity() / 2,
            "a claim of {bytes} bytes is more than the ring gives"
        );
        loop {
            match self.space.try_claim(bytes, who, HINT.get()) {
                Ok(()) => return Ok(()),
                Err(Denied::NoSegment) => match self.seldom.trouble.refusal() {
                    Some(refused) => return Err(refused),
                    // It is over, since just now.
                    None => continue,
                },
                Err(Denied::Exhausted) => {
                    let why = "this run's log positions are used up: restart the server";
                    return Err(Error::LimitExceeded(why.into()));
                }
                Err(Denied::NotYet) if self.durable.stopping() => return Err(Error::ShuttingDown),
                Err(Denied::NotYet) => {}
            }
            let _waiting = wait_event::during(match self.space.lacks_segments(bytes) {
                true => Event::WalInit,
                false => Event::WalSpace,
            });
            self.space.wait(bytes, who, || {
                self.durable.request(self.position());
                self.segments_needed();
            });
        }
    }

    /// Inserts a record. Infallible, never waits for the disk.
    #[inline]
    pub fn insert(&self, claim: &mut Claim<'_>, record: &Record<'_>) -> LsnRange {
        let units = claim.take(record);
        let mut scratch = record::Scratch::new();
        let sealed = record.seal(self.route.seed, &mut scratch);
        let slot = self.reserve.enter(HINT.get());
        let place = self.reserve.reserve(&slot, units, false);
        if record.image_count() > 0 {
            self.reserve.count_images(&slot, record.image_count() as u64);
        }
        let at = self.range(place.start, units);
        self.copy(sealed, at.start);
        self.reserve.leave(slot);
        count(record, at);
        at
    }

    /// Inserts a transaction's commit record and publishes the commit: calls `store_csn` with the record's
    /// start, which must make the CSN visible to readers and must not park, and returns when snapshots
    /// include it. The commit is durable when the log is durable to the returned end.
    #[inline]
    pub fn insert_commit(
        &self,
        claim: &mut Claim<'_>,
        record: &Record<'_>,
        store_csn: impl FnOnce(Csn),
    ) -> LsnRange {
        let units = claim.take(record);
        let mut scratch = record::Scratch::new();
        let sealed = record.seal(self.route.seed, &mut scratch);
        let slot = self.reserve.enter(HINT.get());
        let place = self.reserve.reserve(&slot, units, true);
        let at = self.range(place.start, units);
        store_csn(Csn(at.start.0));
        self.publish.mark(place);
        self.copy(sealed, at.start);
        self.reserve.leave(slot);
        count(record, at);
        self.publish.wait(place);
        at
    }

    #[inline]
    fn copy(&self, sealed: record::Sealed<'_, '_>, start: Lsn) {
        let mut at = start;
        sealed.write_at(start, |bytes| {
            // SAFETY: reserved by the caller, under its claim; its slot still bounds completeness.
            unsafe { self.route.ring.put(at, bytes) };
            at.0 += bytes.len() as u64;
        });
    }

    #[inline]
    fn range(&self, start: u64, units: u64) -> LsnRange {
        let start = self.route.origin + start * UNIT_BYTES;
        LsnRange { start: Lsn(start), end: Lsn(start + units * UNIT_BYTES) }
    }

    /// A position below which every record is in, and from which on none is that is not yet reserved: a
    /// page that is clean now and changed later gets an LSN above it.
    #[inline]
    pub fn position(&self) -> Lsn {
        Lsn(self.route.origin + self.reserve.position() * UNIT_BYTES)
    }

    /// The snapshot number: commits with a CSN below it are visible, and all their CSNs are stored.
    #[inline]
    pub fn published(&self) -> Csn {
        Csn(self.route.origin + self.publish.last() * UNIT_BYTES + 1)
    }

    /// Returns once snapshots include the commit with this CSN, whose transaction's fate is stored: at once, but in the moment
    /// between the two. Whoever acts on a commit as of now asks, lest its own next snapshot come before it.
    #[inline]
    pub fn await_published(&self, csn: Csn) {
        if csn >= self.published() {
            self.publish.wait_for((csn.0 - self.route.origin) / UNIT_BYTES);
        }
    }

    /// What is durable as far as snapshots include it: hints tell of no commit behind it.
    pub fn durable_and_published(&self) -> Lsn {
        self.durable().min(Lsn(self.published().0))
    }

    /// Every byte before it has been handed to the system.
    pub fn written(&self) -> Lsn {
        // Relaxed: for people.
        Lsn(self.counters.written.load(Ordering::Relaxed)).max(self.durable())
    }

    /// Every byte before it is on disk.
    #[inline]
    pub fn durable(&self) -> Lsn {
        self.durable.get()
    }

    /// Parks until the log is durable up to `lsn`.
    pub fn flush(&self, lsn: Lsn) {
        debug_assert!(lsn <= self.position(), "nobody can wait for log that is not there");
        self.durable.wait(lsn);
    }

    /// Makes the log durable up to `lsn` on the caller's own thread, which the disk blocks meanwhile, if nobody
    /// else flushes and a flush is a matter of microseconds. False otherwise: nothing is done then. Worth it for
    /// who is the only one that writes ([`Wal::is_quiet`]); others share flushes.
    pub fn flush_here(&self, lsn: Lsn) -> bool {
        debug_assert!(lsn <= self.position(), "nobody can wait for log that is not there");
        self.durable() >= lsn || flusher::flush_here(self, lsn)
    }

    /// Whether of late no more than one transaction that writes was under way at a time.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.durable.writers() <= 1
    }

    /// Asks for durability up to `lsn` and goes on.
    #[inline]
    pub fn request_flush(&self, lsn: Lsn) {
        self.durable.request(lsn);
    }

    /// Asks that the log as it is now be durable within a fifth of a second (`synchronous_commit = off`).
    #[inline]
    pub fn request_flush_soon(&self) {
        self.durable.request_soon();
    }

    /// So many transactions that have written are under way: whoever looks tells the flusher, who knows by it
    /// for how many commits it may be worth waiting.
    pub fn writers_seen(&self, count: u64) {
        self.durable.writers_seen(count);
    }

    /// Registers a worker that gates replies. `notify` is called by the flusher, after a flush that
    /// reached what the watch wants; it must be short and must not park.
    pub fn watch_durable(&self, notify: impl Fn(Lsn) + Send + Sync + 'static) -> Arc<DurableWatch> {
        self.durable.watch(Box::new(notify))
    }

    /// Forgets a worker.
    pub fn unwatch_durable(&self, watch: &Arc<DurableWatch>) {
        self.durable.unwatch(watch);
    }

    /// Asks for durability up to `lsn` on behalf of a watch; true if it is durable already. Otherwise the
    /// watch is notified once, at the lowest position wanted since the last notification, and must want
    /// again what is still missing then.
    #[inline]
    pub fn want_durable(&self, watch: &DurableWatch, lsn: Lsn) -> bool {
        self.durable.want(watch, lsn)
    }

    /// The run's identity.
    pub fn epoch(&self) -> &Epoch {
        &self.route.epoch
    }

    /// Bytes of log that may be ahead of what is in the files, or durable there where they are mapped.
    pub fn buffer_bytes(&self) -> u64 {
        self.route.ring.capacity()
    }

    /// Has the log made durable in another way from the next flush on. Refused where the system can't.
    pub fn set_sync_method(&self, how: SyncMethod) -> Result<()> {
        check_method(self.store.disk(), how)?;
        // Relaxed: any flush is right by any method.
        self.seldom.sync_method.store(how as u8, Ordering::Relaxed);
        Ok(())
    }

    fn sync_method(&self) -> SyncMethod {
        match self.seldom.sync_method.load(Ordering::Relaxed) {
            code if code == SyncMethod::OpenDatasync as u8 => SyncMethod::OpenDatasync,
            code if code == SyncMethod::IoUring as u8 => SyncMethod::IoUring,
            _ => SyncMethod::Fdatasync,
        }
    }

    /// Has old segments kept for reuse by other bounds, as [`WalConfig`] has them; surplus ones go at once.
    pub fn set_files_bytes(&self, min: u64, max: u64) -> Result<()> {
        self.store.keep(kept_files(&self.route.epoch, min, max)).map(|_| ())
    }

    /// Recovery will never again read below `lsn`: segments before it are reused or removed.
    pub fn release_before(&self, lsn: Lsn) -> Result<()> {
        self.store.release_before(self.route.epoch.segment_of(lsn))?;
        // A full disk may have room now.
        if let Some(maker) = self.seldom.maker.get() {
            maker.unpark();
        }
        Ok(())
    }

    /// Keeps the redo point before every record that is inserted from now on, until dropped.
    pub fn hold_redo(&self) -> RedoHold {
        self.holds.hold(|| self.position())
    }

    /// Keeps the redo point from moving behind `from` and not behind `to`, until dropped.
    pub fn hold_redo_between(&self, from: Lsn, to: Lsn) -> RedoHold {
        self.holds.hold_between(from, to)
    }

    /// The last position, up to `wanted`, that nobody holds; to be asked after [`Wal::settled_position`].
    pub fn redo_allowed(&self, wanted: Lsn) -> Lsn {
        self.holds.allow(wanted)
    }

    /// A position before which every record is whole and every commit's CSN is stored. As high as the
    /// log's position at the time of the call; waits for inserters that are copying.
    pub fn settled_position(&self) -> Lsn {
        let position = self.position();
        // Acquire inside: an emptied slot hands on what its owner stored, the CSN among it.
        flusher::wait_complete(self, position);
        position
    }

    /// Everything before it is in the ring.
    fn complete(&self) -> Lsn {
        Lsn(self.route.origin + self.reserve.complete() * UNIT_BYTES)
    }

    /// Wakes the maker if a segment is missing.
    fn segments_needed(&self) {
        if maker::is_needed(self)
            && let Some(maker) = self.seldom.maker.get()
        {
            maker.unpark();
        }
    }
}

impl Claim<'_> {
    /// Uses part of the claim up; in units.
    #[inline]
    fn take(&mut self, record: &Record<'_>) -> u64 {
        let bytes = record.padded_len() as u64;
        assert!(
            bytes <= self.left,
            "{:?} record of {bytes} bytes exceeds its claim (W2)",
            record.kind()
        );
        self.left -= bytes;
        bytes / UNIT_BYTES
    }
}

impl Drop for Claim<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.wal.space.give_back(self.left, self.who, HINT.get()) {
            self.wal.durable.request(self.wal.position());
        }
    }
}

fn check_method(disk: &Arc<dyn Disk>, how: SyncMethod) -> Result<()> {
    disk.check_sync_method(how).map_err(|e| {
        let name = match how {
            SyncMethod::Fdatasync => "fdatasync",
            SyncMethod::OpenDatasync => "open_datasync",
            SyncMethod::IoUring => "io_uring",
        };
        Error::Refused(format!("the system does not allow wal_sync_method = {name}: {e}"))
    })
}

/// The current context has logged a record.
#[inline]
fn count(record: &Record<'_>, at: LsnRange) {
    usage::count(Use::WalRecords, 1);
    usage::count(Use::WalBytes, at.end.0 - at.start.0);
    if record.image_count() > 0 {
        usage::count(Use::WalImages, record.image_count() as u64);
    }
}

/// Segment files that fit these sizes.
fn kept_files(epoch: &Epoch, bytes_min: u64, bytes_max: u64) -> RangeInclusive<usize> {
    let files = |bytes: u64| (bytes / epoch.segment_bytes) as usize;
    files(bytes_min)..=files(bytes_max)
}

fn check_sizes(config: &WalConfig, epoch: &Epoch) -> Result<()> {
    let bad = |what: String| Err(Error::Refused(what));
    if !config.buffer_bytes.is_power_of_two() || config.buffer_bytes < BUFFER_BYTES_MIN {
        return bad(format!("wal_buffers must be a power of two from {BUFFER_BYTES_MIN} bytes on"));
    }
    if !epoch.segment_bytes.is_power_of_two() || epoch.segment_bytes < segment::SEGMENT_BYTES_MIN {
        let min = segment::SEGMENT_BYTES_MIN;
        return bad(format!("wal_segment_size must be a power of two from {min} bytes on"));
    }
    assert!(epoch.start.0.is_multiple_of(epoch.segment_bytes), "an epoch begins with a segment");
    assert!(epoch.start.0 > 0, "position zero means none");
    Ok(())
}

#[cfg(test)]
#[cfg(not(loom))]
mod faults_tests;
#[cfg(test)]
#[cfg(loom)]
mod loom;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
#[cfg(not(loom))]
mod tests;
