//! The functions of the extension `pg_walinspect`: the log's records to SQL, by the reader and in the words that
//! `thalweg waldump` has.

use base::{Lsn, Xid};
use storage::recovery::{describe, describe_block};
use storage::wal::{Reader, RecordView, Room, Summary, Total, percent};

use crate::error::{Result, SqlError, sql_error};
use crate::func::Function;
use crate::types::{Datum, Oid};

use super::backend::Backend;
use super::names;
use super::xacts::record;

/// Rows that are made as they are asked for.
pub(super) type Lines = Box<dyn Iterator<Item = Result<Vec<Datum>>> + Send>;

/// Calls a function that gives one record; none where it is not one.
pub(super) fn call(b: &mut Backend, func: &Function, args: &[Datum]) -> Result<Option<Datum>> {
    if func.name != "pg_get_wal_record_info" {
        return Ok(None);
    }
    names::must_be_allowed(b, func.name)?;
    let from = position(&args[0]);
    refuse_future(b, from, from >= end_of_log(b), "input")?;
    let mut reader = open(b, from)?;
    let Some(found) = reader.read()? else { return Err(unreadable(from)) };
    Ok(Some(record(func, row(&found))))
}

/// Rows of a function that gives several, one by one; none where it is not one.
pub(super) fn call_set(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Lines>> {
    if name == "pg_get_wal_resource_managers" {
        let rows = Room::all().enumerate().map(|(i, room)| {
            Ok(vec![Datum::Int4(i as i32), Datum::text(room.name()), Datum::Bool(true)])
        });
        return Ok(Some(Box::new(rows)));
    }
    let of_records = match name {
        "pg_get_wal_records_info" | "pg_get_wal_records_info_till_end_of_wal" => true,
        "pg_get_wal_stats" | "pg_get_wal_stats_till_end_of_wal" => false,
        _ => return Ok(None),
    };
    names::must_be_allowed(b, name)?;
    let start = position(&args[0]);
    let last = end_of_log(b);
    refuse_future(b, start, start >= last, "start")?;
    let end = if name.ends_with("_till_end_of_wal") {
        last
    } else {
        let end = position(&args[1]);
        refuse_future(b, end, end > last, "end")?;
        if start >= end {
            let text = "WAL start LSN must be less than end LSN";
            return Err(sql_error!(INVALID_PARAMETER_VALUE, "{text}"));
        }
        end
    };
    let mut stretch = Stretch { reader: open(b, start)?, end };
    if of_records {
        return Ok(Some(Box::new(std::iter::from_fn(move || stretch.next(row).transpose()))));
    }
    let by_kind = args.last().is_some_and(Datum::as_bool);
    let mut summary = Summary::default();
    while stretch.next(|found| summary.count(found))?.is_some() {
        base::interrupt::check().map_err(crate::error::interrupted)?;
    }
    let all = summary.all();
    let totals: Vec<_> =
        if by_kind { summary.by_kind().collect() } else { summary.by_room().collect() };
    Ok(Some(Box::new(totals.into_iter().map(move |(name, total)| Ok(shares(name, &total, &all))))))
}

/// Records up to a position.
struct Stretch {
    reader: Reader,
    end: Lsn,
}

impl Stretch {
    /// What `of` makes of the next record that ends before the end.
    fn next<T>(&mut self, of: impl FnOnce(&RecordView<'_>) -> T) -> Result<Option<T>> {
        if self.reader.at() >= self.end {
            return Ok(None);
        }
        let found = self.reader.read()?.filter(|found| found.at.end <= self.end);
        Ok(found.map(|found| of(&found)))
    }
}

/// Where what has been written ends.
fn end_of_log(b: &Backend) -> Lsn {
    b.txn.manager().wal().written()
}

fn refuse_future(b: &Backend, at: Lsn, is_future: bool, which: &str) -> Result<()> {
    if !is_future && at != Lsn::ZERO {
        return Ok(());
    }
    if !is_future {
        return Err(unreadable(at));
    }
    let last = end_of_log(b);
    Err(sql_error!(INVALID_PARAMETER_VALUE, "cannot accept future {which} LSN")
        .with_detail(format!("Last known WAL LSN on the database system is at {last}.")))
}

fn unreadable(at: Lsn) -> SqlError {
    sql_error!(INTERNAL_ERROR, "could not read WAL at LSN {at}")
}

/// A reader at the first record from a position on. What is there no more can't be read.
fn open(b: &Backend, from: Lsn) -> Result<Reader> {
    match b.txn.manager().wal().reader(from) {
        Ok(Some(reader)) => Ok(reader),
        Ok(None) | Err(storage::Error::Damaged { .. }) => Err(unreadable(from)),
        Err(error) => Err(error.into()),
    }
}

/// What is told of a record.
fn row(found: &RecordView<'_>) -> Vec<Datum> {
    let (all, without_images) = found.lengths();
    let lsn = |at: Lsn| Datum::Int8(at.0 as i64);
    let bytes = |n: usize| Datum::Int4(n as i32);
    let pages: Vec<_> =
        found.blocks().enumerate().map(|(i, block)| describe_block(i, &block)).collect();
    vec![
        lsn(found.at.start),
        lsn(found.at.end),
        // Records do not point back.
        Datum::Null,
        xid(found.xid),
        Datum::text(found.kind.room().map_or("unknown", Room::name)),
        Datum::text(found.kind.operation()),
        bytes(all),
        bytes(found.data.len()),
        bytes(all - without_images),
        Datum::text(describe(found)),
        if pages.is_empty() { Datum::Null } else { Datum::text(pages.join("; ")) },
    ]
}

/// As PostgreSQL shows ids: the lower half.
fn xid(of: Xid) -> Datum {
    Datum::Oid(Oid(of.0 as u32))
}

/// What is told of some records, with their shares of all.
fn shares(name: String, total: &Total, all: &Total) -> Vec<Datum> {
    let mut row = vec![Datum::text(name)];
    for (part, of) in [
        (total.records, all.records),
        (total.record_bytes, all.record_bytes),
        (total.image_bytes, all.image_bytes),
        (total.bytes(), all.bytes()),
    ] {
        row.extend([Datum::Int8(part as i64), Datum::Float8(percent(part, of))]);
    }
    row
}

fn position(arg: &Datum) -> Lsn {
    Lsn(arg.as_int8() as u64)
}
