//! When the system can't bring a page of a mapped file: the end of the process, with the file's name.
//!
//! Somebody has cut the file, its device can't be read, or a hole in it can't be filled. The system answers a load or
//! store with SIGBUS; there is no way back into code that has stored half a record. The handler decides only by the
//! address whether the page belongs to a watched mapping. Elsewhere what was set before takes over: the default action
//! or the standard library's handler.
//!
//! Watched ranges are a list that only grows; entries are used again. The handler walks it without a lock: an entry's
//! `end` is stored last and cleared first, and a mapping that is touched is neither made nor ended at that time.

use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// Bytes of a file's name that are told.
const NAME_BYTES: usize = 96;

struct Entry {
    taken: AtomicBool,
    start: AtomicUsize,
    /// Zero: not watched.
    end: AtomicUsize,
    name: [AtomicU8; NAME_BYTES],
    name_length: AtomicUsize,
    next: *const Entry,
}

// SAFETY: `next` is set before the entry is shared, and entries live for ever.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

static FIRST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());
/// What was done on SIGBUS before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A range of addresses that is watched until this is dropped.
pub(super) struct Watched(&'static Entry);

/// Watches a mapping of the file `name`; the first call installs the handler.
pub(super) fn watch(range: Range<usize>, name: &str) -> Watched {
    BEFORE.get_or_init(install);
    let entry = free_entry();
    let name = &name.as_bytes()[..name.len().min(NAME_BYTES)];
    for (to, from) in entry.name.iter().zip(name) {
        to.store(*from, Ordering::Relaxed);
    }
    entry.name_length.store(name.len(), Ordering::Relaxed);
    entry.start.store(range.start, Ordering::Relaxed);
    // Release: pairs with the acquire in `entry_at`; who sees the range has its name.
    entry.end.store(range.end, Ordering::Release);
    Watched(entry)
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::Relaxed);
        // Release: pairs with the acquire in `free_entry`.
        self.0.taken.store(false, Ordering::Release);
    }
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    // Acquire: pairs with the release in `free_entry`.
    let mut at: *const Entry = FIRST.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: null, or an entry that was leaked, and only shared references to it exist.
        let entry = unsafe { at.as_ref() }?;
        at = entry.next;
        Some(entry)
    })
}

fn free_entry() -> &'static Entry {
    let take = |e: &&Entry| !e.taken.swap(true, Ordering::Acquire);
    if let Some(entry) = entries().find(take) {
        return entry;
    }
    let new: *mut Entry = Box::into_raw(Box::new(Entry {
        taken: AtomicBool::new(true),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        name: [const { AtomicU8::new(0) }; NAME_BYTES],
        name_length: AtomicUsize::new(0),
        next: ptr::null(),
    }));
    let mut first = FIRST.load(Ordering::Relaxed);
    loop {
        // SAFETY: nobody else knows it yet.
        unsafe { (*new).next = first };
        // Release: pairs with the acquire in `entries`.
        match FIRST.compare_exchange(first, new, Ordering::Release, Ordering::Relaxed) {
            // SAFETY: it lives for ever, and from here on there are only shared references to it.
            Ok(_) => return unsafe { &*new },
            Err(now) => first = now,
        }
    }
}

/// Installs the handler; answers what was there.
fn install() -> libc::sigaction {
    // SAFETY: plain bytes, for which zeros are a value.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = handle as *const () as usize;
    // On the alternate stack where there is one: fibers' stacks are small.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both are valid; the handler does only what a handler may. Until `before` is stored nothing is watched
    // that the handler could be called for by us; a fault of others in between ends the process without a chain.
    let done = unsafe { libc::sigaction(libc::SIGBUS, &raw const ours, &raw mut before) };
    assert_eq!(done, 0, "SIGBUS can be handled");
    before
}

/// The entry of the mapping that `address` lies in.
fn entry_at(address: usize) -> Option<&'static Entry> {
    // Acquire: pairs with the release in `watch`.
    let holds = |e: &&Entry| address < e.end.load(Ordering::Acquire);
    entries().filter(holds).find(|e| e.start.load(Ordering::Relaxed) <= address)
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system hands a valid description over.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    // Positive: from the system, about an address.
    if code > 0
        && let Some(entry) = entry_at(address)
    {
        tell(entry);
        // SAFETY: may be called in a handler.
        unsafe { libc::abort() };
    }
    // Not ours. What was there before has its turn when the instruction runs again, or the signal comes again.
    // SAFETY: both calls may be made in a handler; a zeroed action is the default one.
    unsafe {
        let default = std::mem::zeroed();
        libc::sigaction(signal, BEFORE.get().unwrap_or(&default), ptr::null_mut());
        if code <= 0 {
            libc::raise(signal);
        }
    }
}

/// Says which file it was. No allocation, no lock.
fn tell(entry: &Entry) {
    let mut name = [0; NAME_BYTES];
    for (to, from) in name.iter_mut().zip(&entry.name) {
        *to = from.load(Ordering::Relaxed);
    }
    let length = entry.name_length.load(Ordering::Relaxed);
    let parts: [&[u8]; 3] = [
        b"thalweg: fatal: the system can't bring a page of the mapped file \"",
        &name[..length],
        b"\": it was cut short, can't be read, or there is no room for it\n",
    ];
    for part in parts {
        // SAFETY: a plain system call with bytes that live on; if it fails nothing better can be done.
        unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
}
