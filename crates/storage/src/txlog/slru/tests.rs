use super::*;
use base::disk::Open;
use base::disk::sim::SimDisk;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

fn no_barrier() -> WalBarrier {
    Arc::new(|_| ())
}

fn open(disk: &SimDisk, log: LogKind, banks: usize) -> Slru {
    Slru::open(log, banks, 0, Arc::new(disk.clone()), no_barrier()).unwrap()
}

fn word(slru: &Slru, page: u64, index: usize) -> u64 {
    slru.read(page, |p| p.word(index)).unwrap()
}

#[test]
fn any_number_of_banks_keeps_what_a_map_keeps() {
    for (seed, banks) in [(1, 1), (2, 2), (3, 3), (4, 5), (5, 16)] {
        let mut rng = fastrand::Rng::with_seed(seed);
        let disk = SimDisk::new();
        let slru = open(&disk, LogKind::Xact, banks);
        let mut model: BTreeMap<(u64, usize), u64> = BTreeMap::new();
        let pages = 16 * banks as u64 * 3;
        for page in 0..pages {
            slru.begin(page, Lsn::ZERO, |_| ()).unwrap();
        }
        for _ in 0..5_000 {
            let (page, index) = (rng.u64(..pages), rng.usize(..PAGE_WORDS));
            match rng.u8(..10) {
                0..4 => {
                    let bits = 1 << rng.u32(..64);
                    slru.update(page, Lsn::ZERO, |p| p.or(index, bits)).unwrap();
                    *model.entry((page, index)).or_default() |= bits;
                }
                4 => slru.flush().unwrap(),
                _ => {
                    let expected = model.get(&(page, index)).copied().unwrap_or(0);
                    assert_eq!(word(&slru, page, index), expected, "seed {seed}");
                }
            }
        }
        drop(slru);
    }
}

#[test]
fn a_flush_survives_any_crash_after_it() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    for page in 0..40 {
        slru.begin(page, Lsn::ZERO, |p| p.set(5, page + 1)).unwrap();
    }
    slru.flush().unwrap();
    let safe = disk.operations();
    for page in 0..40 {
        slru.update(page, Lsn::ZERO, |p| p.or(5, 1 << 40)).unwrap();
    }
    slru.flush().unwrap();
    let mut crashes = disk.crashes();
    for at in safe..=disk.operations() {
        crashes.advance_to(at);
        for seed in 0..3 {
            let image = crashes.image(&mut fastrand::Rng::with_seed(seed));
            let after = open(&image, LogKind::Xact, 3);
            for page in 0..40 {
                let found = word(&after, page, 5);
                assert_eq!(
                    found & !(1 << 40),
                    page + 1,
                    "crash at {at}: {}",
                    disk.describe(at - 1)
                );
            }
        }
    }
}

/// P4: the log first.
#[test]
fn the_log_is_durable_before_a_page_that_depends_on_it() {
    let disk = SimDisk::new();
    let durable = Arc::new(Mutex::new(Lsn::ZERO));
    let seen = Arc::clone(&durable);
    let barrier: WalBarrier = Arc::new(move |lsn| {
        let mut durable = seen.lock().unwrap();
        *durable = lsn.max(*durable);
    });
    let slru = Slru::open(LogKind::Xact, 1, 0, Arc::new(disk.clone()), barrier).unwrap();
    for page in 0..16 {
        slru.begin(page, Lsn(100 + page), |_| ()).unwrap();
    }
    assert_eq!(*durable.lock().unwrap(), Lsn::ZERO, "nothing was written yet");
    slru.update(3, Lsn(900), |p| p.set(0, 1)).unwrap();
    slru.update(3, Lsn(200), |p| p.set(1, 1)).unwrap();
    slru.flush().unwrap();
    assert_eq!(*durable.lock().unwrap(), Lsn(900), "the highest position counts");
}

/// P6: the newest page is no victim.
#[test]
fn the_latest_page_is_never_given_up() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    for page in 0..40 {
        slru.begin(page, Lsn::ZERO, |_| ()).unwrap();
    }
    assert_eq!(slru.latest.load(Ordering::Relaxed), 39);
    for round in 0..3 {
        for page in 0..38 {
            word(&slru, page, round);
        }
    }
    let before = slru.stats().reads;
    word(&slru, 39, 0);
    assert_eq!(slru.stats().reads, before, "the latest page needed no reading");
}

#[test]
fn hot_pages_outlive_a_scan() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    for page in 0..200 {
        slru.begin(page, Lsn::ZERO, |_| ()).unwrap();
    }
    let hot = [3, 4, 5];
    hot.iter().for_each(|p| assert_eq!(word(&slru, *p, 0), 0));
    for page in 20..190 {
        word(&slru, page, 0);
        hot.iter().for_each(|p| assert_eq!(word(&slru, *p, 0), 0));
    }
    let before = slru.stats().reads;
    hot.iter().for_each(|p| assert_eq!(word(&slru, *p, 0), 0));
    assert_eq!(slru.stats().reads, before);
}

#[test]
fn missing_and_damaged_files_are_named() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    for page in 0..40 {
        slru.begin(page, Lsn::ZERO, |_| ()).unwrap();
    }
    slru.flush().unwrap();
    drop(slru);
    let slru = open(&disk, LogKind::Xact, 1);
    let file = slru.file_of(0);
    assert_eq!(file, "txlog/xact/000000000000");
    disk.corrupt(&file, 3, |bytes| bytes[0] ^= 1);
    let error = slru.read(0, |_| ()).unwrap_err();
    assert!(matches!(&error, SlruError::Damaged { page: 0, .. }), "{error}");
    assert!(error.to_string().contains(&file));
    assert!(crate::Error::from(error).to_string().contains("restore"));
    assert!(slru.read(1, |_| ()).is_ok(), "one damaged page does not take its neighbours along");
    let error = slru.read(64, |_| ()).unwrap_err();
    assert!(matches!(&error, SlruError::Missing { .. }), "{error}");
    assert_eq!(crate::Error::from(error).sqlstate(), "XX001");
}

#[test]
fn a_failed_write_keeps_the_page() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    slru.begin(0, Lsn::ZERO, |p| p.set(0, 7)).unwrap();
    disk.set_fault(Some(Box::new(|access, _, _| {
        (access == base::disk::sim::Access::Write).then(|| std::io::Error::other("refused"))
    })));
    assert!(matches!(slru.flush(), Err(SlruError::Io { action: "write", .. })));
    disk.set_fault(None);
    slru.flush().unwrap();
    drop(slru);
    assert_eq!(word(&open(&disk, LogKind::Xact, 1), 0, 0), 7);
}

#[test]
fn logs_that_are_not_durable_start_empty() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Subtrans, 1);
    slru.begin(9, Lsn::ZERO, |_| ()).unwrap();
    slru.flush().unwrap();
    assert!(slru.exists(9).unwrap());
    drop(slru);
    let slru = open(&disk, LogKind::Subtrans, 1);
    assert!(!slru.exists(9).unwrap());
    assert!(slru.segments().unwrap().is_empty());
}

#[test]
fn truncated_pages_stay_gone() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::CommitTs, 3);
    for page in 0..100 {
        slru.begin(page, Lsn::ZERO, |p| p.set(0, page)).unwrap();
    }
    slru.flush().unwrap();
    slru.truncate(70).unwrap();
    assert!(matches!(slru.read(69, |_| ()), Err(SlruError::Truncated { page: 69, .. })));
    assert_eq!(word(&slru, 70, 0), 70);
    assert_eq!(slru.segments().unwrap(), [2, 3]);
    slru.truncate(50).unwrap();
    assert_eq!(slru.oldest(), 70, "truncation never goes back");
    slru.clear().unwrap();
    assert!(slru.segments().unwrap().is_empty());
}

/// P5: nothing is brought in behind the sweep.
#[test]
fn truncation_races_readers_and_writers() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::CommitTs, 2);
    const PAGES: u64 = 256;
    for page in 0..PAGES {
        slru.begin(page, Lsn::ZERO, |p| p.set(1, page * 3)).unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (slru, stop) = (&slru, &stop);
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                while !stop.load(Ordering::Relaxed) {
                    let page = rng.u64(..PAGES);
                    let answer = match seed {
                        0 => slru.update(page, Lsn::ZERO, |p| {
                            p.or(2, 1);
                            p.word(1)
                        }),
                        _ => slru.read(page, |p| p.word(1)),
                    };
                    match answer {
                        Ok(found) => assert_eq!(found, page * 3),
                        Err(SlruError::Truncated { page: gone, .. }) => assert_eq!(gone, page),
                        Err(e) => panic!("{e}"),
                    }
                }
            });
        }
        for cut in (8..PAGES).step_by(8) {
            slru.truncate(cut).unwrap();
            assert!(slru.segments().unwrap().iter().all(|s| *s >= cut / SEGMENT_PAGES));
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn many_threads_over_few_slots_lose_nothing() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 3);
    const PAGES: u64 = 120;
    const THREADS: usize = 4;
    for page in 0..PAGES {
        slru.begin(page, Lsn::ZERO, |p| p.set(PAGE_WORDS - 1, page)).unwrap();
    }
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let slru = &slru;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(thread as u64);
                for round in 1..=3_000u64 {
                    let page = rng.u64(..PAGES);
                    slru.update(page, Lsn::ZERO, |p| p.set(thread, round)).unwrap();
                    let other = rng.u64(..PAGES);
                    assert_eq!(slru.read(other, |p| p.word(PAGE_WORDS - 1)).unwrap(), other);
                    let mine = slru.read(page, |p| p.word(thread)).unwrap();
                    assert_eq!(mine, round, "own write is seen");
                    if round % 1_000 == 0 {
                        slru.flush().unwrap();
                    }
                }
            });
        }
    });
    assert!(slru.stats().reads > 0 && slru.stats().hits > 0);
}

/// P3: a page is brought in once.
#[test]
fn simulated_contexts_share_one_read_of_a_page() {
    base::sim::run(7, || {
        let disk = SimDisk::new();
        let slru = Arc::new(open(&disk, LogKind::Xact, 1));
        slru.begin(0, Lsn::ZERO, |p| p.set(0, 42)).unwrap();
        slru.flush().unwrap();
        let slru = Arc::new(open(&disk, LogKind::Xact, 1));
        let env = base::Env::new(Arc::new(disk));
        let all: Vec<_> = (0..8)
            .map(|_| {
                let slru = Arc::clone(&slru);
                env.spawn("reader", move || assert_eq!(word(&slru, 0, 0), 42))
            })
            .collect();
        all.into_iter().for_each(|b| b.join());
        assert_eq!(slru.stats().reads, 1);
    });
}

#[test]
fn a_short_file_is_damage_not_zeros() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::CommitTs, 1);
    slru.begin(0, Lsn::ZERO, |_| ()).unwrap();
    slru.begin(1, Lsn::ZERO, |_| ()).unwrap();
    slru.flush().unwrap();
    let file = disk.open(&slru.file_of(0), Open::Existing).unwrap();
    file.set_len(10_000).unwrap();
    let slru = open(&disk, LogKind::CommitTs, 1);
    assert!(slru.read(0, |_| ()).is_ok());
    assert!(matches!(slru.read(1, |_| ()), Err(SlruError::Damaged { page: 1, .. })));
}

/// Several extend the log at a time, each writes to the pages at once; with one bank every page must be given up while
/// others begin. A page begun twice would lose words (M2).
#[test]
fn pages_begin_once_whoever_extends() {
    for seed in 0..20 {
        base::sim::run(seed, move || {
            let disk = Arc::new(SimDisk::new());
            disk.create_dir("txlog").unwrap();
            let env = base::Env::new(Arc::clone(&disk) as Arc<dyn Disk>);
            let slru = Slru::open(LogKind::CommitTs, 1, 0, disk, no_barrier()).unwrap();
            let shared = Arc::new((slru, AtomicU64::new(0)));
            let extend = |who: usize| {
                let shared = Arc::clone(&shared);
                move || {
                    let (slru, next) = &*shared;
                    for page in 0..50 {
                        slru.extend(next, page).unwrap();
                        slru.update(page, Lsn::ZERO, |p| p.set(who, page + 1)).unwrap();
                        base::park::yield_now();
                    }
                }
            };
            let all: Vec<_> = (0..4).map(|who| env.spawn("extender", extend(who))).collect();
            all.into_iter().for_each(base::env::Background::join);
            let (slru, next) = &*shared;
            assert_eq!(next.load(Ordering::Relaxed), 50);
            for page in 0..50 {
                let words: Vec<u64> = (0..4).map(|who| word(slru, page, who)).collect();
                assert_eq!(words, [page + 1; 4], "page {page}, seed {seed}");
            }
        });
    }
}

/// All seven: pages come, are given up, flushed, found again where the log is durable, and truncated.
#[test]
fn every_log_keeps_pages_and_gives_them_up() {
    const PAGES: u64 = 3 * SEGMENT_PAGES + 5;
    for (log, banks) in ALL_LOGS.into_iter().zip([1, 3, 1, 2, 5, 1, 3]) {
        let disk = SimDisk::new();
        let slru = open(&disk, log, banks);
        assert_eq!((slru.log(), slru.buffers()), (log, banks * BANK_SLOTS));
        for page in 0..PAGES {
            slru.begin(page, Lsn::ZERO, |p| p.set(7, page + 1)).unwrap();
        }
        assert!((0..PAGES).all(|page| word(&slru, page, 7) == page + 1), "{}", log.name());
        slru.flush().unwrap();
        assert_eq!(slru.segments().unwrap().len(), 4);
        drop(slru);

        let slru = open(&disk, log, banks);
        if !log.is_durable() {
            assert!(slru.segments().unwrap().is_empty(), "{} begins empty", log.name());
            for page in 0..PAGES {
                slru.begin(page, Lsn::ZERO, |p| p.set(7, page + 1)).unwrap();
            }
        }
        slru.truncate(2 * SEGMENT_PAGES + 3).unwrap();
        for page in 0..PAGES {
            match page < 2 * SEGMENT_PAGES + 3 {
                true => {
                    let gone = slru.read(page, |p| p.word(7));
                    assert!(matches!(gone, Err(SlruError::Truncated { .. })), "{}", log.name());
                }
                false => assert_eq!(word(&slru, page, 7), page + 1),
            }
        }
        assert!(slru.segments().unwrap().into_iter().all(|segment| segment >= 2));
        assert_eq!(slru.stats().truncates, 1);
    }
}

/// As PostgreSQL 17 documents them.
#[test]
fn sizes_are_postgresqls() {
    let sized = |log: LogKind, shared| log.default_buffers(shared);
    for log in [LogKind::CommitTs, LogKind::Subtrans, LogKind::Xact] {
        let sizes = [1, 16 * 512, 17 * 512, 16_384, 1024 * 512, 1 << 30].map(|n| sized(log, n));
        assert_eq!(sizes, [16, 16, 17, 32, 1024, 1024], "{}", log.name());
    }
    for shared in [16, 16_384, 1 << 30] {
        assert_eq!(sized(LogKind::MultiXactMember, shared), 32);
        assert_eq!(sized(LogKind::MultiXactOffset, shared), 16);
        assert_eq!(sized(LogKind::Notify, shared), 16);
        assert_eq!(sized(LogKind::Serial, shared), 32);
    }
    let mut buffers = LogBuffers::default();
    for (chosen, banks) in [(0, 2), (1, 1), (16, 1), (17, 2), (48, 3), (80, 5), (131_072, 8192)] {
        buffers.0[LogKind::Serial as usize] = chosen;
        assert_eq!(buffers.banks(LogKind::Serial, 16), banks, "{chosen} pages");
    }
}

/// Damage of each kind, in any place, is told with the file and the place, and nothing else is.
#[test]
fn check_names_file_and_place_of_what_is_damaged() {
    const FIRST: u64 = 0;
    const END: u64 = 3 * SEGMENT_PAGES + 5;
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    for page in FIRST..END {
        slru.begin(page, Lsn::ZERO, |p| p.set(7, page + 1)).unwrap();
    }
    let checked = |slru: &Slru| {
        let mut faults = Vec::new();
        let pages = slru.check(END, &mut |fault| faults.push(fault)).unwrap();
        (pages, faults)
    };
    assert_eq!(checked(&slru), (END - FIRST, Vec::new()), "what was in memory, too");
    drop(slru);

    let file = |segment: u64| format!("txlog/xact/{segment:012X}");
    let sector = |page: u64, sector: u64| (page % SEGMENT_PAGES * 17 + sector) * 512;
    let fault = |page: u64, at: u64| {
        let file = file(page / SEGMENT_PAGES);
        format!(
            "transaction log file \"{file}\" is damaged in the sector at byte {at}, which is of page {page}"
        )
    };
    let spoil = |page: u64, at: u64, bytes: &[u8]| {
        let file = disk.open(&file(page / SEGMENT_PAGES), Open::Existing).unwrap();
        file.write_at(bytes, at).unwrap();
    };
    // A flipped bit, a hole, and a sector of another page.
    spoil(4, sector(4, 16) + 400, b"!");
    spoil(40, sector(40, 0), &[0; 512]);
    let other = {
        let mut bytes = [0; 512];
        disk.open(&file(1), Open::Existing).unwrap().read_at(&mut bytes, sector(50, 2)).unwrap();
        bytes
    };
    spoil(51, sector(51, 2), &other);
    let expected =
        vec![fault(4, sector(4, 16)), fault(40, sector(40, 0)), fault(51, sector(51, 2))];
    assert_eq!(checked(&open(&disk, LogKind::Xact, 1)), (END - FIRST, expected.clone()));

    // A file that ends too early, and one that is gone.
    disk.open(&file(3), Open::Existing).unwrap().set_len(sector(END - 1, 15)).unwrap();
    disk.remove(&file(2)).unwrap();
    let mut expected = expected;
    expected.push(format!("transaction log file \"{}\" is missing", file(2)));
    expected.extend([15, 16].map(|at| fault(END - 1, sector(END - 1, at))));
    let (pages, faults) = checked(&open(&disk, LogKind::Xact, 1));
    assert_eq!((pages, faults), (END - FIRST - SEGMENT_PAGES, expected));
}

/// A log may begin within a segment; but where it begins with page 0, a page of zeros there is damage.
#[test]
fn check_tells_a_beginning_from_a_hole() {
    let checked = |first: u64, end: u64, spoilt: Option<u64>| {
        let disk = SimDisk::new();
        let slru = open(&disk, LogKind::Xact, 1);
        for page in first..end {
            slru.begin(page, Lsn::ZERO, |_| ()).unwrap();
        }
        slru.flush().unwrap();
        if let Some(page) = spoilt {
            let file = disk.open(&slru.file_of(page), Open::Existing).unwrap();
            file.write_at(&[0; 17 * 512], page % SEGMENT_PAGES * 17 * 512).unwrap();
        }
        let mut faults = Vec::new();
        let pages = slru.check(end, &mut |fault| faults.push(fault)).unwrap();
        (pages, faults.len())
    };
    assert_eq!(checked(SEGMENT_PAGES + 3, SEGMENT_PAGES + 9, None), (6, 0));
    assert_eq!(checked(0, 9, None), (9, 0));
    assert_eq!(checked(0, 9, Some(0)), (9, 17));
    assert_eq!(checked(SEGMENT_PAGES + 3, SEGMENT_PAGES + 9, Some(SEGMENT_PAGES + 5)), (6, 17));
}

/// A file that can't be opened to be synced is not forgotten: the next flush syncs it.
#[test]
fn what_could_not_be_opened_is_synced_later() {
    let disk = SimDisk::new();
    let slru = open(&disk, LogKind::Xact, 1);
    // More segments than handles are kept.
    for page in (0..40 * SEGMENT_PAGES).step_by(SEGMENT_PAGES as usize) {
        slru.begin(page, Lsn::ZERO, |p| p.set(0, page + 1)).unwrap();
    }
    slru.write_dirty(&|_| true).unwrap();
    disk.set_fault(Some(Box::new(|access, _, _| {
        let fails = access == base::disk::sim::Access::Open;
        fails.then(|| std::io::Error::from_raw_os_error(libc::EMFILE))
    })));
    assert!(matches!(slru.flush(), Err(SlruError::Io { action: "open", .. })));
    disk.set_fault(None);
    slru.flush().unwrap();
    let mut crashes = disk.crashes();
    crashes.advance_to(disk.operations());
    for seed in 0..5 {
        let image = crashes.image(&mut fastrand::Rng::with_seed(seed));
        let after = open(&image, LogKind::Xact, 1);
        for page in (0..40 * SEGMENT_PAGES).step_by(SEGMENT_PAGES as usize) {
            assert_eq!(word(&after, page, 0), page + 1);
        }
    }
}
