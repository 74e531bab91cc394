//! Snapshots in PostgreSQL's text form, `xmin:xmax:running,…`: types `pg_snapshot` and, by its older name,
//! `txid_snapshot`.

use base::Xid;
use storage::txn::SnapshotXids;

use crate::error::{Result, sql_error};

/// Reads a snapshot; ids that are told twice count once. `22P02` for ids out of order or out of bounds.
pub fn parse_snapshot(text: &str) -> Result<SnapshotXids> {
    parsed(text).ok_or_else(|| {
        sql_error!(
            INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type pg_snapshot: \"{text}\""
        )
    })
}

fn parsed(text: &str) -> Option<SnapshotXids> {
    let mut parts = text.splitn(3, ':');
    let mut bound = || parts.next()?.parse().ok().filter(|xid| *xid > 0).map(Xid);
    let (xmin, xmax) = (bound()?, bound()?);
    let list = parts.next()?;
    let mut running: Vec<Xid> = Vec::new();
    for word in list.split(',').filter(|_| !list.is_empty()) {
        let xid = Xid(word.parse().ok()?);
        if xid < xmin || xid >= xmax || running.last().is_some_and(|last| xid < *last) {
            return None;
        }
        if running.last() != Some(&xid) {
            running.push(xid);
        }
    }
    (xmin <= xmax).then_some(SnapshotXids { xmin, xmax, running })
}
