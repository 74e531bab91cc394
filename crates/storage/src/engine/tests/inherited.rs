//! What an earlier process left unsynced is durable before anything builds on it, though redo does not wait.

use super::*;
use crate::recovery::control::ControlFile;
use crate::relfile::inherited::SYNC_FAILED;
use base::disk::Open;
use base::disk::sim::FaultHook;
use base::park;
use std::io;
use std::sync::Mutex;

/// Accesses in their order, with their paths.
type Seen = Arc<Mutex<Vec<(Access, String)>>>;

/// What is on the disk after crashes in the later half of a workload that writes much.
fn left_by_crashes(seed: u64) -> Vec<SimDisk> {
    let disk = SimDisk::new();
    drop(bank::run(&disk, seed, TornPages::DoubleWrite));
    let mut crashes = disk.crashes();
    let end = disk.operations();
    let after = |at| {
        crashes.advance_to(at);
        crashes.image(&mut fastrand::Rng::with_seed(at as u64))
    };
    let left = (end / 2..end).step_by(end / 16).map(after);
    left.filter(|disk| ControlFile::read(disk).unwrap().state != State::Clean).collect()
}

/// Starts on the disk, with restart points and a small cache, so that pages are written during redo.
fn start(disk: &SimDisk, hook: FaultHook) -> Result<u64> {
    let disk = disk.clone();
    disk.set_fault(Some(hook));
    let opened = {
        let disk = disk.clone();
        sim::run(7, move || {
            let config = EngineConfig { restart_every: Duration::ZERO, ..config() };
            let engine = Engine::open(&config, &env(&disk))?;
            let points = engine.recovery().map_or(0, |report| report.restart_points);
            engine.shutdown().map(|()| points)
        })
    };
    disk.set_fault(None);
    opened
}

fn builds_on_what_was_left((access, path): &(Access, String)) -> bool {
    *access == Access::Write && (path.starts_with("doublewrite") || path.starts_with("control"))
}

#[test]
fn nothing_is_built_on_inherited_writes_before_they_are_durable() {
    let mut points = 0;
    for disk in (1..4).flat_map(left_by_crashes) {
        let logged = disk.list("base").unwrap().into_iter().filter(|name| !name.contains('_'));
        let logged: Vec<_> = logged.map(|name| format!("base/{name}")).collect();
        let seen = Seen::default();
        let told = Arc::clone(&seen);
        let hook = move |access, path: &str, _| {
            told.lock().unwrap().push((access, path.to_owned()));
            None::<io::Error>
        };
        points += start(&disk, Box::new(hook)).unwrap();
        let seen = seen.lock().unwrap();
        let first = seen.iter().position(builds_on_what_was_left).expect("it was closed in order");
        let log = seen
            .iter()
            .position(|(access, path)| *access == Access::Read && path.starts_with("wal"));
        assert!(log.is_some_and(|log| log < first), "redo has begun");
        for path in &logged {
            let synced = (Access::Sync, path.clone());
            assert!(seen[..first].contains(&synced), "{path} before a write");
        }
    }
    assert!(points > 0, "no start wrote anything down before it came to the log's end");
}

#[test]
fn no_page_is_written_before_inherited_files_are_durable() {
    let disk = SimDisk::new();
    sim::run(5, move || {
        Engine::create(&config(), &env(&disk)).unwrap();
        let engine = Engine::open(&config(), &env(&disk)).unwrap();
        let txn = begin(&engine);
        let rel = engine.create_relation(&txn, Persistence::Permanent, Rank::HeapPage).unwrap();
        engine.pool().files().expect_inherited();
        for block in 0..PAGES {
            set(&engine, &txn, &rel, block, 1);
        }
        engine.wal().flush(txn.commit().unwrap().must_be_durable);
        let seen = Seen::default();
        let told = Arc::clone(&seen);
        disk.set_fault(Some(Box::new(move |access, path: &str, _| {
            told.lock().unwrap().push((access, path.to_owned()));
            None
        })));
        let is_batch = |(access, path): &(Access, String)| {
            *access == Access::Write && path.starts_with(doublewrite::PATH)
        };
        let written = || seen.lock().unwrap().iter().any(is_batch);
        // Checkpoints are due again and again meanwhile, and want all of it written.
        park::sleep(Duration::from_secs(1));
        assert!(!written());
        engine.pool().files().sync_inherited().unwrap();
        park::sleep(Duration::from_secs(1));
        assert!(written());
        engine.shutdown().unwrap();
    });
}

#[test]
fn nothing_may_be_written_after_inherited_files_could_not_be_synced() {
    let disk = SimDisk::new();
    let files = RelFiles::open(Arc::new(disk.clone()), 8).unwrap();
    files.create(RelId(1), false).unwrap();
    assert!(files.await_inherited().is_ok(), "nothing is expected");
    files.expect_inherited();
    let fails = |access, path: &str, _| {
        let fails = access == Access::Sync && path == "base/1";
        fails.then(|| io::Error::from_raw_os_error(5))
    };
    disk.set_fault(Some(Box::new(fails)));
    assert_eq!(files.sync_inherited().unwrap_err().sqlstate(), "58030");
    assert!(files.await_inherited().is_err());
}

/// What the system has cached of a file of which a write has failed says nothing of the disk, and no later sync tells (RF6).
#[test]
fn after_a_failed_sync_files_are_read_from_the_disk_anew() {
    let disk = left_by_crashes(1).pop().unwrap();
    let (names, logs) = (disk.list("base").unwrap(), files_of_logs(&disk));
    assert!(!names.is_empty());
    let follow = |disk: &SimDisk, bad: Option<String>| {
        let seen = Seen::default();
        let told = Arc::clone(&seen);
        let hook = move |access, path: &str, _| {
            told.lock().unwrap().push((access, path.to_owned()));
            let fails = access == Access::Sync && bad.as_deref() == Some(path);
            fails.then(|| io::Error::from_raw_os_error(5))
        };
        let started = start(disk, Box::new(hook));
        (started, seen.lock().unwrap().clone())
    };
    disk.open(SYNC_FAILED, Open::Create).unwrap();
    let (started, _) = follow(&disk, Some(format!("base/{}", names[0])));
    assert!(started.is_err() && disk.exists(SYNC_FAILED).unwrap(), "it is the next start's again");

    let (started, seen) = follow(&disk, None);
    started.unwrap();
    let first_read = seen
        .iter()
        .position(|(access, path)| *access == Access::Read && path.starts_with("base/"))
        .expect("redo reads");
    for path in names.iter().map(|name| format!("base/{name}")) {
        let of = |is: Access| seen.iter().position(|(access, of)| (*access, of) == (is, &path));
        let (synced, dropped) = (of(Access::Sync).unwrap(), of(Access::DropCached).unwrap());
        assert!(synced < dropped && dropped < first_read, "{path}");
    }
    // The log and the status logs, too: what they tell of commits is not written anew where it seems to be there.
    for path in logs {
        let of = |is: Access| seen.iter().position(|(access, of)| (*access, of) == (is, &path));
        let (synced, dropped) = (of(Access::Sync).unwrap(), of(Access::DropCached).unwrap());
        assert!(synced < dropped && dropped < first_read, "{path}");
    }
    assert!(!disk.exists(SYNC_FAILED).unwrap());
    let (_, seen) = follow(&disk, None);
    assert!(seen.iter().all(|(access, _)| *access != Access::DropCached));
}

fn files_of_logs(disk: &SimDisk) -> Vec<String> {
    let durable = crate::txlog::ALL_LOGS.into_iter().filter(|log| log.is_durable());
    let directories = durable.map(|log| log.directory()).chain([segment::DIRECTORY]);
    let directories = directories.filter(|directory| disk.exists(directory).unwrap());
    let files = directories.flat_map(|directory| {
        let names = disk.list(directory).unwrap().into_iter();
        names.map(move |name| format!("{directory}/{name}"))
    });
    files.collect()
}

/// Linux tells one process of a failed write, and no other.
#[test]
fn a_failed_sync_of_what_an_earlier_process_left_is_the_next_start_s_to_know() {
    let disk = left_by_crashes(1).pop().unwrap();
    let files = files_of_logs(&disk);
    assert!(files.iter().any(|path| !path.starts_with(segment::DIRECTORY)), "{files:?}");
    for path in files {
        let bad = path.clone();
        let hook = move |access, path: &str, _: u64| {
            let fails = access == Access::Sync && *path == bad;
            fails.then(|| io::Error::from_raw_os_error(5))
        };
        assert!(start(&disk, Box::new(hook)).is_err(), "{path}");
        assert!(disk.exists(SYNC_FAILED).unwrap(), "{path}");
    }
    start(&disk, Box::new(|_, _, _| None)).unwrap();
    assert!(!disk.exists(SYNC_FAILED).unwrap());
}

/// Of status logs that redo has written itself.
#[test]
fn a_failed_sync_of_what_redo_has_found_out_is_the_next_start_s_to_know() {
    let mut failed = 0;
    for disk in left_by_crashes(1) {
        let mut syncs = base::hash::HashMap::<String, u32>::default();
        let hook = move |access, path: &str, _: u64| {
            let mut logs = crate::txlog::ALL_LOGS.into_iter().filter(|log| log.is_durable());
            if access != Access::Sync || !logs.any(|log| path.starts_with(log.directory())) {
                return None;
            }
            // The first is that of what was left.
            let count = syncs.entry(path.to_owned()).or_default();
            *count += 1;
            (*count == 2).then(|| io::Error::from_raw_os_error(5))
        };
        disk.set_fault(Some(Box::new(hook)));
        let here = disk.clone();
        let opened = sim::run(7, move || {
            let config = EngineConfig { restart_every: Duration::ZERO, ..config() };
            let opened = Engine::open(&config, &env(&here));
            here.set_fault(None);
            opened.and_then(|engine| engine.shutdown())
        });
        if opened.is_err() {
            failed += 1;
            assert!(disk.exists(SYNC_FAILED).unwrap());
            start(&disk, Box::new(|_, _, _| None)).unwrap();
        }
    }
    assert!(failed > 0, "redo has synced nothing of its own");
}
