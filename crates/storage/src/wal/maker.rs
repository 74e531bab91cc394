//! The segment maker: the one context that makes segments, ahead of need.
//!
//! What keeps it from making one is no reason to stop, but for a failed sync of a file: it says so once, refuses claims
//! that would need the segment, and tries again, after longer and longer pauses, until it is over.

use super::Wal;
use crate::error::Error;
use base::clock;
use base::park;
use std::sync::Mutex;
use std::time::Duration;

/// Segments kept ready beyond the one that is being filled.
const AHEAD: u64 = 2;

/// How long after a first failure it tries again, and how long it waits at most after one more.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_millis(500);

/// Why no segment can be made at present. Told to whoever is refused.
#[derive(Default)]
pub(super) struct Trouble(Mutex<Option<Error>>);

impl Trouble {
    /// The error of who needs a segment now; `None` if the trouble is over.
    pub fn refusal(&self) -> Option<Error> {
        match self.0.lock().expect("no code panics under it").as_ref()? {
            Error::DiskFull { file, block } => {
                Some(Error::DiskFull { file: file.clone(), block: *block })
            }
            Error::Io(e) | Error::NoSegment(e) => Some(Error::NoSegment(e.clone())),
            other => Some(Error::Refused(other.to_string())),
        }
    }

    /// There is trouble. Said once while it is the same.
    fn begin(&self, error: Error) {
        let mut trouble = self.0.lock().expect("no code panics under it");
        let (before, now) = (trouble.as_ref().map(Error::to_string), error.to_string());
        if before.as_ref() != Some(&now) {
            base::log!("no log segment can be made, writing waits for one: {now}");
        }
        *trouble = Some(error);
    }

    /// It is over.
    fn end(&self) {
        if self.0.lock().expect("no code panics under it").take().is_some() {
            base::log!("log segments can be made again");
        }
    }
}

/// Body of the maker's context.
pub(super) fn run(wal: &Wal) {
    let _ = wal.seldom.maker.set(park::current());
    let mut pause = RETRY_FIRST;
    while !wal.durable.stopping() {
        match make_next(wal) {
            Ok(true) => {
                wal.seldom.trouble.end();
                pause = RETRY_FIRST;
            }
            Ok(false) => {
                // Whoever needed one that could not be made has gone.
                wal.space.refuse_no_more();
                wal.seldom.trouble.end();
                pause = RETRY_FIRST;
                wal.store.unmap_finished();
                // An unpark that came since the last look makes this return at once.
                park::park();
            }
            Err(Error::Io(e)) if e.what == "sync" => {
                wal.store.fail(&format!("no log segment can be made: {e}"))
            }
            Err(e) => {
                wal.seldom.trouble.begin(named(wal, e));
                wal.space.refuse();
                park::park_until(Some(clock::now().after(pause)));
                pause = RETRY_MAX.min(pause * 2);
            }
        }
    }
}

/// Lack of room is told of the segment that is missing, not of what it is made from.
fn named(wal: &Wal, error: Error) -> Error {
    match error {
        Error::DiskFull { .. } => {
            let next = wal.space.segments_end() / wal.route.epoch.segment_bytes;
            let file = super::segment::path(wal.route.epoch.timeline, next);
            Error::DiskFull { file, block: None }
        }
        other => other,
    }
}

/// Makes a segment if one is missing; tells whether it did.
pub(super) fn make_next(wal: &Wal) -> Result<bool, Error> {
    let end = wal.space.segments_end();
    if end >= wanted_end(wal) {
        return Ok(false);
    }
    let _window = base::sim::window("segment-created");
    wal.store.make(end / wal.route.epoch.segment_bytes)?;
    wal.space.segments_ready_below(end + wal.route.epoch.segment_bytes);
    Ok(true)
}

/// Whether the maker has something to do.
pub(super) fn is_needed(wal: &Wal) -> bool {
    wal.space.segments_end() < wanted_end(wal)
}

/// Segments are to be ready up to here: some beyond the current one, and whatever is claimed.
fn wanted_end(wal: &Wal) -> u64 {
    let segment = wal.route.epoch.segment_bytes;
    let ahead = wal.space.granted() / segment + 1 + AHEAD;
    let waiting = if wal.space.has_waiters() { 1 + wal.route.ring.capacity() / segment } else { 0 };
    (ahead + waiting) * segment
}
