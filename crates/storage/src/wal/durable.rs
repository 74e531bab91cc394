//! How far the log is durable, and who wants to know.
//!
//! Three kinds of interest: a context that parks until a position is durable ([`Durable::wait`]); a worker
//! with gated replies, told once per flush ([`DurableWatch`]); and asynchronous commits, which only want
//! the flusher not to sleep on them ([`Durable::request_soon`]).

use base::Lsn;
use base::clock::{self, Instant};
use base::pad::{Padded, is_one_line};
use base::park::{self, Context};
use base::sync::unmodelled::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use base::wait_event::{self, Event};
use std::sync::{Arc, Mutex, OnceLock};

/// What the flusher publishes; read by all, written once per flush.
struct Published {
    durable: AtomicU64,
    /// How many contexts park in `wait`.
    waiters: AtomicUsize,
}

/// What others ask of the flusher; written at every synchronous commit.
struct Asked {
    /// Highest position that somebody wants durable now.
    requested: AtomicU64,
    /// How many positions, each above all before it, were asked for.
    requests: AtomicU64,
    /// The flusher rests until so many requests have come.
    gathering: AtomicU64,
    /// Transactions under way that have written, in [`WRITERS_UNIT`]ths.
    writers: AtomicU64,
    /// The flusher parks, or is about to: a request must wake it.
    asleep: AtomicBool,
    /// It does so because another flushes.
    aside: AtomicBool,
    /// Somebody wants what there is to be durable within [`super::flusher::LAZY_DELAY`].
    soon: AtomicBool,
    stop: AtomicBool,
}

/// The state of durability.
pub(super) struct Durable {
    published: Padded<Published>,
    asked: Padded<Asked>,
    /// Set once; read by whoever wakes the flusher.
    flusher: OnceLock<Context>,
    waiters: Padded<Mutex<Vec<(Lsn, Context)>>>,
    watches: Padded<Mutex<Vec<Arc<DurableWatch>>>>,
}

const _: () = assert!(is_one_line::<Published>() && is_one_line::<Asked>());
const _: () = assert!(is_one_line::<Mutex<Vec<(Lsn, Context)>>>());

/// A worker's standing interest; see [`super::Wal::watch_durable`].
pub struct DurableWatch {
    wanted: Padded<AtomicU64>,
    notify: Box<dyn Fn(Lsn) + Send + Sync>,
}

/// Fractions in which the mean number of writers is kept.
const WRITERS_UNIT: u64 = 256;

impl Durable {
    pub fn new(durable: Lsn) -> Durable {
        Durable {
            published: Padded(Published {
                durable: AtomicU64::new(durable.0),
                waiters: AtomicUsize::new(0),
            }),
            asked: Padded(Asked {
                requested: AtomicU64::new(0),
                requests: AtomicU64::new(0),
                gathering: AtomicU64::new(u64::MAX),
                writers: AtomicU64::new(0),
                asleep: AtomicBool::new(false),
                aside: AtomicBool::new(false),
                soon: AtomicBool::new(false),
                stop: AtomicBool::new(false),
            }),
            flusher: OnceLock::new(),
            waiters: Padded::default(),
            watches: Padded::default(),
        }
    }

    /// Every byte before it is on disk.
    #[inline]
    pub fn get(&self) -> Lsn {
        // Acquire: pairs with the release in `advance`.
        Lsn(self.published.durable.load(Ordering::Acquire))
    }

    /// Asks for durability up to `lsn` and returns.
    #[inline]
    pub fn request(&self, lsn: Lsn) {
        if self.get() >= lsn {
            return;
        }
        // SeqCst, inside, here and in `gather`: either the flusher, going to rest, counts this request, or
        // this context sees what it rests for.
        if let Some(requests) = self.count_request(lsn)
            && requests == self.asked.gathering.load(Ordering::SeqCst)
        {
            self.unpark_flusher();
        }
        self.wake_flusher();
    }

    /// Notes a request and wakes nobody; how many have come, if it is above all before it.
    #[inline]
    pub fn count_request(&self, lsn: Lsn) -> Option<u64> {
        // SeqCst, here and in `nap`: either the flusher, going to sleep, sees the request, or this
        // context sees it asleep.
        let is_highest = self.asked.requested.fetch_max(lsn.0, Ordering::SeqCst) < lsn.0;
        is_highest.then(|| self.asked.requests.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Asks that what is in the log now be durable before long.
    #[inline]
    pub fn request_soon(&self) {
        // SeqCst: pairs with `take_soon`, after which the flusher looks at the log's position: who still sees the wish of
        // another has logged before that. For a flusher that sleeps: see `nap`.
        if !self.asked.soon.load(Ordering::SeqCst) {
            self.asked.soon.store(true, Ordering::SeqCst);
            self.wake_flusher();
        }
    }

    /// Wakes the flusher if it sleeps: there is something to do.
    #[inline]
    pub fn wake_flusher(&self) {
        // SeqCst: pairs with `nap`, which says that it sleeps before it looks for work.
        if self.asked.asleep.load(Ordering::SeqCst)
            && self.asked.asleep.swap(false, Ordering::SeqCst)
        {
            self.unpark_flusher();
        }
    }

    fn unpark_flusher(&self) {
        if let Some(flusher) = self.flusher.get() {
            flusher.unpark();
        }
    }

    /// Parks until the log is durable up to `lsn`.
    pub fn wait(&self, lsn: Lsn) {
        if self.get() >= lsn {
            return;
        }
        // Counted before it is in the list: the count is never less than the list is long. For the order see the fence.
        self.published.waiters.fetch_add(1, Ordering::SeqCst);
        self.waiters.lock().expect("no code panics under it").push((lsn, park::current()));
        // SeqCst, with the fence in `advance`: either the flusher sees this waiter, or it sees the log durable. If the flusher
        // saw the count and not yet the entry, the list's lock has shown here what is durable.
        fence(Ordering::SeqCst);
        self.request(lsn);
        let _waiting = wait_event::during(Event::WalSync);
        while self.get() < lsn {
            park::park();
        }
        let me = park::current();
        let mut waiters = self.waiters.lock().expect("no code panics under it");
        if let Some(at) = waiters.iter().position(|w| w.1.same(&me)) {
            waiters.swap_remove(at);
            self.published.waiters.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Registers a worker.
    pub fn watch(&self, notify: Box<dyn Fn(Lsn) + Send + Sync>) -> Arc<DurableWatch> {
        let watch = Arc::new(DurableWatch { wanted: Padded(AtomicU64::new(u64::MAX)), notify });
        self.watches.lock().expect("no code panics under it").push(Arc::clone(&watch));
        watch
    }

    /// Forgets a worker.
    pub fn unwatch(&self, watch: &Arc<DurableWatch>) {
        self.watches.lock().expect("no code panics under it").retain(|w| !Arc::ptr_eq(w, watch));
    }

    /// Asks for `lsn` on behalf of a watch; see [`super::Wal::want_durable`].
    #[inline]
    pub fn want(&self, watch: &DurableWatch, lsn: Lsn) -> bool {
        // SeqCst, with the fence in `advance`: as in `wait`.
        watch.wanted.fetch_min(lsn.0, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.get() >= lsn {
            return true;
        }
        self.request(lsn);
        false
    }

    // The flusher's side.

    /// Says which context flushes.
    pub fn set_flusher(&self, context: Context) {
        let _ = self.flusher.set(context);
    }

    /// The highest position asked for.
    pub fn requested(&self) -> Lsn {
        // SeqCst: pairs with `count_request`; a look at work in `nap`.
        Lsn(self.asked.requested.load(Ordering::SeqCst))
    }

    /// How many requests have come, each for more than all before it.
    pub fn requests(&self) -> u64 {
        // SeqCst: pairs with `count_request`; see `gather`.
        self.asked.requests.load(Ordering::SeqCst)
    }

    /// So many transactions that have written were under way just now.
    pub fn writers_seen(&self, now: u64) {
        // Relaxed, and two scans at once may lose one's reading: a mean to go by.
        let mean = self.asked.writers.load(Ordering::Relaxed);
        let mean = (mean * 7 + now * WRITERS_UNIT) / 8;
        self.asked.writers.store(mean, Ordering::Relaxed);
    }

    /// How many transactions that have written are under way, in the mean of the last looks.
    pub fn writers(&self) -> u64 {
        self.asked.writers.load(Ordering::Relaxed) / WRITERS_UNIT
    }

    /// Parks the flusher until so many requests have come, or `until`.
    pub fn gather(&self, requests: u64, until: Instant) {
        // SeqCst: pairs with `request`, which counts itself and then looks at this; here the count is looked at after.
        self.asked.gathering.store(requests, Ordering::SeqCst);
        while self.requests() < requests && clock::now() < until && !self.stopping() {
            park::park_until(Some(until));
        }
        // SeqCst, as above, but nobody hangs on it: whoever still sees the old number wakes it in vain.
        self.asked.gathering.store(u64::MAX, Ordering::SeqCst);
    }

    /// Takes the wish for "soon" down; what comes after asks again.
    pub fn take_soon(&self) -> bool {
        // SeqCst: pairs with `request_soon`.
        self.asked.soon.swap(false, Ordering::SeqCst)
    }

    /// Whether somebody wants "soon".
    pub fn wants_soon(&self) -> bool {
        // SeqCst: pairs with `request_soon`; a look at work in `nap`.
        self.asked.soon.load(Ordering::SeqCst)
    }

    /// Tells the flusher to finish.
    pub fn stop(&self) {
        // SeqCst: pairs with `stopping`, which a flusher asks after it has said that it sleeps. It is woken in any case.
        self.asked.stop.store(true, Ordering::SeqCst);
        self.asked.asleep.store(false, Ordering::SeqCst);
        self.unpark_flusher();
    }

    /// Whether the flusher is to finish.
    pub fn stopping(&self) -> bool {
        // SeqCst: pairs with `stop`.
        self.asked.stop.load(Ordering::SeqCst)
    }

    /// Parks the flusher unless `work` finds something after everybody can see that it sleeps.
    pub fn nap(&self, deadline: Option<Instant>, work: impl Fn() -> bool) {
        // SeqCst: pairs with those who store what they want (`count_request`, `request_soon`, `stop`) and then look at this:
        // one of the two sees the other.
        self.asked.asleep.store(true, Ordering::SeqCst);
        if !work() && !self.stopping() {
            park::park_until(deadline);
        }
        // SeqCst, as above, but nobody hangs on it: it is awake.
        self.asked.asleep.store(false, Ordering::SeqCst);
    }

    /// Parks the flusher while another flushes; `is_free` tells whether that has ended.
    pub fn stand_aside(&self, is_free: impl Fn() -> bool) {
        self.asked.aside.store(true, Ordering::SeqCst);
        // Pairs with the fence in `flush_here`: either `is_free` finds the right to flush given back, or who gives it back
        // sees that it stood aside.
        fence(Ordering::SeqCst);
        self.nap(None, is_free);
        if self.stopping() {
            park::yield_now();
        }
        // SeqCst, as above, but nobody hangs on it: whoever still sees it wakes the flusher in vain.
        self.asked.aside.store(false, Ordering::SeqCst);
    }

    /// Whether the flusher stands aside.
    pub fn stood_aside(&self) -> bool {
        // SeqCst: pairs with `stand_aside`, by the fence in `flush_here`.
        self.asked.aside.load(Ordering::SeqCst)
    }

    /// The log is durable up to `lsn`: tells everybody who waited for that.
    pub fn advance(&self, lsn: Lsn) {
        // Release: pairs with the acquire in `get`.
        self.published.durable.store(lsn.0, Ordering::Release);
        // Pairs with the fences in `wait` and `want`: either they see the log durable, or they are seen here.
        fence(Ordering::SeqCst);
        if self.published.waiters.load(Ordering::Relaxed) > 0 {
            self.wake_waiters(lsn);
        }
        for watch in self.watches.lock().expect("no code panics under it").iter() {
            // SeqCst: pairs with `want`. What is wanted between the two is durable already if it is up to `lsn`, and asked for
            // again after the notification if not.
            if watch.wanted.load(Ordering::SeqCst) <= lsn.0 {
                watch.wanted.store(u64::MAX, Ordering::SeqCst);
                (watch.notify)(lsn);
            }
        }
    }

    #[cold]
    fn wake_waiters(&self, lsn: Lsn) {
        let mut waiters = self.waiters.lock().expect("no code panics under it");
        let before = waiters.len();
        waiters.retain(|(wanted, context)| {
            let satisfied = *wanted <= lsn;
            if satisfied {
                context.unpark();
            }
            !satisfied
        });
        self.published.waiters.fetch_sub(before - waiters.len(), Ordering::Relaxed);
    }
}
