//! Reading ahead: what is read, how often, and what becomes of reads under way when something goes wrong.

use super::gated::GatedDisk;
use super::*;
use base::disk::sim::Access;
use base::interrupt::{self, Interrupt};
use base::park;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

const REL: RelId = RelId(5);

/// A pool over a disk that already has a relation of so many stamped blocks, none of them in memory.
fn cold(frames: usize, blocks: u32) -> (GatedDisk, World) {
    let disk = SimDisk::new();
    {
        let world = World::over(disk.clone(), 64, TornPages::DoubleWrite);
        let rel = world.relation(REL.0);
        for n in 0..blocks {
            add(&rel, Fork::Main, u64::from(n) + 1);
        }
        world.pool.clean_all().unwrap();
    }
    let gated = GatedDisk::new(disk.clone());
    let env = Env::new(Arc::new(gated.clone()));
    let files = Arc::new(RelFiles::open(Arc::clone(&env.disk), 100).unwrap());
    let config = Config { frames, frame_wait: Duration::from_secs(60), ..Config::default() };
    let pool = Pool::open(&env, config, files).unwrap();
    (gated, World { disk, pool })
}

/// Reads the blocks from the first on as a scan does; the values.
fn scan(rel: &Relation, blocks: u32, reach: Reach, mut ring: Option<Ring>) -> Vec<u64> {
    let mut ahead = ReadAhead::new(rel, reach);
    let value = |place: u32| {
        let started =
            ahead.look(rel, Fork::Main, place..blocks, ring.as_mut(), |p| Some(BlockNo(p)));
        let block = BlockNo(place);
        let page = match &mut ring {
            Some(ring) => {
                ring.expect(started);
                rel.read_in(ring, Fork::Main, block).unwrap()
            }
            None if started => rel.read_started(Fork::Main, block).unwrap(),
            None => rel.read(Fork::Main, block).unwrap(),
        };
        stamped(page.view(), page.page_id()).expect("a latched page is of one piece")
    };
    (0..blocks).map(value).collect()
}

fn wanted(blocks: u32) -> Vec<u64> {
    (1..=u64::from(blocks)).collect()
}

/// Starts reads of the first blocks, as a scan that is at the first does, and leaves them under way.
fn start(disk: &GatedDisk, rel: &Relation, reads: u32, pages: u32) {
    disk.shut();
    let mut ahead = ReadAhead::new(rel, Reach { reads, pages });
    // A scan looks far only after it met some blocks that are not there.
    for _ in 0..20 {
        ahead.look(rel, Fork::Main, 0..rel.blocks(Fork::Main).unwrap(), None, |p| Some(BlockNo(p)));
    }
    assert!(disk.under_way().0 > 0);
}

fn eio(at: u32) -> base::disk::sim::FaultHook {
    Box::new(move |kind, path, offset| {
        let bad =
            kind == Access::Read && path == "base/5" && offset == u64::from(at) * PAGE_BYTES as u64;
        bad.then(|| io::Error::from_raw_os_error(libc::EIO))
    })
}

#[test]
fn every_page_is_read_once_and_counted_once_whatever_the_reach() {
    for (reads, pages) in [(0, 16), (1, 1), (1, 16), (4, 8), (16, 16), (1000, 32)] {
        for ringed in [false, true] {
            let (_, world) = cold(1024, 100);
            let rel = world.relation(REL.0);
            let at: Arc<Mutex<Vec<u64>>> = Arc::default();
            let seen = Arc::clone(&at);
            world.disk.set_fault(Some(Box::new(move |kind, path, offset| {
                if kind == Access::Read && path == "base/5" {
                    seen.lock().unwrap().push(offset / PAGE_BYTES as u64);
                }
                None
            })));
            let ring = || ringed.then(|| Ring::new(200, Purpose::BulkRead));
            let reach = Reach { reads, pages };
            assert_eq!(scan(&rel, 100, reach, ring()), wanted(100));
            let mut at = at.lock().unwrap().clone();
            at.sort_unstable();
            assert!(at == (0..100).collect::<Vec<_>>(), "{reach:?}: {at:?}");
            assert_eq!((rel.pages_read(), world.pool.hits()), (100, 0), "{reach:?} {ringed}");
            assert_eq!(world.pool.stats().loads, 100);
            let counts = world.pool.io_stats().into_iter().map(|(_, counts)| counts.reads);
            assert_eq!(counts.sum::<u64>(), 100);
            assert_eq!(scan(&rel, 100, reach, ring()), wanted(100));
            assert_eq!((rel.pages_read(), world.pool.hits()), (100, 100));
        }
    }
}

#[test]
fn reads_are_of_neighbours_and_several_at_a_time() {
    let (disk, world) = cold(1024, 300);
    let rel = world.relation(REL.0);
    start(&disk, &rel, 4, 16);
    // 63 of them: the scan reads the page that it is at by itself, or the first read has it.
    let (reads, bytes) = disk.under_way();
    assert!((4..=8).contains(&reads) && bytes <= 64 * PAGE_BYTES, "{reads} reads, {bytes} bytes");
    disk.open_gate();
    assert_eq!(scan(&rel, 300, Reach { reads: 4, pages: 16 }, None), wanted(300));
}

#[test]
fn a_ring_keeps_what_was_read_ahead() {
    let (_, world) = cold(1024, 900);
    let rel = world.relation(REL.0);
    let ahead = ReadAhead::new(&rel, Reach::default());
    let ring = Ring::new(32, Purpose::BulkRead).with_ahead(ahead.ring_pages());
    assert_eq!(scan(&rel, 900, Reach::default(), Some(ring)), wanted(900));
    assert_eq!(rel.pages_read(), 900, "no page was read again");
    assert!(world.pool.stats().taken <= 32 + 128, "a ring's frames, no more");
}

#[test]
fn no_more_than_a_share_of_the_pool_is_under_way() {
    for frames in [16, 64, 256] {
        let (disk, world) = cold(frames, 300);
        let rel = world.relation(REL.0);
        start(&disk, &rel, 1000, 32);
        start(&disk, &rel, 1000, 32);
        assert!(disk.under_way().1 <= frames / 8 * PAGE_BYTES, "{:?}", disk.under_way());
        // The others are for everybody.
        let pins: Vec<_> = (0..frames as u32 - frames as u32 / 8)
            .map(|n| rel.pin(Fork::Main, BlockNo(299 - n)).unwrap())
            .collect();
        drop(pins);
        disk.open_gate();
        assert_eq!(scan(&rel, 300, Reach { reads: 1000, pages: 32 }, None), wanted(300));
        world.assert_unpinned();
    }
}

#[test]
fn an_error_is_told_to_those_who_use_the_page() {
    let (disk, world) = cold(256, 64);
    let rel = world.relation(REL.0);
    start(&disk, &rel, 4, 8);
    world.disk.set_fault(Some(eio(3)));
    let failed = |block: u32| rel.read(Fork::Main, BlockNo(block)).err().map(|e| e.to_string());
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..8).map(|n| scope.spawn(move || failed(n % 4))).collect();
        std::thread::sleep(Duration::from_millis(20));
        disk.open_gate();
        for (n, waited) in waiting.into_iter().enumerate() {
            let error = waited.join().unwrap();
            assert_eq!(error.is_some(), n % 4 == 3, "block {}: {error:?}", n % 4);
            if let Some(error) = error {
                assert!(error.contains("block 3 of file \"base/5\""), "{error}");
            }
        }
    });
    // A scan that has it read ahead gets as far as the page.
    let mut ahead = ReadAhead::new(&rel, Reach::default());
    for place in 0..64 {
        ahead.look(&rel, Fork::Main, place..64, None, |p| Some(BlockNo(p)));
        assert_eq!(failed(place).is_some(), place == 3, "block {place}");
    }
    world.disk.set_fault(None);
    assert_eq!(scan(&rel, 64, Reach::default(), None), wanted(64));
}

#[test]
fn a_damaged_page_is_told_to_those_who_use_it() {
    let (_, world) = cold(256, 64);
    let rel = world.relation(REL.0);
    world.disk.corrupt("base/5", 9 * PAGE_BYTES as u64 + 5000, |bytes| bytes[0] ^= 4);
    let mut ahead = ReadAhead::new(&rel, Reach::default());
    for place in 0..64 {
        ahead.look(&rel, Fork::Main, place..64, None, |p| Some(BlockNo(p)));
        match rel.read(Fork::Main, BlockNo(place)) {
            Ok(page) => {
                assert_eq!(stamped(page.view(), page.page_id()), Some(u64::from(place) + 1))
            }
            Err(error) => {
                assert_eq!((place, error.sqlstate()), (9, "XX001"));
                assert!(error.to_string().contains("block 9 of file \"base/5\""), "{error}");
            }
        }
    }
    world.disk.corrupt("base/5", 9 * PAGE_BYTES as u64 + 5000, |bytes| bytes[0] ^= 4);
    assert_eq!(scan(&rel, 64, Reach::default(), None), wanted(64));
}

#[test]
fn a_cancel_frees_nothing_that_is_read_into() {
    let (disk, world) = cold(64, 64);
    let rel = world.relation(REL.0);
    start(&disk, &rel, 1, 8);
    let pages = disk.under_way().1 / PAGE_BYTES;
    let finished = AtomicBool::new(false);
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            tell.send(park::current()).unwrap();
            let value = get(&rel, BlockNo(1));
            finished.store(true, Ordering::SeqCst);
            (value, interrupt::check())
        });
        let context = told.recv().unwrap();
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(4));
            context.interrupt(Interrupt::Cancel);
        }
        assert!(!finished.load(Ordering::SeqCst), "the page is not there yet");
        // Whatever else wants frames gets others.
        let absent = world.pool.frames.iter().filter(|frame| frame.word.is_absent()).count();
        assert_eq!(absent, world.pool.stats().free + pages);
        for n in 20..64 {
            assert_eq!(get(&rel, BlockNo(n)), u64::from(n) + 1);
        }
        disk.open_gate();
        let (value, why) = waiting.join().unwrap();
        assert_eq!((value, why), (2, Err(Interrupt::Cancel)));
    });
    assert_eq!(scan(&rel, 64, Reach::NONE, None), wanted(64));
    world.assert_unpinned();
}

#[test]
fn pages_that_nobody_came_for_make_room() {
    let (disk, world) = cold(16, 64);
    let rel = world.relation(REL.0);
    start(&disk, &rel, 1000, 32);
    disk.open_gate();
    let pins: Vec<_> = (40..56).map(|n| rel.pin(Fork::Main, BlockNo(n)).unwrap()).collect();
    assert_eq!(pins.len(), 16, "every frame of the pool");
}

#[test]
fn truncation_and_removal_wait_for_reads_under_way() {
    for drops in [false, true] {
        let (disk, world) = cold(256, 64);
        let rel = world.relation(REL.0);
        start(&disk, &rel, 4, 8);
        let gone = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                match drops {
                    true => world.pool.drop_relation(REL).unwrap(),
                    false => rel.truncate(Fork::Main, 2).unwrap(),
                }
                gone.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!gone.load(Ordering::SeqCst), "a page is still on its way");
            disk.open_gate();
        });
        if drops {
            assert!(!world.pool.files().exists(REL).unwrap());
            assert!(rel.read(Fork::Main, BlockNo(0)).is_err());
            let mut ahead = ReadAhead::new(&rel, Reach::default());
            disk.shut();
            for _ in 0..9 {
                ahead.look(&rel, Fork::Main, 0..64, None, |p| Some(BlockNo(p)));
            }
            assert_eq!(disk.under_way(), (0, 0), "nothing is read of what is gone");
        } else {
            assert_eq!(add(&rel, Fork::Main, 77), BlockNo(2));
            assert_eq!((get(&rel, BlockNo(1)), get(&rel, BlockNo(2))), (2, 77));
        }
        world.assert_unpinned();
    }
}

#[test]
fn a_pool_stops_when_nothing_is_under_way() {
    let (disk, world) = cold(256, 64);
    let rel = world.relation(REL.0);
    start(&disk, &rel, 4, 8);
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            world.pool.stop();
            stopped.store(true, Ordering::SeqCst);
        });
        std::thread::sleep(Duration::from_millis(20));
        assert!(!stopped.load(Ordering::SeqCst));
        disk.open_gate();
    });
}

/// Scans that read ahead beside writers, in pools where hardly anything has room.
fn scans_beside_writers(rel: &Relation, seed: u64, reads: &AtomicUsize, rounds: u32) {
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..rounds {
        let block = BlockNo(rng.u32(..64));
        if rng.bool() {
            let mut page = rel.write(Fork::Main, block).unwrap();
            let id = page.page_id();
            let value = stamped(page.view(), id).expect("latched alone");
            page.mark_dirty();
            stamp(&mut page, id, value + 64);
        } else {
            let reach = Reach { reads: rng.u32(..40), pages: rng.u32(1..33) };
            let ring = rng.bool().then(|| Ring::new(1 + rng.usize(..40), Purpose::Vacuum));
            for (n, value) in scan(rel, rng.u32(1..65), reach, ring).into_iter().enumerate() {
                assert_eq!((value - 1) % 64, n as u64);
                reads.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn scans_beside_writers_in_sixteen_frames() {
    for frames in [16, 40] {
        let (_, world) = cold(frames, 64);
        let rel = world.relation(REL.0);
        let reads = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let (rel, reads) = (&rel, &reads);
                scope.spawn(move || scans_beside_writers(rel, seed, reads, 60));
            }
        });
        assert!(reads.into_inner() > 1000);
        world.assert_unpinned();
    }
}

#[test]
fn scans_beside_writers_simulated() {
    for seed in 0..20 {
        base::sim::run(seed, move || {
            let (_, world) = cold(16 + 16 * (seed as usize % 3), 64);
            let rel = world.relation(REL.0);
            let env = Env::new(Arc::new(world.disk.clone()));
            let scans: Vec<_> = (0..4)
                .map(|n| {
                    let rel = rel.clone();
                    env.spawn("scan", move || {
                        scans_beside_writers(&rel, seed * 10 + n, &AtomicUsize::new(0), 6);
                    })
                })
                .collect();
            scans.into_iter().for_each(|scan| scan.join());
        });
    }
}
