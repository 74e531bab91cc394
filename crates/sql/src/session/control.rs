//! What the control file says: `pg_control_checkpoint` and its kin. What this server has no counterpart of is null.

use storage::recovery::Control;
use storage::wal::Wal;

use crate::error::Result;
use crate::func::Function;
use crate::types::{Datum, Oid, TimestampTz};

use super::EPOCH_OFFSET_USECS;
use super::backend::Backend;
use super::xacts::record;

/// Calls a function that gives a record; none where it is not one.
pub(super) fn call(b: &mut Backend, func: &Function, _: &[Datum]) -> Result<Option<Datum>> {
    let wal = b.txn.manager().wal().clone();
    let row = match func.name {
        "pg_control_checkpoint" => checkpoint(&wal)?,
        "pg_control_system" => system(&wal)?,
        "pg_control_init" => init(&wal),
        // There are no backups to recover from: nothing is to be reached.
        "pg_control_recovery" => {
            let (none, timeline) = (Datum::Int8(0), Datum::Int4(0));
            vec![none.clone(), timeline, none.clone(), none, Datum::Bool(false)]
        }
        _ => return Ok(None),
    };
    Ok(Some(record(func, row)))
}

fn time(micros: i64) -> Datum {
    Datum::TimestampTz(TimestampTz(micros - EPOCH_OFFSET_USECS))
}

fn checkpoint(wal: &Wal) -> Result<Vec<Datum>> {
    let (control, _) = wal.control()?;
    let Control { shape, redo, checkpoint, checkpoint_micros, counters, .. } = control;
    let segment = redo.0 / shape.segment_bytes;
    let file = storage::wal::segment::file_name(shape.timeline, segment);
    let xid = counters.next_xid.0;
    let timeline = Datum::Int4(shape.timeline as i32);
    Ok(vec![
        Datum::Int8(checkpoint.0 as i64),
        Datum::Int8(redo.0 as i64),
        Datum::text(file),
        timeline.clone(),
        timeline,
        // Pages go with the first record since they became dirty, whatever checkpoint that was after.
        Datum::Null,
        Datum::text(format!("{}:{}", xid >> 32, xid as u32)),
        Datum::Oid(Oid(counters.next_oid)),
        Datum::Oid(Oid(counters.next_multixact as u32)),
        Datum::Oid(Oid(counters.next_member as u32)),
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        Datum::Null,
        time(checkpoint_micros),
    ])
}

fn system(wal: &Wal) -> Result<Vec<Datum>> {
    let (control, modified) = wal.control()?;
    Ok(vec![
        Datum::Int4(storage::recovery::control::FORMAT_VERSION as i32),
        Datum::Null,
        Datum::Int8(control.shape.system_id as i64),
        modified.map_or(Datum::Null, time),
    ])
}

fn init(wal: &Wal) -> Vec<Datum> {
    vec![
        Datum::Int4(8),
        Datum::Int4(8192),
        // A relation's fork is one file.
        Datum::Null,
        Datum::Int4(4096),
        Datum::Int4(wal.epoch().segment_bytes as i32),
        Datum::Int4(64),
        Datum::Int4(32),
        Datum::Null,
        Datum::Null,
        Datum::Bool(true),
        Datum::Int4(1),
    ]
}
