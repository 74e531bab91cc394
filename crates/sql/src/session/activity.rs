//! What one session can see of the others: `pg_locks`, `pg_stat_activity`, who blocks whom; and what the
//! status logs' caches have done.

use std::collections::BTreeMap;

use base::wait_event::Event;
use base::{Xid, clock};
use storage::lock::{LockTag, LockView, SessionId};
use storage::txlog::{ALL_LOGS, SlruStats};

use crate::catalog::rights::READ_ALL_STATS;
use crate::error::Result;
use crate::types::{Array, Datum, Oid, TimestampTz, TypeId};

use super::backend::Backend;
use super::board::{Doing, Seen};

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

/// The rows of `pg_stat_activity`, of one session if a process number is given.
pub(super) fn sessions(b: &Backend, pid: &Datum) -> Result<Vec<Vec<Datum>>> {
    let wanted = if pid.is_null() { None } else { Some(pid.as_int4()) };
    let locks = b.txn.manager().locks();
    let slots = locks.sessions().live().map(|(session, slot)| (slot.pid(), session));
    let slots: BTreeMap<i32, SessionId> = slots.collect();
    let rights = b.catalog.rights(&b.txn)?;
    let mut rows = Vec::new();
    for (pid, connected) in b.instance.cluster()?.sessions() {
        if wanted.is_some_and(|wanted| wanted != pid) {
            continue;
        }
        let mut row = vec![Datum::Null; ACTIVITY_COLUMNS];
        let is_seen = rights.has_rights_of(connected.role) || rights.has_rights_of(READ_ALL_STATS);
        row[0] = Datum::Oid(connected.database);
        row[1] = Datum::Int4(pid);
        row[2] = Datum::Oid(connected.role);
        if !is_seen {
            row[5] = Datum::text("<insufficient privilege>");
            rows.push(row);
            continue;
        }
        let seen = connected.board.read();
        row[3] = Datum::text(&*seen.application);
        show(b, &seen, slots.get(&pid).copied(), &mut row);
        row[10] = Datum::TimestampTz(connected.since);
        row[17] = Datum::text("client backend");
        // ssl, gss_auth, gss_enc
        for column in [18, 25, 27] {
            row[column] = Datum::Bool(false);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// What a session's board and slot tell of it.
fn show(b: &Backend, seen: &Seen, session: Option<SessionId>, row: &mut [Datum]) {
    let locks = b.txn.manager().locks();
    let is_idle = !matches!(seen.doing, Doing::Starting | Doing::Active);
    // To its client a statement runs until its reply has come.
    let syncs = is_idle && seen.told > b.txn.manager().wal().durable();
    let doing = if syncs { Doing::Active } else { seen.doing };
    let time = |micros| match micros {
        0 => Datum::Null,
        micros => Datum::TimestampTz(TimestampTz(micros)),
    };
    row[4] = doing.name().map_or(Datum::Null, Datum::text);
    row[5] = Datum::text(&*seen.query);
    row[8] = time(seen.xact_start);
    row[9] = time(seen.query_start);
    row[11] = time(seen.state_change);
    let event = match () {
        () if syncs => Some(Event::WalSync),
        () if is_idle => Some(Event::ClientRead),
        () => seen.wait,
    };
    let mut wait = event.map(|event| (event.class(), event.name()));
    if let Some(session) = session {
        if !is_idle && let Some(tag) = locks.waits_for(session) {
            wait = Some(("Lock", tag.kind()));
        }
        // As PostgreSQL shows ids: the lower half.
        let id = |xid: Option<Xid>| xid.map_or(Datum::Null, |xid| Datum::Oid(Oid(xid.0 as u32)));
        let slot = locks.sessions().slot(session);
        row[15] = id(slot.running());
        row[16] = id(slot.snapshot_bound());
    }
    if let Some((class, name)) = wait {
        (row[6], row[7]) = (Datum::text(class), Datum::text(name));
    }
}

/// Functions about who waits for whom, and the counters' resets.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    Ok(Some(match name {
        "pg_blocking_pids" => {
            let pids = blockers(b, args[0].as_int4())?.into_iter().map(Datum::Int4).collect();
            Array::from_elements(TypeId::INT4, pids).into()
        }
        // A safe snapshot is waited for by deferrable serializable transactions only: by nobody yet.
        "pg_safe_snapshot_blocking_pids" => Array::from_elements(TypeId::INT4, Vec::new()).into(),
        "pg_isolation_test_session_is_blocked" => {
            let others = &args[1].as_array().elements;
            let blockers = blockers(b, args[0].as_int4())?;
            others.iter().any(|pid| blockers.contains(&pid.as_int4())).into()
        }
        "pg_stat_reset_slru" => {
            super::names::must_be_allowed(b, name)?;
            let log = match &args[0] {
                Datum::Null => None,
                // PostgreSQL counts what it does not know under "other", where nothing is here.
                log => match ALL_LOGS.iter().find(|kind| kind.name() == &**log.as_text()) {
                    Some(kind) => Some(*kind),
                    None => return Ok(Some(Datum::VOID)),
                },
            };
            b.txn.manager().txlog().reset_stats(log);
            Datum::VOID
        }
        _ => return Ok(None),
    }))
}

/// The process numbers of the sessions that `pid` waits for.
fn blockers(b: &Backend, pid: i32) -> Result<Vec<i32>> {
    let locks = b.txn.manager().locks();
    let mut pids = Vec::new();
    // Between its transactions' ends a process number may have two slots, one of which waits for nothing.
    for (session, slot) in locks.sessions().live() {
        if slot.pid() == pid {
            let blockers = locks.blockers_of(session)?;
            pids.extend(blockers.into_iter().map(|by| locks.sessions().slot(by).pid()));
        }
    }
    Ok(pids)
}

/// The rows of `pg_stat_slru`. PostgreSQL's "other" has done nothing.
pub(super) fn status_logs(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    let opened = b.instance.cluster()?.started;
    let row = |name: &str, stats: &SlruStats, since: TimestampTz| {
        let counts = [
            stats.zeroed,
            stats.hits,
            stats.reads,
            stats.writes,
            stats.exists,
            stats.flushes,
            stats.truncates,
        ];
        let mut row = vec![Datum::text(name)];
        row.extend(counts.map(|count| Datum::Int8(count as i64)));
        row.push(Datum::TimestampTz(since));
        row
    };
    let rows = b.txn.manager().txlog().stats().map(|(log, stats)| {
        let since = TimestampTz(stats.since_micros - super::EPOCH_OFFSET_USECS);
        row(log.name(), &stats, since)
    });
    let mut rows = rows.to_vec();
    rows.push(row("other", &SlruStats::default(), opened));
    Ok(rows)
}
