//! Figures that can be reset: what they were when they were.
//!
//! Nothing that counts is ever set back: a reset notes what had been counted until then, and what is shown is the
//! difference.

use base::latch::Latch;
use base::rank::Rank;
use storage::buffer::{IoCounts, IoKey};
use storage::recovery::Prefetched;

use crate::error::{Result, sql_error};
use crate::types::{Datum, TimestampTz};

use super::backend::Backend;
use super::buffers::Background;
use super::names;

/// What has been counted before figures were last reset, and when that was; nothing if they never were.
pub struct Resets {
    pub(super) bgwriter: Latch<Since<Background>>,
    pub(super) io: Latch<Since<Io>>,
    prefetch: Latch<Since<Prefetched>>,
}

/// A base, and the time from when figures count.
pub(super) type Since<T> = Option<(T, TimestampTz)>;

/// All of `pg_stat_io`: the counts, and pages found in memory but by rings.
#[derive(Clone, Default)]
pub(super) struct Io {
    pub counts: Vec<(IoKey, IoCounts)>,
    pub hits: u64,
    /// Those of temporary relations, which are not among the others.
    pub local_hits: u64,
}

impl Default for Resets {
    fn default() -> Resets {
        Resets {
            bgwriter: Latch::new(Rank::Leaf, None),
            io: Latch::new(Rank::Leaf, None),
            prefetch: Latch::new(Rank::Leaf, None),
        }
    }
}

/// `pg_stat_reset_shared`, for PostgreSQL 15's targets and 16's `io`.
pub(super) fn reset(b: &mut Backend, target: &str) -> Result<Datum> {
    names::must_be_allowed(b, "pg_stat_reset_shared")?;
    let cluster = b.instance.cluster()?;
    let now = super::stamp();
    match target {
        "bgwriter" => {
            let counted = Background::of(b);
            *cluster.resets.bgwriter.lock() = Some((counted, now));
        }
        "io" => {
            let counted = super::buffers::counted(b);
            *cluster.resets.io.lock() = Some((counted, now));
        }
        "recovery_prefetch" => *cluster.resets.prefetch.lock() = Some((prefetched(b), now)),
        "wal" => b.txn.manager().wal().reset_stats(),
        // Nothing is archived.
        "archiver" => {}
        _ => {
            let error =
                sql_error!(INVALID_PARAMETER_VALUE, "unrecognized reset target: \"{target}\"");
            // 16's "io" is not among those that 15 names.
            let hint =
                "Target must be \"archiver\", \"bgwriter\", \"recovery_prefetch\", or \"wal\".";
            return Err(error.with_hint(hint));
        }
    }
    Ok(Datum::VOID)
}

/// What the last recovery read ahead; nothing if there was none.
fn prefetched(b: &Backend) -> Prefetched {
    b.instance.store.engine.recovery().map_or(Prefetched::default(), |report| report.prefetched)
}

/// The row of `pg_stat_recovery_prefetch`. Recovery is over before anybody can look: it is nowhere ahead.
pub(super) fn recovery_prefetch(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    let cluster = b.instance.cluster()?;
    let (base, since) =
        (*cluster.resets.prefetch.lock()).unwrap_or((Prefetched::default(), cluster.started));
    let now = prefetched(b);
    let count = |now: u64, base: u64| Datum::Int8((now - base) as i64);
    Ok(vec![vec![
        since.into(),
        count(now.read, base.read),
        count(now.hit, base.hit),
        count(now.skip_init, base.skip_init),
        count(now.skip_new, base.skip_new),
        count(now.skip_image, base.skip_image),
        // A page named again is in memory or on its way: that is a hit.
        Datum::Int8(0),
        Datum::Int4(0),
        Datum::Int4(0),
        Datum::Int4(0),
    ]])
}
