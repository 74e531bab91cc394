//! Where the log's files lie: a data directory, its `wal`, or any directory that has copies of them. Only read.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Lsn;
use base::disk::{DirectoryLock, Disk, File, Open};
use storage::recovery::control::ControlFile;
use storage::wal::segment::DIRECTORY;
use storage::wal::{LogShape, Reader};

use super::Fault;

/// A directory with log files.
pub struct Source {
    pub disk: Arc<dyn Disk>,
    pub shape: LogShape,
    /// Where the control file's checkpoint is, if there is a control file: the log goes at least as far.
    pub checkpoint: Option<Lsn>,
}

impl Source {
    /// Looks at a directory, and at its `wal` if it has one. `timeline`: of the files to read, if there are several.
    ///
    /// # Errors
    /// No directory, one without intact files of the log, a data directory without intact control file.
    pub fn find(path: &Path, timeline: Option<u32>) -> Result<Source, Fault> {
        let shown = path.display();
        if let Err(error) = fs::read_dir(path) {
            return Err(Fault::Log(format!("could not open directory \"{shown}\": {error}")));
        }
        let is_whole = path.join(DIRECTORY).is_dir();
        let disk: Arc<dyn Disk> = Arc::new(ReadOnly { root: path.to_owned(), is_whole });
        let files = || {
            Reader::shape_of_files(&*disk, timeline)?.ok_or_else(|| {
                Fault::Log(format!("could not find any intact log file in \"{shown}\""))
            })
        };
        if is_whole && path.join("control").exists() {
            let control = ControlFile::read(&*disk)?;
            if timeline.is_none_or(|wanted| wanted == control.shape.timeline) {
                let checkpoint = Some(control.checkpoint);
                return Ok(Source { disk, shape: control.shape, checkpoint });
            }
        }
        let shape = files()?;
        Ok(Source { disk, shape, checkpoint: None })
    }
}

/// Files of a directory, opened for reading only: the log of a server can be looked at by whoever may read it.
struct ReadOnly {
    root: PathBuf,
    /// Whether it has the log in [`DIRECTORY`], as data directories have; else the files lie in it.
    is_whole: bool,
}

impl ReadOnly {
    fn path(&self, path: &str) -> PathBuf {
        let bare = if self.is_whole { None } else { path.strip_prefix(DIRECTORY) };
        self.root.join(bare.map_or(path, |bare| bare.trim_start_matches('/')))
    }
}

/// What a reader never does.
fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the directory is only read"))
}

impl Disk for ReadOnly {
    fn open(&self, path: &str, _how: Open) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(ReadOnlyFile(fs::File::open(self.path(path))?)))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(path))? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.path(path).try_exists()
    }

    fn rename_new(&self, _from: &str, _to: &str) -> io::Result<()> {
        refused()
    }

    fn rename_over(&self, _from: &str, _to: &str) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn create_dir(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn sync_dir(&self, _path: &str) -> io::Result<()> {
        refused()
    }

    fn lock(&self, _path: &str) -> io::Result<DirectoryLock> {
        refused()
    }
}

struct ReadOnlyFile(fs::File);

impl File for ReadOnlyFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut got = 0;
        while got < buf.len() {
            match self.0.read_at(&mut buf[got..], offset + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(got)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> io::Result<()> {
        refused()
    }

    fn sync(&self) -> io::Result<()> {
        refused()
    }

    fn set_len(&self, _bytes: u64) -> io::Result<()> {
        refused()
    }
}
