//! How far back anybody can still look.
//!
//! Two bounds, both cached, both only ever too low:
//!
//! * `oldest_running`: every transaction below has ended, and its commit, if any, is published. A snapshot
//!   takes it along as its *bound*: a row version hinted committed by a transaction below the bound needs no
//!   look-up.
//! * `csn`: every snapshot there is, or will be, sees all commits below. What a commit below it deleted can
//!   be removed.
//!
//! *No snapshot is overlooked.* A session stores bound and number in its slot, passes a sequentially
//! consistent fence, reads both again, and uses what it read second. A scan that came too early to see the
//! slot read the global values before that fence, so its result is not above what the session uses. What is
//! in the slot is only older. What one session takes over from another ([`super::exported`]) makes a scan look again.

use crate::lock::{NONE, Sessions};
use crate::wal::Wal;
use base::pad::{Padded, is_one_line};
use base::sync::unmodelled::{AtomicU64, Ordering, fence};
use base::{Csn, Xid};

/// A scan is repeated on demand once the log has grown by this much for each session.
const REFRESH_BYTES_PER_SESSION: u64 = 512;
/// But not before it has grown by this much.
const REFRESH_BYTES_MIN: u64 = 8 * 1024;

/// The cached bounds.
pub struct Horizon {
    oldest_running: Padded<AtomicU64>,
    cached: Padded<Cached>,
}

struct Cached {
    csn: AtomicU64,
    /// The published number when `csn` was computed.
    computed_at: AtomicU64,
    /// Log growth after which `csn` is worth computing again.
    stale_after: AtomicU64,
}

const _: () = assert!(is_one_line::<Cached>());

/// What one scan of the sessions found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Every transaction below has ended and is told apart by no snapshot.
    pub xid: Xid,
    /// Every snapshot sees all commits below.
    pub csn: Csn,
}

impl Horizon {
    pub(super) fn new(next: Xid, published: Csn) -> Horizon {
        Horizon {
            oldest_running: Padded(AtomicU64::new(next.0)),
            cached: Padded(Cached {
                csn: AtomicU64::new(published.0),
                computed_at: AtomicU64::new(published.0),
                stale_after: AtomicU64::new(REFRESH_BYTES_MIN),
            }),
        }
    }

    /// Every transaction below has ended and is published.
    #[inline]
    pub fn oldest_running(&self) -> Xid {
        // Acquire: pairs with the release in `scan`; the published number read after includes them.
        Xid(self.oldest_running.load(Ordering::Acquire))
    }

    /// Looks at every session. `next` is where ids are handed out from.
    pub(super) fn scan(&self, next: &AtomicU64, wal: &Wal, sessions: &Sessions) -> Bounds {
        let before = self.oldest_running();
        let published = wal.published();
        // Acquire: pairs with the release half of the increment that hands out an id: the lower bound that
        // its session stored before is visible.
        let mut running = next.load(Ordering::Acquire);
        // Pairs with the fence of a session that takes a snapshot.
        fence(Ordering::SeqCst);
        let (mut bound, mut csn, mut count, mut writers) = (before.0, published.0, 0, 0);
        sessions.without_handover(|| {
            (count, writers) = (0, 0);
            for (_, slot) in sessions.iter() {
                let line = &slot.txn;
                // Acquire: pairs with the release that clears it after publication.
                let xid = line.xid.load(Ordering::Acquire);
                running = running.min(xid);
                writers += u64::from(xid != NONE);
                bound = bound.min(line.bound.load(Ordering::Relaxed));
                csn = csn.min(line.snapshot.load(Ordering::Relaxed));
                count += 1;
            }
        });
        debug_assert!(running != NONE, "ids are below the mark for none");
        // Release: pairs with the acquire in `oldest_running`.
        self.oldest_running.fetch_max(running, Ordering::Release);
        self.cached.csn.fetch_max(csn, Ordering::Relaxed);
        self.cached.computed_at.fetch_max(published.0, Ordering::Relaxed);
        wal.writers_seen(writers);
        let stale_after = (count * REFRESH_BYTES_PER_SESSION).max(REFRESH_BYTES_MIN);
        self.cached.stale_after.store(stale_after, Ordering::Relaxed);
        Bounds { xid: Xid(bound), csn: Csn(csn) }
    }

    /// The commit horizon, from the cache; whether it is worth computing again.
    #[inline]
    pub(super) fn cached(&self, published: Csn) -> (Csn, bool) {
        // Relaxed: a stale horizon is a low one.
        let computed_at = self.cached.computed_at.load(Ordering::Relaxed);
        let stale_after = self.cached.stale_after.load(Ordering::Relaxed);
        let stale = published.0.saturating_sub(computed_at) > stale_after;
        (Csn(self.cached.csn.load(Ordering::Relaxed)), stale)
    }
}
