//! Pages filled in bulk, in a ring of their own.

use super::{World, add, get, stamp};
use crate::buffer::{Config, Policy, Purpose, Ring};
use base::disk::sim::SimDisk;
use base::usage::Role;
use base::{BlockNo, Fork};

const HOT: u32 = 40;
const FILLED: u32 = 600;

/// Fills many pages beside a working set, under PostgreSQL's clock, which has no defence of its own; how many pages of
/// the working set are read again afterwards, and how many frames the ring used again.
fn fill(in_ring: bool) -> (u64, u64) {
    let config = Config { frames: 128, replacement: Policy::Clock, ..Config::default() };
    let world = World::with(SimDisk::new(), config);
    let (hot, big) = (world.relation(5), world.relation(6));
    for n in 0..HOT {
        add(&hot, Fork::Main, u64::from(n) + 1);
    }
    world.pool.clean_all().unwrap();
    for _ in 0..5 {
        (0..HOT).for_each(|n| assert_eq!(get(&hot, BlockNo(n)), u64::from(n) + 1));
    }
    let mut ring = Ring::for_bulk_write(&world.pool);
    for n in 0..FILLED {
        let mut page = match in_ring {
            true => big.extend_in(&mut ring, Fork::Main).unwrap(),
            false => big.extend(Fork::Main).unwrap(),
        };
        let id = page.page_id();
        page.mark_dirty();
        stamp(&mut page, id, u64::from(n) + 1);
        drop(page);
        if n % 4 == 3 {
            // As the cleaner does when it keeps up.
            world.pool.clean_all().unwrap();
        }
    }
    let before = world.pool.stats().loads;
    (0..HOT).for_each(|n| assert_eq!(get(&hot, BlockNo(n)), u64::from(n) + 1));
    let again = world.pool.stats().loads - before;
    (0..FILLED).for_each(|n| assert_eq!(get(&big, BlockNo(n)), u64::from(n) + 1));
    let counts = world.pool.io_stats().into_iter();
    let mut bulk = counts.filter(|(key, _)| key.purpose == Purpose::BulkWrite);
    (again, bulk.find(|(key, _)| key.role == Role::Client).map_or(0, |(_, sum)| sum.reuses))
}

#[test]
fn pages_filled_in_a_ring_leave_the_working_set_alone() {
    let (again, reuses) = fill(true);
    assert!(again <= 8, "{again} of {HOT} pages of the working set were evicted");
    assert!(reuses >= 500, "{reuses} frames were used again");
    let (again, reuses) = fill(false);
    assert!(again >= HOT.into() && reuses == 0, "{again}: without a ring the test shows nothing");
}

/// The cleaner writes what the ring comes to next, though nobody wants free frames.
#[test]
fn what_a_ring_comes_to_is_written_ahead() {
    let world = World::new(512);
    let big = world.relation(6);
    let mut ring = Ring::for_bulk_write(&world.pool);
    for n in 0..60 {
        let mut page = big.extend_in(&mut ring, Fork::Main).unwrap();
        let id = page.page_id();
        page.mark_dirty();
        stamp(&mut page, id, n + 1);
    }
    let started = std::time::Instant::now();
    while world.pool.stats().written < 16 {
        assert!(started.elapsed().as_secs() < 30, "nothing was written");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(world.pool.stats().evictions, 0);
}
