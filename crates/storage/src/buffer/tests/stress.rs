use super::*;
use base::usage::Role;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const BLOCKS: u32 = 64;

pub(super) const POLICIES: [Policy; 3] =
    [Policy::Clock, Policy::ClockLruk { window: Duration::from_millis(20) }, Policy::Probation];

/// Threads read, write, pin and extend at random in a pool of 16 frames, with random delays while they hold a pin or read
/// without a latch; a page's value only rises, and its words always agree.
fn mill(threads: u64, rounds: u64, torn: TornPages, replacement: Policy) {
    let world = World::with(
        SimDisk::new(),
        Config { frames: 16, torn_pages: torn, replacement, ..Config::default() },
    );
    let rel = world.relation(5);
    for _ in 0..BLOCKS {
        add(&rel, Fork::Main, 1);
    }
    let floor: Vec<AtomicU64> = (0..BLOCKS).map(|_| AtomicU64::new(1)).collect();
    let added = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let (rel, floor, added) = (rel.clone(), &floor, &added);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                for _ in 0..rounds {
                    step(&rel, floor, added, &mut rng);
                }
            });
        }
    });
    for (n, value) in floor.iter().enumerate() {
        assert_eq!(get(&rel, BlockNo(n as u32)), value.load(Ordering::SeqCst));
    }
    let blocks = rel.blocks(Fork::Main).unwrap();
    assert_eq!(u64::from(blocks - BLOCKS), added.load(Ordering::SeqCst));
    for n in BLOCKS..blocks {
        assert_eq!(get(&rel, BlockNo(n)), 7);
    }
    world.assert_unpinned();
    // Foreground work has written no page, however much it changed (BF7).
    let written = |role: Role| -> u64 {
        let all = world.pool.io_stats();
        all.iter().filter(|(key, _)| key.role == role).map(|(_, counts)| counts.writes).sum()
    };
    assert_eq!(written(Role::Client), 0);
    assert!(written(Role::Cleaner) > 0);
    // It would be seen: this context is nobody in particular, and writes now, unless the cleaner comes before it.
    let writes = || {
        set(&rel, BlockNo(0), floor[0].fetch_add(1, Ordering::SeqCst) + 1);
        world.pool.clean_all().unwrap();
        written(Role::Client) > 0
    };
    assert!((0..1000).any(|_| writes()), "what a client writes is not counted");
    world.pool.clean_all().unwrap();
    let again = World::over(world.disk.clone(), 16, torn);
    let rel = again.relation(5);
    for (n, value) in floor.iter().enumerate() {
        assert_eq!(get(&rel, BlockNo(n as u32)), value.load(Ordering::SeqCst));
    }
}

/// Others come between, now and then for long.
fn delay(rng: &mut fastrand::Rng) {
    match rng.u32(..40) {
        0 => base::park::sleep(Duration::from_micros(rng.u64(1..300))),
        1..10 => std::thread::yield_now(),
        _ => {}
    }
}

fn step(rel: &Relation, floor: &[AtomicU64], added: &AtomicU64, rng: &mut fastrand::Rng) {
    let n = rng.u32(..BLOCKS);
    let (block, floor) = (BlockNo(n), &floor[n as usize]);
    let id = PageId::main(rel.id(), block);
    match rng.u32(..100) {
        0 if added.load(Ordering::Relaxed) < 100 => {
            added.fetch_add(1, Ordering::SeqCst);
            add(rel, Fork::Main, 7);
        }
        0..30 => {
            let mut page = rel.write(Fork::Main, block).unwrap();
            let value = stamped(page.view(), id).expect("latched alone") + 1;
            page.mark_dirty();
            stamp(&mut page, id, value);
            floor.store(value, Ordering::SeqCst);
        }
        30..60 => {
            let least = floor.load(Ordering::SeqCst);
            let page = rel.read(Fork::Main, block).unwrap();
            let value = stamped(page.view(), id).expect("latched shared");
            assert!(value >= least, "block {n} has {value}, had {least}");
        }
        60..70 => {
            let pin = rel.pin(Fork::Main, block).unwrap();
            let least = stamped(pin.read().view(), id).expect("latched shared");
            delay(rng);
            let value = stamped(pin.read().view(), id).expect("latched shared");
            assert!(value >= least && pin.page_id() == id);
        }
        _ => {
            let least = floor.load(Ordering::SeqCst);
            let slowly = |v: PageView<'_>| {
                delay(rng);
                Some(stamped(v, id))
            };
            if let Optimistic::Ok(read) = rel.optimistic(Fork::Main, block, slowly) {
                let value = read.expect("validated, so of one piece");
                assert!(value >= least, "block {n} has {value}, had {least}");
            }
        }
    }
}

#[test]
fn readers_writers_and_the_cleaner_in_sixteen_frames() {
    mill(6, 4000, TornPages::DoubleWrite, Policy::Clock);
}

#[test]
fn the_same_without_double_write_under_probation() {
    mill(4, 3000, TornPages::Off, Policy::Probation);
}

#[test]
fn the_same_under_clock_lruk() {
    mill(4, 3000, TornPages::DoubleWrite, POLICIES[1]);
}

/// A hot page is rewritten and evicted all the time while readers without a latch hammer it.
#[test]
fn eviction_against_optimistic_readers() {
    let world = World::new(16);
    let rel = world.relation(5);
    for _ in 0..BLOCKS {
        add(&rel, Fork::Main, 1);
    }
    let done = AtomicBool::new(false);
    let (ok, retries) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let id = PageId::main(rel.id(), BlockNo(0));
                while !done.load(Ordering::Relaxed) {
                    match rel.optimistic(Fork::Main, BlockNo(0), |v| Some(stamped(v, id))) {
                        Optimistic::Ok(read) => {
                            assert!(read.is_some(), "validated, so of one piece");
                            ok.fetch_add(1, Ordering::Relaxed);
                        }
                        Optimistic::Retry => {
                            retries.fetch_add(1, Ordering::Relaxed);
                            drop(rel.pin(Fork::Main, BlockNo(0)).unwrap());
                        }
                    }
                }
            });
        }
        let mut rng = fastrand::Rng::with_seed(1);
        for round in 0..4000u64 {
            set(&rel, BlockNo(rng.u32(..BLOCKS)), round + 2);
            if round % 7 == 0 {
                set(&rel, BlockNo(0), round + 2);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let (ok, retries) = (ok.into_inner(), retries.into_inner());
    assert!(ok > 0 && retries > 0, "{ok} reads, {retries} retries");
}

/// The same mill inside the seeded simulation: fibers on one thread, random order, replayable.
#[test]
fn simulated_mill() {
    for seed in 0..40 {
        base::sim::run(seed, move || simulated(seed));
    }
}

fn simulated(seed: u64) {
    let env = Env::new(Arc::new(SimDisk::new()));
    let files = Arc::new(RelFiles::open(Arc::clone(&env.disk), 100).unwrap());
    let replacement = POLICIES[seed as usize % POLICIES.len()];
    let config = Config { frames: 16, replacement, ..Config::default() };
    let pool = Pool::open(&env, config, files).unwrap();
    let rel = pool.create_relation(RelId(5), Rank::HeapPage).unwrap();
    for _ in 0..BLOCKS {
        add(&rel, Fork::Main, 1);
    }
    let floor: Arc<Vec<AtomicU64>> = Arc::new((0..BLOCKS).map(|_| AtomicU64::new(1)).collect());
    let added = Arc::new(AtomicU64::new(0));
    let mills: Vec<_> = (0..6)
        .map(|n| {
            let (rel, floor, added) = (rel.clone(), Arc::clone(&floor), Arc::clone(&added));
            env.spawn("mill", move || {
                let mut rng = fastrand::Rng::with_seed(seed * 100 + n);
                for _ in 0..100 {
                    step(&rel, &floor, &added, &mut rng);
                }
            })
        })
        .collect();
    mills.into_iter().for_each(|m| m.join());
    pool.clean_up_to(Lsn::MAX).unwrap();
    for (n, value) in floor.iter().enumerate() {
        assert_eq!(get(&rel, BlockNo(n as u32)), value.load(Ordering::SeqCst));
    }
    pool.stop();
}
