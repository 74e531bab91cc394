//! The pool: frames, who is in them, and who gets the next one.

use super::ahead::{Reach, UnderWay};
use super::cleaner::CleanerState;
use super::dirty::DirtyQueues;
use super::frame::{Frame, UNLOGGED};
use super::free::FreeList;
use super::io::{IoCounts, IoKey, IoStats};
use super::load::Failures;
use super::memory::Pages;
use super::protection::Protection;
use super::relation::{RelMap, Relation};
use super::replace::{Candidates, Credit, Replacer};
use super::slot::FRAMES_MAX;
use super::sync::Places;
use super::totals::Gone;
use super::write::{Progress, Writer};
use super::writeback;
use super::{Config, HugePages, PoolStats, Ring};
use crate::error::{Error, Result};
use crate::page::{PAGE_BYTES, PageView};
use crate::relfile::RelFiles;
use crate::wal::{RedoHold, Wal};
use base::clock;
use base::env::Env;
use base::hash::{HashMap, hash_of};
use base::interrupt;
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU32, AtomicU64, Ordering};
use base::usage::{self, Use};
use base::{BlockNo, Fork, Lsn, PageId, Persistence, RelId};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The buffer cache of a data directory.
pub struct Pool {
    pub(super) pages: Pages,
    pub(super) frames: Box<[Frame]>,
    pub(super) replacer: Replacer,
    pub(super) free: FreeList,
    pub(super) dirty: DirtyQueues,
    pub(super) files: Arc<RelFiles>,
    pub(super) config: Config,
    pub(super) writer: Latch<Writer>,
    pub(super) progress: Progress,
    pub(super) protection: Protection,
    pub(super) flush_after: writeback::After,
    pub(super) cleaner: CleanerState,
    pub(super) places: Places,
    pub(super) failures: Failures,
    pub(super) load_number: AtomicU32,
    pub(super) under_way: UnderWay,
    pub(super) counters: Counters,
    pub(super) io: IoStats,
    pub(super) gone: Gone,
    relations: Latch<HashMap<RelId, Arc<RelMap>>>,
    wal: OnceLock<Arc<Wal>>,
    /// Before the log is attached: where redo is.
    redo_at: AtomicU64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub loads: AtomicU64,
    pub ahead: AtomicU64,
    pub evictions: AtomicU64,
    pub waits_for_frame: AtomicU64,
    pub extends: AtomicU64,
    pub written: AtomicU64,
    pub batches: AtomicU64,
    pub write_errors: AtomicU64,
}

/// Who waits for a frame looks so often whether it is to stop. Not before: a cleaner that writes at all brings one sooner, and
/// what a context does at its end, interrupted as it is, may need one.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Adds to a counter.
pub(super) fn count(counter: &AtomicU64, by: u64) {
    // Relaxed: figures for people.
    counter.fetch_add(by, Ordering::Relaxed);
}

/// What the system refuses, in the words of the settings.
fn no_memory(frames: u32, huge: HugePages, refusal: &std::io::Error) -> Error {
    let mib = (u64::from(frames) * PAGE_BYTES as u64).div_ceil(1 << 20);
    let way = match huge {
        HugePages::On => {
            " in huge pages (huge_pages is on; vm.nr_hugepages says how many there are)"
        }
        HugePages::Try | HugePages::Off => "",
    };
    Error::Refused(format!("cannot get {mib} MiB of memory for shared_buffers{way}: {refusal}"))
}

impl Pool {
    /// Opens an empty pool over the relation files and starts its cleaner. Torn pages must have been
    /// repaired ([`doublewrite::recover`](super::doublewrite::recover)).
    pub fn open(env: &Env, config: Config, files: Arc<RelFiles>) -> Result<Arc<Pool>> {
        let count = u32::try_from(config.frames).ok().filter(|n| (1..=FRAMES_MAX).contains(n));
        let count = count.ok_or_else(|| {
            Error::LimitExceeded(format!("{} buffers are too few or too many", config.frames))
        })?;
        let pages = Pages::new(count as usize, config.huge_pages)
            .map_err(|refusal| no_memory(count, config.huge_pages, &refusal))?;
        let writer = Writer::open(env, &config, &files)?;
        let pool = Arc::new(Pool {
            pages,
            frames: (0..count).map(Frame::new).collect(),
            replacer: Replacer::new(config.replacement, count),
            free: FreeList::full(count),
            dirty: DirtyQueues::new(count as usize),
            places: Places::new(writer.last_batch()),
            writer: Latch::new(Rank::PageWriter, writer),
            progress: Progress::default(),
            protection: Protection::new(&config),
            flush_after: writeback::After::new(config.flush_after),
            cleaner: CleanerState::default(),
            failures: Failures::default(),
            load_number: AtomicU32::new(0),
            under_way: UnderWay::default(),
            counters: Counters::default(),
            io: IoStats::default(),
            gone: Gone::default(),
            relations: Latch::new(Rank::BufferMap, HashMap::default()),
            wal: OnceLock::new(),
            redo_at: AtomicU64::new(1),
            files,
            config,
        });
        super::cleaner::start(env, &pool);
        Ok(pool)
    }

    /// Stops the background contexts, and waits for reads that nobody else waits for. Nothing is written; see
    /// [`Pool::clean_all`].
    pub fn stop(&self) {
        self.under_way.wait_for_all();
        super::cleaner::stop(self);
    }

    /// From now on pages wait for this log and take their first-dirty positions from it.
    pub fn attach_wal(&self, wal: Arc<Wal>) {
        assert!(self.wal.set(wal).is_ok(), "a pool has one log");
    }

    /// Where redo is: pages changed from now on need redo from here. Used until a log is attached.
    pub fn set_redo_position(&self, start: Lsn) {
        // Relaxed: redo is one context; the frame's latch orders it for others.
        self.redo_at.store(start.0, Ordering::Relaxed);
    }

    /// A position at or before the start of every record inserted from now on.
    pub(super) fn log_position(&self) -> Lsn {
        match self.wal.get() {
            Some(wal) => wal.position(),
            None => Lsn(self.redo_at.load(Ordering::Relaxed)),
        }
    }

    /// Waits until the log is durable up to `lsn`. During redo it is.
    pub(super) fn flush_log(&self, lsn: Lsn) {
        if let Some(wal) = self.wal.get() {
            wal.flush(lsn);
        }
    }

    /// The handle of a relation, whose main fork's pages are latched at `rank`. Cheap; callers keep it. The
    /// files are looked at when they are first needed.
    pub fn relation(self: &Arc<Self>, rel: RelId, rank: Rank) -> Relation {
        let mut relations = self.relations.lock();
        let map = relations.entry(rel).or_insert_with(|| Arc::new(RelMap::new(rel, rank)));
        debug_assert_eq!(map.main_rank(), rank, "a relation has one kind");
        Relation::new(Arc::clone(self), Arc::clone(map))
    }

    /// Makes the relation's file and answers its handle. The caller has logged the creation.
    pub fn create_relation(self: &Arc<Self>, rel: RelId, rank: Rank) -> Result<Relation> {
        self.files.create(rel, false)?;
        Ok(self.relation(rel, rank))
    }

    /// The rank that the relation's main fork is used at; `None`: nobody has used it yet.
    pub fn rank_of(&self, rel: RelId) -> Option<Rank> {
        self.relations.lock().get(&rel).map(|map| map.main_rank())
    }

    /// Keeps the redo point before every record that a page in memory stands for, or has it behind all there are. Who takes
    /// pages out of memory unwritten, and unchanged from now on, holds it until their file is as it is to be: on the file as
    /// it was, redo can't do the later of their records alone. Redo itself makes no restart point meanwhile.
    pub fn hold_for_discard(&self, rel: RelId) -> Option<RedoHold> {
        let wal = self.wal.get().filter(|_| rel.is_logged())?;
        Some(wal.hold_redo_between(self.min_rec_lsn(), wal.position()))
    }

    /// Removes the relation: its pages leave the cache unwritten, its files are deleted. Nobody may use it any
    /// more; pins that are about to go are waited for. Fine if it does not exist. To be called without a latch.
    pub fn drop_relation(self: &Arc<Self>, rel: RelId) -> Result<()> {
        let _hold = self.hold_for_discard(rel);
        self.drop_map(rel);
        self.forget_copies(|page| page.rel == rel);
        self.files.remove(rel)?;
        // Again: somebody may have asked for a handle meanwhile, and would be answered from it for good.
        self.drop_map(rel);
        Ok(())
    }

    fn drop_map(self: &Arc<Self>, rel: RelId) {
        let map = self.relations.lock().remove(&rel);
        if let Some(map) = map {
            map.set_dropped();
            self.gone.add(&map);
            Relation::new(Arc::clone(self), map).discard_all();
        }
    }

    /// The relation files.
    pub fn files(&self) -> &Arc<RelFiles> {
        &self.files
    }

    /// How far scans read ahead that are not told otherwise.
    pub fn reach(&self) -> Reach {
        self.config.reach
    }

    /// The most that the replacement policy credits a page with.
    pub fn credit_max(&self) -> u32 {
        self.replacer.credit_max()
    }

    /// How many frames the pool has.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// The first log position that redo would need if the process died now: every change logged before it is
    /// in its place on disk and durable. Never more than the log's end at the time of the call.
    pub fn min_rec_lsn(&self) -> Lsn {
        // The log's position first: see `dirty`.
        let end = self.log_position();
        let dirty = self.dirty.oldest(&self.frames).unwrap_or(end);
        // After the frames: positions move from there to here.
        end.min(dirty).min(self.places.oldest())
    }

    /// Counters and gauges, as of now.
    pub fn stats(&self) -> PoolStats {
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        PoolStats {
            frames: self.frames.len(),
            free: self.free.len(),
            taken: self.free.taken() as u64,
            loads: get(&self.counters.loads),
            ahead: get(&self.counters.ahead),
            evictions: get(&self.counters.evictions),
            waits_for_frame: get(&self.counters.waits_for_frame),
            extends: get(&self.counters.extends),
            written: get(&self.counters.written),
            batches: get(&self.counters.batches),
            write_errors: get(&self.counters.write_errors),
        }
    }

    /// Reads, writes and extensions, by whom and for what.
    pub fn io_stats(&self) -> Vec<(IoKey, IoCounts)> {
        self.io.all()
    }

    pub(super) fn maps(&self) -> Vec<Arc<RelMap>> {
        self.relations.lock().values().cloned().collect()
    }

    /// Pages found in memory, by all relations there are or were.
    pub fn hits(&self) -> u64 {
        let now: u64 = self.maps().iter().map(|map| map.hits()).sum();
        now + self.gone.hits()
    }

    /// What each frame holds now, by a look without a latch: a page that comes or goes meanwhile may be shown
    /// as it was or as it will be.
    pub fn residents(&self) -> impl Iterator<Item = Option<Resident>> {
        self.frames.iter().map(|frame| {
            if frame.word.is_absent() {
                return None;
            }
            let pins = frame.word.pins();
            let (rel, fork, block) = frame.place_hint();
            // It may have gone meanwhile.
            if frame.word.is_absent() {
                return None;
            }
            Some(Resident {
                frame: frame.index,
                rel: RelId(rel),
                fork: Fork::from_u8(fork)?,
                block: BlockNo(block),
                dirty: frame.is_dirty(),
                credit: self.replacer.credit_of(&frame.credit),
                pins,
            })
        })
    }

    /// Frames that are dirty now: a scan, for people and tests.
    pub fn dirty_count(&self) -> usize {
        self.frames.iter().filter(|f| f.is_dirty()).count()
    }

    #[inline]
    pub(super) fn view(&self, frame: &Frame) -> PageView<'_> {
        PageView::new(self.pages.get(frame.index))
    }

    /// Marks the frame's page dirty for the first time since it was last copied. Its holder is exclusive.
    #[cold]
    pub(super) fn first_dirty(&self, frame: &Frame) {
        let rel = frame.page_id().rel;
        let temporary = rel.persistence() == Persistence::Temporary;
        usage::count(if temporary { Use::LocalDirtied } else { Use::Dirtied }, 1);
        if rel.is_logged() {
            // Relaxed: under the exclusive latch.
            frame.owes_image.store(true, Ordering::Relaxed);
            self.dirty.enter(&self.frames, frame, || self.log_position());
        } else {
            // Relaxed: the frame's latch orders it.
            frame.rec_lsn.store(UNLOGGED, Ordering::Relaxed);
        }
    }

    /// A frame to load a page into, owned by the caller (absent). Never writes a page: with none free or
    /// clean it asks the cleaner and waits, up to the configured time or until it is interrupted. A ring is to be told
    /// which page it gets ([`Ring::note`]).
    pub(super) fn take_frame(&self, ring: Option<&mut Ring>) -> Result<&Frame> {
        let index = match ring.and_then(|ring| self.next_of(ring)) {
            Some(index) => index,
            None => self.take_free()?,
        };
        Ok(&self.frames[index as usize])
    }

    /// As [`Pool::take_frame`], but only one that is at hand.
    pub(super) fn try_take_frame(&self, ring: Option<&mut Ring>) -> Option<&Frame> {
        let at_hand = || {
            let index = self.free.take().or_else(|| {
                self.reclaim_clean();
                self.free.take()
            })?;
            if self.free.len() < self.cleaner.low_mark() {
                self.cleaner.wake();
            }
            Some(index)
        };
        let index = ring.and_then(|ring| self.next_of(ring)).or_else(at_hand)?;
        Some(&self.frames[index as usize])
    }

    /// Evicts the page that the ring loaded longest ago, if it is still there, clean, and nobody else wants it. Has those
    /// written that it comes to later.
    fn next_of(&self, ring: &mut Ring) -> Option<u32> {
        let frame_of = |index: u32| &self.frames[index as usize];
        let dirty = |(index, page): &&(u32, PageId)| {
            frame_of(*index).holds(*page) && frame_of(*index).is_dirty()
        };
        let dirty: Vec<u32> = ring.coming().iter().filter(dirty).map(|(index, _)| *index).collect();
        if !dirty.is_empty() {
            self.cleaner.ask_to_write(dirty);
        }
        let (index, page) = ring.reusable()?;
        let frame = frame_of(index);
        // The word first: if it is still that when the page goes, the frame holds what it held when it was looked at.
        let idle = frame.word.idle();
        if !frame.holds(page) || self.replacer.is_wanted(&frame.credit) {
            return None;
        }
        if frame.is_dirty() {
            ring.keep(Ring::pages_max(self));
            return None;
        }
        if !self.evict(frame, idle?) {
            return None;
        }
        self.io.reused(page.rel, ring.purpose());
        Some(index)
    }

    fn take_free(&self) -> Result<u32> {
        if let Some(index) = self.free.take() {
            if self.free.len() < self.cleaner.low_mark() {
                self.cleaner.wake();
            }
            return Ok(index);
        }
        self.wait_for_frame()
    }

    /// The foreground looks no further for a clean victim before it waits for the cleaner.
    const SEARCH_MAX: usize = 1024;

    /// An interrupt ends it as a timeout does: whoever takes a frame may fail. Nobody interrupts redo, cleaner or checkpointer.
    #[cold]
    fn wait_for_frame(&self) -> Result<u32> {
        let began = clock::now();
        let patience = self.patience();
        let mut deadline = began.after(patience);
        let mut waited = false;
        let (mut looked, mut writing) = (began, self.progress.under_way());
        loop {
            self.reclaim_clean();
            if let Some(index) = self.free.take() {
                return Ok(index);
            }
            let (now, batch) = (clock::now(), self.progress.under_way());
            if self.files.awaits_inherited() {
                // The cleaner can't write a page until that is over: redo waits with it.
                deadline = now.after(patience);
            } else if batch.is_some() && batch == writing {
                // The disk, or the log before it, is slow: that is nobody's fault, and it comes to an end.
                deadline = deadline.after(now.since(looked));
            } else if now >= deadline {
                return Err(Error::NoFreeBuffer { waited: patience });
            }
            (looked, writing) = (now, batch);
            if now >= began.after(LOOK_UP) {
                interrupt::check()?;
            }
            if !std::mem::replace(&mut waited, true) {
                count(&self.counters.waits_for_frame, 1);
            }
            self.cleaner.wake();
            self.free.wait(now.after(LOOK_UP));
        }
    }

    /// How long a frame is waited for. Redo has nothing better to do where a slow disk keeps the cleaner: a start that fails
    /// would only begin again.
    fn patience(&self) -> Duration {
        // Relaxed: redo has set it before it began.
        let redoes = self.wal.get().is_none() && self.redo_at.load(Ordering::Relaxed) > 1;
        self.config.frame_wait * if redoes { 60 } else { 1 }
    }

    /// Evicts a batch of clean victims, unless somebody else is at it.
    fn reclaim_clean(&self) {
        const BATCH: usize = 32;
        let Some(mut hand) = self.replacer.try_sweep() else { return };
        let mut victims = Victims::new(self, BATCH, false);
        self.replacer.victims(&mut hand, Self::SEARCH_MAX, &mut victims);
        drop(hand);
        self.free.give(&victims.freed);
    }

    /// Empties a clean frame outside a sweep; true if the caller owns it now. `idle` is what the word was.
    pub(super) fn evict(&self, frame: &Frame, idle: u64) -> bool {
        let evicted = self.try_evict(frame, idle);
        if let Some(page) = evicted {
            self.replacer.evicted(frame.index, &frame.credit, page);
        }
        evicted.is_some()
    }

    /// Empties a clean frame; answers the hash of its page if the caller owns it now.
    fn try_evict(&self, frame: &Frame, idle: u64) -> Option<u64> {
        if frame.is_dirty() || !frame.word.try_evict(idle) {
            return None;
        }
        // Again: a copy may have been on its way between the two looks of the first check, and come back
        // unwritten. Now nobody can change it.
        if frame.is_dirty() {
            frame.word.publish(0);
            return None;
        }
        let page = frame.page_id();
        frame.unbind();
        count(&self.counters.evictions, 1);
        Some(hash_of(&page))
    }
}

/// A page in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resident {
    /// The frame's number, from 0.
    pub frame: u32,
    /// Whose page.
    pub rel: RelId,
    /// Of which fork.
    pub fork: Fork,
    /// Which block.
    pub block: BlockNo,
    /// Whether it differs from the disk's, or may.
    pub dirty: bool,
    /// What the replacement policy has credited it with.
    pub credit: u32,
    /// How many hold it.
    pub pins: u64,
}

/// What a sweep has found.
pub(super) struct Victims<'p> {
    pool: &'p Pool,
    most: usize,
    /// Collect dirty ones, too.
    with_dirty: bool,
    /// Evicted frames, owned by the sweeper.
    pub freed: Vec<u32>,
    /// Victims that have to be written first.
    pub dirty: Vec<u32>,
}

impl<'p> Victims<'p> {
    pub fn new(pool: &'p Pool, most: usize, with_dirty: bool) -> Victims<'p> {
        Victims { pool, most, with_dirty, freed: Vec::with_capacity(most), dirty: Vec::new() }
    }
}

impl Candidates for Victims<'_> {
    fn credit(&self, index: u32) -> &Credit {
        &self.pool.frames[index as usize].credit
    }

    fn is_idle(&self, index: u32) -> bool {
        self.pool.frames[index as usize].word.idle().is_some()
    }

    fn offer(&mut self, index: u32) -> Option<u64> {
        let frame = &self.pool.frames[index as usize];
        if self.with_dirty && frame.is_dirty() {
            self.dirty.push(index);
            return None;
        }
        let (rel, ..) = frame.place_hint();
        let page = self.pool.try_evict(frame, frame.word.idle()?)?;
        self.pool.io.evicted(RelId(rel));
        self.freed.push(index);
        Some(page)
    }

    fn enough(&self) -> bool {
        self.freed.len() + self.dirty.len() >= self.most
    }
}
