//! A worker's reads through io_uring: the read is handed to the system, its fiber parks, the completion unparks it.
//!
//! A thread that runs fibers opens a ring for itself ([`ThreadRing::open`]) and watches its bell while it sleeps;
//! [`Scheduler::run`](crate::fiber::Scheduler::run) looks for completions each time. Only this thread submits and
//! reaps, so the system need not interrupt it (`DEFER_TASKRUN`), and nobody else wakes for it. A thread that has
//! none, because it runs no fibers or the system grants no ring, uses the pool of I/O threads.
//!
//! The bell is an event descriptor: the ring's own is not always readable when completions of such a ring wait to
//! be made by its thread.
//!
//! What the system writes to stays until the completion has been reaped: an awaited read's bytes lie on the stack
//! of its fiber, which waits for nothing else and is never dropped while it is suspended; a started one owns its
//! room. A ring is closed only when nothing is under way in it.

use super::pool;
use crate::disk::StartedRead;
use crate::park::{self, Context};
use crate::wait_event::{self, Event};
use io_uring::{IoUring, opcode, squeue, types};
use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Orders that the ring can take before they are submitted; each is at once.
const ENTRIES: u32 = 64;
/// Completions that there is room for.
const COMPLETIONS: u32 = 2048;
/// Most reads under way in a ring: fewer than there is room for, so that none overflows.
const MOST: usize = COMPLETIONS as usize / 2;
/// Completions taken at a time.
const BATCH: usize = 32;
/// Marks a started read in the number that comes back with the completion; an awaited one has none.
const STARTED: u64 = 1;
/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;

thread_local! {
    static RING: RefCell<Option<IoUring>> = const { RefCell::new(None) };
    /// Reads under way in this thread's ring.
    static UNDER_WAY: Cell<usize> = const { Cell::new(0) };
}

/// The calling thread's ring; closed when this is dropped, once all reads in it are over. Its descriptor is the
/// bell.
pub struct ThreadRing {
    bell: OwnedFd,
    /// It belongs to the thread.
    _not_send: PhantomData<*const ()>,
}

/// A read that its fiber waits for; on the fiber's stack.
struct Awaited {
    result: Cell<Option<i32>>,
    asker: Context,
}

/// A read that goes on by itself.
struct Started {
    file: Arc<fs::File>,
    read: StartedRead,
    filled: usize,
}

impl ThreadRing {
    /// Opens one for the calling thread, which then has to reap what is ready whenever the bell becomes readable.
    /// Errors where the system has no io_uring, or does not let this process use it.
    pub fn open() -> io::Result<ThreadRing> {
        let ring = open()?;
        let bell = bell()?;
        ring.submitter().register_eventfd(bell.as_raw_fd())?;
        RING.with_borrow_mut(|own| {
            assert!(own.is_none(), "a thread has one ring");
            *own = Some(ring);
        });
        Ok(ThreadRing { bell, _not_send: PhantomData })
    }

    /// Makes the bell not readable until it rings again: for those who look whether it is, not whether it became so.
    pub fn hush(&self) {
        let mut rung = [0u8; 8];
        // SAFETY: an event descriptor gives eight bytes, or nothing where it has not rung.
        let _ = unsafe { libc::read(self.bell.as_raw_fd(), rung.as_mut_ptr().cast(), rung.len()) };
    }
}

/// An event descriptor.
fn bell() -> io::Result<OwnedFd> {
    // SAFETY: plain system call.
    let bell = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
    if bell < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(bell) })
}

impl AsRawFd for ThreadRing {
    fn as_raw_fd(&self) -> RawFd {
        self.bell.as_raw_fd()
    }
}

impl Drop for ThreadRing {
    fn drop(&mut self) {
        while UNDER_WAY.get() > 0 {
            RING.with_borrow(|ring| enter(ring.as_ref().expect("open until here"), 1));
            reap();
        }
        RING.take();
    }
}

/// A ring that tells of work that waits for the thread, or, on older systems, one that interrupts it.
fn open() -> io::Result<IoUring> {
    let deferring = IoUring::builder()
        .setup_cqsize(COMPLETIONS)
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .build(ENTRIES);
    deferring.or_else(|_| IoUring::builder().setup_cqsize(COMPLETIONS).build(ENTRIES))
}

/// Has the system do its part of what is complete, and waits for so many completions.
fn enter(ring: &IoUring, wanted: u32) {
    // SAFETY: no order is handed in, and no set of signals.
    let entered = unsafe { ring.submitter().enter::<libc::sigset_t>(0, wanted, GET_EVENTS, None) };
    match entered {
        Ok(_) => {}
        Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
        // Completions that found no room come first; then it goes on.
        Err(fault) if is_passing(&fault) => {}
        Err(fault) => abandon(&fault),
    }
}

/// The system is short of something for a moment, or was interrupted: to be tried again.
pub(super) fn is_passing(fault: &io::Error) -> bool {
    matches!(fault.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::EINTR))
}

/// Ends the process: what the system does with the bytes of its reads is not known any more.
fn abandon(fault: &io::Error) -> ! {
    crate::log!("io_uring does not answer: {fault}");
    std::process::abort()
}

/// Reads under way in the calling thread's ring.
pub fn under_way() -> usize {
    UNDER_WAY.get()
}

/// Whether some read of the calling thread's ring is complete. A few loads.
#[inline]
pub fn is_ready() -> bool {
    UNDER_WAY.get() > 0
        && RING.with_borrow_mut(|ring| {
            let ring = ring.as_mut().expect("a read is under way in a ring");
            !ring.completion().is_empty() || ring.submission().taskrun()
        })
}

/// Ends the calling thread's reads that are complete: their fibers become ready. Not to be called on a fiber.
#[inline]
pub fn reap() {
    if UNDER_WAY.get() > 0 {
        reap_some();
    }
}

#[cold]
fn reap_some() {
    debug_assert!(!park::on_fiber(), "what waits for a completion is not what looks for it");
    loop {
        let mut batch = [(0u64, 0i32); BATCH];
        let count = RING.with_borrow_mut(|ring| {
            let ring = ring.as_mut().expect("a read is under way in a ring");
            if ring.submission().taskrun() {
                enter(ring, 0);
            }
            let completions = ring.completion();
            let places = batch.iter_mut().zip(completions);
            places.map(|(place, done)| *place = (done.user_data(), done.result())).count()
        });
        UNDER_WAY.set(UNDER_WAY.get() - count);
        // Without the ring: what follows a completion may submit.
        batch[..count].iter().for_each(|(number, result)| complete(*number, *result));
        if count < BATCH {
            return;
        }
    }
}

fn complete(number: u64, result: i32) {
    if number & STARTED == 0 {
        let awaited = number as *const Awaited;
        // SAFETY: the number is the address of what a fiber of this thread waits with. It leaves only when it
        // finds the result, and it can't run before this function has returned.
        let awaited = unsafe { &*awaited };
        awaited.result.set(Some(result));
        awaited.asker.unpark();
        return;
    }
    let started = (number & !STARTED) as *mut Started;
    // SAFETY: `Box::into_raw` in `submit_started` made it, and one completion comes for each submission.
    let mut started = unsafe { Box::from_raw(started) };
    match usize::try_from(result) {
        Ok(n) => {
            started.filled += n;
            if n > 0 && started.filled < started.read.bytes {
                go_on(started);
            } else {
                let filled = started.filled;
                started.read.end(Ok(filled));
            }
        }
        Err(_) => {
            let fault = io::Error::from_raw_os_error(-result);
            if is_passing(&fault) { go_on(started) } else { started.read.end(Err(fault)) }
        }
    }
}

/// Submits an order; false if there is no ring here, or it has enough to do.
fn submit(order: squeue::Entry) -> bool {
    RING.with_borrow_mut(|ring| {
        let Some(ring) = ring.as_mut().filter(|_| UNDER_WAY.get() < MOST) else { return false };
        // SAFETY: the callers keep the bytes until the completion.
        let queued = unsafe { ring.submission().push(&order) };
        queued.expect("whatever was queued before was submitted");
        UNDER_WAY.set(UNDER_WAY.get() + 1);
        loop {
            match ring.submit() {
                Ok(0) => {}
                Ok(_) => return true,
                // The system is short of memory for a moment; the order is in the queue, and can't be taken back.
                Err(fault) if is_passing(&fault) => std::thread::yield_now(),
                Err(fault) => abandon(&fault),
            }
        }
    })
}

/// Reads until `bytes` are full or the file ends, while the current fiber parks. `None`: no ring here.
pub(super) fn read(file: &fs::File, bytes: &mut [u8], offset: u64) -> Option<io::Result<usize>> {
    let mut done = 0;
    while done < bytes.len() {
        match read_some(file, &mut bytes[done..], offset + done as u64)? {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(fault) if is_passing(&fault) => {}
            Err(fault) => return Some(Err(fault)),
        }
    }
    Some(Ok(done))
}

fn read_some(file: &fs::File, bytes: &mut [u8], offset: u64) -> Option<io::Result<usize>> {
    let awaited = Awaited { result: Cell::new(None), asker: park::current() };
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let order = opcode::Read::new(types::Fd(file.as_raw_fd()), bytes.as_mut_ptr(), length)
        .offset(offset)
        .build()
        .user_data((&raw const awaited).addr() as u64);
    if !submit(order) {
        return None;
    }
    let _waiting = wait_event::during_unnamed(Event::File);
    loop {
        // Whatever else unparks it, a cancel for one: the system still writes to the bytes.
        if let Some(result) = awaited.result.get() {
            return Some(match usize::try_from(result) {
                Ok(n) => Ok(n),
                Err(_) => Err(io::Error::from_raw_os_error(-result)),
            });
        }
        park::park();
    }
}

/// Starts a read: in the calling thread's ring, else on an I/O thread.
pub(super) fn start(file: Arc<fs::File>, read: StartedRead) {
    go_on(Box::new(Started { file, read, filled: 0 }));
}

/// Has what is missing read.
fn go_on(mut started: Box<Started>) {
    let Started { file, read, filled } = &mut *started;
    let rest = &mut read.room[*filled..read.bytes];
    let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
    let offset = read.offset + *filled as u64;
    let order = opcode::Read::new(types::Fd(file.as_raw_fd()), rest.as_mut_ptr(), length)
        .offset(offset)
        .build();
    let address = Box::into_raw(started);
    if submit(order.user_data(address.addr() as u64 | STARTED)) {
        return;
    }
    // SAFETY: nobody was told the address.
    let mut started = unsafe { Box::from_raw(address) };
    pool::start(move || {
        let Started { file, read, filled } = &mut *started;
        let rest = &mut read.room[*filled..read.bytes];
        let got = super::read_full(file, rest, read.offset + *filled as u64);
        let got = got.map(|n| *filled + n);
        started.read.end(got);
    });
}
