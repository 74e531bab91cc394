use super::gated::GatedDisk;
use super::*;
use base::disk::Disk;
use base::disk::sim::Access;
use base::interrupt::Interrupt;
use base::park;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

fn eio() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}

#[test]
fn all_frames_pinned_is_an_error_after_a_while_and_nothing_is_stuck() {
    let disk = SimDisk::new();
    let env = Env::new(Arc::new(disk.clone()));
    let files = Arc::new(RelFiles::open(Arc::clone(&env.disk), 100).unwrap());
    let frame_wait = Duration::from_millis(1000);
    let config = Config { frames: 16, frame_wait, ..Config::default() };
    let world = World { disk, pool: Pool::open(&env, config, files).unwrap() };
    let rel = world.relation(5);
    for n in 0..20 {
        add(&rel, Fork::Main, n + 1);
    }
    let pins: Vec<_> = (0..16).map(|n| rel.pin(Fork::Main, BlockNo(n)).unwrap()).collect();
    let error = rel.read(Fork::Main, BlockNo(17)).err().unwrap();
    assert_eq!(error.sqlstate(), "53000");
    assert!(error.to_string().contains("no unpinned buffers"), "{error}");
    assert!(rel.extend(Fork::Main).is_err());
    assert_eq!(get(&rel, BlockNo(3)), 4, "what is in memory can be used");
    drop(pins);
    assert_eq!(get(&rel, BlockNo(17)), 18);
    add(&rel, Fork::Main, 21);
}

#[test]
fn a_read_error_reaches_everybody_who_waits_and_is_forgotten() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..40 {
        add(&rel, Fork::Main, n + 1);
    }
    world.pool.clean_all().unwrap();
    for n in 20..40 {
        get(&rel, BlockNo(n));
    }
    let reads = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&reads);
    world.disk.set_fault(Some(Box::new(move |kind, path, offset| {
        if kind == Access::Read && path == "base/5" && offset == 0 {
            seen.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(100));
            return Some(eio());
        }
        None
    })));
    let failed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let error = rel.read(Fork::Main, BlockNo(0)).err().expect("the disk fails");
                    assert!(error.to_string().contains("block 0 of file \"base/5\""), "{error}");
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).count()
    });
    assert_eq!(failed, 8);
    assert!(reads.load(Ordering::SeqCst) < 8, "waiters inherit the error");
    world.disk.set_fault(None);
    assert_eq!(get(&rel, BlockNo(0)), 1);
    assert_eq!(world.pool.stats().frames, 16);
}

#[test]
fn a_damaged_page_is_named_and_others_are_served() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..40 {
        add(&rel, Fork::Main, n + 1);
    }
    world.pool.clean_all().unwrap();
    for n in 20..40 {
        get(&rel, BlockNo(n));
    }
    world.disk.corrupt("base/5", 3 * PAGE_BYTES as u64 + 5000, |bytes| bytes[0] ^= 4);
    let error = rel.read(Fork::Main, BlockNo(3)).err().unwrap();
    assert_eq!(error.sqlstate(), "XX001");
    assert!(error.to_string().contains("block 3 of file \"base/5\""), "{error}");
    for n in 4..20 {
        assert_eq!(get(&rel, BlockNo(n)), u64::from(n) + 1);
    }
    assert!(rel.write_for_redo(Fork::Main, BlockNo(3), true).unwrap().is_zero());
}

#[test]
fn pages_that_can_not_be_written_stay_dirty_until_they_can() {
    let world = World::new(32);
    let rel = world.relation(5);
    for n in 0..20 {
        add(&rel, Fork::Main, n + 1);
    }
    world.disk.set_fault(Some(Box::new(|kind, path, offset| {
        let bad = kind == Access::Write && path == "base/5" && offset < 10 * PAGE_BYTES as u64;
        bad.then(eio)
    })));
    let before = world.pool.min_rec_lsn();
    assert!(world.pool.clean_all().is_err());
    assert!(world.pool.dirty_count() >= 10);
    assert_eq!(world.pool.min_rec_lsn(), before);
    assert_eq!(get(&rel, BlockNo(3)), 4);
    world.disk.set_fault(None);
    set(&rel, BlockNo(3), 99);
    world.pool.clean_all().unwrap();
    assert_eq!(world.pool.dirty_count(), 0);
    let again = World::over(world.disk.clone(), 16, TornPages::DoubleWrite);
    assert_eq!(get(&again.relation(5), BlockNo(3)), 99);
}

/// The cleaner goes on writing what can be written, and the double-write area keeps the copy of what can't: the failed
/// write may have torn the page.
#[test]
fn a_page_that_can_not_be_written_holds_up_no_other() {
    let world = World::new(16);
    let (bad, good) = (world.relation(5), world.relation(6));
    for n in 0..3 {
        add(&bad, Fork::Main, n + 1);
    }
    for n in 0..160 {
        add(&good, Fork::Main, n + 1);
    }
    world.pool.clean_all().unwrap();
    world.disk.set_fault(Some(Box::new(|kind, path, offset| {
        (kind == Access::Write && path == "base/5" && offset == 0).then(eio)
    })));
    (0..3).for_each(|n| set(&bad, BlockNo(n), 700 + u64::from(n)));
    for round in 1..5 {
        for n in 0..160 {
            set(&good, BlockNo(n), round * 1000 + u64::from(n));
        }
        for n in 0..160 {
            assert_eq!(get(&good, BlockNo(n)), round * 1000 + u64::from(n));
        }
    }
    assert!(world.pool.clean_all().is_err(), "one page is left");
    assert_eq!(world.pool.dirty_count(), 1);
    let stats = world.pool.stats();
    assert!(
        stats.write_errors > 0 && stats.batches > 2 * *doublewrite::AREAS.start() as u64,
        "{stats:?}"
    );
    assert_eq!(get(&bad, BlockNo(0)), 700);
    assert_eq!([1, 2].map(|n| get(&bad, BlockNo(n))), [701, 702], "its neighbours were written");
    world.pool.stop();
    world.disk.set_fault(None);
    world.disk.corrupt("base/5", 5000, |bytes| bytes[0] ^= 4);
    let again = World::over(world.disk.clone(), 16, TornPages::DoubleWrite);
    let rel = again.relation(5);
    assert_eq!([0, 1, 2].map(|n| get(&rel, BlockNo(n))), [700, 701, 702]);
}

/// A copy that waits to be written again is older than one that was made since and found its way.
#[test]
fn what_was_written_is_not_overwritten_by_what_failed_before() {
    let world = World::new(32);
    let rel = world.relation(5);
    for n in 0..4 {
        add(&rel, Fork::Main, n + 1);
    }
    let failures = AtomicUsize::new(4);
    world.disk.set_fault(Some(Box::new(move |kind, path, _| {
        let is_write = kind == Access::Write && path == "base/5";
        let fails = |left: usize| left.checked_sub(1);
        let failed =
            is_write && failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok();
        failed.then(eio)
    })));
    assert!(world.pool.clean_all().is_err());
    (0..4).for_each(|n| set(&rel, BlockNo(n), 50 + u64::from(n)));
    // The copies that were kept fail again where any failures are left; what is newer is written after them.
    while world.pool.clean_all().is_err() {}
    add(&world.relation(6), Fork::Main, 1);
    world.pool.clean_all().unwrap();
    let again = World::over(world.disk.clone(), 16, TornPages::DoubleWrite);
    let rel = again.relation(5);
    assert_eq!([0, 1, 2, 3].map(|n| get(&rel, BlockNo(n))), [50, 51, 52, 53]);
}

/// RF2: there is space before there is a page.
#[test]
fn a_full_disk_is_met_by_whoever_extends() {
    let world = World::new(16);
    let rel = world.relation(5);
    add(&rel, Fork::Main, 1);
    world.disk.set_fault(Some(Box::new(|kind, path, offset| {
        let grows = kind == Access::Write && path == "base/5" && offset >= PAGE_BYTES as u64;
        grows.then(|| io::Error::from_raw_os_error(libc::ENOSPC))
    })));
    let error = rel.extend(Fork::Main).err().unwrap();
    assert_eq!(error.sqlstate(), "53100");
    assert_eq!(rel.blocks(Fork::Main).unwrap(), 1);
    assert_eq!(get(&rel, BlockNo(0)), 1);
    world.disk.set_fault(None);
    assert_eq!(add(&rel, Fork::Main, 2), BlockNo(1));
}

/// Every crash of a run that writes each page many times: each page is whole afterwards (BF6).
#[test]
fn no_page_stays_torn() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..8 {
        add(&rel, Fork::Main, n + 1);
    }
    world.pool.clean_all().unwrap();
    let start = world.disk.operations();
    for round in 1..6 {
        for n in 0..8 {
            set(&rel, BlockNo(n), round * 100 + u64::from(n));
        }
        world.pool.clean_all().unwrap();
    }
    let mut crashes = world.disk.crashes();
    let mut repaired = 0;
    for at in start..crashes.len() {
        crashes.advance_to(at);
        for seed in 0..4 {
            let image = crashes.image(&mut fastrand::Rng::with_seed(seed * 7919 + at as u64));
            let disk: Arc<dyn Disk> = Arc::new(image);
            let files = RelFiles::open(Arc::clone(&disk), 10).unwrap();
            repaired += doublewrite::recover(&*disk, &files, &mut |_| Ok(false)).unwrap().repaired;
            for n in 0..8 {
                let mut bytes = crate::page::PageBytes::new();
                let id = PageId::main(RelId(5), BlockNo(n));
                files.read(id, &mut bytes.0).unwrap();
                crate::page::verify(&bytes.0, id)
                    .unwrap_or_else(|e| panic!("crash at {at}, seed {seed}, block {n}: {e}"));
            }
            assert_eq!(
                doublewrite::recover(&*disk, &files, &mut |_| Ok(false)).unwrap().repaired,
                0,
                "idempotent"
            );
        }
    }
    assert!(repaired > 50, "{repaired} torn pages were met");
}

/// RF4: of a relation whose files go nothing is on its way to the disk.
#[test]
fn a_failed_write_owes_nothing_to_a_relation_that_is_gone() {
    let world = World::new(32);
    let (gone, cut) = (world.relation(5), world.relation(6));
    for n in 0..10 {
        add(&gone, Fork::Main, n + 1);
        add(&cut, Fork::Main, n + 1);
    }
    let refuse = |rel: &Relation, bad: &'static str| {
        (0..10).for_each(|n| set(rel, BlockNo(n), u64::from(n) + 20));
        world.disk.set_fault(Some(Box::new(move |kind, path, _| {
            (kind == Access::Write && path == bad).then(eio)
        })));
        assert!(world.pool.clean_all().is_err());
        world.disk.set_fault(None);
    };
    refuse(&gone, "base/5");
    world.pool.drop_relation(RelId(5)).unwrap();
    refuse(&cut, "base/6");
    cut.truncate(Fork::Main, 4).unwrap();
    world.pool.clean_all().unwrap();
    assert!(!world.pool.files().exists(RelId(5)).unwrap());
    assert_eq!(world.pool.files().blocks(RelId(6), Fork::Main).unwrap(), 4);
}

/// Writes what is dirty as one batch.
fn write_dirty(pool: &Pool) -> Option<crate::error::Error> {
    let dirty = pool.frames.iter().filter(|frame| frame.is_dirty());
    let dirty: Vec<u32> = dirty.map(|frame| frame.index).collect();
    pool.write_frames(&dirty).failed
}

/// The next batch carries its copy on; until that is whole, the last batch's copy is what mends the page.
#[test]
fn a_page_that_a_failing_write_tore_is_covered_while_the_next_batch_is_written() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 1..3 {
        add(&rel, Fork::Main, n);
    }
    world.pool.clean_all().unwrap();
    world.disk.set_fault(Some(Box::new(|kind, path, offset| {
        (kind == Access::Write && path == "base/5" && offset == 0).then(eio)
    })));
    set(&rel, BlockNo(0), 700);
    assert!(write_dirty(&world.pool).is_some());
    world.pool.places.sync(&world.pool);
    set(&rel, BlockNo(1), 800);
    assert!(write_dirty(&world.pool).is_some());
    world.pool.stop();
    world.disk.set_fault(None);
    // Of the last batch only the header came to the disk.
    let last = (world.pool.stats().batches - 1) * doublewrite::AREA_BYTES;
    world.disk.corrupt(doublewrite::PATH, last + PAGE_BYTES as u64, |bytes| bytes.fill(0));
    world.disk.corrupt("base/5", 5000, |bytes| bytes[0] ^= 4);
    let again = World::over(world.disk.clone(), 16, TornPages::DoubleWrite);
    assert_eq!(get(&again.relation(5), BlockNo(0)), 700);
}

#[test]
fn pages_are_written_though_the_disk_has_no_room_for_more_areas() {
    let least = *doublewrite::AREAS.start() as u64;
    for areas in [3, least] {
        let world = World::new(16);
        let rel = world.relation(5);
        world.disk.set_fault(Some(Box::new(move |kind, path, offset| {
            let grows = offset >= areas * doublewrite::AREA_BYTES;
            let full = kind == Access::Write && path == doublewrite::PATH && grows;
            full.then(|| io::Error::from_raw_os_error(libc::ENOSPC))
        })));
        add(&rel, Fork::Main, 1);
        for round in 0..3 * least {
            set(&rel, BlockNo(0), round);
            let failed = write_dirty(&world.pool);
            assert!(failed.is_none(), "{areas} areas, batch {round}: {failed:?}");
        }
        world.disk.corrupt("base/5", 5000, |bytes| bytes[0] ^= 4);
        let again = World::over(world.disk.clone(), 16, TornPages::DoubleWrite);
        assert_eq!(get(&again.relation(5), BlockNo(0)), 3 * least - 1);
    }
}

/// Nothing is written until what an earlier process left is durable. Redo that needs a frame waits as long as that takes.
#[test]
fn the_wait_for_a_frame_does_not_end_before_that_for_inherited_files() {
    let frame_wait = Duration::from_millis(200);
    let config = Config { frames: 16, frame_wait, ..Config::default() };
    let world = World::with(SimDisk::new(), config);
    let rel = world.relation(5);
    let files = world.pool.files();
    files.expect_inherited();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(4 * frame_wait);
            files.sync_inherited().unwrap();
        });
        for n in 0..40 {
            let page = rel.extend(Fork::Main).map(|mut page| {
                let id = page.page_id();
                page.mark_dirty();
                stamp(&mut page, id, n);
            });
            assert!(page.is_ok(), "page {n}: {}", page.unwrap_err());
        }
    });
}

/// One that takes its time is not one that refuses.
#[test]
fn the_wait_for_a_frame_outlasts_a_disk_that_stalls() {
    let frame_wait = Duration::from_millis(200);
    let config = Config { frames: 16, frame_wait, ..Config::default() };
    let disk = GatedDisk::new(SimDisk::new());
    let world = World::with_disk(Arc::new(disk.clone()), disk.inner.clone(), config);
    let rel = world.relation(5);
    disk.stall(2, 4 * frame_wait);
    let begun = Instant::now();
    for n in 0..60 {
        add(&rel, Fork::Main, n);
    }
    assert!(begun.elapsed() > 4 * frame_wait, "no write was waited for");
}

/// The copies there may be all that mends a page of which an earlier process has left a part on the disk.
#[test]
fn the_area_stays_until_inherited_files_are_durable() {
    let world = World::new(16);
    add(&world.relation(5), Fork::Main, 1);
    world.pool.clean_all().unwrap();
    world.pool.stop();
    let disk = world.disk.clone();
    let env = Env::new(Arc::new(disk.clone()));
    let files = Arc::new(RelFiles::open(Arc::clone(&env.disk), 100).unwrap());
    files.expect_inherited();
    let there = std::thread::scope(|scope| {
        let syncing = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            let there = disk.exists(doublewrite::PATH).unwrap();
            files.sync_inherited().unwrap();
            there
        });
        let config = Config { frames: 16, torn_pages: TornPages::Off, ..Config::default() };
        Pool::open(&env, config, Arc::clone(&files)).unwrap().stop();
        syncing.join().unwrap()
    });
    assert!(there && !disk.exists(doublewrite::PATH).unwrap());
}

/// Lists of what is to be written are made without a latch and may name a frame twice; after its first turn the page may
/// become dirty again (BF5).
#[test]
fn a_frame_that_is_named_twice_is_copied_once() {
    let world = World::new(16);
    let (pool, rel) = (&world.pool, world.relation(5));
    pool.set_redo_position(Lsn(3));
    add(&rel, Fork::Main, 1);
    let frame = pool.frames.iter().find(|frame| frame.is_dirty()).unwrap();
    assert_eq!(pool.in_file_order(&[frame.index; 2]), [frame.index]);
    let positions =
        || [&frame.flushing, &frame.rec_lsn].map(|position| position.load(Ordering::SeqCst));
    {
        let mut writer = pool.writer.lock();
        pool.make_copy(&mut writer, frame);
        pool.set_redo_position(Lsn(7));
        std::thread::scope(|scope| drop(scope.spawn(|| set(&rel, BlockNo(0), 2))));
        assert_eq!(positions(), [3, 7]);
        pool.make_copy(&mut writer, frame);
        assert_eq!(positions(), [3, 7], "the older position is kept");
        pool.dirty.restore(frame);
        frame.word.unpin();
    }
    assert_eq!(pool.min_rec_lsn(), Lsn(3));
    pool.clean_all().unwrap();
    let again = World::over(world.disk.clone(), 16, TornPages::DoubleWrite);
    assert_eq!(get(&again.relation(5), BlockNo(0)), 2);
}

/// Who cuts a fork waits for loads that began before, and has no use for their errors.
#[test]
fn a_failed_load_is_forgotten_when_a_cut_has_waited_for_it() {
    let world = World::new(16);
    let rel = world.relation(5);
    for n in 0..40 {
        add(&rel, Fork::Main, n + 1);
    }
    world.pool.clean_all().unwrap();
    for n in 0..20 {
        get(&rel, BlockNo(n));
    }
    let (told, begun) = std::sync::mpsc::channel();
    world.disk.set_fault(Some(Box::new(move |kind, path, offset| {
        let bad = kind == Access::Read && path == "base/5" && offset == 30 * PAGE_BYTES as u64;
        bad.then(|| {
            told.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            eio()
        })
    })));
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(rel.read(Fork::Main, BlockNo(30)).is_err()));
        begun.recv().unwrap();
        rel.truncate(Fork::Main, 25).unwrap();
    });
    assert!(world.pool.failures.is_empty());
}

#[test]
fn a_handle_that_is_made_while_its_file_goes_is_of_no_relation() {
    let world = World::new(16);
    add(&world.relation(5), Fork::Main, 1);
    let pool = Arc::clone(&world.pool);
    world.disk.set_fault(Some(Box::new(move |kind, path, _| {
        if kind == Access::Directory && path == "base/5" {
            drop(pool.relation(RelId(5), Rank::HeapPage));
        }
        None
    })));
    world.pool.drop_relation(RelId(5)).unwrap();
    world.disk.set_fault(None);
    assert_eq!(world.pool.rank_of(RelId(5)), None);
}

/// And who waits for the page that it was to load is not interrupted with it.
#[test]
fn a_wait_for_a_frame_ends_when_it_is_interrupted() {
    let frame_wait = Duration::from_secs(20);
    let world = World::with(SimDisk::new(), Config { frames: 16, frame_wait, ..Config::default() });
    let rel = world.relation(5);
    for n in 0..20 {
        add(&rel, Fork::Main, n + 1);
    }
    let pins: Vec<_> = (0..16).map(|n| rel.pin(Fork::Main, BlockNo(n)).unwrap()).collect();
    let (told, asker) = std::sync::mpsc::channel();
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            told.send(park::current()).unwrap();
            rel.read(Fork::Main, BlockNo(17)).err().unwrap()
        });
        let asker = asker.recv().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let other = scope.spawn(|| get(&rel, BlockNo(17)));
        std::thread::sleep(Duration::from_millis(50));
        asker.interrupt(Interrupt::Cancel);
        assert_eq!(asking.join().unwrap().sqlstate(), "57014");
        assert!(began.elapsed() < frame_wait / 4);
        drop(pins);
        assert_eq!(other.join().unwrap(), 18);
    });
}
