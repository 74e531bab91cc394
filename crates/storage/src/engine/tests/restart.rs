//! Restart points: a crash in a long redo does not begin it anew, and nothing is left out.

use super::*;
use crate::recovery::control::ControlFile;
use base::disk::Open;
use std::collections::BTreeMap;

/// Pages of relations by file, after a start and an orderly stop; and how many restart points the start made.
fn recovered(disk: &SimDisk, workers: usize, every: Duration) -> (BTreeMap<String, Vec<u8>>, u64) {
    let disk = disk.clone();
    sim::run(workers as u64, move || {
        let env = env(&disk);
        let config = EngineConfig { recovery_workers: workers, restart_every: every, ..config() };
        let engine = Engine::open(&config, &env).unwrap();
        let points = engine.recovery().map_or(0, |report| report.restart_points);
        engine.shutdown().unwrap();
        let mut files = BTreeMap::new();
        // Not the forks that are not logged.
        let names = disk.list("base").unwrap().into_iter().filter(|name| !name.contains('_'));
        for name in names {
            let file = disk.open(&format!("base/{name}"), Open::Existing).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_at(&mut bytes, 0).unwrap();
            files.insert(name, bytes);
        }
        (files, points)
    })
}

#[test]
fn a_crash_in_redo_begins_it_at_the_restart_point() {
    let (never, always) = (Duration::MAX, Duration::ZERO);
    let (mut made, mut gained) = (0, 0);
    for seed in 0..3 {
        let disk = SimDisk::new();
        match seed {
            0 => drop(workload(&disk, seed)),
            _ => drop(bank::run(&disk, seed, TornPages::DoubleWrite)),
        }
        let mut crashes = disk.crashes();
        let (from, end) = (disk.operations() / 3, disk.operations());
        for at in (from..end).step_by(end / 14) {
            crashes.advance_to(at);
            let image = || crashes.image(&mut fastrand::Rng::with_seed(at as u64));
            let (whole, _) = recovered(&image(), 1, never);
            let before = ControlFile::read(&image()).unwrap();
            for workers in [1, 3] {
                let first = image();
                let begin = first.operations();
                let (files, points) = recovered(&first, workers, always);
                assert!(files == whole, "seed {seed}, crash at {at}, {workers} lanes");
                made += points;
                let steps = first.operations() - begin;
                let mut again = first.crashes();
                for step in 1..8 {
                    let second = begin + steps * step / 8;
                    again.advance_to(second);
                    let image = again.image(&mut fastrand::Rng::with_seed(second as u64));
                    let control = ControlFile::read(&image).unwrap();
                    gained +=
                        u64::from(control.epoch == before.epoch && control.redo > before.redo);
                    let (files, _) = recovered(&image, workers, always);
                    let place = format!("seed {seed}, crashes at {at}, {second}, {workers} lanes");
                    assert!(files == whole, "{place}");
                }
            }
        }
    }
    assert!(made > 3 && gained > 8, "{made} restart points, {gained} starts from one");
}

/// Operators who wait for a long recovery see that it goes on.
#[test]
fn a_long_redo_says_how_far_it_is() {
    let roomy = || EngineConfig {
        max_wal_bytes: 64 << 20,
        checkpoint_timeout: Duration::from_secs(3600),
        ..config()
    };
    let disk = SimDisk::new();
    let made = disk.clone();
    let crash = sim::run(1, move || {
        let env = env(&made);
        Engine::create(&roomy(), &env).unwrap();
        let engine = Engine::open(&roomy(), &env).unwrap();
        let mut last = Lsn::ZERO;
        for _ in 0..9000 {
            let txn = begin(&engine);
            txn.xid().unwrap();
            last = txn.commit().unwrap().must_be_durable;
        }
        engine.wal().flush(last);
        let crash = made.operations();
        engine.shutdown().unwrap();
        crash
    });
    let mut crashes = disk.crashes();
    crashes.advance_to(crash);
    let report = |every: Duration| {
        let image = crashes.image(&mut fastrand::Rng::with_seed(1));
        sim::run(2, move || {
            let config = EngineConfig { progress_every: every, ..roomy() };
            let engine = Engine::open(&config, &env(&image)).unwrap();
            let report = *engine.recovery().unwrap();
            engine.shutdown().unwrap();
            report
        })
    };
    let often = report(Duration::ZERO);
    assert!(often.records > 8192, "{often:?}");
    assert_eq!(often.told, often.records / 4096, "at every look at the clock");
    assert_eq!(report(Duration::MAX).told, 0);
}
