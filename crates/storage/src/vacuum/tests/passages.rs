//! Vacuum's passage through an index many times larger than its ring, beside pages that others use.

use crate::btree::{BTree, NewEntry};
use crate::buffer::{Passage, Policy, Pool, Relation};
use crate::hash::{FILL_PERCENT, HashIndex};
use crate::index::Index;
use crate::rig::Rig;
use base::rank::Rank;
use base::{BlockNo, Fork, Persistence, RelId, Tid};
use std::sync::Arc;

const FRAMES: usize = 256;
const HOT: u32 = 96;

fn tid(number: u32) -> Tid {
    Tid { block: BlockNo(number), offset: 1 }
}

/// Of a B-tree some 16 fit on a page.
fn key(number: u32) -> Vec<u8> {
    let mut key = number.to_be_bytes().to_vec();
    key.resize(480, 7);
    key
}

#[derive(Clone, Copy, Debug)]
enum Method {
    BTree,
    Hash,
}

impl Method {
    /// For more pages than there are frames.
    fn entries(self) -> u32 {
        match self {
            Method::BTree => 6_000,
            Method::Hash => 24_000,
        }
    }

    fn open(self, rel: Relation, rig: &Rig) -> Index {
        match self {
            Method::BTree => BTree::new(rel, &rig.txns).into(),
            // Pages a tenth full: many of them.
            Method::Hash => HashIndex::new(rel, &rig.txns, FILL_PERCENT / 7).into(),
        }
    }
}

/// Blocks of the hot relation that are in memory.
fn resident(pool: &Pool, rel: RelId) -> u64 {
    pool.residents().flatten().filter(|page| page.rel == rel).count() as u64
}

/// A pool that holds `HOT` pages that are in use, and nothing of an index that is larger than all of it.
fn scene(method: Method) -> (Rig, Arc<Pool>, Relation, Index) {
    let rig = Rig::new(FRAMES);
    let hot = rig.create(1, Persistence::Permanent, Rank::HeapPage);
    (0..HOT).for_each(|_| drop(hot.extend(Fork::Main).unwrap()));
    let index = method.open(rig.create(2, Persistence::Permanent, Rank::IndexPage), &rig);
    for number in 0..method.entries() {
        index.insert(NewEntry::plain(&key(number), tid(number))).unwrap();
    }
    // The clock has no defence of its own against who passes through.
    let pool = rig.cold_under(FRAMES, Policy::Clock);
    pool.attach_wal(Arc::clone(&rig.wal));
    let hot = pool.relation(hot.id(), Rank::HeapPage);
    // Once: whatever sweeps the clock's hand over them has them out soon.
    (0..HOT).for_each(|block| drop(hot.read(Fork::Main, BlockNo(block)).unwrap()));
    assert_eq!(resident(&pool, hot.id()), u64::from(HOT));
    let index = method.open(pool.relation(index.relation().id(), Rank::IndexPage), &rig);
    let pages = index.relation().blocks(Fork::Main).unwrap() as usize;
    assert!(pages > FRAMES, "{method:?}: {pages} pages");
    (rig, pool, hot, index)
}

/// Vacuum of an index, in its ring; how many pages of those in use are there afterwards, and how often the ring used a
/// frame again.
fn pass(method: Method, is_dead: &mut dyn FnMut(Tid) -> bool) -> (u64, u64) {
    let (_rig, pool, hot, index) = scene(method);
    let mut passage = Passage::for_vacuum(index.relation());
    let mut pages = 0;
    let mut rest = || {
        pages += 1;
        if pages % 4 == 0 {
            // As the cleaner does when it keeps up.
            pool.clean_all()?;
        }
        Ok(())
    };
    index.vacuum(&mut passage, is_dead, &mut rest).unwrap();
    let reuses = pool.io_stats().into_iter().map(|(_, counts)| counts.reuses).sum();
    let left = resident(&pool, hot.id());
    pool.stop();
    (left, reuses)
}

#[test]
fn an_index_passes_through_the_ring_and_leaves_the_working_set_alone() {
    for method in [Method::BTree, Method::Hash] {
        let (left, reuses) = pass(method, &mut |_| false);
        assert_eq!(left, u64::from(HOT), "{method:?}");
        assert!(reuses > FRAMES as u64 / 2, "{method:?}: {reuses} frames were used again");
    }
}

#[test]
fn an_index_that_vacuum_changes_passes_through_the_ring_too() {
    for method in [Method::BTree, Method::Hash] {
        // Every page changes; every leaf of the tree goes.
        for share in [2, 1] {
            let (left, reuses) = pass(method, &mut |tid| tid.block.0 % share == 0);
            assert_eq!(left, u64::from(HOT), "{method:?}, one of {share}");
            assert!(reuses > FRAMES as u64 / 2, "{method:?}: {reuses} frames were used again");
        }
    }
}

/// The test above shows something: read as others read, the index takes the frames of pages in use.
#[test]
fn an_index_that_is_read_without_a_ring_displaces_what_is_in_use() {
    let (_rig, pool, hot, index) = scene(Method::BTree);
    for block in 0..index.relation().blocks(Fork::Main).unwrap() {
        drop(index.relation().read(Fork::Main, BlockNo(block)).unwrap());
    }
    assert!(resident(&pool, hot.id()) < u64::from(HOT) / 2);
    pool.stop();
}
