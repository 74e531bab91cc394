//! What rings take, and what they leave alone.

use super::*;

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

/// The sweep took the ring's page, and somebody else's came into the frame: a newcomer, without credit as yet.
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
