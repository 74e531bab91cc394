//! `pg_stat_database`: what has been done in each database since the server started, or since it was reset.

use crate::error::Result;
use crate::types::{Datum, Oid, TimestampTz};

use super::EPOCH_OFFSET_USECS;
use super::backend::Backend;

/// `pg_stat_get_db_…(database)`.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let Some(figure) = name.strip_prefix("pg_stat_get_db_") else { return Ok(None) };
    let [Datum::Oid(database)] = args else { return Ok(None) };
    let cluster = b.instance.cluster()?;
    if figure == "stat_reset_time" {
        return Ok(Some(cluster.bases.reset_at(*database)));
    }
    let Some(value) = counted(b, *database, figure)? else { return Ok(None) };
    Ok(Some(cluster.bases.of_database(*database, figure, value)))
}

/// A database's figure since the server started, whatever was reset.
pub(super) fn counted(b: &mut Backend, database: Oid, figure: &str) -> Result<Option<Datum>> {
    match of_relations(b, database, figure)? {
        None => of_sessions(b, database, figure),
        value => Ok(value),
    }
}

fn count(n: u64) -> Datum {
    Datum::Int8(n as i64)
}

/// Figures that are counted with tables and indexes.
fn of_relations(b: &Backend, database: Oid, figure: &str) -> Result<Option<Datum>> {
    let store = &b.instance.store;
    let pages = || store.engine.pool().totals(database.0);
    let rows = || store.activity(database);
    Ok(Some(match figure {
        "blocks_hit" => count(pages().hits),
        "blocks_fetched" => {
            let pages = pages();
            count(pages.hits + pages.reads)
        }
        "tuples_returned" => count(pages().returned),
        "tuples_fetched" => count(pages().fetched),
        "tuples_inserted" => count(rows().inserted),
        "tuples_deleted" => count(rows().deleted),
        "tuples_updated" => {
            let rows = rows();
            count(rows.updated + rows.hot_updated)
        }
        "blk_read_time" => Datum::Float8(pages().read_ns as f64 / 1e6),
        "checksum_failures" => count(pages().damaged),
        "checksum_last_failure" => match pages().damaged_at {
            0 => Datum::Null,
            at => Datum::TimestampTz(TimestampTz(at - EPOCH_OFFSET_USECS)),
        },
        _ => return Ok(None),
    }))
}

/// Figures that are counted with sessions.
fn of_sessions(b: &Backend, database: Oid, figure: &str) -> Result<Option<Datum>> {
    let cluster = b.instance.cluster()?;
    let done = || cluster.done(database);
    let ms = |micros: i64| Datum::Float8(micros as f64 / 1e3);
    Ok(Some(match figure {
        "numbackends" => Datum::Int4(cluster.sessions_of(database).len() as i32),
        "xact_commit" => count(done().commits),
        "xact_rollback" => count(done().rollbacks),
        "deadlocks" => count(done().deadlocks),
        "session_time" => ms(done().session_micros),
        "active_time" => ms(done().active_micros),
        "idle_in_transaction_time" => ms(done().in_transaction_micros),
        "sessions" => count(done().sessions),
        "sessions_abandoned" => count(done().abandoned),
        "sessions_fatal" => count(done().fatal),
        "sessions_killed" => count(done().killed),
        "temp_files" => count(cluster.temp_counts(database).files()),
        "temp_bytes" => count(cluster.temp_counts(database).bytes()),
        // Sessions never write pages: the cleaner and the checkpointer do.
        "blk_write_time" => Datum::Float8(0.0),
        // There is no standby for recovery to be in conflict with.
        "conflict_all"
        | "conflict_tablespace"
        | "conflict_lock"
        | "conflict_snapshot"
        | "conflict_bufferpin"
        | "conflict_startup_deadlock" => count(0),
        _ => return Ok(None),
    }))
}
