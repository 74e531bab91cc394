//! Redo of transactions' ends: commits and rollbacks behind the redo point into the xact log.

use super::record::{CommitData, take_subxids};
use crate::error::{Error, Result};
use crate::txlog::{MultiXactId, Status, TxLogStart, XactRedo};
use crate::wal::{Kind, RecordView};
use base::{Lsn, RelId, Xid};
use std::collections::BTreeMap;

/// Transactions during recovery.
pub struct TxnRedo {
    xact: XactRedo,
    /// Above every id seen.
    next: Xid,
    /// Multixacts below may be in use.
    next_multixact: MultiXactId,
    /// Subtransactions told before their commit record, and where that began.
    told: BTreeMap<Xid, (Lsn, Vec<Xid>)>,
}

/// What a record ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Whether by a commit.
    pub committed: bool,
    /// The transaction and its subtransactions (of a rollback: those that had not rolled back before).
    pub xids: Vec<Xid>,
    /// Relations whose files go now.
    pub dropped: Vec<RelId>,
    /// SQL's bytes.
    pub invalidations: Vec<u8>,
}

impl TxnRedo {
    /// Redo begins at a checkpoint that said that ids from these on were not handed out.
    pub fn new(xact: XactRedo, start: TxLogStart) -> TxnRedo {
        let TxLogStart { next_xid, next_multixact } = start;
        TxnRedo { xact, next: next_xid, next_multixact, told: BTreeMap::new() }
    }

    /// Notes the id that a record of any kind was written for.
    pub fn note(&mut self, xid: Xid) {
        if xid >= self.next {
            self.next = Xid(xid.0 + 1);
        }
    }

    /// Applies a record of this room.
    pub fn apply(&mut self, record: &RecordView<'_>) -> Result<Option<Ended>> {
        let top = record.xid;
        let garbled = || {
            let detail =
                format!("the {:?} record at {} can't be read", record.kind, record.at.start);
            Error::damaged("the write-ahead log", None, detail)
        };
        match record.kind {
            Kind::SUBXIDS => {
                let subxids = take_subxids(&mut &*record.data, top).ok_or_else(garbled)?;
                let told = self.told.entry(top).or_insert((record.at.start, Vec::new()));
                told.1.extend(subxids);
                Ok(None)
            }
            Kind::COMMIT => {
                let data = CommitData::decode(record.data, top).ok_or_else(garbled)?;
                let mut xids = vec![top];
                xids.extend(data.subxids);
                xids.extend(self.told.remove(&top).map_or(Vec::new(), |(_, subxids)| subxids));
                xids.iter().for_each(|xid| self.note(*xid));
                self.xact.set(xids.iter().copied(), Status::Committed)?;
                self.xact.set_time(xids.iter().copied(), data.time_micros)?;
                let CommitData { dropped, invalidations, .. } = data;
                Ok(Some(Ended { committed: true, xids, dropped, invalidations }))
            }
            Kind::ABORT => {
                let mut xids = vec![top];
                xids.extend(take_subxids(&mut &*record.data, top).ok_or_else(garbled)?);
                self.told.remove(&top);
                xids.iter().for_each(|xid| self.note(*xid));
                self.xact.set(xids.iter().copied(), Status::Aborted)?;
                let (dropped, invalidations) = (Vec::new(), Vec::new());
                Ok(Some(Ended { committed: false, xids, dropped, invalidations }))
            }
            Kind::MULTIXACT_LIMIT | Kind::XID_LIMIT => {
                let limit = record.data.try_into().map_err(|_| garbled())?;
                let limit = u64::from_le_bytes(limit);
                match record.kind {
                    Kind::XID_LIMIT => self.next = self.next.max(Xid(limit)),
                    _ => self.next_multixact = self.next_multixact.max(MultiXactId(limit)),
                }
                Ok(None)
            }
            _ => Err(garbled()),
        }
    }

    /// What is written down of a transaction so far.
    pub fn status(&self, xid: Xid) -> Result<Status> {
        self.xact.status(xid)
    }

    /// The first record that says something of a transaction whose end has not been read.
    pub fn oldest_open(&self) -> Option<Lsn> {
        self.told.values().map(|(at, _)| *at).min()
    }

    /// Makes the fates read so far durable; where ids go on.
    pub fn checkpoint(&mut self) -> Result<TxLogStart> {
        self.xact.checkpoint(self.next)?;
        Ok(TxLogStart { next_xid: self.next, next_multixact: self.next_multixact })
    }

    /// Ends redo, durably; where ids go on.
    pub fn finish(self) -> Result<TxLogStart> {
        self.xact.finish(self.next)?;
        Ok(TxLogStart { next_xid: self.next, next_multixact: self.next_multixact })
    }
}
