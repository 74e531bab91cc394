//! What one session can see of the others: `pg_locks`, `pg_stat_activity`.

use base::clock;
use storage::lock::{LockTag, LockView};

use crate::error::Result;
use crate::types::{Datum, Oid, TimestampTz};

use super::backend::Backend;

/// The rows of `pg_locks`.
pub(super) fn locks(b: &Backend) -> Vec<Vec<Datum>> {
    let all = b.txn.manager().locks().view();
    all.iter().map(lock).collect()
}

fn lock(lock: &LockView) -> Vec<Datum> {
    let oid = |oid: u32| Datum::Oid(Oid(oid));
    let null = || Datum::Null;
    let (mut database, mut relation, mut xid) = (null(), null(), null());
    let (mut page, mut tuple) = (null(), null());
    let (mut class, mut object, mut sub) = (null(), null(), null());
    match lock.tag {
        LockTag::Relation { db, rel } => (database, relation) = (oid(db), oid(rel)),
        LockTag::Tuple { db, rel, tid } => {
            (database, relation) = (oid(db), oid(rel));
            page = Datum::Int4(tid.block.0 as i32);
            tuple = Datum::Int2(tid.offset as i16);
        }
        // As PostgreSQL shows ids: the lower half.
        LockTag::Transaction(of) => xid = oid(of.0 as u32),
        LockTag::Object { db, class: of, object: id, sub: column } => {
            database = oid(db);
            (class, object, sub) = (oid(of), oid(id), Datum::Int2(column as i16));
        }
        LockTag::Advisory { db, high, low, pair } => {
            database = oid(db);
            (class, object, sub) = (oid(high), oid(low), Datum::Int2(if pair { 2 } else { 1 }));
        }
    }
    let waits_since = lock.waits_since.map(|since| {
        let waited = clock::now().since(since).as_micros() as i64;
        Datum::TimestampTz(TimestampTz(super::stamp().0 - waited))
    });
    vec![
        Datum::text(lock.tag.kind()),
        database,
        relation,
        page,
        tuple,
        null(),
        xid,
        class,
        object,
        sub,
        Datum::text(format!("{}/0", lock.session.0)),
        Datum::Int4(lock.pid),
        Datum::text(lock.mode.name()),
        Datum::Bool(lock.granted),
        Datum::Bool(lock.fast_path),
        waits_since.unwrap_or(Datum::Null),
    ]
}

/// Columns of `pg_stat_get_activity`.
const ACTIVITY_COLUMNS: usize = 30;

/// The rows of `pg_stat_activity`, of one session if a process number is given. What another session is
/// doing is not known here: those columns are null.
pub(super) fn sessions(b: &Backend, pid: &Datum) -> Result<Vec<Vec<Datum>>> {
    let wanted = if pid.is_null() { None } else { Some(pid.as_int4()) };
    let mut rows = Vec::new();
    for (pid, connected) in b.instance.cluster()?.sessions() {
        if wanted.is_some_and(|wanted| wanted != pid) {
            continue;
        }
        let mut row = vec![Datum::Null; ACTIVITY_COLUMNS];
        row[0] = Datum::Oid(connected.database);
        row[1] = Datum::Int4(pid);
        row[2] = Datum::Oid(connected.role);
        row[10] = Datum::TimestampTz(connected.since);
        row[17] = Datum::text("client backend");
        // ssl, gss_auth, gss_enc
        for column in [18, 25, 27] {
            row[column] = Datum::Bool(false);
        }
        if pid == b.pid {
            row[3] = Datum::text(b.values.text("application_name"));
            row[4] = Datum::text("active");
            row[5] = Datum::text(&*b.query_text);
            row[8] = Datum::TimestampTz(b.transaction_start);
            row[9] = Datum::TimestampTz(b.statement_start);
            row[11] = Datum::TimestampTz(b.statement_start);
        }
        rows.push(row);
    }
    Ok(rows)
}
