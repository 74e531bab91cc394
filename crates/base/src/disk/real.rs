//! The machine's files below one directory.
//!
//! On a thread the calls are plain system calls. On a fiber a read first asks for what the system has
//! cached (`RWF_NOWAIT`); else it goes through its worker's ring ([`ring`]). Where there is none, reads, and writes
//! and syncs always, go to a small pool of I/O threads.

mod durable;
mod mapped;
mod persist;
mod pool;
pub mod ring;
mod sigbus;

use super::map::{MapKind, Mapping, Place};
use super::room::{self, DIRECT_ALIGN, Room};
use super::{DirectoryLock, Disk, File, Open, StartedRead, SyncMethod, extend_by_writing};
use crate::park;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of the machine.
pub struct RealDisk {
    root: PathBuf,
}

struct RealFile {
    file: Arc<fs::File>,
    /// Opened with `O_DIRECT`.
    direct: bool,
}

impl RealDisk {
    /// `root` need not exist yet; [`Disk::create_dir`] with `""` makes it.
    pub fn new(root: impl Into<PathBuf>) -> RealDisk {
        RealDisk { root: root.into() }
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    fn open_with(&self, path: &str, how: Open, direct: bool) -> io::Result<Arc<dyn File>> {
        let path = self.path(path);
        blocking(|| {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true);
            options.create(how == Open::Create).create_new(how == Open::CreateNew);
            options.custom_flags(if direct { libc::O_DIRECT } else { 0 });
            Ok(Arc::new(RealFile { file: Arc::new(options.open(&path)?), direct }) as Arc<dyn File>)
        })
    }
}

/// Runs a blocking call: on the thread itself, or for a fiber on the pool while it parks.
fn blocking<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    if park::on_fiber() { pool::run(call) } else { call() }
}

/// Whether two names are of one file.
fn is_one_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |path: &Path| fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
    of(one).is_some_and(|file| of(other) == Some(file))
}

impl Disk for RealDisk {
    fn open(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        self.open_with(path, how, false)
    }

    fn open_direct(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        self.open_with(path, how, true)
    }

    fn check_direct(&self, directory: &str) -> io::Result<()> {
        let path = format!("{directory}/direct");
        // Some file systems take the flag and refuse the write.
        let tried = self.open_direct(&path, Open::Create).and_then(|file| {
            let mut room = Room::new(DIRECT_ALIGN);
            file.write_at(&room, 0)?;
            file.read_at(&mut room, 0)
        });
        match self.remove(&path) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => Err(fault),
            _ => tried.map(drop),
        }
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path(from), self.path(to));
        // A hard link fails if the name exists; no file system lacks it as some lack RENAME_NOREPLACE.
        blocking(|| {
            match fs::hard_link(&from, &to) {
                // An earlier attempt came as far as the second name.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_one_file(&from, &to) => {}
                linked => linked?,
            }
            fs::remove_file(&from)
        })
    }

    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.path(from), self.path(to));
        blocking(|| fs::rename(&from, &to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        blocking(|| fs::remove_file(&path))
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        blocking(|| fs::create_dir_all(&path))
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        blocking(|| fs::File::open(&path)?.sync_all())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let path = self.path(path);
        blocking(|| {
            let mut names = Vec::new();
            for entry in fs::read_dir(&path)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort();
            Ok(names)
        })
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.path(path).try_exists()
    }

    fn discard(&self, file: Arc<dyn File>) {
        // The last descriptor of a large removed file takes the system a while to close.
        pool::leave(move || drop(file));
    }

    fn check_sync_method(&self, how: SyncMethod) -> io::Result<()> {
        durable::check(how)
    }

    fn lock(&self, path: &str) -> io::Result<DirectoryLock> {
        let file = open_lock_file(&self.path(path))?;
        file.try_lock()?;
        Ok(DirectoryLock { _held: Box::new(Locked(file)) })
    }
}

/// A lock file that is locked. Closing it would not do: a child process that has yet to become another program has a copy of
/// the descriptor, and with it of the lock.
struct Locked(fs::File);

impl Drop for Locked {
    fn drop(&mut self) {
        if let Err(fault) = self.0.unlock() {
            crate::log!("could not unlock a directory: {fault}");
        }
    }
}

fn open_lock_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

impl RealFile {
    /// Direct I/O with other than whole blocks is a fault of the caller, wherever the device lets it pass.
    fn assert_aligned(&self, bytes: &[u8], offset: u64) {
        assert!(
            !self.direct || room::is_aligned(bytes, offset),
            "direct I/O of {} bytes at {offset} is aligned",
            bytes.len()
        );
    }

    /// What the system has cached of the range; `None` when it would have to wait for the device.
    fn read_cached(&self, buf: &mut [u8], offset: u64) -> Option<usize> {
        if self.direct {
            return None;
        }
        let iov = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
        // SAFETY: the vector describes `buf`, which outlives the call.
        let n = unsafe {
            libc::preadv2(self.file.as_raw_fd(), &iov, 1, offset as i64, libc::RWF_NOWAIT)
        };
        // A short count may be the end of the file or of what is cached: let the pool find out.
        (n == buf.len() as isize).then_some(buf.len())
    }
}

fn read_full(file: &fs::File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Lengthens a file without touching what will lie there: nothing goes through the system's cache.
fn allocate(file: &fs::File, offset: u64, bytes: u64) -> io::Result<()> {
    loop {
        // SAFETY: plain system call on a descriptor that we own.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, offset as i64, bytes as i64) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Starts writing back what the system's cache has of a range.
fn start_writeback(file: &fs::File, offset: u64, bytes: u64) -> io::Result<()> {
    let (from, length) = (offset as i64, bytes as i64);
    loop {
        // Without a flag that waits. It takes no note of earlier errors, so those stay for the sync.
        let how = libc::SYNC_FILE_RANGE_WRITE;
        // SAFETY: plain system call on a descriptor that we own.
        if unsafe { libc::sync_file_range(file.as_raw_fd(), from, length, how) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // Some systems that pass for Linux lack it: then it is done when they think fit, as ever.
            Some(libc::ENOSYS | libc::EOPNOTSUPP) => return Ok(()),
            _ => return Err(error),
        }
    }
}

/// Has the system drop the clean pages of its cache.
fn drop_cached(file: &fs::File) -> io::Result<()> {
    // SAFETY: plain system call on a descriptor that we own; a length of zero is up to the end.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        // It answers the error and leaves errno alone.
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

impl File for RealFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.assert_aligned(buf, offset);
        if !park::on_fiber() {
            return read_full(&self.file, buf, offset);
        }
        if let Some(n) = self.read_cached(buf, offset) {
            return Ok(n);
        }
        match ring::read(&self.file, buf, offset) {
            Some(got) => got,
            None => pool::run(|| read_full(&self.file, buf, offset)),
        }
    }

    fn start_read(&self, mut read: StartedRead) {
        let offset = read.offset();
        self.assert_aligned(read.target(), offset);
        match self.read_cached(read.target(), offset) {
            Some(n) => read.end(Ok(n)),
            None => ring::start(Arc::clone(&self.file), read),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.assert_aligned(buf, offset);
        blocking(|| self.file.write_all_at(buf, offset))
    }

    fn extend(&self, offset: u64, bytes: u64) -> io::Result<()> {
        match blocking(|| allocate(&self.file, offset, bytes)) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                extend_by_writing(self, offset, bytes)
            }
            done => done,
        }
    }

    fn start_writeback(&self, offset: u64, bytes: u64) -> io::Result<()> {
        // The call waits where the device's queue is full.
        blocking(|| start_writeback(&self.file, offset, bytes))
    }

    fn sync(&self) -> io::Result<()> {
        blocking(|| self.file.sync_data())
    }

    fn drop_cached(&self) -> io::Result<()> {
        blocking(|| drop_cached(&self.file))
    }

    fn write_durably(&self, buf: &[u8], offset: u64, how: SyncMethod) -> io::Result<()> {
        self.assert_aligned(buf, offset);
        blocking(|| durable::write(&self.file, buf, offset, how))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        blocking(|| self.file.set_len(bytes))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn modified_micros(&self) -> io::Result<Option<i64>> {
        use std::os::unix::fs::MetadataExt;
        let is = self.file.metadata()?;
        Ok(Some(is.mtime() * 1_000_000 + is.mtime_nsec() / 1000))
    }

    fn map(&self, place: &Place<'_>, kind: MapKind) -> io::Result<Box<dyn Mapping>> {
        blocking(|| mapped::map(&self.file, place, kind))
    }

    fn raw_fd(&self) -> Option<RawFd> {
        Some(self.file.as_raw_fd())
    }
}
