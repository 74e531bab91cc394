//! Checkpoints: moving the redo point up, so that recovery stays short and old log can go.
//!
//! There is no moment at which everything is written. A tick cleans the pages whose first change is too
//! far back in the log (by distance: half of `max_wal_size`; or by age: `checkpoint_timeout`), oldest
//! first, so writing follows the rate at which log was written then. Whenever the redo point could move by
//! an eighth of `max_wal_size`, a checkpoint record says so; and after `checkpoint_timeout` where it could move at all,
//! though nothing was logged since the last one, if something kept that one back.
//!
//! A checkpoint, in this order (each step relies on the one before):
//!
//! 1. `begin` = the log's settled position. Every change logged before it has marked its page dirty, every
//!    commit before it has its CSN in the window, every deed before it has its hold.
//! 2. The redo point is the lowest of `begin`, the holds, and the pages' first-dirty positions.
//! 3. Counters and pending files are read: a record before `begin` took its numbers before.
//! 4. Fates of transactions are written down; files and names are synced.
//! 5. The checkpoint record is durable; then the control file names it; then older log is released.

use super::control::{ControlFile, Counters, State};
use super::files::{RelationFiles, log_pending};
use crate::buffer::Pool;
use crate::complaint::complain;
use crate::engine::oids::Oids;
use crate::error::{Result, or_abort};
use crate::txn::TxnManager;
use crate::wal::{Kind, Record, Wal, record_bound};
use base::clock::{self, Instant};
use base::env::{Background, Env};
use base::latch::Latch;
use base::park::{self, Context};
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicU64, Ordering};
use base::usage::{self, Role};
use base::{Lsn, Xid};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Time between ticks.
const TICK: Duration = Duration::from_millis(250);
/// Positions remembered per `checkpoint_timeout`.
const SAMPLES: u32 = 60;

/// When checkpoints are due.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointConfig {
    /// Log that may lie between the redo point and the log's end, `max_wal_size`, about.
    pub max_wal_bytes: u64,
    /// How long a change may stay out of its place, `checkpoint_timeout`.
    pub timeout: Duration,
}

/// The checkpointer of a running engine.
pub struct Checkpointer {
    wal: Arc<Wal>,
    pool: Arc<Pool>,
    txns: Arc<TxnManager>,
    files: Arc<RelationFiles>,
    oids: Arc<Oids>,
    config: Mutex<CheckpointConfig>,
    /// Held for the whole of a checkpoint: one at a time.
    control: Latch<ControlFile>,
    /// The redo point of the last checkpoint, and where the log ended after it.
    redo: AtomicU64,
    ended: AtomicU64,
    /// Changes from before the last checkpoint kept its redo point back: a page was latched, a deed unfinished.
    held_back: AtomicBool,
    count: AtomicU64,
    requested: AtomicU64,
    stop: AtomicBool,
    context: OnceLock<Context>,
    background: Mutex<Option<Background>>,
}

/// How much a checkpoint does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// The redo point goes where it can without writing pages now.
    AsItIs,
    /// All changes before the checkpoint are brought to their places.
    All,
    /// As `All`; the log ends with it.
    Shutdown,
}

/// Log positions at times, for "changes older than".
struct Samples {
    every: Duration,
    /// When the last checkpoint began.
    checkpoint: Instant,
    taken: VecDeque<(Instant, Lsn)>,
}

/// What the checkpointer needs of the other rooms.
pub struct Rooms {
    /// The log.
    pub wal: Arc<Wal>,
    /// The buffer cache.
    pub pool: Arc<Pool>,
    /// Transactions.
    pub txns: Arc<TxnManager>,
    /// Relations' files.
    pub files: Arc<RelationFiles>,
    /// Object ids.
    pub oids: Arc<Oids>,
}

impl Checkpointer {
    /// Starts the checkpointer. `control` is of this run already.
    pub fn open(
        env: &Env,
        rooms: Rooms,
        config: CheckpointConfig,
        control: ControlFile,
    ) -> Arc<Checkpointer> {
        let checkpointer = Arc::new(Checkpointer {
            config: Mutex::new(config),
            redo: AtomicU64::new(control.content().redo.0),
            ended: AtomicU64::new(0),
            held_back: AtomicBool::new(false),
            count: AtomicU64::new(0),
            requested: AtomicU64::new(0),
            control: Latch::new(Rank::Outer, control),
            wal: rooms.wal,
            pool: rooms.pool,
            txns: rooms.txns,
            files: rooms.files,
            oids: rooms.oids,
            stop: AtomicBool::new(false),
            context: OnceLock::new(),
            background: Mutex::default(),
        });
        let theirs = Arc::clone(&checkpointer);
        let started = env.spawn("checkpointer", move || or_abort("checkpointer", || theirs.run()));
        *checkpointer.background.lock().expect("no code panics under it") = Some(started);
        checkpointer
    }

    /// CHECKPOINT: everything logged so far is in its place when this returns.
    pub fn checkpoint(&self) -> Result<()> {
        self.requested.fetch_add(1, Ordering::Relaxed);
        self.perform(Extent::All)
    }

    /// The redo point of the last checkpoint.
    pub fn redo(&self) -> Lsn {
        // Acquire: pairs with the release in `perform`: the control file says so.
        Lsn(self.redo.load(Ordering::Acquire))
    }

    /// Checkpoints since the start.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How many of them somebody asked for.
    pub fn requested(&self) -> u64 {
        self.requested.load(Ordering::Relaxed)
    }

    /// When checkpoints are due from now on.
    pub fn set_config(&self, config: CheckpointConfig) {
        *self.config.lock().expect("no code panics under it") = config;
        if let Some(context) = self.context.get() {
            context.unpark();
        }
    }

    fn config(&self) -> CheckpointConfig {
        *self.config.lock().expect("no code panics under it")
    }

    /// Ends the background context.
    pub fn stop(&self) {
        // Release: pairs with the acquires in `run` and `tick`.
        self.stop.store(true, Ordering::Release);
        if let Some(context) = self.context.get() {
            context.unpark();
        }
        let background = self.background.lock().expect("no code panics under it").take();
        background.into_iter().for_each(Background::join);
    }

    /// The last act: nothing is logged any more. The next start will find nothing to redo.
    pub fn shut_down(&self) -> Result<()> {
        self.pool.clean_all()?;
        self.perform(Extent::Shutdown)?;
        let mut control = self.control.lock();
        let content = *control.content();
        let clean = super::control::Control { state: State::Clean, ..content };
        control.write(clean).map_err(|e| self.pool.files().or_fatal(e))
    }

    fn run(&self) {
        let _acting = usage::act_as(Role::Checkpointer);
        let _ = self.context.set(park::current());
        let mut samples = Samples::new(self.config().timeout / SAMPLES);
        // Acquire, here and in `tick`: pairs with the release in `stop`.
        while !self.stop.load(Ordering::Acquire) {
            if let Err(e) = self.tick(&mut samples) {
                complain("checkpointer", &e);
            }
            park::park_until(Some(clock::now().after(TICK)));
        }
    }

    fn tick(&self, samples: &mut Samples) -> Result<()> {
        let position = self.wal.position();
        let now = clock::now();
        let config = self.config();
        samples.every = config.timeout / SAMPLES;
        samples.take(now, position);
        let far = Lsn(position.0.saturating_sub(config.max_wal_bytes / 2));
        let goal = far.max(samples.before(now, config.timeout));
        while self.pool.min_rec_lsn() < goal && !self.stop.load(Ordering::Acquire) {
            let step = self.pool.clean_step(goal)?;
            if step.written == 0 {
                break; // latched pages; the next tick finds them again
            }
        }
        let could = self.wal.redo_allowed(position.min(self.pool.min_rec_lsn()));
        let gained = could.0.saturating_sub(self.redo().0);
        let something_new = position.0 != self.ended.load(Ordering::Relaxed)
            || self.held_back.load(Ordering::Relaxed);
        let overdue = something_new && now.since(samples.checkpoint) >= config.timeout;
        if gained >= config.max_wal_bytes / 8 || (overdue && gained > 0) {
            samples.checkpoint = now;
            self.perform(Extent::AsItIs)?;
        }
        Ok(())
    }

    fn perform(&self, extent: Extent) -> Result<()> {
        // Also where a session asked for it.
        let _acting = usage::act_as(Role::Checkpointer);
        let mut control = self.control.lock();
        let _window = base::sim::window("checkpoint");
        let begin = self.wal.settled_position();
        if extent != Extent::AsItIs {
            self.pool.clean_up_to(begin)?;
        }
        // Holds last: a page that is not dirty any more may have left a hold behind. A hold that came only now may be of what
        // was dirty before the last checkpoint, and is not any more: the log may be gone.
        let pages = self.pool.min_rec_lsn();
        let redo = self.wal.redo_allowed(begin.min(pages)).max(self.redo());
        debug_assert!(
            extent != Extent::Shutdown || redo == begin,
            "nothing is open at shutdown (R6)"
        );
        // Before the files that are pending: what has a number by now is among them.
        let next_rel = self.files.next_rel();
        let txns = self.txns.checkpoint_state();
        let counters = Counters {
            // At the end nobody is left who could have left a higher id in a row.
            next_xid: if extent == Extent::Shutdown { txns.next_xid } else { txns.xid_limit },
            next_multixact: txns.next_multixact.0,
            next_rel,
            next_oid: self.oids.limit(),
            ..control.content().counters
        };
        let or_fatal = |error| self.pool.files().or_fatal(error);
        self.txns.checkpoint().map_err(or_fatal)?;
        self.pool.sync_all().map_err(or_fatal)?;
        let at = self.log(&counters, &txns.created)?;
        self.wal.flush(at.1);
        let content = super::control::Control {
            redo,
            checkpoint: at.0,
            checkpoint_micros: clock::wall_micros(),
            counters,
            ..*control.content()
        };
        control.write(content).map_err(or_fatal)?;
        // Release: pairs with the acquire in `redo`.
        self.redo.store(redo.0, Ordering::Release);
        self.held_back.store(redo < begin, Ordering::Relaxed);
        self.ended.store(at.1.0, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.wal.release_before(redo)
    }

    /// Logs the checkpoint; where its record starts and ends.
    fn log(&self, counters: &Counters, created: &[(base::RelId, Xid)]) -> Result<(Lsn, Lsn)> {
        log_pending(&self.wal, created)?;
        let mut claim = self.wal.claim_reserve(record_bound(1, 0, Counters::BYTES))?;
        let bytes = counters.encode();
        let record = Record::new(Kind::CHECKPOINT, Xid::INVALID).data(&bytes);
        let at = self.wal.insert(&mut claim, &record);
        Ok((at.start, at.end))
    }
}

impl Samples {
    fn new(every: Duration) -> Samples {
        Samples { every, checkpoint: clock::now(), taken: VecDeque::new() }
    }

    fn take(&mut self, now: Instant, position: Lsn) {
        let due = self.taken.back().is_none_or(|(at, _)| now.since(*at) >= self.every);
        if due {
            self.taken.push_back((now, position));
        }
    }

    /// Where the log was `age` before `now`; older samples are forgotten.
    fn before(&mut self, now: Instant, age: Duration) -> Lsn {
        while self.taken.get(1).is_some_and(|(at, _)| now.since(*at) >= age) {
            self.taken.pop_front();
        }
        match self.taken.front() {
            Some((at, position)) if now.since(*at) >= age => *position,
            _ => Lsn::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_tell_where_the_log_was() {
        let second = Duration::from_secs(1);
        let at = |s: u64| Instant(s * 1_000_000_000);
        let mut samples = Samples::new(second);
        for s in 0..100 {
            samples.take(at(s), Lsn(s * 10));
            let then = samples.before(at(s), 30 * second);
            assert_eq!(then, Lsn(s.saturating_sub(30) * 10));
            assert!(samples.taken.len() <= 32);
        }
    }
}
