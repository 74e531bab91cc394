//! For tests of rooms that change pages: a log and a pool over a simulated disk, and redo of all of it into an
//! empty directory.

use crate::buffer::{Config, Policy, Pool, Relation};
use crate::recovery::RedoCtx;
use crate::relfile::RelFiles;
use crate::txlog::{TxLog, TxLogConfig, TxLogStart, WalBarrier};
use crate::txn::{Isolation, Txn, TxnManager};
use crate::wal::{Epoch, Kind, LogShape, Reader, RecordView, Room, Wal, WalConfig, WalIo, segment};
use crate::{btree, hash, heap, sequence};
use base::disk::Disk;
use base::disk::sim::SimDisk;
use base::rank::Rank;
use base::{Lsn, Persistence, RelId};
use std::sync::Arc;

const SEGMENT: u64 = 1 << 20;

pub(crate) struct Rig {
    disk: SimDisk,
    pub pool: Arc<Pool>,
    pub wal: Arc<Wal>,
    pub txns: Arc<TxnManager>,
}

fn files(disk: &SimDisk) -> Arc<RelFiles> {
    disk.create_dir("base").unwrap();
    Arc::new(RelFiles::open(Arc::new(disk.clone()), 64).unwrap())
}

fn pool(disk: &SimDisk, frames: usize) -> Arc<Pool> {
    open_pool(disk, Config { frames, ..Config::default() })
}

fn open_pool(disk: &SimDisk, config: Config) -> Arc<Pool> {
    let env = base::Env::new(Arc::new(disk.clone()));
    Pool::open(&env, config, files(disk)).unwrap()
}

/// How many frames a test's pool has: as many as it says, or `THALWEG_TEST_BUFFERS` if that is set
/// (`make test-tiny-cache`).
pub fn frames(ordinary: usize) -> usize {
    match std::env::var("THALWEG_TEST_BUFFERS") {
        Ok(given) => given.parse().expect("THALWEG_TEST_BUFFERS is a number of pages"),
        Err(_) => ordinary,
    }
}

impl Rig {
    pub fn new(frames: usize) -> Rig {
        let disk = SimDisk::new();
        disk.create_dir(segment::DIRECTORY).unwrap();
        let epoch = Epoch {
            system_id: 1,
            timeline: 1,
            number: 1,
            segment_bytes: SEGMENT,
            start: Lsn(SEGMENT),
            previous_end: Lsn(SEGMENT),
        };
        let config = WalConfig {
            buffer_bytes: 1 << 20,
            insert_slots: 4,
            files_bytes_max: 1 << 30,
            files_bytes_min: 1 << 30,
            sync_method: base::disk::SyncMethod::Fdatasync,
            io: WalIo::File,
        };
        let env = base::Env::new(Arc::new(disk.clone()));
        let wal = Wal::open(&env, config, epoch).unwrap();
        let pool = pool(&disk, self::frames(frames));
        pool.attach_wal(Arc::clone(&wal));
        let log = Arc::clone(&wal);
        let barrier: WalBarrier = Arc::new(move |lsn| log.flush(lsn));
        TxLog::create(&env.disk, &barrier, TxLogStart::FIRST).unwrap();
        let txns =
            TxnManager::open(&env, &TxLogConfig::default(), &wal, TxLogStart::FIRST).unwrap();
        Rig { disk, pool, wal, txns }
    }

    pub fn env(&self) -> base::Env {
        base::Env::new(Arc::new(self.disk.clone()))
    }

    /// A session in a transaction.
    pub fn begin(&self) -> Txn {
        let txn = Txn::attach(&self.txns, 1, 1).unwrap();
        txn.begin(Isolation::ReadCommitted);
        txn
    }

    pub fn create(&self, number: u32, persistence: Persistence, rank: Rank) -> Relation {
        self.pool.create_relation(RelId::new(number, persistence), rank).unwrap()
    }

    /// A pool over the same files that has read nothing; of this rig's own everything is written before.
    pub fn cold(&self, frames: usize) -> Arc<Pool> {
        self.cold_under(frames, Policy::Probation)
    }

    /// As [`Rig::cold`], with another policy of replacement.
    pub fn cold_under(&self, frames: usize, replacement: Policy) -> Arc<Pool> {
        self.pool.clean_all().unwrap();
        open_pool(&self.disk, Config { frames, replacement, ..Config::default() })
    }

    /// A pool over the files as they are, without what was not written, into which the log from `redo` on was redone.
    pub fn crashed(&self, redo: Lsn) -> Arc<Pool> {
        self.wal.flush(self.wal.position());
        let pool = pool(&self.disk, 64);
        let ctx = RedoCtx::new(Arc::clone(&pool));
        self.each_record(|record| {
            if record.at.start >= redo {
                self::redo(&ctx, record);
            }
            true
        });
        pool
    }

    /// A pool over an empty directory into which the whole log was redone, `times` times.
    pub fn redone(&self, times: usize, relations: &[RelId]) -> Arc<Pool> {
        let fresh = self.empty(relations);
        (0..times).for_each(|_| self.redo_into(&fresh, |_, _| true));
        fresh
    }

    /// A pool over a directory that has the relations' files, without a page.
    pub fn empty(&self, relations: &[RelId]) -> Arc<Pool> {
        self.empty_on(&SimDisk::new(), relations)
    }

    /// The same on this disk.
    pub fn empty_on(&self, disk: &SimDisk, relations: &[RelId]) -> Arc<Pool> {
        self.wal.flush(self.wal.position());
        let fresh = pool(disk, 64);
        for rel in relations {
            fresh.files().create(*rel, true).unwrap();
        }
        fresh
    }

    /// Redoes the log into a pool, record by record, as long as `go_on` (called after each, with its number
    /// and what it told) says so: a crash after any record looks like that.
    pub fn redo_into(&self, fresh: &Arc<Pool>, mut go_on: impl FnMut(usize, Kind) -> bool) {
        let ctx = RedoCtx::new(Arc::clone(fresh));
        let mut number = 0;
        self.each_record(|record| {
            redo(&ctx, record);
            number += 1;
            go_on(number - 1, record.kind)
        });
    }

    /// Reads what is durable of the log, as long as `go_on` says so.
    pub fn each_record(&self, mut go_on: impl FnMut(&RecordView<'_>) -> bool) {
        let shape = LogShape { system_id: 1, timeline: 1, segment_bytes: SEGMENT };
        let log = Arc::new(self.disk.clone());
        let mut reader = Reader::open(log, shape, Lsn(SEGMENT)).unwrap();
        while let Some(record) = reader.read().unwrap() {
            if !go_on(&record) {
                return;
            }
        }
    }
}

fn redo(ctx: &RedoCtx, record: &RecordView<'_>) {
    let told = crate::recovery::describe(record);
    assert!(!told.contains("unknown"), "{record:?}: {told}");
    match record.kind.room() {
        Some(Room::BTree) => btree::redo::redo(ctx, record).unwrap(),
        Some(Room::Hash) => hash::redo::redo(ctx, record).unwrap(),
        Some(Room::Heap) => heap::redo::redo(ctx, record).unwrap(),
        Some(Room::Sequence) => sequence::redo::redo(ctx, record).unwrap(),
        _ => {}
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.txns.close();
        self.pool.stop();
        self.wal.close();
    }
}
