//! Snapshots that one session hands to others, so that several see the same: what `pg_dump -j` asks for.
//!
//! *No snapshot is overlooked.* Who takes one over has an older number than a scan of the sessions may have begun with
//! ([`super::horizon`]), and the scan may have been past its slot. So it stores the number in its slot, counts the
//! handover, and only then can the session that it has it from let go of its own: both under the latch of the list. A
//! scan that saw the latter gone sees the count changed, and looks again.

use super::session::{Isolation, Txn};
use super::snapshot::{Hold, Snapshot};
use crate::lock::SessionId;
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::Ordering;
use std::collections::BTreeMap;

/// What became of the wish to see what another session sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Import {
    /// The transaction sees by that snapshot.
    Done,
    /// There is none of that name, or it has gone with its transaction.
    Unknown,
    /// It is of another database.
    OtherDatabase,
}

struct Exported {
    snapshot: Snapshot,
    database: u32,
}

/// All that are exported, by their names.
pub(super) struct Exports(Latch<Listed>);

#[derive(Default)]
struct Listed {
    of: BTreeMap<SessionId, BTreeMap<Box<str>, Exported>>,
    /// How many there have been.
    count: u32,
}

impl Default for Exports {
    fn default() -> Exports {
        Exports(Latch::new(Rank::Leaf, Listed::default()))
    }
}

impl Exports {
    /// Nobody can take this session's over any more.
    pub(super) fn withdraw(&self, session: SessionId) {
        self.0.lock().of.remove(&session);
    }
}

impl Txn {
    /// Exports a snapshot that is in force, until the transaction ends; its name.
    pub fn export_snapshot(&self, snapshot: Snapshot) -> String {
        if self.exports.replace(Some(snapshot.csn)) != Some(snapshot.csn) {
            // Given back with all others at the transaction's end.
            let Hold(_) = self.hold(snapshot);
        }
        let mut list = self.shared.exports().0.lock();
        list.count = list.count.wrapping_add(1);
        let name = format!("{:08X}-{:08X}-1", self.session.0 + 1, list.count);
        let exported = Exported { snapshot, database: self.slot().database() };
        list.of.entry(self.session).or_default().insert(name.as_str().into(), exported);
        name
    }

    /// From here on the transaction, which is REPEATABLE READ and has taken no snapshot of its own
    /// ([`Txn::keeps_snapshot`]), sees what the exported one of that name does.
    pub fn import_snapshot(&self, name: &str) -> Import {
        assert_eq!(self.isolation(), Isolation::RepeatableRead, "one snapshot for all statements");
        assert!(self.kept_snapshot.get().is_none(), "it is the transaction's first");
        let list = self.shared.exports().0.lock();
        let mut of_all = list.of.values();
        let Some(found) = of_all.find_map(|of_one| of_one.get(name)) else {
            return Import::Unknown;
        };
        if found.database != self.slot().database() {
            return Import::OtherDatabase;
        }
        let (line, snapshot) = (&self.slot().txn, found.snapshot);
        // Look-ups in the catalogs may have one in force that is newer. Release, but it is the count of handovers that hands
        // both on to scans (`Sessions::without_handover`).
        line.bound.fetch_min(snapshot.bound.0, Ordering::Release);
        line.snapshot.fetch_min(snapshot.csn.0, Ordering::Release);
        self.shared.locks().sessions().count_handover();
        self.kept_snapshot.set(Some(Snapshot { cid: self.current_cid(), ..snapshot }));
        Import::Done
    }
}
