//! What tests of transactions, locks and status logs stand on: a log and a transaction manager on a
//! simulated disk, with the smallest caches there are.

use super::{Txn, TxnManager};
use crate::txlog::{LogBuffers, MultiXactId, TxLog, TxLogConfig, TxLogStart, WalBarrier};
use crate::wal::segment::DIRECTORY;
use crate::wal::{BUFFER_BYTES_MIN, Epoch, Wal, WalConfig, WalIo};
use base::disk::Disk;
use base::disk::sim::SimDisk;
use base::sync::unmodelled::{AtomicI32, Ordering};
use base::{Env, Lsn, Xid};
use std::sync::Arc;

const SEGMENT: u64 = 64 * 1024;

/// An engine as far as transactions need one.
pub(crate) struct World {
    pub(crate) disk: SimDisk,
    pub(crate) wal: Arc<Wal>,
    pub(crate) txns: Arc<TxnManager>,
}

fn small() -> TxLogConfig {
    TxLogConfig {
        buffers: LogBuffers([16; 7]),
        shared_buffers: 64,
        window_pages: 2,
        track_commit_timestamp: true,
        ..TxLogConfig::default()
    }
}

impl World {
    pub(crate) fn new() -> World {
        let disk = SimDisk::new();
        disk.create_dir(DIRECTORY).unwrap();
        let files: Arc<dyn Disk> = Arc::new(disk.clone());
        let barrier: WalBarrier = Arc::new(|_| ());
        TxLog::create(&files, &barrier, TxLogStart::FIRST).unwrap();
        World::open(disk, 1, Lsn(SEGMENT), Lsn(SEGMENT), Xid::FIRST_NORMAL)
    }

    pub(crate) fn open(
        disk: SimDisk,
        epoch: u32,
        start: Lsn,
        previous_end: Lsn,
        next: Xid,
    ) -> World {
        let env = Env::new(Arc::new(disk.clone()));
        let config = WalConfig {
            buffer_bytes: BUFFER_BYTES_MIN,
            insert_slots: 4,
            files_bytes_max: 64 * SEGMENT,
            files_bytes_min: 64 * SEGMENT,
            sync_method: base::disk::SyncMethod::Fdatasync,
            io: WalIo::File,
        };
        let epoch = Epoch {
            system_id: 1,
            timeline: 1,
            number: epoch,
            segment_bytes: SEGMENT,
            start,
            previous_end,
        };
        let wal = Wal::open(&env, config, epoch).unwrap();
        let start = TxLogStart { next_xid: next, next_multixact: MultiXactId(1) };
        let txns = TxnManager::open(&env, &small(), &wal, start).unwrap();
        World { disk, wal, txns }
    }

    pub(crate) fn session(&self) -> Txn {
        static PID: AtomicI32 = AtomicI32::new(100);
        let pid = PID.fetch_add(1, Ordering::Relaxed);
        Txn::attach(&self.txns, pid, 5).unwrap()
    }

    pub(crate) fn close(&self) {
        self.txns.close();
        self.wal.close();
    }
}
