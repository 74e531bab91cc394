//! Functions about the log: where it is, what it has done, the files it lies in.

use base::Lsn;
use storage::wal::{LogFile, Wal};

use crate::error::{Result, SqlError, sql_error};
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
            names::must_be_allowed(b, name)?;
            lsn(wal.switch()?)
        }
        "pg_walfile_name" => Datum::text(wal.place_of(position(&args[0])).0),
        "pg_stat_reset_shared" => super::resets::reset(b, args[0].as_text())?,
        // Figures are always those of the moment: nothing is kept.
        "pg_stat_clear_snapshot" => Datum::VOID,
        "pg_reload_conf" => {
            names::must_be_allowed(b, name)?;
            let asked = b.instance.cluster()?.reload();
            if !asked {
                b.notice("WARNING", sql_error!(WARNING, "failed to send signal to postmaster"));
            }
            asked.into()
        }
        // Nothing is received or replayed here.
        "pg_last_wal_receive_lsn" | "pg_last_wal_replay_lsn" | "pg_last_xact_replay_timestamp" => {
            Datum::Null
        }
        "pg_is_wal_replay_paused" | "pg_get_wal_replay_pause_state" => {
            return Err(not_in_recovery("Recovery control functions"));
        }
        "pg_wal_replay_pause" | "pg_wal_replay_resume" | "pg_promote" => {
            names::must_be_allowed(b, name)?;
            return Err(not_in_recovery("Recovery control functions"));
        }
        "pg_create_restore_point" => {
            names::must_be_allowed(b, name)?;
            return Err(SqlError::unsupported("restore points are not supported")
                .with_detail("The log is for recovery after a crash, which goes to its end."));
        }
        "pg_backup_start" => {
            names::must_be_allowed(b, name)?;
            return Err(SqlError::unsupported("backups of a running server are not supported yet"));
        }
        _ => return Ok(None),
    }))
}

fn not_in_recovery(what: &str) -> SqlError {
    sql_error!(OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is not in progress")
        .with_hint(format!("{what} can only be executed during recovery."))
}

/// The files of `pg_ls_waldir`: name, bytes, and when they were written last, which is not known of all disks.
pub(super) fn files(b: &mut Backend) -> Result<Vec<Vec<Datum>>> {
    names::must_be_allowed(b, "pg_ls_waldir")?;
    let files = b.txn.manager().wal().files()?;
    let row = |file: LogFile| {
        let written = file.modified_micros.map(|at| TimestampTz(at - EPOCH_OFFSET_USECS));
        let written = written.map_or(Datum::Null, Datum::TimestampTz);
        vec![Datum::text(file.name), Datum::Int8(file.bytes as i64), written]
    };
    Ok(files.into_iter().map(row).collect())
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
        "pg_stat_get_archiver" => {
            let reset = wal.stats_shown().1;
            let reset = Datum::TimestampTz(TimestampTz(reset - EPOCH_OFFSET_USECS));
            let none = (Datum::Int8(0), Datum::Null, Datum::Null);
            let (done, failed) = (none.clone(), none);
            Some(record(func, vec![done.0, done.1, done.2, failed.0, failed.1, failed.2, reset]))
        }
        "pg_backup_stop" => {
            names::must_be_allowed(b, func.name)?;
            return Err(sql_error!(OBJECT_NOT_IN_PREREQUISITE_STATE, "backup is not in progress")
                .with_hint("Did you call pg_backup_start()?"));
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
