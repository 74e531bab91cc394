use super::*;

#[test]
fn pages_survive_eviction() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..200 {
        assert_eq!(add(&rel, Fork::Main, n + 1), BlockNo(n as u32));
    }
    assert_eq!(rel.blocks(Fork::Main).unwrap(), 200);
    for n in (0..200).rev() {
        assert_eq!(get(&rel, BlockNo(n as u32)), n + 1);
    }
    let stats = world.pool.stats();
    assert!(stats.evictions >= 184 && stats.written >= 184, "{stats:?}");
}

#[test]
fn pages_survive_a_restart() {
    let disk = SimDisk::new();
    for torn in [TornPages::DoubleWrite, TornPages::FullPageWrites, TornPages::Off] {
        let world = World::over(disk.clone(), 16, torn);
        let rel = world.relation(5);
        let before = rel.blocks(Fork::Main).unwrap();
        for n in 0..before {
            // Blocks that were only reserved are zero.
            let value = get(&rel, BlockNo(n));
            assert!(value == 0 || value == u64::from(n) + 1, "block {n} has {value}");
        }
        for _ in 0..30 {
            let next = u64::from(rel.blocks(Fork::Main).unwrap()) + 1;
            add(&rel, Fork::Main, next);
            add(&rel, Fork::Visibility, next);
        }
        world.pool.clean_all().unwrap();
        assert_eq!(world.pool.dirty_count(), 0);
    }
}

#[test]
fn a_block_past_the_end_is_an_error_that_names_it() {
    let world = World::new(16);
    let rel = world.relation(5);
    add(&rel, Fork::Main, 1);
    let error = rel.read(Fork::Main, BlockNo(7)).err().unwrap();
    assert_eq!(error.sqlstate(), "XX001");
    assert!(error.to_string().contains("block 7 of file \"base/5\""), "{error}");
    assert!(rel.write(Fork::FreeSpace, BlockNo(0)).is_err());
    assert_eq!(rel.blocks(Fork::FreeSpace).unwrap(), 0);
}

#[test]
fn guards_become_pins_and_pins_guards() {
    let world = World::new(16);
    let rel = world.relation(5);
    let block = add(&rel, Fork::Main, 1);
    let pin = rel.write(Fork::Main, block).unwrap().into_pin();
    {
        let shared = pin.read();
        assert!(pin.try_write().is_none());
        assert_eq!(shared.block(), block);
        let other = rel.pin(Fork::Main, block).unwrap();
        drop(other.read().into_pin());
    }
    {
        let mut alone = pin.try_write().unwrap();
        let id = alone.page_id();
        alone.mark_dirty();
        stamp(&mut alone, id, 9);
    }
    drop(pin);
    assert_eq!(get(&rel, block), 9);
    world.assert_unpinned();
}

#[test]
fn a_cursor_keeps_one_page_and_owns_its_relation() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..40 {
        add(&rel, Fork::Main, n + 1);
    }
    let mut cursor = Cursor::new(rel.clone());
    assert!(cursor.page().is_none());
    for n in 0..40 {
        cursor.move_to(Fork::Main, BlockNo(n)).unwrap();
        let pin = cursor.page().unwrap();
        assert_eq!(stamped(pin.read().view(), pin.page_id()), Some(u64::from(n) + 1));
    }
    drop(cursor);
    world.assert_unpinned();
}

#[test]
fn optimistic_reads_see_a_page_or_nothing() {
    let world = World::new(16);
    let rel = world.relation(5);
    let block = add(&rel, Fork::Main, 3);
    let id = PageId::main(RelId(5), block);
    let read = |view: PageView<'_>| stamped(view, id);
    assert_eq!(rel.optimistic(Fork::Main, block, read), Optimistic::Ok(3));
    assert_eq!(rel.optimistic(Fork::Main, BlockNo(99), read), Optimistic::Retry);
    let mut guard = rel.write(Fork::Main, block).unwrap();
    assert_eq!(rel.optimistic(Fork::Main, block, read), Optimistic::Retry);
    guard.put_u64(WORDS_FROM, 4);
    drop(guard);
    // Changed during the read: latch in the closure.
    let raced = rel.optimistic(Fork::Main, block, |view| {
        drop(rel.write(Fork::Main, block).unwrap());
        Some(view.get_u64(WORDS_FROM))
    });
    assert_eq!(raced, Optimistic::Retry);
    // A shared latch, a pin or a hint does not disturb.
    let shared = rel.read(Fork::Main, block).unwrap();
    let quiet = rel.optimistic(Fork::Main, block, |view| {
        shared.hint_or(32, 1);
        Some(view.get_u64(WORDS_FROM))
    });
    assert_eq!(quiet, Optimistic::Ok(4));
}

#[test]
fn a_hint_does_not_make_a_page_dirty() {
    let world = World::new(16);
    let rel = world.relation(5);
    let block = add(&rel, Fork::Main, 3);
    world.pool.clean_all().unwrap();
    rel.read(Fork::Main, block).unwrap().hint_or(40, 0x0300);
    assert_eq!(world.pool.dirty_count(), 0);
    assert_eq!(rel.read(Fork::Main, block).unwrap().get_u16(40) & 0x0300, 0x0300);
}

/// BF5: a dirty page counts from its first change on.
#[test]
fn the_redo_point_waits_for_the_oldest_dirty_page() {
    let world = World::new(64);
    let rel = world.relation(5);
    let unlogged = world.pool.create_relation(RelId(1 << 30), Rank::HeapPage).unwrap();
    world.pool.set_redo_position(Lsn(100));
    assert_eq!(world.pool.min_rec_lsn(), Lsn(100));
    for n in 0..20 {
        world.pool.set_redo_position(Lsn(1000 + 10 * n));
        add(&rel, Fork::Main, n + 1);
        add(&unlogged, Fork::Main, n + 1);
    }
    world.pool.set_redo_position(Lsn(5000));
    assert_eq!(world.pool.min_rec_lsn(), Lsn(1000));
    set(&rel, BlockNo(0), 77);
    assert_eq!(world.pool.min_rec_lsn(), Lsn(1000), "only the first change counts");
    world.pool.clean_up_to(Lsn(1100)).unwrap();
    assert!(world.pool.min_rec_lsn() >= Lsn(1100));
    set(&rel, BlockNo(0), 78);
    world.pool.clean_up_to(Lsn(5000)).unwrap();
    assert_eq!(world.pool.min_rec_lsn(), Lsn(5000));
    assert!(world.pool.dirty_count() >= 20, "unlogged pages keep no redo point back");
    world.pool.clean_all().unwrap();
    assert_eq!(world.pool.dirty_count(), 0);
}

#[test]
fn dropped_relations_leave_nothing_behind() {
    let world = World::new(32);
    let rel = world.relation(5);
    for n in 0..60 {
        add(&rel, Fork::Main, n + 1);
        add(&rel, Fork::FreeSpace, n + 1);
    }
    world.pool.drop_relation(RelId(5)).unwrap();
    assert!(rel.read(Fork::Main, BlockNo(3)).is_err());
    assert!(rel.extend(Fork::Main).is_err());
    drop(rel);
    world.pool.drop_relation(RelId(5)).unwrap();
    assert_eq!(world.pool.dirty_count(), 0);
    assert_eq!(world.pool.stats().free, 32);
    assert!(!world.pool.files().exists(RelId(5)).unwrap());
    let end = world.pool.log_position();
    assert_eq!(world.pool.min_rec_lsn(), end);
}

#[test]
fn a_truncated_fork_grows_again_with_zeros() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..50 {
        add(&rel, Fork::Main, n + 1);
    }
    rel.truncate(Fork::Main, 20).unwrap();
    assert_eq!(rel.blocks(Fork::Main).unwrap(), 20);
    assert!(rel.read(Fork::Main, BlockNo(20)).is_err());
    let page = rel.extend(Fork::Main).unwrap();
    assert_eq!(page.block(), BlockNo(20));
    assert!(page.is_zero());
    drop(page);
    assert_eq!(get(&rel, BlockNo(19)), 20);
}

#[test]
fn redo_extends_and_initialises() {
    let world = World::new(16);
    let rel = world.relation(5);
    let page = rel.write_for_redo(Fork::Main, BlockNo(9), false).unwrap();
    assert!(page.is_zero());
    drop(page);
    assert_eq!(rel.blocks(Fork::Main).unwrap(), 10);
    set(&rel, BlockNo(9), 5);
    assert!(rel.write_for_redo(Fork::Main, BlockNo(9), true).unwrap().is_zero());
    assert!(rel.write_for_redo(Fork::Visibility, BlockNo(0), true).unwrap().is_zero());
}

#[test]
fn a_ring_leaves_the_working_set_alone() {
    // Room for the working set beside the ring and what the cleaner keeps free, at most an eighth.
    let world = World::new(128);
    let (hot, big) = (world.relation(5), world.relation(6));
    for n in 0..40 {
        add(&hot, Fork::Main, n + 1);
    }
    for n in 0..600 {
        add(&big, Fork::Main, n + 1);
    }
    world.pool.clean_all().unwrap();
    // A page read once is on probation; a working set is what is read again and found there.
    let mut rounds = 0;
    let loads = loop {
        let before = world.pool.stats().loads;
        for n in 0..40 {
            get(&hot, BlockNo(n));
        }
        let loads = world.pool.stats().loads;
        rounds += 1;
        if rounds > 1 && loads == before {
            break loads;
        }
        assert!(rounds < 100, "40 pages that are always read do not stay in 128 frames");
    };
    let mut ring = Ring::new(8, Purpose::BulkRead);
    for n in 0..600 {
        let page = big.read_in(&mut ring, Fork::Main, BlockNo(n)).unwrap();
        assert_eq!(stamped(page.view(), page.page_id()), Some(u64::from(n) + 1));
    }
    let scanned = world.pool.stats().loads - loads;
    assert!(scanned >= 470, "{scanned} loads");
    for n in 0..40 {
        get(&hot, BlockNo(n));
    }
    let again = world.pool.stats().loads - loads - scanned;
    assert!(again <= 8, "{again} pages of the working set were evicted");
}

#[test]
fn full_page_images_are_owed_once_for_each_time_a_page_becomes_dirty() {
    use crate::wal::LoggedPage;
    let world = World::over(SimDisk::new(), 16, TornPages::FullPageWrites);
    let rel = world.relation(5);
    let block = add(&rel, Fork::Main, 1);
    let owes = |dirty: bool| {
        let mut page = rel.write(Fork::Main, block).unwrap();
        if dirty {
            page.mark_dirty();
        }
        page.image().is_some()
    };
    assert!(owes(true), "its first record since it was new");
    assert!(!owes(true));
    world.pool.clean_all().unwrap();
    assert!(!owes(false));
    assert!(owes(true));
    assert!(!owes(true));
}

#[test]
fn probation_reads_less_than_the_clock_under_skew() {
    let loads = |replacement| {
        let world =
            World::with(SimDisk::new(), Config { frames: 128, replacement, ..Config::default() });
        let rel = world.relation(5);
        for n in 0..2000 {
            add(&rel, Fork::Main, n + 1);
        }
        world.pool.clean_all().unwrap();
        let (mut rng, before) = (fastrand::Rng::with_seed(1), world.pool.stats().loads);
        for _ in 0..20_000 {
            // Squares of squares: much skew.
            let x = rng.f64().powi(4);
            get(&rel, BlockNo((x * 2000.0) as u32));
        }
        world.pool.stats().loads - before
    };
    let (clock, probation) = (loads(Policy::Clock), loads(Policy::Probation));
    assert!(probation < clock, "{probation} loads against {clock}");
}

#[test]
fn files_synced_and_blocks_reserved_are_counted() {
    let world = World::new(16);
    world.pool.stop();
    let counts = || {
        let all = world.pool.io_stats().into_iter().map(|(_, counts)| counts);
        all.fold((0, 0), |(syncs, extends), of| (syncs + of.syncs, extends + of.extends))
    };
    let rels = [5, 6].map(|id| world.relation(id));
    rels[0].reserve(Fork::Main, 7).unwrap();
    rels[1].ensure_blocks(Fork::Main, 4).unwrap();
    assert_eq!(counts(), (0, 11));
    world.pool.places.sync(&world.pool);
    assert_eq!(counts().0, 2);
    world.pool.places.sync(&world.pool);
    assert_eq!(counts().0, 2, "nothing was left");
    rels[0].reserve(Fork::Main, 1).unwrap();
    world.pool.sync_all().unwrap();
    assert_eq!(counts().0, 3);
}
