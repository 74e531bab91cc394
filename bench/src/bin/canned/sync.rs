//! Commits that are made durable one by one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 256;

/// A connection's file.
pub struct Synced {
    file: File,
    next: AtomicU64,
}

impl Synced {
    /// Made new, whole and synced, so that a sync has no more to do than what was written since.
    pub fn new(directory: &Path) -> io::Result<Synced> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Relaxed: the number only has to differ from the others.
        let number = NUMBER.fetch_add(1, Relaxed);
        std::fs::create_dir_all(directory)?;
        let path = directory.join(format!("connection-{}-{number}", std::process::id()));
        let file = File::create(&path)?;
        file.write_all_at(&vec![0; BLOCK_BYTES * BLOCKS as usize], 0)?;
        file.sync_all()?;
        // It goes with its connection.
        std::fs::remove_file(path)?;
        Ok(Synced { file, next: AtomicU64::new(0) })
    }

    /// One commit.
    pub fn commit(&self) -> io::Result<()> {
        // Relaxed: a connection commits one at a time.
        let block = self.next.fetch_add(1, Relaxed) % BLOCKS;
        self.file.write_all_at(&[1; BLOCK_BYTES], block * BLOCK_BYTES as u64)?;
        self.file.sync_data()
    }
}
