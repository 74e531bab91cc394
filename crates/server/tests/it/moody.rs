//! A disk of the machine that can be made to fail, or to wait.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use base::disk::real::RealDisk;
use base::disk::{DirectoryLock, Disk, File, Open};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Sync,
    Open,
    /// Renaming from, removing, or syncing a directory.
    Directory,
}

/// What becomes of an access to a file at an offset; may also hold it up.
type Hook = Arc<dyn Fn(Access, &str, u64) -> Option<io::Error> + Send + Sync>;

/// What a directory's disk does instead of what it should.
#[derive(Clone, Default)]
pub(crate) struct Mood(Arc<Mutex<Option<Hook>>>);

impl Mood {
    pub(crate) fn turn(
        &self,
        hook: impl Fn(Access, &str, u64) -> Option<io::Error> + Send + Sync + 'static,
    ) {
        *self.0.lock().unwrap() = Some(Arc::new(hook));
    }

    pub(crate) fn recover(&self) {
        *self.0.lock().unwrap() = None;
    }

    fn ask(&self, access: Access, path: &str, offset: u64) -> io::Result<()> {
        // Not asked under the lock: one that holds up an access holds up no other.
        let hook = self.0.lock().unwrap().clone();
        hook.and_then(|hook| hook(access, path, offset)).map_or(Ok(()), Err)
    }
}

/// A directory of the machine whose files can be made to fail.
pub(crate) struct Moody {
    real: RealDisk,
    mood: Mood,
}

struct MoodyFile {
    real: Arc<dyn File>,
    path: String,
    mood: Mood,
}

impl Moody {
    pub(crate) fn new(directory: &Path, mood: &Mood) -> Moody {
        Moody { real: RealDisk::new(directory), mood: mood.clone() }
    }
}

impl Disk for Moody {
    fn open(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        self.mood.ask(Access::Open, path, 0)?;
        let (real, mood) = (self.real.open(path, how)?, self.mood.clone());
        Ok(Arc::new(MoodyFile { real, path: path.to_owned(), mood }))
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.mood.ask(Access::Directory, from, 0)?;
        self.real.rename_new(from, to)
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        self.real.rename_over(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.mood.ask(Access::Directory, path, 0)?;
        self.real.remove(path)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.real.create_dir(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.mood.ask(Access::Directory, path, 0)?;
        self.real.sync_dir(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.real.list(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.real.exists(path)
    }

    fn lock(&self, path: &str) -> io::Result<DirectoryLock> {
        self.real.lock(path)
    }
}

impl File for MoodyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.mood.ask(Access::Read, &self.path, offset)?;
        self.real.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.mood.ask(Access::Write, &self.path, offset)?;
        self.real.write_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.mood.ask(Access::Sync, &self.path, 0)?;
        self.real.sync()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.mood.ask(Access::Write, &self.path, bytes)?;
        self.real.set_len(bytes)
    }

    fn len(&self) -> io::Result<u64> {
        self.real.len()
    }
}
