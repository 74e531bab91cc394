//! A log of Thalweg's own without a server around it, and a disk that forgets at once, for measuring in process.

use base::Lsn;
use base::disk::{DirectoryLock, Disk, File, Open, SyncMethod};
use base::env::Env;
use std::io;
use std::sync::Arc;
use storage::wal::{Epoch, Wal, WalConfig, WalIo};

/// Bytes of a segment.
const SEGMENT: u64 = 16 << 20;
/// Bytes of the ring.
pub(crate) const RING: usize = 64 << 20;

/// Opens a new log; what the disk or the system does not allow is told.
pub(crate) fn open(
    disk: Arc<dyn Disk>,
    insert_slots: usize,
    sync_method: SyncMethod,
    io: WalIo,
) -> Result<Arc<Wal>, storage::Error> {
    let start = Lsn(SEGMENT);
    let epoch = Epoch {
        system_id: 1,
        timeline: 1,
        number: 1,
        segment_bytes: SEGMENT,
        start,
        previous_end: start,
    };
    let config = WalConfig {
        buffer_bytes: RING,
        insert_slots,
        files_bytes_min: 1 << 30,
        files_bytes_max: 1 << 30,
        sync_method,
        io,
    };
    Wal::open(&Env::new(disk), config, epoch)
}

/// Takes everything, keeps nothing.
pub(crate) struct Forgetful;

impl Disk for Forgetful {
    fn open(&self, _: &str, _: Open) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(Forgetful))
    }
    fn rename_new(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn rename_over(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn create_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn sync_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn list(&self, _: &str) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    fn exists(&self, _: &str) -> io::Result<bool> {
        Ok(false)
    }
    fn lock(&self, _: &str) -> io::Result<DirectoryLock> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl File for Forgetful {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }
    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }
}
