//! What rings take, and what they leave alone.

use super::stress::POLICIES;
use super::*;
use std::collections::BTreeMap;

/// A world that has read nothing of `pages` pages of relation 5 and one of relation 6; nobody but the test takes frames.
fn cold(frames: usize, pages: u32) -> World {
    let world = World::new(frames);
    for n in 0..pages {
        add(&world.relation(5), Fork::Main, u64::from(n) + 1);
    }
    add(&world.relation(6), Fork::Main, 1);
    world.pool.clean_all().unwrap();
    let cold = World::over(world.disk.clone(), frames, TornPages::DoubleWrite);
    cold.pool.stop();
    cold
}

/// The sweep took the ring's page, and somebody else's came into the frame: a newcomer, without credit as yet (BF9).
#[test]
fn a_ring_leaves_a_page_alone_that_another_loaded_into_its_frame() {
    let world = cold(16, 3);
    let (big, others) = (world.relation(5), world.relation(6));
    let mut ring = Ring::new(2, Purpose::BulkRead);
    let mut scan = |n| drop(big.read_in(&mut ring, Fork::Main, BlockNo(n)).unwrap());
    scan(0);
    scan(1);
    let held = world.pool.residents().flatten().find(|page| page.block == BlockNo(0)).unwrap();
    let frame = &world.pool.frames[held.frame as usize];
    assert!(world.pool.evict(frame, frame.word.idle().unwrap()));
    world.pool.free.give(&[frame.index]);
    assert_eq!(get(&others, BlockNo(0)), 1);
    let newcomer = PageId::main(others.id(), BlockNo(0));
    assert!(frame.holds(newcomer) && !world.pool.replacer.is_wanted(&frame.credit));
    scan(2);
    assert!(frame.holds(newcomer), "the ring has taken a page that it had not loaded");
    // Of its own it takes the next.
    let reuses = || world.pool.io_stats().iter().map(|(_, counts)| counts.reuses).sum::<u64>();
    assert_eq!(reuses(), 0);
    scan(0);
    assert_eq!(reuses(), 1);
}

/// Reads blocks in a ring, far ahead, and changes each.
fn change(
    rel: &Relation,
    (ring, reads): (&mut Ring, u32),
    blocks: u32,
    mut after: impl FnMut(u32),
) {
    let mut ahead = ReadAhead::new(rel, Reach { reads, pages: 4 });
    for n in 0..blocks {
        let at = |place| Some(BlockNo(place));
        let started = ahead.look(rel, Fork::Main, n..blocks, Some(&mut *ring), at);
        ring.expect(started);
        let mut page = rel.write_in(ring, Fork::Main, BlockNo(n)).unwrap();
        let id = page.page_id();
        page.mark_dirty();
        stamp(&mut page, id, 7);
        drop(page);
        after(n);
    }
}

/// Whatever the ring is for, and though it is filled by what is read ahead: the cleaner hears of what the scan has changed
/// before the ring comes back to it.
#[test]
fn what_a_scan_has_changed_is_written_before_its_ring_comes_back() {
    for purpose in [Purpose::BulkRead, Purpose::Vacuum] {
        let before = World::new(512);
        for n in 0..200 {
            add(&before.relation(5), Fork::Main, n + 1);
        }
        before.pool.clean_all().unwrap();
        let world = World::over(before.disk.clone(), 512, TornPages::DoubleWrite);
        // With it 64 pages go round, of which half are ahead of the scan.
        let mut ring = Ring::new(32, purpose).with_ahead(32);
        change(&world.relation(5), (&mut ring, 8), 100, |_| ());
        let started = std::time::Instant::now();
        while world.pool.stats().written < 16 {
            assert!(started.elapsed().as_secs() < 30, "{purpose:?}: nothing was written");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What is still dirty when the ring comes to it is not left behind: the ring becomes as wide as the cleaner is slow.
#[test]
fn a_ring_becomes_wider_while_what_it_comes_to_is_dirty() {
    let world = cold(256, 600);
    let rel = world.relation(5);
    let mut ring = Ring::new(4, Purpose::BulkRead).with_ahead(4);
    change(&rel, (&mut ring, 1), 600, |n| {
        if n % 12 == 11 {
            world.pool.clean_all().unwrap();
        }
    });
    let taken = 256 - world.pool.stats().free;
    assert!((12..=32).contains(&taken), "{taken} frames are in use");
}

/// The turns of a ring that becomes wider: what is kept comes again a round later, as does what came beside it.
#[test]
fn a_page_that_is_kept_keeps_its_turn() {
    let page = |n| PageId::main(RelId(5), BlockNo(n));
    let mut ring = Ring::new(3, Purpose::BulkRead);
    let mut load = |n: u32, kept: bool| {
        let turn = ring.reusable().map(|(_, page)| page.block.0);
        if kept {
            ring.keep(5);
        }
        ring.note(n, page(n));
        turn
    };
    assert_eq!([0, 1, 2].map(|n| load(n, false)), [None; 3]);
    assert_eq!(load(3, true), Some(0));
    assert_eq!([4, 5, 6].map(|n| load(n, false)), [1, 2, 0].map(Some));
    // Five pages are the most.
    assert_eq!([7, 8, 9, 10, 11, 12, 13].map(|n| load(n, true)), [3, 4, 5, 6, 3, 7, 8].map(Some));
}

const FRAMES: usize = 256;
const HOT: u32 = 64;
/// Beside these and pages in use there is room for two rings, hardly more.
const COLD: u32 = 120;
const BIG: u32 = 600;

/// A pool with pages in use, and nothing of a relation that is larger than all of it.
fn with_hot_pages(policy: Policy) -> World {
    let before = World::new(FRAMES);
    for (id, blocks) in [(5, BIG), (6, HOT), (7, COLD)] {
        for n in 0..blocks {
            add(&before.relation(id), Fork::Main, u64::from(n) + 1);
        }
    }
    before.pool.clean_all().unwrap();
    let config = Config { frames: FRAMES, replacement: policy, ..Config::default() };
    let world = World::with(before.disk.clone(), config);
    world.pool.stop();
    for (id, blocks) in [(6, HOT), (7, COLD), (6, HOT), (6, HOT)] {
        (0..blocks)
            .for_each(|n| assert_eq!(get(&world.relation(id), BlockNo(n)), u64::from(n) + 1));
    }
    world
}

/// Goes round through many pages, and through those in use as well.
fn pass(world: &World, purpose: Purpose) {
    let [big, hot_pages, filled] = [5, 6, 8].map(|id| world.relation(id));
    let mut ring = Ring::new(32, purpose);
    for n in 0..BIG {
        let (block, hot) = (BlockNo(n), BlockNo(n % HOT));
        let changed = match purpose {
            Purpose::BulkRead => {
                drop(big.read_in(&mut ring, Fork::Main, block).unwrap());
                drop(hot_pages.read_in(&mut ring, Fork::Main, hot).unwrap());
                continue;
            }
            Purpose::BulkWrite => filled.extend_in(&mut ring, Fork::Main),
            _ => big.write_in(&mut ring, Fork::Main, block),
        };
        let mut page = changed.unwrap();
        let id = page.page_id();
        page.mark_dirty();
        stamp(&mut page, id, 7);
        drop(page);
        drop(hot_pages.write_in(&mut ring, Fork::Main, hot).unwrap());
        if n % 4 == 3 {
            // As the cleaner does when it keeps up.
            world.pool.clean_all().unwrap();
        }
    }
}

/// Whoever passes through takes no credit from pages that others use, nor gives them any, though it reads them too (BF9).
#[test]
fn a_ring_leaves_pages_in_use_the_credit_that_they_have() {
    for policy in POLICIES {
        for purpose in [Purpose::BulkRead, Purpose::BulkWrite, Purpose::Vacuum] {
            let world = with_hot_pages(policy);
            let credits = || {
                let hot = world.pool.residents().flatten().filter(|page| page.rel == RelId(6));
                hot.map(|page| (page.block, page.credit)).collect::<BTreeMap<_, _>>()
            };
            let before = credits();
            assert_eq!(before.len(), HOT as usize);
            assert!(before.values().all(|credit| *credit > 0), "{policy:?}: {before:?}");
            for time in ["first", "second"] {
                pass(&world, purpose);
                assert_eq!(credits(), before, "{policy:?}, {purpose:?}, the {time} time");
            }
            let reuses: u64 = world.pool.io_stats().iter().map(|(_, counts)| counts.reuses).sum();
            assert!(reuses >= u64::from(BIG), "{policy:?}, {purpose:?}: {reuses}");
        }
    }
}
