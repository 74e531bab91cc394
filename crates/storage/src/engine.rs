//! The engine: opens the rooms in order, owns them, closes them.
//!
//! ```text
//! create:  directories, first log segment, status logs, control file last (it says that there is something)
//! open:    lock → control file → torn pages → redo → log (new epoch) → transactions → files → checkpointer
//! close:   vacuum, checkpointer, files, transactions → every page in place → last record → log → control file: clean
//! ```

mod copy;
mod inherited;
pub(crate) mod oids;
mod warm;

pub use oids::{FIRST_NORMAL_OID, Oids};

use crate::buffer::{self, Pool, Relation, TornPages, doublewrite};
use crate::error::{Error, Result};
use crate::heap::SharedLimits;
use crate::recovery::checkpoint::{CheckpointConfig, Checkpointer, Rooms};
use crate::recovery::control::{self, Control, ControlFile, Counters, State};
use crate::recovery::files::{self, RelationFiles};
use crate::recovery::imaged::ImagedPages;
use crate::recovery::redo::{self, RedoReport};
use crate::relfile::RelFiles;
use crate::txlog::{TxLog, TxLogConfig, WalBarrier};
use crate::txn::{Txn, TxnManager};
use crate::vacuum;
use crate::wal::{self, Compression, Epoch, LogEnd, LogShape, Wal, WalConfig, WalIo, segment};
use base::clock;
use base::disk::{DirectoryLock, SyncMethod};
use base::env::Env;
use base::hash::hash_of;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicU8, Ordering};
use base::usage::{self, Role};
use base::{Lsn, Persistence, RelId};
use inherited::Syncing;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use warm::Warmth;

/// The name of the lock file.
const LOCK: &str = "lock";

/// The configuration file, which may be there before everything else.
const CONFIGURATION: &str = "thalweg.conf";

/// Sizes and choices of an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Pages in the buffer cache, `shared_buffers`.
    pub shared_buffers: usize,
    /// Whether they lie in large pages: `huge_pages`.
    pub huge_pages: buffer::HugePages,
    /// `torn_page_protection`, to begin with.
    pub torn_pages: TornPages,
    /// `wal_compression`, to begin with.
    pub wal_compression: Compression,
    /// `bgwriter_flush_after` in pages, to begin with.
    pub flush_after: u32,
    /// Bytes of the log's ring, `wal_buffers`; a power of two.
    pub wal_buffers: usize,
    /// Insertion slots of the log, `wal_insert_slots`.
    pub wal_insert_slots: usize,
    /// Log bytes in a segment, `wal_segment_size`. Counts when a directory is made.
    pub wal_segment_bytes: u64,
    /// `wal_sync_method`, to begin with.
    pub wal_sync_method: SyncMethod,
    /// `wal_io`.
    pub wal_io: WalIo,
    /// `min_wal_size`, in bytes.
    pub min_wal_bytes: u64,
    /// `max_wal_size`, in bytes.
    pub max_wal_bytes: u64,
    /// `checkpoint_timeout`.
    pub checkpoint_timeout: Duration,
    /// `buffer_replacement`.
    pub replacement: buffer::Policy,
    /// Contexts that redo pages at the start, `recovery_workers`; fewer than two: the one that reads the log alone.
    pub recovery_workers: usize,
    /// Whether these have pages read before they come to them, `recovery_prefetch`.
    pub recovery_prefetch: bool,
    /// Least time between two restart points of a long redo.
    pub restart_every: Duration,
    /// How often a long redo says on standard error how far it is.
    pub progress_every: Duration,
    /// How far scans read ahead that are not told otherwise; `maintenance_io_concurrency`, `io_combine_limit`.
    pub reach: buffer::Reach,
    /// Sizes of the status logs.
    pub txlog: TxLogConfig,
    /// Whether pages of relations go past the system's cache: `direct_io`.
    pub direct_io: bool,
    /// Relation files kept open.
    pub open_files_max: usize,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        EngineConfig {
            shared_buffers: 16_384,
            huge_pages: buffer::HugePages::Try,
            torn_pages: TornPages::DoubleWrite,
            wal_compression: Compression::Off,
            flush_after: 64,
            replacement: buffer::Policy::Probation,
            reach: buffer::Reach::default(),
            wal_buffers: 16 << 20,
            wal_insert_slots: (2 * cores).max(8),
            wal_segment_bytes: 16 << 20,
            wal_sync_method: SyncMethod::Fdatasync,
            wal_io: WalIo::File,
            min_wal_bytes: 80 << 20,
            max_wal_bytes: 1 << 30,
            checkpoint_timeout: Duration::from_secs(300),
            recovery_workers: cores,
            recovery_prefetch: true,
            restart_every: Duration::from_secs(15),
            progress_every: Duration::from_secs(10),
            txlog: TxLogConfig::default(),
            direct_io: false,
            open_files_max: 1000,
        }
    }
}

/// A running storage engine.
pub struct Engine {
    env: Env,
    pool: Arc<Pool>,
    wal: Arc<Wal>,
    txns: Arc<TxnManager>,
    files: Arc<RelationFiles>,
    oids: Arc<Oids>,
    checkpointer: Arc<Checkpointer>,
    vacuum_queue: Arc<vacuum::Queue>,
    vacuum: OnceLock<vacuum::Workers>,
    limits: Arc<SharedLimits>,
    redone: Option<RedoReport>,
    warmth: Warmth,
    /// One of the numbers below.
    closing: AtomicU8,
    _lock: DirectoryLock,
}

const OPEN: u8 = 0;
/// Somebody is at it.
const CLOSING: u8 = 1;
const CLOSED: u8 = 2;
/// The directory is as after a crash.
const NOT_IN_ORDER: u8 = 3;

/// Time between two looks at whether another context has closed the engine.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

impl Engine {
    /// Whether there is a data directory.
    pub fn exists(env: &Env) -> Result<bool> {
        env.disk.exists(control::PATH).map_err(|e| Error::io("open", control::PATH, e))
    }

    /// Makes a data directory. The directory of `env` must be empty but for what an earlier attempt left.
    pub fn create(config: &EngineConfig, env: &Env) -> Result<()> {
        let disk = &env.disk;
        disk.create_dir("").map_err(|e| Error::io("create", ".", e))?;
        let _lock = lock(env)?;
        if Engine::exists(env)? {
            return Err(Error::Refused("there is a data directory already".into()));
        }
        remove_leftovers(env)?;
        disk.create_dir(segment::DIRECTORY)
            .map_err(|e| Error::io("create", segment::DIRECTORY, e))?;
        RelFiles::open(Arc::clone(disk), config.open_files_max)?;
        let nothing: WalBarrier = Arc::new(|_| ());
        TxLog::create(disk, &nothing, config.txlog.first)?;
        disk.sync_dir("txlog").map_err(|e| Error::io("sync", "txlog", e))?;
        // The first segment's number is 1: position zero means none.
        let shape = LogShape {
            system_id: hash_of(&(clock::wall_micros(), clock::now().0)),
            timeline: 1,
            segment_bytes: config.wal_segment_bytes,
        };
        let start = Lsn(shape.segment_bytes);
        let epoch = epoch_of(&shape, 1, start, start);
        Wal::open(env, wal_config(config), epoch)?.close();
        let counters = Counters {
            next_xid: config.txlog.first.next_xid,
            next_rel: 1,
            next_oid: FIRST_NORMAL_OID,
            next_multixact: config.txlog.first.next_multixact.0,
            next_member: 1,
        };
        let content = Control {
            state: State::Clean,
            shape,
            epoch: 1,
            redo: start,
            checkpoint: Lsn::ZERO,
            checkpoint_micros: clock::wall_micros(),
            counters,
        };
        ControlFile::create(&**disk, content).map(|_| ())
    }

    /// Opens a data directory: recovers it if it was not closed in order.
    pub fn open(config: &EngineConfig, env: &Env) -> Result<Arc<Engine>> {
        let lock = lock(env)?;
        let mut control = ControlFile::open(&*env.disk)?;
        let before = *control.content();
        wal::check_io(&*env.disk, &before.shape, before.redo, config.wal_io)?;
        let relfiles = RelFiles::open(Arc::clone(&env.disk), config.open_files_max)?;
        let relfiles = if config.direct_io { relfiles.direct()? } else { relfiles };
        let relfiles = Arc::new(relfiles);
        let clean = before.state == State::Clean;
        let mut syncing = None;
        if !clean {
            syncing = Some(inherited::sync(env, &relfiles)?);
            relfiles.distrust_cache()?;
            let mut imaged = ImagedPages::new(Arc::clone(&env.disk), before.shape, before.redo);
            doublewrite::recover(&*env.disk, &relfiles, &mut |page| imaged.has(page))?;
        }
        relfiles.reset(clean)?;
        let pool = Pool::open(env, pool_config(config), Arc::clone(&relfiles));
        // Why it could not be synced says more than that it must not be built on.
        let pool = pool.or_else(|e| syncing.take().map_or(Ok(()), Syncing::finish).and(Err(e)))?;
        let acting = usage::act_as(Role::Startup);
        let redone = redo::run(
            env,
            &mut control,
            &pool,
            &config.txlog,
            (config.recovery_workers, config.recovery_prefetch),
            (config.restart_every, config.progress_every),
        );
        let synced = syncing.map_or(Ok(()), Syncing::finish);
        let redone = synced.and(redone).inspect_err(|_| pool.stop())?;
        drop(acting);
        let (end, counters) = (redone.end, redone.counters);
        if !clean {
            let erased = wal::erase_tail(&*env.disk, &before.shape, &end);
            erased.inspect_err(|_| pool.stop())?;
        }
        let wal = open_wal(config, env, &before, &end).inspect_err(|_| pool.stop())?;
        pool.attach_wal(Arc::clone(&wal));
        let txns = TxnManager::open(env, &config.txlog, &wal, counters.transactions());
        let txns = txns.inspect_err(|_| stop(&pool, &wal))?;
        let running =
            Control { state: State::Running, epoch: wal.epoch().number, ..*control.content() };
        let settled = redone.finish(txns.txlog()).and_then(|report| {
            remove_orphans(&relfiles, &pool, counters.next_rel)?;
            control.write(running)?;
            relfiles.trust_cache()?;
            Ok(report)
        });
        let report = settled.inspect_err(|_| {
            txns.close();
            stop(&pool, &wal);
        })?;
        let files = RelationFiles::open(env, &pool, &wal, counters.next_rel);
        files::serve(&files, &txns);
        let oids = Arc::new(Oids::new(&wal, counters.next_oid));
        let rooms = Rooms {
            wal: Arc::clone(&wal),
            pool: Arc::clone(&pool),
            txns: Arc::clone(&txns),
            files: Arc::clone(&files),
            oids: Arc::clone(&oids),
        };
        let limits = CheckpointConfig {
            max_wal_bytes: config.max_wal_bytes,
            timeout: config.checkpoint_timeout,
        };
        let checkpointer = Checkpointer::open(env, rooms, limits, control);
        Ok(Arc::new(Engine {
            env: env.clone(),
            pool,
            wal,
            txns,
            files,
            oids,
            checkpointer,
            vacuum_queue: Arc::default(),
            vacuum: OnceLock::new(),
            limits: Arc::default(),
            redone: (!clean).then_some(report),
            warmth: Warmth::default(),
            closing: AtomicU8::new(OPEN),
            _lock: lock,
        }))
    }

    /// Closes in order: no session is left, everything is brought to its place, the next start has nothing
    /// to redo. After an error the directory is as after a crash. Once is enough: whoever comes later gets to know how
    /// it went.
    pub fn shutdown(&self) -> Result<()> {
        // AcqRel: pairs with the store below, and with the acquire in `closed_by_another`.
        let before =
            self.closing.compare_exchange(OPEN, CLOSING, Ordering::AcqRel, Ordering::Acquire);
        if before.is_err() {
            return self.closed_by_another();
        }
        let done = self.close_rooms();
        let how = if done.is_ok() { CLOSED } else { NOT_IN_ORDER };
        // Release: who sees how it went finds all of it done.
        self.closing.store(how, Ordering::Release);
        done
    }

    fn closed_by_another(&self) -> Result<()> {
        loop {
            // Acquire: pairs with the release in `shutdown`.
            match self.closing.load(Ordering::Acquire) {
                CLOSED => return Ok(()),
                NOT_IN_ORDER => {
                    return Err(Error::Refused("it was not closed in order before".into()));
                }
                _ => base::park::sleep(LOOK_AGAIN),
            }
        }
    }

    fn close_rooms(&self) -> Result<()> {
        if let Some(worker) = self.vacuum.get() {
            worker.stop();
        }
        self.cool_down();
        self.checkpointer.stop();
        self.files.close();
        self.txns.close();
        let done = self.checkpointer.shut_down();
        self.pool.stop();
        self.wal.close();
        done
    }

    /// The world it runs in.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The buffer cache.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Chooses another protection of pages against being written half, at any time; see
    /// `buffer/protection.rs`.
    pub fn set_torn_pages(&self, to: TornPages) -> Result<()> {
        self.pool.set_torn_pages(to)
    }

    /// Chooses how whole pages in the log are packed, at any time.
    pub fn set_wal_compression(&self, how: Compression) {
        self.pool.set_compression(how);
    }

    /// Other bounds for the log that recovery would read and for the files kept, and another time after which changes
    /// go to their places; from now on.
    pub fn set_checkpoints(&self, min_wal: u64, max_wal: u64, timeout: Duration) -> Result<()> {
        self.checkpointer.set_config(CheckpointConfig { max_wal_bytes: max_wal, timeout });
        self.wal.set_files_bytes(min_wal, max_wal)
    }

    /// The log.
    pub fn wal(&self) -> &Arc<Wal> {
        &self.wal
    }

    /// Transactions.
    pub fn txns(&self) -> &Arc<TxnManager> {
        &self.txns
    }

    /// Object ids.
    pub fn oids(&self) -> &Arc<Oids> {
        &self.oids
    }

    /// Relations' files: making, cutting, removing.
    pub fn files(&self) -> &Arc<RelationFiles> {
        &self.files
    }

    /// Makes an empty relation for the transaction; see [`RelationFiles::create`].
    pub fn create_relation(
        &self,
        txn: &Txn,
        persistence: Persistence,
        rank: Rank,
    ) -> Result<Relation> {
        self.files.create(txn, persistence, rank)
    }

    /// Makes permanent relations for the transaction whose numbers follow each other, one for each rank;
    /// the first number.
    pub fn create_run(&self, txn: &Txn, ranks: &[Rank]) -> Result<u32> {
        self.files.create_run(txn, ranks)
    }

    /// Starts background cleaning by so many workers, once. `open` knows which heap and indexes a table has, `analyze` what its rows
    /// are; `failed` hears of runs that ended with an error.
    pub fn start_vacuum(
        &self,
        workers: usize,
        open: Box<vacuum::Open>,
        analyze: Box<vacuum::Analyze>,
        failed: impl Fn(RelId, &Error) + Send + Sync + 'static,
    ) {
        let queue = Arc::clone(&self.vacuum_queue);
        let workers = vacuum::Workers::start(&self.env, workers, queue, open, analyze, failed);
        assert!(self.vacuum.set(workers).is_ok(), "background cleaning starts once");
    }

    /// Where heaps enter themselves when they are due ([`HeapRel::tell_when_due`](crate::heap::HeapRel)).
    pub fn vacuum_queue(&self) -> &Arc<vacuum::Queue> {
        &self.vacuum_queue
    }

    /// What makes tables due for background cleaning and ANALYZE.
    pub fn upkeep_limits(&self) -> &Arc<SharedLimits> {
        &self.limits
    }

    /// CHECKPOINT.
    pub fn checkpoint(&self) -> Result<()> {
        self.checkpointer.checkpoint()
    }

    /// The checkpointer, for figures.
    pub fn checkpointer(&self) -> &Checkpointer {
        &self.checkpointer
    }

    /// What recovery did at this start, if the engine had not been closed in order.
    pub fn recovery(&self) -> Option<&RedoReport> {
        self.redone.as_ref()
    }
}

/// Ends the contexts of an engine that did not come to open.
fn stop(pool: &Pool, wal: &Wal) {
    pool.stop();
    wal.close();
}

fn lock(env: &Env) -> Result<DirectoryLock> {
    env.disk.lock(LOCK).map_err(|e| match e.kind() {
        io::ErrorKind::WouldBlock => {
            Error::Refused("another server is using the data directory".into())
        }
        io::ErrorKind::NotFound => Error::Refused("there is no such data directory".into()),
        _ => Error::io("lock", LOCK, e),
    })
}

/// Removes the log and status files of a creation that did not get to its end.
fn remove_leftovers(env: &Env) -> Result<()> {
    let names = env.disk.list("").map_err(|e| Error::io("list", ".", e))?;
    let known = [
        LOCK,
        CONFIGURATION,
        control::NEW_PATH,
        segment::DIRECTORY,
        crate::relfile::BASE_DIR,
        "txlog",
    ];
    if let Some(other) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Error::Refused(format!("the directory is not empty: it contains \"{other}\"")));
    }
    if names.iter().any(|name| name == segment::DIRECTORY) {
        let log = env.disk.list(segment::DIRECTORY);
        for name in log.map_err(|e| Error::io("list", segment::DIRECTORY, e))? {
            let path = format!("{}/{name}", segment::DIRECTORY);
            env.disk.remove(&path).map_err(|e| Error::io("remove", path, e))?;
        }
    }
    Ok(())
}

/// Opens the log for this run, in a segment of its own, with an epoch above all before.
fn open_wal(config: &EngineConfig, env: &Env, before: &Control, end: &LogEnd) -> Result<Arc<Wal>> {
    let number = before.epoch.max(end.epoch) + 1;
    Wal::open(
        env,
        wal_config(config),
        epoch_of(&before.shape, number, end.resume, end.previous_end),
    )
}

/// Files that were made while the record that announces them did not reach the disk.
fn remove_orphans(files: &RelFiles, pool: &Arc<Pool>, next_rel: u32) -> Result<()> {
    for rel in files.relations()? {
        if rel.counter() >= next_rel {
            pool.drop_relation(rel)?;
        }
    }
    Ok(())
}

fn epoch_of(shape: &LogShape, number: u32, start: Lsn, previous_end: Lsn) -> Epoch {
    Epoch {
        system_id: shape.system_id,
        timeline: shape.timeline,
        number,
        segment_bytes: shape.segment_bytes,
        start,
        previous_end,
    }
}

fn wal_config(config: &EngineConfig) -> WalConfig {
    WalConfig {
        buffer_bytes: config.wal_buffers,
        insert_slots: config.wal_insert_slots,
        files_bytes_min: config.min_wal_bytes,
        files_bytes_max: config.max_wal_bytes,
        sync_method: config.wal_sync_method,
        io: config.wal_io,
    }
}

fn pool_config(config: &EngineConfig) -> buffer::Config {
    buffer::Config {
        frames: config.shared_buffers,
        huge_pages: config.huge_pages,
        torn_pages: config.torn_pages,
        compression: config.wal_compression,
        flush_after: config.flush_after,
        replacement: config.replacement,
        reach: config.reach,
        ..buffer::Config::default()
    }
}

#[cfg(test)]
mod tests;
