//! Looking for the next request before sleeping, where a worker has one client.
//!
//! A client that asks one question after the other has both sides sleep and wake for each: on a machine that is
//! not busy, and more so on a virtual one, waking a core takes longer than the answer. A worker that has heard
//! nobody but one client lately looks at its socket for a moment (`worker_busy_poll`) before it sleeps. Looks that
//! see nothing make it look more seldom, up to never, for a client that takes its time; so does one that was
//! interrupted, because then others want the core. At most half of the cores are used up like that.

use base::sync::unmodelled::{AtomicUsize, Ordering};
use std::cell::{Cell, RefCell};
use std::os::fd::RawFd;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use base::clock;

use crate::connection::Link;

/// So many requests in a row of one client make it the only one.
const LONE_AFTER: u32 = 32;
/// Between two looks so far apart somebody else had the core.
const INTERRUPTED: Duration = Duration::from_micros(30);
/// After a look in vain the next sleeps go without, twice as many each time, up to two to the power of this.
const BACKOFF_MAX: u32 = 10;

/// How many workers look at this moment, and how many may.
pub(crate) struct Pollers {
    now: AtomicUsize,
    most: usize,
}

impl Pollers {
    /// Half of this machine's `cores`.
    pub(crate) fn new(cores: usize) -> Arc<Pollers> {
        Arc::new(Pollers { now: AtomicUsize::new(0), most: cores / 2 })
    }

    /// Calls `look` unless too many look already.
    fn with(&self, look: impl FnOnce()) {
        // Relaxed: a limit on work, nothing hangs on it.
        if self.now.fetch_add(1, Ordering::Relaxed) < self.most {
            look();
        }
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One worker's looks.
pub(crate) struct BusyPoll {
    /// How long one lasts; zero: none.
    limit: Duration,
    pollers: Arc<Pollers>,
    /// Who was heard last.
    client: RefCell<Weak<Link>>,
    /// How often in a row.
    heard: Cell<u32>,
    /// Looks in vain in a row, [`BACKOFF_MAX`] at most.
    vain: Cell<u32>,
    /// So many sleeps go without.
    skip: Cell<u32>,
}

impl BusyPoll {
    pub(crate) fn new(limit: Duration, pollers: Arc<Pollers>) -> BusyPoll {
        BusyPoll {
            limit,
            pollers,
            client: RefCell::default(),
            heard: Cell::new(0),
            vain: Cell::new(0),
            skip: Cell::new(0),
        }
    }

    /// A client has sent something.
    pub(crate) fn heard(&self, link: &Rc<Link>) {
        if self.client.borrow().as_ptr() == Rc::as_ptr(link) {
            self.heard.set(self.heard.get().saturating_add(1));
        } else {
            *self.client.borrow_mut() = Rc::downgrade(link);
            self.heard.set(0);
        }
    }

    /// Whether one client was the only one to be heard lately.
    pub(crate) fn has_lone_client(&self) -> bool {
        self.heard.get() >= LONE_AFTER
    }

    /// Looks until the lone client has sent something, `is_called` says that there is other work, or it has been
    /// long enough.
    pub(crate) fn look(&self, is_called: impl Fn() -> bool) {
        if self.limit.is_zero() || !self.has_lone_client() {
            return;
        }
        if let Some(fewer) = self.skip.get().checked_sub(1) {
            return self.skip.set(fewer);
        }
        let Some(link) = self.client.borrow().upgrade() else { return };
        let socket = link.descriptor();
        self.pollers.with(|| {
            let in_vain = !self.watch(socket, is_called);
            self.vain.set(if in_vain { (self.vain.get() + 1).min(BACKOFF_MAX) } else { 0 });
            self.skip.set(if in_vain { 1 << self.vain.get() } else { 0 });
        });
    }

    /// Whether something came, and nobody else wanted the core.
    fn watch(&self, socket: RawFd, is_called: impl Fn() -> bool) -> bool {
        let mut last = clock::now();
        let until = last.after(self.limit);
        loop {
            let came = is_called() || is_readable(socket);
            let now = clock::now();
            if now.since(last) > INTERRUPTED {
                return false;
            }
            if came || now >= until {
                return came;
            }
            last = now;
        }
    }
}

/// Whether a read would not have to wait.
fn is_readable(socket: RawFd) -> bool {
    let mut asked = libc::pollfd { fd: socket, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut asked, 1, 0) != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    fn busy_poll(limit: Duration) -> BusyPoll {
        BusyPoll::new(limit, Pollers::new(2))
    }

    /// Whether a look that nobody interrupts is not in vain; others may want the core at any time.
    fn sees(poll: &BusyPoll, socket: &UnixStream, is_called: impl Fn() -> bool) -> bool {
        (0..1000).any(|_| poll.watch(socket.as_raw_fd(), &is_called))
    }

    #[test]
    fn a_look_ends_with_what_comes_with_a_call_or_in_vain() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let poll = busy_poll(Duration::from_micros(50));
        assert!(!sees(&poll, &here, || false));
        there.write_all(b"Q").unwrap();
        assert!(sees(&poll, &here, || false));
        here.read_exact(&mut [0]).unwrap();
        assert!(!sees(&poll, &here, || false));
        assert!(sees(&poll, &here, || true));
        drop(there);
        assert!(sees(&poll, &here, || false), "a client that has left is to be seen, too");
    }

    #[test]
    fn no_more_than_half_of_the_cores_are_used_up() {
        let looks = Cell::new(0);
        let pollers = Pollers::new(3);
        let look = || looks.set(looks.get() + 1);
        pollers.with(|| {
            look();
            pollers.with(look);
        });
        assert_eq!(looks.get(), 1);
        pollers.with(look);
        assert_eq!(looks.get(), 2);
        Pollers::new(1).with(look);
        assert_eq!(looks.get(), 2, "the client needs the only core");
    }
}
