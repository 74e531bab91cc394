//! Files of the simulated disk mapped into memory.
//!
//! Stores go to plain memory that the disk does not see. Before each operation it looks what has changed and journals
//! that as writes of whole pages, not synced: a crash keeps, tears or loses each by itself, as the system may write
//! any page at any time. Only what a [`Mapping::sync`] covers is sure to be kept.
//!
//! Looking at all pages before each operation would be slow. A log is written front to back: the look begins where the
//! last change was seen and ends at some pages that have none. What it misses is found when it matters: by a sync, a
//! read of the file, the mapping's end, and a crash.

use super::content::{BLOCK_BYTES, Written};
use super::{Access, Inner, Op, SimDisk};
use crate::disk::map::{Mapping, Place, Window};
use std::io;
use std::sync::Arc;

/// Unchanged pages in a row that end a look.
const UNCHANGED: usize = 2;

/// What the disk knows of a mapping.
pub(super) struct Mapped {
    key: u64,
    file: u64,
    /// Of the mapped stretch in the file.
    offset: u64,
    window: Arc<Window>,
    at: usize,
    pages: usize,
    /// The last page that was found changed.
    last: usize,
}

struct SimMapping {
    disk: SimDisk,
    path: String,
    file: u64,
    key: u64,
}

/// Maps a stretch of the file `id`.
pub(super) fn map(
    disk: &SimDisk,
    id: u64,
    path: &str,
    place: &Place<'_>,
) -> io::Result<Box<dyn Mapping>> {
    let mut inner = disk.access(Access::Map, path, place.offset)?;
    let Place { window, at, offset, bytes, .. } = *place;
    let whole = [at as u64, offset, bytes as u64];
    assert!(whole.iter().all(|n| n.is_multiple_of(BLOCK_BYTES as u64)), "whole pages are mapped");
    window.put(at, bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)?;
    let content = &inner.contents[&id];
    assert!(content.len() as u64 >= offset + bytes as u64, "the file is long enough");
    let first = offset as usize / BLOCK_BYTES;
    let pages = bytes / BLOCK_BYTES;
    for page in 0..pages {
        if let Some(bytes) = content.written_block(first + page) {
            // SAFETY: fresh memory of this length, which nobody knows of yet.
            unsafe {
                let to = window.address(at + page * BLOCK_BYTES);
                to.copy_from_nonoverlapping(bytes.as_ptr(), BLOCK_BYTES);
            }
        }
    }
    inner.next_key += 1;
    let key = inner.next_key;
    let window = Arc::clone(window);
    inner.mapped.push(Mapped { key, file: id, offset, window, at, pages, last: 0 });
    Ok(Box::new(SimMapping { disk: disk.clone(), path: path.to_owned(), file: id, key }))
}

impl Mapped {
    fn page(&self, page: usize) -> &[u8] {
        let address = self.window.address(self.at + page * BLOCK_BYTES);
        // SAFETY: mapped as long as this is in the disk's list. Whoever stores there runs on this thread, in a
        // simulation, and not now.
        unsafe { std::slice::from_raw_parts(address, BLOCK_BYTES) }
    }
}

impl Inner {
    /// Journals what was stored of late to any mapping.
    pub(super) fn absorb(&mut self) {
        for i in 0..self.mapped.len() {
            let (mut page, mut unchanged) = (self.mapped[i].last, 0);
            while page < self.mapped[i].pages && unchanged < UNCHANGED {
                let changed = self.absorb_page(i, page);
                unchanged = if changed { 0 } else { unchanged + 1 };
                page += 1;
            }
        }
    }

    /// Journals all that was stored to the mappings of a file.
    pub(super) fn absorb_file(&mut self, file: u64) {
        for i in 0..self.mapped.len() {
            if self.mapped[i].file == file {
                for page in 0..self.mapped[i].pages {
                    self.absorb_page(i, page);
                }
            }
        }
    }

    /// Journals all that was stored anywhere.
    pub(super) fn absorb_all(&mut self) {
        for i in 0..self.mapped.len() {
            self.absorb_file(self.mapped[i].file);
        }
    }

    /// Shows what was written to a file in its mappings. What had been stored there is absorbed.
    pub(super) fn show(&mut self, file: u64, from: u64, to: u64) {
        let content = &self.contents[&file];
        for mapped in self.mapped.iter().filter(|m| m.file == file) {
            for page in 0..mapped.pages {
                let offset = mapped.offset + (page * BLOCK_BYTES) as u64;
                if offset < to && from < offset + BLOCK_BYTES as u64 {
                    let bytes = content.block(offset as usize / BLOCK_BYTES);
                    let address = mapped.window.address(mapped.at + page * BLOCK_BYTES);
                    // SAFETY: mapped, and nobody else is at it now, as in `page`.
                    unsafe { address.copy_from_nonoverlapping(bytes.as_ptr(), BLOCK_BYTES) };
                }
            }
        }
    }

    /// Journals a page of a mapping if it is not as the file has it.
    fn absorb_page(&mut self, i: usize, page: usize) -> bool {
        let mapped = &self.mapped[i];
        let offset = mapped.offset + (page * BLOCK_BYTES) as u64;
        let content = self.contents.get_mut(&mapped.file).expect("a mapped file has content");
        let now = mapped.page(page);
        if now == content.block(offset as usize / BLOCK_BYTES) {
            return false;
        }
        let bytes = Written::new(now);
        bytes.apply(content, offset, 0, BLOCK_BYTES);
        let id = mapped.file;
        self.mapped[i].last = page;
        self.log(Op::Write { id, offset, bytes });
        true
    }
}

impl Mapping for SimMapping {
    fn sync(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let began = {
            let mut inner = self.disk.lock_inner();
            inner.absorb_file(self.file);
            inner.journal.len()
        };
        let mut inner = self.disk.access(Access::Sync, &self.path, offset)?;
        let page = BLOCK_BYTES as u64;
        let range = offset - offset % page..(offset + bytes).next_multiple_of(page);
        inner.log(Op::SyncRange { id: self.file, range, began });
        Ok(())
    }
}

impl Drop for SimMapping {
    fn drop(&mut self) {
        let mut inner = self.disk.lock_inner();
        inner.absorb_file(self.file);
        let i = inner.mapped.iter().position(|m| m.key == self.key).expect("it was entered");
        let gone = inner.mapped.swap_remove(i);
        gone.window.clear(gone.at, gone.pages * BLOCK_BYTES);
    }
}
