//! Tests of the buffer cache, by theme. Pages in them describe themselves: see [`stamp`] and [`stamped`].

mod ahead;
mod basics;
mod crash;
mod faults;
mod filling;
mod gated;
mod memory;
mod rings;
mod stress;
mod writeback;

use super::*;
use crate::page::{PAGE_BYTES, PageKind, PageMut, PageView};
use crate::relfile::RelFiles;
use base::disk::Disk;
use base::disk::sim::SimDisk;
use base::env::Env;
use base::rank::Rank;
use base::{BlockNo, Fork, Lsn, PageId, RelId};
use std::sync::Arc;
use std::time::Duration;

/// A pool over a simulated disk; stopped when dropped.
struct World {
    disk: SimDisk,
    pool: Arc<Pool>,
}

impl World {
    fn new(frames: usize) -> World {
        World::over(SimDisk::new(), frames, TornPages::DoubleWrite)
    }

    fn over(disk: SimDisk, frames: usize, torn_pages: TornPages) -> World {
        let frame_wait = Duration::from_secs(5);
        World::with(disk, Config { frames, torn_pages, frame_wait, ..Config::default() })
    }

    fn with(disk: SimDisk, config: Config) -> World {
        World::with_disk(Arc::new(disk.clone()), disk, config)
    }

    /// Over `over`, behind which is `disk`.
    fn with_disk(over: Arc<dyn Disk>, disk: SimDisk, config: Config) -> World {
        let env = Env::new(over);
        let files = Arc::new(RelFiles::open(Arc::clone(&env.disk), 100).unwrap());
        doublewrite::recover(&*env.disk, &files, &mut |_| Ok(false)).unwrap();
        World { disk, pool: Pool::open(&env, config, files).unwrap() }
    }

    /// Nobody has a pin, once the cleaner has ended, which pins what it writes.
    fn assert_unpinned(&self) {
        self.pool.stop();
        assert_eq!(self.pool.frames.iter().map(|f| f.word.pins()).sum::<u64>(), 0);
    }

    fn relation(&self, id: u32) -> Relation {
        let rel = RelId(id);
        if self.pool.files().exists(rel).unwrap() {
            self.pool.relation(rel, Rank::HeapPage)
        } else {
            self.pool.create_relation(rel, Rank::HeapPage).unwrap()
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.pool.stop();
    }
}

const WORDS_FROM: usize = 64;

/// Fills the page so that every word tells the page and `value`: any mixture of two states shows.
fn stamp(page: &mut PageMut<'_>, id: PageId, value: u64) {
    if page.is_new() {
        // All of it special space: none of it is a hole to images.
        page.init(PageKind::Heap, PAGE_BYTES - WORDS_FROM);
    }
    let word = mix(id, value);
    for at in (WORDS_FROM..PAGE_BYTES).step_by(8) {
        page.put_u64(at, word);
    }
    page.put_u64(WORDS_FROM, value);
}

/// The value of a stamped page; `None` if its words do not agree.
fn stamped(page: PageView<'_>, id: PageId) -> Option<u64> {
    if page.is_zero() {
        return Some(0);
    }
    let value = page.get_u64(WORDS_FROM);
    let word = mix(id, value);
    (WORDS_FROM + 8..PAGE_BYTES).step_by(8).all(|at| page.get_u64(at) == word).then_some(value)
}

fn mix(id: PageId, value: u64) -> u64 {
    let place = u64::from(id.rel.0) << 40 ^ u64::from(id.block.0) << 2 ^ id.fork as u64;
    (place ^ value.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Adds a stamped block.
fn add(rel: &Relation, fork: Fork, value: u64) -> BlockNo {
    let mut page = rel.extend(fork).unwrap();
    let id = page.page_id();
    page.mark_dirty();
    stamp(&mut page, id, value);
    id.block
}

/// Stamps a block anew.
fn set(rel: &Relation, block: BlockNo, value: u64) {
    let mut page = rel.write(Fork::Main, block).unwrap();
    let id = page.page_id();
    page.mark_dirty();
    stamp(&mut page, id, value);
}

/// The value of a block, read under the shared latch.
fn get(rel: &Relation, block: BlockNo) -> u64 {
    let page = rel.read(Fork::Main, block).unwrap();
    stamped(page.view(), page.page_id()).expect("a latched page is of one piece")
}
