//! Functions about transactions: ids, fates, snapshots, commit times, multixacts.
//!
//! Whoever is told that a transaction has committed must be able to rely on it after a crash, so these
//! observe what they tell, as readers of rows do.

use base::Xid;
use storage::lock::RowLock;
use storage::txlog::{MEMBER_BYTES, MultiXactId, Outcome};
use storage::txn::SnapshotXids;

use std::sync::Arc;

use crate::catalog::rights::READ_ALL_STATS;
use crate::error::{Result, bail, sql_error};
use crate::func::Function;
use crate::types::{Datum, Oid, Record, TimestampTz, TypeId, parse_snapshot};

use super::EPOCH_OFFSET_USECS;
use super::backend::Backend;

/// PostgreSQL's ids below are no transactions; the first two stand for "committed long ago".
const FIRST_NORMAL: u64 = 3;

/// Calls one of these functions; none where it is not one.
pub(super) fn call(b: &mut Backend, func: &Function, args: &[Datum]) -> Result<Option<Datum>> {
    Ok(Some(match func.name {
        "txid_current_if_assigned" | "pg_current_xact_id_if_assigned" => match b.txn.top_xid() {
            Some(xid) => Datum::Int8(xid.0 as i64),
            None => Datum::Null,
        },
        "pg_current_snapshot" | "txid_current_snapshot" => {
            Datum::text(current_snapshot(b)?.to_string())
        }
        "pg_export_snapshot" => {
            if b.txn.level().is_some() {
                bail!(ACTIVE_SQL_TRANSACTION, "cannot export a snapshot from a subtransaction");
            }
            Datum::text(b.txn.export_snapshot(b.snapshot))
        }
        "pg_snapshot_xmin" | "txid_snapshot_xmin" => {
            Datum::Int8(parse_snapshot(args[0].as_text())?.xmin.0 as i64)
        }
        "pg_snapshot_xmax" | "txid_snapshot_xmax" => {
            Datum::Int8(parse_snapshot(args[0].as_text())?.xmax.0 as i64)
        }
        "pg_visible_in_snapshot" | "txid_visible_in_snapshot" => {
            is_visible(Xid(args[0].as_int8() as u64), &parse_snapshot(args[1].as_text())?).into()
        }
        "pg_xact_status" | "txid_status" => status(b, Xid(args[0].as_int8() as u64))?,
        "age" => match args {
            [Datum::Oid(xid)] => Datum::Int4(age(b.txn.manager().next_xid().0, xid.0, 3)),
            _ => return Ok(None),
        },
        "mxid_age" => {
            let next = b.txn.manager().txlog().multis().next();
            Datum::Int4(age(next.0, args[0].as_oid().0, 1))
        }
        "pg_xact_commit_timestamp" => match commit_time(b, args[0].as_oid())? {
            Some(time) => Datum::TimestampTz(time),
            None => Datum::Null,
        },
        "pg_xact_commit_timestamp_origin" => {
            let time = commit_time(b, args[0].as_oid())?;
            let origin = if time.is_some() { Datum::Oid(Oid(0)) } else { Datum::Null };
            record(func, vec![time.map_or(Datum::Null, Datum::TimestampTz), origin])
        }
        "pg_last_committed_xact" => last_committed(b, func)?,
        "pg_get_multixact_stats" => multixact_stats(b, func)?,
        _ => return Ok(None),
    }))
}

/// Calls one of these that return sets.
pub(super) fn call_set(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Vec<Vec<Datum>>> {
    let id = args[0].as_oid().0;
    if name != "pg_get_multixact_members" {
        bail!(FEATURE_NOT_SUPPORTED, "function {name} is not supported yet");
    }
    if id == 0 {
        bail!(INVALID_PARAMETER_VALUE, "invalid MultiXactId: {id}");
    }
    let multis = b.txn.manager().txlog().multis();
    let next = multis.next().0;
    let Some(full) = widened(id, next) else {
        bail!(INTERNAL_ERROR, "MultiXactId {id} has not been created yet -- apparent wraparound");
    };
    let members = multis.members(MultiXactId(full))?;
    let row = |member: &storage::txlog::Member| {
        let mode = match member.strength {
            RowLock::KeyShare => "keysh",
            RowLock::Share => "sh",
            RowLock::NoKeyUpdate => "fornokeyupd",
            RowLock::Update => "forupd",
        };
        vec![Datum::Oid(Oid(member.xid.0 as u32)), Datum::text(mode)]
    };
    Ok(members.iter().map(row).collect())
}

/// The ids of a snapshot's running transactions, for `pg_snapshot_xip`.
pub(super) fn running(args: &[Datum]) -> Result<Vec<Datum>> {
    let snapshot = parse_snapshot(args[0].as_text())?;
    Ok(snapshot.running.iter().map(|xid| Datum::Int8(xid.0 as i64)).collect())
}

/// The full id of which these are the lower bits: the last one below `next`. None where that is none.
fn widened(low: u32, next: u64) -> Option<u64> {
    let last = next.checked_sub(1)?;
    let full = last & !u64::from(u32::MAX) | u64::from(low);
    if full <= last { Some(full) } else { full.checked_sub(1 << 32) }
}

/// How long ago an id was handed out, as PostgreSQL counts it: in ids, of which only 32 bits are known.
fn age(next: u64, id: u32, first_normal: u32) -> i32 {
    if id < first_normal { i32::MAX } else { (next as u32).wrapping_sub(id) as i32 }
}

pub(super) fn record(func: &Function, values: Vec<Datum>) -> Datum {
    let types = func.columns.iter().map(|(_, id)| *id);
    let fields = types.zip(values).collect();
    Datum::Record(Arc::new(Record::new(TypeId::RECORD, fields)))
}

fn current_snapshot(b: &Backend) -> Result<SnapshotXids> {
    // The statement's: what it does not see has not ended for it.
    let snapshot = b.snapshot;
    // What it says to have ended may be known to nobody after a crash.
    b.txn.observe(base::Lsn(snapshot.csn.0));
    Ok(b.txn.snapshot_xids(&snapshot)?)
}

fn is_visible(xid: Xid, snapshot: &SnapshotXids) -> bool {
    xid < snapshot.xmin || xid < snapshot.xmax && snapshot.running.binary_search(&xid).is_err()
}

/// `in progress`, `committed`, `aborted`.
fn status(b: &Backend, xid: Xid) -> Result<Datum> {
    if xid.0 == 0 {
        return Ok(Datum::Null);
    }
    if xid.0 < FIRST_NORMAL {
        return Ok(Datum::text("committed"));
    }
    if xid >= b.txn.manager().next_xid() {
        bail!(INVALID_PARAMETER_VALUE, "transaction ID {} is in the future", xid.0);
    }
    Ok(Datum::text(match b.txn.manager().txlog().outcome(xid)? {
        Outcome::Running => "in progress",
        Outcome::Aborted => "aborted",
        Outcome::Committed(csn) => {
            b.txn.observe_commit(xid, csn)?;
            "committed"
        }
    }))
}

/// When a transaction committed; none if that was not kept.
fn commit_time(b: &Backend, xid: Oid) -> Result<Option<TimestampTz>> {
    if xid.0 == 0 {
        bail!(
            INVALID_PARAMETER_VALUE,
            "cannot retrieve commit timestamp for transaction {}",
            xid.0
        );
    }
    if u64::from(xid.0) < FIRST_NORMAL {
        return Ok(None);
    }
    let log = b.txn.manager().txlog();
    need_times(b)?;
    let Some(full) = widened(xid.0, b.txn.manager().next_xid().0) else { return Ok(None) };
    let full = Xid(full);
    match b.txn.manager().txlog().outcome(full)? {
        Outcome::Committed(csn) => {
            b.txn.observe_commit(full, csn)?;
            Ok(log.times().get(full)?.map(since_2000))
        }
        Outcome::Running | Outcome::Aborted => Ok(None),
    }
}

fn last_committed(b: &Backend, func: &Function) -> Result<Datum> {
    need_times(b)?;
    let last = b.txn.manager().txlog().times().last()?;
    let Some((xid, micros)) = last else { return Ok(record(func, vec![Datum::Null; 3])) };
    if let Outcome::Committed(csn) = b.txn.manager().txlog().outcome(xid)? {
        b.txn.observe_commit(xid, csn)?;
    }
    let time = Datum::TimestampTz(since_2000(micros));
    Ok(record(func, vec![Datum::Oid(Oid(xid.0 as u32)), time, Datum::Oid(Oid(0))]))
}

/// Numbers of multixacts and of their members, the members' bytes, and the oldest multixact; to members of
/// `pg_read_all_stats`.
fn multixact_stats(b: &Backend, func: &Function) -> Result<Datum> {
    if !b.catalog.rights(&b.txn)?.has_rights_of(READ_ALL_STATS) {
        return Ok(record(func, vec![Datum::Null; 4]));
    }
    let stats = b.txn.manager().txlog().multis().stats();
    let counts = [stats.live, stats.members, stats.members * MEMBER_BYTES];
    let mut values = counts.map(|count| Datum::Int8(count as i64)).to_vec();
    values.push(Datum::Oid(Oid(stats.oldest.0 as u32)));
    Ok(record(func, values))
}

fn since_2000(unix_micros: i64) -> TimestampTz {
    TimestampTz(unix_micros - EPOCH_OFFSET_USECS)
}

fn need_times(b: &Backend) -> Result<()> {
    if b.txn.manager().txlog().times().is_tracking() {
        return Ok(());
    }
    Err(sql_error!(OBJECT_NOT_IN_PREREQUISITE_STATE, "could not get commit timestamp data")
        .with_hint("Make sure the configuration parameter \"track_commit_timestamp\" is set."))
}
