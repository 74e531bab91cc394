//! Pages of unlogged tables on their way to the device, a few at a time.

use super::{World, add, set};
use crate::buffer::{Config, IoCounts, Relation};
use crate::page::PAGE_BYTES;
use base::disk::sim::{Access, SimDisk};
use base::{BlockNo, Fork, Persistence, RelId};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

const BLOCKS: u32 = 400;
const AFTER: u32 = 64;

/// Where pages were written that the system was not asked to start with, and how often it was asked.
#[derive(Default)]
struct Watch {
    unstarted: BTreeSet<u64>,
    calls: usize,
}

/// A pool whose cleaner has been stopped, so that only the test writes, and a filled relation.
fn filled(persistence: Persistence, flush_after: u32) -> (World, Relation) {
    let world =
        World::with(SimDisk::new(), Config { frames: 1024, flush_after: 0, ..Config::default() });
    world.pool.stop();
    let rel = world.relation(RelId::new(5, persistence).0);
    (0..BLOCKS).for_each(|n| assert_eq!(add(&rel, Fork::Main, 1), BlockNo(n)));
    world.pool.clean_all().unwrap();
    world.pool.set_flush_after(flush_after);
    (world, rel)
}

/// From now on sees what happens to the relation's file.
fn watch(world: &World, rel: &Relation) -> Arc<Mutex<Watch>> {
    let seen: Arc<Mutex<Watch>> = Arc::default();
    let (to, file) = (Arc::clone(&seen), crate::relfile::path(rel.id(), Fork::Main));
    world.disk.set_fault(Some(Box::new(move |kind, path, offset| {
        if path == file {
            let mut seen = to.lock().unwrap();
            if kind == Access::Write {
                seen.unstarted.insert(offset);
            } else if kind == Access::Writeback {
                seen.calls += 1;
                assert!(seen.unstarted.remove(&offset), "{offset} was written, and once");
            }
        }
        None
    })));
    seen
}

/// Changes every second block, so that none is another's neighbour, and writes them in batches of `of`; after each, how
/// many are not started with.
fn write(world: &World, rel: &Relation, of: usize, watch: &Mutex<Watch>) -> Vec<usize> {
    (0..BLOCKS).step_by(2).for_each(|n| set(rel, BlockNo(n), 2));
    let dirty = world.pool.frames.iter().filter(|frame| frame.is_dirty());
    let dirty: Vec<u32> = dirty.map(|frame| frame.index).collect();
    assert_eq!(dirty.len(), BLOCKS as usize / 2);
    let mut left = Vec::new();
    for batch in dirty.chunks(of) {
        assert_eq!(world.pool.write_frames(batch).all().unwrap(), batch.len());
        left.push(watch.lock().unwrap().unstarted.len());
    }
    left
}

fn counts(world: &World) -> IoCounts {
    let all = world.pool.io_stats().into_iter();
    all.map(|(_, counts)| counts).find(|counts| counts.writebacks > 0).unwrap_or_default()
}

#[test]
fn no_more_than_the_setting_says_are_left_unstarted() {
    for of in [1, 10, 128] {
        let (world, rel) = filled(Persistence::Unlogged, AFTER);
        let seen = watch(&world, &rel);
        let left = write(&world, &rel, of, &seen);
        assert!(left.iter().all(|left| *left < AFTER as usize), "{left:?}");
        let (pages, calls) =
            (BLOCKS as usize / 2 - left.last().unwrap(), seen.lock().unwrap().calls);
        assert!(pages >= 128 && calls == pages, "{calls} calls for {pages} pages");
        assert_eq!(world.disk.writeback_bytes(), (pages * PAGE_BYTES) as u64);
    }
}

#[test]
fn neighbours_are_started_in_one_call_and_all_are_counted() {
    let (world, rel) = filled(Persistence::Unlogged, AFTER);
    let seen = watch(&world, &rel);
    // Batches of one page each, in no order.
    for n in (0..AFTER).rev().map(|n| n * 7 % AFTER) {
        set(&rel, BlockNo(n), 2);
        let dirty = world.pool.frames.iter().find(|frame| frame.is_dirty()).unwrap().index;
        assert_eq!(world.pool.write_frames(&[dirty]).all().unwrap(), 1);
    }
    assert_eq!(seen.lock().unwrap().calls, 1);
    assert_eq!(counts(&world).writebacks, AFTER.into());
    assert_eq!(world.disk.writeback_bytes(), u64::from(AFTER) * PAGE_BYTES as u64);
}

#[test]
fn the_setting_switches_it_off_and_on_at_any_time() {
    let (world, rel) = filled(Persistence::Unlogged, 0);
    let seen = watch(&world, &rel);
    assert_eq!(*write(&world, &rel, 10, &seen).last().unwrap(), BLOCKS as usize / 2);
    assert_eq!((world.disk.writeback_bytes(), counts(&world)), (0, IoCounts::default()));
    world.pool.set_flush_after(1);
    seen.lock().unwrap().unstarted.clear();
    assert_eq!(*write(&world, &rel, 10, &seen).last().unwrap(), 0);
    // What was noted before it was switched off is forgotten.
    world.pool.set_flush_after(AFTER);
    write(&world, &rel, 10, &seen);
    let started = world.disk.writeback_bytes();
    world.pool.set_flush_after(0);
    write(&world, &rel, 10, &seen);
    assert_eq!(world.disk.writeback_bytes(), started);
}

#[test]
fn what_is_synced_soon_or_gone_soon_is_left_to_that() {
    for persistence in [Persistence::Permanent, Persistence::Temporary] {
        let (world, rel) = filled(persistence, 1);
        let seen = watch(&world, &rel);
        write(&world, &rel, 10, &seen);
        assert_eq!(world.disk.writeback_bytes(), 0, "{persistence:?}");
    }
    // Synced since, or removed: nothing is left to be started with.
    let (world, rel) = filled(Persistence::Unlogged, BLOCKS);
    let seen = watch(&world, &rel);
    write(&world, &rel, 10, &seen);
    world.pool.clean_all().unwrap();
    world.pool.set_flush_after(1);
    let other = world.relation(RelId::new(6, Persistence::Unlogged).0);
    let started = world.disk.writeback_bytes();
    world.pool.drop_relation(rel.id()).unwrap();
    add(&other, Fork::Main, 1);
    let dirty = world.pool.frames.iter().find(|frame| frame.is_dirty()).unwrap().index;
    assert_eq!(world.pool.write_frames(&[dirty]).all().unwrap(), 1);
    assert_eq!(world.disk.writeback_bytes() - started, PAGE_BYTES as u64);
}

/// RF5: only a sync promises something, and it is owed still.
#[test]
fn a_start_that_fails_costs_no_page() {
    let (world, rel) = filled(Persistence::Unlogged, 1);
    world.disk.set_fault(Some(Box::new(|kind, _, _| {
        (kind == Access::Writeback).then(|| std::io::Error::from_raw_os_error(libc::EIO))
    })));
    write(&world, &rel, 10, &Mutex::default());
    assert_eq!(world.pool.dirty_count(), 0);
    assert_eq!(world.pool.stats().write_errors, 0);
    // What has become of it, its sync tells.
    let syncs = world.pool.files().stats().syncs;
    world.pool.clean_all().unwrap();
    assert_eq!(world.pool.files().stats().syncs, syncs + 1);
}
