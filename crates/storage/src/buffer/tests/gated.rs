//! A disk whose started reads wait until they are let go, and whose double-write area stalls when it is told to.

use crate::buffer::doublewrite;
use base::disk::sim::SimDisk;
use base::disk::{DirectoryLock, Disk, File, Open, StartedRead};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Held = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Gate {
    shut: AtomicBool,
    held: Mutex<Vec<Held>>,
    bytes: AtomicUsize,
    /// How long each of the next writes of copies takes.
    stalls: Mutex<Vec<Duration>>,
}

#[derive(Clone)]
pub(super) struct GatedDisk {
    pub inner: SimDisk,
    gate: Arc<Gate>,
}

struct GatedFile {
    inner: Arc<dyn File>,
    is_area: bool,
    gate: Arc<Gate>,
}

impl GatedDisk {
    pub fn new(inner: SimDisk) -> GatedDisk {
        GatedDisk { inner, gate: Arc::default() }
    }

    /// From now on started reads stay under way.
    pub fn shut(&self) {
        self.gate.shut.store(true, Ordering::SeqCst);
    }

    /// Has what is under way done, and what is started from now on at once.
    pub fn open_gate(&self) {
        self.gate.shut.store(false, Ordering::SeqCst);
        let held = std::mem::take(&mut *self.gate.held.lock().unwrap());
        self.gate.bytes.store(0, Ordering::SeqCst);
        held.into_iter().for_each(|read| read());
    }

    /// Has each of the next `writes` to the double-write area take so long.
    pub fn stall(&self, writes: usize, each: Duration) {
        *self.gate.stalls.lock().unwrap() = vec![each; writes];
    }

    /// Reads and bytes under way.
    pub fn under_way(&self) -> (usize, usize) {
        (self.gate.held.lock().unwrap().len(), self.gate.bytes.load(Ordering::SeqCst))
    }
}

impl Disk for GatedDisk {
    fn open(&self, path: &str, how: Open) -> io::Result<Arc<dyn File>> {
        let inner = self.inner.open(path, how)?;
        let is_area = path == doublewrite::PATH;
        Ok(Arc::new(GatedFile { inner, is_area, gate: Arc::clone(&self.gate) }))
    }
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename_new(from, to)
    }
    fn rename_over(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename_over(from, to)
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.inner.remove(path)
    }
    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.inner.create_dir(path)
    }
    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.inner.sync_dir(path)
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }
    fn exists(&self, path: &str) -> io::Result<bool> {
        self.inner.exists(path)
    }
    fn lock(&self, path: &str) -> io::Result<DirectoryLock> {
        self.inner.lock(path)
    }
}

impl File for GatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buf, offset)
    }
    fn start_read(&self, mut read: StartedRead) {
        if !self.gate.shut.load(Ordering::SeqCst) {
            return self.inner.start_read(read);
        }
        self.gate.bytes.fetch_add(read.target().len(), Ordering::SeqCst);
        let inner = Arc::clone(&self.inner);
        self.gate.held.lock().unwrap().push(Box::new(move || inner.start_read(read)));
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if self.is_area {
            let stall = self.gate.stalls.lock().unwrap().pop();
            stall.into_iter().for_each(std::thread::sleep);
        }
        self.inner.write_at(buf, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.inner.set_len(bytes)
    }
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
}
