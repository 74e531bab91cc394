//! Where temporary files are made, and who uses how much.

use base::sync::unmodelled::{AtomicU64, Ordering::Relaxed};
use std::io;
use std::sync::Arc;

use base::disk::{Disk, File, Open};

use crate::error::{Result, sql_error};

/// The directory of temporary files.
const DIRECTORY: &str = "base/pgsql_tmp";

/// The temporary files of a data directory. All counters are figures that nothing else follows from, so
/// every access is relaxed.
pub struct TempFiles {
    disk: Arc<dyn Disk>,
    /// Numbers names.
    made: AtomicU64,
    /// Files that are open.
    open: AtomicU64,
}

impl TempFiles {
    /// Sweeps away what a crash left.
    pub fn open(disk: &Arc<dyn Disk>) -> Result<Arc<TempFiles>> {
        let failed = |what, error| storage::Error::io(what, DIRECTORY, error);
        if disk.exists(DIRECTORY).map_err(|e| failed("open", e))? {
            for name in disk.list(DIRECTORY).map_err(|e| failed("read", e))? {
                let path = format!("{DIRECTORY}/{name}");
                disk.remove(&path).map_err(|e| storage::Error::io("remove", path, e))?;
            }
        }
        let (made, open) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Arc::new(TempFiles { disk: disk.clone(), made, open }))
    }

    /// How many there are now.
    pub fn count(&self) -> u64 {
        self.open.load(Relaxed)
    }

    fn make(&self) -> Result<(Arc<dyn File>, String)> {
        let path = format!("{DIRECTORY}/pgsql_tmp{}", self.made.fetch_add(1, Relaxed));
        let opened = match self.disk.open(&path, Open::CreateNew) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self
                .disk
                .create_dir(DIRECTORY)
                .and_then(|()| self.disk.open(&path, Open::CreateNew)),
            opened => opened,
        };
        let file = opened.map_err(|e| storage::Error::io("create", path.as_str(), e))?;
        // From here on it goes with its last user.
        self.disk.remove(&path).map_err(|e| storage::Error::io("remove", path.as_str(), e))?;
        self.open.fetch_add(1, Relaxed);
        Ok((file, path))
    }
}

/// What the sessions of one database have put into temporary files.
#[derive(Default)]
pub struct TempCounts {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl TempCounts {
    /// Files made.
    pub fn files(&self) -> u64 {
        self.files.load(Relaxed)
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

/// One session's share of the temporary files.
pub struct TempSpace {
    files: Arc<TempFiles>,
    /// Its database's.
    counts: Arc<TempCounts>,
    /// Bytes in files that are open.
    used: AtomicU64,
    /// `temp_file_limit`, in bytes.
    limit: AtomicU64,
    /// The most memory that one operator has counted since this was last asked.
    peak: AtomicU64,
    /// Bytes ever written.
    written: AtomicU64,
}

impl TempSpace {
    pub fn new(files: &Arc<TempFiles>, counts: &Arc<TempCounts>) -> Arc<TempSpace> {
        Arc::new(TempSpace {
            files: files.clone(),
            counts: counts.clone(),
            used: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            peak: AtomicU64::new(0),
            written: AtomicU64::new(0),
        })
    }

    /// Sets `temp_file_limit`, in bytes.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Bytes written to temporary files so far.
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// The most bytes that one operator has counted as its own since the last call.
    pub fn take_peak(&self) -> u64 {
        self.peak.swap(0, Relaxed)
    }

    /// An operator had counted so many bytes.
    pub(in crate::exec) fn note_peak(&self, bytes: usize) {
        self.peak.fetch_max(bytes as u64, Relaxed);
    }

    /// Files of the data directory that are open.
    #[cfg(test)]
    pub(super) fn files_open(&self) -> u64 {
        self.files.count()
    }

    pub(super) fn make(&self) -> Result<(Arc<dyn File>, String)> {
        let made = self.files.make()?;
        self.counts.files.fetch_add(1, Relaxed);
        Ok(made)
    }

    /// A file grows.
    ///
    /// # Errors
    /// `53400` beyond `temp_file_limit`.
    pub(super) fn grow(&self, bytes: u64) -> Result<()> {
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        let limit = self.limit.load(Relaxed);
        if used > limit {
            self.used.fetch_sub(bytes, Relaxed);
            return Err(sql_error!(
                CONFIGURATION_LIMIT_EXCEEDED,
                "temporary file size exceeds temp_file_limit ({}kB)",
                limit / 1024
            ));
        }
        self.written.fetch_add(bytes, Relaxed);
        self.counts.bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// A file of so many bytes is done with.
    pub(super) fn release(&self, file: Arc<dyn File>, bytes: u64) {
        self.used.fetch_sub(bytes, Relaxed);
        self.files.open.fetch_sub(1, Relaxed);
        self.files.disk.discard(file);
    }
}
