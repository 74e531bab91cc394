//! Sessions as the others see them: one padded slot each, in memory that never moves.
//!
//! | Lines | Written by | Read by |
//! |---|---|---|
//! | `txn` | the session, at statement pace | horizon scans |
//! | `fast` | the session; a strong locker may take an entry out | strong lockers, views |
//! | `wait` | the session when it waits; whoever wakes it or wants to be woken by it | the same |

use super::duties::Duties;
use super::fast::FastSlots;
use super::wait::Waiting;
use crate::error::{Error, Result};
use base::Xid;
use base::latch::Latch;
use base::pad::{LINE_BYTES, Padded};
use base::rank::Rank;
use base::sync::unmodelled::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};

/// A session: the index of its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct SessionId(pub u32);

/// No transaction, no snapshot: later than all.
pub(crate) const NONE: u64 = u64::MAX;

/// What a horizon scan wants to know.
pub(crate) struct TxnLine {
    /// The top-level transaction that runs, or a lower bound of the id it is about to get, or [`NONE`].
    pub(crate) xid: AtomicU64,
    /// The session's snapshot sees every commit of a transaction below.
    pub(crate) bound: AtomicU64,
    /// The session's snapshot sees commits with a CSN below, or [`NONE`].
    pub(crate) snapshot: AtomicU64,
    pub(crate) taken: AtomicBool,
    /// Backend process id, as clients know it.
    pub(crate) pid: AtomicI32,
    /// The session's database.
    pub(crate) database: AtomicU32,
}

/// Somebody who waits for a transaction of this session to end.
#[derive(Clone, Copy)]
pub(super) struct Dependent {
    pub(super) session: SessionId,
    /// Which of its waits; a later wait is not ended by this.
    pub(super) wait: u64,
    pub(super) xid: Xid,
}

pub(super) struct WaitLine {
    /// Set by whoever ended the wait.
    pub(super) signal: AtomicBool,
    /// `dependents` may have something.
    pub(super) has_dependents: AtomicBool,
    /// `duties` may have something.
    pub(super) has_duties: AtomicBool,
    pub(super) duties: Mutex<Duties>,
    pub(super) waiting: Mutex<Waiting>,
    pub(super) dependents: Mutex<Vec<Dependent>>,
}

/// A session's shared memory.
#[repr(C)]
pub struct Slot {
    pub(crate) txn: Padded<TxnLine>,
    pub(super) fast: Padded<FastSlots>,
    pub(super) wait: Padded<WaitLine>,
}

const _: () = assert!(size_of::<Padded<TxnLine>>() == LINE_BYTES);
const _: () = assert!(size_of::<Padded<FastSlots>>() == LINE_BYTES);
const _: () = assert!(align_of::<Slot>() == LINE_BYTES);

impl Slot {
    fn new() -> Slot {
        Slot {
            txn: Padded(TxnLine {
                xid: AtomicU64::new(NONE),
                bound: AtomicU64::new(NONE),
                snapshot: AtomicU64::new(NONE),
                taken: AtomicBool::new(false),
                pid: AtomicI32::new(0),
                database: AtomicU32::new(0),
            }),
            fast: Padded::default(),
            wait: Padded(WaitLine {
                signal: AtomicBool::new(false),
                has_dependents: AtomicBool::new(false),
                has_duties: AtomicBool::new(false),
                duties: Mutex::default(),
                waiting: Mutex::default(),
                dependents: Mutex::default(),
            }),
        }
    }

    /// The process id that clients know the session by.
    pub fn pid(&self) -> i32 {
        self.txn.pid.load(Ordering::Relaxed)
    }

    /// The id of the session's transaction, once it has one.
    pub fn running(&self) -> Option<Xid> {
        let xid = self.txn.xid.load(Ordering::Relaxed);
        (xid != NONE).then_some(Xid(xid))
    }

    /// While the session has a snapshot in force: it sees all commits of transactions below.
    pub fn snapshot_bound(&self) -> Option<Xid> {
        let in_force = self.txn.snapshot.load(Ordering::Relaxed) != NONE;
        in_force.then(|| Xid(self.txn.bound.load(Ordering::Relaxed)))
    }

    /// The session's database.
    pub fn database(&self) -> u32 {
        self.txn.database.load(Ordering::Relaxed)
    }
}

const CHUNK: usize = 64;
const CHUNKS: usize = 1024;
/// Most sessions at a time.
pub const SESSIONS_MAX: usize = CHUNK * CHUNKS;

/// All sessions' slots. Chunks are made when first needed and stay.
pub struct Sessions {
    chunks: Box<[OnceLock<Box<[Slot]>>]>,
    /// Slots below have been used.
    high: AtomicU32,
    free: Latch<BTreeSet<u32>>,
    /// How often a session has taken a snapshot over from another.
    handovers: AtomicU64,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            high: AtomicU32::new(0),
            free: Latch::new(Rank::Leaf, BTreeSet::new()),
            handovers: AtomicU64::new(0),
        }
    }
}

impl Sessions {
    /// Takes the lowest free slot, so that scans stay short.
    pub(crate) fn attach(&self, pid: i32, database: u32) -> Result<SessionId> {
        let mut free = self.free.lock();
        let id = match free.pop_first() {
            Some(id) => id,
            None => {
                let id = self.high.load(Ordering::Relaxed);
                if id as usize == SESSIONS_MAX {
                    return Err(Error::LimitExceeded("sorry, too many clients already".into()));
                }
                let chunk = &self.chunks[id as usize / CHUNK];
                chunk.get_or_init(|| (0..CHUNK).map(|_| Slot::new()).collect());
                // Release: pairs with the acquire in `iter`; the chunk is there.
                self.high.store(id + 1, Ordering::Release);
                id
            }
        };
        let slot = self.slot(SessionId(id));
        slot.txn.pid.store(pid, Ordering::Relaxed);
        slot.txn.database.store(database, Ordering::Relaxed);
        // Release: whoever sees the slot taken sees whose it is.
        slot.txn.taken.store(true, Ordering::Release);
        Ok(SessionId(id))
    }

    /// Gives a slot back. It holds no transaction, no snapshot, no lock.
    pub(crate) fn detach(&self, id: SessionId) {
        let slot = self.slot(id);
        debug_assert_eq!(slot.txn.xid.load(Ordering::Relaxed), NONE, "a session ends idle");
        // Release: pairs with the acquire in `live`, as in `attach`.
        slot.txn.taken.store(false, Ordering::Release);
        self.free.lock().insert(id.0);
    }

    /// The slot of a session.
    #[inline]
    pub fn slot(&self, id: SessionId) -> &Slot {
        let chunk = self.chunks[id.0 as usize / CHUNK].get().expect("a session's chunk was made");
        &chunk[id.0 as usize % CHUNK]
    }

    /// Every slot that has ever been used.
    pub fn iter(&self) -> impl Iterator<Item = (SessionId, &Slot)> {
        // Acquire: pairs with the release in `attach`.
        let high = self.high.load(Ordering::Acquire);
        (0..high).map(|id| (SessionId(id), self.slot(SessionId(id))))
    }

    /// A session shows in its slot the snapshot of another, which has it still.
    pub(crate) fn count_handover(&self) {
        // Release: pairs with the fence below; what is in the slot is seen with the count.
        self.handovers.fetch_add(1, Ordering::Release);
    }

    /// Looks at the sessions, again if meanwhile one took a snapshot over from another: the look may have been past
    /// the former, and found the latter without.
    pub(crate) fn without_handover<R>(&self, mut look: impl FnMut() -> R) -> R {
        loop {
            // Acquire: pairs with the release in `count_handover`: what was handed over before is seen by the look.
            let before = self.handovers.load(Ordering::Acquire);
            let found = look();
            // Pairs with the release with which a session lets go of a snapshot: whoever took it over has counted before.
            fence(Ordering::Acquire);
            if self.handovers.load(Ordering::Relaxed) == before {
                return found;
            }
        }
    }

    /// Every session there is.
    pub fn live(&self) -> impl Iterator<Item = (SessionId, &Slot)> {
        // Acquire: pairs with the release in `attach`.
        self.iter().filter(|(_, slot)| slot.txn.taken.load(Ordering::Acquire))
    }
}
