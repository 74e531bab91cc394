//! Functions about the log: where it is, what it has done, the files it lies in.

use base::Lsn;
use storage::wal::Wal;

use crate::error::{Result, sql_error};
use crate::func::Function;
use crate::types::{Datum, Numeric, TimestampTz};

use super::EPOCH_OFFSET_USECS;
use super::backend::Backend;
use super::names;
use super::xacts::record;

/// Calls a function that gives one value; none where it is not one.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let wal = b.txn.manager().wal().clone();
    Ok(Some(match name {
        "pg_current_wal_insert_lsn" => lsn(wal.position()),
        "pg_current_wal_lsn" => lsn(wal.written()),
        "pg_current_wal_flush_lsn" => lsn(wal.durable()),
        "pg_switch_wal" => {
            names::must_be_superuser(b, name)?;
            lsn(wal.switch()?)
        }
        "pg_walfile_name" => Datum::text(wal.place_of(position(&args[0])).0),
        "pg_stat_reset_shared" => super::resets::reset(b, args[0].as_text())?,
        "pg_reload_conf" => {
            names::must_be_superuser(b, name)?;
            let asked = b.instance.cluster()?.reload();
            if !asked {
                b.notice("WARNING", sql_error!(WARNING, "failed to send signal to postmaster"));
            }
            asked.into()
        }
        _ => return Ok(None),
    }))
}

/// Calls a function that gives a record; none where it is not one.
pub(super) fn call_record(
    b: &mut Backend,
    func: &Function,
    args: &[Datum],
) -> Result<Option<Datum>> {
    let wal = b.txn.manager().wal();
    Ok(match func.name {
        "pg_stat_get_wal" => Some(record(func, figures(wal))),
        "pg_walfile_name_offset" => {
            let (file, offset) = wal.place_of(position(&args[0]));
            Some(record(func, vec![Datum::text(file), Datum::Int4(offset as i32)]))
        }
        _ => None,
    })
}

/// The row of `pg_stat_wal`.
fn figures(wal: &Wal) -> Vec<Datum> {
    let (stats, since) = wal.stats_shown();
    let count = |n: u64| Datum::Int8(n as i64);
    let millis = |nanos: u64| Datum::Float8(nanos as f64 / 1e6);
    vec![
        count(stats.records),
        count(stats.images),
        Datum::Numeric(Numeric::from(stats.bytes)),
        count(stats.pressed),
        count(stats.writes),
        count(stats.syncs),
        millis(stats.write_nanos),
        millis(stats.sync_nanos),
        Datum::TimestampTz(TimestampTz(since - EPOCH_OFFSET_USECS)),
    ]
}

fn lsn(at: Lsn) -> Datum {
    Datum::Int8(at.0 as i64)
}

fn position(arg: &Datum) -> Lsn {
    Lsn(arg.as_int8() as u64)
}
