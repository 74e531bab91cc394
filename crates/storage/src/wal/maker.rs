//! The segment maker: the one context that makes segments, ahead of need.

use super::Wal;
use crate::error::{Error, fatal};
use base::clock;
use base::park;
use std::time::Duration;

/// Segments kept ready beyond the one that is being filled.
const AHEAD: u64 = 2;

/// How long after a failure for want of room it tries again.
const RETRY: Duration = Duration::from_millis(500);

/// Body of the maker's context.
pub(super) fn run(wal: &Wal) {
    let _ = wal.maker.set(park::current());
    while !wal.durable.stopping() {
        match make_next(wal) {
            Ok(true) => {}
            Ok(false) => {
                wal.store.unmap_finished();
                // An unpark that came since the last look makes this return at once.
                park::park();
            }
            Err(Error::DiskFull { .. }) => {
                wal.space.set_disk_full();
                park::park_until(Some(clock::now().after(RETRY)));
            }
            Err(e) => fatal(&format!("no log segment can be made: {e}")),
        }
    }
}

/// Makes a segment if one is missing; tells whether it did.
pub(super) fn make_next(wal: &Wal) -> Result<bool, Error> {
    let end = wal.space.segments_end();
    if end >= wanted_end(wal) {
        return Ok(false);
    }
    let _window = base::sim::window("segment-created");
    wal.store.make(end / wal.epoch.segment_bytes)?;
    wal.space.segments_ready_below(end + wal.epoch.segment_bytes);
    Ok(true)
}

/// Whether the maker has something to do.
pub(super) fn is_needed(wal: &Wal) -> bool {
    wal.space.segments_end() < wanted_end(wal)
}

/// Segments are to be ready up to here: some beyond the current one, and whatever is claimed.
fn wanted_end(wal: &Wal) -> u64 {
    let segment = wal.epoch.segment_bytes;
    let ahead = wal.space.granted() / segment + 1 + AHEAD;
    let waiting = if wal.space.has_waiters() { 1 + wal.ring.capacity() / segment } else { 0 };
    (ahead + waiting) * segment
}
