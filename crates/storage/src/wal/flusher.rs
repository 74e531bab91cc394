//! The flusher: one context that writes what is complete, syncs it, and says so; a committer that is alone does
//! that itself ([`flush_here`]).
//!
//! It is greedy: each round takes everything that is complete, so that commits that arrive while a sync is
//! in flight share the next one. Where many commit at the same time it rests between rounds
//! ([`super::gather`]); there is no delay to tune. It writes whole blocks. The last block is
//! written again by the next round, with the same bytes and more, so that a torn write of it leaves what
//! was durable before. Where the log's files are mapped there is nothing to write: a round makes durable what was
//! stored.

use super::Wal;
use super::gather::Gathering;
use super::ring::BLOCK_BYTES;
use super::stats::count;
use crate::error::Error;
use base::clock;
use base::disk::SyncMethod;
use base::park;
use base::sim;
use base::sync::spin_hint;
use base::sync::unmodelled::{Ordering, fence};
use base::wait_event::{self, Event};
use base::{Lsn, clock::Instant};
use std::time::Duration;

/// How long an asynchronous commit may stay undurable. PostgreSQL's `wal_writer_delay`.
pub(super) const LAZY_DELAY: Duration = Duration::from_millis(200);

/// Rounds of up to this size go through one buffer and one write.
const BOUNCE_BYTES: usize = 128 * 1024;

/// What whoever flushes knows; its lock is the right to flush. It is only ever tried: nobody waits for it.
pub(super) struct State {
    /// Everything before it is written (not necessarily synced).
    written: Lsn,
    bounce: Box<[Block]>,
    lazy_until: Option<Instant>,
    gathering: Gathering,
}

#[derive(Clone)]
#[repr(C, align(4096))]
struct Block([u8; BLOCK_BYTES as usize]);

const _: () = assert!(BOUNCE_BYTES.is_multiple_of(BLOCK_BYTES as usize));

/// Body of the flusher's context; returns when told to stop and everything is durable.
pub(super) fn run(wal: &Wal) {
    wal.durable.set_flusher(park::current());
    loop {
        let stopping = wal.durable.stopping();
        let Ok(mut state) = wal.flushing.try_lock() else {
            wal.durable.stand_aside(|| wal.flushing.try_lock().is_ok());
            continue;
        };
        if let Some(target) = state.target(wal, stopping) {
            if !stopping && !ring_pressed(wal) {
                state.gather(wal);
            }
            state.round(wal, target);
        } else if stopping {
            return;
        } else {
            let deadline = state.lazy_until;
            drop(state);
            wal.durable.nap(deadline, || {
                has_work(wal) || (deadline.is_none() && wal.durable.wants_soon())
            });
        }
    }
}

/// Flushes up to `lsn` on the caller's own context, if nobody else flushes and a flush is short; false otherwise.
/// It saves two switches between threads, which may take longer than the flush.
pub(super) fn flush_here(wal: &Wal, lsn: Lsn) -> bool {
    match wal.flushing.try_lock() {
        // Another round may have come to its end since the caller looked.
        Ok(_) if wal.durable() >= lsn => {}
        Ok(mut state) if !state.gathering.is_slow() => {
            wal.durable.count_request(lsn);
            state.round(wal, lsn);
        }
        _ => return false,
    }
    // SeqCst, with the one in `Durable::stand_aside`: either the flusher finds the lock free, or this context
    // sees that it stood aside.
    fence(Ordering::SeqCst);
    if wal.durable.stood_aside() || has_work(wal) {
        wal.durable.wake_flusher();
    }
    true
}

/// Whether a round is called for now.
fn has_work(wal: &Wal) -> bool {
    wal.durable.requested().min(wal.position()) > wal.durable() || ring_pressed(wal)
}

/// Whether inserters wait for the ring, or soon will.
fn ring_pressed(wal: &Wal) -> bool {
    // In this order: the log may become durable, and grow, between the two.
    let durable = wal.durable();
    let unwritten = wal.position().0 - durable.0;
    unwritten > wal.route.ring.capacity() / 2 || (unwritten > 0 && wal.space.has_waiters())
}

impl State {
    pub fn new(written: Lsn) -> State {
        let blocks = BOUNCE_BYTES / BLOCK_BYTES as usize;
        State {
            written,
            bounce: vec![Block([0; BLOCK_BYTES as usize]); blocks].into_boxed_slice(),
            lazy_until: None,
            gathering: Gathering::default(),
        }
    }

    /// Up to where this round must come; `None` when nothing is to be done now.
    fn target(&mut self, wal: &Wal, stopping: bool) -> Option<Lsn> {
        let position = wal.position();
        if position <= wal.durable() {
            // Look again after taking the wish down: who came between relies on it.
            if !wal.durable.take_soon() || wal.position() <= wal.durable() {
                self.lazy_until = None;
                return None;
            }
            self.lazy_until = Some(clock::now().after(LAZY_DELAY));
        }
        if ring_pressed(wal) {
            count(&wal.counters.pressed, 1);
            return Some(position);
        }
        if stopping {
            return Some(position);
        }
        let requested = wal.durable.requested().min(position);
        if requested > wal.durable() {
            return Some(requested);
        }
        if self.lazy_until.is_none() && wal.durable.wants_soon() {
            self.lazy_until = Some(clock::now().after(LAZY_DELAY));
        }
        self.lazy_until.is_some_and(|at| clock::now() >= at).then_some(position)
    }

    /// Waits for those who are likely to ask soon, too.
    fn gather(&self, wal: &Wal) {
        if let Some((requests, until)) = self.gathering.wanted(wal.durable.writers()) {
            wal.durable.gather(requests, until);
        }
    }

    /// Makes everything complete durable, at least up to `target`.
    fn round(&mut self, wal: &Wal, target: Lsn) {
        // Whoever asks "soon" after this is not served by this round.
        let soon = wal.durable.take_soon();
        self.lazy_until = None;
        let begun = clock::now();
        self.gathering.begin(wal.durable.requests());
        // What an inserter has published for its slot may be older than what was complete before. What is durable only
        // grows (W4).
        let complete = wait_complete(wal, target.max(self.written));
        let first = wal.route.epoch.segment_of(self.written);
        let writing = clock::now();
        let written = match wal.store.is_mapped() {
            true => self.sync_mapped(wal, complete).map(|()| true),
            false => self.write(wal, complete),
        };
        let is_durable = written
            .unwrap_or_else(|e| wal.store.fail(&format!("the log can't be made durable: {e}")));
        let took = clock::now().since(writing).as_nanos() as u64;
        let counters = &wal.counters;
        wal.count_time(if is_durable { &counters.sync_nanos } else { &counters.write_nanos }, took);
        self.written = complete;
        wal.counters.written.store(complete.0, Ordering::Relaxed);
        // Written bytes are the file's; only the last, partial block will be read from the ring again.
        let kept = complete.0 - complete.0 % BLOCK_BYTES;
        wal.space.ring_free_below(kept + wal.route.ring.capacity());
        if !is_durable {
            // A sync takes as long as others take for much: what is told meanwhile must wait for it.
            sim::maybe_fall_behind(8);
            self.sync(wal, first, complete);
        }
        wal.store.written_before(wal.route.epoch.segment_of(complete));
        count(&wal.counters.flushes, 1);
        wal.durable.advance(complete);
        if soon && complete < wal.position() {
            // The round may have ended before what that wish was for.
            wal.durable.request_soon();
        }
        let now = clock::now();
        self.gathering.end(now, now.since(begun));
        wal.segments_needed();
    }

    /// Writes the blocks of `[written, complete)`. True if they are durable, too: what fits one write can be made so
    /// by the same call.
    fn write(&mut self, wal: &Wal, complete: Lsn) -> Result<bool, Error> {
        let mut at = Lsn(self.written.0 - self.written.0 % BLOCK_BYTES);
        let how = wal.sync_method();
        let segment = wal.route.epoch.segment_of(at);
        let is_one = (complete.0 - at.0) as usize <= BOUNCE_BYTES
            && segment == wal.route.epoch.segment_of(Lsn(complete.0 - 1));
        if how != SyncMethod::Fdatasync && is_one {
            let bytes = self.bounce(wal, at, complete);
            let file = wal.store.file(segment);
            let _waiting = wait_event::during(Event::WalSync);
            let written = file.write_durably(bytes, wal.route.epoch.file_offset(at), how);
            written.map_err(|e| {
                Error::io("write", super::segment::path(wal.route.epoch.timeline, segment), e)
            })?;
            count_write(wal, bytes);
            count(&wal.counters.syncs, 1);
            return Ok(true);
        }
        while at < complete {
            let segment = wal.route.epoch.segment_of(at);
            let end = complete.min(wal.route.epoch.start_of(segment + 1));
            let next = if (end.0 - at.0) as usize <= BOUNCE_BYTES {
                let bytes = self.bounce(wal, at, end);
                write_piece(wal, segment, at, bytes)?
            } else {
                let whole = Lsn(end.0 - end.0 % BLOCK_BYTES);
                // SAFETY: complete, and released only by `round` after the write.
                let bytes = unsafe { wal.route.ring.get(at, whole) };
                write_piece(wal, segment, at, bytes)?
            };
            at = next;
        }
        Ok(false)
    }

    /// Makes `[written, complete)` durable where inserters have stored it in mapped files.
    fn sync_mapped(&self, wal: &Wal, complete: Lsn) -> Result<(), Error> {
        let mut at = self.written;
        while at < complete {
            let segment = wal.route.epoch.segment_of(at);
            let end = complete.min(wal.route.epoch.start_of(segment + 1));
            let _waiting = wait_event::during(Event::WalSync);
            let synced =
                wal.store.mapping(segment).sync(wal.route.epoch.file_offset(at), end.0 - at.0);
            synced.map_err(|e| {
                Error::io("sync", super::segment::path(wal.route.epoch.timeline, segment), e)
            })?;
            count(&wal.counters.syncs, 1);
            at = end;
        }
        Ok(())
    }

    /// Copies `[at, end)` out of the ring; zeros fill the last block, where others may be copying.
    fn bounce(&mut self, wal: &Wal, at: Lsn, end: Lsn) -> &[u8] {
        let length = (end.0 - at.0) as usize;
        // SAFETY: Block is plain bytes without padding, and this is all of the boxed slice.
        let buffer = unsafe {
            std::slice::from_raw_parts_mut(self.bounce.as_mut_ptr().cast::<u8>(), BOUNCE_BYTES)
        };
        let mut done = 0;
        while done < length {
            // SAFETY: complete, and released only by `round` after the write.
            let bytes = unsafe { wal.route.ring.get(Lsn(at.0 + done as u64), end) };
            buffer[done..done + bytes.len()].copy_from_slice(bytes);
            done += bytes.len();
        }
        let whole = length.next_multiple_of(BLOCK_BYTES as usize);
        buffer[length..whole].fill(0);
        &buffer[..whole]
    }

    /// Syncs the segments that this round wrote.
    fn sync(&self, wal: &Wal, first: u64, complete: Lsn) {
        let begin = clock::now();
        // The segment of the last written byte: `complete` itself may begin the next.
        for segment in first..=wal.route.epoch.segment_of(Lsn(complete.0 - 1)) {
            let _waiting = wait_event::during(Event::WalSync);
            if let Err(e) = wal.store.file(segment).sync() {
                let path = super::segment::path(wal.route.epoch.timeline, segment);
                wal.store.fail(&format!(
                    "the log can't be made durable: could not sync file \"{path}\": {e}"
                ));
            }
            count(&wal.counters.syncs, 1);
        }
        let nanos = clock::now().since(begin).as_nanos() as u64;
        wal.count_time(&wal.counters.sync_nanos, nanos);
    }
}

fn write_piece(wal: &Wal, segment: u64, at: Lsn, bytes: &[u8]) -> Result<Lsn, Error> {
    let _waiting = wait_event::during(Event::WalWrite);
    let written = wal.store.file(segment).write_at(bytes, wal.route.epoch.file_offset(at));
    written.map_err(|e| {
        Error::io("write", super::segment::path(wal.route.epoch.timeline, segment), e)
    })?;
    count_write(wal, bytes);
    Ok(Lsn(at.0 + bytes.len() as u64))
}

fn count_write(wal: &Wal, bytes: &[u8]) {
    count(&wal.counters.writes, 1);
    count(&wal.counters.bytes_written, bytes.len() as u64);
}

/// A complete position not below `target`: waits out inserters that are copying.
pub(super) fn wait_complete(wal: &Wal, target: Lsn) -> Lsn {
    const SPINS: u32 = 256;
    let mut tries = 0;
    loop {
        let complete = wal.complete();
        if complete >= target {
            return complete;
        }
        tries += 1;
        // An inserter copies at most a record and does not park; if it takes long, it was preempted.
        if tries < SPINS { spin_hint() } else { park::yield_now() }
    }
}
